//! What can be wrong with a template: [`TemplateError`].
//!
//! An error says where it is and what to do next. The problems of sources and
//! of values are listed in [`problem`](crate::problem).

use crate::{EvaluationProblem, SyntaxProblem, TemplateLocation};

/// Why a template was not parsed or not rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The source is not a template.
    #[error("{location}: {problem}")]
    Syntax {
        /// Where the problem was noticed.
        location: TemplateLocation,
        /// What it is.
        problem: SyntaxProblem,
    },
    /// A function or statement cannot work on the value it met.
    #[error("{location}: {problem}")]
    Evaluation {
        /// The function or statement.
        location: TemplateLocation,
        /// What it is.
        problem: EvaluationProblem,
    },
    /// The source is longer than [`TemplateLimits::source_bytes`](crate::TemplateLimits::source_bytes).
    #[error("{template}: the source has {bytes} bytes; the limit is {limit}")]
    SourceTooLarge {
        /// The template's name.
        template: String,
        /// The length of the source.
        bytes: usize,
        /// The limit it passed.
        limit: usize,
    },
    /// Rendering took more instructions than [`TemplateLimits::fuel`](crate::TemplateLimits::fuel).
    #[error("{location}: rendering took more than {limit} instructions")]
    OutOfFuel {
        /// The action that was running.
        location: TemplateLocation,
        /// The limit it passed.
        limit: u64,
    },
    /// Functions read and built more than [`TemplateLimits::work_bytes`](crate::TemplateLimits::work_bytes).
    #[error("{location}: functions handled more than {limit} bytes")]
    TooMuchWork {
        /// The function that passed the limit.
        location: TemplateLocation,
        /// The limit it passed.
        limit: usize,
    },
    /// The text is longer than [`TemplateLimits::output_bytes`](crate::TemplateLimits::output_bytes).
    #[error("{location}: the rendered text is longer than {limit} bytes")]
    OutputTooLarge {
        /// The action that was writing.
        location: TemplateLocation,
        /// The limit it passed.
        limit: usize,
    },
    /// The context could not be serialised.
    #[error("{template}: the context cannot be read")]
    Context {
        /// The template's name.
        template: String,
        /// What the serialiser said.
        source: serde_json::Error,
    },
}

impl TemplateError {
    /// Returns the place in the template, where the error has one.
    pub fn location(&self) -> Option<&TemplateLocation> {
        match self {
            TemplateError::Syntax { location, .. }
            | TemplateError::Evaluation { location, .. }
            | TemplateError::OutOfFuel { location, .. }
            | TemplateError::TooMuchWork { location, .. }
            | TemplateError::OutputTooLarge { location, .. } => Some(location),
            TemplateError::SourceTooLarge { .. } | TemplateError::Context { .. } => None,
        }
    }

    /// Returns what to do about it, as one sentence.
    pub fn help(&self) -> String {
        match self {
            TemplateError::Syntax { problem, .. } => problem.help(),
            TemplateError::Evaluation { problem, .. } => problem.help(),
            TemplateError::SourceTooLarge { .. } => {
                "Split the template or move long text into files the agent can read.".to_owned()
            }
            TemplateError::OutOfFuel { .. } | TemplateError::TooMuchWork { .. } => {
                "Shorten the loops around this place or the lists they go through.".to_owned()
            }
            TemplateError::OutputTooLarge { .. } => {
                "Write less: name files instead of repeating them, and bound the loops.".to_owned()
            }
            TemplateError::Context { .. } => {
                "Check the types of the values a plugin or program contributed.".to_owned()
            }
        }
    }
}
