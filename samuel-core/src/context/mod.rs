//! What a prompt is made of: the data that templates and handlers read, and
//! the template language that turns them into text.

mod framing;
mod prompt;
pub mod template;

pub use framing::Framing;
pub(crate) use framing::one_line;

pub use prompt::{
    CompletedTask, ConfigVars, ContextLimits, ContextView, FailedCheck, GuardrailVars, HookVars,
    IterationVars, MethodologyVars, ModeVars, PathVars, PilotVars, PluginData, ProjectVars, PromptContext,
    SamuelVars, StateVars, Suggestion, SuggestionKind, TaskVars,
};
