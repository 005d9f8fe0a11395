//! A program in the agent's place, which reports line by line while it works.
//!
//! Before its answer it prints reports, each a line with a JSON object of one key: `event` with an
//! [`AgentEvent`], `warning` with text, `supervised_by` with `pid` and `start_time`,
//! `before_ability` with an [`AbilityCall`] and `after_ability` with an [`AbilityResult`]. The last two are answered by a line on its standard
//! input, if that is kept open: an [`AbilityDecision`](super::AbilityDecision), and an object whose
//! `text` is what handlers said for the model at once, `{}` where they said nothing. The first
//! line that is no report begins the answer. A program whose report cannot be used is ended at once, since
//! it may wait for a reply that never comes.

use std::{sync::Arc, time::Duration};

use samuel_process::{
    CommandOutput, CommandSpec, Line, OutputLimits, ProcessError, Running, Supervisor, spawn,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, call_port::MAX_REPORTS};

/// The keys of reports.
const KEYS: [&str; 5] = ["event", "warning", "supervised_by", "before_ability", "after_ability"];
/// How long a cancelled program has to end by itself.
const CANCEL_GRACE: Duration = Duration::from_millis(250);
/// How many replies wait for a program to read them before nothing more of it is read.
const MAX_WAITING: usize = 16;

/// How a program is spoken with.
pub struct Conversation<'a> {
    /// Looks after the program; it is named to the port.
    pub supervisor: &'a Supervisor,
    /// Ends the program.
    pub cancel: &'a CancellationToken,
    /// Where its reports go, and where it is kept what it prints; without one nobody hears them, and every tool
    /// call may be made.
    pub port: Option<&'a Arc<dyn AgentPort>>,
    /// Where its warnings go.
    pub warn: &'a (dyn Fn(String) + Send + Sync),
    /// What it is given: one line.
    pub question: Vec<u8>,
    /// How long its input may take to be read, if it stays open for replies.
    pub replies: Option<Duration>,
    /// The most bytes its answer may have.
    pub max_answer: usize,
}

/// A source of lines that a program prints.
pub trait Lines: Send {
    /// Waits for the next line. Returns `None` after the last one. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Option<Line>> + Send;
}

impl Lines for Running {
    fn next(&mut self) -> impl Future<Output = Option<Line>> + Send {
        self.next_line()
    }
}

/// The output of a program that another process started, such as a program in a container.
#[derive(Debug)]
pub struct Heard {
    /// The bytes that it printed after its reports, with a line end after each line.
    pub answer: Vec<u8>,
    /// The reason why the answer cannot be used: a report before it is wrong, or it is too long. `None` if it can.
    pub problem: Option<String>,
}

/// What came of a program.
#[derive(Debug)]
pub struct Told {
    /// How it ended.
    pub output: CommandOutput,
    /// What it printed behind its reports, with a line end behind each line.
    pub answer: Vec<u8>,
    /// Why the answer cannot be used, if a report before it is wrong or it is too long.
    pub problem: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    Event(AgentEvent),
    Warning(String),
    SupervisedBy { pid: u32, start_time: u64 },
    BeforeAbility(AbilityCall),
    AfterAbility(AbilityResult),
}

impl Conversation<'_> {
    /// Runs the program to its end, and names its supervisor to the port.
    ///
    /// # Errors
    /// Returns a [`ProcessError`] if it could not be started or its supervisor was killed.
    pub async fn hold(self, spec: CommandSpec) -> Result<Told, ProcessError> {
        let spec = spec.limits(OutputLimits { line: self.max_answer, ..OutputLimits::default() });
        let spec = match self.port.and_then(|port| port.logs()) {
            Some(logs) => logs.keep(spec),
            None => spec,
        };
        let mut running = match self.replies {
            Some(_) => supervised(spec.stdin_piped(), self.supervisor, self.port).await?,
            None => supervised(spec.stdin(self.question.clone()), self.supervisor, self.port).await?,
        };
        let input = self.replies.and_then(|limit| Replies::to(&mut running, limit));
        if let Some(input) = &input {
            // The task that writes has just been started.
            let _ = input.sender.try_send(self.question.clone());
        }
        let stopper = running.stopper();
        let answer = self.listen(&mut running, input, || stopper.terminate(CANCEL_GRACE)).await;
        let output = ended(running, self.cancel, self.port).await?;
        Ok(Told { output, answer: answer.bytes, problem: answer.problem })
    }

    /// Reads the output of a program that another process started and that has its question already. `replies` takes
    /// the lines for its input, if the input stays open. `stop` must end the program; it is called if the conversation
    /// is cancelled or the output cannot be used.
    #[doc(hidden)]
    pub async fn hear(
        &self,
        lines: &mut impl Lines,
        replies: Option<mpsc::Sender<Vec<u8>>>,
        stop: impl Fn() + Send,
    ) -> Heard {
        let replies = replies.map(|sender| Replies { sender, asked: 0 });
        let Answer { bytes, problem, .. } = self.listen(lines, replies, stop).await;
        Heard { answer: bytes, problem }
    }

    async fn listen(
        &self,
        lines: &mut impl Lines,
        mut input: Option<Replies>,
        stop: impl Fn() + Send,
    ) -> Answer {
        let ear = Ear { port: self.port, warn: self.warn, cancel: self.cancel };
        let mut answer = Answer::default();
        let mut is_cancelled = false;
        loop {
            let line = tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    stop();
                    continue;
                }
                line = lines.next() => line,
            };
            let Some(line) = line else { break };
            match answer.report(&line) {
                Some(Ok(report)) => {
                    let heard = ear.heard(report, input.as_mut()).await;
                    answer.refuse(heard.err(), &line);
                }
                Some(Err(wrong)) => answer.refuse(Some(wrong), &line),
                None => answer.add(&line, self.max_answer),
            }
            if answer.problem.is_some() {
                stop();
                break;
            }
        }
        answer
    }
}

/// Hears what a program reports.
pub(super) struct Ear<'a> {
    /// Where its reports go; without one nobody hears them, and every tool call may be made.
    pub(super) port: Option<&'a Arc<dyn AgentPort>>,
    /// Where its warnings go.
    pub(super) warn: &'a (dyn Fn(String) + Send + Sync),
    /// Ends what it waits for.
    pub(super) cancel: &'a CancellationToken,
}

impl Ear<'_> {
    /// Does what a report asks for, and answers it where it waits for that.
    pub(super) async fn heard(&self, report: Report, input: Option<&mut Replies>) -> Result<(), String> {
        let question = match report {
            Report::Warning(message) => {
                (self.warn)(message);
                return Ok(());
            }
            Report::Event(event) => {
                if let Some(port) = self.port {
                    port.emit(event);
                }
                return Ok(());
            }
            Report::SupervisedBy { pid, start_time } => {
                if let Some(port) = self.port {
                    port.supervised_by(pid, start_time).await;
                }
                return Ok(());
            }
            Report::BeforeAbility(call) => Question::Before(call),
            Report::AfterAbility(result) => Question::After(result),
        };
        let no_reply = || "it waits for a reply, and its manifest does not say `interactive`".to_owned();
        let input = input.ok_or_else(no_reply)?;
        input.asked += 1;
        if input.asked > MAX_REPORTS {
            return Err(format!("it waits for more than {MAX_REPORTS} replies"));
        }
        // One that has ended reads no reply.
        if !input.sender.is_closed() {
            let reply = self.reply(question).await;
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => {}
                _ = input.sender.send(reply) => {}
            }
        }
        Ok(())
    }

    async fn reply(&self, question: Question) -> Vec<u8> {
        match (question, self.port) {
            (Question::Before(call), None) => decided(AbilityDecision::Allow { input: call.input }),
            (Question::Before(call), Some(port)) => decided(port.before_ability(call).await),
            (Question::After(_), None) => told(&[]),
            (Question::After(result), Some(port)) => told(&port.after_ability(result).await),
        }
    }
}

/// A report that waits for a reply.
enum Question {
    Before(AbilityCall),
    After(AbilityResult),
}

/// Where a program reads what it is told while it works: questions, and replies to its reports.
#[derive(Debug)]
pub(super) struct Replies {
    pub(super) sender: mpsc::Sender<Vec<u8>>,
    /// How many were waited for.
    pub(super) asked: usize,
}

impl Replies {
    /// Keeps the input of a program open, each line of which may take as long as `limit` to be read.
    pub(super) fn to(running: &mut Running, limit: Duration) -> Option<Self> {
        let mut input = running.take_input()?;
        let (sender, mut lines) = mpsc::channel::<Vec<u8>>(MAX_WAITING);
        tokio::spawn(async move {
            while let Some(mut line) = lines.recv().await {
                line.push(b'\n');
                if input.write(&line, limit).await.is_err() {
                    return;
                }
            }
        });
        Some(Self { sender, asked: 0 })
    }
}

/// What was printed behind the reports so far.
#[derive(Default)]
struct Answer {
    bytes: Vec<u8>,
    problem: Option<String>,
    /// Whether its first line is a whole document, or the beginning of none.
    ends_with_line: bool,
}

impl Answer {
    /// Reads a report, where it cannot be a line of the answer. Behind the answer's beginning it is wrong.
    fn report(&self, line: &Line) -> Option<Result<Report, String>> {
        let is_before = self.bytes.is_empty();
        let may_be = !line.invalid_utf8 && !line.truncated && (is_before || self.ends_with_line);
        let report = may_be.then(|| report(&line.text)).flatten()?;
        let behind = || "it is not one JSON document: a report stands behind its beginning".to_owned();
        Some(if is_before { report } else { Err(behind()) })
    }

    /// Keeps what is wrong with a report, and the report, so that it can be shown.
    fn refuse(&mut self, problem: Option<String>, line: &Line) {
        if problem.is_some() {
            self.problem = problem;
            self.bytes.extend_from_slice(line.text.as_bytes());
        }
    }

    fn add(&mut self, line: &Line, max: usize) {
        if self.bytes.is_empty() && line.text.trim().is_empty() {
            return;
        }
        if line.truncated || self.bytes.len() + line.text.len() >= max {
            self.problem.get_or_insert_with(|| format!("it is longer than {max} bytes"));
            return;
        }
        if line.invalid_utf8 {
            self.problem.get_or_insert_with(|| "it is not UTF-8".to_owned());
        }
        if self.bytes.is_empty() {
            let read: Result<IgnoredAny, _> = serde_json::from_str(&line.text);
            self.ends_with_line = !read.is_err_and(|error| error.is_eof());
        }
        self.bytes.extend_from_slice(line.text.as_bytes());
        self.bytes.push(b'\n');
    }
}

fn decided(decision: AbilityDecision) -> Vec<u8> {
    let blocked = || br#"{"decision":"block","reason":"the arguments are no JSON"}"#.to_vec();
    serde_json::to_vec(&decision).unwrap_or_else(|_| blocked())
}

/// Writes what handlers said for the model at once.
fn told(text: &[String]) -> Vec<u8> {
    match text {
        [] => b"{}".to_vec(),
        text => serde_json::json!({ "text": text }).to_string().into_bytes(),
    }
}

/// Returns whether a line with these fields is a report: an object whose only key is the name of a kind of report.
pub fn is_report(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && KEYS.iter().any(|key| fields.contains_key(*key))
}

/// Reads a report, if a line is one, or says what is wrong with it.
pub(super) fn report(line: &str) -> Option<Result<Report, String>> {
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else { return None };
    let is_report = is_report(&fields);
    let read = || serde_json::from_value(Value::Object(fields));
    is_report.then(|| read().map_err(|error| format!("a report before it is wrong: {error}")))
}

/// Starts a program. If it has a supervisor and there is a port, reports the supervisor to the port.
///
/// # Errors
/// Returns a [`ProcessError`] if it could not be started.
pub async fn supervised(
    spec: CommandSpec,
    supervisor: &Supervisor,
    port: Option<&Arc<dyn AgentPort>>,
) -> Result<Running, ProcessError> {
    let running = spawn(spec, supervisor).await?;
    if let Some((port, id)) = port.zip(running.supervisor()) {
        port.supervised_by(id.pid, id.start_time).await;
    }
    Ok(running)
}

/// Waits for a program to end, and reports processes that it left behind to the port. If `cancel` is cancelled, ends the
/// program, which has 250 ms to end by itself.
///
/// # Errors
/// Returns a [`ProcessError`] if its supervisor was killed.
pub async fn ended(
    running: Running,
    cancel: &CancellationToken,
    port: Option<&Arc<dyn AgentPort>>,
) -> Result<CommandOutput, ProcessError> {
    let stopper = running.stopper();
    let mut end = std::pin::pin!(running.wait());
    let ended = tokio::select! {
        biased;
        ended = &mut end => ended,
        () = cancel.cancelled() => {
            stopper.terminate(CANCEL_GRACE);
            end.await
        }
    };
    let left = match &ended {
        Ok(output) => output.left_behind.clone(),
        Err(error) => error.left_behind().map(<[_]>::to_vec),
    };
    if let Some((port, left)) = port.zip(left) {
        port.left_behind(left).await;
    }
    ended
}
