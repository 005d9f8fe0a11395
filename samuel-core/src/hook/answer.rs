//! What a handler may say, as traits on the outputs.
//!
//! [`Gate`], [`Text`], [`Results`] and [`Blob`] say what an output *can*
//! contain; [`Answer`] has the words for it. Every output has these words, but
//! each asks for its trait, so that a handler that refuses where nothing can be
//! refused does not compile, and the compiler says where it could (docs/hooks.md).

use super::Output;
use crate::model::payload::*;

/// An output that can refuse.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot refuse",
    label = "not the output of a gate",
    note = "handlers refuse at init.before, sync.before, before:loop, before:iteration, iteration.gate, prompt.submit, before:agent.invoke, quality.check, ability.before and session.stop",
    note = "elsewhere set `ok` and `reason` where the output has them, or return a `HookFailure` if the handler cannot do its work"
)]
pub trait Gate: Output {
    /// Makes the outcome that refuses for a reason.
    fn refused(reason: String) -> Self;
}

/// An output that can carry text for the agent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no text for the agent",
    label = "the output of a point that takes no text",
    note = "text is taken at session.start, before:iteration, after:iteration, iteration.error, task.completed and ability.after",
    note = "what every prompt should hold is a section of context.extra"
)]
pub trait Text: Output {
    /// Returns the text so far.
    fn text_mut(&mut self) -> &mut Vec<TextItem>;
}

/// An output that can carry what a repository hook reports.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no hook results",
    label = "the output of a point that takes no results",
    note = "results are taken at session.start, prompt.submit, ability.before, ability.after and session.stop"
)]
pub trait Results: Output {
    /// Returns the results so far.
    fn results_mut(&mut self) -> &mut HookResults;
}

/// An output that is one piece of text which the next handler builds on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a blob",
    label = "not the output of a point that makes a blob",
    note = "blobs are made at context.snapshot, context.progress and context.task",
    note = "at context.extra a handler adds sections to `extras`"
)]
pub trait Blob: Output {
    /// Returns the text.
    fn blob(&self) -> &str;

    /// Returns the text, to be changed.
    fn blob_mut(&mut self) -> &mut String;
}

/// The words in which a handler answers.
///
/// ```
/// use samuel_core::{
///     hook::Answer,
///     model::payload::{BeforeIterationOutput, Deliver},
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

/// Implements a trait for outputs, each by the same method.
macro_rules! each {
    ($trait:ident for $($name:ident)+ => $methods:tt) => {
        $(impl $trait for $name $methods)+
    };
}

each! { Gate for InitBeforeOutput SyncBeforeOutput BeforeLoopOutput BeforeIterationOutput BeforeAgentInvokeOutput QualityCheckOutput => {
    fn refused(reason: String) -> Self {
        Self { ok: false, reason: Some(reason), ..Self::default() }
    }
} }

each! { Gate for PromptSubmitOutput AbilityBeforeOutput SessionStopOutput => {
    fn refused(reason: String) -> Self {
        Self { block: true, reason: Some(reason), ..Self::default() }
    }
} }

each! { Gate for IterationGateOutput => {
    fn refused(reason: String) -> Self {
        Self { proceed: false, reason: Some(reason), ..Self::default() }
    }
} }

each! { Text for SessionStartOutput BeforeIterationOutput AfterIterationOutput IterationErrorOutput TaskCompletedOutput AbilityAfterOutput => {
    fn text_mut(&mut self) -> &mut Vec<TextItem> {
        &mut self.text
    }
} }

each! { Results for SessionStartOutput PromptSubmitOutput AbilityBeforeOutput AbilityAfterOutput SessionStopOutput => {
    fn results_mut(&mut self) -> &mut HookResults {
        &mut self.results
    }
} }

impl Blob for ContextSnapshotOutput {
    fn blob(&self) -> &str {
        &self.toon_blob
    }

    fn blob_mut(&mut self) -> &mut String {
        &mut self.toon_blob
    }
}

impl Blob for ContextProgressOutput {
    fn blob(&self) -> &str {
        &self.md_blob
    }

    fn blob_mut(&mut self) -> &mut String {
        &mut self.md_blob
    }
}

impl Blob for ContextTaskOutput {
    fn blob(&self) -> &str {
        &self.toon_blob
    }

    fn blob_mut(&mut self) -> &mut String {
        &mut self.toon_blob
    }
}
