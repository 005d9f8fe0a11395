//! Handlers of the behaviour table, as a component.
//!
//! It handles every point, and is told what to do by its settings: a
//! [`Behaviour`], which is what a row says of one handler. [`record`] turns the
//! records of the contract into JSON and back, [`text`] fills the texts of an
//! answer.

mod record;
mod text;

use std::{hint, thread, time::Duration};

use samuel_plugin::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use record::{Output, ToJson, record};

/// What a row says of a handler.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Behaviour {
    /// Fields of the answer; the others keep their defaults.
    answer: Map<String, Value>,
    /// What it contributes before it answers or breaks.
    contribute: Map<String, Value>,
    /// How it breaks, if it does.
    breaks: Option<Break>,
    /// The message it breaks with.
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Break {
    Fails,
    Panics,
    Hangs,
    Ignores,
}

/// Does what the settings say, for any point.
fn behave<O: Output>(call: &CallHeader, input: Value, previous: Value) -> Result<O, HookFailure> {
    let Behaviour { answer, contribute, breaks, message } = config::table()?;
    for (key, value) in &contribute {
        plugins::contribute(key, value)?;
    }
    match breaks {
        None => {}
        Some(Break::Fails) => return Err(HookFailure::new(message)),
        Some(Break::Panics) => panic!("{message}"),
        // In the host, which can give it up there.
        Some(Break::Hangs) => thread::sleep(Duration::from_secs(1_000)),
        // In code of its own, which has to be interrupted.
        Some(Break::Ignores) => loop {
            hint::spin_loop();
        },
    }
    let envelope = json!({ "call": call.to_json(), "input": input, "previous": previous });
    let mut output = O::default();
    for (name, value) in answer {
        output.set(&name, text::fill(value, &envelope))?;
    }
    Ok(output)
}

/// The handlers.
struct Rows;

/// Implements every point by [`behave`], with the fields of its input and its
/// output.
macro_rules! points {
    ($(
        $point:ident $run:ident($input:ident $fields:tt $(, $previous:ident)?) -> $output:ident $answer:tt;
    )+) => {
        $(
            record!(input $input $fields);
            record!(output $output $answer);

            impl $point for Rows {
                fn $run(
                    call: CallHeader,
                    input: $input,
                    $($previous: Option<$output>,)?
                ) -> Result<$output, HookFailure> {
                    let standing = Value::Null;
                    $(let standing = $previous.map_or(standing, |output| output.to_json());)?
                    behave(&call, input.to_json(), standing)
                }
            }
        )+

        samuel_plugin::export!(Rows: $($point),+);
    };
}

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
    BeforeAgentInvoke before_agent_invoke(
        BeforeAgentInvokeInput {
            agent, prompt, env, env_names, sandbox, snapshot, progress, task_context, extras,
        },
        previous
    )
        -> BeforeAgentInvokeOutput { agent, prompt, env, sandbox, ok, reason };
    AgentInvoke agent_invoke(AgentInvokeInput { agent, prompt, env, env_names, sandbox, task })
        -> AgentInvokeOutput { exit_code, stdout, stderr, usage, failure, logs };
    AfterAgentInvoke after_agent_invoke(AfterAgentInvokeInput { exit_code, stdout, stderr, duration_ms, usage })
        -> AfterAgentInvokeOutput { ok, reason };
    QualityCheck quality_check(QualityCheckInput { commands }, previous)
        -> QualityCheckOutput { ok, reason, failures };
    AfterIteration after_iteration(AfterIterationInput { iteration, task, outcome, changed_files })
        -> AfterIterationOutput { ok, reason, text };
    IterationError iteration_error(IterationErrorInput { error, class, consec_fails })
        -> IterationErrorOutput { text };
    TaskCompleted task_completed(TaskCompletedInput { task_id, task_content, actor, provisional })
        -> TaskCompletedOutput { text };
    AbilityBefore ability_before(
        AbilityBeforeInput { ability_id, operation_key, input: json, caller, enforced },
        previous
    ) -> AbilityBeforeOutput { block, reason, ask, updated_input: json, results };
    AbilityAfter ability_after(AbilityAfterInput {
        ability_id, operation_key, status, duration_ms, input_summary, output_summary, tool_call_path,
        changed_files,
    }) -> AbilityAfterOutput { text, results };
    SessionStop session_stop(SessionStopInput { reason, changed_files, stop_block_count })
        -> SessionStopOutput { block, reason, results };
    AfterLoop after_loop(AfterLoopInput { iterations_run, exit_reason })
        -> AfterLoopOutput { ok, reason };
    SessionEnd session_end(SessionEndInput { exit_reason })
        -> SessionEndOutput { ok, reason };
}
