//! What a grant of `exec` covers: a program, and its arguments where it names
//! them.
//!
//! A target is split into words as a shell does. The first is the program,
//! exactly as it must be asked for; alone it may have any arguments. With more
//! words they are what the arguments must be: `*` within a word stands for any
//! text, `*` as the last word for any number of words, and neither for a word
//! that begins with `-`, so that no option gets in where an operand was granted.
//! `**` as the last word stands for any words at all.

use crate::environment::fits;

/// Programs whose arguments are programs, or code.
const LAUNCHERS: &[&str] = &[
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "bun",
    "bunx",
    "busybox",
    "chroot",
    "dash",
    "deno",
    "doas",
    "docker",
    "ed",
    "emacs",
    "env",
    "eval",
    "expect",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "kubectl",
    "ksh",
    "less",
    "lua",
    "man",
    "mawk",
    "more",
    "nice",
    "node",
    "nohup",
    "npx",
    "nsenter",
    "nvim",
    "parallel",
    "perl",
    "php",
    "pipx",
    "podman",
    "python",
    "python2",
    "python3",
    "ruby",
    "run-parts",
    "screen",
    "script",
    "setsid",
    "sh",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "tclsh",
    "time",
    "timeout",
    "tmux",
    "unshare",
    "uvx",
    "vi",
    "view",
    "vim",
    "watch",
    "xargs",
    "zsh",
];

/// Programs that have options or commands which start others.
const OPENERS: &[&str] = &[
    "cpio", "curl", "find", "gh", "git", "glab", "hg", "make", "mutt", "nc", "ncat", "openssl", "rsync",
    "scp", "sed", "sftp", "socat", "sort", "split", "svn", "tar", "tcpdump", "wget", "zip",
];

/// Programs that run what files of the project say.
const BUILDERS: &[&str] = &[
    "ant",
    "bazel",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "dotnet",
    "go",
    "gradle",
    "gradlew",
    "grunt",
    "gulp",
    "hatch",
    "jest",
    "just",
    "make",
    "mvn",
    "meson",
    "mix",
    "ninja",
    "nox",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "pre-commit",
    "pytest",
    "rake",
    "sbt",
    "swift",
    "tox",
    "uv",
    "vitest",
    "yarn",
];

/// The last word that stands for any number of operands.
const OPERANDS: &str = "*";

/// The last word that stands for any words.
const ANYTHING: &str = "**";

/// A program with what its arguments must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExecGrant {
    program: String,
    args: Vec<String>,
}

/// What a grant reaches beyond the program that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It starts whatever the plugin wants.
    AnyProgram,
    /// It runs code of the project, which agents write.
    ProjectCode,
}

impl ExecGrant {
    /// Reads a target.
    ///
    /// # Errors
    /// Returns what a target must be like.
    pub(crate) fn parse(target: &str) -> Result<Self, &'static str> {
        let words = shlex::split(target).ok_or("a quote is not closed")?;
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty() && !program.contains('*'));
        let program = program.ok_or("begin with the name of one program, without *")?;
        let args: Vec<String> = words.collect();
        let before_last = args.split_last().map(|(_, before)| before).unwrap_or_default();
        match before_last.iter().any(|word| word == ANYTHING) {
            true => Err("** can only be the last word"),
            false => Ok(Self { program, args }),
        }
    }

    /// Says whether a command is covered.
    pub(crate) fn covers(&self, program: &str, args: &[String]) -> bool {
        self.program == program && self.covers_args(args)
    }

    fn covers_args(&self, args: &[String]) -> bool {
        let Some((last, before)) = self.args.split_last() else { return true };
        let (fixed, may_follow): (&[String], fn(&String) -> bool) = match last.as_str() {
            ANYTHING => (before, |_| true),
            OPERANDS => (before, |word| !word.starts_with('-')),
            _ => (&self.args, |_| false),
        };
        let Some((first, rest)) = args.split_at_checked(fixed.len()) else { return false };
        fixed.iter().zip(first).all(|(pattern, word)| covers_word(pattern, word))
            && rest.iter().all(may_follow)
    }

    /// Says what a grant reaches beyond its program, as far as that is known.
    pub(crate) fn reach(&self) -> Option<Reach> {
        let takes_anything = self.args.last().is_none_or(|last| last == ANYTHING);
        let is_exact = !self.args.is_empty() && !self.args.iter().any(|word| word.contains('*'));
        let name = self.program.rsplit('/').next().unwrap_or_default();
        let is_project_file = self.program.contains('/') && !self.program.starts_with('/');
        // Where the first word is free it may be a subcommand or script that starts
        // programs: `git submodule foreach`, `sed 1e`, `tar cIf`.
        let is_open = takes_anything || self.args.first().is_some_and(|first| first.contains('*'));
        if (LAUNCHERS.contains(&name) && !is_exact) || (OPENERS.contains(&name) && is_open) {
            return Some(Reach::AnyProgram);
        }
        (is_project_file || BUILDERS.contains(&name) || LAUNCHERS.contains(&name))
            .then_some(Reach::ProjectCode)
    }
}

/// Says whether one of some targets covers a command. One that cannot be read
/// covers nothing.
pub(crate) fn covers_command(granted: &[String], program: &str, args: &[String]) -> bool {
    granted.iter().filter_map(|target| ExecGrant::parse(target).ok()).any(|grant| grant.covers(program, args))
}

fn covers_word(pattern: &str, word: &str) -> bool {
    !(pattern.starts_with('*') && word.starts_with('-')) && fits(pattern, word)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn covers(target: &str, command: &str) -> bool {
        let words = shlex::split(command).unwrap();
        let (program, args) = words.split_first().unwrap();
        ExecGrant::parse(target).unwrap().covers(program, args)
    }

    #[test]
    fn a_program_alone_takes_any_arguments() {
        assert!(covers("git", "git") && covers("git", "git -c alias.x=!id x"));
        assert!(
            !covers("git", "git2 log") && !covers("git", "/usr/bin/git log") && !covers("git", "./git log")
        );
    }

    #[test]
    fn arguments_that_are_named_are_the_only_ones() {
        assert!(covers("git status --porcelain", "git status --porcelain"));
        for command in ["git", "git status", "git status --porcelain -v", "git --porcelain status", "git log"]
        {
            assert!(!covers("git status --porcelain", command), "{command}");
        }
        assert!(covers("echo 'two words' \"\"", "echo 'two words' ''"));
        assert!(!covers("echo 'two words'", "echo two words"));
    }

    #[test]
    fn a_star_stands_for_operands_and_never_for_options() {
        assert!(covers("git log *", "git log") && covers("git log *", "git log main src/lib.rs"));
        for command in [
            "git -c alias.x=!id x",
            "git -c alias.log=!id log",
            "git log --output=file",
            "git log main --output=file",
            "git log -- src",
            "git logx",
            "git",
        ] {
            assert!(!covers("git log *", command), "{command}");
        }
        assert!(covers("git show * --stat", "git show main --stat"));
        assert!(!covers("git show * --stat", "git show --ext-diff --stat"));
        assert!(!covers("git show * --stat", "git show a b --stat"));
    }

    #[test]
    fn a_star_within_a_word_stays_within_it() {
        assert!(covers("pytest tests/*.py", "pytest tests/a/b.py"));
        assert!(!covers("pytest tests/*.py", "pytest tests/a.py tests/b.py"));
        assert!(covers("cargo --color=*", "cargo --color=always"));
        assert!(!covers("x *.rs", "x --output=a.rs"));
    }

    #[test]
    fn two_stars_stand_for_anything() {
        assert!(covers("cargo test **", "cargo test --workspace -- --nocapture"));
        assert!(covers("cargo test **", "cargo test") && !covers("cargo test **", "cargo run"));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for target in ["", "  ", "'git", "*", "g* log", "git ** log", "'' x", "git log \\"] {
            assert!(ExecGrant::parse(target).is_err(), "{target}");
        }
        assert!(!covers_command(&["'git".to_owned()], "'git", &[]));
    }

    #[test]
    fn a_grant_that_can_start_anything_is_known() {
        let reach = |target: &str| ExecGrant::parse(target).unwrap().reach();
        for target in [
            "sh",
            "bash -c *",
            "git",
            "git **",
            "env",
            "/usr/bin/env",
            "python3 *",
            "node **",
            "xargs",
            "find **",
            "git *",
            "sed *",
            "tar *",
        ] {
            assert_eq!(reach(target), Some(Reach::AnyProgram), "{target}");
        }
        for target in ["cargo", "cargo test", "make", "npm test", "./scripts/check.sh", "python3 check.py"] {
            let any = target == "make";
            let expected = if any { Reach::AnyProgram } else { Reach::ProjectCode };
            assert_eq!(reach(target), Some(expected), "{target}");
        }
        for target in ["git log *", "git status --porcelain", "cat", "find src", "ruff check *"] {
            assert_eq!(reach(target), None, "{target}");
        }
    }
}
