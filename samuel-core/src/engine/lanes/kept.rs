//! What is kept of the books of lanes, so that a run that goes on after a kill has them.
//!
//! The leader saves them with the run, and a lane that ends an iteration writes them down before it tells of that. What
//! other lanes had done is the leader's from then on: its machine takes it over, also where the run goes on without lanes.
//! What agents consume in between is in a smaller note ([`OthersUsed`]), since the books have all tasks that are done.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use tokio::sync::MutexGuard;

use super::lane::Lane;
use crate::{
    engine::{error::described, follow::committed_in, services::Services},
    event::{Event, IterationFailure},
    machine::Machine,
    model::{AgentTotal, FailureClass, IterationOutcome, Plan, Status, TaskId, Usage, payload::Mode},
    sched::SharedBooks,
    state::{Called, JournalEntry, JournalRecord, LaneBooks, Mutation, Note, Used},
};

/// The books of lanes, as they are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct KeptBooks {
    /// What all lanes share, of which the rows go on.
    pub(super) shared: SharedBooks,
    /// How many iterations have failed with a task, in whichever lane.
    pub(super) failed: BTreeMap<TaskId, u32>,
    pub(super) landed: Vec<TaskId>,
    /// What a person said is done.
    pub(super) done: Vec<TaskId>,
    /// What lanes but the first did.
    pub(super) others: OtherLanes,
    /// What all lanes have consumed, with the calls that are under way.
    pub(super) used: Usage,
    /// The iterations that are under way in lanes but the first, by lane.
    pub(super) open: BTreeMap<u32, OpenIteration>,
}

/// An iteration that is under way in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenIteration {
    pub(super) iteration: u32,
    pub(super) mode: Mode,
    /// What it has consumed so far.
    pub(super) usage: Usage,
    /// A record of the plan's journal before the one that commits the iteration.
    pub(super) seq: u64,
}

/// An iteration of a lane other than the first that a kill cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::engine) struct CutOff {
    pub(in crate::engine) lane: u32,
    pub(in crate::engine) iteration: u32,
    pub(in crate::engine) mode: Mode,
    pub(in crate::engine) usage: Usage,
    /// Whether the plan has it.
    pub(in crate::engine) is_committed: bool,
}

impl CutOff {
    /// Returns the event of its end.
    pub(in crate::engine) fn ended(&self, consecutive_failures: u32) -> Event {
        let message = "samuel ended in mid-iteration".to_owned();
        Event::IterationFinished {
            iteration: self.iteration,
            outcome: IterationOutcome::Failed,
            failure: Some(IterationFailure { class: FailureClass::Interrupted, message }),
            completed: Vec::new(),
            usage: self.usage,
            consecutive_failures,
            excused: false,
            unrecorded: false,
            commit: None,
            uncommitted: Vec::new(),
            committed_for_agent: None,
        }
    }
}

/// What was consumed in a lane, with the call under way.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneUsed {
    pub(super) usage: Usage,
    pub(super) agents: BTreeMap<String, Usage>,
}

/// What was consumed in lanes but the first, with the calls under way, as it is noted whenever it grows.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OthersUsed {
    /// In iterations under way, by their numbers.
    pub(super) open: BTreeMap<u32, Usage>,
    /// By each agent, since the run began.
    pub(super) agents: BTreeMap<String, Usage>,
}

/// What lanes but the first did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OtherLanes {
    /// What they consumed, as far as the plan has it.
    pub(super) usage: Usage,
    /// How many of their iterations failed.
    pub(super) failed_iterations: u32,
    /// How many of these a kill cut off.
    pub(super) cut_off: u32,
    /// What each of their agents consumed, with the calls under way.
    pub(super) agents: BTreeMap<String, Usage>,
}

impl OtherLanes {
    /// Adds up.
    pub(super) fn with(mut self, more: &Self) -> Self {
        self.usage += more.usage;
        add(&mut self.agents, &more.agents);
        self.failed_iterations = self.failed_iterations.saturating_add(more.failed_iterations);
        self.cut_off = self.cut_off.saturating_add(more.cut_off);
        self
    }
}

impl KeptBooks {
    /// Reads what a lane wrote down; nothing of what another version wrote.
    pub(in crate::engine) fn read(noted: LaneBooks) -> Option<Self> {
        serde_json::from_value(noted.books).ok()
    }

    /// Returns what is known of a run, or of the one before, that had no lanes.
    pub(super) fn of_one_loop(machine: &Machine) -> Self {
        Self { failed: machine.attempts(), done: machine.completed().to_vec(), ..Self::default() }
    }

    /// Takes in what records of the plan's journal tell of landings since.
    pub(in crate::engine) fn landed_since(&mut self, records: &[JournalRecord]) {
        for record in records {
            let JournalEntry::Mutation { mutation: Mutation::Land { .. }, change, .. } = &record.entry else {
                continue;
            };
            let landed: Vec<TaskId> =
                change.completed().filter(|id| !self.landed.contains(id)).cloned().collect();
            // What the books have of a landing, they have of all that came of it.
            if !landed.is_empty() {
                self.shared.landed();
            }
            self.landed.extend(landed);
        }
    }

    /// Returns the books that a lane wrote down, with what those of an earlier checkpoint have beyond: what lanes did
    /// only grows, and a checkpoint is vouched for.
    pub(in crate::engine) fn at_least(mut self, earlier: Self) -> Self {
        for (task, count) in earlier.failed {
            let failed = self.failed.entry(task).or_default();
            *failed = count.max(*failed);
        }
        self.used += earlier.used.beyond(&self.used);
        self.others.usage += earlier.others.usage.beyond(&self.others.usage);
        self.others.failed_iterations = self.others.failed_iterations.max(earlier.others.failed_iterations);
        self.others.cut_off = self.others.cut_off.max(earlier.others.cut_off);
        raise(&mut self.others.agents, earlier.others.agents);
        self
    }

    /// Takes in what was consumed since the books were written, as lanes noted it.
    pub(in crate::engine) fn used_since(&mut self, used: &Used) {
        let noted: OthersUsed = serde_json::from_value(used.workers.clone()).unwrap_or_default();
        for open in self.open.values_mut() {
            let usage = noted.open.get(&open.iteration).copied().unwrap_or_default();
            open.usage += usage.beyond(&open.usage);
        }
        raise(&mut self.others.agents, noted.agents);
    }

    /// Returns a record of the plan's journal before all that commit an iteration that is under way, if one is.
    pub(in crate::engine) fn first_open(&self) -> Option<u64> {
        self.open.values().map(|open| open.seq).min()
    }

    /// Forgets the iterations that are under way in lanes but the first.
    pub(in crate::engine) fn forget_open(&mut self) {
        self.open.clear();
    }

    /// Ends the iterations that were under way in lanes but the first, and counts them. The records of the plan's journal
    /// say which of them the plan has.
    pub(in crate::engine) fn end_open(&mut self, records: &[JournalRecord]) -> Vec<CutOff> {
        let mut ended = Vec::new();
        for (lane, OpenIteration { iteration, mode, usage, .. }) in std::mem::take(&mut self.open) {
            // What its agents consumed is in the books.
            self.others.usage += usage;
            self.others.failed_iterations = self.others.failed_iterations.saturating_add(1);
            self.others.cut_off = self.others.cut_off.saturating_add(1);
            let is_committed = committed_in(records, iteration);
            ended.push(CutOff { lane, iteration, mode, usage, is_committed });
        }
        ended
    }

    /// Returns the books as a lane writes them down, with the calls of agents under way; nothing of what cannot be
    /// encoded.
    pub(in crate::engine) fn noted(&self, run_id: String, calls: Vec<Called>) -> Option<LaneBooks> {
        Some(LaneBooks { run_id, books: serde_json::to_value(self).ok()?, calls })
    }

    /// Leaves out of what has landed, and of what a person said is done, all that a plan does not have as completed.
    pub(in crate::engine) fn hold_against(&mut self, plan: &Plan) {
        let completed: HashSet<&TaskId> =
            plan.tasks.iter().filter(|task| task.status == Status::Completed).map(|task| &task.id).collect();
        self.landed.retain(|id| completed.contains(id));
        self.done.retain(|id| completed.contains(id));
    }

    /// Returns what a new run has of the books of one that has ended: how often tasks were tried.
    pub(in crate::engine) fn of_earlier_run(self) -> Self {
        Self { failed: self.failed, ..Self::default() }
    }

    /// Forgets how often tasks were tried that were reset since, or are others since the plan was replaced.
    pub(in crate::engine) fn forget_reset(&mut self, records: &[JournalRecord]) {
        for record in records {
            match &record.entry {
                JournalEntry::Mutation { mutation: Mutation::Reset { id }, .. } => _ = self.failed.remove(id),
                JournalEntry::Imported { .. } => self.failed.clear(),
                _ => {}
            }
        }
    }

    /// Has the machine of the leader take over what other lanes did.
    pub(in crate::engine) fn hand_over(&self, machine: &mut Machine) {
        let settled = self.landed.iter().chain(&self.done).cloned().collect();
        let OtherLanes { usage, failed_iterations, cut_off, agents } = &self.others;
        machine.take_over(*usage, agents, [*failed_iterations, *cut_off], &self.failed, settled);
    }

    /// Returns what the agents of lanes but the first consumed.
    pub(in crate::engine) fn agents_of_others(&self) -> &BTreeMap<String, Usage> {
        &self.others.agents
    }

    /// Returns what all lanes have consumed, with the calls that were under way.
    pub(in crate::engine) fn used(&self) -> Usage {
        self.used
    }
}

impl Lane {
    /// Returns what all lanes have consumed, for somebody who writes that down while no other one does.
    pub(in crate::engine) async fn used_to_write(&self, run_id: String) -> (Used, MutexGuard<'_, ()>) {
        let (_, writing) = self.shared.beginnings.to_write().await;
        (self.shared.used(run_id), writing)
    }

    /// Writes the books down, since an iteration begins or ends. The leader saves them with the run.
    pub(in crate::engine) async fn write_books(&self, services: &Arc<Services>) {
        if self.leads() {
            return;
        }
        let (_, _writing) = self.shared.beginnings.to_write().await;
        let books = self.shared.kept().noted(services.run_id.to_string(), self.shared.calls());
        let Some(books) = books else { return };
        let noted = services.blocking(move |services| services.lane.note(Note::Books(books))).await;
        if let Err(error) = noted.and_then(|noted| noted) {
            services.warn(format!("what lanes have done could not be saved: {}", described(&error)));
        }
    }
}

/// Adds up what was consumed in all lanes.
pub(super) fn all_of(used: &BTreeMap<u32, LaneUsed>) -> Usage {
    used.values().fold(Usage::default(), |mut all, used| {
        all += used.usage;
        all
    })
}

/// Adds up what agents consumed.
pub(super) fn add(all: &mut BTreeMap<String, Usage>, more: &BTreeMap<String, Usage>) {
    for (agent, usage) in more {
        *all.entry(agent.clone()).or_default() += *usage;
    }
}

/// Raises what agents consumed to what another note has, since it only grows.
fn raise(all: &mut BTreeMap<String, Usage>, noted: BTreeMap<String, Usage>) {
    for (agent, usage) in noted {
        let known = all.entry(agent).or_default();
        *known += usage.beyond(known);
    }
}

/// Adds what further agents consumed.
pub(in crate::engine) fn together(some: &[AgentTotal], others: &BTreeMap<String, Usage>) -> Vec<AgentTotal> {
    let mut all: BTreeMap<String, Usage> =
        some.iter().map(|AgentTotal { agent, usage }| (agent.clone(), *usage)).collect();
    add(&mut all, others);
    all.into_iter().map(|(agent, usage)| AgentTotal { agent, usage }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{machine::Setup, model::Task};

    fn id(id: &str) -> TaskId {
        TaskId::new(id)
    }

    fn usage(input_tokens: u64) -> Usage {
        Usage { input_tokens, ..Usage::default() }
    }

    fn others(tokens: u64, failed: u32, cut_off: u32, agents: &[(&str, u64)]) -> OtherLanes {
        let agents = agents.iter().map(|(agent, tokens)| ((*agent).to_owned(), usage(*tokens))).collect();
        OtherLanes { usage: usage(tokens), failed_iterations: failed, cut_off, agents }
    }

    #[test]
    fn credits_usage_noted_since_to_its_agent() {
        let open = |iteration, tokens| OpenIteration {
            iteration,
            mode: Mode::Implementation,
            usage: usage(tokens),
            seq: 7,
        };
        let mut books = KeptBooks {
            others: others(10, 0, 0, &[("codex", 12)]),
            open: BTreeMap::from([(2, open(4, 2)), (3, open(5, 0))]),
            ..KeptBooks::default()
        };
        // Iteration 3 is of an earlier process.
        let noted = OthersUsed {
            open: BTreeMap::from([(3, usage(99)), (4, usage(6))]),
            agents: others(0, 0, 0, &[("codex", 16), ("gemini", 1)]).agents,
        };
        let workers = serde_json::to_value(noted).unwrap();
        books.used_since(&Used { run_id: "run".to_owned(), usage: usage(20), workers });
        let ended: Vec<_> = books.end_open(&[]).iter().map(|ended| (ended.iteration, ended.usage)).collect();
        assert_eq!(ended, [(4, usage(6)), (5, usage(0))]);
        let mut machine = Machine::new(Setup { agent: "claude".to_owned(), ..Setup::default() });
        books.hand_over(&mut machine);
        machine.count_used(usage(20), None);
        let agents = [("claude", 3), ("codex", 16), ("gemini", 1)];
        let agents = agents.map(|(agent, tokens)| (agent.to_owned(), usage(tokens)));
        assert_eq!((machine.used(), machine.used_by_agent()), (usage(20), BTreeMap::from(agents)));
    }

    #[test]
    fn of_two_books_each_figure_is_the_greater_one() {
        let books = |failed: &[(&str, u32)], tokens, failed_iterations| KeptBooks {
            failed: failed.iter().map(|(task, count)| (id(task), *count)).collect(),
            others: others(tokens, failed_iterations, 0, &[("codex", tokens)]),
            used: usage(tokens),
            ..KeptBooks::default()
        };
        let noted = books(&[("a", 1), ("b", 3)], 50, 2);
        let saved = books(&[("a", 2), ("c", 1)], 40, 4);
        let both = noted.at_least(saved);
        assert_eq!(both, books(&[("a", 2), ("b", 3), ("c", 1)], 50, 4));
        assert_eq!(books(&[], 40, 0).at_least(books(&[], 50, 0)), books(&[], 50, 0));
    }

    #[test]
    fn an_open_iteration_ends_once() {
        let open = |iteration, tokens| OpenIteration {
            iteration,
            mode: Mode::Implementation,
            usage: usage(tokens),
            seq: 7,
        };
        let mut books = KeptBooks {
            others: others(10, 1, 0, &[("codex", 15)]),
            open: BTreeMap::from([(2, open(4, 3)), (3, open(5, 2))]),
            ..KeptBooks::default()
        };
        assert_eq!(books.first_open(), Some(7));
        // As it is read again.
        let noted = books.noted("run".to_owned(), Vec::new()).unwrap();
        assert_eq!(KeptBooks::read(noted), Some(books.clone()));
        let ended: Vec<_> =
            books.end_open(&[]).iter().map(|ended| (ended.lane, ended.iteration, ended.usage)).collect();
        assert_eq!(ended, [(2, 4, usage(3)), (3, 5, usage(2))]);
        assert_eq!(books.others, others(15, 3, 2, &[("codex", 15)]));
        assert_eq!((books.end_open(&[]), books.first_open()), (Vec::new(), None));
    }

    #[test]
    fn only_what_the_plan_has_as_completed_counts_as_landed_or_done() {
        let task = |name: &str, status| Task { status, ..Task::new(id(name), "t") };
        let tasks = vec![task("landed", Status::Completed), task("open", Status::Pending)];
        let plan = Plan { tasks, ..Plan::default() };
        let ids = || vec![id("landed"), id("open"), id("gone")];
        let mut books = KeptBooks { landed: ids(), done: ids(), ..KeptBooks::default() };
        books.hold_against(&plan);
        assert_eq!((books.landed, books.done), (vec![id("landed")], vec![id("landed")]));
    }
}
