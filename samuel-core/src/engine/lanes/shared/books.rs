//! What lanes have consumed and tried, and what of it is kept for whoever goes on with the run.

use std::collections::BTreeMap;

use super::{Lanes, State};
use crate::{
    engine::lanes::kept::{KeptBooks, LaneUsed, OpenIteration, OtherLanes, OthersUsed, add, all_of},
    machine::Machine,
    model::{TaskId, Usage, payload::Mode},
    state::{Called, Used},
};

/// The number of the lane that leads.
const LEADER: u32 = 1;

impl Lanes {
    /// Adds to the books what the plan was told that a lane consumed, in an iteration that this ends if there is one.
    pub(in crate::engine::lanes) fn consumed(&self, usage: Usage, leads: bool, ended: Option<u32>) {
        self.state(|state| {
            state.books.add(usage);
            if !leads {
                state.others.usage += usage;
            }
            state.open.retain(|_, (open, _)| Some(open.iteration) != ended);
        });
    }

    /// Stores that an iteration begins in a lane other than the first, and the last record of the plan's journal that the
    /// lane knows of.
    pub(in crate::engine::lanes) fn opens(&self, lane: u32, iteration: u32, mode: Mode, seq: u64) {
        self.state(|state| {
            let used = state.used.get(&lane).map(|used| used.usage).unwrap_or_default();
            let open = OpenIteration { iteration, mode, usage: Usage::default(), seq };
            state.open.insert(lane, (open, used));
        });
    }

    /// Takes down that an iteration of a lane has failed.
    pub(in crate::engine::lanes) fn failed_in(&self, leads: bool) {
        let count = u32::from(!leads);
        self.state(|state| {
            state.others.failed_iterations = state.others.failed_iterations.saturating_add(count);
        });
    }

    /// Takes down what a lane has consumed, with the call under way, and returns what all lanes have.
    pub(in crate::engine) fn used_in(&self, lane: u32, machine: &Machine) -> Usage {
        let used = LaneUsed { usage: machine.used(), agents: machine.used_by_agent() };
        self.state(|state| {
            state.used.insert(lane, used);
            all_of(&state.used)
        })
    }

    /// Returns what all lanes have consumed, with the calls under way, as it is noted.
    pub(in crate::engine::lanes) fn used(&self, run_id: String) -> Used {
        let (usage, workers) = self.state(|state| {
            let state = &*state;
            let open = state.open.iter().map(|(lane, open)| so_far(state, *lane, open));
            let open = open.map(|open| (open.iteration, open.usage)).collect();
            let agents = others(state).with(&state.taken_over).agents;
            (all_of(&state.used), OthersUsed { open, agents })
        });
        // There is nothing in it that could not be encoded.
        Used { run_id, usage, workers: serde_json::to_value(workers).unwrap_or_default() }
    }

    /// Stores the call of an agent that a lane begins, or that it makes none any more. The leader saves its own.
    pub(in crate::engine) fn calls_agent(&self, lane: u32, called: Option<Called>) {
        self.state(|state| match called.filter(|_| lane != LEADER) {
            Some(called) => _ = state.calls.insert(lane, called),
            None => _ = state.calls.remove(&lane),
        });
    }

    /// Returns the calls of agents under way in lanes but the first.
    pub(in crate::engine) fn calls(&self) -> Vec<Called> {
        self.state(|state| state.calls.values().cloned().collect())
    }

    /// Returns the books as the leader saves them, whose machine has what it has taken over.
    pub(in crate::engine) fn kept_with_leader(&self) -> KeptBooks {
        self.state(|state| KeptBooks { others: others(state), ..kept(state) })
    }

    /// Takes down that the leader has saved what it has taken over.
    pub(in crate::engine) fn leader_is_saved(&self) {
        self.state(|state| state.taken_over = OtherLanes::default());
    }

    /// Returns the books as they are kept for whoever goes on with the run.
    pub(in crate::engine::lanes) fn kept(&self) -> KeptBooks {
        self.state(|state| kept(state))
    }

    /// Goes on with what was kept of a run that was cut off. What other lanes consumed the leader has taken over.
    pub(in crate::engine::lanes) fn go_on_with(&self, kept: &KeptBooks) {
        self.state(|state| {
            state.books = std::mem::take(&mut state.books).in_rows_of(&kept.shared);
            state.failed.clone_from(&kept.failed);
            state.cut_off = kept.failed.keys().cloned().collect();
            state.landed.clone_from(&kept.landed);
            state.done.clone_from(&kept.done);
            state.taken_over.clone_from(&kept.others);
        });
    }

    /// Takes down that an iteration with a task has failed.
    pub(in crate::engine::lanes) fn failed(&self, task: TaskId) {
        self.state(|state| *state.failed.entry(task).or_default() += 1);
    }

    /// Forgets how often a task was tried and what came of that, or every one, since somebody has reset it or has
    /// replaced the plan.
    pub(in crate::engine::lanes) fn forgets(&self, task: Option<&TaskId>) {
        self.state(|state| match task {
            Some(task) => {
                state.failed.remove(task);
                state.cut_off.remove(task);
                state.came_back.remove(task);
            }
            None => (state.failed, state.cut_off, state.came_back) = Default::default(),
        });
    }

    /// Returns how many iterations have failed with a task, in whichever lane.
    pub(in crate::engine::lanes) fn failures_of(&self, task: &TaskId) -> u32 {
        self.state(|state| state.failed.get(task).copied().unwrap_or_default())
    }

    /// Takes down that a lane begins with a task. They are forgotten where nothing is kept of earlier attempts, since it
    /// is the first one, or somebody has reset the task; a claim that was cut off may have left nothing.
    pub(in crate::engine::lanes) fn begins_with(&self, task: &TaskId, is_anew: bool) {
        self.state(|state| {
            let goes_on = state.cut_off.remove(task);
            if is_anew && !goes_on {
                state.failed.remove(task);
            }
        });
    }
}

fn kept(state: &State) -> KeptBooks {
    KeptBooks {
        shared: state.books.clone(),
        failed: state.failed.clone(),
        landed: state.landed.clone(),
        done: state.done.clone(),
        others: others(state).with(&state.taken_over),
        used: all_of(&state.used),
        open: state.open.iter().map(|(lane, open)| (*lane, so_far(state, *lane, open))).collect(),
    }
}

/// Returns what lanes but the first did since this process began.
pub(super) fn others(state: &State) -> OtherLanes {
    let mut agents = BTreeMap::new();
    for (_, used) in state.used.iter().filter(|(lane, _)| **lane != LEADER) {
        add(&mut agents, &used.agents);
    }
    OtherLanes { agents, ..state.others.clone() }
}

/// Returns an iteration with what its lane has consumed since the lane began it.
fn so_far(state: &State, lane: u32, (open, used_before): &(OpenIteration, Usage)) -> OpenIteration {
    let used = state.used.get(&lane).map(|used| used.usage).unwrap_or_default();
    OpenIteration { usage: used.beyond(used_before), ..*open }
}
