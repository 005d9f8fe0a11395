//! A word with the loop that runs: `pause`, `resume`, `steer`, `approve`, `deny`, `stop`, `attach`.
//!
//! Each finds the run by the lock of its loop and asks over its socket, as the person whose session it
//! is. Inside a run they are refused.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use samuel_core::{
    engine::{Attached, LiveError, LiveRun},
    event::{Event, EventRecord},
    model::LiveState,
    project::Project,
};
use serde_json::json;
use tokio::sync::mpsc;

use super::{Show, block_on_and_wait};
use crate::{
    args::{ApproveArgs, DenyArgs, Global, ResumeArgs, SteerArgs, StopArgs},
    failure::Failure,
    host::Host,
    render::{does, end_text, safe},
    reply::Reply,
    signals::Signals,
};

/// How long it is waited for an event before it is seen whether anybody still listens.
const WAIT: Duration = Duration::from_secs(10);
/// How many events may wait to be shown before what the agent says is left out.
const BACKLOG: usize = 1_024;
/// How long the last question may still take once the watching has ended.
const LEAVING: Duration = Duration::ZERO;

/// Has the loop hold before its next iteration.
pub(crate) fn pause(project: &Project, host: &Host) -> Result<Reply, Failure> {
    let state = live(project, host)?.pause()?;
    Ok(told(&state, "holds before its next iteration; `samuel run resume` lets it go on"))
}

/// Lets the loop go on.
pub(crate) fn resume(project: &Project, args: &ResumeArgs, host: &Host) -> Result<Reply, Failure> {
    let state = live(project, host)?.resume(args.text.as_deref())?;
    let text = if args.text.is_some() { "goes on, and its next prompt holds the text" } else { "goes on" };
    Ok(told(&state, text))
}

/// Has a tool call made that waits, or lets the loop go on.
pub(crate) fn approve(project: &Project, args: &ApproveArgs, host: &Host) -> Result<Reply, Failure> {
    let state = live(project, host)?.approve(args.call, args.text.as_deref())?;
    let what = args.call.map_or("goes on".to_owned(), |call| format!("makes call {call}"));
    Ok(told(&state, &what))
}

/// Has a tool call kept back that waits.
pub(crate) fn deny(project: &Project, args: &DenyArgs, host: &Host) -> Result<Reply, Failure> {
    let state = live(project, host)?.deny(Some(args.call), args.text.as_deref())?;
    Ok(told(&state, &format!("does not make call {}", args.call)))
}

/// Returns what the loop does that runs; nothing where there is none, or it does not say.
pub(crate) fn glance(project: &Project, host: &Host) -> Option<LiveState> {
    live(project, host).ok()?.look().ok()
}

/// Has the agent told something.
pub(crate) fn steer(project: &Project, args: &SteerArgs, host: &Host) -> Result<Reply, Failure> {
    let state = live(project, host)?.steer(&args.text)?;
    Ok(told(&state, "tells its agent so with the next prompt"))
}

/// Ends the loop.
pub(crate) fn stop(project: &Project, args: &StopArgs, host: &Host) -> Result<Reply, Failure> {
    let run = live(project, host)?;
    let (state, text) = match args.now {
        true => (run.stop()?, "stops its agent and ends"),
        false => (run.cancel()?, "ends after the iteration under way"),
    };
    Ok(told(&state, text))
}

/// Shows the loop as it goes on, until it ends or a signal says to leave.
pub(crate) fn attach(project: &Project, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let attached = live(project, host)?.attach()?;
    let state = attached.state().clone();
    let mut show = match global.json {
        true => Show::Json,
        false => Show::lines(host, project.root()),
    };
    show.say(&format!("attached to run {}: {}; Ctrl-C leaves it alone", safe(&state.run), does(&state)));
    let watched = block_on_and_wait(watch(attached, &mut show), LEAVING)?;
    match watched? {
        Watched::Left => Ok(Reply::new(json!({ "run": state.run, "left": true }), "left; the run goes on\n")),
        Watched::Ended(end) => Ok(Reply::new(
            json!({ "run": state.run, "left": false, "end": end }),
            format!("ended as {end}\n"),
        )),
        Watched::Gone => Ok(Reply::new(json!({ "run": state.run, "left": false }), "the run has ended\n")),
        // Who is killed closes its connections before it lets go of its lock.
        Watched::Lost(error) => match glance(project, host) {
            Some(now) if now.run == state.run => Err(error.into()),
            _ => Err(Failure::from(LiveError::NoLoop { root: project.root().to_owned() })
                .reword(format!("the loop of run {} is gone", safe(&state.run)))),
        },
    }
}

/// Shows what happens until the run ends, or somebody leaves.
async fn watch(attached: Attached, show: &mut Show) -> Result<Watched, Failure> {
    let mut signals = Signals::take_over()?;
    let (sender, mut told) = mpsc::unbounded_channel();
    let behind = Arc::new(AtomicUsize::new(0));
    let reader = Reader { attached, to: sender, behind: Arc::clone(&behind), lost: 0 };
    tokio::task::spawn_blocking(move || reader.read());
    loop {
        let record = tokio::select! {
            biased;
            _ = signals.next() => return Ok(Watched::Left),
            record = told.recv() => match record {
                Some(Ok(record)) => record,
                Some(Err(error)) => return Ok(Watched::Lost(error)),
                None => return Ok(Watched::Gone),
            },
        };
        behind.fetch_sub(1, Ordering::Relaxed);
        show.event(&record)?;
        if let Event::RunFinished(report) = &record.event {
            return Ok(Watched::Ended(end_text(report.exit_reason, report.detail.as_deref())));
        }
    }
}

/// How the watching ended.
enum Watched {
    Left,
    Ended(String),
    Gone,
    Lost(LiveError),
}

/// Reads events for somebody who may be slow, so that the run is asked often enough.
struct Reader {
    attached: Attached,
    to: mpsc::UnboundedSender<Result<EventRecord, LiveError>>,
    /// How many events were not shown yet.
    behind: Arc<AtomicUsize>,
    /// How many were left out since the last one.
    lost: u64,
}

impl Reader {
    /// Hands on events as long as there are any and somebody wants them.
    fn read(mut self) {
        loop {
            let batch = match self.attached.next(WAIT) {
                Ok(batch) => batch,
                // Nobody may listen any more.
                Err(error) => return drop(self.to.send(Err(error))),
            };
            // A later version may tell of what this one does not know.
            let known = batch.events.into_iter().filter_map(|event| serde_json::from_value(event).ok());
            if !known.collect::<Vec<EventRecord>>().into_iter().all(|record| self.hand_on(record))
                || batch.ended
            {
                return;
            }
        }
    }

    /// Hands on an event, unless it may be lost and too many were not shown yet; says whether anybody wants them.
    fn hand_on(&mut self, record: EventRecord) -> bool {
        if self.behind.load(Ordering::Relaxed) >= BACKLOG && record.event.may_be_lost() {
            self.lost += 1;
            return !self.to.is_closed();
        }
        let lost = std::mem::take(&mut self.lost);
        let lagged = EventRecord { event: Event::Lagged { lost }, ..record.clone() };
        let told = (lost > 0).then_some(lagged).into_iter().chain([record]);
        told.into_iter().all(|record| {
            self.behind.fetch_add(1, Ordering::Relaxed);
            self.to.send(Ok(record)).is_ok()
        })
    }
}

fn live(project: &Project, host: &Host) -> Result<LiveRun, Failure> {
    let by = host.asker().name.unwrap_or_default();
    Ok(LiveRun::find(project, &host.origin(), by)?)
}

fn told(state: &LiveState, what: &str) -> Reply {
    Reply::new(json!({ "state": state }), format!("run {} {what}\n", safe(&state.run)))
}
