//! How a command of a hook ended.

use std::time::Duration;

use crate::{
    hook::{BreakClass, HookFailure},
    process::{Captured, CommandOutput, End, ExitStatus},
    text::{last_line, limit},
};

/// How many lines of standard error go into a failure.
const SHOWN_LINES: usize = 10;

/// A command that was started and has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScriptOutput {
    /// What it wrote to standard output, of one that was ended too.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// How its process ended.
    pub status: ExitStatus,
    /// Why it ended.
    pub end: End,
    /// From the call to its end.
    pub duration: Duration,
    /// What it left running and was ended with it, in words: `1 process running, which was ended:
    /// 17 (sleep)`.
    pub left_running: Option<String>,
    /// How long it might have taken.
    limit: Duration,
    /// Why the program of a shell's line could not be run, where that is known.
    problem: Option<String>,
}

impl ScriptOutput {
    pub(super) fn new(output: CommandOutput, limit: Duration, problem: Option<String>) -> Self {
        let CommandOutput { stdout, stderr, status, end, duration, left_running, .. } = output;
        let left_running = left_running.map(|left| left.to_string());
        Self { stdout, stderr, status, end, duration, left_running, limit, problem }
    }

    /// Says why the command has not done its work: it did not exit with 0. Its class is `timeout`,
    /// `cancelled`, `signaled`, `spawn` for a shell's line whose one program could not be run, else `failed`.
    pub fn failure(&self) -> Option<HookFailure> {
        let stderr = self.stderr.text();
        let (class, message) = match (self.end, self.status) {
            (End::TimedOut, _) => (BreakClass::Timeout, format!("no answer within {}", limit(self.limit))),
            (End::Cancelled, _) => (BreakClass::Cancelled, "the run was cancelled".to_owned()),
            (_, ExitStatus::Exited(0)) => return None,
            (_, ExitStatus::Exited(code)) => match &self.problem {
                Some(problem) => (BreakClass::Spawn, problem.clone()),
                None => {
                    (BreakClass::Failed, last_line(&stderr).unwrap_or_else(|| format!("exit code {code}")))
                }
            },
            (_, ExitStatus::Signaled(signal)) => (BreakClass::Signaled, format!("ended by signal {signal}")),
        };
        let mut failure = HookFailure::new(class, message);
        failure.details.push(self.status.to_string());
        let lines: Vec<&str> = stderr.lines().collect();
        let last = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default();
        failure.details.extend(last.iter().map(|line| (*line).to_owned()));
        Some(failure)
    }

    /// Says how the command ended, in a few words: `exit code 1`, `ended by signal 9`,
    /// `timed out after 30s`, `cancelled`.
    pub fn status_line(&self) -> String {
        match (self.end, self.status) {
            (End::TimedOut, _) => format!("timed out after {}", limit(self.limit)),
            (End::Cancelled, _) => "cancelled".to_owned(),
            (_, ExitStatus::Exited(code)) => format!("exit code {code}"),
            (_, ExitStatus::Signaled(signal)) => format!("ended by signal {signal}"),
        }
    }
}
