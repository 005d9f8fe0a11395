//! What a handler of `agent.invoke` tells and asks while it works.

use std::{
    io::{self, Write as _},
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use samuel_fs::Root;
use samuel_model::environment::Secrets;
use samuel_process::{CommandSpec, LeftRunning, Process, Spill, create_private};

use super::{
    AbilityCall, AbilityDecision, AbilityResult, AgentEvent, Bridge, Call, RunAccess, output_filter::hiding,
    points,
};

/// Where an agent reports to, and asks before enforced tool calls.
///
/// A call of `agent.invoke` is one: whoever answers there reports by it, in a run and
/// as long as the call lasts. Elsewhere nobody hears it, and every tool call may be made.
///
/// Implementations stand below [`async_trait`](macro@async_trait).
#[async_trait]
pub trait AgentPort: Send + Sync {
    /// Returns the files that keep what the agent prints in this call; by default nothing is kept.
    fn logs(&self) -> Option<CallLogs> {
        None
    }

    /// Returns how the agent's own hooks reach whoever listens; by default they do not.
    ///
    /// Who takes it wires it: from then on it is expected that the agent's hooks ask about its tool
    /// calls, and the user is told of one that it made without asking.
    async fn bridge(&self) -> Option<Bridge> {
        None
    }

    /// Returns how the agent's commands reach the run that called it; by default they do not, and open the
    /// files of the plan.
    fn access(&self) -> Option<RunAccess> {
        None
    }

    /// Reports something; never waits.
    fn emit(&self, event: AgentEvent);

    /// Reports something that came with the agent's final event, or after it:
    /// it is part of the call's result, so nothing has to be done about it any
    /// more. By default it is reported like the rest.
    fn emit_last(&self, event: AgentEvent) {
        self.emit(event);
    }

    /// Reports a process that sweeps the agent's processes when Samuel dies:
    /// its id and its start time as the system counts it. It is written down
    /// before the call returns, so that a successor can wait for it.
    async fn supervised_by(&self, pid: u32, start_time: u64);

    /// Reports that processes of the agent may still be there, although the call is over: those
    /// that are known. By default nothing is done about it.
    async fn left_behind(&self, _left: Vec<Process>) {}

    /// Reports that the agent ended by itself and left processes running, which were ended then. By
    /// default nothing is done about it.
    async fn left_running(&self, _left: LeftRunning) {}

    /// Reports why output of the agent is not kept in its log. By default nothing is done about it.
    async fn log_lost(&self, _problem: String) {}

    /// Asks whether a tool call that the adapter can prevent may be made.
    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision;

    /// Reports how such a call ended and waits for the handlers. Returns what they said for the
    /// model, framed with who said it, where [`takes_text`](AbilityResult::takes_text) is set; else
    /// that waits for the next prompt, and nothing is returned.
    async fn after_ability(&self, result: AbilityResult) -> Vec<String>;
}

/// The files of one directory that keep the output of the agent of one call, with mode 0600. The prompt is kept next to
/// them.
#[derive(Clone, Debug)]
pub struct CallLogs {
    /// For its standard output.
    pub out: PathBuf,
    /// For its standard error.
    pub err: PathBuf,
    /// The project. The files are not written if a link on their path leads out of it.
    pub root: Root,
    /// The values that the files do not have.
    pub secrets: Arc<Secrets>,
}

impl CallLogs {
    /// Names the files of a second call next to those of the first: `1-2.again.out` next to `1-2.out`.
    #[doc(hidden)]
    pub fn of_second_call(&self) -> Self {
        let beside = |path: &Path| {
            let end = path.extension().unwrap_or_default().to_string_lossy();
            path.with_extension(format!("again.{end}"))
        };
        Self { out: beside(&self.out), err: beside(&self.err), ..self.clone() }
    }

    /// Copies the output of a command to the files, if their directory can be opened.
    #[doc(hidden)]
    pub fn keep(&self, spec: CommandSpec) -> CommandSpec {
        match self.root.parent_of(&self.out) {
            Ok(directory) => spec
                .spill(Spill::Always { stdout: self.out.clone(), stderr: self.err.clone() })
                .spill_directory(directory)
                .spill_filter(hiding(&self.secrets)),
            Err(_) => spec,
        }
    }

    /// Writes the output of an agent that is no command.
    ///
    /// # Errors
    /// Fails if a link leads out of the project, or a file cannot be created or written.
    #[doc(hidden)]
    pub fn write(&self, out: &str, err: &str) -> io::Result<()> {
        let directory = self.root.parent_of(&self.out)?;
        for (path, text) in [(&self.out, out), (&self.err, err)] {
            let text = self.secrets.hide_values(text);
            create_private(Some(directory.as_fd()), path)?.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

#[async_trait]
impl AgentPort for Call<points::AgentInvoke> {
    fn logs(&self) -> Option<CallLogs> {
        self.port()?.logs()
    }

    async fn bridge(&self) -> Option<Bridge> {
        self.port()?.bridge().await
    }

    fn access(&self) -> Option<RunAccess> {
        self.port()?.access()
    }

    fn emit(&self, event: AgentEvent) {
        if let Some(port) = self.port() {
            port.emit(event);
        }
    }

    fn emit_last(&self, event: AgentEvent) {
        if let Some(port) = self.port() {
            port.emit_last(event);
        }
    }

    async fn supervised_by(&self, pid: u32, start_time: u64) {
        if let Some(port) = self.port() {
            port.supervised_by(pid, start_time).await;
        }
    }

    async fn left_behind(&self, left: Vec<Process>) {
        if let Some(port) = self.port() {
            port.left_behind(left).await;
        }
    }

    async fn left_running(&self, left: LeftRunning) {
        if let Some(port) = self.port() {
            port.left_running(left).await;
        }
    }

    async fn log_lost(&self, problem: String) {
        if let Some(port) = self.port() {
            port.log_lost(problem).await;
        }
    }

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        match self.port() {
            Some(port) => port.before_ability(call).await,
            None => AbilityDecision::Allow { input: call.input },
        }
    }

    async fn after_ability(&self, result: AbilityResult) -> Vec<String> {
        match self.port() {
            Some(port) => port.after_ability(result).await,
            None => Vec::new(),
        }
    }
}
