//! What a handler may say, as traits on the outputs.
//!
//! [`Gate`], [`Text`], [`Results`] and [`Blob`] say what an output *can*
//! contain; [`Answer`] has the words for it. Every output has these words, but
//! each asks for its trait, so that a handler that refuses where nothing can be
//! refused does not compile, and the compiler says where it could (docs/hooks.md).

use crate::{
    Blob, Gate, Output, Results, Text,
    payload::{Deliver, HookResults, TextItem},
};

/// The words in which a handler answers.
///
/// ```
/// use samuel_contract::{
///     Answer,
///     payload::{BeforeIterationOutput, Deliver},
/// };
///
/// let refusal = BeforeIterationOutput::refuse("the build is broken");
/// let advice = BeforeIterationOutput::pass().with_text("Mind the changelog.", Deliver::Next);
/// assert!(!refusal.ok && advice.ok);
/// ```
pub trait Answer: Output {
    /// Lets things go on.
    fn pass() -> Self
    where
        Self: Gate,
    {
        Self::default()
    }

    /// Refuses, for a reason the user or the agent will read.
    fn refuse(reason: impl Into<String>) -> Self
    where
        Self: Gate,
    {
        Self::refused(reason.into())
    }

    /// Adds text for the agent.
    #[must_use]
    fn with_text(mut self, content: impl Into<String>, deliver: Deliver) -> Self
    where
        Self: Text,
    {
        self.text_mut().push(TextItem { content: content.into(), deliver });
        self
    }

    /// Adds what a repository hook reports.
    #[must_use]
    fn with_results(mut self, results: HookResults) -> Self
    where
        Self: Results,
    {
        // What was overridden is the answer's own affair.
        let _ = self.results_mut().merge(results);
        self
    }

    /// Makes the blob.
    fn from_blob(blob: impl Into<String>) -> Self
    where
        Self: Blob,
    {
        let mut output = Self::default();
        *output.blob_mut() = blob.into();
        output
    }
}

impl<O: Output> Answer for O {}
