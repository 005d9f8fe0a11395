//! The loop as a state machine without I/O.
//!
//! [`Machine::step`] takes one [`Input`] and returns the resulting [`Effect`]s. The
//! machine reads no clock, file or network. Between any two steps it is plain
//! data, so a run can be saved, resumed and replayed. The driver carries out the
//! effects. [`event`] defines what a run reports to its watchers.
//!
//! The sequence of states is the iteration in docs/loop.md. Each state waits for
//! one *main* effect and carries the data that is known while the state lasts. For
//! example, each phase of an iteration contains its iteration. While the agent works,
//! completions and tool calls also arrive. Their hook points fire one at a time on the
//! *side*, in the order of arrival. The state continues when the side is idle.
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
    Scope, TaskId, Usage,
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
pub use ending::{MAX_STOP_BLOCKS, end_figures};
pub use plan_changes::PlanChanged;
pub use quality::{BEFORE_CHECK, WITHOUT_CHECK, check_failures, check_result, refused_by};
pub use recorded::MAX_LANES;
pub use recorded::{RECORD_SCHEMA_VERSION, RecordBegin, RecordStep, change_line};
pub use replay::{DifferenceKind, Replay, ReplayDifference, ReplayError, Replaying};
pub use setup::{RunLimits, Setup};
pub(crate) use standing::is_provisional;
use standing::{Checks, CompletedBy, Moment, Ruling, ruling};
use state::{AgentCall, CallPhase, Closing, Owner, Phase, Proposed, State, Then};

use crate::event::IterationFailure;

/// The loop as a state machine. See the [module](self).
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

    /// Takes over the result of the last check from the previous run, because a new start does
    /// not clear a failure. A failed check runs again, because you may have fixed its findings
    /// by hand. A passed check runs again if a task was completed since then or if the checks
    /// are different now.
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

    /// Returns whether the run has ended. A run that has ended ignores every input.
    pub fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns the number of the current iteration, or of the last one if none is in progress; 0
    /// before the first.
    pub fn iteration_number(&self) -> u32 {
        self.state.iteration().map_or(self.core.counters.iterations, |iteration| iteration.number)
    }

    /// Continues the numbers of iterations after `iteration`, a number that any of several lanes used.
    pub fn go_on_behind(&mut self, iteration: u32) {
        let counters = &mut self.core.counters;
        counters.iterations = counters.iterations.max(iteration);
    }

    /// Returns whether an iteration is in progress.
    pub fn in_iteration(&self) -> bool {
        self.state.iteration().is_some()
    }

    /// Returns the usage of all agent calls of the run, without the one in progress.
    pub fn usage(&self) -> Usage {
        self.core.counters.usage
    }

    /// Returns the usage of the current iteration, which no plan contains yet; zero between iterations.
    pub fn uncommitted(&self) -> Usage {
        self.state.iteration().map(|iteration| iteration.usage).unwrap_or_default()
    }

    /// Returns the usage of all agent calls of the run, including the one in progress.
    pub fn used(&self) -> Usage {
        self.core.used()
    }

    /// Counts the total usage of the run at the time of an interruption. The total is
    /// higher than the usage of the calls whose end the run saw. `called` is the agent of the last call, if
    /// it is known.
    pub fn count_used(&mut self, used: Usage, called: Option<String>) {
        let lost = used.beyond(&self.core.counters.usage);
        self.core.spending.call_usage = Usage::default();
        // Of the calls whose end is unknown, the last one accounts for most of the usage.
        let agent = called.unwrap_or_else(|| self.core.agent_at_work());
        self.core.agents.count(&agent, used.beyond(&self.core.agents.total()));
        self.core.count_usage(self.state.iteration_mut(), lost);
    }

    /// Returns how many iterations in a row have failed.
    pub fn consecutive_failures(&self) -> u32 {
        self.core.counters.consecutive_failures
    }

    /// Returns the mode and the task of the current iteration.
    pub fn iteration_kind(&self) -> (Mode, Option<TaskBrief>) {
        self.state.iteration().map(|iteration| (iteration.mode, iteration.task.clone())).unwrap_or_default()
    }

    /// Returns the tasks whose completion the check under way decides on, except those that a person completed.
    #[doc(hidden)]
    pub fn credited_by_check(&self) -> Vec<TaskId> {
        self.state.iteration().map(|iteration| iteration.credited(&iteration.checking)).unwrap_or_default()
    }

    /// Returns whether the check under way also decides on completions that are not credited to the iteration.
    #[doc(hidden)]
    pub fn checks_others(&self) -> bool {
        let iteration = self.state.iteration();
        let is_for_person =
            iteration.is_some_and(|it| it.checking.iter().any(|id| it.by_person.contains(id)));
        is_for_person || !self.core.checks.doubtful.is_empty()
    }

    /// Returns why the current iteration failed, if it did.
    #[doc(hidden)]
    pub fn failure(&self) -> Option<&IterationFailure> {
        self.state.iteration()?.failure.as_ref()
    }

    /// Replaces the setup, for a caller that resumes a run. The run keeps its scope of tasks
    /// unless the new setup names some.
    pub fn set_setup(&mut self, setup: Setup) {
        let before = std::mem::replace(&mut self.core.setup, setup);
        if self.core.setup.scope.is_all() {
            self.core.setup.scope = before.scope;
        }
    }

    /// Sets the number of the lane that the machine runs. Each lane separately numbers its calls that wait for a person.
    pub fn set_lane(&mut self, number: u32) {
        self.core.setup.calls.lane = number;
    }

    /// Returns the limits at which the run stops.
    pub fn limits(&self) -> &RunLimits {
        &self.core.setup.limits
    }

    /// Returns the scope of the run: the tasks that it may work on.
    pub fn scope(&self) -> &Scope {
        &self.core.setup.scope
    }

    /// Takes one input and returns the resulting effects, in order.
    pub fn step(&mut self, input: Input) -> Vec<(EffectId, Effect)> {
        if !self.is_ended() {
            let state = std::mem::take(&mut self.state);
            self.state = self.core.take(state, input);
        }
        std::mem::take(&mut self.core.out)
    }
}
