//! Writing down which hooks were called, without holding up the loop.
//!
//! Each call of a handler that is not built in becomes a line of the
//! [`HookLog`]. A task of its own writes them; what it
//! cannot write is warned of once, and what comes faster than it can write is left out and
//! counted.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{error::described, fire::Place, services::Services};
use crate::{
    clock::whole_ms,
    environment::is_secret,
    hook::{HookPoint, Outcome, Tier, Warning},
    model::redacted,
    state::{HookLog, HookLogLine},
};

/// How many lines wait to be written.
const MAX_WAITING: usize = 10_000;
/// How many are written at once.
const AT_ONCE: usize = 500;
/// How long the end of a run waits for the last lines.
const END_WAIT: Duration = Duration::from_secs(2);
/// How long the value of a variable is that is taken for a secret; shorter ones stand in any text.
const MIN_SECRET_CHARS: usize = 6;

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
    lines: Mutex<Option<mpsc::Sender<HookLogLine>>>,
    left_out: AtomicU64,
    has_failed: AtomicBool,
    /// Values of variables that no line shows.
    secrets: Vec<String>,
}

impl HookLogWriter {
    /// Knows what no line may show. Nothing is written before [`begin`](Services::begin_hook_log).
    pub(super) fn new(env: &[(String, String)]) -> Self {
        let values = env.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.trim());
        let mut secrets: Vec<String> =
            values.filter(|value| value.chars().count() >= MIN_SECRET_CHARS).map(str::to_owned).collect();
        // One that is part of another is hidden behind it.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let (lines, left_out, has_failed) = (Mutex::default(), AtomicU64::default(), AtomicBool::default());
        Self { lines, left_out, has_failed, secrets }
    }

    fn take(&self) -> Option<mpsc::Sender<HookLogLine>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn send(&self, lines: Vec<HookLogLine>) {
        let sender = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = &*sender else { return };
        for line in lines {
            if sender.try_send(line).is_err() {
                self.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Hides what must not be written.
    fn without_secrets(&self, text: &str) -> String {
        let text = redacted(text).into_owned();
        self.secrets.iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, "***"),
            false => text,
        })
    }
}

impl Services {
    /// Begins to write the log of hooks, and returns what writes it.
    pub(super) fn begin_hook_log(self: &Arc<Self>) -> HookLogTask {
        let (sender, lines) = mpsc::channel(MAX_WAITING);
        *self.hook_log.lines.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        let (services, stop) = (Arc::clone(self), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let append = |lines| {
                let services = Arc::clone(&services);
                async move { services.append_hook_lines(lines).await }
            };
            write_all(lines, &stopped, append).await
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
        let left_out = self.hook_log.left_out.load(Ordering::Relaxed).saturating_add(left);
        if left_out > 0 {
            self.warn(format!(
                "hooks.jsonl lacks calls of hooks that came faster than they were written: {left_out}"
            ));
        }
    }

    /// Lets what writes the log end once it has written all that it was given.
    pub(super) fn give_up_hook_log(&self) {
        drop(self.hook_log.take());
    }

    async fn append_hook_lines(self: &Arc<Self>, lines: Vec<HookLogLine>) {
        let appended = self.blocking(move |services| HookLog::append(&services.run_dir, &lines)).await;
        if let Err(error) = appended.and_then(|appended| appended)
            && !self.hook_log.has_failed.swap(true, Ordering::Relaxed)
        {
            self.warn(format!("hooks.jsonl could not be written: {}", described(&error)));
        }
    }

    /// Has the calls of a point's handlers written down, but for those of built-in ones.
    pub(super) fn log_hooks(&self, point: HookPoint, place: &Place, outcome: &Outcome) {
        let time = self.clock.now();
        let called = outcome.timings.iter().filter_map(|timing| {
            let (_, _, tier) = self.registry.handlers(point).find(|(id, _, _)| *id == &*timing.handler)?;
            if tier == Tier::BuiltIn {
                return None;
            }
            let warnings = outcome.warnings.iter().filter(|warning| warning.handler == timing.handler);
            let told = |warning: &Warning| {
                self.hook_log.without_secrets(&format!("{}: {}", warning.class, warning.message))
            };
            Some(HookLogLine {
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
            })
        });
        self.hook_log.send(called.collect());
    }
}

/// Writes lines until there are no more, or until it is to stop. Returns how many it has left.
async fn write_all<F: Future<Output = ()>>(
    mut lines: mpsc::Receiver<HookLogLine>,
    stop: &CancellationToken,
    append: impl Fn(Vec<HookLogLine>) -> F,
) -> usize {
    let mut waiting = Vec::new();
    loop {
        let count = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            count = lines.recv_many(&mut waiting, AT_ONCE) => count,
        };
        if count == 0 {
            break;
        }
        append(std::mem::take(&mut waiting)).await;
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::fs;

    use super::*;
    use crate::{
        event::Event,
        hook::{BreakClass, Call, HookFailure, HookStatus, points},
        model::payload::{AfterIterationOutput, BeforeIterationOutput},
        state::HookLogFilter,
        testing::{Bench, completes_each_task},
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
            sender.try_send(line.clone()).unwrap();
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
