//! What the user's git reads and starts of a work tree, because configuration says so.
//!
//! Configuration that lies in the tree (`include.path`), a directory of hooks in it (`core.hooksPath`) and commands that
//! name its files are the user's choice. Whoever changes those files has the user's next git start what they say.
//! Conditions of what is included are taken as met.

use std::path::{Path, PathBuf};

use super::{
    Caller, Repository,
    config::{self, Setting},
};
use samuel_fs::{lexical, read_anywhere};

/// The largest configuration that is read, in bytes, how many files of it there are, and how deep they include each other.
const MAX_BYTES: u64 = 1 << 20;
const MAX_FILES: usize = 100;
const MAX_DEPTH: usize = 10;
/// How many commands and directories of hooks are told.
const MAX_FOUND: usize = 200;

/// Sections whose values are commands, whatever their keys.
const SECTIONS_OF_COMMANDS: [&str; 2] = ["alias", "pager"];
/// Keys whose values are commands, in any section.
const KEYS_OF_COMMANDS: [&str; 21] = [
    "alternaterefscommand",
    "askpass",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "helper",
    "packobjectshook",
    "pager",
    "process",
    "program",
    "smudge",
    "sshcommand",
    "textconv",
    "update",
];

/// What a git reads and starts of its work tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// Files of configuration in the tree, whether they exist or not.
    pub files: Vec<PathBuf>,
    /// Directories of hooks in the tree.
    pub hooks: Vec<PathBuf>,
    /// Command lines, each with the name of its setting. They begin at the top of the tree.
    pub commands: Vec<(String, String)>,
}

impl Configured {
    /// Reads the configuration of a repository and of who looks at it. What is not there or cannot be read says
    /// nothing. Blocks.
    pub fn of(repository: &Repository, caller: &Caller) -> Self {
        let own = [repository.common_dir.join("config"), repository.git_dir.join("config.worktree")];
        let mut reading = Reading {
            found: Self::default(),
            top: &repository.top,
            git_dir: &repository.common_dir,
            home: caller.home(),
            left: MAX_FILES,
        };
        caller.config_files().iter().chain(&own).for_each(|file| reading.file(file, MAX_DEPTH));
        reading.found
    }
}

struct Reading<'a> {
    found: Configured,
    top: &'a Path,
    git_dir: &'a Path,
    home: Option<&'a Path>,
    left: usize,
}

impl Reading<'_> {
    fn file(&mut self, file: &Path, depth: usize) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        if let Some(inner) = self.in_tree(file)
            && !self.found.files.contains(&inner)
        {
            self.found.files.push(inner);
        }
        let text = read_anywhere(file, MAX_BYTES).unwrap_or_default();
        for setting in config::settings(&text) {
            match (setting.section.as_str(), setting.key.as_str()) {
                ("include" | "includeif", "path") if depth > 0 => {
                    let directory = file.parent().unwrap_or(self.top);
                    let included = self.path(&setting.value, directory);
                    self.file(&included, depth - 1);
                }
                ("core", "hookspath") => {
                    let directory = self.in_tree(&self.path(&setting.value, self.top));
                    self.found.hooks.extend(directory.filter(|_| self.found.hooks.len() < MAX_FOUND));
                }
                _ => self.command(setting),
            }
        }
    }

    fn command(&mut self, setting: Setting) {
        let is_command = SECTIONS_OF_COMMANDS.contains(&setting.section.as_str())
            || KEYS_OF_COMMANDS.contains(&setting.key.as_str());
        if is_command && self.found.commands.len() < MAX_FOUND {
            let Setting { section, subsection, key, value } = setting;
            let name = [Some(section), subsection, Some(key)].into_iter().flatten();
            // An alias or a helper says by it that a shell reads the rest.
            let line = value.strip_prefix('!').unwrap_or(&value).to_owned();
            self.found.commands.push((name.collect::<Vec<_>>().join("."), line));
        }
    }

    /// Returns a path without its links where it lies in the tree, and not in git's own directory.
    fn in_tree(&self, path: &Path) -> Option<PathBuf> {
        let path = lexical(path);
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        let path = parent.zip(path.file_name()).map_or(path.clone(), |(parent, name)| parent.join(name));
        (path.starts_with(self.top) && !path.starts_with(self.git_dir)).then_some(path)
    }

    /// Returns the file that a path of configuration means.
    fn path(&self, value: &str, directory: &Path) -> PathBuf {
        match (value.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => directory.join(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};

    #[test]
    fn what_configuration_names_in_the_tree_is_found_wherever_it_is_written() {
        let made = testing::Repository::with(&[("a", "")]);
        made.run(&["config", "include.path", "../team.config"]);
        made.run(&["config", "filter.lfs.clean", "sh ci/clean.sh %f"]);
        made.run(&["config", "core.fsmonitor", "./monitor.sh"]);
        made.run(&["config", "core.editor", "vi"]);
        made.run(&["config", "user.name", "sh ci/none.sh"]);
        made.write(
            "team.config",
            "[core]\n\thooksPath = ./.githooks/\n[includeIf \"onbranch:x\"]\n\tpath = more\n",
        );
        made.write("more", "[alias]\n\tx = !sh tools/x.sh\n[gpg \"ssh\"]\n\tprogram = ./sign\n");
        let top = made.opened().top().to_owned();
        let found = Configured::of(&made.opened(), &Caller::of_process());
        assert_eq!(found.files, [top.join("team.config"), top.join("more")]);
        assert_eq!(found.hooks, [top.join(".githooks")]);
        let mut commands: Vec<String> =
            found.commands.iter().map(|(name, line)| format!("{name}: {line}")).collect();
        commands.sort();
        let expected = [
            "alias.x: sh tools/x.sh",
            "core.editor: vi",
            "core.fsmonitor: ./monitor.sh",
            "filter.lfs.clean: sh ci/clean.sh %f",
            "gpg.ssh.program: ./sign",
        ];
        assert_eq!(commands, expected);
    }

    #[test]
    fn configuration_that_includes_itself_ends_and_what_lies_elsewhere_is_nobodys() {
        let made = testing::Repository::with(&[("a", "")]);
        made.run(&["config", "core.hooksPath", "/usr/share/hooks"]);
        // No git works there from now on.
        made.run(&["config", "include.path", "config"]);
        assert_eq!(Configured::of(&made.opened(), &Caller::of_process()), Configured::default());
    }
}
