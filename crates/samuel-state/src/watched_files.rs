//! Hearing of changes in a run directory.
//!
//! A file watcher tells of the journal, and of what Samuel does not do itself: its other
//! files are replaced, never removed or written in place.

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

/// Begins to watch a run directory. Where the system watches nothing, the watch ends.
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
        // Another directory stands there now, or none until somebody has looked and put it back; those above may be others.
        watching = Watching::of(&dir, &read_on);
        match watching {
            None => Source::Gone,
            Some(_) if before.is_none() && identity(dir.path()).is_none() => Source::Same,
            Some(_) => Source::Anew,
        }
    })
}

/// A watcher at work.
struct Watching {
    /// The directory that it watches, unless it was missing.
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
        // Those above it tell when it is moved away with what is in it, or made anew.
        let root = dir.root().path();
        for above in dir.path().ancestors().skip(1).take_while(|above| above.starts_with(root)) {
            let _ = watcher.watch(above, RecursiveMode::NonRecursive);
        }
        Some(Self { directory, _watcher: watcher })
    }
}

/// Returns whether nothing can be watched because there is no such directory.
fn is_missing(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
        _ => false,
    }
}

/// What tells a directory from another one at the same path: device, inode number, and when it was made, for the number of
/// one that was removed is used again.
type Identity = (u64, u64, Option<SystemTime>);

/// Returns the identity of a directory, if there is one at the path.
fn identity(path: &Path) -> Option<Identity> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
    Some((metadata.dev(), metadata.ino(), metadata.created().ok()))
}

/// Returns whether an event is a change of the journal, or one that Samuel does not make.
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

    /// Makes a run directory, and watches it.
    fn watched() -> (TempDir, RunDir, Watch) {
        let project = tempfile::tempdir().unwrap();
        let dir = RunDir::new(project.path());
        fs::create_dir_all(dir.path()).unwrap();
        let watch = watch(&dir);
        (project, dir, watch)
    }

    /// Returns whether there is something to read, which must be told.
    async fn is_told(watch: &mut Watch) -> bool {
        timeout(Duration::from_secs(10), watch.changed()).await.unwrap()
    }

    /// Reads on until nothing is told any more.
    async fn settles(watch: &mut Watch) {
        for _ in 0..20 {
            match timeout(Duration::from_millis(200), watch.changed()).await {
                Ok(goes_on) => assert!(goes_on, "nobody watches"),
                Err(_) => return,
            }
        }
        panic!("something is told again and again");
    }

    #[tokio::test]
    async fn a_directory_that_is_removed_and_made_anew_is_watched_again() {
        let (project, dir, mut watch) = watched();
        fs::remove_dir_all(project.path().join(".samuel")).unwrap();
        assert!(is_told(&mut watch).await);
        settles(&mut watch).await;
        fs::create_dir_all(dir.path()).unwrap();
        assert!(is_told(&mut watch).await, "that it is there again");
        settles(&mut watch).await;
        fs::write(dir.journal(), "{}\n").unwrap();
        assert!(is_told(&mut watch).await, "what is written into it");
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
            assert!(is_told(&mut watch).await, "{name}: what is written into it");
        }
    }
}
