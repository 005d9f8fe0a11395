//! Putting back what is gone of a run directory.

use std::path::Path;

use super::{
    FileStore, JournalEntry, JournalRecord, StateError, acknowledged::Acknowledged, file::digest_of, files,
    half::aside, plan_file, run_dir::moved_aside,
};
use samuel_fs::Durability;

/// Keeps version control out of a run directory.
const IGNORE: (&str, &str) = (".gitignore", "*\n");

impl FileStore {
    /// Says whether version control is kept out of the run directory.
    pub(super) fn is_ignored(&self) -> bool {
        self.dir().root().has(&self.dir().path().join(IGNORE.0)).unwrap_or_default()
    }

    /// Makes the directory again, and room for the files in it; what stands in the
    /// place of the plan is looked at first. Adds a warning for everything that was renamed.
    pub(super) fn put_back_places(
        &self,
        known: &Acknowledged,
        warnings: &mut Vec<String>,
    ) -> Result<(), StateError> {
        let (dir, root) = (self.dir(), self.dir().root());
        let is_gone = !dir.path().is_dir();
        dir.create_again(warnings)?;
        warnings.extend(is_gone.then(|| format!("{} was gone", dir.path().display())));
        for path in [dir.lock(), dir.journal()] {
            warnings.extend(self.clear_the_way(&path)?);
        }
        if known.ignored && !self.is_ignored() {
            files::write(root, &dir.path().join(IGNORE.0), IGNORE.1.as_bytes(), Durability::Unsynced)?;
        }
        Ok(())
    }

    /// Makes room for a file. Returns a warning if something was renamed.
    pub(super) fn clear_the_way(&self, path: &Path) -> Result<Option<String>, StateError> {
        let aside = self.dir().root().clear_the_way(path).map_err(StateError::file("put back", path))?;
        Ok(aside.map(|aside| moved_aside(path, &aside)))
    }

    /// Writes the plan as it was known or kept last, with the changes that were
    /// acknowledged since. What stands in its place is kept beside it. Where another
    /// plan was stored that is not kept, this is why the present one cannot be used.
    /// Adds a warning if a directory was renamed.
    pub(super) fn put_back_plan(
        &self,
        known: &Acknowledged,
        records: &[JournalRecord],
        why: StateError,
        warnings: &mut Vec<String>,
    ) -> Result<(), StateError> {
        let (root, path) = (self.dir().root(), self.dir().prd());
        let kept = self.last_kept(records);
        let (content, records) = match &kept {
            Some((content, records)) => (&content[..], *records),
            None => (&known.content[..], records),
        };
        if records.iter().any(|record| matches!(record.entry, JournalEntry::Imported { .. })) {
            return Err(why);
        }
        if let Ok(Some(content)) = files::read(root, &path)
            && !content.is_empty()
        {
            files::write(root, &aside(&path), &content, Durability::Unsynced)?;
        }
        let (mut document, _) = plan_file::decode(&path, content)?;
        let mut revision = known.revision.max(document.plan.revision);
        for record in records {
            if let JournalEntry::Mutation { mutation, .. } = &record.entry {
                // Each was applied to this plan before.
                let _ = document.apply(mutation, record.at);
                revision = revision.max(record.revision);
            }
        }
        document.plan_mut().revision = revision;
        warnings.extend(self.clear_the_way(&path)?);
        files::write(root, &path, plan_file::encode(&document)?.as_bytes(), Durability::Synced)
    }

    /// Returns the last of the plans that records name which is kept, and the records
    /// after it.
    fn last_kept<'a>(&self, records: &'a [JournalRecord]) -> Option<(Vec<u8>, &'a [JournalRecord])> {
        let kept = self.kept.as_ref().filter(|_| !records.is_empty())?.contents();
        let digests: Vec<String> = kept.iter().map(|content| digest_of([&content[..]])).collect();
        let kept_after = |record: &JournalRecord| {
            let digest = record.digest.as_ref()?;
            kept.get(digests.iter().position(|of_kept| of_kept == digest)?)
        };
        let ends = (1..=records.len()).rev();
        ends.into_iter().find_map(|end| {
            let (until, after) = records.split_at_checked(end)?;
            Some((kept_after(until.last()?)?.clone(), after))
        })
    }
}
