//! What of the machine is shown in a sandbox.

use std::path::PathBuf;

/// The size of `/tmp` and of the home, in bytes.
const TMP_BYTES: u64 = 1 << 30;

/// What commands see of the machine beside the system's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The only directory that they can write to and that stays.
    pub workspace: PathBuf,
    /// Files and directories that they can read. One that is not there when a command starts is left out.
    pub read_only: Vec<PathBuf>,
    /// Where a home is made for them, empty and gone with the command. Default none.
    pub home: Option<PathBuf>,
    /// The size of `/tmp` and of the home, in bytes. Default 1 GiB.
    pub tmp_bytes: u64,
}

impl View {
    /// Shows a directory to write to, and nothing else.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        let workspace = workspace.into();
        Self { workspace, read_only: Vec::new(), home: None, tmp_bytes: TMP_BYTES }
    }
}
