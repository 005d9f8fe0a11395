//! A run that is under way.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    decisions::{Decision, DecisionError},
    error::RunError,
    hub::{Events, Hub},
};
use crate::{
    event::RunReport,
    machine::{Command, Input},
    model::LiveState,
};

/// A run that is under way. Dropping it does not end the run; its events can
/// be read and its commands given from any thread.
#[derive(Debug)]
pub struct RunHandle {
    pub(super) run_id: Arc<str>,
    pub(super) hub: Arc<Hub>,
    pub(super) first: Option<Events>,
    pub(super) control: Controller,
    pub(super) socket: Option<PathBuf>,
    pub(super) task: JoinHandle<Option<RunReport>>,
}

impl RunHandle {
    /// Returns the run's id.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Returns the path of the socket that other processes reach the run by, which goes with the
    /// run; nothing where it has none. The run's own token is in the file `token` beside it.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Returns a stream of events: the first call's begins with the run, later
    /// ones' with the moment of the call. It ends with the run.
    pub fn events(&mut self) -> Events {
        self.first.take().unwrap_or_else(|| self.hub.subscribe())
    }

    /// Returns what commands are given through, to be used elsewhere.
    pub fn controller(&self) -> Controller {
        self.control.clone()
    }

    /// Holds the run before its next iteration.
    pub fn pause(&self) {
        self.control.send(Command::Pause);
    }

    /// Lets a run that holds go on.
    pub fn resume(&self) {
        self.control.send(Command::Resume);
    }

    /// Tells the agent something with the next prompt.
    pub fn steer(&self, text: impl Into<String>) {
        self.control.send(Command::Steer(text.into()));
    }

    /// Lets a run that holds go on, and tells the agent something with the next prompt.
    pub fn resume_with(&self, text: impl Into<String>) {
        self.steer(text);
        self.resume();
    }

    /// Lets a tool call be made that waits for approval, and has the agent told something with the next prompt,
    /// where a text is given. [`state`](Self::state) lists those that wait.
    ///
    /// # Errors
    /// As [`Controller::approve`].
    pub async fn approve(&self, call: u64, text: Option<String>) -> Result<(), DecisionError> {
        self.control.approve(call, text).await
    }

    /// Keeps a tool call back that waits for approval, and says why, where that is given.
    ///
    /// # Errors
    /// As [`Controller::approve`].
    pub async fn deny(&self, call: u64, text: Option<String>) -> Result<(), DecisionError> {
        self.control.deny(call, text).await
    }

    /// Returns what the run does now.
    pub fn state(&self) -> LiveState {
        self.hub.live()
    }

    /// Ends the run after the iteration that is under way.
    pub fn cancel(&self) {
        self.control.send(Command::Cancel);
    }

    /// Ends the run now: the agent and its processes are stopped.
    pub fn stop(&self) {
        self.control.send(Command::Stop);
    }

    /// Waits for the run to end.
    ///
    /// # Errors
    /// Returns [`RunError::Broken`] where the run itself broke, which is a bug.
    pub async fn wait(self) -> Result<RunReport, RunError> {
        // Nobody reads the first stream if nobody asked for it.
        drop(self.first);
        let report = self.task.await.map_err(|error| RunError::Broken { message: error.to_string() })?;
        report.ok_or_else(|| RunError::Broken { message: "the run ended without a report".to_owned() })
    }
}

/// Gives commands to a run; cheap to clone. Commands to a run that has ended
/// do nothing, and neither does a decision on a tool call that does not wait, or on which
/// somebody decided before.
#[derive(Clone, Debug)]
pub struct Controller {
    inputs: mpsc::UnboundedSender<Input>,
    pub(super) hub: Arc<Hub>,
}

impl Controller {
    pub(super) fn new(inputs: mpsc::UnboundedSender<Input>, hub: Arc<Hub>) -> Self {
        Self { inputs, hub }
    }

    /// Gives a command. What comes of a decision on a tool call, [`approve`](Self::approve) and [`deny`](Self::deny) say.
    pub fn send(&self, command: Command) {
        // The run has ended if nobody listens any more.
        let _ = self.command(None, command);
    }

    /// Lets a tool call be made that waits for approval, and has the agent told something with the next prompt,
    /// where a text is given. Waits until the run has told what comes of the call, 5 seconds at most, in a runtime of tokio.
    ///
    /// # Errors
    /// Returns a [`DecisionError`] where this did not count: the call does not wait, somebody else decided on it first, also
    /// from another process, its time was up, or the run ended; and [`DecisionError::Late`] where that is not told in time, so
    /// that it may still count. The same decision once more counts once, and returns what came of it.
    pub async fn approve(&self, call: u64, text: Option<String>) -> Result<(), DecisionError> {
        self.decide(None, Decision { call, is_approved: true, text }).await
    }

    /// Keeps a tool call back that waits for approval, and says why, where that is given. Waits as
    /// [`approve`](Self::approve) does.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub async fn deny(&self, call: u64, text: Option<String>) -> Result<(), DecisionError> {
        self.decide(None, Decision { call, is_approved: false, text }).await
    }

    /// Gives a command for somebody, whose name goes into journal, progress log and events. Says whether the run takes
    /// it, which one that has ended does not, nor a decision on a tool call that does not wait, or on which somebody decided
    /// before.
    pub fn send_for(&self, by: impl Into<String>, command: Command) -> bool {
        let by: String = by.into();
        self.command(Some(&by), command)
    }

    /// Hands a command to the machine, for somebody where that is said, and says whether it listens. Who came first is not
    /// looked at.
    pub(super) fn give(&self, by: Option<&str>, command: Command) -> bool {
        let input = match by {
            Some(by) => Input::CommandOf { command, by: by.to_owned() },
            None => Input::Command(command),
        };
        self.inputs.send(input).is_ok()
    }

    /// Says whether the run takes commands, which one whose machine has ended does not.
    pub(super) fn takes_commands(&self) -> bool {
        !self.inputs.is_closed()
    }

    /// Gives a command because of a signal, whose name goes into progress log and events. Nobody waits for the journal.
    pub fn send_because_of(&self, signal: EndSignal, command: Command) {
        let _ = self.send_for(signal.name(), command);
    }
}

/// A signal to the process that holds a run, by which it is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// Somebody interrupted it at its terminal.
    Interrupt,
    /// It was asked to end, as when the machine is shut down.
    Terminate,
    /// Its terminal was closed.
    HangUp,
}

impl EndSignal {
    /// Returns what the system calls it, by which it is told of: `SIGINT`, `SIGTERM` or `SIGHUP`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }

    /// Returns the one that is called so.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Interrupt, Self::Terminate, Self::HangUp].into_iter().find(|signal| signal.name() == name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{
        event::Event,
        machine::denied_by_person,
        model::ExitReason,
        state::JournalEntry,
        testing::{Bench, HeldAgent, VirtualClock, completes_each_task},
    };

    /// Gives a command by the method of its name. A command that is added needs one here.
    async fn give(run: &RunHandle, command: Command) {
        match command {
            Command::Pause => run.pause(),
            Command::Resume => run.resume(),
            Command::Steer(text) => run.steer(text),
            Command::Cancel => run.cancel(),
            Command::Stop => run.stop(),
            Command::Approve { call, text } => run.approve(call, text).await.unwrap(),
            Command::Deny { call, text } => run.deny(call, text).await.unwrap(),
        }
    }

    /// A tool call waits for a person.
    fn waits(call: u64) -> Event {
        let (ability_id, input, reason) = ("Bash".to_owned(), "{}".to_owned(), "a command".to_owned());
        Event::ApprovalAsked { iteration: 1, call, ability_id, input, reason, wait_ms: 1 }
    }

    #[tokio::test]
    async fn every_command_has_a_method_of_its_name() {
        let (sender, mut given) = mpsc::unbounded_channel();
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let run = bench.run(completes_each_task()).agent(Arc::new(HeldAgent::new()));
        let mut run = run.build().unwrap().start().await.unwrap();
        let hub = Arc::new(Hub::new("r".into(), Arc::new(VirtualClock::new()), Arc::default()));
        let real = std::mem::replace(&mut run.control, Controller::new(sender, Arc::clone(&hub)));
        let text = || Some("so".to_owned());
        for command in [
            Command::Pause,
            Command::Resume,
            Command::Steer("so".to_owned()),
            Command::Cancel,
            Command::Stop,
            Command::Approve { call: 1, text: text() },
            Command::Deny { call: 2, text: text() },
        ] {
            let decided = match &command {
                Command::Approve { call, .. } => Some((*call, None)),
                Command::Deny { call, text } => Some((*call, Some(denied_by_person(text.as_deref())))),
                _ => None,
            };
            if let Some((call, _)) = &decided {
                hub.send(waits(*call));
            }
            // What comes of a call is told once it was decided on.
            let told = async {
                if let Some((call, reason)) = decided {
                    hub.send(Event::ApprovalGiven { call, approved: reason.is_none(), reason });
                }
            };
            tokio::join!(give(&run, command.clone()), told);
            assert!(matches!(given.try_recv(), Ok(Input::Command(given)) if given == command), "{command:?}");
        }
        run.resume_with("so");
        for command in [Command::Steer("so".to_owned()), Command::Resume] {
            assert!(matches!(given.try_recv(), Ok(Input::Command(given)) if given == command));
        }
        real.send(Command::Stop);
        run.wait().await.unwrap();
    }

    #[tokio::test]
    async fn who_decides_on_a_call_of_a_run_that_has_ended_is_told_that_it_has() {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let run = bench.run(completes_each_task()).build().unwrap().start().await.unwrap();
        let control = run.controller();
        assert_eq!(run.wait().await.unwrap().exit_reason, ExitReason::Completed);
        assert_eq!(control.approve(57, None).await, Err(DecisionError::Ended));
        assert_eq!(control.deny(57, Some("no".to_owned())).await, Err(DecisionError::Ended));
    }

    #[tokio::test]
    async fn a_signal_that_ends_a_run_is_told_by_its_name_and_not_waited_for() {
        let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
        let agent = Arc::new(HeldAgent::new());
        let run = bench.run(completes_each_task()).agent(Arc::clone(&agent) as _);
        let mut run = run.build().unwrap().start().await.unwrap();
        let mut events = run.events();
        agent.called().await;
        run.controller().send_for("1000/pts-3", Command::Pause);
        run.controller().send_because_of(EndSignal::HangUp, Command::Stop);
        let mut told = Vec::new();
        while let Some(record) = events.next().await {
            if let Event::Commanded { command, by, .. } = record.event {
                told.push(format!("{command} by {by}"));
            }
        }
        assert_eq!(run.wait().await.unwrap().exit_reason, ExitReason::Cancelled);
        assert_eq!(told, ["pause by 1000/pts-3", "stop by SIGHUP"]);
        let records = bench.store().journal_since(0).unwrap().records;
        let noted = records.iter().filter_map(|record| match &record.entry {
            JournalEntry::Event(event) if event.name == "command" => event.data.get("command").cloned(),
            _ => None,
        });
        assert_eq!(noted.collect::<Vec<_>>(), ["pause"], "for the journal a lock may have to be waited for");
        for signal in [EndSignal::Interrupt, EndSignal::Terminate, EndSignal::HangUp] {
            assert_eq!(EndSignal::named(signal.name()), Some(signal));
        }
        assert_eq!(EndSignal::named("1000/pts-3"), None);
    }
}
