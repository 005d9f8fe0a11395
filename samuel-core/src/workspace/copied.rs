//! Files that Samuel puts into a workspace: which can be copied, and how git is kept from taking them.
//!
//! They are the user's alone, such as passwords. No commit that Samuel makes has them, whether git ignores them or not.
//! If commits of an agent have them, Samuel makes one commit without them, and no other leaves the clone. Out of a work
//! tree, the queue keeps them from landing.

use std::{
    fs::File,
    path::{Component, Path},
};

use super::WorkspaceError;
use crate::fs::{FileError, Root, read_anywhere, read_up_to};

/// The largest file that is copied into a work tree, in bytes.
const MAX_COPIED: u64 = 64 << 20;
/// The largest list of them, in bytes.
const MAX_NOTE: u64 = 1 << 20;

/// Returns a path of `copy` without the parts that stand for nothing; nothing where it leads out of the project or
/// is git's.
pub(crate) fn plain_path(path: &str) -> Option<String> {
    let mut names = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    let is_gits = names.iter().any(|name| name.eq_ignore_ascii_case(".git"));
    (!names.is_empty() && !is_gits && !path.contains(char::is_control)).then(|| names.join("/"))
}

/// Says why a path of `copy` cannot be copied out of the project at a root, if it cannot. What is not there can. Blocks.
pub(crate) fn cannot_be_copied(root: &Path, path: &str) -> Option<String> {
    let Some(path) = plain_path(path) else {
        return Some("it is not the path of a file within the project".to_owned());
    };
    match opened(root, &path) {
        Err(error) if !error.is_not_found() => Some(error.to_string()),
        _ => None,
    }
}

/// Reads a file that is to be copied, to which no link leads. Blocks.
pub(super) fn read(root: &Path, path: &str) -> Result<Vec<u8>, FileError> {
    read_up_to(opened(root, path)?, MAX_COPIED)
}

fn opened(root: &Path, path: &str) -> Result<File, FileError> {
    let file = Root::new(root).walk_straight(Path::new(path))?.open_file()?;
    match file.metadata()?.len() {
        bytes if bytes > MAX_COPIED => Err(FileError::TooLarge { limit: MAX_COPIED }),
        _ => Ok(file),
    }
}

/// What Samuel puts into a workspace, by paths from the top of the repository: files, and directories with all in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnPaths(Vec<String>);

impl OwnPaths {
    /// Names what `copy` does of a project, which is at a prefix below the top: empty, or with a slash at its end.
    pub(super) fn of(copy: &[String], prefix: &str) -> Self {
        Self(copy.iter().filter_map(|path| plain_path(path)).map(|path| format!("{prefix}{path}")).collect())
    }

    pub(super) fn from_paths(paths: &[String]) -> Self {
        Self(paths.to_vec())
    }

    /// Reads a list that [`write`](Self::write) wrote; nothing is copied where there is none. Blocks.
    pub(super) fn noted(note: &Path) -> Self {
        let text = read_anywhere(note, MAX_NOTE).unwrap_or_default();
        Self(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }

    /// Writes it down for whoever opens the work tree next. Blocks.
    pub(super) fn write(&self, note: &Path) -> Result<(), WorkspaceError> {
        std::fs::write(note, self.0.join("\n")).map_err(WorkspaceError::io("write", note))
    }

    /// Adds a path.
    pub(super) fn and(mut self, path: String) -> Self {
        self.0.push(path);
        self
    }

    /// Returns whether a path is among them, or in one of them.
    pub(super) fn cover(&self, path: &[u8]) -> bool {
        self.0.iter().any(|own| {
            let rest = path.strip_prefix(own.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }

    /// Returns what is not in another list.
    pub(super) fn without(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|path| !other.0.contains(path)).cloned().collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn paths(&self) -> &[String] {
        &self.0
    }

    /// Returns a call of git with the paths as its last arguments.
    pub(super) fn after<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        args.iter().copied().chain(self.0.iter().map(String::as_str)).collect()
    }

    /// Returns the patterns by which git ignores it, a line each.
    pub(super) fn patterns(&self) -> String {
        let mut patterns = String::new();
        for path in &self.0 {
            patterns.push('/');
            for letter in path.chars() {
                if matches!(letter, '\\' | '*' | '?' | '[' | ' ') {
                    patterns.push('\\');
                }
                patterns.push(letter);
            }
            patterns.push('\n');
        }
        patterns
    }

    /// Returns the error where git tracks some of it: by what `git ls-files -z` writes.
    pub(super) fn untracked(listed: &str) -> Result<(), WorkspaceError> {
        match listed.split('\0').find(|path| !path.is_empty()) {
            Some(path) => Err(WorkspaceError::Tracked { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_leads_out_of_the_project_or_is_no_file_cannot_be_copied() {
        let directory = tempfile::tempdir().expect("a directory");
        let (root, outside) = (directory.path().join("project"), directory.path().join("secret"));
        fs::create_dir_all(root.join("conf/more")).expect("directories");
        for file in [&root.join(".env"), &root.join("conf/local.json"), &outside] {
            fs::write(file, "secret").expect("a file");
        }
        for (to, link) in [("../secret", "out"), ("out", "again"), (".env", "in"), ("conf", "away")] {
            symlink(to, root.join(link)).expect("a link");
        }
        let absolute = outside.display().to_string();
        let refused = [
            (absolute.as_str(), "it is not the path of a file within the project"),
            ("/proc/self/environ", "it is not the path of a file within the project"),
            ("conf/../.env", "it is not the path of a file within the project"),
            ("", "it is not the path of a file within the project"),
            (".git/config", "it is not the path of a file within the project"),
            ("a\nb", "it is not the path of a file within the project"),
            ("out", "it is a symbolic link, not a file"),
            ("again", "it is a symbolic link, not a file"),
            ("in", "it is a symbolic link, not a file"),
            ("away/local.json", "\"away\" is a symbolic link, not a directory"),
            ("conf", "it is a directory, not a file"),
        ];
        for (path, why) in refused {
            assert_eq!(cannot_be_copied(&root, path).as_deref(), Some(why), "{path}");
            assert!(plain_path(path).is_none_or(|path| read(&root, &path).is_err()), "{path}");
        }
        for path in [".env", "./conf//local.json", "absent", "conf/more/absent"] {
            assert_eq!(cannot_be_copied(&root, path), None, "{path}");
        }
    }

    #[test]
    fn patterns_stand_for_the_very_files() {
        let copied = OwnPaths::of(&["./.env".into(), "a*b [1]".into(), "!x".into()], "sub/");
        assert_eq!(copied.patterns(), "/sub/.env\n/sub/a\\*b\\ \\[1]\n/sub/!x\n");
        assert_eq!(OwnPaths::of(&["../x".into()], ""), OwnPaths::default());
    }
}
