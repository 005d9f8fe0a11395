//! The files of runs in a workspace: no commit that Samuel makes of an agent's work changes them.

use crate::state::RunDir;

/// Returns the path of the files of runs from the top of the repository. `prefix` is the project's: empty, or with a
/// slash at its end.
pub(super) fn run_files(prefix: &str) -> String {
    format!("{prefix}{}", RunDir::new("").path().display())
}
