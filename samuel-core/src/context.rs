//! What a prompt is made of: the data that templates and handlers read, and
//! the template language that turns them into text. The crate `samuel-hook` has them.
//!
//! ```
//! use samuel_core::context::{PromptContext, template::Template};
//!
//! let mut context = PromptContext::default();
//! context.iteration.number = 3;
//! let prompt = Template::parse("prompt", "This is iteration {{.Iteration.Number}}.")?.render(&context)?;
//! assert_eq!(prompt.text, "This is iteration 3.");
//! # Ok::<(), samuel_core::context::template::TemplateError>(())
//! ```

pub(crate) use samuel_hook::context::bytes_left_out;
pub use samuel_hook::context::{
    CompletedTask, ConfigVars, ContextLimits, ContextView, FailedCheck, Framing, GuardrailVars, HookVars,
    IterationVars, MethodologyVars, ModeVars, PathVars, PilotVars, PluginData, ProjectVars, PromptContext,
    PromptQuotation, PromptSection, PromptStats, SamuelVars, SiblingTask, StateVars, Suggestion,
    SuggestionKind, TaskGroup, TaskVars,
};

/// The template language of prompts, which is a crate of its own, and where
/// templates are looked for: [`TemplatePlace`](template::TemplatePlace).
pub mod template {
    pub use samuel_hook::context::template::{
        EvaluationProblem, Rendered, SyntaxProblem, Template, TemplateError, TemplateLimits,
        TemplateLocation, TemplatePlace, UndefinedVariable,
    };
}
