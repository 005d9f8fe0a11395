//! The points, their outputs and the types these share.

// Written by `cargo xtask contract`; change `wit/` instead.

#![allow(clippy::derivable_impls, reason = "the types are made by wit-bindgen")]

use crate::{failure::HookFailure, host::bindings::samuel::plugin::types, output::Answer, points::points};

#[doc(inline)]
pub use crate::bindings::after_iteration::exports::samuel::plugin::after_iteration::IterationOutcome;
#[doc(inline)]
pub use crate::bindings::agent_invoke::exports::samuel::plugin::agent_invoke::AgentFailure;
#[doc(inline)]
pub use crate::bindings::agent_invoke::exports::samuel::plugin::agent_invoke::AgentFailureClass;
#[doc(inline)]
pub use crate::bindings::quality_check::exports::samuel::plugin::quality_check::CheckFailure;
#[doc(inline)]
pub use crate::bindings::session_start::exports::samuel::plugin::session_start::SessionSource;
#[doc(inline)]
pub use crate::bindings::task_completed::exports::samuel::plugin::task_completed::Actor;
#[doc(inline)]
pub use types::AbilityStatus;
#[doc(inline)]
pub use types::CallHeader;
#[doc(inline)]
pub use types::Complexity;
#[doc(inline)]
pub use types::Deliver;
#[doc(inline)]
pub use types::Extra;
#[doc(inline)]
pub use types::HookResults;
#[doc(inline)]
pub use types::Mode;
#[doc(inline)]
pub use types::Priority;
#[doc(inline)]
pub use types::SuggestedAbility;
#[doc(inline)]
pub use types::SuggestedDocument;
#[doc(inline)]
pub use types::TaskBrief;
#[doc(inline)]
pub use types::TextItem;
#[doc(inline)]
pub use types::Turn;
#[doc(inline)]
pub use types::Usage;

points! {
    /// `init.before`: gate. Fires once, before `samuel init` writes anything.
    /// A refusal ends the command with nothing written.
    init_before: InitBefore(InitBeforeInput) -> InitBeforeOutput;

    /// `init.after`: observe. Fires once, after `samuel init` has written.
    init_after: InitAfter(InitAfterInput) -> InitAfterOutput;

    /// `sync.before`: gate. Fires once, before `samuel sync` writes anything.
    sync_before: SyncBefore(SyncBeforeInput) -> SyncBeforeOutput;

    /// `sync.after`: observe. Fires once, after `samuel sync` has written.
    sync_after: SyncAfter(SyncAfterInput) -> SyncAfterOutput;

    /// `session.start`: observe, text, results. Fires once, before the loop.
    session_start: SessionStart(SessionStartInput) -> SessionStartOutput;

    /// `before:loop`: gate. Fires once, before the first iteration.
    before_loop: BeforeLoop(BeforeLoopInput) -> BeforeLoopOutput;

    /// `before:iteration`: gate, text. Fires at the start of each iteration. A
    /// refusal fails the iteration before the agent is called.
    before_iteration: BeforeIteration(BeforeIterationInput) -> BeforeIterationOutput;

    /// `iteration.gate`: decide. Says whether the loop goes on, and in which mode.
    iteration_gate: IterationGate(IterationGateInput) -> IterationGateOutput;

    /// `prompt.submit`: gate, results. Fires before a prompt is put together.
    prompt_submit: PromptSubmit(PromptSubmitInput) -> PromptSubmitOutput;

    /// `context.snapshot`: blob. Produces what the agent is told of the project, as TOON.
    ///
    /// `previous` is the blob of the handlers before this one; keep what it says.
    context_snapshot: ContextSnapshot(ContextSnapshotInput, previous) -> ContextSnapshotOutput;

    /// `context.progress`: blob. Produces what the agent is told of earlier work, as
    /// Markdown.
    ///
    /// `previous` is the blob of the handlers before this one; keep what it says.
    context_progress: ContextProgress(ContextProgressInput, previous) -> ContextProgressOutput;

    /// `context.task`: blob. Produces what the agent is told of its task, as TOON.
    ///
    /// `previous` is the blob of the handlers before this one; keep what it says.
    context_task: ContextTask(ContextTaskInput, previous) -> ContextTaskOutput;

    /// `context.extra`: list. Adds sections of its own to the prompt.
    ///
    /// `previous` is what the handlers before this one added; answer only with
    /// what is new.
    context_extra: ContextExtra(ContextExtraInput, previous) -> ContextExtraOutput;

    /// `before:agent.invoke`: transform, verdict. Changes what the agent is called with.
    /// The environment's deny list is applied again after the last handler.
    /// A plugin cannot choose another agent or sandbox.
    ///
    /// `previous` is what the handlers before this one changed, folded; `input`
    /// has those changes applied.
    before_agent_invoke: BeforeAgentInvoke(BeforeAgentInvokeInput, previous) -> BeforeAgentInvokeOutput;

    /// `agent.invoke`: replace. Runs the agent. Only the last handler in order is
    /// called; the others are shadowed.
    agent_invoke: AgentInvoke(AgentInvokeInput) -> AgentInvokeOutput;

    /// `after:agent.invoke`: observe. Fires after each agent call.
    after_agent_invoke: AfterAgentInvoke(AfterAgentInvokeInput) -> AfterAgentInvokeOutput;

    /// `quality.check`: list, verdict. Fires after each agent call of an iteration.
    /// Failures of all handlers are concatenated and reach the next prompt.
    ///
    /// `previous` is what the handlers before this one answered, folded; answer
    /// only with what is new.
    quality_check: QualityCheck(QualityCheckInput, previous) -> QualityCheckOutput;

    /// `after:iteration`: observe, text. Fires after each iteration, failed ones
    /// included.
    after_iteration: AfterIteration(AfterIterationInput) -> AfterIterationOutput;

    /// `iteration.error`: observe, text. Fires when an iteration failed. Text is
    /// sent to the agent at once, in one recovery turn.
    iteration_error: IterationError(IterationErrorInput) -> IterationErrorOutput;

    /// `task.completed`: observe, text. Fires once for each completion, while the
    /// agent is still at work.
    task_completed: TaskCompleted(TaskCompletedInput) -> TaskCompletedOutput;

    /// `ability.before`: transform, verdict, results. Fires before each tool call of the agent.
    ///
    /// `previous` is what the handlers before this one answered, folded.
    ability_before: AbilityBefore(AbilityBeforeInput, previous) -> AbilityBeforeOutput;

    /// `ability.after`: observe, text, results. Fires after each tool call.
    ability_after: AbilityAfter(AbilityAfterInput) -> AbilityAfterOutput;

    /// `session.stop`: gate, results. Fires when the loop is about to end. A block
    /// gives the agent one more turn with the reason, at most eight in a row.
    session_stop: SessionStop(SessionStopInput) -> SessionStopOutput;

    /// `after:loop`: observe. Fires once, after the last iteration.
    after_loop: AfterLoop(AfterLoopInput) -> AfterLoopOutput;

    /// `session.end`: observe. Fires once, as the last point of a run.
    session_end: SessionEnd(SessionEndInput) -> SessionEndOutput;

}

#[doc(inline)]
pub use crate::bindings::init_before::exports::samuel::plugin::init_before::Output as InitBeforeOutput;

impl Default for InitBeforeOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

impl Answer for InitBeforeOutput {}

#[doc(inline)]
pub use crate::bindings::init_after::exports::samuel::plugin::init_after::Output as InitAfterOutput;

impl Default for InitAfterOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

impl Answer for InitAfterOutput {}

#[doc(inline)]
pub use crate::bindings::sync_before::exports::samuel::plugin::sync_before::Output as SyncBeforeOutput;

impl Default for SyncBeforeOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            skip: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for SyncBeforeOutput {}

#[doc(inline)]
pub use crate::bindings::sync_after::exports::samuel::plugin::sync_after::Output as SyncAfterOutput;

impl Default for SyncAfterOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

impl Answer for SyncAfterOutput {}

#[doc(inline)]
pub use crate::bindings::session_start::exports::samuel::plugin::session_start::Output as SessionStartOutput;

impl Default for SessionStartOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            text: Default::default(),
            results: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for SessionStartOutput {}

#[doc(inline)]
pub use crate::bindings::before_loop::exports::samuel::plugin::before_loop::Output as BeforeLoopOutput;

impl Default for BeforeLoopOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

impl Answer for BeforeLoopOutput {}

#[doc(inline)]
pub use crate::bindings::before_iteration::exports::samuel::plugin::before_iteration::Output as BeforeIterationOutput;

impl Default for BeforeIterationOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            text: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for BeforeIterationOutput {}

/// What `iteration.gate` answers.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationGateOutput {
    /// Whether the loop goes on; all handlers must agree.
    /// In the contract and in JSON it is `continue`.
    pub proceed: bool,
    /// Another mode for the iteration; the last handler's wins.
    pub mode: Option<Mode>,
    /// Why the loop ends, or why the mode changes.
    pub reason: Option<String>,
    /// Room for fields of later protocol versions.
    pub extensions: Vec<(String, String)>,
}

impl From<IterationGateOutput>
    for crate::bindings::iteration_gate::exports::samuel::plugin::iteration_gate::Output
{
    fn from(output: IterationGateOutput) -> Self {
        Self {
            continue_: output.proceed,
            mode: output.mode,
            reason: output.reason,
            extensions: output.extensions,
        }
    }
}

impl Default for IterationGateOutput {
    fn default() -> Self {
        Self {
            proceed: true,
            mode: Default::default(),
            reason: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for IterationGateOutput {}

#[doc(inline)]
pub use crate::bindings::prompt_submit::exports::samuel::plugin::prompt_submit::Output as PromptSubmitOutput;

impl Default for PromptSubmitOutput {
    fn default() -> Self {
        Self {
            block: Default::default(),
            reason: Default::default(),
            results: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for PromptSubmitOutput {}

#[doc(inline)]
pub use crate::bindings::context_snapshot::exports::samuel::plugin::context_snapshot::Output as ContextSnapshotOutput;

impl Default for ContextSnapshotOutput {
    fn default() -> Self {
        Self { toon_blob: Default::default(), extensions: Default::default() }
    }
}

impl Answer for ContextSnapshotOutput {}

#[doc(inline)]
pub use crate::bindings::context_progress::exports::samuel::plugin::context_progress::Output as ContextProgressOutput;

impl Default for ContextProgressOutput {
    fn default() -> Self {
        Self { md_blob: Default::default(), extensions: Default::default() }
    }
}

impl Answer for ContextProgressOutput {}

#[doc(inline)]
pub use crate::bindings::context_task::exports::samuel::plugin::context_task::Output as ContextTaskOutput;

impl Default for ContextTaskOutput {
    fn default() -> Self {
        Self { toon_blob: Default::default(), extensions: Default::default() }
    }
}

impl Answer for ContextTaskOutput {}

#[doc(inline)]
pub use crate::bindings::context_extra::exports::samuel::plugin::context_extra::Output as ContextExtraOutput;

impl Default for ContextExtraOutput {
    fn default() -> Self {
        Self { extras: Default::default(), extensions: Default::default() }
    }
}

impl Answer for ContextExtraOutput {}

#[doc(inline)]
pub use crate::bindings::before_agent_invoke::exports::samuel::plugin::before_agent_invoke::Output as BeforeAgentInvokeOutput;

impl Default for BeforeAgentInvokeOutput {
    fn default() -> Self {
        Self {
            agent: Default::default(),
            prompt: Default::default(),
            env: Default::default(),
            sandbox: Default::default(),
            ok: true,
            reason: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for BeforeAgentInvokeOutput {}

#[doc(inline)]
pub use crate::bindings::agent_invoke::exports::samuel::plugin::agent_invoke::Output as AgentInvokeOutput;

impl Default for AgentInvokeOutput {
    fn default() -> Self {
        Self {
            exit_code: Default::default(),
            stdout: Default::default(),
            stderr: Default::default(),
            usage: Default::default(),
            failure: Default::default(),
            logs: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for AgentInvokeOutput {}

#[doc(inline)]
pub use crate::bindings::after_agent_invoke::exports::samuel::plugin::after_agent_invoke::Output as AfterAgentInvokeOutput;

impl Default for AfterAgentInvokeOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

impl Answer for AfterAgentInvokeOutput {}

#[doc(inline)]
pub use crate::bindings::quality_check::exports::samuel::plugin::quality_check::Output as QualityCheckOutput;

impl Default for QualityCheckOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            failures: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for QualityCheckOutput {}

#[doc(inline)]
pub use crate::bindings::after_iteration::exports::samuel::plugin::after_iteration::Output as AfterIterationOutput;

impl Default for AfterIterationOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            text: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for AfterIterationOutput {}

#[doc(inline)]
pub use crate::bindings::iteration_error::exports::samuel::plugin::iteration_error::Output as IterationErrorOutput;

impl Default for IterationErrorOutput {
    fn default() -> Self {
        Self { text: Default::default(), extensions: Default::default() }
    }
}

impl Answer for IterationErrorOutput {}

#[doc(inline)]
pub use crate::bindings::task_completed::exports::samuel::plugin::task_completed::Output as TaskCompletedOutput;

impl Default for TaskCompletedOutput {
    fn default() -> Self {
        Self { text: Default::default(), extensions: Default::default() }
    }
}

impl Answer for TaskCompletedOutput {}

#[doc(inline)]
pub use crate::bindings::ability_before::exports::samuel::plugin::ability_before::Output as AbilityBeforeOutput;

impl Default for AbilityBeforeOutput {
    fn default() -> Self {
        Self {
            block: Default::default(),
            reason: Default::default(),
            ask: Default::default(),
            updated_input: Default::default(),
            results: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for AbilityBeforeOutput {}

#[doc(inline)]
pub use crate::bindings::ability_after::exports::samuel::plugin::ability_after::Output as AbilityAfterOutput;

impl Default for AbilityAfterOutput {
    fn default() -> Self {
        Self { text: Default::default(), results: Default::default(), extensions: Default::default() }
    }
}

impl Answer for AbilityAfterOutput {}

#[doc(inline)]
pub use crate::bindings::session_stop::exports::samuel::plugin::session_stop::Output as SessionStopOutput;

impl Default for SessionStopOutput {
    fn default() -> Self {
        Self {
            block: Default::default(),
            reason: Default::default(),
            results: Default::default(),
            extensions: Default::default(),
        }
    }
}

impl Answer for SessionStopOutput {}

#[doc(inline)]
pub use crate::bindings::after_loop::exports::samuel::plugin::after_loop::Output as AfterLoopOutput;

impl Default for AfterLoopOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

impl Answer for AfterLoopOutput {}

#[doc(inline)]
pub use crate::bindings::session_end::exports::samuel::plugin::session_end::Output as SessionEndOutput;

impl Default for SessionEndOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

impl Answer for SessionEndOutput {}

/// An output that can say no.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say no",
    label = "the output of a point at which nobody says no",
    note = "no is said at init.before, init.after, sync.before, sync.after, session.start, before:loop, before:iteration, iteration.gate, prompt.submit, before:agent.invoke, after:agent.invoke, quality.check, after:iteration, ability.before, session.stop, after:loop and session.end",
    note = "elsewhere return a `HookFailure` if the handler cannot do its work"
)]
pub trait Verdict: Answer {
    /// Says no, for a reason.
    fn refuse_for(&mut self, reason: String);
}

impl Verdict for InitBeforeOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for InitAfterOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for SyncBeforeOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for SyncAfterOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for SessionStartOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for BeforeLoopOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for BeforeIterationOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for IterationGateOutput {
    fn refuse_for(&mut self, reason: String) {
        self.proceed = false;
        self.reason = Some(reason);
    }
}

impl Verdict for PromptSubmitOutput {
    fn refuse_for(&mut self, reason: String) {
        self.block = true;
        self.reason = Some(reason);
    }
}

impl Verdict for BeforeAgentInvokeOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for AfterAgentInvokeOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for QualityCheckOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for AfterIterationOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for AbilityBeforeOutput {
    fn refuse_for(&mut self, reason: String) {
        self.block = true;
        self.reason = Some(reason);
    }
}

impl Verdict for SessionStopOutput {
    fn refuse_for(&mut self, reason: String) {
        self.block = true;
        self.reason = Some(reason);
    }
}

impl Verdict for AfterLoopOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

impl Verdict for SessionEndOutput {
    fn refuse_for(&mut self, reason: String) {
        self.ok = false;
        self.reason = Some(reason);
    }
}

/// An output that can carry text for the agent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no text for the agent",
    label = "the output of a point that takes no text",
    note = "text is taken at session.start, before:iteration, after:iteration, iteration.error, task.completed and ability.after",
    note = "what every prompt should hold is a section of context.extra"
)]
pub trait Text: Answer {
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
pub trait Results: Answer {
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
pub trait Blob: Answer {
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
