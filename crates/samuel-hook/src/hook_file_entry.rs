//! What a hook file says of a handler.

use std::{fmt, path::PathBuf};

/// The entry of a hook file that a handler was made of, for listings and for whoever decides
/// whether it may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookFileEntry {
    /// The file, relative to the project's root.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The command as it is written; the words of a list as a shell would need them. Of a handler
    /// that is built in, `builtin` and its name.
    pub command: String,
    /// What the file calls the event that it is for, where that is not the hook point.
    pub event_type: Option<&'static str>,
    /// Which calls it is for, in words, such as `ability_scope=Bash`; empty where it is for all.
    pub matches: String,
    /// Whether it can stop what it is asked about, and stops it where it breaks.
    pub blocking: bool,
    /// Whether the file has it not run.
    pub disabled: bool,
    /// What else the file says of it: each key, such as `cwd` or `env NAME`, with its value.
    pub details: Vec<(String, String)>,
    /// The files of the project that the command starts, relative to its root, each with `sha256:`
    /// and its digest, which is empty of one that cannot be read.
    pub scripts: Vec<(PathBuf, String)>,
    /// Those of them that git ignores and does not track, which are started as they are then.
    pub products: Vec<PathBuf>,
    /// Where files would stand that it starts and that do not exist.
    pub missing: Vec<PathBuf>,
    /// The patterns of what it starts, relative to the root.
    pub patterns: Vec<PathBuf>,
}

/// Writes the place: `.samuel/hooks.yml:4:7`.
impl fmt::Display for HookFileEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}
