//! How a command is written.

use std::{ffi::OsString, fmt, path::Path};

use crate::process::CommandSpec;

/// A command as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A text for `/bin/sh -c`.
    Shell(String),
    /// A program and its arguments, which no shell reads. A name without a slash is looked up in
    /// the `PATH` of the command's environment; a relative path starts at its directory.
    Words(Vec<OsString>),
}

impl CommandLine {
    /// Makes a command of a program and its arguments.
    pub fn words<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Self {
        Self::Words(words.into_iter().map(Into::into).collect())
    }

    /// Describes the command in a directory.
    pub(super) fn spec(&self, cwd: &Path) -> CommandSpec {
        match self {
            Self::Shell(text) => CommandSpec::shell(text, cwd),
            Self::Words(words) => {
                let mut words = words.iter();
                CommandSpec::new(words.next().cloned().unwrap_or_default(), cwd).args(words)
            }
        }
    }
}

/// Shows the command on one line, words that a shell would split or expand in quotes.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(text) => f.write_str(text),
            Self::Words(words) => {
                let quoted = |word: &OsString| {
                    let word = word.to_string_lossy();
                    shlex::try_quote(&word).map_or_else(|_| word.to_string(), Into::into)
                };
                f.write_str(&words.iter().map(quoted).collect::<Vec<_>>().join(" "))
            }
        }
    }
}
