//! Writing down which hooks were called, without holding up the loop.
//!
//! Each call of a handler that is not built in becomes a line of the
//! [`HookLog`], and one of a repository hook a line of the repository's own log as well; with
//! `HOOKS_DEBUG=1` in the environment that the caller gave, also one of its trace. A task of its own
//! writes them; what it
//! cannot write is warned of once, and what comes faster than it can write is left out and
//! counted.

use std::{
    iter,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{error::described, fire::Place, services::Services};
use crate::{
    clock::whole_ms,
    dialect::EventType,
    environment::Secrets,
    hook::{HandlerCall, HookFailure, HookPoint, HookWarning, Outcome, Tier, repository_hook},
    state::{HookLog, HookLogLine, RepositoryLog, RepositoryLogLine, RepositoryTraceLine, StateError},
    text::excerpt,
};

/// How many calls wait to be written.
const MAX_WAITING: usize = 2_000;
/// How many are written at once.
const AT_ONCE: usize = 500;
/// How long the end of a run waits for the last lines.
const END_WAIT: Duration = Duration::from_secs(2);
/// The variable that has the calls of repository hooks traced.
const DEBUG: &str = "HOOKS_DEBUG";
/// How much of an input or an answer is traced, in bytes; of a longer one, its start.
const MAX_TRACED: usize = 32 << 10;

/// The task that writes the lines.
#[derive(Debug)]
pub(super) struct HookLogTask {
    /// Returns how many lines it has left.
    task: JoinHandle<usize>,
    /// Has it end with the lines that it is writing.
    stop: CancellationToken,
}

/// Where lines go that are to be written.
#[derive(Debug)]
pub(super) struct HookLogWriter {
    calls: Mutex<Option<mpsc::Sender<Written>>>,
    left_out: AtomicU64,
    has_failed: AtomicBool,
    /// Whether the repository's own logs could not be written.
    has_failed_there: AtomicBool,
    secrets: Arc<Secrets>,
    /// Whether the calls of repository hooks are traced.
    pub(super) traces: bool,
}

/// What is written of a call.
#[derive(Clone, Debug)]
struct Written {
    line: HookLogLine,
    /// Of a repository hook.
    repository: Option<RepositoryLogLine>,
    trace: Option<RepositoryTraceLine>,
}

impl HookLogWriter {
    /// Knows what no line may show. Nothing is written before [`begin`](Services::begin_hook_log).
    pub(super) fn new(env: &[(String, String)], secrets: Arc<Secrets>) -> Self {
        Self {
            calls: Mutex::default(),
            left_out: AtomicU64::default(),
            has_failed: AtomicBool::default(),
            has_failed_there: AtomicBool::default(),
            secrets,
            traces: env.iter().any(|(name, value)| name == DEBUG && value.trim() == "1"),
        }
    }

    fn take(&self) -> Option<mpsc::Sender<Written>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn send(&self, calls: Vec<Written>) {
        let sender = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = &*sender else { return };
        for call in calls {
            if sender.try_send(call).is_err() {
                self.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Hides what must not be written in a document, and shortens it.
    fn traced(&self, mut value: Value) -> Value {
        self.secrets.hide_in(&mut value);
        let text = value.to_string();
        if text.len() > MAX_TRACED { json!({ "truncated": excerpt(&text, MAX_TRACED) }) } else { value }
    }

    /// Says what the log and the trace of a repository have of a call; nothing of other handlers.
    fn of_repository(
        &self,
        point: HookPoint,
        session: &str,
        time: jiff::Timestamp,
        call: HandlerCall,
    ) -> Option<(RepositoryLogLine, Option<RepositoryTraceLine>)> {
        let line = RepositoryLogLine {
            time,
            hook_id: call.repository_hook()?.to_owned(),
            event_type: EventType::of_point(point).map_or(point.as_str(), EventType::as_str).to_owned(),
            status: call.timing.status,
            duration_ms: whole_ms(call.timing.took),
            exit: call.timing.exit_code,
            class: call.timing.class,
            logs: call.logs.iter().map(|log| self.secrets.hide(log).into_owned()).collect(),
        };
        let trace = call.trace.map(|trace| {
            let mut context = json!({ "event_type": line.event_type, "session_id": session });
            if let (Value::Object(context), Value::Object(input)) = (&mut context, trace.input) {
                context.extend(input);
            }
            let document = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
            let printed = trace.printed.map(|text| self.traced(document(text)));
            let (context, result) = (self.traced(context), self.traced(trace.answer));
            RepositoryTraceLine { line: line.clone(), context, printed, result }
        });
        Some((line, trace))
    }
}

impl Services {
    /// Begins to write the log of hooks, and returns what writes it.
    pub(super) fn begin_hook_log(self: &Arc<Self>) -> HookLogTask {
        let (sender, calls) = mpsc::channel(MAX_WAITING);
        *self.hook_log.calls.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        let (services, stop) = (Arc::clone(self), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let append = |calls| {
                let services = Arc::clone(&services);
                async move { services.append_hook_calls(calls).await }
            };
            write_all(calls, &stopped, append).await
        });
        HookLogTask { task, stop }
    }

    /// Waits a moment until all of the log is written, and says what is not in it. Nothing is
    /// written after that.
    pub(super) async fn end_hook_log(&self, writing: HookLogTask) {
        let HookLogTask { mut task, stop } = writing;
        drop(self.hook_log.take());
        let left = match tokio::time::timeout(END_WAIT, &mut task).await {
            Ok(left) => left,
            Err(_) => {
                stop.cancel();
                task.await
            }
        };
        let left = u64::try_from(left.unwrap_or_default()).unwrap_or(u64::MAX);
        let left_out = self.hook_log.left_out.swap(0, Ordering::Relaxed).saturating_add(left);
        if left_out > 0 {
            self.warn(format!(
                "the logs of hooks lack calls that came faster than they were written: {left_out}"
            ));
        }
    }

    /// Lets what writes the log end once it has written all that it was given.
    pub(super) fn give_up_hook_log(&self) {
        drop(self.hook_log.take());
    }

    async fn append_hook_calls(self: &Arc<Self>, calls: Vec<Written>) {
        let (mut lines, mut repository, mut traces) = (Vec::new(), Vec::new(), Vec::new());
        for call in calls {
            lines.push(call.line);
            repository.extend(call.repository);
            traces.extend(call.trace);
        }
        let append = move |services: &Self| {
            let there = RepositoryLog::new(services.run_dir.root().clone());
            let written = there.append(&repository).and_then(|()| there.trace(&traces));
            // A session may be one of a project that has no plan.
            let has_run = services.run_dir.path().is_dir();
            (if has_run { HookLog::append(&services.run_dir, &lines) } else { Ok(()) }, written)
        };
        let (written, there) = match self.blocking(append).await {
            Ok(written) => written,
            Err(error) => (Err(error), Ok(())),
        };
        self.warn_once(&self.hook_log.has_failed, "hooks.jsonl", written);
        self.warn_once(&self.hook_log.has_failed_there, "the logs in .system/logs", there);
    }

    /// Warns of a log that cannot be written, the first time.
    fn warn_once(&self, has_failed: &AtomicBool, what: &str, written: Result<(), StateError>) {
        if let Err(error) = written
            && !has_failed.swap(true, Ordering::Relaxed)
        {
            self.warn(format!("{what} could not be written: {}", described(&error)));
        }
    }

    /// Hides secrets in what handlers warned of, how they broke, and why they refused: all of it may
    /// quote what they printed, and is told, logged and quoted in prompts.
    pub(super) fn hide_secrets(&self, outcome: &mut Outcome) {
        let Outcome { refused, advice, broken, abort, warnings, .. } = outcome;
        let failures = broken.iter_mut().map(|broken| &mut broken.failure);
        let failures = failures.chain(abort.iter_mut().map(|abort| &mut abort.failure));
        let of_failures =
            failures.flat_map(|failure| iter::once(&mut failure.message).chain(&mut failure.details));
        let of_warnings = warnings.iter_mut().map(|warning| &mut warning.message);
        for text in refused.iter_mut().chain(advice).chain(of_warnings).chain(of_failures) {
            *text = self.secrets.hide(text).into_owned();
        }
    }

    /// Shows what else is known of how repository hooks broke, where they are traced. That they broke
    /// is told in any case.
    fn show_broken_hooks(&self, outcome: &Outcome) {
        for broken in outcome.broken.iter().filter(|broken| repository_hook(&broken.handler).is_some()) {
            let HookFailure { message, details, .. } = &broken.failure;
            // What was printed and cannot be used is quoted already.
            let is_told = |detail: &&str| message.contains(&format!("{:?}", detail.trim()));
            let details: Vec<&str> = details.iter().map(String::as_str).filter(|one| !is_told(one)).collect();
            if !details.is_empty() {
                self.warn(format!(
                    "how {} broke at {}:\n{}",
                    broken.handler,
                    broken.point,
                    details.join("\n")
                ));
            }
        }
    }

    /// Has the calls of a point's handlers written down, but for those of built-in ones.
    pub(super) fn log_hooks(
        &self,
        point: HookPoint,
        place: &Place,
        outcome: &Outcome,
        calls: Vec<HandlerCall>,
    ) {
        if self.hook_log.traces {
            self.show_broken_hooks(outcome);
        }
        let time = self.clock.now();
        let called = calls.into_iter().filter_map(|call| {
            let timing = &call.timing;
            let (_, _, tier) = self.registry.handlers(point).find(|(id, _, _)| *id == &*timing.handler)?;
            if tier == Tier::BuiltIn {
                return None;
            }
            let warnings = outcome.warnings.iter().filter(|warning| warning.handler == timing.handler);
            let told = |warning: &HookWarning| {
                self.secrets.hide(&format!("{}: {}", warning.class, warning.message)).into_owned()
            };
            let line = HookLogLine {
                time,
                run: self.run_id.to_string(),
                iteration: place.in_iteration.then_some(place.iteration),
                point: point.to_string(),
                id: timing.handler.to_string(),
                tier: tier.to_string(),
                status: timing.status,
                duration_ms: whole_ms(timing.took),
                exit: timing.exit_code,
                class: timing.class,
                warnings: warnings.map(told).collect(),
            };
            let there = self.hook_log.of_repository(point, &self.session, time, call);
            let (repository, trace) = there.map_or((None, None), |(line, trace)| (Some(line), trace));
            Some(Written { line, repository, trace })
        });
        self.hook_log.send(called.collect());
    }
}

/// Writes calls until there are no more, or until it is to stop. Returns how many it has left.
async fn write_all<F: Future<Output = ()>>(
    mut calls: mpsc::Receiver<Written>,
    stop: &CancellationToken,
    append: impl Fn(Vec<Written>) -> F,
) -> usize {
    let mut waiting = Vec::new();
    loop {
        let count = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            count = calls.recv_many(&mut waiting, AT_ONCE) => count,
        };
        if count == 0 {
            break;
        }
        append(std::mem::take(&mut waiting)).await;
    }
    calls.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::fs;

    use super::*;
    use crate::{
        event::Event,
        hook::{BreakClass, Call, HookStatus, points},
        model::payload::{AfterIterationOutput, BeforeAgentInvokeOutput, BeforeIterationOutput},
        state::HookLogFilter,
        testing::{Bench, FakeHandler, completes_each_task},
    };

    async fn leaks(call: Call<points::AfterIteration>) -> Result<AfterIterationOutput, HookFailure> {
        call.warn("pushed to https://me:hunter2@host/x with abc123secret");
        Ok(AfterIterationOutput::default())
    }

    async fn breaks(_: Call<points::BeforeIteration>) -> Result<BeforeIterationOutput, HookFailure> {
        Err(HookFailure::new(BreakClass::Timeout, "no answer"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_call_of_a_hook_is_a_line_without_secrets() {
        let bench = Bench::with_tasks(&[("1", "Greet")]).unwrap();
        let run = bench.run(completes_each_task()).env([("API_TOKEN".to_owned(), "abc123secret".to_owned())]);
        let run = run
            .hook::<points::AfterIteration, _>("leaks", leaks)
            .hook::<points::BeforeIteration, _>("breaks", breaks);
        let played = bench.play(run).await.unwrap();
        let log = HookLog::read(bench.lane().dir(), &HookLogFilter::default()).unwrap();
        let told: Vec<_> = log
            .lines
            .iter()
            .map(|line| (line.id.as_str(), line.point.as_str(), line.status, line.class))
            .collect();
        assert_eq!(
            told,
            [
                ("api:breaks", "before:iteration", HookStatus::Broke, Some(BreakClass::Timeout)),
                ("api:leaks", "after:iteration", HookStatus::Ok, None)
            ]
        );
        assert_eq!((&log.lines[0].run, log.lines[1].iteration), (&log.lines[1].run, Some(1)));
        assert_eq!(log.lines[1].warnings, ["warning: pushed to https://***@host/x with ***"]);
        assert_eq!(log.lines[0].run, &*played.events[0].run_id);
    }

    async fn leaks_values(call: Call<points::AfterIteration>) -> Result<AfterIterationOutput, HookFailure> {
        call.warn("sent zq9xk7v2m4tq8w1c and r7k2p9x4w3n8b5q1");
        Ok(AfterIterationOutput::default())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn hides_plain_values_and_values_of_handlers() {
        let bench = Bench::with_tasks(&[("1", "Greet")]).unwrap();
        let set = BeforeAgentInvokeOutput {
            env: vec![("MY_FLAG".to_owned(), Some("zq9xk7v2m4tq8w1c".to_owned()))],
            ..Default::default()
        };
        let run = bench.run(completes_each_task()).env([("PLAIN".to_owned(), "r7k2p9x4w3n8b5q1".to_owned())]);
        let run = run
            .hook("sets", FakeHandler::<points::BeforeAgentInvoke>::answers(set))
            .hook::<points::AfterIteration, _>("leaks", leaks_values);
        bench.play(run).await.unwrap();
        let log = HookLog::read(bench.lane().dir(), &HookLogFilter::default()).unwrap();
        let leaked = log.lines.iter().find(|line| line.id == "api:leaks").unwrap();
        assert_eq!(leaked.warnings, ["warning: sent *** and ***"]);
    }

    #[tokio::test]
    async fn what_is_not_written_at_the_end_is_counted_and_nothing_is_written_later() {
        let line = HookLogLine {
            time: jiff::Timestamp::UNIX_EPOCH,
            run: "r".to_owned(),
            iteration: None,
            point: "session.start".to_owned(),
            id: "a:x".to_owned(),
            tier: "skill".to_owned(),
            status: HookStatus::Ok,
            duration_ms: 1,
            exit: None,
            class: None,
            warnings: Vec::new(),
        };
        let (sender, lines) = mpsc::channel(MAX_WAITING);
        for _ in 0..AT_ONCE + 7 {
            sender.try_send(Written { line: line.clone(), repository: None, trace: None }).unwrap();
        }
        drop(sender);
        let (stop, written) = (CancellationToken::new(), AtomicU64::new(0));
        let (stop, written) = (&stop, &written);
        let left = write_all(lines, stop, |lines| async move {
            // The end comes while the first lines are being written.
            stop.cancel();
            tokio::task::yield_now().await;
            written.fetch_add(lines.len() as u64, Ordering::Relaxed);
        });
        assert_eq!((left.await, written.load(Ordering::Relaxed)), (7, AT_ONCE as u64));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_log_that_cannot_be_written_is_one_warning() {
        let bench = Bench::with_tasks(&[("1", "Greet"), ("2", "Wave")]).unwrap();
        let log = bench.lane().dir().hook_log();
        fs::create_dir_all(&log).unwrap();
        let run = bench.run(completes_each_task()).hook::<points::AfterIteration, _>("leaks", leaks);
        let played = bench.play(run).await.unwrap();
        assert_eq!(played.report.iterations, 2);
        let warnings = played.events.iter().filter(
            |record| matches!(&record.event, Event::Warning { message } if message.contains("hooks.jsonl")),
        );
        assert_eq!(warnings.count(), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn without_hooks_nothing_is_written() {
        let bench = Bench::with_tasks(&[("1", "Greet")]).unwrap();
        bench.play(bench.run(completes_each_task())).await.unwrap();
        assert!(!bench.lane().dir().hook_log().exists());
    }
}
