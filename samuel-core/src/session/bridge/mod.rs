//! One start of the command that an agent's hooks call.
//!
//! Real agents start a command at points of their own, say on its standard input what happens, and
//! read an answer from its output ([`agent::bridge`](crate::agent::bridge) has what they say). A
//! [`HookStart`] is one such process from start to end: it reads the input, finds an answer, and
//! prints it in the agent's words.
//!
//! - Within a run, which says so by a socket in the environment, it asks the run about tool calls, and
//!   nothing else: prompts and sessions are the run's own.
//! - Alone, the caller opens a [`Session`](super::Session) of the project, and [`fire_alone`] fires
//!   the point in it. What of that session goes on in the process of the next hook is kept as a
//!   [`KeptSessions`].
//!
//! Agents let a call pass whose hook breaks or runs out of time. So a call is denied within the
//! deadline whatever happens: an input that does not end or is too long, a run that hangs,
//! refuses or goes away, a project that cannot be opened. What is not about a call that could still
//! be prevented passes then, and says why on standard error.

mod alone;
mod kept;
mod run_socket;
mod trusted_root;

pub use alone::{AloneError, UNTRUSTED, fire_alone};
pub use kept::KeptSessions;
pub use run_socket::RunAddress;
pub use trusted_root::trusted_root;

use std::{
    io::{self, Read},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    agent::bridge::{self, At, BridgeError, BridgeOutput, EventKind, HookAnswer, HookInput, Protocol},
    text::described,
};

/// The most bytes that are read of an input; the rest is passed over.
const MAX_INPUT: u64 = 16 << 20;
/// How long an answer takes on its way out.
const WAY_OUT: Duration = Duration::from_millis(250);
/// The longest time that a hook may take.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// What the process of a hook was started with.
#[derive(Clone, Debug)]
pub struct HookStart {
    /// The agent's protocol.
    pub protocol: &'static dyn Protocol,
    /// The agent's event; nothing where its input says which.
    pub event: Option<At>,
    /// How long it may take; more than a day counts as one.
    pub deadline: Duration,
    /// The run that is asked; nothing where the hook stands alone.
    pub run: Option<RunAddress>,
}

/// A hook of which not even the event is known: it has to end with an exit code that agents read as
/// "no".
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NoEvent {
    /// What went wrong.
    pub reason: String,
}

/// What the thread that finds the answer has come to.
enum Stage {
    /// The input is read.
    Read(HookInput),
    /// It cannot be.
    Unread(String),
    /// There is an answer, or a reason that there is none.
    Done(Result<HookAnswer, String>),
}

impl HookStart {
    /// Reads the input and returns what is to be printed, within the deadline. Whoever is asked where
    /// there is no run is given what the input says and the time that is left; it is called on
    /// another thread, which is left behind where it is late.
    ///
    /// # Errors
    /// Returns a [`NoEvent`] where the event is not named and the input does not say it either.
    pub fn answer(
        self,
        input: impl Read + Send + 'static,
        alone: impl FnOnce(&HookInput, Duration) -> Result<HookAnswer, String> + Send + 'static,
    ) -> Result<BridgeOutput, NoEvent> {
        let Self { protocol, event, deadline, run } = self;
        let deadline = deadline.min(MAX_TIME);
        let ends = Instant::now() + deadline.saturating_sub(WAY_OUT);
        let (sender, stages) = mpsc::channel();
        let named = event.map(|at| at.name);
        let work = move || {
            // Nobody listens any more once the time is up.
            let asked = match read(protocol, input, named) {
                Ok(asked) => asked,
                Err(problem) => return drop(sender.send(Stage::Unread(problem))),
            };
            let _ = sender.send(Stage::Read(asked.clone()));
            let left = ends.saturating_duration_since(Instant::now());
            let answer = match run {
                Some(run) => run.ask(protocol, &asked, left),
                None => alone(&asked, left),
            };
            let _ = sender.send(Stage::Done(answer));
        };
        let mut asked = event.map(HookInput::unread);
        let started = thread::Builder::new().name("hook".to_owned()).spawn(work);
        let answer = match started {
            Ok(_) => awaited(&stages, ends, deadline, &mut asked),
            Err(error) => Err(format!("no thread can be started: {error}")),
        };
        match (asked, answer) {
            (Some(asked), Ok(answer)) => Ok(protocol.answer(&asked, &answer)),
            (Some(asked), Err(reason)) => Ok(without_answer(protocol, &asked, reason)),
            (None, Ok(_)) => Ok(BridgeOutput::default()),
            (None, Err(reason)) => Err(NoEvent { reason }),
        }
    }
}

/// Waits for the answer, and notes meanwhile what the input says.
fn awaited(
    stages: &mpsc::Receiver<Stage>,
    ends: Instant,
    deadline: Duration,
    asked: &mut Option<HookInput>,
) -> Result<HookAnswer, String> {
    loop {
        match stages.recv_timeout(ends.saturating_duration_since(Instant::now())) {
            Ok(Stage::Read(read)) => *asked = Some(read),
            Ok(Stage::Unread(problem)) => return Err(problem),
            Ok(Stage::Done(answer)) => return answer,
            Err(mpsc::RecvTimeoutError::Timeout) => return Err(format!("no answer within {deadline:?}")),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err("the answer was lost by a fault in Samuel".to_owned());
            }
        }
    }
}

/// Denies a call that nothing is known about; anything else passes.
fn without_answer(protocol: &dyn Protocol, asked: &HookInput, reason: String) -> BridgeOutput {
    match asked.at.kind {
        EventKind::Before => {
            let reason = format!("Samuel could not be asked about this call, so it was not made: {reason}");
            protocol.answer(asked, &HookAnswer::blocked(reason))
        }
        // Nothing can be prevented here, but the user is there to hear of it.
        EventKind::SessionStart | EventKind::PromptSubmit => {
            let message =
                format!("Samuel could not be asked, and denies tool calls as long as that is so: {reason}");
            protocol.answer(asked, &HookAnswer { messages: vec![message], ..HookAnswer::default() })
        }
        _ => BridgeOutput {
            stderr: format!("no hook of Samuel heard of {}: {reason}\n", asked.at.name),
            ..BridgeOutput::default()
        },
    }
}

fn read(protocol: &dyn Protocol, mut input: impl Read, event: Option<&str>) -> Result<HookInput, String> {
    let mut bytes = Vec::new();
    let unread = |error: io::Error| format!("its input cannot be read: {error}");
    input.by_ref().take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MAX_INPUT {
        // The agent may take it for a failure of its own if nobody reads the rest.
        io::copy(&mut input, &mut io::sink()).map_err(unread)?;
        return Err(format!("its input is longer than {} MiB", MAX_INPUT >> 20));
    }
    bridge::read(protocol, &bytes, event).map_err(|error: BridgeError| described(&error))
}

#[cfg(test)]
mod tests;
