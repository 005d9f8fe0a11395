//! What templates and handlers may read of a run.

mod groups;
mod prompt;

pub use groups::*;
pub use prompt::{ContextView, HookVars, PluginData, PromptContext};
