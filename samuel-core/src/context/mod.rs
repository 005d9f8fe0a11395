//! What a prompt is made of: the data that templates and handlers read, and
//! the template language that turns them into text.

mod framing;
mod groups;
mod prompt;
pub mod template;

pub use framing::Framing;
pub(crate) use framing::one_line;

pub use groups::{
    CompletedTask, ConfigVars, ContextLimits, FailedCheck, GuardrailVars, IterationVars, MethodologyVars,
    ModeVars, PathVars, PilotVars, ProjectVars, SamuelVars, StateVars, Suggestion, SuggestionKind, TaskVars,
};
pub use prompt::{ContextView, HookVars, PluginData, PromptContext};
