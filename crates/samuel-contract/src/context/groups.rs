//! The groups of the prompt context, as `wit/v1/prompt-context.wit` defines them.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lower};

use crate::{
    payload::{Complexity, Mode, Priority},
    words,
};

/// A task as handlers and prompts see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskVars {
    /// The id, such as `1.2`. Ids are text: `1.10` is not `1.1`.
    #[serde(rename = "ID")]
    pub id: String,
    /// The title, one line.
    pub title: String,
    /// How urgent it is.
    pub priority: Priority,
    /// How much work it is.
    pub complexity: Complexity,
    /// The description, any number of lines.
    pub description: String,
    /// Files the task changes, relative to the project.
    #[cfg_attr(feature = "wasm", component(name = "files-to-modify"))]
    pub files_to_modify: Vec<String>,
    /// Files the task creates, relative to the project.
    #[cfg_attr(feature = "wasm", component(name = "files-to-create"))]
    pub files_to_create: Vec<String>,
    /// Ids of the tasks it waits for.
    #[cfg_attr(feature = "wasm", component(name = "depends-on"))]
    pub depends_on: Vec<String>,
    /// What must hold for it to be done.
    pub acceptance: Vec<String>,
}

/// The running Samuel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct SamuelVars {
    /// Its version, such as `2.0.0`.
    pub version: String,
    /// The command that an agent calls for mutations, such as `samuel`.
    pub binary: String,
}

/// The project the loop works on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct ProjectVars {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub description: String,
    /// Its root directory, absolute on the host.
    pub root: String,
    /// The git branch; empty without git or with a detached head.
    pub branch: String,
    /// The languages that were detected, such as `rust`.
    pub detected: Vec<String>,
}

/// The methodology that is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct MethodologyVars {
    /// Its name, such as `ralph`.
    pub name: String,
    /// Who provides it: `built-in` or a plugin's name.
    pub source: String,
}

/// The iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct IterationVars {
    /// Its number, from 1; 0 outside an iteration.
    pub number: u32,
    /// How many iterations the run may make; absent without a limit.
    pub max: Option<u32>,
    /// What it is for. In templates and JSON it is `Type`.
    #[serde(rename = "Type")]
    pub kind: Mode,
    /// The id of its task; empty in discovery.
    #[serde(rename = "TaskID")]
    #[cfg_attr(feature = "wasm", component(name = "task-id"))]
    pub task_id: String,
    /// When discovery ran last, as an RFC 3339 time; empty for never.
    #[cfg_attr(feature = "wasm", component(name = "last-discovery-at"))]
    pub last_discovery_at: String,
}

/// The settings of pilot mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct PilotVars {
    /// Every how many iterations tasks are looked for.
    #[cfg_attr(feature = "wasm", component(name = "discover-interval"))]
    pub discover_interval: u32,
    /// How many tasks one discovery iteration may add.
    #[cfg_attr(feature = "wasm", component(name = "max-discovery-tasks"))]
    pub max_discovery_tasks: u32,
    /// What discovery looks at; empty for everything.
    pub focus: String,
}

/// How much earlier work the agent is told of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct ContextLimits {
    /// Learnings in the progress context. Default 50.
    #[cfg_attr(feature = "wasm", component(name = "max-learnings"))]
    pub max_learnings: u32,
    /// Completions in the progress context. Default 10.
    #[cfg_attr(feature = "wasm", component(name = "max-completed"))]
    pub max_completed: u32,
    /// Lines of `progress.md` before it is rotated. Default 500.
    #[cfg_attr(feature = "wasm", component(name = "max-progress-lines"))]
    pub max_progress_lines: u32,
}

/// The frozen configuration of the run, as far as prompts need it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct ConfigVars {
    /// The agent, such as `claude`.
    pub agent: String,
    /// How many iterations a run may make; absent without a limit.
    #[cfg_attr(feature = "wasm", component(name = "max-iterations"))]
    pub max_iterations: Option<u32>,
    /// The pause between two iterations, in whole seconds, rounded up.
    #[cfg_attr(feature = "wasm", component(name = "pause-secs"))]
    pub pause_secs: u64,
    /// After how many failed iterations in a row the run ends.
    #[cfg_attr(feature = "wasm", component(name = "max-consec-fails"))]
    pub max_consec_fails: u32,
    /// The commands that check the work, in the order they run.
    #[cfg_attr(feature = "wasm", component(name = "quality-checks"))]
    pub quality_checks: Vec<String>,
    /// The settings of pilot mode; absent where it is off.
    pub pilot: Option<PilotVars>,
    /// How much earlier work the agent is told of.
    pub context: ContextLimits,
}

/// The rules that work must keep to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct GuardrailVars {
    /// The longest function, in lines. Default 50.
    #[cfg_attr(feature = "wasm", component(name = "max-function-lines"))]
    pub max_function_lines: u32,
    /// The longest file, in lines. Default 300.
    #[cfg_attr(feature = "wasm", component(name = "max-file-lines"))]
    pub max_file_lines: u32,
    /// Whether new code needs tests. Default true.
    #[cfg_attr(feature = "wasm", component(name = "require-tests"))]
    pub require_tests: bool,
    /// How commit messages are written. Default `conventional`.
    #[cfg_attr(feature = "wasm", component(name = "commit-convention"))]
    pub commit_convention: String,
    /// How branches are named; may be empty.
    #[cfg_attr(feature = "wasm", component(name = "branch-convention"))]
    pub branch_convention: String,
    /// Further rules, one sentence each.
    pub extra: Vec<String>,
}

/// Where files are, as absolute paths of the host. To read one through
/// `files-read`, take the root off its front.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct PathVars {
    /// The directory `.samuel`.
    #[cfg_attr(feature = "wasm", component(name = "samuel-dir"))]
    pub samuel_dir: String,
    /// The run directory below it.
    #[cfg_attr(feature = "wasm", component(name = "run-dir"))]
    pub run_dir: String,
    /// The plan, `prd.toon`.
    #[serde(rename = "PRDFile")]
    #[cfg_attr(feature = "wasm", component(name = "prd-file"))]
    pub prd_file: String,
    /// The PRD that the plan was converted from, which may be gone or changed
    /// since; empty where there is none.
    #[serde(rename = "SourcePRD")]
    #[cfg_attr(feature = "wasm", component(name = "source-prd"))]
    pub source_prd: String,
    /// The progress log, `progress.md`.
    #[cfg_attr(feature = "wasm", component(name = "progress-file"))]
    pub progress_file: String,
    /// The blob of `context.task`, `task-context.toon`.
    #[cfg_attr(feature = "wasm", component(name = "task-context-file"))]
    pub task_context_file: String,
    /// The blob of `context.progress`, `progress-context.md`.
    #[cfg_attr(feature = "wasm", component(name = "progress-context-file"))]
    pub progress_context_file: String,
    /// The blob of `context.snapshot`, `project-snapshot.toon`.
    #[cfg_attr(feature = "wasm", component(name = "snapshot-file"))]
    pub snapshot_file: String,
    /// The project's notes for agents, `AGENTS.md`; empty where there are none.
    #[serde(rename = "AgentsMD")]
    #[cfg_attr(feature = "wasm", component(name = "agents-md"))]
    pub agents_md: String,
}

/// A task that was completed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct CompletedTask {
    /// Its id.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its title.
    pub title: String,
    /// The commit that completed it; empty if it is not known.
    #[serde(rename = "CommitSHA")]
    #[cfg_attr(feature = "wasm", component(name = "commit-sha"))]
    pub commit_sha: String,
}

/// A quality check that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct FailedCheck {
    /// The command, or the name of the check.
    pub command: String,
    /// What is wrong, in one line.
    pub message: String,
    /// The exit code; absent unless a command ran to its end.
    #[cfg_attr(feature = "wasm", component(name = "exit-code"))]
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub tail: String,
}

words! {
    /// What a suggestion points at.
    #[derive(Default)]
    SuggestionKind ("suggestion kind") {
        /// An ability, by its id.
        #[default]
        Ability = "ability",
        /// A document, by its path.
        Document = "document",
    }
}

/// Something a repository hook suggests to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct Suggestion {
    /// What it points at.
    pub kind: SuggestionKind,
    /// The ability's id or the document's path.
    pub name: String,
    /// Why it fits.
    pub reason: String,
    /// From 0 to 1; absent where the hook does not say.
    pub confidence: Option<f64>,
}

/// The group that a task is a part of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroup {
    /// Its id.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it stands by its parts, such as `pending`.
    pub status: String,
    /// Its description, any number of lines.
    pub description: String,
    /// How many tasks are directly a part of it.
    pub parts: u64,
}

/// Another part of the same group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct SiblingTask {
    /// Its id.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it stands: `pending`, `in_progress`, `completed`, `skipped` or
    /// `blocked`.
    pub status: String,
}

/// How far the plan is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct StateVars {
    /// How many tasks there are; groups, which are done with their parts, count nowhere.
    #[cfg_attr(feature = "wasm", component(name = "total-tasks"))]
    pub total_tasks: u64,
    /// How many of them are pending.
    #[cfg_attr(feature = "wasm", component(name = "pending-tasks"))]
    pub pending_tasks: u64,
    /// How many of them are completed.
    #[cfg_attr(feature = "wasm", component(name = "completed-tasks"))]
    pub completed_tasks: u64,
    /// How many of them are in progress.
    #[cfg_attr(feature = "wasm", component(name = "in-progress-tasks"))]
    pub in_progress_tasks: u64,
    /// How many of them are blocked.
    #[cfg_attr(feature = "wasm", component(name = "blocked-tasks"))]
    pub blocked_tasks: u64,
    /// How many of them are skipped.
    #[cfg_attr(feature = "wasm", component(name = "skipped-tasks"))]
    pub skipped_tasks: u64,
    /// The task that is or will be worked on; absent if there is none.
    #[cfg_attr(feature = "wasm", component(name = "next-task"))]
    pub next_task: Option<TaskVars>,
    /// The group that this task is a part of; absent if it is a part of none.
    pub parent: Option<TaskGroup>,
    /// The other parts of that group, in the order of the plan: at most 30,
    /// those around the task.
    pub siblings: Vec<SiblingTask>,
    /// The tasks completed last, at most 5, the latest first.
    #[cfg_attr(feature = "wasm", component(name = "recent-completed"))]
    pub recent_completed: Vec<CompletedTask>,
    /// What the last quality check complained about; empty if it passed.
    #[cfg_attr(feature = "wasm", component(name = "last-failures"))]
    pub last_failures: Vec<FailedCheck>,
    /// What repository hooks suggested to consider.
    pub suggestions: Vec<Suggestion>,
}

/// What kind of iteration this is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
#[serde(rename_all = "PascalCase", default)]
pub struct ModeVars {
    /// Whether it looks for tasks.
    #[cfg_attr(feature = "wasm", component(name = "is-discovery"))]
    pub is_discovery: bool,
    /// Whether pilot mode is on.
    #[cfg_attr(feature = "wasm", component(name = "is-pilot"))]
    pub is_pilot: bool,
    /// What discovery looks at; empty for everything.
    pub focus: String,
    /// How many tasks it may add.
    #[cfg_attr(feature = "wasm", component(name = "max-new-tasks"))]
    pub max_new_tasks: u32,
}
