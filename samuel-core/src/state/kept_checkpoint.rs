//! What a run under way saved last, kept outside of the work tree.
//!
//! The journal lies in the work tree: an agent may cut it or write into it, and end
//! Samuel before the loop finds that. So a store that
//! [keeps plans](FileStore::keeping_plans) keeps the last checkpoint of a run beside
//! them until the run has ended. Where the journal ends with another one, what is
//! kept counts.
//!
//! It is a copy that nobody waits for the disk to have, so after a restart of the
//! machine it may be older than the journal, which counts then. Nor does it count for
//! another directory that has taken the place of the project.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Checkpoint, FileStore, JournalEntry, StateError, WorkTreeId, atomic};
use crate::fs::Root;

/// The file beside the kept plans.
const FILE: &str = "checkpoint.json";
/// Where Linux says which start of the machine this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct KeptCheckpoint<C> {
    tree: WorkTreeId,
    boot: Option<String>,
    checkpoint: C,
}

impl FileStore {
    /// Keeps what a run saves now, before it is in the journal; nothing of one that
    /// has ended.
    pub(super) fn keep_checkpoint(&self, checkpoint: &Checkpoint) {
        let Some(path) = self.kept_checkpoint_path() else { return };
        if checkpoint.end.is_some() {
            return self.forget_checkpoint();
        }
        if let Err(error) = self.write_checkpoint(&path, checkpoint) {
            tracing::warn!(path = %path.display(), %error, "what the run saved is kept in the journal alone");
            // An older one would count before the journal.
            self.forget_checkpoint();
        }
    }

    /// Keeps no checkpoint any more.
    pub(super) fn forget_checkpoint(&self) {
        if let Some(path) = self.kept_checkpoint_path() {
            // Mostly there is none.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Returns the checkpoint that is kept, where it counts and the journal does not
    /// end with it. Somebody holds the lock.
    pub(super) fn checkpoint_beside_journal(&self) -> Result<Option<Checkpoint>, StateError> {
        let Some(kept) = self.read_checkpoint() else { return Ok(None) };
        let in_journal = match self.journal().last_checkpoint() {
            Err(error) if error.is_lost() => None,
            found => found?.map(|record| record.entry),
        };
        let is_of_this_boot = kept.boot.is_some() && kept.boot == boot_id();
        Ok(match in_journal {
            Some(JournalEntry::Checkpoint(last)) if last == kept.checkpoint || !is_of_this_boot => None,
            _ => Some(kept.checkpoint),
        })
    }

    /// Returns the checkpoint that is kept of this project. One that cannot be read is
    /// none.
    fn read_checkpoint(&self) -> Option<KeptCheckpoint<Checkpoint>> {
        let path = self.kept_checkpoint_path()?;
        let content = atomic::read(&Root::new(path.parent()?), &path).ok()??;
        let kept: KeptCheckpoint<Checkpoint> = serde_json::from_slice(&content).ok()?;
        (self.tree().ok().as_ref() == Some(&kept.tree)).then_some(kept)
    }

    fn write_checkpoint(&self, path: &Path, checkpoint: &Checkpoint) -> Result<(), StateError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let kept_checkpoint = KeptCheckpoint {
            tree: self.tree().map_err(StateError::io("look at", self.dir().root().path()))?,
            boot: boot_id(),
            checkpoint,
        };
        let content = serde_json::to_vec(&kept_checkpoint)
            .map_err(|error| StateError::Encode { what: "checkpoint", reason: error.to_string() })?;
        kept.make_dir().map_err(StateError::io("make", path))?;
        atomic::write_unsynced(&Root::new(kept.dir()), path, &content)
    }

    fn kept_checkpoint_path(&self) -> Option<PathBuf> {
        Some(self.kept.as_ref()?.dir().join(FILE))
    }
}

/// Returns which start of the machine this is; nothing where that is not known.
fn boot_id() -> Option<String> {
    std::fs::read_to_string(BOOT_ID).ok().map(|id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::{fs, sync::Arc};

    use super::*;
    use crate::{
        clock::SystemClock,
        model::{ExitReason, Plan},
        state::{Actor, Existing, KeptPlans, Note, RunDir, RunEnd, StateStore as _},
    };

    fn store(root: &Path) -> FileStore {
        let dir = RunDir::new(root.join("project"));
        fs::create_dir_all(root.join("project")).unwrap();
        let kept = KeptPlans::of(&root.join("state"), &dir);
        let store = FileStore::new(dir, Arc::new(SystemClock::new())).keeping_plans(kept);
        store.import(Plan::default(), Actor::User, Existing::Replace).unwrap();
        store
    }

    fn checkpoint(number: u64, end: Option<RunEnd>) -> Checkpoint {
        Checkpoint { run_id: "r".to_owned(), state: number.into(), waits_until: None, end }
    }

    fn note(store: &FileStore, number: u64) {
        store.note(Note::Checkpoint(checkpoint(number, None))).unwrap();
    }

    fn number_kept(store: &FileStore) -> Option<u64> {
        store.kept_checkpoint().unwrap()?.state.as_u64()
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
    fn a_new_plan_without_a_journal_and_another_directory_owe_nothing_to_a_run_before() {
        let root = tempfile::tempdir().unwrap();
        let first = store(root.path());
        note(&first, 1);
        fs::remove_dir_all(first.dir().path()).unwrap();
        assert_eq!(number_kept(&first), Some(1));
        let first = store(root.path());
        assert_eq!(number_kept(&first), None);
        note(&first, 2);
        fs::rename(root.path().join("project"), root.path().join("moved")).unwrap();
        fs::create_dir(root.path().join("project")).unwrap();
        assert_eq!(number_kept(&first), None);
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
