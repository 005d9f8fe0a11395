//! What a run under way saved last, kept outside of the work tree.
//!
//! The journal lies in the work tree: an agent may cut it or write into it, and end
//! Samuel before the loop finds that. So a store that
//! [keeps plans](FileStore::keeping_plans) keeps the last checkpoint of a run beside
//! them until the run has ended, and a start compares the two.
//!
//! It is found by the path of the project and by its directory, so that neither
//! moving the one nor replacing the other hides it: beside the plans of all projects
//! a file for each directory says under which paths there may be one. That it is not what the journal
//! ends with need not be an attack: the run may have gone on where nothing is kept, or
//! in a copy of the directory. So nothing is lost by it; a check decides.
//!
//! It is a copy that nobody waits for the disk to have, so after a restart of the
//! machine it may be older than the journal, which counts then.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Checkpoint, FileStore, JournalEntry, StateError, WorkTreeId, file::digest_of, files};
use samuel_fs::{Durability, PRIVATE_DIRECTORY, Root};

/// The file beside the kept plans.
const FILE: &str = "checkpoint.json";
/// Where Linux says which start of the machine this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Where the caller's directory has, for each directory of a project, the keys of its paths.
const TREES: &str = "trees";
/// Under how many paths that a directory had one is looked for.
const MAX_PATHS: usize = 64;

/// What is kept of the last run, as the journal stands to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum KeptCheckpoint {
    /// Nothing can be kept: no place for it is known.
    #[default]
    Nowhere,
    /// Nothing is kept.
    Nothing,
    /// What the journal ends with as well.
    InJournal,
    /// What the journal was about to get next.
    Next(Checkpoint),
    /// What the journal does not end with, although the run had not ended.
    Beside(Checkpoint),
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct Kept<C> {
    tree: WorkTreeId,
    boot: Option<String>,
    /// The number of its record in the journal.
    seq: u64,
    checkpoint: C,
}

impl FileStore {
    /// Keeps what a run saves now, before it is in the journal under this number;
    /// nothing of one that has ended.
    pub(super) fn keep_checkpoint(&self, seq: u64, checkpoint: &Checkpoint) {
        let Some(path) = self.kept_checkpoint_path() else { return };
        if checkpoint.end.is_some() {
            return self.forget_checkpoint();
        }
        if let Err(error) = self.write_checkpoint(&path, seq, checkpoint) {
            tracing::warn!(path = %path.display(), %error, "what the run saved is kept in the journal alone");
            forget(&path);
        }
    }

    /// Keeps no checkpoint of this project any more, wherever it was before.
    pub(super) fn forget_checkpoint(&self) {
        let Some(path) = self.kept_checkpoint_path() else { return };
        self.kept_of_this_tree(&path).iter().for_each(|(path, _)| forget(path));
        forget(&path);
        if let Some(paths) = self.tree().ok().and_then(|tree| paths_of(&path, &tree)) {
            forget(&paths);
        }
    }

    /// Compares what is kept with the journal. Somebody holds the lock.
    pub(super) fn compare_kept_checkpoint(&self) -> Result<KeptCheckpoint, StateError> {
        let Some(path) = self.kept_checkpoint_path() else { return Ok(KeptCheckpoint::Nowhere) };
        let at_this_path = read(&path);
        let is_of_this_tree = |kept: &Kept<_>| self.tree().is_ok_and(|tree| tree == kept.tree);
        let kept = match at_this_path {
            Some(kept) if is_of_this_tree(&kept) => Some(kept),
            other => self.kept_of_this_tree(&path).pop().map(|(_, kept)| kept).or(other),
        };
        let Some(kept) = kept else { return Ok(KeptCheckpoint::Nothing) };
        let lost_is_none = |error: StateError| if error.is_lost() { Ok(None) } else { Err(error) };
        let in_journal = self.journal().last_checkpoint().or_else(lost_is_none)?;
        let is_of_this_boot = kept.boot.is_some() && kept.boot == boot_id();
        match in_journal.map(|record| record.entry) {
            Some(JournalEntry::Checkpoint(last)) if last == kept.checkpoint || !is_of_this_boot => {
                Ok(KeptCheckpoint::InJournal)
            }
            Some(_) if self.journal().tail()?.seq.checked_add(1) == Some(kept.seq) => {
                Ok(KeptCheckpoint::Next(kept.checkpoint))
            }
            _ => Ok(KeptCheckpoint::Beside(kept.checkpoint)),
        }
    }

    /// Returns what is kept of this directory under other paths that it had.
    fn kept_of_this_tree(&self, own: &Path) -> Vec<(PathBuf, Kept<Checkpoint>)> {
        let Ok(tree) = self.tree() else { return Vec::new() };
        let plans = own.parent().and_then(Path::parent);
        let Some((plans, keys)) = plans.zip(paths_of(own, &tree).and_then(|paths| read_text(&paths))) else {
            return Vec::new();
        };
        let paths =
            keys.lines().take(MAX_PATHS).filter(|key| is_key(key)).map(|key| plans.join(key).join(FILE));
        let kept = paths.filter(|path| path != own).filter_map(|path| read(&path).map(|kept| (path, kept)));
        kept.filter(|(_, kept)| kept.tree == tree).collect()
    }

    /// Writes down that something of this directory is kept under this path, so that it is found from another one.
    fn note_path(&self, own: &Path, tree: &WorkTreeId) -> Result<(), StateError> {
        let key = own.parent().and_then(Path::file_name).and_then(|key| key.to_str());
        let Some((paths, key)) = paths_of(own, tree).zip(key) else { return Ok(()) };
        let before = read_text(&paths).unwrap_or_default();
        if before.lines().any(|known| known == key) {
            return Ok(());
        }
        let directory = paths.parent().unwrap_or(&paths);
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIRECTORY)
            .create(directory)
            .map_err(StateError::io("make", directory))?;
        // The path of now comes first: of too many the oldest are forgotten.
        let text = format!("{key}\n{before}");
        files::write(&Root::new(directory), &paths, text.as_bytes(), Durability::Unsynced)
    }

    fn write_checkpoint(&self, path: &Path, seq: u64, checkpoint: &Checkpoint) -> Result<(), StateError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let tree = self.tree().map_err(StateError::io("look at", self.dir().root().path()))?;
        let content = serde_json::to_vec(&Kept { tree, boot: boot_id(), seq, checkpoint })
            .map_err(|error| StateError::Encode { what: "checkpoint", reason: error.to_string() })?;
        kept.make_dir().map_err(StateError::io("make", path))?;
        self.note_path(path, &tree)?;
        files::write(&Root::new(kept.dir()), path, &content, Durability::Unsynced)
    }

    pub(super) fn kept_checkpoint_path(&self) -> Option<PathBuf> {
        Some(self.kept.as_ref()?.dir().join(FILE))
    }
}

/// Removes what is kept, or empties it where the directory lets nobody remove it.
fn forget(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            if let Err(error) = File::create(path) {
                tracing::warn!(path = %path.display(), %error, "what an earlier run saved cannot be removed");
            }
        }
        _ => {}
    }
}

/// Reads what is kept. What cannot be read is none.
fn read(path: &Path) -> Option<Kept<Checkpoint>> {
    let content = files::read(&Root::new(path.parent()?), path).ok()??;
    serde_json::from_slice(&content).ok()
}

/// Names the file with the keys of the paths that a directory had, beside the plans of all projects.
fn paths_of(own: &Path, tree: &WorkTreeId) -> Option<PathBuf> {
    let state_dir = own.parent()?.parent()?.parent()?;
    let name = digest_of([serde_json::to_vec(tree).ok()?.as_slice()]);
    Some(state_dir.join(TREES).join(name))
}

/// Says whether a line can be the key of a path: no part of another one.
fn is_key(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(files::read(&Root::new(path.parent()?), path).ok()??).ok()
}

/// Returns which start of the machine this is; nothing where that is not known.
fn boot_id() -> Option<String> {
    fs::read_to_string(BOOT_ID).ok().map(|id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::Arc;

    use super::*;
    use crate::{Actor, Existing, KeptPlans, LaneStore as _, Note, PlanStore as _, RunDir, RunEnd};
    use samuel_model::{ExitReason, Plan, Scope, clock::SystemClock};

    fn store(root: &Path) -> FileStore {
        let dir = RunDir::new(root.join("project"));
        fs::create_dir_all(root.join("project")).unwrap();
        let kept = KeptPlans::of(&root.join("state"), &dir);
        let store = FileStore::new(dir, Arc::new(SystemClock::new())).keeping_plans(kept);
        store.import(Plan::default(), Actor::User, Existing::Replace).unwrap();
        store
    }

    fn checkpoint(number: u64, end: Option<RunEnd>) -> Checkpoint {
        Checkpoint {
            run_id: "r".to_owned(),
            state: number.into(),
            waits_until: None,
            end,
            scope: Scope::All,
            agents: Vec::new(),
            begun: None,
            calls: Vec::new(),
        }
    }

    fn note(store: &FileStore, number: u64) {
        store.note(Note::Checkpoint(checkpoint(number, None))).unwrap();
    }

    fn number_kept(store: &FileStore) -> Option<u64> {
        match store.kept_checkpoint().unwrap() {
            KeptCheckpoint::Beside(kept) | KeptCheckpoint::Next(kept) => kept.state.as_u64(),
            _ => None,
        }
    }

    #[test]
    fn what_a_run_saved_counts_until_it_has_ended_where_the_journal_ends_otherwise() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        note(&store, 1);
        let cut = fs::read(store.dir().journal()).unwrap();
        note(&store, 2);
        assert_eq!(number_kept(&store), None);
        let whole = fs::read(store.dir().journal()).unwrap();
        let later = String::from_utf8_lossy(&whole).replace("\"seq\":3", "\"seq\":4");
        let forged = [&whole[..], later.replace("\"state\":2", "\"state\":1").as_bytes()].concat();
        for (how, content) in [("cut", &cut), ("forged", &forged), ("empty", &Vec::new())] {
            fs::write(store.dir().journal(), content).unwrap();
            assert_eq!(number_kept(&store), Some(2), "{how}");
        }
        fs::remove_file(store.dir().journal()).unwrap();
        assert_eq!(number_kept(&store), Some(2));
        let end = RunEnd { reason: ExitReason::Completed, detail: None };
        store.note(Note::Checkpoint(checkpoint(3, Some(end)))).unwrap();
        fs::remove_file(store.dir().journal()).unwrap();
        assert_eq!(number_kept(&store), None);
    }

    #[test]
    fn a_new_plan_without_a_journal_owes_nothing_to_a_run_before() {
        let root = tempfile::tempdir().unwrap();
        let first = store(root.path());
        note(&first, 1);
        fs::remove_dir_all(first.dir().path()).unwrap();
        assert_eq!(number_kept(&first), Some(1));
        let first = store(root.path());
        assert_eq!(number_kept(&first), None);
    }

    #[test]
    fn what_is_kept_is_found_by_the_path_and_by_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let (project, moved) = (root.path().join("project"), root.path().join("moved"));
        let first = store(root.path());
        note(&first, 1);
        let journal = fs::read_to_string(first.dir().journal()).unwrap();
        let forged = journal.replace("\"state\":1", "\"state\":7");

        fs::rename(&project, &moved).unwrap();
        let dir = RunDir::new(&moved);
        let kept = KeptPlans::of(&root.path().join("state"), &dir);
        let at_another_path = FileStore::new(dir, Arc::new(SystemClock::new())).keeping_plans(kept);
        fs::write(at_another_path.dir().journal(), &forged).unwrap();
        assert_eq!(number_kept(&at_another_path), Some(1));

        fs::create_dir_all(first.dir().path()).unwrap();
        fs::write(first.dir().journal(), &forged).unwrap();
        assert_eq!(number_kept(&first), Some(1), "a copy at the path of the project");

        let end = RunEnd { reason: ExitReason::Completed, detail: None };
        at_another_path.note(Note::Checkpoint(checkpoint(3, Some(end)))).unwrap();
        assert_eq!(number_kept(&at_another_path), None);
        assert_eq!(first.kept_checkpoint().unwrap(), KeptCheckpoint::Nothing);
    }

    #[test]
    fn what_other_projects_keep_is_not_looked_at() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        note(&store, 1);
        let own = store.kept_checkpoint_path().unwrap();
        // What a directory of this very tree would keep, where nothing says that there is one.
        let other = own.parent().unwrap().with_file_name("0123");
        fs::create_dir(&other).unwrap();
        fs::copy(&own, other.join(FILE)).unwrap();
        assert!(store.kept_of_this_tree(&own).is_empty());
        let paths = paths_of(&own, &store.tree().unwrap()).unwrap();
        let known = fs::read_to_string(&paths).unwrap();
        assert_eq!(known.lines().count(), 1, "one path, however often it is kept: {known}");
        fs::write(&paths, format!("../plans/0123\n0123\n{known}")).unwrap();
        assert_eq!(store.kept_of_this_tree(&own).len(), 1);
        store.forget_checkpoint();
        assert!(!paths.exists() && !other.join(FILE).exists());
    }

    #[test]
    fn the_record_that_a_kill_kept_from_the_journal_is_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        note(&store, 1);
        let before = fs::read(store.dir().journal()).unwrap();
        note(&store, 2);
        assert_eq!(store.kept_checkpoint().unwrap(), KeptCheckpoint::InJournal);
        fs::write(store.dir().journal(), before).unwrap();
        assert_eq!(store.kept_checkpoint().unwrap(), KeptCheckpoint::Next(checkpoint(2, None)));
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_removed_is_emptied() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        note(&store, 1);
        let path = store.kept_checkpoint_path().unwrap();
        let directory = path.parent().unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o500)).unwrap();
        let end = RunEnd { reason: ExitReason::Completed, detail: None };
        store.note(Note::Checkpoint(checkpoint(2, Some(end)))).unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(store.kept_checkpoint().unwrap(), KeptCheckpoint::Nothing);
    }

    #[test]
    fn after_a_restart_of_the_machine_the_journal_counts_where_there_is_one() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        note(&store, 1);
        let path = store.kept_checkpoint_path().unwrap();
        let older = fs::read_to_string(&path).unwrap().replace(&boot_id().unwrap(), "another");
        note(&store, 2);
        fs::write(&path, older).unwrap();
        assert_eq!(number_kept(&store), None);
        fs::remove_file(store.dir().journal()).unwrap();
        assert_eq!(number_kept(&store), Some(1));
    }
}
