//! Errors of stored state.
//!
//! [`StateError`] has one variant for each case that a caller may want to
//! distinguish. The code, the exit code and the help of a variant come from the
//! table in [`ErrorCode`].

use std::{
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;

use super::{Holder, LogError, NotUndone, ToldError};
use samuel_fs::FileError;
use samuel_model::{
    Claim, ClaimPhase, ClaimTarget, Coded, ErrorCode, InvalidQuestion, InvalidTask, Location, Plan, Remedy,
    Status, TaskId, did_you_mean,
    text::{counted, names},
};

/// An error of the state module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// There is no plan yet.
    #[error("there is no plan at {}", path.display())]
    NotInitialised {
        /// Where the plan would be.
        path: PathBuf,
    },
    /// A plan already exists, and the caller did not ask to replace it.
    #[error("there is a plan at {} already", path.display())]
    Exists {
        /// Where the plan is.
        path: PathBuf,
    },
    /// A file exists, but cannot be parsed.
    #[error("{} is corrupt: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line, from 1, if it is known.
        line: Option<usize>,
        /// The column in characters, from 1, if it is known.
        column: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// A file was written in a version that this version of Samuel does not read.
    #[error("{} has the {what} \"{found}\", which this version of Samuel does not read", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The kind of version: `toon version` or `plan version`.
        what: &'static str,
        /// The version that the file names.
        found: String,
    },
    /// The file system returned an error.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The attempted action, such as `write`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process changes the state, and held the lock for too long.
    #[error("{} is still held by {} after {} s", path.display(), by(holder), waited.as_secs_f32())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The holder of the lock, if the file names it.
        holder: Option<Box<Holder>>,
        /// How long the caller waited.
        waited: Duration,
    },
    /// A loop is running on this run directory.
    #[error("{}", loop_running(path, holder))]
    LoopRunning {
        /// The lock file.
        path: PathBuf,
        /// The holder of the lock, if the file names it.
        holder: Option<Box<Holder>>,
    },
    /// A change was made for a plan that has been replaced by another one.
    #[error("the plan at {} has been replaced since", path.display())]
    Replaced {
        /// Where the plan is.
        path: PathBuf,
    },
    /// No backup of a plan has this number, or there is no backup.
    #[error("{}", no_kept_plan(number))]
    NotKept {
        /// The number that was asked for.
        number: Option<u64>,
    },
    /// No task has this id.
    #[error("there is no task {id}")]
    TaskNotFound {
        /// The id that was asked for.
        id: TaskId,
        /// The most similar ids of the plan, at most three, the most similar first.
        nearest: Vec<TaskId>,
    },
    /// A task was changed after a change of it was prepared.
    #[error("task {id} was changed meanwhile")]
    TaskChanged {
        /// The task's id.
        id: TaskId,
    },
    /// Another task has this id.
    #[error("task {id} exists already")]
    TaskExists {
        /// The id that is taken.
        id: TaskId,
    },
    /// A task violates a rule for ids, titles or commits.
    #[error("task {id} cannot be stored")]
    TaskInvalid {
        /// The task's id.
        id: TaskId,
        /// The rule.
        source: InvalidTask,
    },
    /// A new task would depend on a task that does not exist.
    #[error("task {id} depends on {dependency}, which does not exist")]
    UnknownDependency {
        /// The new task's id.
        id: TaskId,
        /// The id that is missing.
        dependency: TaskId,
    },
    /// A new task would create a cycle of dependencies.
    #[error("task {id} would depend on itself: {}", arrows(path))]
    Cycle {
        /// The new task's id.
        id: TaskId,
        /// The cycle. It starts and ends with the same task.
        path: Vec<TaskId>,
    },
    /// A new task would be a subtask of itself.
    #[error("task {id} would be a part of itself: {}", arrows(path))]
    PartOfItself {
        /// The new task's id.
        id: TaskId,
        /// The path from the task through its ancestors back to the task.
        path: Vec<TaskId>,
    },
    /// A task has a status from which it cannot be started.
    #[error("task {id} is {status} and cannot be started")]
    NotStartable {
        /// The task's id.
        id: TaskId,
        /// The task's status.
        status: Status,
    },
    /// A question or an answer violates a rule.
    #[error("nothing is stored with task {id}")]
    QuestionInvalid {
        /// The task's id.
        id: TaskId,
        /// The rule.
        source: InvalidQuestion,
    },
    /// A task has a status in which no question about it can be asked.
    #[error("task {id} is {status}, so nothing is asked about it")]
    NotAskable {
        /// The task's id.
        id: TaskId,
        /// The task's status.
        status: Status,
    },
    /// The last question about a task was answered, but its agent has not received the answer yet.
    #[error("task {id} has an answer that its agent was not given yet")]
    AnswerWaits {
        /// The task's id.
        id: TaskId,
    },
    /// No question about a task is open.
    #[error("no question about task {id} is open")]
    NoQuestion {
        /// The task's id.
        id: TaskId,
    },
    /// The question about a task was answered before.
    #[error("no question about task {id} is open: somebody answered it already")]
    AnsweredBefore {
        /// The task's id.
        id: TaskId,
    },
    /// A task or role is claimed by another worker, or in a way that the change does not accept.
    #[error("{} is claimed by {} since {since}", of.named(), by_worker(worker))]
    Claimed {
        /// The task or role.
        of: ClaimTarget,
        /// The worker, if there is one.
        worker: Option<String>,
        /// The time since when.
        since: Timestamp,
    },
    /// A change names a stale token: the token is not, or no longer, that of the claim.
    #[error("the claim {token} of {} is void: {}", of.named(), now_claimed(now))]
    ClaimVoid {
        /// The task or role.
        of: ClaimTarget,
        /// The token that the change names.
        token: u64,
        /// The token of the current claim, if there is one.
        now: Option<u64>,
    },
    /// A claim is in an earlier or later phase than the change requires.
    #[error("the claim of {} is {phase}, and this cannot be done to it", of.named())]
    ClaimPhase {
        /// The task or role.
        of: ClaimTarget,
        /// The phase of the claim.
        phase: ClaimPhase,
    },
    /// A request concerns work that is not in the merge queue.
    #[error("the work on task {id} is not in the merge queue")]
    NotInQueue {
        /// The task.
        id: TaskId,
    },
    /// A task or role cannot be released, because no worker has claimed it.
    #[error("{} is claimed by nobody", of.named())]
    NotClaimed {
        /// The task or role.
        of: ClaimTarget,
    },
    /// A task is being merged. It is not known whether its work is on the branch already.
    #[error("task {id} is being landed")]
    Landing {
        /// The task's id.
        id: TaskId,
    },
    /// A task cannot be claimed, because it waits for another task.
    #[error("task {id} waits for {waits_for} and cannot be claimed")]
    NotReady {
        /// The task's id.
        id: TaskId,
        /// The task that it waits for.
        waits_for: TaskId,
    },
    /// A discovery iteration is in progress and would add more tasks than it may.
    #[error("{}", full(*added, *room))]
    DiscoveryFull {
        /// The number of tasks that were to be added.
        added: usize,
        /// The number of tasks that may still be added.
        room: u32,
    },
    /// A parent task cannot be claimed, or given another status than the one that follows from its subtasks.
    #[error("task {id} is a group, which {}", follows(*status, open))]
    IsGroup {
        /// The parent task's id.
        id: TaskId,
        /// The parent task's status.
        status: Status,
        /// Its direct subtasks that are neither completed nor skipped.
        open: Vec<TaskId>,
    },
    /// A task cannot be removed while other tasks need it.
    #[error("task {id} cannot be removed: {}", users(dependents, parts))]
    TaskInUse {
        /// The task's id.
        id: TaskId,
        /// The tasks that depend on it.
        dependents: Vec<TaskId>,
        /// Its subtasks.
        parts: Vec<TaskId>,
    },
    /// A task cannot be moved next to itself or below itself.
    #[error("task {id} cannot be moved to {to}, which is the same task or a part of it")]
    MovedIntoItself {
        /// The task's id.
        id: TaskId,
        /// The task that it was to be moved to.
        to: TaskId,
    },
    /// A change cannot be undone.
    #[error("{}{why}", not_undone(change))]
    NotUndone {
        /// The change that was asked for.
        change: Option<u64>,
        /// Why it cannot be undone.
        why: NotUndone,
    },
    /// An agent requested a change that agents may not make.
    #[error("\"{what}\" is no change that an agent makes")]
    NotForAgents {
        /// The name of the change.
        what: &'static str,
    },
    /// An agent tried to complete, skip or reset a task that was not blocked by an agent.
    #[error("task {id} was blocked by somebody else, and no agent may complete, skip or reset it")]
    BlockedByOther {
        /// The task.
        id: TaskId,
    },
    /// An item is larger than a file of the run directory may hold.
    #[error("{what} has {bytes} bytes; at most {max} can be stored")]
    TooLarge {
        /// The item.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The maximum size.
        max: u64,
    },
    /// The process that keeps the plan for others returned an error, or could not be reached.
    #[error(transparent)]
    Told(Box<ToldError>),
    /// The log that keeps the plan failed, or a record or a mirror of the log.
    #[error(transparent)]
    Log(Box<LogError>),
    /// State could not be encoded as text, which is a bug in Samuel.
    #[error("cannot encode {what}: {reason}")]
    Encode {
        /// The state that was to be encoded.
        what: &'static str,
        /// The error of the encoder.
        reason: String,
    },
}

impl StateError {
    /// Returns [`StateError::Claimed`] for the claim of another worker.
    #[doc(hidden)]
    pub fn claimed(claim: &Claim) -> Self {
        Self::Claimed { of: claim.task.clone(), worker: claim.worker.clone(), since: claim.since }
    }

    /// Returns [`StateError::Log`] for an error of the log.
    #[doc(hidden)]
    pub fn log(error: LogError) -> Self {
        Self::Log(Box::new(error))
    }

    /// Returns a [`StateError::TaskNotFound`] with the similar ids of the plan.
    pub fn no_task(plan: &Plan, id: &TaskId) -> Self {
        Self::TaskNotFound { id: id.clone(), nearest: plan.nearest_ids(id) }
    }

    /// Returns a function that turns an error of the system into [`StateError::Io`]. `action` is a verb for the message,
    /// such as `write`.
    #[doc(hidden)]
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Returns a function that turns an error of reading or writing a file into [`StateError::Io`].
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(FileError) -> Self {
        let path = path.into();
        move |error| Self::Io { action, path, source: error.into() }
    }

    /// Returns whether a file or a directory is missing.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::NotInitialised { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Returns whether a file is missing or unusable, so that restoring it helps. Other errors of the system, such as
    /// too many open files, resolve themselves.
    #[doc(hidden)]
    pub fn is_lost(&self) -> bool {
        use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
        match self {
            Self::NotInitialised { .. } | Self::Corrupt { .. } | Self::Version { .. } => true,
            Self::Io { source, .. } => {
                match source.get_ref().and_then(|error| error.downcast_ref::<FileError>()) {
                    Some(error) => !matches!(error, FileError::OtherRoot { .. }),
                    None => {
                        matches!(source.kind(), NotFound | PermissionDenied | NotADirectory | IsADirectory)
                    }
                }
            }
            _ => false,
        }
    }
}

impl Coded for StateError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotInitialised { .. } => ErrorCode::STATE_NOT_INITIALISED,
            Self::Exists { .. } => ErrorCode::STATE_EXISTS,
            Self::Corrupt { .. } => ErrorCode::STATE_CORRUPT,
            Self::Version { .. } => ErrorCode::STATE_VERSION,
            Self::Io { .. } => ErrorCode::STATE_IO,
            Self::Locked { .. } => ErrorCode::STATE_LOCKED,
            Self::LoopRunning { .. } => ErrorCode::STATE_LOOP_RUNNING,
            Self::Replaced { .. } => ErrorCode::STATE_REPLACED,
            Self::TaskChanged { .. } => ErrorCode::TASK_CHANGED,
            Self::NotKept { .. } => ErrorCode::STATE_NOT_KEPT,
            Self::TaskNotFound { .. } => ErrorCode::TASK_NOT_FOUND,
            Self::TaskExists { .. } => ErrorCode::TASK_EXISTS,
            Self::IsGroup { .. } => ErrorCode::TASK_GROUP,
            Self::TaskInUse { .. } => ErrorCode::TASK_IN_USE,
            Self::NotForAgents { .. } | Self::BlockedByOther { .. } => ErrorCode::TASK_DENIED,
            Self::NotUndone { why: NotUndone::NothingKept | NotUndone::Unknown, .. } => {
                ErrorCode::TASK_UNDO_NOT_KEPT
            }
            Self::NotUndone { .. } => ErrorCode::TASK_NOT_UNDONE,
            Self::DiscoveryFull { .. } => ErrorCode::DISCOVERY_FULL,
            Self::QuestionInvalid { .. } => ErrorCode::QUESTION_INVALID,
            Self::NotAskable { .. } | Self::AnswerWaits { .. } => ErrorCode::QUESTION_REFUSED,
            Self::NoQuestion { .. } | Self::AnsweredBefore { .. } => ErrorCode::QUESTION_NOT_OPEN,
            Self::Claimed { .. } => ErrorCode::TASK_CLAIMED,
            Self::Landing { .. } => ErrorCode::TASK_LANDING,
            Self::ClaimVoid { .. }
            | Self::ClaimPhase { .. }
            | Self::NotInQueue { .. }
            | Self::NotClaimed { .. } => ErrorCode::CLAIM_VOID,
            Self::TaskInvalid { .. }
            | Self::UnknownDependency { .. }
            | Self::Cycle { .. }
            | Self::PartOfItself { .. }
            | Self::NotStartable { .. }
            | Self::NotReady { .. }
            | Self::MovedIntoItself { .. }
            | Self::TooLarge { .. } => ErrorCode::TASK_INVALID,
            Self::Told(told) => told.code,
            Self::Log(error) => error.code(),
            Self::Encode { .. } => ErrorCode::INTERNAL,
        }
    }

    fn help(&self) -> Remedy {
        let general = self.code().help.clone();
        match self {
            Self::Io { source, .. } => file_help(source).unwrap_or(general),
            Self::Told(told) => told.help.clone(),
            Self::BlockedByOther { .. } => Remedy::from("Leave it, or ask the person who started the run."),
            Self::NotInQueue { .. } => Remedy::ListQueue,
            Self::NotClaimed { .. } => Remedy::from("There is nothing to give back."),
            Self::NotUndone { why, .. } => match why {
                NotUndone::NoneMade => Remedy::NameChange,
                NotUndone::Unknown => general.after(Remedy::NameChange),
                NotUndone::LoopsOwn { .. } => Remedy::from("Make the change that you want."),
                NotUndone::Already { by } => {
                    Remedy::from(format!("To have it again, take change {by} back."))
                }
                NotUndone::NothingKept | NotUndone::Since { .. } => general,
            },
            Self::TaskNotFound { nearest, .. } => match did_you_mean(nearest) {
                Some(asked) => general.after(asked),
                None => general,
            },
            _ => general,
        }
    }

    fn location(&self) -> Option<Location> {
        let (path, line, column) = match self {
            Self::Told(told) => return told.location.clone(),
            Self::Log(error) => return error.location(),
            Self::Corrupt { path, line, column, .. } => (path, *line, *column),
            Self::Version { path, .. } => (path, Some(1), None),
            Self::NotInitialised { path }
            | Self::Exists { path }
            | Self::Io { path, .. }
            | Self::Locked { path, .. }
            | Self::Replaced { path }
            | Self::LoopRunning { path, .. } => (path, None, None),
            _ => return None,
        };
        Some(Location { file: path.clone(), line, column })
    }
}

/// Returns the help for an error of a file. If another path than the file must be removed, the help names
/// that path.
fn file_help(source: &io::Error) -> Option<Remedy> {
    let named = match source.get_ref().and_then(|error| error.downcast_ref::<FileError>()) {
        Some(FileError::Outside { link, .. }) => {
            let link = link.display();
            Some(format!("Remove the link \"{link}\", or put what it leads to into the project."))
        }
        Some(FileError::LinkLoop { link }) => Some(format!("Remove the link \"{}\".", link.display())),
        Some(FileError::NotADirectory { path, .. }) => {
            Some(format!("Remove \"{}\", or restore what belongs there.", path.display()))
        }
        Some(FileError::OtherRoot { root }) => Some(format!(
            "Move the original directory back to \"{}\", then start the run again.",
            root.display()
        )),
        _ => None,
    };
    named.map(Remedy::from).or_else(|| FileError::help_of(source).map(Remedy::from))
}

/// Returns the start of the message that names the change.
fn not_undone(change: &Option<u64>) -> String {
    change.map(|change| format!("change {change} cannot be taken back: ")).unwrap_or_default()
}

/// Returns the name of the worker that has a claim.
fn by_worker(worker: &Option<String>) -> &str {
    worker.as_deref().unwrap_or("nobody who is still there")
}

/// Returns why a claim is stale.
fn now_claimed(now: &Option<u64>) -> String {
    match now {
        Some(now) => format!("claim {now} has taken its place"),
        None => "nobody has it any more".to_owned(),
    }
}

/// Returns the message of a discovery iteration that cannot add the tasks.
fn full(added: usize, room: u32) -> String {
    let more = match room {
        0 => "it has added as many tasks as it may".to_owned(),
        _ => format!("it may add {} more, and not {added}", counted(room, "task")),
    };
    format!("a discovery iteration is under way, and {more}")
}

/// Lists the tasks that need a task.
fn users(dependents: &[TaskId], parts: &[TaskId]) -> String {
    let verb = |ids: &[TaskId], one: &str, several: &str| match ids {
        [] => None,
        [id] => Some(format!("{id} {one}")),
        _ => Some(format!("{} {several}", named(ids))),
    };
    let dependents = verb(dependents, "depends on it", "depend on it");
    let parts = verb(parts, "is a part of it", "are parts of it");
    dependents.into_iter().chain(parts).collect::<Vec<_>>().join("; ")
}

/// How many tasks are named one by one.
const MAX_NAMED: usize = 10;

/// Returns the status of a parent task, and the reason.
fn follows(status: Status, open: &[TaskId]) -> String {
    if open.is_empty() {
        return format!("is {status} because its parts are completed or skipped");
    }
    format!("is completed once its parts are; open: {}", named(open))
}

/// Lists tasks. Names at most the first [`MAX_NAMED`] of them.
fn named(ids: &[TaskId]) -> String {
    names(ids, MAX_NAMED)
}

/// Returns the message that there is no such backup of a plan.
fn no_kept_plan(number: &Option<u64>) -> String {
    match number {
        Some(number) => format!("no kept plan has the number {number}"),
        None => "no other plan of this project is kept".to_owned(),
    }
}

/// Returns the message that a loop is running, or that another program holds the lock of a loop.
fn loop_running(path: &Path, holder: &Option<Box<Holder>>) -> String {
    let path = path.display();
    match holder {
        Some(holder) => format!("a loop is running: {holder} holds {path}"),
        None => format!(
            "a loop is running that {path} does not name, or another program (such as flock) holds a lock \
             on the root directory of the project"
        ),
    }
}

/// Returns the name of a holder, or a general name if it did not give its own.
fn by(holder: &Option<Box<Holder>>) -> &dyn fmt::Display {
    match holder {
        Some(holder) => holder,
        None => &"an unnamed process",
    }
}

/// Formats a path through the dependencies.
fn arrows(path: &[TaskId]) -> String {
    path.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" -> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_for_a_reason_of_its_own_is_not_lost() {
        let refused = |errno: rustix::io::Errno| StateError::io("read", "journal.jsonl")(errno.into());
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::IO, rustix::io::Errno::NOMEM] {
            assert!(!refused(errno).is_lost(), "{errno}");
        }
        for errno in [rustix::io::Errno::NOENT, rustix::io::Errno::ACCESS, rustix::io::Errno::ISDIR] {
            assert!(refused(errno).is_lost(), "{errno}");
        }
        assert!(StateError::file("read", "prd.toon")(FileError::TooLarge { limit: 1 }).is_lost());
        assert!(!StateError::file("read", "prd.toon")(FileError::OtherRoot { root: "/p".into() }).is_lost());
    }

    #[test]
    fn help_names_what_to_remove_above_a_file() {
        let help = |error| StateError::file("read", "/p/.samuel/run/prd.toon")(error).help().prose();
        let (path, kind) = (PathBuf::from("/p/.samuel"), samuel_fs::PathKind::File);
        assert_eq!(
            help(FileError::Outside { link: path.clone(), target: "/x".into() }),
            "Remove the link \"/p/.samuel\", or put what it leads to into the project."
        );
        assert_eq!(help(FileError::LinkLoop { link: path.clone() }), "Remove the link \"/p/.samuel\".");
        assert_eq!(
            help(FileError::NotADirectory { path, kind }),
            "Remove \"/p/.samuel\", or restore what belongs there."
        );
        assert_eq!(help(FileError::NotAFile { kind }), "Remove it, or restore what belongs there.");
    }
}
