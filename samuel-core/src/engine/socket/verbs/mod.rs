//! The verbs, a file a family.
//!
//! A new one is a type that is a [`Verb`](super::verb::Verb), a line of its family's list here,
//! and a route where it is answered.

mod ability;

pub use ability::{AbilityAfter, AbilityBefore, Verdict};
pub(in crate::engine) use ability::{AbilityAfterVerb, AbilityBeforeVerb};

use super::verb::VerbSpec;

/// All of them, by family.
const FAMILIES: [&[VerbSpec]; 1] = [&ability::VERBS];

/// Returns the verb of a name.
pub(super) fn named(name: &str) -> Option<VerbSpec> {
    FAMILIES.iter().copied().flatten().find(|verb| verb.name == name).copied()
}
