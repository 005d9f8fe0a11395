//! The hook points: a trait each, and the records it is given and answers with.
//!
//! A plugin implements the trait of every point it handles and names them in
//! [`export!`](crate::export). The records are those of the contract. Who calls
//! them, in which order and what a refusal does is the host's affair.

use crate::{
    failure::HookFailure,
    host::bindings::samuel::plugin::types::{self, CallHeader},
    output::*,
};

/// Makes the bindings of each point and the trait in front of them.
macro_rules! points {
    ($(
        $(#[$docs:meta])*
        $module:ident $world:tt: $point:ident($input:ident $(, $previous:ident)?) -> $output:ident;
    )+) => {
        /// What wit-bindgen makes of the contract, a module for each point.
        #[doc(hidden)]
        #[allow(
            missing_docs,
            unsafe_code,
            clippy::allow_attributes_without_reason,
            clippy::doc_markdown,
            clippy::missing_safety_doc,
            reason = "generated from the contract, which has the documentation"
        )]
        pub mod bindings {
            $(
                pub mod $module {
                    wit_bindgen::generate!({
                        path: "wit",
                        world: $world,
                        with: {
                            "samuel:plugin/types@1.0.0": crate::host::bindings::samuel::plugin::types,
                        },
                        runtime_path: "::samuel_plugin::rt",
                        pub_export_macro: true,
                        additional_derives: [PartialEq],
                    });
                }
            )+

            // `export!` looks a point up by the name of its trait.
            $(pub use $module as $point;)+
        }

        $(
            #[doc(inline)]
            pub use bindings::$module::exports::samuel::plugin::$module::Input as $input;

            $(#[$docs])*
            pub trait $point {
                /// Called each time the point fires.
                ///
                /// # Errors
                /// Returns why the handler could not answer. A handler that
                /// answers "no" does so in its output.
                fn $module(
                    call: CallHeader,
                    input: $input,
                    $($previous: Option<$output>,)?
                ) -> Result<$output, HookFailure>;
            }

            impl<T: $point> bindings::$module::exports::samuel::plugin::$module::Guest for T {
                fn run(
                    call: CallHeader,
                    input: $input,
                    $($previous: Option<bindings::$module::exports::samuel::plugin::$module::Output>,)?
                ) -> Result<bindings::$module::exports::samuel::plugin::$module::Output, types::Failure> {
                    T::$module(call, input $(, $previous.map(Into::into))?)
                        .map(Into::into)
                        .map_err(Into::into)
                }
            }
        )+
    };
}

points! {
    /// `init.before`: may refuse. Fires once, before `samuel init` writes
    /// anything; a refusal ends the command with nothing written.
    init_before "init-before-hook": InitBefore(InitBeforeInput) -> InitBeforeOutput;

    /// `init.after`: observes. Fires once, after `samuel init` has written.
    init_after "init-after-hook": InitAfter(InitAfterInput) -> InitAfterOutput;

    /// `sync.before`: may refuse or skip. Fires once, before `samuel sync` writes
    /// anything.
    sync_before "sync-before-hook": SyncBefore(SyncBeforeInput) -> SyncBeforeOutput;

    /// `sync.after`: observes. Fires once, after `samuel sync` has written.
    sync_after "sync-after-hook": SyncAfter(SyncAfterInput) -> SyncAfterOutput;

    /// `session.start`: observes, may have text and results. Fires once, before
    /// the loop.
    session_start "session-start-hook": SessionStart(SessionStartInput) -> SessionStartOutput;

    /// `before:loop`: may refuse. Fires once, before the first iteration.
    before_loop "before-loop-hook": BeforeLoop(BeforeLoopInput) -> BeforeLoopOutput;

    /// `before:iteration`: may refuse, may have text. A refusal fails the
    /// iteration before the agent is called.
    before_iteration "before-iteration-hook": BeforeIteration(BeforeIterationInput) -> BeforeIterationOutput;

    /// `iteration.gate`: decides whether the loop goes on, and in which mode.
    iteration_gate "iteration-gate-hook": IterationGate(IterationGateInput) -> IterationGateOutput;

    /// `prompt.submit`: may block, may have results. Fires before a prompt is put
    /// together.
    prompt_submit "prompt-submit-hook": PromptSubmit(PromptSubmitInput) -> PromptSubmitOutput;

    /// `context.snapshot`: makes what the agent is told of the project, as TOON.
    ///
    /// `previous` is the blob of the handlers before this one; keep what it says.
    context_snapshot "context-snapshot-hook": ContextSnapshot(ContextSnapshotInput, previous) -> ContextSnapshotOutput;

    /// `context.progress`: makes what the agent is told of earlier work, as
    /// Markdown.
    ///
    /// `previous` is the blob of the handlers before this one; keep what it says.
    context_progress "context-progress-hook": ContextProgress(ContextProgressInput, previous) -> ContextProgressOutput;

    /// `context.task`: makes what the agent is told of its task, as TOON.
    ///
    /// `previous` is the blob of the handlers before this one; keep what it says.
    context_task "context-task-hook": ContextTask(ContextTaskInput, previous) -> ContextTaskOutput;

    /// `context.extra`: adds sections of its own to the prompt.
    ///
    /// `previous` is what the handlers before this one added; answer only with
    /// what is new.
    context_extra "context-extra-hook": ContextExtra(ContextExtraInput, previous) -> ContextExtraOutput;

    /// `before:agent.invoke`: changes what the agent is called with, or refuses.
    ///
    /// `previous` is what the handlers before this one changed, folded; `input`
    /// has those changes applied.
    before_agent_invoke "before-agent-invoke-hook": BeforeAgentInvoke(BeforeAgentInvokeInput, previous) -> BeforeAgentInvokeOutput;

    /// `agent.invoke`: runs the agent. Only the last handler in order is called.
    agent_invoke "agent-invoke-hook": AgentInvoke(AgentInvokeInput) -> AgentInvokeOutput;

    /// `after:agent.invoke`: observes. Fires after each agent call.
    after_agent_invoke "after-agent-invoke-hook": AfterAgentInvoke(AfterAgentInvokeInput) -> AfterAgentInvokeOutput;

    /// `quality.check`: may refuse, lists failures. Fires after each agent call
    /// of an iteration; failures of all handlers reach the next prompt.
    ///
    /// `previous` is what the handlers before this one answered, folded; answer
    /// only with what is new.
    quality_check "quality-check-hook": QualityCheck(QualityCheckInput, previous) -> QualityCheckOutput;

    /// `after:iteration`: observes, may have text. Fires after each iteration,
    /// failed ones included.
    after_iteration "after-iteration-hook": AfterIteration(AfterIterationInput) -> AfterIterationOutput;

    /// `iteration.error`: observes, may have text for one recovery turn. Fires
    /// when an iteration failed.
    iteration_error "iteration-error-hook": IterationError(IterationErrorInput) -> IterationErrorOutput;

    /// `task.completed`: observes, may have text. Fires once for each completion,
    /// while the agent is still at work.
    task_completed "task-completed-hook": TaskCompleted(TaskCompletedInput) -> TaskCompletedOutput;

    /// `ability.before`: may block, ask or change a tool call of the agent.
    ///
    /// `previous` is what the handlers before this one answered, folded.
    ability_before "ability-before-hook": AbilityBefore(AbilityBeforeInput, previous) -> AbilityBeforeOutput;

    /// `ability.after`: observes, may have text and results. Fires after each
    /// tool call.
    ability_after "ability-after-hook": AbilityAfter(AbilityAfterInput) -> AbilityAfterOutput;

    /// `session.stop`: may block. Fires when the loop is about to end; a block
    /// gives the agent one more turn with the reason, at most eight in a row.
    session_stop "session-stop-hook": SessionStop(SessionStopInput) -> SessionStopOutput;

    /// `after:loop`: observes. Fires once, after the last iteration.
    after_loop "after-loop-hook": AfterLoop(AfterLoopInput) -> AfterLoopOutput;

    /// `session.end`: observes. Fires once, as the last point of a run.
    session_end "session-end-hook": SessionEnd(SessionEndInput) -> SessionEndOutput;
}
