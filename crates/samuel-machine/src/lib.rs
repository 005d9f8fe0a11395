//! The loop as a machine without I/O.
//!
//! [`Machine::step`] takes one [`Input`] and returns the [`Effect`]s that
//! follow from it. The machine reads no clock, file or network, and it is plain
//! data between any two steps, so a run can be saved, resumed and replayed.
//! Carrying out effects is the driver's. What a run tells whoever watches it is in [`event`].
//!
//! The sequence is that of one iteration in docs/loop.md: each state waits for
//! one *main* effect, and carries what is known while it lasts, so that a phase of an
//! iteration has its iteration. While the agent is at work, completions and tool calls
//! arrive beside it; their hook points fire one after the other on the *side*,
//! in the order they arrived, and the state goes on when the side is idle.
//!
//! ```
//! use samuel_machine::{Effect, Input, Machine, Setup};
//!
//! let mut machine = Machine::new(Setup::default());
//! let effects = machine.step(Input::Start);
//! assert!(!effects.is_empty() && !machine.is_ended());
//! // It is data between any two steps.
//! let saved = serde_json::to_string(&machine)?;
//! assert_eq!(serde_json::from_str::<Machine>(&saved)?.iteration_number(), 0);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod agents;
mod another_turn;
mod approval;
mod command;
mod core;
mod effect;
mod ending;
pub mod event;
mod guards;
mod iteration;
mod limit;
mod limit_list;
mod plan_changes;
mod quality;
mod recorded;
mod replay;
mod resume;
mod saved;
mod settle;
mod setup;
mod side;
mod standing;
mod state;
mod text;
mod turn;

#[cfg(test)]
mod tests;

use samuel_model::{
    Scope, Usage,
    payload::{Mode, TaskBrief},
};
use serde::{Deserialize, Serialize};

use self::core::{Core, Ending};
pub use approval::CallNumbers;
pub use approval::denied_by_person;
pub use effect::{
    AbilityAnswer, AbilityNotice, AgentEnd, AtOnce, Command, Completion, Effect, EffectId, EffectResult,
    EndedAbility, HookReply, Input, LaneWork, LogLine, ReplyData, Wait, WorkLeft,
};
pub use ending::MAX_STOP_BLOCKS;
pub use plan_changes::PlanChanged;
pub use quality::{BEFORE_CHECK, WITHOUT_CHECK, check_failures, check_result, refused_by};
pub use recorded::MAX_LANES;
pub use recorded::{RECORD_SCHEMA_VERSION, RecordBegin, RecordStep};
pub use replay::{DifferenceKind, Replay, ReplayDifference, ReplayError, Replaying};
pub use setup::{RunLimits, Setup};
pub(crate) use standing::is_provisional;
use standing::{Checks, Moment};
use state::{AgentCall, CallPhase, Closing, Owner, Phase, Proposed, State, Then};

use crate::event::IterationFailure;

/// The loop. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "saved::Form")]
pub struct Machine {
    #[serde(flatten)]
    core: Core,
    state: State,
}

impl Machine {
    /// Creates a machine that waits for [`Input::Start`].
    pub fn new(setup: Setup) -> Self {
        Self { core: Core::new(setup), state: State::New }
    }

    /// Takes over from the run before how its last check went: a failure does
    /// not go away by a new start. It is asked anew, since somebody may have
    /// corrected by hand what it found; so is one that passed, if something was
    /// completed since or if it was another check.
    pub fn succeed(&mut self, earlier: &Machine, completed_since: bool) {
        let (checks, (setup, before)) = (&mut self.core.checks, (&earlier.core.setup, &earlier.core.checks));
        (checks.last_check, checks.check_age) = (before.last_check, before.check_age);
        let is_same = setup.checks == self.core.setup.checks;
        if checks.last_check == Some(false) || completed_since || !is_same || !setup.has_checks {
            checks.check_age.outdate();
        }
        self.core.guards.succeed(&earlier.core.guards);
        self.core.agents.succeed(&earlier.core.agents);
    }

    /// Says whether the run has ended; it then ignores every input.
    pub fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns the iteration under way, else the last one; 0 before the first.
    pub fn iteration_number(&self) -> u32 {
        self.state.iteration().map_or(self.core.counters.iterations, |iteration| iteration.number)
    }

    /// Has iterations go on behind a number that one had in any of several lanes.
    pub fn go_on_behind(&mut self, iteration: u32) {
        let counters = &mut self.core.counters;
        counters.iterations = counters.iterations.max(iteration);
    }

    /// Says whether an iteration is under way.
    pub fn in_iteration(&self) -> bool {
        self.state.iteration().is_some()
    }

    /// Returns what all agent calls of the run consumed.
    pub fn usage(&self) -> Usage {
        self.core.counters.usage
    }

    /// Returns what the iteration under way consumed, which no plan has been told yet; nothing between iterations.
    pub fn uncommitted(&self) -> Usage {
        self.state.iteration().map(|iteration| iteration.usage).unwrap_or_default()
    }

    /// Returns what all agent calls of the run consumed, with the one under way.
    pub fn used(&self) -> Usage {
        self.core.used()
    }

    /// Counts what the run had consumed in all when it was interrupted, which is
    /// more than the calls that it saw the end of.
    pub fn count_used(&mut self, used: Usage) {
        let lost = used.beyond(&self.core.counters.usage);
        self.core.spending.call_usage = Usage::default();
        // Of the calls that nobody saw the end of, the last is by far the most of it.
        let agent =
            self.core.agents.last.as_ref().map_or(self.core.setup.agent.clone(), |last| last.agent.clone());
        self.core.agents.count(&agent, lost);
        self.core.count_usage(self.state.iteration_mut(), lost);
    }

    /// Returns how many iterations in a row have failed.
    pub fn consecutive_failures(&self) -> u32 {
        self.core.counters.consecutive_failures
    }

    /// Returns the mode and the task of the iteration under way.
    pub fn iteration_kind(&self) -> (Mode, Option<TaskBrief>) {
        self.state.iteration().map(|iteration| (iteration.mode, iteration.task.clone())).unwrap_or_default()
    }

    /// Returns why the iteration under way failed, if it did.
    #[doc(hidden)]
    pub fn failure(&self) -> Option<&IterationFailure> {
        self.state.iteration()?.failure.as_ref()
    }

    /// Puts another set-up in place, as a caller that resumes a run may want. The run
    /// stays for the tasks that it is for, unless the other names some.
    pub fn set_setup(&mut self, setup: Setup) {
        let before = std::mem::replace(&mut self.core.setup, setup);
        if self.core.setup.scope.is_all() {
            self.core.setup.scope = before.scope;
        }
    }

    /// Sets which of the lanes it is, each of which numbers calls for itself that wait for a person.
    pub fn set_lane(&mut self, number: u32) {
        self.core.setup.calls.lane = number;
    }

    /// Returns when the run stops by itself.
    pub fn limits(&self) -> &RunLimits {
        &self.core.setup.limits
    }

    /// Returns the tasks that the run is for.
    pub fn scope(&self) -> &Scope {
        &self.core.setup.scope
    }

    /// Takes one input and returns what follows from it, in order.
    pub fn step(&mut self, input: Input) -> Vec<(EffectId, Effect)> {
        if !self.is_ended() {
            let state = std::mem::take(&mut self.state);
            self.state = self.core.take(state, input);
        }
        std::mem::take(&mut self.core.out)
    }
}
