//! Hearing of changes in a run directory.
//!
//! A file watcher tells of the journal, and of what Samuel does not do itself: its other
//! files are replaced, never removed or written in place.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use notify::{ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};
use rustix::fs::{Mode, OFlags};

use super::{
    RunDir,
    watch::{ReadOn, Source, Watch},
};

/// Begins to watch a run directory. Where the system watches nothing, the watch ends.
pub(super) fn watch(dir: &RunDir) -> Watch {
    let (read_on, watch) = Watch::new();
    let mut watching = Watching::of(dir, &read_on);
    let dir = dir.clone();
    watch.renewed_by(move || match &watching {
        None => Source::Gone,
        Some(present) if present.is_of(dir.path()) => Source::Same,
        // Another directory stands there now, or none until somebody has looked and put it back.
        Some(_) => {
            watching = Watching::of(&dir, &read_on);
            if watching.is_some() { Source::Anew } else { Source::Gone }
        }
    })
}

/// A watcher at work.
struct Watching {
    /// The directory that it watches, unless it was missing. While it is open no other one gets its inode number.
    directory: Option<File>,
    _watcher: RecommendedWatcher,
}

impl Watching {
    fn of(dir: &RunDir, read_on: &ReadOn) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(dir.path(), flags, Mode::empty()).ok().map(File::from);
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
        // Those above it tell when it is moved away with what is in it.
        let root = dir.root().path();
        for above in dir.path().ancestors().skip(1).take_while(|above| above.starts_with(root)) {
            let _ = watcher.watch(above, RecursiveMode::NonRecursive);
        }
        Some(Self { directory, _watcher: watcher })
    }

    /// Returns whether the directory at the path is the one that is watched.
    fn is_of(&self, path: &Path) -> bool {
        match (&self.directory, fs::metadata(path)) {
            (Some(directory), Ok(there)) => {
                directory.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
            }
            (None, Err(_)) => true,
            _ => false,
        }
    }
}

fn is_missing(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Says whether a change in the run directory is one of the journal, or one that
/// Samuel does not make.
fn is_worth_a_look(event: &notify::Event, dir: &RunDir) -> bool {
    let is_of = |files: &[PathBuf]| event.paths.iter().any(|path| files.contains(path));
    match event.kind {
        EventKind::Access(_) => false,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
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
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_directory_that_is_missing_for_a_moment_is_watched_again() {
        let project = tempfile::tempdir().unwrap();
        let dir = RunDir::new(project.path());
        fs::create_dir_all(dir.path()).unwrap();
        let mut watch = watch(&dir);
        let mut is_told = async || timeout(Duration::from_secs(10), watch.changed()).await.unwrap();

        fs::remove_dir_all(project.path().join(".samuel")).unwrap();
        assert!(is_told().await, "it is gone");
        fs::create_dir_all(dir.path()).unwrap();
        while is_told().await {
            if dir.journal().exists() {
                return;
            }
            fs::write(dir.journal(), "{}\n").unwrap();
        }
        panic!("nobody watches the directory");
    }
}
