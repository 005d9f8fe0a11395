//! What a prompt is made of: the data that templates and handlers read, and
//! the template engine that turns them into text.

mod prompt;
pub mod template;

pub use prompt::{
    CompletedTask, ConfigVars, ContextLimits, ContextView, FailedCheck, GuardrailVars, HookVars,
    IterationVars, MethodologyVars, ModeVars, PathVars, PilotVars, PluginData, ProjectVars, PromptContext,
    SamuelVars, StateVars, Suggestion, SuggestionKind, TaskVars,
};
