//! A project for several lanes: a repository, a plan, and agents that do as they are told.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use samuel_core::{
    clock::SystemClock,
    model::{Plan, Task, TaskId},
    project::Project,
    state::{Actor, Existing},
    testing::ScriptedLanes,
};
use serde_json::{Value, json};

use crate::bench::{Bench, Ran};

/// A project, and what its agents do.
pub(crate) struct Ground {
    pub(crate) bench: Bench,
    pub(crate) lanes: ScriptedLanes,
    /// What agents do before that, as lines of shell; by default nothing.
    pub(crate) first: String,
}

/// Makes a task with what it depends on and the files that it declares.
pub(crate) fn task(id: &str, depends_on: &[&str], files: &[&str]) -> Task {
    Task {
        depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
        files_to_modify: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Task::new(TaskId::new(id), format!("Do {id}"))
    }
}

impl Ground {
    /// A repository with a commit and some tasks, whose agents do everything right.
    pub(crate) fn with_tasks(tasks: Vec<Task>) -> Self {
        let ground = Self::bare(tasks);
        ground.bench.write("a.txt", "one\n");
        ground.bench.make_repository(&["a.txt", "samuel.toml"]);
        ground
    }

    /// Tasks that nobody waits for.
    pub(crate) fn with(ids: &[&str]) -> Self {
        Self::with_tasks(ids.iter().map(|id| task(id, &[], &[])).collect())
    }

    /// A plan in a directory that is no repository.
    pub(crate) fn bare(tasks: Vec<Task>) -> Self {
        let bench = Bench::empty();
        let notes = bench.root().with_file_name("notes");
        let lanes = ScriptedLanes::noting_in(notes).unwrap();
        let ground = Self { lanes, bench, first: String::new() };
        ground.configure("");
        let project = ground.project();
        let plan = Plan { tasks, ..Plan::default() };
        project.plan_store().import(plan, Actor::User, Existing::Refuse).unwrap();
        ground
    }

    /// Has the agents do otherwise.
    pub(crate) fn agents(mut self, change: impl FnOnce(ScriptedLanes) -> ScriptedLanes) -> Self {
        self.lanes = change(self.lanes);
        self
    }

    /// Writes a samuel.toml whose check is that of the agents, with more keys of the methodology.
    pub(crate) fn configure(&self, keys: &str) {
        let check = json!(ScriptedLanes::CHECK);
        self.bench.configure(&format!("quality_checks = [{check}]\n{keys}"));
    }

    pub(crate) fn project(&self) -> Project {
        Project::open(self.bench.root(), None, Arc::new(SystemClock::new())).unwrap()
    }

    pub(crate) fn notes(&self) -> PathBuf {
        self.bench.root().with_file_name("notes")
    }

    /// Describes a start with so many lanes.
    pub(crate) fn command(&self, jobs: u32, more: &[&str]) -> Command {
        let (agent, jobs) = (self.first.clone() + &self.lanes.command(), jobs.to_string());
        self.bench.command(&[&self.bench.start_args(&agent)[..], &["--jobs", &jobs], more].concat())
    }

    /// Makes a run to its end.
    pub(crate) fn start(&self, jobs: u32, more: &[&str]) -> Ran {
        Ran::of(self.command(jobs, more))
    }

    /// Starts a run that goes on beside the test, whose events are lines.
    pub(crate) fn spawn(&self, jobs: u32, more: &[&str]) -> Child {
        let mut command = self.command(jobs, &[&["--json"], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs a line of shell in the project, which must succeed, and returns what it said.
    pub(crate) fn sh(&self, line: &str) -> String {
        self.tries(line).unwrap_or_else(|said| panic!("{line}: {said}"))
    }

    /// Runs a line of shell in the project, and returns what it said: in `Err` where it failed.
    pub(crate) fn tries(&self, line: &str) -> Result<String, String> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(self.bench.root());
        command.env("HOME", self.bench.root().with_file_name("home")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match output.status.success() {
            true => Ok(said),
            false => Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Returns the tasks that landed on a branch, by the trailers on its first-parent line, in order of their ids.
    pub(crate) fn landed(&self, into: &str) -> Vec<String> {
        let format = "--format='%(trailers:key=Samuel-Task,valueonly)'";
        let told = self.sh(&format!("git log --first-parent {format} {into}"));
        let mut ids: Vec<String> =
            told.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        ids.sort_by_key(|id| (id.len(), id.clone()));
        ids
    }

    /// Makes sure that all of some tasks landed once, are completed, and are in the tree of a branch.
    #[track_caller]
    pub(crate) fn all_landed(&self, into: &str, ids: &[&str], ran: &Ran) {
        assert_eq!(self.landed(into), ids, "{ran:?}");
        for id in ids {
            assert_eq!(self.bench.status(id), "completed", "{ran:?}");
            let made = self.lanes.made(id);
            assert_eq!(self.sh(&format!("git show {into}:{made}")), *id);
        }
    }
}

/// Returns a line of shell that commits a new file on a branch that is checked out nowhere.
pub(crate) fn commits_on(into: &str, name: &str) -> String {
    format!(
        "old=$(git rev-parse {into}) && export GIT_INDEX_FILE=../push-index && git read-tree $old && \
         blob=$(echo x | git hash-object -w --stdin) && \
         git update-index --add --cacheinfo 100644,$blob,{name} && \
         new=$(git commit-tree -p $old -m {name} $(git write-tree)) && \
         git update-ref refs/heads/{into} $new $old"
    )
}

/// Returns the branch that a run landed on, of what it said at the end.
pub(crate) fn into_of(ran: &Ran) -> String {
    let (_, document) = ran.events();
    document["data"]["report"]["into"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned()
}

/// Returns the events of a kind.
pub(crate) fn told<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}
