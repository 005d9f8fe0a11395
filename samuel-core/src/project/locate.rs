//! Where a project begins.

use std::path::{Path, PathBuf};

use crate::{config::CONFIG_FILE, workspace::project_of};

/// Finds the project that a directory belongs to: the nearest of the directory
/// and those above it that holds `samuel.toml` or `.samuel`. Within a workspace it is the
/// project whose workspace it is.
///
/// The path should be absolute; it is taken as it is, links included.
///
/// ```
/// let dir = std::env::temp_dir().join("samuel-find-root");
/// std::fs::create_dir_all(dir.join(".samuel"))?;
/// std::fs::create_dir_all(dir.join("src/deep"))?;
/// assert_eq!(samuel_core::project::find_root(&dir.join("src/deep")), Some(dir));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn find_root(directory: &Path) -> Option<PathBuf> {
    if let Some(root) = project_of(directory) {
        return Some(root);
    }
    let is_root =
        |directory: &&Path| directory.join(CONFIG_FILE).is_file() || directory.join(".samuel").is_dir();
    directory.ancestors().find(is_root).map(Path::to_owned)
}
