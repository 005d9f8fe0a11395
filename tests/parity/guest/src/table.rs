//! The records and words of the contract, and its points.

// Written by `cargo xtask contract`; change `wit/` instead.

use samuel_plugin::*;
use serde_json::Value;

use crate::{
    Rows, behave, points,
    record::{ToJson, record, words},
};

words!(AgentFailureClass { AgentStart "agent-start", AgentExit "agent-exit", AgentTimeout "agent-timeout", RateLimit "rate-limit", Interrupted "interrupted" });
record!(part AgentFailure { class, message, resets_at });
record!(part CheckFailure { command, message, exit_code, tail, log });
words!(IterationOutcome { Succeeded "succeeded", Failed "failed", Cancelled "cancelled" });
words!(Actor { Agent "agent", User "user", Runtime "runtime", External "external" });
words!(SessionSource { Startup "startup", Resume "resume" });
words!(Mode { Implementation "implementation", Discovery "discovery" });
words!(Turn { Main "main", Recovery "recovery", Immediate "immediate", Final "final" });
record!(part CallHeader { point, handler_id, run_id, session, iteration, mode, turn, deadline_ms, namespace, preview });
words!(Deliver { Next "next", Now "now" });
record!(part TextItem { content, deliver });
record!(part SuggestedAbility { id, reason, confidence });
record!(part SuggestedDocument { path, reason, confidence });
record!(part HookResults { logs, messages_to_user, suggested_abilities, suggested_documents, follow_up_actions: json, new_intent: json, usage_recorded, block_execution });
record!(part Extra { name, content, path });
words!(Priority { Medium "medium", Critical "critical", High "high", Low "low" });
words!(Complexity { Medium "medium", Simple "simple", Complex "complex" });
record!(part TaskBrief { id, title, priority, complexity, description, files_to_modify, files_to_create, depends_on, acceptance });
words!(AbilityStatus { Success "success", Error "error", Cancelled "cancelled" });
record!(part Usage { input_tokens, output_tokens, cached_tokens, cost_usd });

points! {
    InitBefore init_before(InitBeforeInput { project_root, force, minimal })
        -> InitBeforeOutput { ok, reason };
    InitAfter init_after(InitAfterInput { project_root, plugins_installed })
        -> InitAfterOutput { ok, reason };
    SyncBefore sync_before(SyncBeforeInput { project_root, dry_run })
        -> SyncBeforeOutput { ok, reason, skip };
    SyncAfter sync_after(SyncAfterInput { project_root, files_written })
        -> SyncAfterOutput { ok, reason };
    SessionStart session_start(SessionStartInput { session, source })
        -> SessionStartOutput { ok, reason, text, results };
    BeforeLoop before_loop(BeforeLoopInput { prd_path, max_iterations })
        -> BeforeLoopOutput { ok, reason };
    BeforeIteration before_iteration(BeforeIterationInput { iteration, task })
        -> BeforeIterationOutput { ok, reason, text };
    IterationGate iteration_gate(IterationGateInput { iteration, consec_fails, queue_size, mode })
        -> IterationGateOutput { proceed as "continue", mode, reason };
    PromptSubmit prompt_submit(PromptSubmitInput { source, user_raw_input })
        -> PromptSubmitOutput { block, reason, results };
    ContextSnapshot context_snapshot(ContextSnapshotInput { project_root }, previous)
        -> ContextSnapshotOutput { toon_blob };
    ContextProgress context_progress(ContextProgressInput { progress_path }, previous)
        -> ContextProgressOutput { md_blob };
    ContextTask context_task(ContextTaskInput { task, mode }, previous)
        -> ContextTaskOutput { toon_blob };
    ContextExtra context_extra(ContextExtraInput { task }, previous)
        -> ContextExtraOutput { extras };
    BeforeAgentInvoke before_agent_invoke(BeforeAgentInvokeInput { agent, prompt, env, env_names, sandbox, snapshot, progress, task_context, extras }, previous)
        -> BeforeAgentInvokeOutput { agent, prompt, env, sandbox, ok, reason };
    AgentInvoke agent_invoke(AgentInvokeInput { agent, prompt, env, env_names, sandbox, task, conversation })
        -> AgentInvokeOutput { exit_code, stdout, stderr, usage, failure, logs };
    AfterAgentInvoke after_agent_invoke(AfterAgentInvokeInput { exit_code, stdout, stderr, duration_ms, usage })
        -> AfterAgentInvokeOutput { ok, reason };
    QualityCheck quality_check(QualityCheckInput { commands, changed_files }, previous)
        -> QualityCheckOutput { ok, reason, failures };
    AfterIteration after_iteration(AfterIterationInput { iteration, task, outcome, changed_files })
        -> AfterIterationOutput { ok, reason, text };
    IterationError iteration_error(IterationErrorInput { error, class, consec_fails })
        -> IterationErrorOutput { text };
    TaskCompleted task_completed(TaskCompletedInput { task_id, task_content, actor, provisional })
        -> TaskCompletedOutput { text };
    AbilityBefore ability_before(AbilityBeforeInput { ability_id, call_id, operation_key, input: json, caller, enforced }, previous)
        -> AbilityBeforeOutput { block, reason, ask, updated_input: json, results };
    AbilityAfter ability_after(AbilityAfterInput { ability_id, call_id, operation_key, status, duration_ms, input_summary, output_summary, tool_call_path, changed_files })
        -> AbilityAfterOutput { text, results };
    SessionStop session_stop(SessionStopInput { reason, changed_files, stop_block_count })
        -> SessionStopOutput { block, reason, results };
    AfterLoop after_loop(AfterLoopInput { iterations_run, exit_reason })
        -> AfterLoopOutput { ok, reason };
    SessionEnd session_end(SessionEndInput { exit_reason })
        -> SessionEndOutput { ok, reason };
}
