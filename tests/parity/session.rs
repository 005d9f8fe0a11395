//! Plays a row of one dispatch through a session, which fires its point.

use std::time::Duration;

use samuel_core::{
    clock::SystemClock,
    event::Event,
    hook::{AbilityDecision, HookPoint, points},
    model::payload::Mode,
    session::{AbilityReport, AbilityRequest, Feedback, Session, SessionError},
    testing::Bench,
    trust::TrustPolicy,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    dispatch::{compare_outcome, same},
    row::DispatchRow,
    tier::{Stage, Tier, over},
};

/// How long one row may take, generously: rows hang for a second.
const LIMIT: Duration = Duration::from_secs(60);

/// Says whether a session fires the point of a row: it has no iterations, of whichever mode.
pub(crate) fn fires(row: &DispatchRow) -> bool {
    let is_fired = matches!(
        row.point,
        HookPoint::SessionStart
            | HookPoint::PromptSubmit
            | HookPoint::IterationError
            | HookPoint::TaskCompleted
            | HookPoint::AbilityBefore
            | HookPoint::AbilityAfter
            | HookPoint::SessionStop
            | HookPoint::SessionEnd
    );
    is_fired && row.mode == Mode::default()
}

pub(crate) fn check(row: &DispatchRow, tier: &dyn Tier) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build().unwrap();
    runtime.block_on(check_row(row, tier))
}

async fn check_row(row: &DispatchRow, tier: &dyn Tier) -> Result<(), String> {
    let bench = Bench::builder().config(row.config()).clock(SystemClock::new()).build().unwrap();
    let plugins = bench.project().config().plugins.iter().map(|plugin| plugin.name.clone()).collect();
    let stage = Stage::of(plugins);
    let session = Session::builder(bench.project().clone()).trust(TrustPolicy::TrustAll).session("parity");
    let session = session.register(|registry| {
        row.handlers.iter().for_each(|handler| tier.register(row.point, handler, &stage, registry));
    });
    let session = match session.open().await {
        Ok(session) => session,
        Err(error) if row.expect.error.is_some() => {
            return same("error", &matches!(error, SessionError::Run(_)), &true);
        }
        Err(error) => return Err(error.to_string()),
    };
    let mut events = session.events();
    let cancel = CancellationToken::new();
    if row.cancelled {
        cancel.cancel();
    }
    let session = session.cancelled_by(cancel);
    let fired = tokio::time::timeout(LIMIT, fire(row, &session)).await;
    let feedback = fired.expect("a session answers on time")?;
    stage.curtain.fall();
    if row.cancelled {
        // Whoever ended it need not be warned that it ended.
        return Ok(());
    }
    let outcome = loop {
        match events.next().await.expect("the point has fired").event {
            Event::HookFired { point, outcome, .. } if point == row.point => break outcome,
            _ => {}
        }
    };
    compare_outcome(&outcome, &row.expect, tier)?;
    same("text", &feedback.text, &outcome.said)?;
    same("warnings", &feedback.warnings, &outcome.warnings)?;
    let results = serde_json::to_value(&feedback.results).unwrap();
    for (key, value) in row.expect.output.get("results").and_then(Value::as_object).into_iter().flatten() {
        same(key, results.get(key).unwrap_or(&Value::Null), value)?;
    }
    let abort = outcome.abort.as_ref().filter(|_| row.point != HookPoint::SessionStop);
    let no = abort.map(ToString::to_string).or(outcome.refused);
    same("blocked", &feedback.blocked, &no)
}

/// Fires the point of a row, as a caller of the session does.
async fn fire(row: &DispatchRow, session: &Session) -> Result<Feedback, String> {
    let given = Value::Object(row.input.clone());
    macro_rules! input {
        ($point:ident) => {
            over::<<points::$point as samuel_core::hook::Point>::Input>(&given).unwrap()
        };
    }
    let fired = match row.point {
        HookPoint::SessionStart => session.start(input!(SessionStart).source).await,
        HookPoint::PromptSubmit => {
            let input = input!(PromptSubmit);
            session.submit_prompt(&input.source, &input.user_raw_input).await
        }
        HookPoint::IterationError => session.iteration_error(input!(IterationError)).await,
        HookPoint::TaskCompleted => session.task_completed(input!(TaskCompleted)).await,
        HookPoint::AbilityBefore => {
            let input = row.input.get("input").cloned().unwrap_or_default();
            let request = AbilityRequest::new(input!(AbilityBefore).ability_id, input);
            let permission = session.before(request).await.map_err(|error| error.to_string())?;
            check_decision(row, &permission.decision)?;
            Ok(permission.feedback)
        }
        HookPoint::AbilityAfter => {
            let input = input!(AbilityAfter);
            let report = AbilityReport {
                call_id: input.call_id.unwrap_or_default(),
                ability_id: Some(input.ability_id),
                status: input.status,
                duration_ms: input.duration_ms,
                output_summary: input.output_summary,
                changed_files: input.changed_files,
                ..AbilityReport::default()
            };
            session.after(report).await
        }
        HookPoint::SessionStop => {
            let input = input!(SessionStop);
            session.stop(&input.reason, input.changed_files).await
        }
        _ => session.end(&input!(SessionEnd).exit_reason).await,
    };
    fired.map_err(|error| error.to_string())
}

/// Compares what is allowed with which arguments.
fn check_decision(row: &DispatchRow, decision: &AbilityDecision) -> Result<(), String> {
    let expect = &row.expect;
    let is_no = expect.refused.is_some() || expect.abort.is_some() || row.cancelled;
    same("blocked", &matches!(decision, AbilityDecision::Block { .. }), &is_no)?;
    match (decision, expect.output.get("updated_input")) {
        (AbilityDecision::Allow { input }, Some(changed)) => {
            same("arguments", &serde_json::from_str::<Value>(input).unwrap(), changed)
        }
        _ => Ok(()),
    }
}
