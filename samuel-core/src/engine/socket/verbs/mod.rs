//! The verbs, a file a family.
//!
//! A new one is a type that is a [`Verb`](super::verb::Verb), a line of its family's list here,
//! and a route where it is answered.

mod ability;
mod control;
mod plan;

pub use ability::{AbilityAfter, AbilityBefore, Verdict};
pub(in crate::engine) use ability::{AbilityAfterVerb, AbilityBeforeVerb};
pub use control::EventBatch;
pub(in crate::engine) use control::{
    ApproveVerb, Ask, AskForEvents, CancelVerb, DenyVerb, EventsVerb, LookVerb, Nothing, PauseVerb,
    ResumeVerb, SteerVerb, StopVerb, checked_text,
};
pub(in crate::engine) use plan::{HistoryVerb, LearnVerb, MutateVerb, PlanVerb, StatusVerb};
pub use plan::{PlanPage, ReadHistory, ReadPlan, ReadStatus};

use super::verb::VerbSpec;

/// All of them, by family.
const FAMILIES: [&[VerbSpec]; 3] = [&ability::VERBS, &control::VERBS, &plan::VERBS];

/// Returns the names of those that a token of some holder may ask, in alphabetical order.
#[cfg(test)]
pub(super) fn of(holder: super::verb::Holder) -> Vec<&'static str> {
    let of_holder = FAMILIES.iter().copied().flatten().filter(|verb| verb.holder == holder);
    let mut names: Vec<&str> = of_holder.map(|verb| verb.name).collect();
    names.sort_unstable();
    names
}

/// Returns the verb of a name.
pub(super) fn named(name: &str) -> Option<VerbSpec> {
    FAMILIES.iter().copied().flatten().find(|verb| verb.name == name).copied()
}
