//! A run as a page for people: HTML or Markdown.
//!
//! A [`RunPage`] puts a run together with its tasks, their commits and the files that changed
//! between the commits that it began and ended with. Both forms are text that runs nothing:
//! words of agents, hooks and files are escaped, whatever they are.

mod escape;
mod html;
mod markdown;
mod style;
mod timeline;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;

use super::{History, HistoryError, RunHistory, RunKind, TaskFigures, words::left_uncommitted};
use crate::{
    git::{DifferentLines, FileDiffers, Repository},
    model::{Claim, ClaimPhase, Mark, Plan, Status, Task, TaskId, Usage, words},
    project::commits,
    state::{JournalRecord, LandingClaim},
    text::counted,
};

/// How many changed files are named.
const MAX_FILES: usize = 1_000;
/// How long the look at the commits, and then at the lines of the files, may take.
const MAX_TIME: Duration = Duration::from_secs(4);

/// A run, with what the plan and the repository tell of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPage {
    /// The project's name.
    pub project: String,
    /// When the page was made.
    pub made_at: Timestamp,
    /// The run.
    pub run: RunHistory,
    /// The tasks that it worked on, in natural order.
    pub tasks: Vec<TaskOutcome>,
    /// The files that changed between the commits that it began and ended with, sorted; at most
    /// 1,000.
    pub files: Vec<ChangedFile>,
    /// How many more there are.
    pub more_files: usize,
    /// How many lines were added in all files that changed, as far as they were counted.
    pub lines_added: u64,
    /// How many were removed.
    pub lines_removed: u64,
    /// How many of the files are neither counted nor binary: they are too large, or there are too many.
    pub uncounted_files: usize,
}

/// What a run made of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskOutcome {
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// Whether the run completed it.
    pub completed: bool,
    /// Whether it was left out when the run ended, by whomever.
    pub skipped: bool,
    /// How many iterations were for it.
    pub iterations: u32,
    /// How many of them failed.
    pub failed: u32,
    /// How often its completion was taken back.
    pub taken_back: u32,
    /// What the iterations consumed.
    pub usage: Usage,
    /// The commits that were recorded for it.
    pub commits: Vec<String>,
    /// What is unusual about its completion, as the plan has it now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// What the agent of its last iteration left uncommitted, in words. In JSON the iterations tell.
    #[serde(skip)]
    pub(super) left: Option<String>,
    /// Why its work did not land, each time that it came back; none without lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<String>,
    /// Who holds its work back in the queue, and why; nothing where nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// What its work waits for or why it is blocked, as the plan has it now; else that its agent did not record it as
    /// done. Pages say it, and in JSON the plan itself does.
    #[serde(skip)]
    pub(super) waits: Option<String>,
    /// Why it is skipped, as the plan has it now.
    #[serde(skip)]
    pub(super) skip_reason: Option<String>,
    /// The iteration that looked for tasks and found it; nothing where none did. In JSON the events tell.
    #[serde(skip)]
    pub(super) found_in: Option<u32>,
}

/// A file that is different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path, from the project's root.
    pub path: String,
    /// What became of it.
    pub change: ReportedChange,
    /// How many lines were added to it; nothing where they were not counted.
    pub added: Option<u64>,
    /// How many were removed; nothing where they were not counted.
    pub removed: Option<u64>,
    /// Whether it is no text, so that it has no lines.
    pub binary: bool,
}

impl ChangedFile {
    /// Says how many lines are different, such as `+3 -1`; nothing where that is not known.
    fn lines(&self) -> Option<String> {
        match (self.added, self.removed) {
            (Some(added), Some(removed)) => Some(format!("+{added} -{removed}")),
            _ => self.binary.then(|| "binary".to_owned()),
        }
    }
}

impl RunPage {
    /// Says how many lines are different in how many files; nothing where none is.
    fn lines(&self) -> Option<String> {
        let files = self.files.len() + self.more_files;
        let uncounted = match self.uncounted_files {
            0 => String::new(),
            uncounted => format!(
                ", without {} that {} not counted",
                counted(uncounted, "file"),
                if uncounted == 1 { "is" } else { "are" }
            ),
        };
        let sum = || {
            format!("+{} -{} in {}{uncounted}", self.lines_added, self.lines_removed, counted(files, "file"))
        };
        (files > 0).then(sum)
    }
}

words! {
    /// What became of a file.
    ReportedChange ("change of a file") {
        /// It is new.
        Added = "added",
        /// It holds something else.
        Changed = "changed",
        /// It is gone.
        Removed = "removed",
    }
}

impl History {
    /// Puts a page of a run together. Blocks.
    ///
    /// # Errors
    /// As [`History::run`]. What plan and repository do not tell is left out.
    pub fn report(&self, run: &str) -> Result<RunPage, HistoryError> {
        let mut run = self.run(run)?;
        if run.kind == RunKind::Landing && run.first_commit.is_none() {
            run.first_commit = self.landed_on(&run);
        }
        let plan = self.project.plan_store().load().map(|loaded| loaded.plan).unwrap_or_default();
        let tasks = self.tasks_of(&plan, &run);
        // As the status names it.
        let project = Some(plan.project.name.clone()).filter(|name| !name.is_empty());
        let (project, made_at) = (project.unwrap_or_else(|| self.project.name()), self.project.clock().now());
        let changed = self.files_of(&run);
        let uncounted = changed.iter().filter(|file| file.added.is_none() && !file.binary).count();
        let lines = |count: fn(&ChangedFile) -> Option<u64>| changed.iter().filter_map(count).sum::<u64>();
        Ok(RunPage {
            project,
            made_at,
            tasks,
            lines_added: lines(|file| file.added),
            lines_removed: lines(|file| file.removed),
            uncounted_files: uncounted,
            more_files: changed.len().saturating_sub(MAX_FILES),
            files: changed.into_iter().take(MAX_FILES).collect(),
            run,
        })
    }

    fn tasks_of(&self, plan: &Plan, run: &RunHistory) -> Vec<TaskOutcome> {
        let mut tasks: BTreeMap<TaskId, TaskOutcome> = BTreeMap::new();
        // A plan may be long, and each of its tasks looked up.
        let by_id: HashMap<&TaskId, &Task> = plan.tasks.iter().rev().map(|task| (&task.id, task)).collect();
        let live = plan.claims.iter().rev().filter(|claim| claim.is_live());
        let claims: HashMap<&TaskId, &Claim> =
            live.filter_map(|claim| Some((claim.task.task()?, claim))).collect();
        let completed: HashSet<&TaskId> = run.completed.iter().collect();
        let skipped: HashSet<&TaskId> = run.report.iter().flat_map(|report| &report.skipped).collect();
        let unrecorded: HashSet<&TaskId> = run.report.iter().flat_map(|report| &report.unrecorded).collect();
        let not_recorded =
            |id: &TaskId| unrecorded.contains(id).then(|| "its agent did not record it as done".to_owned());
        let outcome = |id: &TaskId| TaskOutcome {
            task: id.clone(),
            title: by_id.get(id).map(|task| task.title.clone()).unwrap_or_default(),
            // A person may have skipped it after that.
            completed: completed.contains(id) && !skipped.contains(id),
            skipped: skipped.contains(id),
            iterations: 0,
            failed: 0,
            taken_back: 0,
            usage: Usage::default(),
            commits: Vec::new(),
            marks: by_id.get(id).map(|task| task.marks.clone()).unwrap_or_default(),
            left: None,
            returned: Vec::new(),
            held: None,
            waits: waits(by_id.get(id).copied(), claims.get(id).copied()).or_else(|| not_recorded(id)),
            skip_reason: by_id
                .get(id)
                .filter(|_| skipped.contains(id))
                .and_then(|task| task.skip_reason.clone()),
            found_in: None,
        };
        for (id, TaskFigures { iterations, failed, taken_back, usage, .. }) in TaskFigures::of_run(run) {
            let known = outcome(&id);
            tasks.insert(id, TaskOutcome { iterations, failed, taken_back, usage, ..known });
        }
        for iteration in &run.iterations {
            let Some(task) = iteration.task.as_ref().and_then(|id| tasks.get_mut(id)) else { continue };
            if task.title.is_empty() {
                task.title.clone_from(&iteration.title);
            }
            task.left = left_uncommitted(&iteration.uncommitted, iteration.committed_for_agent.as_deref());
        }
        for found in &run.found {
            let task = tasks.entry(found.task.clone()).or_insert_with(|| outcome(&found.task));
            task.title.clone_from(&found.title);
            task.found_in = Some(found.iteration);
        }
        for returned in &run.returned {
            let task = tasks.entry(returned.task.clone()).or_insert_with(|| outcome(&returned.task));
            task.returned.push(returned.reason.clone());
        }
        for held in &run.held {
            let task = tasks.entry(held.task.clone()).or_insert_with(|| outcome(&held.task));
            let why = held.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            task.held = Some(format!("by {}{why}", held.by));
        }
        for id in &run.completed {
            tasks.entry(id.clone()).or_insert_with(|| outcome(id));
        }
        self.add_commits(run, &mut tasks);
        tasks.into_values().collect()
    }

    /// Adds the commits of work that landed, and those that were recorded while the run was under way.
    fn add_commits(&self, run: &RunHistory, tasks: &mut BTreeMap<TaskId, TaskOutcome>) {
        for landed in &run.landed {
            if let Some(task) = tasks.get_mut(&landed.task) {
                task.commits.push(landed.commit.clone());
            }
        }
        let journal = self.project.plan_store().journal_since(0);
        let (Ok(journal), Some(from), Some(to)) = (journal, run.started_at, run.last_at) else { return };
        let of_run = journal.records.iter().filter(|record| record.at >= from && record.at <= to);
        for (id, commits) in commits(of_run) {
            let Some(task) = tasks.get_mut(id) else { continue };
            let new = commits.into_iter().filter(|commit| !task.commits.contains(commit));
            let new: Vec<String> = new.collect();
            task.commits.extend(new);
        }
    }

    /// Returns the commit that the branch was at before the first work of a run landed on it, which the plan's journal
    /// tells.
    fn landed_on(&self, run: &RunHistory) -> Option<String> {
        let first = run.landed.first()?;
        let is_first = |claim: &LandingClaim| claim.task == first.task && claim.landed == first.commit;
        let journal = self.project.plan_store().journal_since(0).ok()?;
        let mut merges = journal.records.iter().rev().filter_map(JournalRecord::announced_merge);
        merges.find(|merge| merge.claims.iter().any(is_first)).map(|merge| merge.old.to_owned())
    }

    /// Returns the files that changed in a run, sorted.
    fn files_of(&self, run: &RunHistory) -> Vec<ChangedFile> {
        let (Some(from), Some(to)) = (&run.first_commit, &run.last_commit) else { return Vec::new() };
        let opened = Repository::open(self.project.root(), self.project.caller()).ok().flatten();
        let Some(repository) = opened else { return Vec::new() };
        let changed = repository.changes_between(from, to, MAX_TIME).unwrap_or_default();
        let file = |changed: FileDiffers| {
            let change = match (changed.before, changed.after) {
                (false, _) => ReportedChange::Added,
                (true, true) => ReportedChange::Changed,
                (true, false) => ReportedChange::Removed,
            };
            let (added, removed) = match changed.lines {
                DifferentLines::Counted { added, removed } => (Some(added), Some(removed)),
                DifferentLines::Binary | DifferentLines::Unknown => (None, None),
            };
            let binary = changed.lines == DifferentLines::Binary;
            ChangedFile { path: changed.path, change, added, removed, binary }
        };
        changed.into_iter().map(file).collect()
    }
}

/// Says what a task waits for in a plan, with the claim on it: for the landing of its work, or for an answer. Else says
/// why it is blocked.
fn waits(task: Option<&Task>, claim: Option<&Claim>) -> Option<String> {
    let is_submitted = |phase| matches!(phase, ClaimPhase::Submitted | ClaimPhase::Landing);
    if claim.is_some_and(|claim| is_submitted(claim.phase)) {
        return Some("its work waits to be landed".to_owned());
    }
    let task = task?;
    if let Some(question) = task.open_question() {
        return Some(format!("it waits for an answer: {}", question.line()));
    }
    let why = task.skip_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    (task.status == Status::Blocked).then(|| format!("blocked{why}"))
}
