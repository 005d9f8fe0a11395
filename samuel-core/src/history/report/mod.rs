//! A run as a page for people: HTML or Markdown.
//!
//! A [`RunPage`] puts a run together with its tasks, their commits and the files that changed
//! between the commits that it began and ended with. Both forms are text that runs nothing:
//! words of agents, hooks and files are escaped, whatever they are.

mod escape;
mod html;
mod markdown;
mod style;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde::Serialize;

use super::{History, HistoryError, RunHistory};
use crate::{
    git::{FileDiffers, Repository},
    model::{TaskId, Usage, words},
    state::{JournalEntry, Mutation},
};

/// How many changed files are named.
const MAX_FILES: usize = 1_000;
/// How long the look at the commits may take.
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
}

/// A file that is different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path, from the project's root.
    pub path: String,
    /// What became of it.
    pub change: ReportedChange,
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
        let run = self.run(run)?;
        let tasks = self.tasks_of(&run);
        let (files, more_files) = self.files_of(&run);
        let (project, made_at) = (self.project.name(), self.project.clock().now());
        Ok(RunPage { project, made_at, run, tasks, files, more_files })
    }

    fn tasks_of(&self, run: &RunHistory) -> Vec<TaskOutcome> {
        let mut tasks: BTreeMap<TaskId, TaskOutcome> = BTreeMap::new();
        let plan = self.project.plan_store().load().map(|loaded| loaded.plan).unwrap_or_default();
        let outcome = |id: &TaskId| TaskOutcome {
            task: id.clone(),
            title: plan.task(id).map(|task| task.title.clone()).unwrap_or_default(),
            completed: run.completed.contains(id),
            iterations: 0,
            failed: 0,
            taken_back: 0,
            usage: Usage::default(),
            commits: Vec::new(),
        };
        let taken_back = run.iterations.iter().flat_map(|iteration| &iteration.taken_back);
        for id in taken_back.chain(&run.taken_back_outside) {
            tasks.entry(id.clone()).or_insert_with(|| outcome(id)).taken_back += 1;
        }
        for iteration in &run.iterations {
            let Some(id) = &iteration.task else { continue };
            let task = tasks.entry(id.clone()).or_insert_with(|| outcome(id));
            if task.title.is_empty() {
                task.title.clone_from(&iteration.title);
            }
            task.iterations += 1;
            task.failed += u32::from(iteration.failure.is_some());
            task.usage += iteration.usage;
        }
        for id in &run.completed {
            tasks.entry(id.clone()).or_insert_with(|| outcome(id));
        }
        self.add_commits(run, &mut tasks);
        tasks.into_values().collect()
    }

    /// Adds the commits that were recorded while the run was under way.
    fn add_commits(&self, run: &RunHistory, tasks: &mut BTreeMap<TaskId, TaskOutcome>) {
        let journal = self.project.plan_store().journal_since(0);
        let (Ok(journal), Some(from), Some(to)) = (journal, run.started_at, run.last_at) else { return };
        for record in journal.records.iter().filter(|record| record.at >= from && record.at <= to) {
            let JournalEntry::Mutation { mutation: Mutation::Done { id, commit_sha: Some(sha), .. }, .. } =
                &record.entry
            else {
                continue;
            };
            if let Some(task) = tasks.get_mut(id).filter(|task| !task.commits.contains(sha)) {
                task.commits.push(sha.clone());
            }
        }
    }

    fn files_of(&self, run: &RunHistory) -> (Vec<ChangedFile>, usize) {
        let (Some(from), Some(to)) = (&run.first_commit, &run.last_commit) else { return Default::default() };
        let opened = Repository::open(self.project.root(), self.project.caller()).ok().flatten();
        let Some(repository) = opened else { return Default::default() };
        let changed = repository.changes_between(from, to, MAX_TIME).unwrap_or_default();
        let more = changed.len().saturating_sub(MAX_FILES);
        let file = |changed: FileDiffers| {
            let change = match (changed.before, changed.after) {
                (false, _) => ReportedChange::Added,
                (true, true) => ReportedChange::Changed,
                (true, false) => ReportedChange::Removed,
            };
            ChangedFile { path: changed.path, change }
        };
        (changed.into_iter().take(MAX_FILES).map(file).collect(), more)
    }
}
