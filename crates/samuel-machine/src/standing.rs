//! Whether what was completed stands, and what the last check says of the work: the
//! one place that decides on both. What follows of it once every task is settled is
//! said by [`plan::next`](samuel_state::plan::next).
//!
//! An agent works as the user who started it, so nothing that it sends tells it
//! from that user: an environment variable is left out as easily as it is set.
//! What counts is when something was completed. Between the beginning of an
//! iteration and its check, an agent is at work, and whatever is completed then
//! stands only if the check passes. The same holds for the last turns, which no
//! check follows. At any other time no agent is at work, and a completion is
//! somebody's own word. It stands, but it does not make the work complete: that
//! takes a check that passed after it.
//!
//! With workers a check sees the work of one task. So while they are at work only
//! the task that an agent was called for, and those that a person completes by the
//! command, may be confirmed; [`ruling`] reopens all others.

use samuel_model::{Completes, Mark, TaskId, payload::Actor};
use samuel_state::plan::{Discoveries, Evidence, Standing};
use serde::{Deserialize, Serialize};

use super::{Completion, Core, settle::NOTHING_RECORDED};

/// When something was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Since an iteration or a last turn began, and before it was closed.
    UnderWay,
    /// While no agent was called.
    Between,
}

/// Says whether a completion stands only if a check passes.
///
/// Whoever says that it is an agent is believed even where no agent should be
/// at work: nobody gains by that.
pub(crate) fn is_provisional(moment: Moment, actor: Actor) -> bool {
    moment == Moment::UnderWay || actor == Actor::Agent
}

/// Who completed a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletedBy {
    /// The agent that was called for it.
    OwnAgent,
    /// An agent that was called for another task.
    OtherAgent,
    /// An edit of prd.toon.
    Edit,
    /// A person, by the command.
    Person,
    /// None of these, as far as this run knows.
    Unknown,
}

impl CompletedBy {
    /// Returns who made a completion, where `is_own` says whether the agent at work was called for the task.
    pub(super) fn of(completion: &Completion, is_own: bool) -> Self {
        match (completion.by_call, completion.is_edit, completion.actor) {
            (true, ..) if is_own => Self::OwnAgent,
            (true, ..) => Self::OtherAgent,
            (false, true, _) => Self::Edit,
            (false, false, Actor::User) => Self::Person,
            (false, false, _) => Self::Unknown,
        }
    }

    /// Returns the marks of a completion, where `is_own` says whether the agent at work was called for the task.
    pub(super) fn marks(self, is_own: bool) -> Vec<Mark> {
        match self {
            Self::OtherAgent => vec![Mark::OtherAgent],
            // A command that did not reach the run, or a record in the journal.
            Self::Unknown if !is_own => vec![Mark::OtherAgent],
            Self::Edit => vec![Mark::Edit],
            Self::OwnAgent | Self::Person | Self::Unknown => Vec::new(),
        }
    }
}

/// What follows from a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It counts without a check of its own.
    Confirmed,
    /// A check decides.
    Provisional,
    /// Its task is reopened at once, for this reason.
    Refused(&'static str),
}

/// Decides what follows from a completion, for a single loop and for workers alike.
pub(crate) fn ruling(moment: Moment, actor: Actor, by: CompletedBy, completes: Completes) -> Ruling {
    match (is_provisional(moment, actor), completes, by) {
        (false, ..) => Ruling::Confirmed,
        (true, Completes::Plan, _) | (true, _, CompletedBy::OwnAgent | CompletedBy::Person) => {
            Ruling::Provisional
        }
        (true, Completes::OwnTask, CompletedBy::OtherAgent) => {
            Ruling::Refused("the agent of another task completed it")
        }
        (true, Completes::OwnTask, CompletedBy::Edit) => Ruling::Refused("an edit of prd.toon completed it"),
        (true, Completes::OwnTask, CompletedBy::Unknown) => {
            Ruling::Refused("no command of this run completed it")
        }
    }
}

/// The last check, and how it stands to the last completion.
///
/// Time is counted in completions: a check covers those that had been made when
/// it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastCheck {
    /// How many completions were heard of or are suspected.
    completions: u64,
    /// How many there were when the check under way began.
    asked_at: u64,
    /// How many there were when the last check that was made began.
    made_at: u64,
}

impl LastCheck {
    /// Something was completed, or may have been.
    pub(super) fn outdate(&mut self) {
        self.completions = self.completions.saturating_add(1);
    }

    pub(super) fn begin(&mut self) {
        self.asked_at = self.completions;
    }

    pub(super) fn end(&mut self) {
        self.made_at = self.asked_at;
    }

    fn is_old(self) -> bool {
        self.made_at < self.completions
    }
}

/// What is known of checks, and what no check stands behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Checks {
    /// Whether the last quality check passed; nothing before the first.
    pub(super) last_check: Option<bool>,
    /// Whether that check is younger than the last completion.
    #[serde(default)]
    pub(super) check_age: LastCheck,
    /// How many checks in a row were made for the end of the run alone.
    #[serde(default)]
    pub(super) end_checks: u32,
    /// Completions that no check follows: the last turns make them, agents
    /// that outlive their call, and whoever is as late as that in an iteration.
    pub(super) unchecked_outside: Vec<TaskId>,
    /// Completions of which nothing vouches that a check passed: the next one decides.
    #[serde(default)]
    pub(super) doubtful: Vec<TaskId>,
    /// Completions of tasks that are not the worker's own: the check of what is merged decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) of_others: Vec<TaskId>,
}

impl Checks {
    /// No check decides any more on what one was to decide on.
    pub(super) fn leave_unchecked(&mut self) {
        self.unchecked_outside.append(&mut self.doubtful);
        self.unchecked_outside.append(&mut self.of_others);
    }
}

impl Core {
    /// Returns what the last check says of the work as it stands now.
    fn evidence(&self) -> Evidence {
        let is_old = self.checks.check_age.is_old();
        match self.checks.last_check {
            Some(false) if !is_old => Evidence::Failed,
            // A failure does not go away with the check that told of it.
            Some(false) => Evidence::Missing,
            None | Some(true) if !self.setup.has_checks => Evidence::NoChecks,
            Some(true) if !is_old => Evidence::Passed,
            None | Some(true) => Evidence::Missing,
        }
    }

    /// Says whether the run may call the work completed as it stands now.
    pub(super) fn is_vouched_for(&self) -> bool {
        matches!(self.evidence(), Evidence::NoChecks | Evidence::Passed)
    }

    /// Returns how the run stands, on which what is next depends.
    pub(super) fn standing(&self) -> Standing {
        let (counters, limits) = (&self.counters, &self.setup.limits);
        let discoveries = Discoveries { empty: counters.empty_discoveries, only: self.setup.pilot.only };
        let said_nothing = self.repeat.key.starts_with(NOTHING_RECORDED);
        Standing {
            iterations: counters.iterations,
            consecutive_failures: counters.consecutive_failures,
            parked: self.guards.parked,
            // In a lane its task is blocked for that, and the others go on.
            repeats: if self.setup.in_lane { 0 } else { self.repeat.count },
            unrecorded: counters.unrecorded.last().filter(|_| said_nothing).cloned(),
            end_checks: self.checks.end_checks,
            discoveries,
            ..match self.setup.in_lane {
                // What all lanes share holds these.
                true => Standing::new(None, u32::MAX, self.evidence()),
                false => {
                    Standing::new(limits.max_iterations, limits.max_consecutive_failures, self.evidence())
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_completes_a_task_while_an_agent_is_at_work_needs_a_check_behind_it() {
        for actor in [Actor::Agent, Actor::User, Actor::Runtime, Actor::External] {
            assert!(is_provisional(Moment::UnderWay, actor), "{actor:?}");
        }
        assert!(!is_provisional(Moment::Between, Actor::User));
        assert!(is_provisional(Moment::Between, Actor::Agent));
    }

    #[test]
    fn ruling_is_the_same_in_place_and_with_workers() {
        use CompletedBy::{Edit, OtherAgent, OwnAgent, Person, Unknown};
        for by in [OwnAgent, OtherAgent, Edit, Person, Unknown] {
            let of = |moment, actor, completes| ruling(moment, actor, by, completes);
            for completes in [Completes::Plan, Completes::OwnTask] {
                assert_eq!(of(Moment::Between, Actor::User, completes), Ruling::Confirmed, "{by:?}");
            }
            for (moment, actor) in [
                (Moment::UnderWay, Actor::Agent),
                (Moment::UnderWay, Actor::User),
                (Moment::UnderWay, Actor::External),
                (Moment::Between, Actor::Agent),
            ] {
                assert_eq!(of(moment, actor, Completes::Plan), Ruling::Provisional, "{by:?}");
                let is_refused = matches!(of(moment, actor, Completes::OwnTask), Ruling::Refused(_));
                assert_eq!(is_refused, !matches!(by, OwnAgent | Person), "{by:?}");
            }
        }
    }

    #[test]
    fn only_a_check_that_began_after_the_last_completion_covers_it() {
        let mut check = LastCheck::default();
        check.outdate();
        check.begin();
        check.end();
        assert!(!check.is_old());
        check.begin();
        check.outdate();
        check.end();
        assert!(check.is_old(), "what is completed during a check is younger than it");
        check.begin();
        assert!(check.is_old(), "a check that is not made covers nothing");
    }
}
