//! Words for scripts: what handlers answer and what agents do.

use samuel_agent::AbilityCall;
use samuel_hook::{
    Abort, BreakClass, Broken, HookFailure, HookPoint, OnFailure, Outcome, Speaker, context::Framing,
};
use samuel_model::{
    Plan, Status,
    payload::{Actor, CheckFailure, Deliver, TextItem, Turn},
};

use super::{
    sim::{Fired, Work},
    *,
};
use crate::event::PlanChange;

pub(super) fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

/// An agent that completes the task in progress in its main turn.
pub(super) fn completes_its_task(fired: &Fired, plan: &Plan) -> Work {
    let task = plan.tasks.iter().find(|task| task.status == Status::InProgress);
    let during = task.filter(|_| fired.turn == Turn::Main).map(|task| completed(task.id.as_str()));
    Work { during: during.into_iter().collect(), ..Default::default() }
}

pub(super) fn exits(exit_code: i32) -> Work {
    Work { exit_code, ..Default::default() }
}

pub(super) fn completed(task: &str) -> Input {
    Input::TaskCompleted(Completion {
        task: id(task),
        title: format!("task {task}"),
        description: String::new(),
        actor: Actor::Agent,
        by_call: true,
        is_edit: false,
        others_at_work: false,
        seq: 0,
    })
}

/// Somebody writes into prd.toon that a task is completed.
pub(super) fn edited(task: &str) -> Input {
    let Input::TaskCompleted(completion) = completed(task) else { unreachable!() };
    Input::TaskCompleted(Completion { actor: Actor::External, by_call: false, is_edit: true, ..completion })
}

/// Somebody leaves a task out.
pub(super) fn skipped(task: &str) -> Input {
    Input::PlanChanged(PlanChanged {
        change: PlanChange::Skipped,
        task: id(task),
        title: format!("task {task}"),
        reason: Some("pointless".into()),
        actor: Actor::Agent,
        others_at_work: false,
        seq: 0,
    })
}

pub(super) fn calls_tool(ticket: Option<u64>) -> Input {
    let call = AbilityCall {
        call_id: "c".into(),
        ability_id: "Bash".into(),
        input: r#"{ "a": 1 }"#.into(),
        ..AbilityCall::default()
    };
    Input::AbilityBefore(AbilityNotice { call, caller: "claude".into(), ticket })
}

/// A tool call that ended.
pub(super) fn ended(ticket: Option<u64>) -> Input {
    Input::AbilityAfter(EndedAbility { ticket, ..EndedAbility::default() })
}

pub(super) fn with(data: ReplyData) -> HookReply {
    HookReply { data, ..Default::default() }
}

pub(super) fn refuses(reason: &str) -> HookReply {
    HookReply {
        outcome: Outcome { refused: Some(reason.into()), ..Default::default() },
        ..Default::default()
    }
}

pub(super) fn fails_check(message: &str) -> HookReply {
    let failure = CheckFailure { command: "test".into(), message: message.into(), ..Default::default() };
    HookReply { data: ReplyData::Checks(vec![failure]), ..refuses(message) }
}

pub(super) fn says(fired: &Fired, content: &str, deliver: Deliver) -> HookReply {
    let said = Said {
        handler: "h".into(),
        point: fired.point,
        item: TextItem { content: content.into(), deliver },
        speaker: Speaker::Handler,
    };
    HookReply { outcome: Outcome { said: vec![said], ..Default::default() }, ..Default::default() }
}

/// A handler broke, and nothing follows from it.
pub(super) fn broken(class: BreakClass) -> HookReply {
    let failure = HookFailure::new(class, "broke");
    let broken = Broken { handler: "h".into(), point: HookPoint::QualityCheck, failure, abandoned: false };
    HookReply { outcome: Outcome { broken: vec![broken], ..Default::default() }, ..Default::default() }
}

/// A handler broke, and more than its own work ends.
pub(super) fn aborts(action: OnFailure) -> HookReply {
    let mut reply = broken(BreakClass::Failed);
    let failure = HookFailure::new(BreakClass::Failed, "broke");
    reply.outcome.abort =
        Some(Abort { handler: "h".into(), point: HookPoint::QualityCheck, action, failure });
    reply
}

/// Text as the agent gets it from a source.
pub(super) fn quoted(source: &str, text: &str) -> String {
    Framing::default().quote(source, text, usize::MAX)
}
