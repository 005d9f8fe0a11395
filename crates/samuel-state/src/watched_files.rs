//! Hearing of changes in a run directory.
//!
//! A file watcher tells of the journal, and of what Samuel does not do itself: its other
//! files are replaced, never removed or written in place.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};

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
        Some(present) if identity(dir.path()) == present.directory => Source::Same,
        // Another directory stands there now.
        Some(_) => {
            watching = Watching::of(&dir, &read_on);
            if watching.is_some() { Source::Anew } else { Source::Gone }
        }
    })
}

/// A watcher at work, and the directory that it watches.
struct Watching {
    directory: Option<(u64, u64)>,
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
        watcher.watch(dir.path(), RecursiveMode::NonRecursive).ok()?;
        // Those above it tell when it is moved away with what is in it.
        let root = dir.root().path();
        for above in dir.path().ancestors().skip(1).take_while(|above| above.starts_with(root)) {
            let _ = watcher.watch(above, RecursiveMode::NonRecursive);
        }
        Some(Self { directory, _watcher: watcher })
    }
}

/// Returns what tells a directory from another one at the same path.
fn identity(directory: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(directory).ok()?;
    Some((metadata.dev(), metadata.ino()))
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
