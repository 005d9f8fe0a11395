//! Which process watches over a command, and waiting for those of a dead run.
//!
//! [`Supervisor`] names the program; its work is in `shim` and `sweep`.
//! [`SupervisorId`] is what a journal keeps, so that the next run can
//! [wait](wait_for_sweep) until the supervisors of a killed predecessor have
//! ended its processes.

use super::{Containment, Remains};
use serde::{Deserialize, Serialize};
use std::{ffi::OsString, io, path::PathBuf, process::ExitCode, time::Duration};

/// How long to look for what dead processes have left.
#[cfg(target_os = "linux")]
const REMAINS_LIMIT: Duration = Duration::from_secs(2);

/// The process between Samuel and a command that ends all its descendants.
///
/// The program must call [`supervisor_main`] and do nothing else, in other threads
/// neither: it becomes two processes there. It starts with nothing but the mark of
/// the command in its environment; what it prints goes nowhere, so an interpreter
/// that warns at its start does no harm. Outside Linux every value acts as
/// [`GroupOnly`](Self::GroupOnly).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Supervisor {
    /// The `samuel` program at this path, started as `samuel __supervise`.
    Helper(PathBuf),
    /// Any program that reaches [`supervisor_main`] with these arguments,
    /// usually the running one.
    SelfExec {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        args: Vec<OsString>,
    },
    /// No process in between; works on any Unix, and is weaker: a descendant
    /// that leaves the process group survives, everything survives when
    /// Samuel is killed by SIGKILL, the command can reach the terminal of
    /// Samuel through `/dev/tty` and inherits what whoever started Samuel left
    /// open, and of the processes that were left those of its group alone are
    /// counted, at most eight; outside Linux any number as one.
    #[default]
    GroupOnly,
}

impl Supervisor {
    /// The hidden subcommand under which the `samuel` program is a supervisor.
    pub const SUBCOMMAND: &str = "__supervise";

    /// Returns program and arguments to start, if there are any here.
    pub(super) fn command_line(&self) -> Option<(PathBuf, Vec<OsString>)> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        match self {
            Self::Helper(program) => Some((program.clone(), vec![Self::SUBCOMMAND.into()])),
            Self::SelfExec { program, args } => Some((program.clone(), args.clone())),
            Self::GroupOnly => None,
        }
    }
}

/// A supervisor process, told apart from a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SupervisorId {
    /// Its process id.
    pub pid: u32,
    /// When it started, in clock ticks since the machine booted.
    pub start_time: u64,
}

/// Supervises one command: the whole program behind [`Supervisor`].
///
/// It expects the control socket of [`run`](super::run) or
/// [`spawn`](super::spawn) as standard input and returns when the command and
/// all its descendants are gone, or at once with a code above zero if standard
/// input is something else. The caller returns the code from `main` and prints nothing.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     samuel_process::supervisor_main()
/// }
/// ```
pub fn supervisor_main() -> ExitCode {
    #[cfg(target_os = "linux")]
    return super::shim::main();
    #[cfg(not(target_os = "linux"))]
    return ExitCode::FAILURE;
}

/// Waits until these supervisors are gone, at most until `limit` has passed.
///
/// Returns those that are still there. A process that has taken over the pid
/// of one, with another start time, does not count, nor does one that is no
/// supervisor. Nor does the supervisor of another process that lives, unless that process is one of
/// `clients`: whoever noted it may have been told of anything. The supervisors need not be children
/// of this process.
pub async fn wait_for_sweep(
    ids: &[SupervisorId],
    clients: &[SupervisorId],
    limit: Duration,
) -> Vec<SupervisorId> {
    #[cfg(target_os = "linux")]
    {
        let deadline = tokio::time::Instant::now() + limit;
        let mut left = Vec::new();
        for id in ids {
            let is_there = super::proc_table::find_supervisor(*id, clients).is_some();
            if is_there && !super::proc_table::wait_until_gone(*id, deadline).await {
                left.push(*id);
            }
        }
        left
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (ids, clients, limit);
        Vec::new()
    }
}

/// Returns the identity of this process, by which its commands are marked.
///
/// A journal keeps it, so that [`sweep_remains`] finds them after its death. `None`
/// outside Linux.
pub fn this_process() -> Option<SupervisorId> {
    identify(std::process::id())
}

/// Ends what the commands of dead processes have left.
///
/// `clients` are processes that have run commands, as [`this_process`] named them;
/// one that is still alive is left alone with all it has. `supervisors` are those of
/// commands that nobody waits for any more: one that is at work has `limit`
/// to finish, one that is stopped or held is ended at once. Neither list needs to be
/// trusted: a process that carries no mark is left alone, and so is a supervisor of another
/// process that lives, which is waited for only if that process is one of `clients`. Then everything that
/// carries the mark of a dead client, or lives in its control groups, is ended here: of these
/// clients, and of any other of this user, for a note of it may have been lost. What this process
/// itself was started in is left alone. The call takes at most 2 s more than `limit`.
pub async fn sweep_remains(
    supervisors: &[SupervisorId],
    clients: &[SupervisorId],
    limit: Duration,
) -> Remains {
    #[cfg(target_os = "linux")]
    {
        use super::{proc_table, remains};
        let deadline = tokio::time::Instant::now() + limit;
        let ended = proc_table::end_stuck(supervisors, clients, deadline).await;
        let over = deadline.max(tokio::time::Instant::now());
        let dead: Vec<SupervisorId> =
            clients.iter().copied().filter(|client| proc_table::is_gone(*client)).collect();
        let traces = remains::Traces::of_dead(&dead).with_sessions(ended.iter().map(|id| id.pid));
        let limit = (deadline + REMAINS_LIMIT).duration_since(over);
        let swept = tokio::task::spawn_blocking(move || remains::sweep(&traces, limit));
        // Without a runtime any more nobody asks.
        swept.await.unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (supervisors, clients, limit);
        Remains::default()
    }
}

/// Tells what can hold the processes of a command on this machine, and why it
/// is not a control group.
///
/// It makes a control group and removes it again; nothing else is touched.
/// Without a [`Supervisor`] it is [`Containment::Group`] all the same.
pub fn strongest_containment() -> (Containment, Option<io::Error>) {
    #[cfg(target_os = "linux")]
    {
        let mark = this_process().map(|client| super::mark::Mark::new(client).to_string());
        match super::cgroup::probe(&mark.unwrap_or_default()) {
            Ok(()) => (Containment::Cgroup, None),
            Err(error) => (Containment::Mark, Some(error)),
        }
    }
    #[cfg(not(target_os = "linux"))]
    (Containment::Group, None)
}

/// Says whether a process is no more: there is none of its number, or one that began at another time. `false`
/// outside Linux, where nobody can tell.
pub fn is_gone(id: SupervisorId) -> bool {
    #[cfg(target_os = "linux")]
    return super::proc_table::is_gone(id);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = id;
        false
    }
}

/// Returns the identity of a supervisor that we have just started; always
/// `None` outside Linux, where there are none.
pub(super) fn identify(pid: u32) -> Option<SupervisorId> {
    #[cfg(target_os = "linux")]
    return super::proc_table::identify(pid);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pid;
        None
    }
}
