//! From a workspace to its project: what is typed there is meant for the project.
//!
//! All workspaces of a project are in one directory, whose name is digits of the digest of the project's path. A file
//! next to them names the path. It counts only if it has that digest, so a file that an agent wrote leads nowhere else.

use std::path::{Path, PathBuf};

use super::{WorkspaceError, WorkspaceKind, record};
use crate::fs::private;

/// The file with the path of the project.
const PROJECT: &str = "project.json";

/// Returns the root of the project that a directory is a workspace of, or is within a workspace of. Blocks.
///
/// Reads neither variables nor settings. In a sandbox that shows the workspace alone there is nothing to read.
pub fn project_of(directory: &Path) -> Option<PathBuf> {
    let directory = directory.canonicalize().ok()?;
    // The outermost: an agent can write such a file into its workspace, and not above it.
    let above: Vec<&Path> = directory.ancestors().collect();
    above.into_iter().rev().find_map(|above| {
        let name = above.file_name()?.to_str()?;
        if !WorkspaceKind::is_key(name) {
            return None;
        }
        let root: PathBuf = record::read(&above.join(PROJECT))?;
        (WorkspaceKind::key_of(&root) == name).then_some(root)
    })
}

/// Writes the path of a project next to its workspaces, which are made there. Blocks.
///
/// # Errors
/// Returns [`WorkspaceError::Io`] if the directory is not this user's alone, or the file cannot be written.
pub(crate) fn note_project(state_dir: &Path, root: &Path) -> Result<(), WorkspaceError> {
    let directory = WorkspaceKind::directory_of(state_dir, root);
    private::require(&directory).map_err(WorkspaceError::io("use", &directory))?;
    let file = directory.join(PROJECT);
    match record::read::<PathBuf>(&file).is_some_and(|known| known == root) {
        true => Ok(()),
        false => record::write(&file, &root),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    #[test]
    fn finds_the_project_of_its_own_workspaces_only() {
        let made = tempfile::tempdir().unwrap();
        let [root, other, state] = ["project", "other", "state"].map(|name| made.path().join(name));
        for directory in [&root, &other] {
            fs::create_dir(directory).unwrap();
        }
        note_project(&state, &root).unwrap();
        let directory = WorkspaceKind::directory_of(&state, &root);
        for workspace in ["tree/sub", "lanes/lane-1", "lanes/lane-1.clone/tree/sub"] {
            let workspace = directory.join(workspace);
            fs::create_dir_all(&workspace).unwrap();
            assert_eq!(project_of(&workspace), Some(root.clone()), "{}", workspace.display());
        }
        assert_eq!(project_of(&root), None);
        // Another one's file leads nowhere.
        record::write(&directory.join(PROJECT), &other).unwrap();
        assert_eq!(project_of(&directory.join("tree")), None);
        fs::remove_file(directory.join(PROJECT)).unwrap();
        record::write(&directory.join("tree").join(PROJECT), &root).unwrap();
        assert_eq!(
            project_of(&directory.join("tree/sub")),
            None,
            "what is in a workspace counts for nothing"
        );
    }
}
