//! The lock that admits one loop to a work tree.
//!
//! [`FileLoopLock`] locks the root directory of the work tree, which nobody replaces who
//! wants to work in it, and `loop.lock`, which says who holds it and is
//! [put back](FileLoopLock::keep) where others deleted or replaced it.

use std::{
    fs::File,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{
    Holder, LoopLock, RunDir, StateError,
    lock::{Mode, read_holder, take, wait_for, write_holder},
    run_dir::moved_aside,
};
use samuel_fs::{FileError, LastLink, PRIVATE_FILE, Replacement, Root, found};

/// How long a loop waits for the loop lock: long enough for somebody who only
/// looks whether it is held.
const LOOP_LOCK_WAIT: Duration = Duration::from_millis(250);
/// How long it takes at most to look again who holds a lock, where its file does
/// not say so: the running loop is putting it back then.
const HOLDER_PAUSE: Duration = Duration::from_millis(10);

/// The loop lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct FileLoopLock {
    dir: RunDir,
    held: Mutex<Held>,
    /// The root directory; nothing where the file system locks no directories.
    tree: Option<File>,
    /// Makes every access through this run directory and its clones fail if another directory takes the place of the
    /// project. `None` for a run directory that is not in a project, because such a directory is created again.
    _root: Option<Arc<File>>,
}

/// The lock file, and what it says.
#[derive(Debug)]
struct Held {
    file: File,
    holder: Holder,
}

impl FileLoopLock {
    /// Takes the lock of a work tree for a run: its root directory, and the
    /// file that says who holds it.
    ///
    /// # Errors
    /// Returns [`StateError::LoopRunning`] if another loop holds it, and
    /// [`StateError::Io`] if the lock file cannot be opened.
    pub(super) fn acquire(dir: &RunDir, holder: &Holder) -> Result<Self, StateError> {
        let path = dir.loop_lock();
        dir.check()?;
        dir.create()?;
        let running = || StateError::LoopRunning {
            holder: holder_in(dir, LOOP_LOCK_WAIT).map(Box::new),
            path: path.clone(),
        };
        let tree = match lock_tree(dir, Mode::Exclusive, LOOP_LOCK_WAIT) {
            Tree::Taken(tree) => Some(tree),
            Tree::Held => return Err(running()),
            Tree::Unlockable => None,
        };
        let taken = take(dir.root(), &path, Mode::Exclusive, LOOP_LOCK_WAIT)?;
        let mut file = taken.map_err(|_held| running())?;
        write_holder(&mut file, holder).map_err(StateError::io("write", &path))?;
        let held = Mutex::new(Held { file, holder: holder.clone() });
        let root = (dir.root().path() != dir.path()).then(|| dir.root().hold()).transpose();
        let root = root.map_err(StateError::io("open", dir.root().path()))?;
        Ok(Self { dir: dir.clone(), held, tree, _root: root })
    }

    /// Returns who runs a loop on a work tree, if anybody does. The outer
    /// option says whether the lock is held, the inner one who holds it.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the lock file cannot be read.
    pub(super) fn holder(dir: &RunDir) -> Result<Option<Option<Holder>>, StateError> {
        if matches!(lock_tree(dir, Mode::Shared, Duration::ZERO), Tree::Held) {
            return Ok(Some(holder_in(dir, Duration::ZERO)));
        }
        let path = dir.loop_lock();
        let opened = found(dir.root().open(&path)).map_err(StateError::file("open", &path))?;
        let Some(mut file) = opened else { return Ok(None) };
        match wait_for(&file, Mode::Shared, Duration::ZERO) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(read_holder(&mut file))),
            Err(error) => Err(StateError::io("lock", path)(error)),
        }
    }
}

impl LoopLock for FileLoopLock {
    /// Puts the lock file back if it is gone, replaced, or does not say any more who holds
    /// it. The root directory stays locked all the same; where it cannot be, another loop
    /// may have the file that stands there.
    fn keep(&self) -> Result<Vec<String>, StateError> {
        let (root, path) = (self.dir.root(), self.dir.loop_lock());
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held { file, holder } = &mut *held;
        if root.is_at(file, &path) && holder_in(&self.dir, Duration::ZERO).as_ref() == Some(&*holder) {
            return Ok(Vec::new());
        }
        if self.tree.is_none() && !root.is_at(file, &path) && is_held(root, &path) {
            let holder = holder_in(&self.dir, Duration::ZERO).map(Box::new);
            return Err(StateError::LoopRunning { holder, path });
        }
        let mut warnings = vec!["the lock of the loop was removed or changed, and is put back".to_owned()];
        self.dir.create_again(&mut warnings)?;
        let aside = root.clear_the_way(&path).map_err(StateError::file("put back", &path))?;
        warnings.extend(aside.map(|aside| moved_aside(&path, &aside)));
        let put_back = || {
            let (replacement, mut new) = Replacement::begin(root.walk(&path, LastLink::Keep)?, PRIVATE_FILE)?;
            // Hardly anybody else has it open yet.
            new.try_lock().map_err(io::Error::from)?;
            write_holder(&mut new, holder)?;
            let _ = replacement.place()?;
            Ok::<_, FileError>(new)
        };
        *file = put_back().map_err(StateError::file("put back", &path))?;
        Ok(warnings)
    }

    fn listens_at(&self, socket: &Path) -> Result<(), StateError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held { file, holder } = &mut *held;
        holder.socket = Some(socket.to_owned());
        write_holder(file, holder).map_err(StateError::io("write", self.dir.loop_lock()))
    }
}

/// Says whether somebody holds the file at a path.
fn is_held(root: &Root, path: &Path) -> bool {
    let found = root.open(path).ok();
    found.is_some_and(|file| matches!(wait_for(&file, Mode::Exclusive, Duration::ZERO), Ok(false)))
}

/// What came of locking the root directory.
enum Tree {
    Taken(File),
    Held,
    /// The file system does not know locks of directories, or nobody may read
    /// this one. Then the lock file alone counts.
    Unlockable,
}

fn lock_tree(dir: &RunDir, mode: Mode, wait: Duration) -> Tree {
    let Ok(tree) = File::open(dir.root().path()) else { return Tree::Unlockable };
    match wait_for(&tree, mode, wait) {
        Ok(true) => Tree::Taken(tree),
        Ok(false) => Tree::Held,
        Err(_) => Tree::Unlockable,
    }
}

/// Reads who holds the loop lock, for a time if nobody has written it yet.
fn holder_in(dir: &RunDir, wait: Duration) -> Option<Holder> {
    let deadline = Instant::now() + wait;
    loop {
        let found = dir.root().open(&dir.loop_lock()).ok().and_then(|mut file| read_holder(&mut file));
        if found.is_some() || Instant::now() >= deadline {
            return found;
        }
        thread::sleep(HOLDER_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use jiff::Timestamp;

    use super::*;

    fn holder(doing: &str) -> Holder {
        Holder::this_process(Timestamp::UNIX_EPOCH, doing)
    }

    #[test]
    fn a_second_loop_is_refused_and_told_who_holds_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        let first = FileLoopLock::acquire(&dir, &holder("run-1")).unwrap();
        let Err(StateError::LoopRunning { holder: Some(found), .. }) =
            FileLoopLock::acquire(&dir, &holder("run-2"))
        else {
            panic!("the second loop got the lock");
        };
        assert_eq!(*found, holder("run-1"));
        assert_eq!(FileLoopLock::holder(&dir).unwrap(), Some(Some(holder("run-1"))));
        drop(first);
        assert_nobody_holds(&dir);
        FileLoopLock::acquire(&dir, &holder("run-2")).unwrap();
        assert!(dir.loop_lock().exists(), "lock files stay");
    }

    /// A process that another test is starting has a copy of each open file for a moment.
    fn assert_nobody_holds(dir: &RunDir) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while let Some(holder) = FileLoopLock::holder(dir).unwrap() {
            assert!(Instant::now() < deadline, "{holder:?}");
            thread::yield_now();
        }
    }

    #[test]
    fn a_lock_file_that_is_removed_or_replaced_admits_no_second_loop_and_is_put_back() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        let path = dir.loop_lock();
        let first = FileLoopLock::acquire(&dir, &holder("run-1")).unwrap();
        assert!(first.keep().unwrap().is_empty());
        let attacks: [fn(&Path); 5] = [
            |path| std::fs::remove_file(path).unwrap(),
            |path| std::fs::write(path, "").unwrap(),
            |path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
                std::fs::write(path.join("file"), "").unwrap();
            },
            |path| {
                std::fs::write(path.with_extension("new"), "").unwrap();
                std::fs::rename(path.with_extension("new"), path).unwrap();
            },
            |path| std::fs::remove_dir_all(path.parent().unwrap()).unwrap(),
        ];
        for attack in attacks {
            attack(&path);
            assert!(FileLoopLock::holder(&dir).unwrap().is_some());
            let refused = FileLoopLock::acquire(&dir, &holder("run-2"));
            assert!(refused.is_err(), "{refused:?}");
            let is_directory = path.is_dir();
            let warnings = first.keep().unwrap();
            assert_eq!(warnings.len(), 1 + usize::from(is_directory), "{warnings:?}");
            assert!(first.keep().unwrap().is_empty());
            let Err(StateError::LoopRunning { holder: Some(found), .. }) =
                FileLoopLock::acquire(&dir, &holder("run-2"))
            else {
                panic!("the second loop got the lock");
            };
            assert_eq!(*found, holder("run-1"));
        }
        drop(first);
        assert_nobody_holds(&dir);
    }

    #[test]
    fn another_program_that_locks_the_root_directory_is_not_called_a_loop() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        let held = File::open(root.path()).unwrap();
        held.lock().unwrap();
        let error = FileLoopLock::acquire(&dir, &holder("run-1")).unwrap_err();
        assert!(matches!(error, StateError::LoopRunning { holder: None, .. }), "{error}");
        let told = error.to_string();
        assert!(told.ends_with(
            "or another program (such as flock) holds a lock on the root directory of the project"
        ));
    }

    #[test]
    fn where_no_directory_can_be_locked_a_loop_takes_its_file_from_no_other() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        let mut first = FileLoopLock::acquire(&dir, &holder("run-1")).unwrap();
        first.tree = None;
        std::fs::remove_file(dir.loop_lock()).unwrap();
        let second = FileLoopLock::acquire(&dir, &holder("run-2")).unwrap();
        assert!(matches!(first.keep(), Err(StateError::LoopRunning { holder: Some(_), .. })));
        assert!(second.keep().unwrap().is_empty());
        drop(second);
        assert!(!first.keep().unwrap().is_empty());
    }
}
