//! What the handlers of a point said, for whoever fired it.

use serde::{Deserialize, Serialize};

use crate::{
    hook::{Abort, HookWarning, Outcome, Said},
    model::payload::HookResults,
};

/// What the handlers of a point said, merged over all of them. All of it is data: what is done
/// about it is the caller's to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// Why what was about to happen must not: the reason of the handler that blocked it, or how
    /// one broke that must not. Nothing where it may, and at points where nobody can block.
    pub blocked: Option<String>,
    /// Text for the agent, with who said it and at which point, in the order in which it was said.
    pub text: Vec<Said>,
    /// Logs, messages to the user, suggested abilities and documents, follow-up actions, an intent:
    /// merged, and never acted upon.
    pub results: HookResults,
    /// What the user is to know of the handlers, those that broke among it.
    pub warnings: Vec<HookWarning>,
    /// The handler that broke where the configuration has that end more than its own work.
    pub aborted: Option<Abort>,
    /// Why a stop was blocked that is not put off any more, since it was blocked as often in a row
    /// as it may be.
    pub unheard: Option<String>,
}

impl Feedback {
    /// Takes what a caller is to know from what came of a point. What a handler said no to, or
    /// broke over, is [blocked](Self::blocked).
    pub(super) fn of(outcome: Outcome) -> Self {
        let Outcome { refused, said, abort, warnings, results, .. } = outcome;
        Self {
            blocked: abort.as_ref().map(ToString::to_string).or(refused),
            text: said,
            results: results.map(|results| *results).unwrap_or_default(),
            warnings,
            aborted: abort,
            unheard: None,
        }
    }
}
