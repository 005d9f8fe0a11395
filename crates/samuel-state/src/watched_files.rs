//! Change notifications for a run directory.
//!
//! A file watcher reports changes of the journal and changes that Samuel does not make itself.
//! Samuel replaces its other files, and never removes them or writes them in place.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use notify::{ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};

use super::{
    RunDir,
    watch::{ReadOn, Source, Watch},
};

/// Starts to watch a run directory. If the system cannot watch anything, the watch ends.
pub(super) fn watch(dir: &RunDir) -> Watch {
    let (read_on, watch) = Watch::new();
    let mut watching = Watching::of(dir, &read_on);
    let dir = dir.clone();
    watch.renewed_by(move || {
        let Some(present) = &watching else { return Source::Gone };
        let (before, now) = (present.directory, identity(dir.path()));
        if now.is_some() && now == before {
            return Source::Same;
        }
        // The path has another directory now, or none until it is created again. The directories above may also be
        // other ones.
        watching = Watching::of(&dir, &read_on);
        match watching {
            None => Source::Gone,
            Some(_) if before.is_none() && identity(dir.path()).is_none() => Source::Same,
            Some(_) => Source::Anew,
        }
    })
}

/// An active watcher.
struct Watching {
    /// The identity of the watched directory; `None` if the directory was missing.
    directory: Option<Identity>,
    _watcher: RecommendedWatcher,
}

impl Watching {
    fn of(dir: &RunDir, read_on: &ReadOn) -> Option<Self> {
        let directory = identity(dir.path());
        let (of, read_on) = (dir.clone(), read_on.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_worth_a_look(&event, &of)) {
                read_on.tell();
            }
        });
        let mut watcher = watcher.ok()?;
        match watcher.watch(dir.path(), RecursiveMode::NonRecursive) {
            Err(error) if !is_missing(&error.kind) => return None,
            _ => {}
        }
        // The directories above report when the directory is moved away with its contents or created again.
        let root = dir.root().path();
        for above in dir.path().ancestors().skip(1).take_while(|above| above.starts_with(root)) {
            let _ = watcher.watch(above, RecursiveMode::NonRecursive);
        }
        Some(Self { directory, _watcher: watcher })
    }
}

/// Returns whether the watcher failed because the directory does not exist.
fn is_missing(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
        _ => false,
    }
}

/// The identity of a directory, which distinguishes it from another one at the same path: device, inode number and
/// creation time. The creation time is needed because file systems reuse the inode numbers of removed directories.
type Identity = (u64, u64, Option<SystemTime>);

/// Returns the identity of the directory at a path, if there is one.
fn identity(path: &Path) -> Option<Identity> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
    Some((metadata.dev(), metadata.ino(), metadata.created().ok()))
}

/// Returns whether an event is a change of the journal or a change that Samuel does not make.
fn is_worth_a_look(event: &notify::Event, dir: &RunDir) -> bool {
    let is_of = |files: &[PathBuf]| event.paths.iter().any(|path| files.contains(path));
    match event.kind {
        // Events were lost.
        _ if event.need_rescan() => true,
        EventKind::Access(_) => false,
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
            if event.paths.iter().any(|path| dir.path().starts_with(path)) =>
        {
            true
        }
        EventKind::Remove(_) => is_of(&[dir.journal(), dir.prd(), dir.loop_lock(), dir.lock()]),
        EventKind::Modify(ModifyKind::Data(_)) => is_of(&[dir.journal(), dir.prd()]),
        _ => is_of(&[dir.journal()]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use std::time::Duration;

    use tempfile::TempDir;
    use tokio::time::timeout;

    use super::*;

    /// Creates a run directory and watches it.
    fn watched() -> (TempDir, RunDir, Watch) {
        let project = tempfile::tempdir().unwrap();
        let dir = RunDir::new(project.path());
        fs::create_dir_all(dir.path()).unwrap();
        let watch = watch(&dir);
        (project, dir, watch)
    }

    /// Waits for a notification. Returns whether the watch continues.
    async fn is_told(watch: &mut Watch) -> bool {
        timeout(Duration::from_secs(10), watch.changed()).await.unwrap()
    }

    /// Waits until there are no more notifications.
    async fn settles(watch: &mut Watch) {
        for _ in 0..20 {
            match timeout(Duration::from_millis(200), watch.changed()).await {
                Ok(goes_on) => assert!(goes_on, "the watch ended"),
                Err(_) => return,
            }
        }
        panic!("the notifications do not end");
    }

    #[tokio::test]
    async fn a_directory_that_is_removed_and_made_anew_is_watched_again() {
        let (project, dir, mut watch) = watched();
        fs::remove_dir_all(project.path().join(".samuel")).unwrap();
        assert!(is_told(&mut watch).await);
        settles(&mut watch).await;
        fs::create_dir_all(dir.path()).unwrap();
        assert!(is_told(&mut watch).await, "the directory exists again");
        settles(&mut watch).await;
        fs::write(dir.journal(), "{}\n").unwrap();
        assert!(is_told(&mut watch).await, "a file was written into it");
    }

    #[tokio::test]
    async fn files_in_place_of_directories_are_told_once() {
        for name in [".samuel", ".samuel/run"] {
            let (project, dir, mut watch) = watched();
            let path = project.path().join(name);
            fs::remove_dir_all(&path).unwrap();
            fs::write(&path, "").unwrap();
            assert!(is_told(&mut watch).await, "{name}");
            settles(&mut watch).await;
            fs::remove_file(&path).unwrap();
            fs::create_dir_all(dir.path()).unwrap();
            assert!(is_told(&mut watch).await, "{name} is a directory again");
            settles(&mut watch).await;
            fs::write(dir.journal(), "{}\n").unwrap();
            assert!(is_told(&mut watch).await, "{name}: a file was written into it");
        }
    }
}
