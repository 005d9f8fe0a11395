//! `run lanes`, `run merge`, `run clean` and `run queue`: what runs have and left, and what waits to be landed.
//!
//! What a person wants of the queue is a change of the plan, which a run at work heeds; where none is, it holds from the
//! next on.

use std::{cell::Cell, pin::Pin};

use samuel_core::{
    broker::PlanAccess,
    engine::{LandReport, QueueList, Run, RunBuilder},
    event::EventRecord,
    model::{ErrorCode, TaskId},
    project::Project,
    state::{Actor, Mutation, QueueOrder, StateError},
};
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::Instant};

use super::{
    PUTTING_AWAY, block_on_and_wait, block_on_or_leave,
    change::apply,
    control::glance,
    setup::{self, Setting},
    start::Show,
};
use crate::{
    args::{Global, LandArgs, MergeArgs, QueueArgs, QueueCommand, QueueReasonArgs, QueueTasksArgs},
    failure::Failure,
    host::Host,
    render::{cleaned_text, landed_text, lanes_text, merged_text, queue_text, safe},
    reply::Reply,
    signals::{Escalation, Signal, Signals},
    trust::{self, Consent},
};

/// Ends once what is at work is to stop.
type Stopped = Pin<Box<dyn Future<Output = ()>>>;

/// Lists what runs have and left.
pub(crate) fn lanes(project: &Project, host: &Host) -> Result<Reply, Failure> {
    let list = block_on_or_leave(look_at(project, host)?.lanes())??;
    let text = lanes_text(&list);
    Ok(Reply::new(list, text))
}

/// Removes what is merged.
pub(crate) fn clean(project: &Project, host: &Host) -> Result<Reply, Failure> {
    refuse_agents(host, "clean")?;
    let cleaned = block_on_or_leave(look_at(project, host)?.clean())??;
    let text = cleaned_text(&cleaned);
    Ok(Reply::new(cleaned, text))
}

/// Carries out a command about the merge queue.
pub(crate) fn queue(
    project: &Project,
    args: QueueArgs,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    match args.command {
        None => {
            let list = QueueList::of(project, glance(project, host).as_ref())?;
            let text = queue_text(&list);
            Ok(Reply::new(list, text))
        }
        Some(QueueCommand::Hold(QueueReasonArgs { tasks, reason })) => order(
            project,
            host,
            &tasks.ids,
            &QueueOrder::Hold { reason },
            "is held; `samuel run queue release <id>` lets it land",
        ),
        Some(QueueCommand::Release(QueueTasksArgs { ids })) => {
            order(project, host, &ids, &QueueOrder::Release, "waits to be landed")
        }
        Some(QueueCommand::Drop(QueueReasonArgs { tasks, reason })) => {
            order(project, host, &tasks.ids, &QueueOrder::Drop { reason }, "is pending again")
        }
        Some(QueueCommand::Land(args)) => land(project, &args, global, host),
    }
}

/// Begins to build a run that is only looked at.
fn look_at(project: &Project, host: &Host) -> Result<RunBuilder, Failure> {
    Ok(Run::builder(project.clone()).env(host.env.iter().cloned()).supervisor(host.supervisor()?))
}

/// Has a person's order be a change of the plan for each task.
fn order(
    project: &Project,
    host: &Host,
    ids: &[TaskId],
    order: &QueueOrder,
    done: &str,
) -> Result<Reply, Failure> {
    refuse_agents(host, "queue")?;
    let access: PlanAccess = project.clone().into();
    let mut changes: Vec<Value> = Vec::new();
    let mut told = Reply::default();
    // Where one of them cannot be, none is.
    let plan = project.plan_store().load()?.plan;
    let mut orders = Vec::new();
    for (place, id) in ids.iter().enumerate() {
        if !ids.iter().take(place).any(|before| before == id) {
            orders.push((id, Mutation::of_queue(&plan, id, order.clone())?));
        }
    }
    for (id, order) in orders {
        let reply = apply(&access, host, order)?;
        let number = reply.data.get("revision").and_then(Value::as_u64).unwrap_or_default();
        let is_same =
            reply.data.get("change").is_some_and(|change| change.get("type") == Some(&"unchanged".into()));
        let change = if is_same { String::new() } else { format!(" (change {number})") };
        let id = safe(id.as_str());
        told.text.push_str(&format!("{id} {}{change}\n", done.replace("<id>", &id)));
        told.warnings.extend(reply.warnings);
        changes.push(reply.data);
    }
    told.data = json!({ "changes": changes });
    Ok(told)
}

fn refuse_agents(host: &Host, what: &'static str) -> Result<(), Failure> {
    match host.actor() {
        Actor::Agent => Err(Failure::of(&StateError::NotForAgents { what })),
        _ => Ok(()),
    }
}

/// Lands what was submitted.
fn land(project: &Project, args: &LandArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    refuse_agents(host, "queue land")?;
    let consent = Consent { yes: args.yes, accept: false, digest: args.trust_hash.as_deref() };
    let mut builder =
        setup::builder(project.clone(), &Setting::default(), host)?.trust(trust::policy(&consent, host));
    if let Some(into) = &args.into {
        builder = builder.into(into.clone());
    }
    let run = builder.build_to_land()?;
    let mut show = match global.json {
        true => Show::Nothing,
        false => Show::lines(host, project.root()),
    };
    let told = |record: &EventRecord| {
        // It goes on whether or not it can be shown.
        let _ = show.event(record);
    };
    let (report, signal) = until_signal(|stopped| run.land(told, stopped))?;
    answer(&report?, signal.map(Signal::exit_code))
}

/// Merges the work of a run.
pub(crate) fn merge(
    project: &Project,
    args: MergeArgs,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    refuse_agents(host, "merge")?;
    let consent = Consent { yes: args.yes, accept: false, digest: args.trust_hash.as_deref() };
    let builder =
        setup::builder(project.clone(), &Setting::default(), host)?.trust(trust::policy(&consent, host));
    let run = builder.build_to_land()?;
    let mut show = match global.json {
        true => Show::Nothing,
        false => Show::lines(host, project.root()),
    };
    let told = |record: &EventRecord| {
        // It goes on whether or not it can be shown.
        let _ = show.event(record);
    };
    let (merged, signal) = until_signal(|stopped| run.merge(args.branch, told, stopped))?;
    let report = match (merged, signal) {
        (Ok(report), _) => report,
        (Err(error), None) => return Err(error.into()),
        (Err(error), Some(signal)) => {
            return Err(Failure::from(error).exit_with(Some(signal.exit_code())));
        }
    };
    let text = merged_text(&report);
    let waiting = match report.waiting.as_slice() {
        [] => None,
        waiting => Some(format!(
            "{} submitted work that is not merged yet; `samuel run queue land` merges it",
            of_tasks(waiting)
        )),
    };
    Ok(Reply::new(report, text).warn(waiting))
}

fn of_tasks(tasks: &[TaskId]) -> String {
    let ids: Vec<String> = tasks.iter().map(|task| safe(task.as_str())).collect();
    let (what, has) = if tasks.len() == 1 { ("task", "has") } else { ("tasks", "have") };
    format!("{what} {} {has}", ids.join(", "))
}

/// Does something that the first signal stops and the second one leaves. Returns the first signal, if one came.
fn until_signal<F: Future>(work: impl FnOnce(Stopped) -> F) -> Result<(F::Output, Option<Signal>), Failure> {
    let done = async {
        let signals = Signals::take_over()?;
        let (stop, stopped) = oneshot::channel();
        let first = Cell::new(None);
        let stopped: Stopped = Box::pin(async move {
            // Nobody stops it once nobody waits for signals.
            let _ = stopped.await;
        });
        tokio::select! {
            biased;
            signal = second(signals, &first, stop) => Err(signal.left("left before what was at work had ended")),
            done = work(stopped) => Ok((done, first.get())),
        }
    };
    block_on_and_wait(done, PUTTING_AWAY)?
}

/// Tells of the first signal by `stop`, and returns the second one.
async fn second(mut signals: Signals, first: &Cell<Option<Signal>>, stop: oneshot::Sender<()>) -> Signal {
    let (mut escalation, mut stop) = (Escalation::default(), Some(stop));
    loop {
        let signal = signals.next().await;
        if escalation.take(signal, Instant::now()).is_none() {
            continue;
        }
        let Some(stop) = stop.take() else { return signal };
        first.set(Some(signal));
        // Where nobody listens, the landing has ended.
        let _ = stop.send(());
    }
}

/// Says what came of a landing.
fn answer(report: &LandReport, signal: Option<u8>) -> Result<Reply, Failure> {
    let text = landed_text(report);
    let left = report.queue.entries.len();
    let message = match (&report.fault, left) {
        (Some(fault), _) => fault.clone(),
        (None, 0) => return Ok(Reply::new(report, text)),
        (None, _) => "not all that was submitted has landed".to_owned(),
    };
    let code = match (&report.fault, signal) {
        (Some(_), _) => ErrorCode::RUN_FAILED,
        (None, Some(_)) => ErrorCode::RUN_CANCELLED,
        (None, None) => ErrorCode::RUN_BLOCKED,
    };
    let failure = Failure::new(code, message).exit_with(signal.filter(|_| report.fault.is_none()));
    let help =
        "`samuel run queue` says why each waits; `samuel run queue release <id>` lets go of what is held.";
    Err(failure.advise(help).with_data(json!(report)).with_text(text))
}
