//! The prompt context, group by group.
//!
//! Within one call every group stays the same; it is that of the iteration's
//! start, refreshed before `after:iteration`. The eleventh group, Plugins, is
//! [`plugins`](crate::plugins). No capability is needed.

use serde_core::de::DeserializeOwned;

use crate::host::bindings::samuel::plugin::prompt_context as groups;
#[doc(inline)]
pub use groups::{
    CompletedTask, ConfigVars, ContextLimits, FailedCheck, GuardrailVars, HookVars, IterationVars,
    MethodologyVars, ModeVars, PathVars, PilotVars, ProjectVars, SamuelVars, StateVars, Suggestion,
    SuggestionKind,
};

/// Returns the running Samuel.
pub fn samuel() -> SamuelVars {
    groups::samuel()
}

/// Returns the project the loop works on.
pub fn project() -> ProjectVars {
    groups::project()
}

/// Returns the methodology that is run.
pub fn methodology() -> MethodologyVars {
    groups::methodology()
}

/// Returns the iteration.
pub fn iteration() -> IterationVars {
    groups::iteration()
}

/// Returns the configuration of the run, as far as prompts need it.
pub fn config() -> ConfigVars {
    groups::config()
}

/// Returns the rules that work must keep to.
pub fn guardrails() -> GuardrailVars {
    groups::guardrails()
}

/// Returns where files are.
pub fn paths() -> PathVars {
    groups::paths()
}

/// Returns how far the plan is.
pub fn state() -> StateVars {
    groups::state()
}

/// Returns what kind of iteration this is.
pub fn mode() -> ModeVars {
    groups::mode()
}

/// Returns which handlers are registered.
pub fn hooks() -> HookVars {
    groups::hooks()
}

/// Returns a group under the names that templates use, such as `State`; nothing
/// for a name that is no group. Fields that a later Samuel adds are found here.
///
/// # Errors
/// Returns what is wrong with a group that is not a `T`.
pub fn group<T: DeserializeOwned>(name: &str) -> Result<Option<T>, serde_json::Error> {
    groups::group(name).map(|group| serde_json::from_str(&group)).transpose()
}
