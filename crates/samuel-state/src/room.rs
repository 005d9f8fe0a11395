//! How many tasks a discovery iteration may add, held against what is written into the plan's file.
//!
//! The limit stands in that file, where an agent can change it, and rows are added there without
//! asking. What it was is known, and the journal tells what became of it since.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, PoisonError},
};

use super::{
    Edit, FileStore, JournalEntry, JournalRecord, Mutation, StateError, TaskChange,
    acknowledged::Acknowledged, apply::count_tasks, files, last_read::PlanFile, plan_file,
};
use samuel_fs::Durability;
use samuel_model::{ClaimTarget, Coded as _, Plan, ProgressStatus, Role, TaskId, payload::Mode};

/// How many refused tasks a warning names.
const MAX_NAMED: usize = 20;

/// What of a plan passes the limit of a discovery iteration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excess {
    /// How many tasks may still be added, by what is known; nothing while no discovery is under way.
    room: Option<u32>,
    /// The tasks beyond it.
    tasks: Vec<TaskId>,
}

/// The records that this store wrote and that say how many tasks may be added, or complete tasks, by their numbers.
///
/// Only the process of a loop begins and ends a discovery and merges work, and while a discovery is under way nobody
/// else stores another plan. An agent can append such a record to the journal; it is not among these.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<BTreeMap<u64, JournalEntry>>);

impl Written {
    /// Returns what is to be remembered of a record that is about to be written: nothing for most of them.
    pub(super) fn of(entry: &JournalEntry) -> Option<JournalEntry> {
        (is_about_the_room(entry) || completes(entry)).then(|| essence(entry))
    }

    /// Remembers one of those records.
    pub(super) fn note(&self, seq: u64, entry: JournalEntry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(seq, entry);
    }

    /// Forgets the records up to a number. Those that complete tasks stay: they are asked about later.
    pub(super) fn forget_until(&self, seq: u64) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.retain(|at, entry| *at > seq || completes(entry));
    }

    /// Returns whether this store wrote a record.
    pub(super) fn has(&self, record: &JournalRecord) -> bool {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.get(&record.seq).is_some_and(|entry| *entry == essence(&record.entry))
    }
}

/// Returns an entry without the content that it replaced.
fn essence(entry: &JournalEntry) -> JournalEntry {
    let mut entry = entry.clone();
    if let JournalEntry::Mutation { replaced, .. } = &mut entry {
        *replaced = None;
    }
    entry
}

fn completes(entry: &JournalEntry) -> bool {
    matches!(entry, JournalEntry::Mutation { change, .. } if change.completed().next().is_some())
}

/// Says whether a record says how many tasks may be added, whatever it adds itself.
fn is_about_the_room(entry: &JournalEntry) -> bool {
    match entry {
        JournalEntry::Imported { .. } => true,
        JournalEntry::Mutation { mutation, .. } => matches!(
            mutation,
            Mutation::BeginDiscovery { .. }
                | Mutation::CommitIteration { .. }
                | Mutation::SetProgressStatus { .. }
                | Mutation::Claim { task: ClaimTarget::Role(Role::Discover), .. }
                | Mutation::Release { task: ClaimTarget::Role(Role::Discover), .. }
        ),
        _ => false,
    }
}

impl Acknowledged {
    /// Returns what passes the limit, by the records since then; nothing where all is within it.
    pub(super) fn excess(&self, plan: &Plan, records: &[JournalRecord], written: &Written) -> Option<Excess> {
        let (mut room, mut is_claimed) =
            (self.plan.progress.discovery_room, self.plan.is_discovery_claimed());
        let mut tasks = Vec::new();
        let mut known: HashSet<&TaskId> = self.plan.tasks.iter().map(|task| &task.id).collect();
        for record in records {
            if room.is_some() && is_about_the_room(&record.entry) && !written.has(record) {
                continue;
            }
            match &record.entry {
                // Another plan has another limit.
                JournalEntry::Imported { .. } => return None,
                JournalEntry::Mutation { mutation, change, .. } => match mutation {
                    Mutation::BeginDiscovery { room: begun } => room = Some(*begun),
                    Mutation::Claim { task: ClaimTarget::Role(Role::Discover), .. } => is_claimed = true,
                    Mutation::Release { task: ClaimTarget::Role(Role::Discover), .. } => is_claimed = false,
                    // Of another lane, which does not look for tasks.
                    Mutation::CommitIteration { mode: Mode::Implementation, .. }
                    | Mutation::SetProgressStatus { status: ProgressStatus::Running }
                        if is_claimed => {}
                    Mutation::CommitIteration { .. } | Mutation::SetProgressStatus { .. } => room = None,
                    Mutation::Add { .. }
                    | Mutation::Enqueue { .. }
                    | Mutation::Update { .. }
                    | Mutation::Undo { .. } => {
                        for id in added(change) {
                            known.insert(id);
                            take(&mut room, id, &mut tasks);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        // Whatever else explains a task, the store did not add it.
        let untold = plan.tasks.iter().filter(|task| !known.contains(&task.id));
        untold.for_each(|task| take(&mut room, &task.id, &mut tasks));
        tasks.retain(|id| plan.task(id).is_some());
        let is_excess = !tasks.is_empty() || plan.progress.discovery_room != room;
        is_excess.then_some(Excess { room, tasks })
    }
}

/// Takes the room of one task, or refuses it where there is none.
fn take(room: &mut Option<u32>, id: &TaskId, refused: &mut Vec<TaskId>) {
    match room.as_mut() {
        Some(0) => refused.push(id.clone()),
        Some(left) => *left -= 1,
        None => {}
    }
}

/// Returns the tasks that a change added.
fn added(change: &TaskChange) -> Vec<&TaskId> {
    match change {
        TaskChange::Added { id } => vec![id],
        change => change
            .edits()
            .iter()
            .filter_map(|edit| match edit {
                Edit::Added { id, .. } => Some(id),
                _ => None,
            })
            .collect(),
    }
}

impl Excess {
    /// Says of edits what is left of them, and that tasks are gone which the journal had told of.
    pub(super) fn taken_from(&self, edits: Vec<Edit>) -> Vec<Edit> {
        let refused: HashSet<&TaskId> = self.tasks.iter().collect();
        let is_refused = |edit: &Edit| edit.task().is_some_and(|id| refused.contains(id));
        let (gone, mut left): (Vec<_>, Vec<_>) = edits.into_iter().partition(is_refused);
        let never_there: HashSet<&TaskId> = gone.iter().filter_map(Edit::task).collect();
        let removed = self.tasks.iter().filter(|id| !never_there.contains(id));
        left.extend(removed.map(|id| Edit::Removed { id: id.clone() }));
        left
    }

    /// Returns what is told of it, a sentence each.
    pub(super) fn told(&self) -> Vec<String> {
        if self.tasks.is_empty() {
            let left = self.room.map_or_else(|| "no limit".to_owned(), |room| room.to_string());
            return vec![format!(
                "prd.toon was edited: how many tasks a discovery iteration may still add is put back ({left})"
            )];
        }
        let full = StateError::DiscoveryFull { added: self.tasks.len(), room: 0 };
        let code = full.code().name;
        let named = self.tasks.iter().take(MAX_NAMED);
        let named =
            named.map(|id| format!("prd.toon was edited: task {id} is not taken over: {full} ({code})"));
        let more = self.tasks.len().saturating_sub(MAX_NAMED);
        let more =
            (more > 0).then(|| format!("prd.toon was edited: and {more} more are not taken over ({code})"));
        named.chain(more).collect()
    }
}

impl FileStore {
    /// Writes the plan without what passes the limit, under the lock.
    pub(super) fn without(&self, file: PlanFile, excess: &Excess) -> Result<PlanFile, StateError> {
        let PlanFile { mut document, .. } = file;
        let refused: HashSet<&TaskId> = excess.tasks.iter().collect();
        let plan = document.plan_mut();
        plan.tasks.retain(|task| !refused.contains(&task.id));
        plan.progress.discovery_room = excess.room;
        samuel_model::settle(&mut plan.tasks, None);
        count_tasks(plan);
        document.forget_removed();
        let text = plan_file::encode(&document)?;
        files::write(self.dir().root(), &self.dir().prd(), text.as_bytes(), Durability::Synced)?;
        self.read_plan()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, sync::Arc};

    use super::*;
    use crate::{
        Actor, CaughtUp, Existing, Holder, LaneStore as _, NewTask, Parts, PlanStore as _, RunDir,
        journal::After,
    };
    use samuel_model::{ReleaseReason, Status, Task, Usage, clock::SystemClock};

    struct Found {
        _root: tempfile::TempDir,
        store: FileStore,
        seq: u64,
    }

    impl Found {
        /// A plan with a task, for which a discovery is under way.
        fn discovering(room: u32) -> Self {
            let root = tempfile::tempdir().unwrap();
            let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::default()));
            store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
            store.mutate(Mutation::Enqueue { task: NewTask::new("First") }, Actor::User).unwrap();
            let mut found = Self { _root: root, store, seq: 0 };
            found.caught_up();
            found.store.mutate(Mutation::BeginDiscovery { room }, Actor::Runtime).unwrap();
            found
        }

        fn caught_up(&mut self) -> CaughtUp {
            let caught = self.store.catch_up(self.seq).unwrap();
            self.seq = caught.journal.records.last().map_or(self.seq, |record| record.seq);
            caught
        }

        /// Writes rows into the file, and another limit, without asking the store.
        fn edited(&self, ids: &[&str], room: Option<u32>) {
            let path = self.store.dir().prd();
            let (mut document, _) = plan_file::decode(&path, &fs::read(&path).unwrap()).unwrap();
            let plan = document.plan_mut();
            plan.tasks.extend(ids.iter().map(|id| Task::new(TaskId::new(*id), "t")));
            plan.progress.discovery_room = room;
            fs::write(&path, plan_file::encode(&document).unwrap()).unwrap();
        }

        /// What the plan in the file is: its tasks, and how many may still be added.
        fn plan(&self) -> (Vec<String>, Option<u32>) {
            let plan = self.store.load().unwrap().plan;
            (plan.tasks.iter().map(|task| task.id.to_string()).collect(), plan.progress.discovery_room)
        }
    }

    fn is_told(caught: &CaughtUp, task: &str) -> bool {
        let begins = format!("prd.toon was edited: task {task} is not taken over: ");
        let is_of =
            |warning: &String| warning.starts_with(&begins) && warning.ends_with("(E_DISCOVERY_FULL)");
        caught.warnings.iter().any(is_of)
    }

    #[test]
    fn rows_and_a_limit_that_are_edited_into_the_plan_do_not_pass_the_limit() {
        for room in [Some(2), Some(99), None] {
            let mut found = Found::discovering(2);
            found.edited(&["a", "b", "c", "d"], room);
            let caught = found.caught_up();
            assert_eq!(found.plan(), (["1", "a", "b"].map(str::to_owned).into(), Some(0)), "{room:?}");
            assert!(is_told(&caught, "c") && is_told(&caught, "d") && !is_told(&caught, "b"), "{caught:?}");
            let added = |record: &JournalRecord| match &record.entry {
                JournalEntry::Edited { edits, .. } => edits.iter().map(ToString::to_string).collect(),
                _ => Vec::new(),
            };
            let edits: Vec<String> = caught.journal.records.iter().flat_map(added).collect();
            assert_eq!(edits, ["task a was added", "task b was added"]);
            assert_eq!(found.caught_up().warnings, [""; 0], "it is told once");
        }
    }

    #[test]
    fn a_limit_that_is_edited_is_put_back_and_what_was_added_by_it_is_taken_out() {
        let mut found = Found::discovering(2);
        found.edited(&[], Some(9));
        let caught = found.caught_up();
        assert_eq!(caught.warnings.len(), 1, "{caught:?}");
        assert_eq!(found.plan(), (vec!["1".to_owned()], Some(2)));
        found.edited(&[], Some(9));
        for title in ["Second", "Third", "Fourth"] {
            found.store.mutate(Mutation::Enqueue { task: NewTask::new(title) }, Actor::Agent).unwrap();
        }
        let caught = found.caught_up();
        assert_eq!(found.plan(), (["1", "2", "3"].map(str::to_owned).into(), Some(0)));
        assert!(is_told(&caught, "4"), "{caught:?}");
        assert_eq!(found.caught_up().warnings, [""; 0]);
    }

    #[test]
    fn forged_records_of_the_journal_do_not_lift_the_limit() {
        let commit = Mutation::CommitIteration {
            iteration: 1,
            mode: Mode::Discovery,
            usage: Usage::default(),
            credits: Vec::new(),
        };
        let rows = ["a", "b", "c"].map(|id| Edit::Added { id: TaskId::new(id), status: Status::Pending });
        let mutated = |mutation: Mutation, change: TaskChange| JournalEntry::Mutation {
            actor: Actor::Runtime,
            base: 0,
            mutation,
            change,
            by: None,
            replaced: None,
        };
        let several = TaskChange::Several { edits: rows.to_vec() };
        let done = Mutation::Done { id: TaskId::new("b"), commit_sha: None, iteration: None };
        let forged = [
            JournalEntry::Imported { actor: Actor::User, tasks: 5, backup: None },
            JournalEntry::Edited { actor: Actor::External, edits: rows.to_vec() },
            mutated(Mutation::BeginDiscovery { room: 99 }, TaskChange::Progress),
            mutated(commit, TaskChange::Progress),
            mutated(Mutation::SetProgressStatus { status: ProgressStatus::Stopped }, TaskChange::Progress),
            mutated(done, several.clone()),
            mutated(Mutation::Undo { change: None, back: None }, several),
        ];
        for (forged, later) in forged.iter().flat_map(|forged| [0, 1, 50].map(|later| (forged, later))) {
            let mut found = Found::discovering(2);
            found.store.mutate(Mutation::Enqueue { task: NewTask::new("Second") }, Actor::Agent).unwrap();
            found.edited(&["a", "b", "c"], None);
            let base = found.store.load().unwrap().plan.revision;
            let mut entry = forged.clone();
            if let JournalEntry::Mutation { base: applied_to, .. } = &mut entry {
                *applied_to = base;
            }
            let tail = found.store.journal().tail().unwrap();
            let after = After { revision: base + later, digest: None };
            found.store.journal().append(&tail, found.store.now(), after, entry, true).unwrap();
            let caught = found.caught_up();
            let case = format!("{forged:?} {later}: {caught:?}");
            assert_eq!(found.plan(), (["1", "2", "a"].map(str::to_owned).into(), Some(0)), "{case}");
            assert!(is_told(&caught, "b") && is_told(&caught, "c"), "{case}");
            found.edited(&["d"], Some(9));
            found.caught_up();
            assert_eq!(found.plan(), (["1", "2", "a"].map(str::to_owned).into(), Some(0)), "{case}");
        }
    }

    #[test]
    fn a_task_that_comes_back_takes_room_as_one_that_is_added() {
        let found = Found::discovering(0);
        let holder = Holder::this_process(found.store.now(), "loop");
        let _loop = found.store.lock_loop(&holder).unwrap();
        let remove = Mutation::Remove { ids: vec![TaskId::new("1")], parts: Parts::default() };
        found.store.mutate(remove, Actor::User).unwrap();
        let undo = Mutation::Undo { change: None, back: None };
        let refused = found.store.mutate(undo.clone(), Actor::User).unwrap_err();
        assert!(matches!(refused, StateError::DiscoveryFull { added: 1, room: 0 }), "{refused:?}");
        found.store.mutate(Mutation::BeginDiscovery { room: 1 }, Actor::Runtime).unwrap();
        found.store.mutate(undo, Actor::User).unwrap();
        assert_eq!(found.plan(), (vec!["1".to_owned()], Some(0)));
    }

    #[test]
    fn rows_are_taken_over_while_no_discovery_is_under_way() {
        let mut found = Found::discovering(1);
        let commit = Mutation::CommitIteration {
            iteration: 1,
            mode: Mode::Discovery,
            usage: Usage::default(),
            credits: Vec::new(),
        };
        found.store.mutate(commit, Actor::Runtime).unwrap();
        found.edited(&["a", "b"], None);
        let caught = found.caught_up();
        assert_eq!(found.plan(), (["1", "a", "b"].map(str::to_owned).into(), None));
        assert!(!is_told(&caught, "b"), "{caught:?}");
    }

    #[test]
    fn an_iteration_of_another_lane_does_not_lift_the_limit() {
        let mut found = Found::discovering(2);
        let claim = Mutation::Claim { task: Role::Discover.into(), worker: "r/lane-2".to_owned() };
        let token = found.store.mutate(claim, Actor::Runtime).unwrap().revision;
        found.store.mutate(Mutation::BeginDiscovery { room: 2 }, Actor::Runtime).unwrap();
        let commit = |mode| Mutation::CommitIteration {
            iteration: 1,
            mode,
            usage: Usage::default(),
            credits: Vec::new(),
        };
        found.store.mutate(commit(Mode::Implementation), Actor::Runtime).unwrap();
        let running = Mutation::SetProgressStatus { status: ProgressStatus::Running };
        found.store.mutate(running, Actor::Runtime).unwrap();
        found.edited(&["a", "b", "c"], None);
        let caught = found.caught_up();
        assert_eq!(found.plan(), (["1", "a", "b"].map(str::to_owned).into(), Some(0)));
        assert!(is_told(&caught, "c") && !is_told(&caught, "b"), "{caught:?}");
        found.store.mutate(commit(Mode::Discovery), Actor::Runtime).unwrap();
        let (task, reason) = (Role::Discover.into(), ReleaseReason::Stopped);
        found.store.mutate(Mutation::Release { task, token, reason, kept: None }, Actor::Runtime).unwrap();
        found.edited(&["d"], None);
        assert!(!is_told(&found.caught_up(), "d"));
        assert_eq!(found.plan(), (["1", "a", "b", "d"].map(str::to_owned).into(), None));
    }
}
