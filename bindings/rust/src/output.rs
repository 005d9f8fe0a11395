//! What handlers answer with.
//!
//! Each point has its own output. All of them can be filled in as records; the
//! words of [`Answer`] are shorter. What is left at its default lets things go on
//! and changes nothing.

use crate::points::bindings;
use crate::{Deliver, HookResults, Mode, TextItem};

/// Brings an output out under the name of its point.
macro_rules! outputs {
    ($($module:ident: $output:ident { $($field:ident: $value:expr),* $(,)? })+) => {
        $(
            #[doc(inline)]
            pub use bindings::$module::exports::samuel::plugin::$module::Output as $output;

            impl Default for $output {
                fn default() -> Self {
                    Self { $($field: $value,)* extensions: Vec::new() }
                }
            }
        )+
    };
}

outputs! {
    init_before: InitBeforeOutput { ok: true, reason: None }
    init_after: InitAfterOutput { ok: true, reason: None }
    sync_before: SyncBeforeOutput { ok: true, reason: None, skip: false }
    sync_after: SyncAfterOutput { ok: true, reason: None }
    session_start: SessionStartOutput { ok: true, reason: None, text: Vec::new(), results: HookResults::default() }
    before_loop: BeforeLoopOutput { ok: true, reason: None }
    before_iteration: BeforeIterationOutput { ok: true, reason: None, text: Vec::new() }
    prompt_submit: PromptSubmitOutput { block: false, reason: None, results: HookResults::default() }
    context_snapshot: ContextSnapshotOutput { toon_blob: String::new() }
    context_progress: ContextProgressOutput { md_blob: String::new() }
    context_task: ContextTaskOutput { toon_blob: String::new() }
    context_extra: ContextExtraOutput { extras: Vec::new() }
    before_agent_invoke: BeforeAgentInvokeOutput {
        agent: None, prompt: None, env: Vec::new(), sandbox: None, ok: true, reason: None,
    }
    agent_invoke: AgentInvokeOutput { exit_code: 0, stdout: String::new(), stderr: String::new(), usage: None }
    after_agent_invoke: AfterAgentInvokeOutput { ok: true, reason: None }
    quality_check: QualityCheckOutput { ok: true, reason: None, failures: Vec::new() }
    after_iteration: AfterIterationOutput { ok: true, reason: None, text: Vec::new() }
    iteration_error: IterationErrorOutput { text: Vec::new() }
    task_completed: TaskCompletedOutput { text: Vec::new() }
    ability_before: AbilityBeforeOutput {
        block: false, reason: None, ask: false, updated_input: None, results: HookResults::default(),
    }
    ability_after: AbilityAfterOutput { text: Vec::new(), results: HookResults::default() }
    session_stop: SessionStopOutput { block: false, reason: None, results: HookResults::default() }
    after_loop: AfterLoopOutput { ok: true, reason: None }
    session_end: SessionEndOutput { ok: true, reason: None }
}

/// What `iteration.gate` answers.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationGateOutput {
    /// Whether the loop goes on; all handlers must agree. In the contract and in
    /// JSON it is `continue`.
    pub proceed: bool,
    /// Another mode for the iteration; the last handler's wins.
    pub mode: Option<Mode>,
    /// Why the loop ends, or why the mode changes.
    pub reason: Option<String>,
    /// Room for fields of later protocol versions.
    pub extensions: Vec<(String, String)>,
}

impl Default for IterationGateOutput {
    fn default() -> Self {
        Self { proceed: true, mode: None, reason: None, extensions: Vec::new() }
    }
}

impl From<IterationGateOutput> for bindings::iteration_gate::exports::samuel::plugin::iteration_gate::Output {
    fn from(output: IterationGateOutput) -> Self {
        let IterationGateOutput { proceed, mode, reason, extensions } = output;
        Self { continue_: proceed, mode, reason, extensions }
    }
}

/// The words in which a handler answers.
///
/// ```
/// use samuel_plugin::{Answer, BeforeIterationOutput, Deliver};
///
/// let refusal = BeforeIterationOutput::refuse("the build is broken");
/// let advice = BeforeIterationOutput::pass().with_text("Mind the changelog.", Deliver::Next);
/// assert!(!refusal.ok && advice.ok);
/// ```
pub trait Answer: Default {
    /// Lets things go on.
    fn pass() -> Self {
        Self::default()
    }

    /// Refuses, for a reason that the user or the agent will read. At a point
    /// that only observes it is a warning.
    fn refuse(reason: impl Into<String>) -> Self
    where
        Self: Verdict,
    {
        let mut output = Self::default();
        output.refuse_for(reason.into());
        output
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

    /// Sets what a repository hook reports.
    #[must_use]
    fn with_results(mut self, results: HookResults) -> Self
    where
        Self: Results,
    {
        *self.results_mut() = results;
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

/// An output that can say no.
pub trait Verdict: Answer {
    /// Says no, for a reason.
    fn refuse_for(&mut self, reason: String);
}

/// An output that can carry text for the agent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no text for the agent",
    note = "text is taken at session.start, before:iteration, after:iteration, iteration.error, task.completed and ability.after"
)]
pub trait Text: Answer {
    /// Returns the text so far.
    fn text_mut(&mut self) -> &mut Vec<TextItem>;
}

/// An output that can carry what a repository hook reports.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no hook results",
    note = "results are taken at session.start, prompt.submit, ability.before, ability.after and session.stop"
)]
pub trait Results: Answer {
    /// Returns the results so far.
    fn results_mut(&mut self) -> &mut HookResults;
}

/// An output that is one piece of text which the next handler builds on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a blob",
    note = "blobs are made at context.snapshot, context.progress and context.task"
)]
pub trait Blob: Answer {
    /// Returns the text.
    fn blob_mut(&mut self) -> &mut String;
}

/// Implements a trait for outputs, each by the same method.
macro_rules! each {
    ($trait:ident for $($name:ident)+ => $methods:tt) => {
        $(impl $trait for $name $methods)+
    };
}

each! { Answer for InitBeforeOutput InitAfterOutput SyncBeforeOutput SyncAfterOutput SessionStartOutput
BeforeLoopOutput BeforeIterationOutput IterationGateOutput PromptSubmitOutput ContextSnapshotOutput
ContextProgressOutput ContextTaskOutput ContextExtraOutput BeforeAgentInvokeOutput AgentInvokeOutput
AfterAgentInvokeOutput QualityCheckOutput AfterIterationOutput IterationErrorOutput TaskCompletedOutput
AbilityBeforeOutput AbilityAfterOutput SessionStopOutput AfterLoopOutput SessionEndOutput => {} }

each! { Verdict for InitBeforeOutput InitAfterOutput SyncBeforeOutput SyncAfterOutput SessionStartOutput
BeforeLoopOutput BeforeIterationOutput BeforeAgentInvokeOutput AfterAgentInvokeOutput QualityCheckOutput
AfterIterationOutput AfterLoopOutput SessionEndOutput => {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
} }

each! { Verdict for PromptSubmitOutput AbilityBeforeOutput SessionStopOutput => {
    fn refuse_for(&mut self, reason: String) {
        self.block = true;
        self.reason = Some(reason);
    }
} }

each! { Verdict for IterationGateOutput => {
    fn refuse_for(&mut self, reason: String) {
        self.proceed = false;
        self.reason = Some(reason);
    }
} }

each! { Text for SessionStartOutput BeforeIterationOutput AfterIterationOutput IterationErrorOutput
TaskCompletedOutput AbilityAfterOutput => {
    fn text_mut(&mut self) -> &mut Vec<TextItem> {
        &mut self.text
    }
} }

each! { Results for SessionStartOutput PromptSubmitOutput AbilityBeforeOutput AbilityAfterOutput
SessionStopOutput => {
    fn results_mut(&mut self) -> &mut HookResults {
        &mut self.results
    }
} }

each! { Blob for ContextSnapshotOutput ContextTaskOutput => {
    fn blob_mut(&mut self) -> &mut String {
        &mut self.toon_blob
    }
} }

each! { Blob for ContextProgressOutput => {
    fn blob_mut(&mut self) -> &mut String {
        &mut self.md_blob
    }
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_filled_in_lets_things_go_on() {
        assert!(QualityCheckOutput::default().ok && AfterLoopOutput::pass().ok);
        assert!(IterationGateOutput::pass().proceed);
        assert!(!SessionStopOutput::pass().block && !AbilityBeforeOutput::pass().ask);
    }

    #[test]
    fn a_refusal_is_said_in_the_words_of_the_point() {
        let gate = IterationGateOutput::refuse("enough");
        assert_eq!((gate.proceed, gate.reason.as_deref()), (false, Some("enough")));
        assert!(PromptSubmitOutput::refuse("no").block && !InitBeforeOutput::refuse("no").ok);
    }

    #[test]
    fn continue_reaches_the_contract() {
        use bindings::iteration_gate::exports::samuel::plugin::iteration_gate::Output;
        let gate =
            IterationGateOutput { mode: Some(Mode::Discovery), ..IterationGateOutput::refuse("enough") };
        let sent = Output::from(gate);
        assert_eq!((sent.continue_, sent.mode), (false, Some(Mode::Discovery)));
    }
}
