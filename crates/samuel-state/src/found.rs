//! How a store finds its files, which others may have changed.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    Edit, FileStore, JournalRecord, StateError, acknowledged::Acknowledged, file::cut_short, files,
    last_read::PlanFile,
};

/// How long a plan's file stands still once whoever writes it in place is done.
pub(super) const STILL: Duration = Duration::from_millis(200);
/// How long it may be written.
pub(super) const MAX_WRITING: Duration = Duration::from_secs(2);

/// How the files are found.
pub(super) struct Found {
    /// The plan, or why it cannot be used.
    pub(super) plan: Result<PlanFile, StateError>,
    /// The records since the store last caught up; none where the journal is lost,
    /// which then explains nothing.
    pub(super) records: Vec<JournalRecord>,
    pub(super) journal_is_lost: bool,
    ignore_is_lost: bool,
    /// Whether a change is in the journal that was cut short before the plan had it.
    is_cut_short: bool,
    edits: Vec<Edit>,
    /// Whether something passes the limit of a discovery iteration.
    has_excess: bool,
    /// Whether claims are other ones than they must be.
    has_other_claims: bool,
    /// Whether tasks or groups that agents work beside are other ones than they must be.
    has_other_tasks: bool,
}

impl Found {
    pub(super) fn is_as_told(&self) -> bool {
        let is_whole = !self.journal_is_lost && !self.ignore_is_lost && !self.is_cut_short;
        let has_others = self.has_excess || self.has_other_claims || self.has_other_tasks;
        self.plan.is_ok() && is_whole && !has_others && self.edits.is_empty()
    }

    /// Says whether the plan may be half written.
    fn may_be_half(&self) -> bool {
        self.plan.is_err() || self.edits.iter().any(Edit::loses_something)
    }
}

impl FileStore {
    /// Looks at the files, under a lock.
    pub(super) fn find(&self, known: &Acknowledged) -> Result<Found, StateError> {
        let journal = self.journal();
        let read = journal.tail().and_then(|tail| Ok((tail, journal.since(known.seq)?)));
        let (tail, mut records) = unless_lost(read)?.unwrap_or_default();
        // Samuel counts: after a number that somebody made up, the next record may
        // be one that nobody reads.
        let is_in_turn = records.iter().zip(known.seq + 1..).all(|(record, seq)| record.seq == seq);
        let journal_is_lost = tail.seq < known.seq || !is_in_turn;
        if journal_is_lost {
            records.clear();
        }
        let plan = self.read_plan().and_then(|file| match file.content == known.content {
            true => Ok(file),
            false => self.whole(file),
        });
        let plan = match plan {
            Err(error) if !error.is_lost() => return Err(error),
            plan => plan,
        };
        let edits = plan.as_ref().map(|file| known.edits(file, &records)).unwrap_or_default();
        let excess = |file: &PlanFile| known.excess(&file.document.plan, &records, &self.written).is_some();
        let has_excess = plan.as_ref().is_ok_and(excess);
        let lost_claims = |file: &PlanFile| known.lost_claims(file, &records).is_some();
        let has_other_claims = !journal_is_lost && plan.as_ref().is_ok_and(lost_claims);
        let other_tasks = |file: &PlanFile| self.tasks_to_keep(known, file, &records).is_some();
        let has_other_tasks = plan.as_ref().is_ok_and(other_tasks);
        let is_cut_short = plan.as_ref().is_ok_and(|file| cut_short(&file.document, &tail).is_some());
        let ignore_is_lost = known.ignored && !self.is_ignored();
        Ok(Found {
            plan,
            records,
            journal_is_lost,
            ignore_is_lost,
            is_cut_short,
            edits,
            has_excess,
            has_other_claims,
            has_other_tasks,
        })
    }

    /// Looks at the files once the plan stands still. An editor that writes it in
    /// place leaves half of it there for a moment.
    pub(super) fn find_still(&self, known: &Acknowledged) -> Result<Found, StateError> {
        let content = || files::read(self.dir().root(), &self.dir().prd()).ok().flatten();
        let deadline = Instant::now() + MAX_WRITING;
        let mut seen = content();
        let mut found = self.find(known)?;
        while found.may_be_half() && Instant::now() < deadline {
            thread::sleep(STILL);
            let now = content();
            if now == seen {
                break;
            }
            seen = now;
            found = self.find(known)?;
        }
        Ok(found)
    }
}

/// Returns what was read; nothing where it is lost.
fn unless_lost<T>(read: Result<T, StateError>) -> Result<Option<T>, StateError> {
    match read {
        Err(error) if error.is_lost() => Ok(None),
        read => read.map(Some),
    }
}
