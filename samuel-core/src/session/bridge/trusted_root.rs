//! Which project an agent's hook is about.

use std::{
    iter,
    path::{Path, PathBuf},
};

use crate::trust::{TrustStore, TrustStoreError};

/// Finds the project whose handlers an agent's hook is put to, of those that something was trusted of:
/// the innermost around the directory the agent was started in, else the outermost around one that it
/// works in.
///
/// An agent goes where it likes and can make a project of any directory, but a record of what was
/// trusted is nothing that a project holds. Where one cannot be read the project counts as trusted, so
/// that it is not taken for one that nobody knows. Nothing where nothing was trusted; a directory that
/// is gone counts as those above it.
pub fn trusted_root(
    store: &TrustStore,
    started_in: Option<&Path>,
    works_in: &[impl AsRef<Path>],
) -> Option<PathBuf> {
    let is_trusted = |root: &&Path| match store.recorded(root) {
        Ok(None) | Err(TrustStoreError::Inside { .. } | TrustStoreError::Root { .. }) => false,
        Ok(Some(_)) | Err(_) => true,
    };
    let started_in = started_in.and_then(|directory| directory.ancestors().find(is_trusted));
    let outermost = |directory: &Path| {
        // By its name, and where that leads: either may be the agent's doing.
        let names = iter::once(directory.to_owned()).chain(directory.canonicalize().ok());
        names.into_iter().find_map(|name| name.ancestors().filter(is_trusted).last().map(Path::to_owned))
    };
    let found = started_in.map(Path::to_owned);
    found.or_else(|| works_in.iter().find_map(|directory| outermost(directory.as_ref())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use jiff::Timestamp;

    use super::*;
    use crate::trust::Executables;

    #[test]
    fn an_agent_cannot_choose_another_project_by_going_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let store = TrustStore::open(&base.join("state")).unwrap();
        let [project, nested, other] = ["p", "p/nested", "other"].map(|name| base.join(name));
        for made in [&project.join("sub/.samuel"), &nested, &other] {
            fs::create_dir_all(made).unwrap();
        }
        let trust = |root: &Path| store.record(root, &Executables::default(), Timestamp::UNIX_EPOCH).unwrap();
        let found = |started: Option<&Path>, works_in: &[&Path]| trusted_root(&store, started, works_in);
        assert_eq!(found(Some(&project), &[&project]), None);
        trust(&project);
        let of_project = Some(project.clone());
        assert_eq!(found(None, &[&project.join("sub")]), of_project);
        assert_eq!(found(None, &[&project.join("sub/gone/deep")]), of_project);
        assert_eq!(found(None, &[&other, &project.join("sub")]), of_project);
        assert_eq!(found(Some(&project), &[&other]), of_project);
        std::os::unix::fs::symlink(&other, project.join("away")).unwrap();
        std::os::unix::fs::symlink(project.join("sub"), other.join("back")).unwrap();
        assert_eq!(found(None, &[&project.join("away")]), of_project);
        assert_eq!(found(None, &[&other.join("back")]), of_project);
        trust(&nested);
        assert_eq!(found(None, &[&nested]), of_project, "it may have gone there");
        assert_eq!(found(Some(&nested), &[&nested]), Some(nested.clone()));
        // One that cannot be read is not taken for none.
        for record in fs::read_dir(base.join("state")).unwrap().flatten() {
            fs::write(record.path(), "").unwrap();
        }
        assert_eq!(found(None, &[&project]), of_project);
    }
}
