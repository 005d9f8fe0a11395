//! The claims that a plan must have, held against those in its file.
//!
//! Claims are whoever's who runs agents, and stand in a file that agents can write. A claim that
//! somebody takes away there would let two work on one task; one that somebody makes up would
//! keep others from it. So what differs from what is known and what the journal tells is not
//! taken over, but put back.

use std::cmp::Ordering;

use super::{
    Edit, FileStore, JournalEntry, JournalRecord, Mutation, StateError,
    acknowledged::Acknowledged,
    apply::{At, apply_at, count_tasks},
    claims::{drop_stale, forget_attempts, hold_claimed},
    files,
    last_read::PlanFile,
    plan_file,
};
use samuel_fs::Durability;
use samuel_model::{Claim, ClaimTarget, Plan, Status, Task, TaskId};

/// Claims that are put back, and tasks with them.
#[derive(Debug)]
pub(super) struct LostClaims {
    /// The claims, as they must be.
    claims: Vec<Claim>,
    /// Whether the file has other ones.
    differ: bool,
    /// The tasks that stay in progress and stand elsewhere in the file: those that are being landed, and claimed ones
    /// that the file says are settled.
    held: Vec<TaskId>,
}

impl LostClaims {
    /// Says whether an edit sets a task elsewhere that stays where it is.
    pub(super) fn holds(&self, edit: &Edit) -> bool {
        matches!(edit, Edit::Status { id, .. } if self.held.contains(id))
    }

    /// Returns what is told of it, a sentence each.
    pub(super) fn told(&self) -> Vec<String> {
        let held = |id: &TaskId| match self.claims.iter().find(|claim| claim.task.task() == Some(id)) {
            Some(claim) if !claim.is_landing() => format!(
                "prd.toon was edited: task {id} is claimed and stays in_progress; complete or skip it with a command, \
                 not by an edit"
            ),
            _ => format!(
                "prd.toon was edited: task {id} is being landed and stays in_progress; set it again once that \
                 has ended"
            ),
        };
        self.differ.then(|| TOLD.to_owned()).into_iter().chain(self.held.iter().map(held)).collect()
    }
}

/// What is told of claims that are put back.
const TOLD: &str = "prd.toon was edited: the claims in it are put back as they were";

impl Acknowledged {
    /// Returns the claims that are to be put back, by the records since then; nothing where the file
    /// has them, or another plan was stored.
    pub(super) fn lost_claims(&self, file: &PlanFile, records: &[JournalRecord]) -> Option<LostClaims> {
        let now = &file.document.plan;
        let is_known = self.plan.claims.is_empty() && now.claims.is_empty();
        let about_claims = |record: &JournalRecord| matches!(&record.entry, JournalEntry::Mutation { mutation, .. } if mutation.is_of_claims());
        if self.content == file.content || (is_known && !records.iter().any(about_claims)) {
            return None;
        }
        let (mut plan, unread) = (known_tasks(&self.plan), file.document.lost_ids());
        for record in records {
            fold(&mut plan, record, &unread)?;
        }
        plan.tasks.clone_from(&now.tasks);
        let mut held = hold_claimed(&mut plan);
        let is_landing = |id: &&TaskId| plan.live_claim(id).is_some_and(Claim::is_landing);
        held.extend(file.document.held.iter().filter(is_landing).cloned());
        drop_stale(&mut plan, &unread);
        // Reading the file has dropped the claims of tasks that it says are settled.
        let is_dropped = |claim: &Claim| {
            let is_held = claim.task.task().is_some_and(|id| held.contains(id));
            is_held && !claim.is_landing() && now.claim(&claim.task).is_none()
        };
        let mut there = plan.claims.clone();
        there.retain(|claim| !is_dropped(claim));
        let differ = sorted(&there) != sorted(&now.claims);
        (differ || !held.is_empty()).then_some(LostClaims { claims: plan.claims, differ, held })
    }
}

/// Returns of a plan what claims depend on.
fn known_tasks(plan: &Plan) -> Plan {
    let task = |task: &Task| Task { status: task.status, ..Task::new(task.id.clone(), "") };
    let tasks = plan.tasks.iter().map(task).collect();
    Plan { tasks, claims: plan.claims.clone(), ..Plan::default() }
}

/// Has claims be what a record made of them; nothing where it stored another plan. What a record tells
/// took effect, so a task was pending when it was claimed, whatever is known of it. The claims of tasks whose rows
/// cannot be read stay.
fn fold(plan: &mut Plan, record: &JournalRecord, unread: &[TaskId]) -> Option<()> {
    match &record.entry {
        JournalEntry::Imported { .. } => return None,
        JournalEntry::Mutation { mutation, .. } if mutation.is_of_claims() => {
            if let Mutation::Claim { task: ClaimTarget::Task(id), .. } = mutation {
                have_pending(plan, id, unread);
            }
            let at = At { now: record.at, revision: record.revision, reserved: unread };
            // A record that somebody made up changes nothing.
            let _ = apply_at(plan, mutation, at);
        }
        entry => {
            for task in &mut plan.tasks {
                if let (_, Some(status)) = entry.standing_of(&task.id) {
                    task.status = status;
                }
            }
            if let JournalEntry::Mutation { mutation: Mutation::Reset { id }, .. } = entry {
                forget_attempts(plan, id);
            }
            drop_stale(plan, unread);
        }
    }
    Some(())
}

fn have_pending(plan: &mut Plan, id: &TaskId, unread: &[TaskId]) {
    match plan.tasks.iter_mut().find(|task| task.id == *id) {
        Some(task) => task.status = Status::Pending,
        None => plan.tasks.push(Task::new(id.clone(), "")),
    }
    drop_stale(plan, unread);
}

fn sorted(claims: &[Claim]) -> Vec<&Claim> {
    let mut sorted: Vec<&Claim> = claims.iter().collect();
    sorted.sort_by(|one, other| match one.task.as_str().cmp(other.task.as_str()) {
        Ordering::Equal => one.token.cmp(&other.token),
        order => order,
    });
    sorted
}

impl FileStore {
    /// Writes the plan with the claims that it must have, under the lock.
    pub(super) fn with_claims(&self, file: PlanFile, lost: LostClaims) -> Result<PlanFile, StateError> {
        let PlanFile { mut document, .. } = file;
        document.plan_mut().claims = lost.claims;
        hold_claimed(document.plan_mut());
        count_tasks(document.plan_mut());
        let text = plan_file::encode(&document)?;
        files::write(self.dir().root(), &self.dir().prd(), text.as_bytes(), Durability::Synced)?;
        self.read_plan()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use std::{fs, sync::Arc};

    use super::*;
    use crate::{Actor, CaughtUp, Existing, LandingClaim, PlanStore as _, RunDir};
    use samuel_model::{ReleaseReason, Role, clock::SystemClock};

    /// A store of three tasks of which the first is claimed, as a loop knows it.
    struct Known {
        _root: tempfile::TempDir,
        store: FileStore,
        token: u64,
    }

    impl Known {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::new()));
            let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
            store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
            let mut known = Self { _root: root, store, token: 0 };
            known.token = known.claim("1");
            known.store.catch_up(0).unwrap();
            known
        }

        fn claim(&self, id: &str) -> u64 {
            let claim = Mutation::Claim { task: id.parse().unwrap(), worker: "lane-1".to_owned() };
            self.store.mutate(claim, Actor::Runtime).unwrap().revision
        }

        fn change(&self, mutation: Mutation) {
            self.store.mutate(mutation, Actor::User).unwrap();
        }

        /// Replaces something in the file without asking the store.
        fn edit(&self, from: &str, to: &str) {
            let path = self.store.dir().prd();
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
        }

        fn caught_up(&self) -> CaughtUp {
            self.store.catch_up(self.store.journal_since(0).unwrap().records.last().unwrap().seq).unwrap()
        }

        fn claims(&self) -> Vec<String> {
            let plan = self.store.load().unwrap().plan;
            let told = |claim: &Claim| format!("{} {} {}", claim.task, claim.token, claim.phase);
            plan.claims.iter().map(told).collect()
        }
    }

    #[test]
    fn claims_that_are_taken_out_of_the_file_or_made_up_there_are_put_back() {
        let known = Known::new();
        let before = known.claims();
        let text = fs::read_to_string(known.store.dir().prd()).unwrap();
        let table = text.find("\nclaims[1]").unwrap();
        let row = text[table + 1..].split('\n').nth(1).unwrap().to_owned();
        for (from, to) in [
            (row.as_str(), row.replace("working", "submitted")),
            (row.as_str(), row.replace("lane-1", "lane-9")),
            (row.as_str(), row.replacen(&known.token.to_string(), "7", 1).replace("\"7\"", "\"1\"")),
        ] {
            known.edit(from, &to);
            let caught = known.caught_up();
            assert_eq!((known.claims(), caught.warnings), (before.clone(), vec![TOLD.to_owned()]), "{to}");
        }
        let text = fs::read_to_string(known.store.dir().prd()).unwrap();
        let table = text.find("\nclaims[1]").unwrap() + 1;
        let end = table + text[table..].match_indices('\n').nth(1).unwrap().0 + 1;
        known.edit(&text[table..end], "");
        assert_eq!(known.claims(), [""; 0]);
        known.caught_up();
        assert_eq!(known.claims(), before);
        assert_eq!(known.caught_up().warnings, [""; 0], "it is told once");
    }

    #[test]
    fn what_the_journal_tells_of_claims_is_nobodys_edit() {
        let known = Known::new();
        let merge = Mutation::Claim { task: Role::Merge.into(), worker: "lane-1".to_owned() };
        known.change(merge);
        known.change(Mutation::Skip { id: TaskId::new("1"), reason: None });
        let second = known.claim("2");
        known.change(Mutation::Reset { id: TaskId::new("2") });
        let third = known.claim("2");
        assert!(third > second);
        let reason = ReleaseReason::Checks { failures: vec!["red".to_owned()] };
        known.change(Mutation::Release {
            task: TaskId::new("2").into(),
            token: third,
            reason,
            kept: Some("refs/samuel/rescue/2".to_owned()),
        });
        known.change(Mutation::Skip { id: TaskId::new("3"), reason: None });
        let before = known.claims();
        assert_eq!(before.len(), 2, "{before:?}");
        let caught = known.caught_up();
        assert_eq!((caught.warnings, known.claims()), (Vec::new(), before));
    }

    #[test]
    fn a_task_whose_row_cannot_be_read_stays_claimed_whatever_else_is_changed() {
        let known = Known::new();
        known.edit(",in_progress,", ",at_work,");
        known.caught_up();
        known.change(Mutation::Skip { id: TaskId::new("2"), reason: None });
        let caught = known.caught_up();
        assert!(!caught.warnings.contains(&TOLD.to_owned()), "{caught:?}");
        assert_eq!(known.claims(), [format!("1 {} working", known.token)]);
    }

    #[test]
    fn keeps_claimed_task_in_progress_after_edit() {
        let known = Known::new();
        let before = known.claims();
        known.edit(",in_progress,", ",skipped,");
        known.caught_up();
        assert_eq!((known.claims(), status(&known).0), (before.clone(), Status::InProgress));
        known.edit(",in_progress,", ",completed,");
        let caught = known.caught_up();
        let told = "prd.toon was edited: task 1 is claimed and stays in_progress; complete or skip it with a command, \
                    not by an edit";
        assert_eq!((known.claims(), status(&known).0), (before.clone(), Status::InProgress));
        assert_eq!(caught.warnings, [told]);
        let edits = |record: &JournalRecord| matches!(record.entry, JournalEntry::Edited { .. });
        assert!(!caught.journal.records.iter().any(edits), "{caught:?}");
        assert_eq!(known.caught_up().warnings, [""; 0], "it is told once");
        // Also if another change was made on top of the edit.
        known.edit(",in_progress,", ",completed,");
        known.change(Mutation::Skip { id: TaskId::new("2"), reason: None });
        known.caught_up();
        assert_eq!((known.claims(), status(&known).0), (before, Status::InProgress));
        // A person completes it by the command.
        known.change(Mutation::Done { id: TaskId::new("1"), commit_sha: None, iteration: None });
        known.caught_up();
        assert_eq!((known.claims().len(), status(&known).0), (0, Status::Completed));
    }

    /// Has the first task be landed; returns the token of the role that lands it.
    fn landing(known: &Known) -> u64 {
        let (task, commit, base) = (TaskId::new("1"), "abcd".to_owned(), "0000".to_owned());
        let (token, branch) = (known.token, "samuel/run/1".to_owned());
        known.change(Mutation::Submit {
            task: task.clone(),
            token,
            branch,
            commit: commit.clone(),
            base,
            tree: None,
            iteration: None,
        });
        let role = known.claim("@merge");
        let claims = vec![LandingClaim { task, token, commit, landed: "abcdff".to_owned() }];
        let (into, old, new) = ("main".to_owned(), "0000".to_owned(), "abcdff".to_owned());
        known.change(Mutation::Landing { role, into, old, new, claims });
        known.caught_up();
        role
    }

    fn status(known: &Known) -> (Status, Option<String>) {
        let plan = known.store.load().unwrap().plan;
        let task = plan.task(&TaskId::new("1")).unwrap();
        (task.status, task.commit_sha.clone())
    }

    #[test]
    fn a_task_that_is_being_landed_stays_so_whatever_its_row_is_made_to_say() {
        for to in [",completed,", ",pending,", ",skipped,"] {
            for takes_table in [false, true] {
                let known = Known::new();
                let role = landing(&known);
                let before = known.claims();
                known.edit(",in_progress,", to);
                if takes_table {
                    let text = fs::read_to_string(known.store.dir().prd()).unwrap();
                    let table = text.find("\nclaims[2]").unwrap() + 1;
                    let end = table + text[table..].match_indices('\n').nth(2).unwrap().0 + 1;
                    known.edit(&text[table..end], "");
                }
                let caught = known.caught_up();
                let told = "prd.toon was edited: task 1 is being landed and stays in_progress; set it again once \
                            that has ended";
                assert!(caught.warnings.contains(&told.to_owned()), "{to} {takes_table}: {caught:?}");
                assert_eq!((known.claims(), status(&known).0), (before, Status::InProgress), "{to}");
                let edits = |record: &JournalRecord| matches!(record.entry, JournalEntry::Edited { .. });
                assert!(!caught.journal.records.iter().any(edits), "{caught:?}");
                assert_eq!(known.caught_up().warnings, [""; 0], "it is told once");
                known.change(Mutation::Land { role, unchanged: Vec::new() });
                assert_eq!(status(&known), (Status::Completed, Some("abcdff".to_owned())));
            }
        }
    }

    #[test]
    fn knows_which_merges_this_process_wrote() {
        let known = Known::new();
        let role = landing(&known);
        known.change(Mutation::Land { role, unchanged: Vec::new() });
        let land = known.store.journal_since(0).unwrap().records.pop().unwrap();
        assert!(matches!(&land.entry, JournalEntry::Mutation { mutation: Mutation::Land { .. }, .. }));
        assert!(known.store.wrote(&land));
        known.caught_up();
        assert!(known.store.wrote(&land), "also after the next look");
        let forged = JournalRecord { seq: land.seq + 1, ..land.clone() };
        assert!(!known.store.wrote(&forged));
        let other = FileStore::new(known.store.dir().clone(), Arc::new(SystemClock::new()));
        assert!(!other.wrote(&land), "another process");
    }

    #[test]
    fn what_lands_before_anybody_sees_an_edit_of_its_row_is_completed() {
        let known = Known::new();
        let role = landing(&known);
        known.edit(",in_progress,", ",pending,");
        known.change(Mutation::Land { role, unchanged: Vec::new() });
        assert_eq!(status(&known), (Status::Completed, Some("abcdff".to_owned())));
        known.caught_up();
        assert_eq!((status(&known).0, known.claims().len()), (Status::Completed, 1));
    }
}
