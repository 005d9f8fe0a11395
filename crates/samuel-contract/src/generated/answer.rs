//! What a handler may say, as traits on the outputs.

// Written by `cargo xtask contract`; change `wit/` instead.

use crate::{
    Output,
    payload::{self as types, *},
};

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

impl Gate for InitBeforeOutput {
    fn refused(reason: String) -> Self {
        Self { ok: false, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for SyncBeforeOutput {
    fn refused(reason: String) -> Self {
        Self { ok: false, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for BeforeLoopOutput {
    fn refused(reason: String) -> Self {
        Self { ok: false, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for BeforeIterationOutput {
    fn refused(reason: String) -> Self {
        Self { ok: false, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for IterationGateOutput {
    fn refused(reason: String) -> Self {
        Self { proceed: false, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for PromptSubmitOutput {
    fn refused(reason: String) -> Self {
        Self { block: true, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for BeforeAgentInvokeOutput {
    fn refused(reason: String) -> Self {
        Self { ok: false, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for QualityCheckOutput {
    fn refused(reason: String) -> Self {
        Self { ok: false, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for AbilityBeforeOutput {
    fn refused(reason: String) -> Self {
        Self { block: true, reason: Some(reason), ..Self::default() }
    }
}

impl Gate for SessionStopOutput {
    fn refused(reason: String) -> Self {
        Self { block: true, reason: Some(reason), ..Self::default() }
    }
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
    fn text_mut(&mut self) -> &mut Vec<types::TextItem>;
}

impl Text for SessionStartOutput {
    fn text_mut(&mut self) -> &mut Vec<types::TextItem> {
        &mut self.text
    }
}

impl Text for BeforeIterationOutput {
    fn text_mut(&mut self) -> &mut Vec<types::TextItem> {
        &mut self.text
    }
}

impl Text for AfterIterationOutput {
    fn text_mut(&mut self) -> &mut Vec<types::TextItem> {
        &mut self.text
    }
}

impl Text for IterationErrorOutput {
    fn text_mut(&mut self) -> &mut Vec<types::TextItem> {
        &mut self.text
    }
}

impl Text for TaskCompletedOutput {
    fn text_mut(&mut self) -> &mut Vec<types::TextItem> {
        &mut self.text
    }
}

impl Text for AbilityAfterOutput {
    fn text_mut(&mut self) -> &mut Vec<types::TextItem> {
        &mut self.text
    }
}

/// An output that can carry what a repository hook reports.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no hook results",
    label = "the output of a point that takes no results",
    note = "results are taken at session.start, prompt.submit, ability.before, ability.after and session.stop"
)]
pub trait Results: Output {
    /// Returns the results so far.
    fn results_mut(&mut self) -> &mut types::HookResults;
}

impl Results for SessionStartOutput {
    fn results_mut(&mut self) -> &mut types::HookResults {
        &mut self.results
    }
}

impl Results for PromptSubmitOutput {
    fn results_mut(&mut self) -> &mut types::HookResults {
        &mut self.results
    }
}

impl Results for AbilityBeforeOutput {
    fn results_mut(&mut self) -> &mut types::HookResults {
        &mut self.results
    }
}

impl Results for AbilityAfterOutput {
    fn results_mut(&mut self) -> &mut types::HookResults {
        &mut self.results
    }
}

impl Results for SessionStopOutput {
    fn results_mut(&mut self) -> &mut types::HookResults {
        &mut self.results
    }
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
