//! What must always hold of a fleet, as the log and the branch have it.

use super::{super::process::LEASE, World};
use crate::{
    clock::Clock as _,
    model::{ClaimPhase, Plan, ReleaseReason, Status},
    state::{JournalEntry, LogOutcome, LogRecord, Mutation, ReadRecord},
    testing::VirtualClock,
};

impl World {
    /// Reads what the log has, and says what must not be.
    pub(super) fn judge(&mut self) -> Result<(), String> {
        for (number, bytes) in self.log.records_after(self.read) {
            self.read = number;
            let before = self.referee.plan().cloned();
            let read = self.referee.fold(number, &bytes).map_err(|error| error.to_string())?;
            let ReadRecord::Counted { writer, n, outcome } = read else { continue };
            let revision = match &outcome {
                Ok(LogOutcome::Applied(applied)) => Some(applied.revision),
                _ => None,
            };
            self.truth.insert((writer.clone(), n), revision);
            let record: LogRecord = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
            if let (Some(before), Some(JournalEntry::Mutation { mutation, .. })) =
                (before, self.referee.last_entry())
            {
                self.is_just(&before, &record, &mutation, revision.is_some())?;
            }
        }
        self.holds()
    }

    /// Says whether somebody was taken for gone who was there and in touch all the time.
    fn is_just(
        &mut self,
        before: &Plan,
        record: &LogRecord,
        mutation: &Mutation,
        is_made: bool,
    ) -> Result<(), String> {
        let Mutation::Release { task, reason: ReleaseReason::Lost, .. } = mutation else { return Ok(()) };
        let holder = before.claim(task).and_then(|claim| claim.worker.clone());
        let Some(holder) = holder.filter(|_| is_made) else { return Ok(()) };
        self.totals.lost += 1;
        let start = VirtualClock::new();
        let decided = record.at.duration_since(start.now()).as_millis() / 100;
        let decided = u64::try_from(decided).unwrap_or_default();
        let from = decided.saturating_sub(LEASE + LEASE / 2);
        let process = self.processes.iter().find(|process| process.name == holder);
        let was_out = process.is_none_or(|process| {
            process.outages.iter().any(|(out, back)| *out <= decided && *back >= from) || from == 0
        });
        match was_out {
            true => Ok(()),
            false => Err(format!(
                "{} took {holder} for gone at {decided}, who was there all the time",
                record.writer
            )),
        }
    }

    /// What must always hold, where something is other than it was.
    fn holds(&mut self) -> Result<(), String> {
        let held = (self.read, self.remote.head.clone());
        if self.held == held {
            return Ok(());
        }
        self.held = held;
        let Some(plan) = self.referee.plan().cloned() else { return Ok(()) };
        for claim in plan.claims.iter().filter(|claim| claim.phase == ClaimPhase::Submitted) {
            let made = claim.commit.as_ref().and_then(|commit| self.remote.made.get(commit));
            if made.is_some_and(|made| made.token != claim.token) {
                return Err(format!("{} is submitted by a claim that was void", claim.task));
            }
        }
        let line = self.remote.line(&self.remote.head);
        for task in plan.tasks.iter().filter(|task| task.status == Status::Completed) {
            let commit = task.commit_sha.as_ref().ok_or("completed without a commit")?;
            if !line.contains(commit) {
                return Err(format!("task {} is completed, and {commit} is lost", task.id));
            }
            self.completed.insert(task.id.clone());
        }
        let gone = self
            .completed
            .iter()
            .find(|id| plan.task(id).is_none_or(|task| task.status != Status::Completed));
        if let Some(gone) = gone {
            return Err(format!("task {gone} was completed"));
        }
        if let Some(commit) = self.remote.lost_of_others() {
            return Err(format!("somebody else pushed {commit}, and it is lost"));
        }
        let landed = self.remote.landed(&self.remote.head);
        for (place, made) in landed.iter().enumerate() {
            if made.is_bad {
                return Err(format!("task {} landed and fails", made.task));
            }
            if landed.iter().skip(place + 1).any(|other| other.task == made.task) {
                return Err(format!("task {} landed twice", made.task));
            }
        }
        Ok(())
    }
}
