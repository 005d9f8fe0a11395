//! What can go wrong with stored state.
//!
//! [`StateError`] has one case for each thing a caller may want to tell apart;
//! the code, the exit code and the advice that go with it come from the table
//! in [`ErrorCode`].

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
    /// There is a plan already, and the caller did not ask to replace it.
    #[error("there is a plan at {} already", path.display())]
    Exists {
        /// Where the plan is.
        path: PathBuf,
    },
    /// A file is there and cannot be understood.
    #[error("{} is corrupt: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// The column in characters, from 1, where it is known.
        column: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// A file was written in a version this one does not read.
    #[error("{} has the {what} \"{found}\", which this version of Samuel does not read", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// What has a version: `toon version` or `plan version`.
        what: &'static str,
        /// The version as it stands in the file.
        found: String,
    },
    /// The file system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else changes the state, and did so for too long.
    #[error("{} is still held by {} after {} s", path.display(), by(holder), waited.as_secs_f32())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, where the file says so.
        holder: Option<Box<Holder>>,
        /// How long the caller waited.
        waited: Duration,
    },
    /// A loop is running on this run directory.
    #[error("{}", loop_running(path, holder))]
    LoopRunning {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, where the file says so.
        holder: Option<Box<Holder>>,
    },
    /// A change was meant for a plan that another one has replaced.
    #[error("the plan at {} has been replaced since", path.display())]
    Replaced {
        /// Where the plan is.
        path: PathBuf,
    },
    /// No plan is kept under this number, or none at all.
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
        /// The ids of the plan that are most like it, at most three, the likest first.
        nearest: Vec<TaskId>,
    },
    /// A task is not what it was when a change of it was made out.
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
    /// A task breaks a rule for ids, titles or commits.
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
    /// A new task would close a circle of dependencies.
    #[error("task {id} would depend on itself: {}", arrows(path))]
    Cycle {
        /// The new task's id.
        id: TaskId,
        /// The circle; it starts and ends with the same task.
        path: Vec<TaskId>,
    },
    /// A new task would be a part of itself.
    #[error("task {id} would be a part of itself: {}", arrows(path))]
    PartOfItself {
        /// The new task's id.
        id: TaskId,
        /// From the task to its parent and on, back to the task.
        path: Vec<TaskId>,
    },
    /// A task stands where it cannot be started from.
    #[error("task {id} is {status} and cannot be started")]
    NotStartable {
        /// The task's id.
        id: TaskId,
        /// Where it stands.
        status: Status,
    },
    /// A question or an answer breaks a rule.
    #[error("nothing is stored with task {id}")]
    QuestionInvalid {
        /// The task's id.
        id: TaskId,
        /// The rule.
        source: InvalidQuestion,
    },
    /// A task stands where nothing can be asked about it.
    #[error("task {id} is {status}, so nothing is asked about it")]
    NotAskable {
        /// The task's id.
        id: TaskId,
        /// Where it stands.
        status: Status,
    },
    /// The last question about a task was answered, and its agent was not given the answer yet.
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
    /// Somebody answered the question about a task before.
    #[error("no question about task {id} is open: somebody answered it already")]
    AnsweredBefore {
        /// The task's id.
        id: TaskId,
    },
    /// A task or role is claimed, by somebody else or in another way than the change takes.
    #[error("{} is claimed by {} since {since}", of.named(), by_worker(worker))]
    Claimed {
        /// The task or role.
        of: ClaimTarget,
        /// Who works on it, where somebody does.
        worker: Option<String>,
        /// Since when.
        since: Timestamp,
    },
    /// A claim is not, or no more, what a change names.
    #[error("the claim {token} of {} is void: {}", of.named(), now_claimed(now))]
    ClaimVoid {
        /// The task or role.
        of: ClaimTarget,
        /// The token that was named.
        token: u64,
        /// The token of the present claim, where there is one.
        now: Option<u64>,
    },
    /// A claim is further, or less far, than a change takes.
    #[error("the claim of {} is {phase}, and this cannot be done to it", of.named())]
    ClaimPhase {
        /// The task or role.
        of: ClaimTarget,
        /// How far the claim is.
        phase: ClaimPhase,
    },
    /// Something is wanted of work in the merge queue that is not there.
    #[error("the work on task {id} is not in the merge queue")]
    NotInQueue {
        /// The task.
        id: TaskId,
    },
    /// A task or role is to be released that nobody has.
    #[error("{} is claimed by nobody", of.named())]
    NotClaimed {
        /// The task or role.
        of: ClaimTarget,
    },
    /// A task is being landed: whether its work is on the branch already is not known.
    #[error("task {id} is being landed")]
    Landing {
        /// The task's id.
        id: TaskId,
    },
    /// A task is to be claimed that waits for another one.
    #[error("task {id} waits for {waits_for} and cannot be claimed")]
    NotReady {
        /// The task's id.
        id: TaskId,
        /// What it waits for.
        waits_for: TaskId,
    },
    /// A discovery iteration is under way, and adds no more tasks than it may.
    #[error("{}", full(*added, *room))]
    DiscoveryFull {
        /// How many tasks were to be added.
        added: usize,
        /// How many may still be.
        room: u32,
    },
    /// A group stands where its parts say, and nowhere else.
    #[error("task {id} is a group, which {}", follows(*status, open))]
    IsGroup {
        /// The group's id.
        id: TaskId,
        /// Where it stands.
        status: Status,
        /// Its own parts that are neither completed nor skipped.
        open: Vec<TaskId>,
    },
    /// A task cannot be removed while others need it.
    #[error("task {id} cannot be removed: {}", users(dependents, parts))]
    TaskInUse {
        /// The task's id.
        id: TaskId,
        /// The tasks that depend on it.
        dependents: Vec<TaskId>,
        /// The tasks that are a part of it.
        parts: Vec<TaskId>,
    },
    /// A task cannot be moved beside or below itself.
    #[error("task {id} cannot be moved to {to}, which is the same task or a part of it")]
    MovedIntoItself {
        /// The task's id.
        id: TaskId,
        /// Where it was to go.
        to: TaskId,
    },
    /// A change cannot be taken back.
    #[error("{}{why}", not_undone(change))]
    NotUndone {
        /// The change that was asked for.
        change: Option<u64>,
        /// Why it cannot.
        why: NotUndone,
    },
    /// An agent asks for a change that is not an agent's to make.
    #[error("\"{what}\" is no change that an agent makes")]
    NotForAgents {
        /// The word for the change.
        what: &'static str,
    },
    /// An agent asks to open a task that no agent blocked.
    #[error("task {id} was blocked by somebody else, and no agent may complete, skip or reset it")]
    BlockedByOther {
        /// The task.
        id: TaskId,
    },
    /// Something is larger than a file of the run directory may hold.
    #[error("{what} has {bytes} bytes; at most {max} can be stored")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        max: u64,
    },
    /// Who keeps the plan for others refused, or could not be asked.
    #[error(transparent)]
    Told(Box<ToldError>),
    /// The log that keeps the plan, a record or a mirror of it is to blame.
    #[error(transparent)]
    Log(Box<LogError>),
    /// State could not be turned into text; a fault in Samuel.
    #[error("cannot encode {what}: {reason}")]
    Encode {
        /// What was to be encoded.
        what: &'static str,
        /// What the encoder says.
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

    /// Makes a [`StateError::TaskNotFound`] with the ids of the plan that are like it.
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

    /// Makes an [`StateError::Io`] of why a file is not read or written.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(FileError) -> Self {
        let path = path.into();
        move |error| Self::Io { action, path, source: error.into() }
    }

    /// Returns whether a file or a directory is not there.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::NotInitialised { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Returns whether a file is missing or unusable, so that restoring it helps. Other errors of the system, such as too
    /// many open files, pass by themselves.
    #[doc(hidden)]
    pub fn is_lost(&self) -> bool {
        use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
        match self {
            Self::NotInitialised { .. } | Self::Corrupt { .. } | Self::Version { .. } => true,
            Self::Io { source, .. } => {
                let is_samuels = source.get_ref().is_some_and(|error| error.is::<FileError>());
                is_samuels
                    || matches!(source.kind(), NotFound | PermissionDenied | NotADirectory | IsADirectory)
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

/// Returns what to do about a file, with the path of what is to be removed where that is not the file
/// itself.
fn file_help(source: &io::Error) -> Option<Remedy> {
    let named = match source.get_ref().and_then(|error| error.downcast_ref::<FileError>()) {
        Some(FileError::Outside { link, .. }) => {
            let link = link.display();
            Some(format!("Remove the link \"{link}\", or put what it leads to into the project."))
        }
        Some(FileError::NotADirectory { path, .. }) => {
            Some(format!("Remove \"{}\", or restore what belongs there.", path.display()))
        }
        _ => None,
    };
    named.map(Remedy::from).or_else(|| FileError::help_of(source).map(Remedy::from))
}

/// Names the change that is not taken back.
fn not_undone(change: &Option<u64>) -> String {
    change.map(|change| format!("change {change} cannot be taken back: ")).unwrap_or_default()
}

/// Names who has a claim.
fn by_worker(worker: &Option<String>) -> &str {
    worker.as_deref().unwrap_or("nobody who is still there")
}

/// Says what became of a claim.
fn now_claimed(now: &Option<u64>) -> String {
    match now {
        Some(now) => format!("claim {now} has taken its place"),
        None => "nobody has it any more".to_owned(),
    }
}

/// Says that a discovery adds no more.
fn full(added: usize, room: u32) -> String {
    let more = match room {
        0 => "it has added as many tasks as it may".to_owned(),
        _ => format!("it may add {} more, and not {added}", counted(room, "task")),
    };
    format!("a discovery iteration is under way, and {more}")
}

/// Says who needs a task.
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

/// Says where a group stands, and why.
fn follows(status: Status, open: &[TaskId]) -> String {
    if open.is_empty() {
        return format!("is {status} because its parts are completed or skipped");
    }
    format!("is completed once its parts are; open: {}", named(open))
}

/// Lists tasks, the first of them one by one.
fn named(ids: &[TaskId]) -> String {
    names(ids, MAX_NAMED)
}

/// Says that a plan is not kept.
fn no_kept_plan(number: &Option<u64>) -> String {
    match number {
        Some(number) => format!("no kept plan has the number {number}"),
        None => "no other plan of this project is kept".to_owned(),
    }
}

/// Says that a loop is running, or that something else holds what a loop holds.
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

/// Names a holder, also one that did not say who it is.
fn by(holder: &Option<Box<Holder>>) -> &dyn fmt::Display {
    match holder {
        Some(holder) => holder,
        None => &"an unnamed process",
    }
}

/// Writes a path through the dependencies.
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
    }

    #[test]
    fn what_is_to_be_removed_above_a_file_is_named() {
        let help = |error| StateError::file("read", "/p/.samuel/run/prd.toon")(error).help().prose();
        let (path, kind) = (PathBuf::from("/p/.samuel"), samuel_fs::PathKind::File);
        assert_eq!(
            help(FileError::Outside { link: path.clone(), target: "/x".into() }),
            "Remove the link \"/p/.samuel\", or put what it leads to into the project."
        );
        assert_eq!(
            help(FileError::NotADirectory { path, kind }),
            "Remove \"/p/.samuel\", or restore what belongs there."
        );
        assert_eq!(help(FileError::NotAFile { kind }), "Remove it, or restore what belongs there.");
    }
}
