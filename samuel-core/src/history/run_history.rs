//! A run as its record tells of it.
//!
//! A [`RunHistory`] is made of the events by [`Fold`](super::fold::Fold); what no event told is not
//! in it.

use jiff::Timestamp;
use serde::Serialize;

use super::AgentShare;
use crate::{
    event::{CheckResult, Guard, IterationFailure, RunReport},
    model::{
        IterationOutcome, Status, TaskId, Usage,
        payload::{Actor, CheckFailure, Mode, Turn},
        words,
    },
};

words! {
    /// How a run stands, as far as its record and the loop's lock tell.
    RunState ("state of a run") {
        /// Its loop is at work.
        UnderWay = "under_way",
        /// It told that it ended.
        Ended = "ended",
        /// Its loop is gone, and it did not tell that it ended.
        CutOff = "cut_off",
    }
}

words! {
    /// What a run does.
    #[derive(Default)]
    RunKind ("kind of a run") {
        /// It works on tasks. The default, also where the beginning of its record cannot be read.
        #[default]
        Loop = "loop",
        /// It lands what lanes have submitted, without a loop.
        Landing = "landing",
    }
}

/// A run as its record tells of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunHistory {
    /// Its id.
    pub run: String,
    /// What it does.
    pub kind: RunKind,
    /// How it stands.
    pub state: RunState,
    /// When it began, as far as that is recorded.
    pub started_at: Option<Timestamp>,
    /// When the last event was told.
    pub last_at: Option<Timestamp>,
    /// How long it took up to the last event, in milliseconds.
    pub took_ms: u64,
    /// The run that it goes on from, where it goes on.
    pub goes_on_from: Option<String>,
    /// The agent.
    pub agent: String,
    /// Its model, where one is configured.
    pub model: Option<String>,
    /// The tasks that it is for, beside what they depend on; none where it is for all.
    pub tasks: Vec<TaskId>,
    /// What could end it.
    pub guards: Vec<Guard>,
    /// The commit that was checked out when it began, where there was one; with lanes the head of the branch that work
    /// lands on, as far as that is recorded, else what the first work began at.
    pub first_commit: Option<String>,
    /// The last commit that was seen; with lanes the last one that landed.
    pub last_commit: Option<String>,
    /// The work of lanes that landed, the first first; a task that was done again is there again. None without lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<LandedTask>,
    /// The branch with merged work that is not in what is checked out: its own, else the one that its end named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    /// The work of lanes that did not land, each as often as it came back, the first first. None without lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<ReturnedTask>,
    /// The work of lanes that somebody held back in the queue, and that nobody has let go of since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldBackTask>,
    /// The tasks that its agents found, as far as 1,000; in JSON a page has them among its tasks.
    #[serde(skip)]
    pub(super) found: Vec<FoundTask>,
    /// Who asked first that it ends: the user and the session, as `samuel` names them, or the signal, such as `SIGTERM`;
    /// nothing where nobody did, or the program that held it.
    pub ended_by: Option<String>,
    /// Its iterations, the first one first. One that was interrupted and ends here began in the run before: when, and what
    /// it was for, is told as far as that run's record is there.
    pub iterations: Vec<IterationHistory>,
    /// The checks that were made, the first one first.
    pub checks: Vec<CheckHistory>,
    /// The handlers that were called, by point and name.
    pub hooks: Vec<HookFigures>,
    /// The tasks that it completed and that were not taken back.
    pub completed: Vec<TaskId>,
    /// The completions that were taken back outside of an iteration, such as where a run goes on that was
    /// interrupted; each as often as that happened.
    pub taken_back_outside: Vec<TaskId>,
    /// What all calls of agents consumed, as far as they came to their end.
    pub usage: Usage,
    /// What of it each agent consumed.
    pub agents: Vec<AgentShare>,
    /// What was warned of, the first 500.
    pub warnings: Vec<HistoryNote>,
    /// How many warnings there were beyond these.
    pub more_warnings: u64,
    /// What came of it, where it told.
    pub report: Option<RunReport>,
    /// What of the record is missing.
    pub gaps: RecordGaps,
    /// The last event; nothing where none could be read.
    pub last: Option<EventRef>,
}

/// A task whose work landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LandedTask {
    /// The task.
    pub task: TaskId,
    /// The branch that it landed on.
    pub into: String,
    /// The commit with its work there.
    pub commit: String,
}

/// A task whose work did not land.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReturnedTask {
    /// The task.
    pub task: TaskId,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// Why, with the files in conflict or the failures.
    pub reason: String,
    /// The event.
    pub event: EventRef,
}

/// A task that an agent found which looked for tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundTask {
    pub(super) task: TaskId,
    pub(super) title: String,
    /// The iteration that looked.
    pub(super) iteration: u32,
}

/// A task whose work is not merged until somebody lets go of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldBackTask {
    /// The task.
    pub task: TaskId,
    /// Why, as far as whoever holds it said so.
    pub reason: Option<String>,
    /// Who holds it, as far as that is known.
    pub by: Actor,
    /// The event.
    pub event: EventRef,
}

/// An iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IterationHistory {
    /// The iteration, from 1.
    pub iteration: u32,
    /// The lane that it was of; nothing in a run without lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// What it was for; nothing where its beginning is not recorded.
    pub mode: Option<Mode>,
    /// The task, where it was for one.
    pub task: Option<TaskId>,
    /// The task's title.
    pub title: String,
    /// The run in which it began, where that is an earlier one.
    pub began_in: Option<String>,
    /// When it began; nothing where that is not recorded.
    pub started_at: Option<Timestamp>,
    /// When it began, in milliseconds since the run was built; nothing where that was in an earlier one.
    pub began_ms: Option<u64>,
    /// How long it took, in milliseconds; nothing where its beginning or its end is not recorded here.
    pub took_ms: Option<u64>,
    /// How it ended; nothing where that is not recorded.
    pub outcome: Option<IterationOutcome>,
    /// How it failed, where it did.
    pub failure: Option<IterationFailure>,
    /// Whether it met a usage limit, and so counts as no failure.
    pub excused: bool,
    /// Whether it was stopped because somebody settled its task or gave it back, and so counts as no failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost_its_task: bool,
    /// Whether the agent ended well without recording anything.
    pub unrecorded: bool,
    /// The tasks that stand completed because of it; with lanes those whose work it submitted.
    pub completed: Vec<TaskId>,
    /// The completions that were taken back in it.
    pub taken_back: Vec<TaskId>,
    /// What it consumed.
    pub usage: Usage,
    /// The calls of agents.
    pub turns: Vec<TurnHistory>,
    /// How the last check of it went, where one was made.
    pub check: Option<CheckResult>,
    /// The commit that was checked out at its end.
    pub commit: Option<String>,
    /// Where its task stands, if that was skipped or blocked meanwhile.
    #[serde(skip)]
    pub(super) set_aside: Option<Status>,
    /// The event that told its end.
    #[serde(skip)]
    pub(super) ended: Option<EventRef>,
    /// Whether a worker's work on its task was merged in the same run.
    #[serde(skip)]
    pub(super) is_merged: bool,
    /// The files that its agent left uncommitted, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// The commit in which Samuel stored these files, in a workspace of Samuel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed_for_agent: Option<String>,
    /// The number of the event that it began with.
    pub first_event: u64,
    /// The number of its last event.
    pub last_event: u64,
}

/// A call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnHistory {
    /// The turn.
    pub turn: Turn,
    /// The agent.
    pub agent: String,
    /// Its model, where the call had one.
    pub model: Option<String>,
    /// Why it was this one.
    pub why: String,
    /// How many tools it called.
    pub tool_calls: u32,
    /// How long it took, in milliseconds; nothing where its end is not recorded.
    pub took_ms: Option<u64>,
    /// Its exit code, where it ran to its end.
    pub exit_code: Option<i32>,
    /// How it failed, where it did.
    pub failure: Option<IterationFailure>,
    /// What it consumed.
    pub usage: Usage,
    /// Where it failed, the files that hold what it printed.
    pub logs: Vec<String>,
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckHistory {
    /// The iteration; 0 before the first, and with lanes where it is of none.
    pub iteration: u32,
    /// The lane whose work it was; nothing of what several lanes made, and in a run without lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// The tasks whose work was merged and checked together, where the queue of a run with lanes checked it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<TaskId>,
    /// Whether the work stands.
    pub ok: bool,
    /// How it went.
    pub result: CheckResult,
    /// The checks that failed.
    pub failures: Vec<CheckFailure>,
    /// Which handler refused that named no failed check, and why.
    pub reason: Option<String>,
    /// The commit that was checked out then.
    pub commit: Option<String>,
    /// The event.
    pub event: EventRef,
}

/// How often a handler was called, and how long that took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookFigures {
    /// The point.
    pub point: String,
    /// The handler's id.
    pub handler: String,
    /// How often it was called.
    pub calls: u64,
    /// How often it did not answer, or answered no.
    pub not_ok: u64,
    /// How long all calls took, in milliseconds.
    pub total_ms: u64,
    /// How long the longest took, in milliseconds.
    pub longest_ms: u64,
}

/// Something that was told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryNote {
    /// The words.
    pub text: String,
    /// The event.
    pub event: EventRef,
}

/// What of a record is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordGaps {
    /// Whether its first events are not there any more.
    pub beginning: bool,
    /// How many events are missing between others, beside what agents said.
    pub missing: u64,
    /// How many events are there once more, which counts for nothing.
    pub repeated: u64,
    /// How many lines cannot be read.
    pub unreadable: u64,
    /// How much of what agents said was not recorded, in events.
    pub agent_text: u64,
}

/// An event that an answer rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventRef {
    /// The run.
    pub run: String,
    /// Its number.
    pub seq: u64,
    /// When it was told.
    pub at: Timestamp,
    /// What kind of event it is, such as `quality_checked`.
    pub event: String,
}

impl IterationHistory {
    /// Returns what is known of an iteration of which only the last event is there.
    pub(super) fn unknown(iteration: u32, last_event: u64) -> Self {
        Self {
            iteration,
            lane: None,
            mode: None,
            task: None,
            title: String::new(),
            began_in: None,
            started_at: None,
            began_ms: None,
            took_ms: None,
            outcome: None,
            failure: None,
            excused: false,
            lost_its_task: false,
            unrecorded: false,
            completed: Vec::new(),
            taken_back: Vec::new(),
            usage: Usage::default(),
            turns: Vec::new(),
            check: None,
            commit: None,
            set_aside: None,
            ended: None,
            is_merged: false,
            uncommitted: Vec::new(),
            committed_for_agent: None,
            first_event: last_event,
            last_event,
        }
    }

    /// Says whether its beginning is recorded in the run itself.
    pub fn began_here(&self) -> bool {
        self.began_ms.is_some()
    }

    /// Says whether it counts as failed: what met a usage limit or lost its task does not.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some() && !self.excused
    }
}

impl RunHistory {
    /// Counts the iterations that it began, and those of them that failed.
    pub fn begun(&self) -> (usize, usize) {
        let begun = || self.iterations.iter().filter(|iteration| iteration.began_here());
        (begun().count(), begun().filter(|iteration| iteration.has_failed()).count())
    }

    /// Says whether several lanes worked in it.
    pub fn has_lanes(&self) -> bool {
        let in_lane = |iteration: &IterationHistory| iteration.lane.is_some();
        self.iterations.iter().any(in_lane) || !self.landed.is_empty() || !self.returned.is_empty()
    }

    /// Returns what is known of a run of which nothing can be read.
    pub(super) fn unknown(run: String) -> Self {
        Self {
            run,
            kind: RunKind::default(),
            state: RunState::CutOff,
            started_at: None,
            last_at: None,
            took_ms: 0,
            goes_on_from: None,
            agent: String::new(),
            model: None,
            tasks: Vec::new(),
            guards: Vec::new(),
            first_commit: None,
            last_commit: None,
            landed: Vec::new(),
            unmerged: None,
            returned: Vec::new(),
            held: Vec::new(),
            found: Vec::new(),
            ended_by: None,
            iterations: Vec::new(),
            checks: Vec::new(),
            hooks: Vec::new(),
            completed: Vec::new(),
            taken_back_outside: Vec::new(),
            usage: Usage::default(),
            agents: Vec::new(),
            warnings: Vec::new(),
            more_warnings: 0,
            report: None,
            gaps: RecordGaps::default(),
            last: None,
        }
    }
}
