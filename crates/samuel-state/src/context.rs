//! The generated files that have a fixed form.
//!
//! [`TaskContext`] is `task-context.toon`, [`ProjectSnapshot`] is
//! `project-snapshot.toon` (ARCHITECTURE.md, State). What goes into them is
//! decided by the handlers of the context hook points; here is only how it is
//! written and read back. Empty lists are left out, since versions of TOON
//! differ in how they write them. The text has no version header: a store
//! adds it.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{StateError, plan_file};
use samuel_model::{Complexity, Priority, Status, Task, TaskId, payload::Mode};

/// What the agent is told of the task at hand, or in discovery of all tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskContext {
    /// What the iteration is for.
    pub mode: Mode,
    /// The task to work on; in implementation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_task: Option<CurrentTask>,
    /// The PRD that the plan was converted from, relative to the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prd: Option<String>,
    /// The group that the task is a part of; in implementation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<FamilyTask>,
    /// The other parts of that group, at most 30, in the order of the plan; in
    /// implementation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<FamilyTask>,
    /// The last completed tasks, at most 5, last first; in implementation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recent_completions: Vec<RecentCompletion>,
    /// How many tasks stand where; in discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<TaskSummary>,
    /// Every task in short; in discovery.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskLine>,
    /// Files that tasks cover already; in discovery.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub covered_files: Vec<String>,
}

/// The task to work on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentTask {
    /// The id.
    pub id: TaskId,
    /// The title, one line.
    pub title: String,
    /// How urgent it is.
    pub priority: Priority,
    /// How much work it is.
    pub complexity: Complexity,
    /// The description, any number of lines.
    pub description: String,
    /// Files it creates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_to_create: Vec<String>,
    /// Files it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_to_modify: Vec<String>,
    /// The tasks that came first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// Rules the work must keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<String>,
    /// What must hold for it to be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
}

impl From<&Task> for CurrentTask {
    fn from(task: &Task) -> Self {
        let task = task.clone();
        Self {
            id: task.id,
            title: task.title,
            priority: task.priority,
            complexity: task.complexity,
            description: task.description,
            files_to_create: task.files_to_create,
            files_to_modify: task.files_to_modify,
            depends_on: task.depends_on,
            guardrails: task.guardrails,
            acceptance: task.acceptance,
        }
    }
}

/// The group of the task at hand, or another part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyTask {
    /// The id.
    pub id: TaskId,
    /// The title.
    pub title: String,
    /// Where it stands.
    pub status: Status,
}

impl From<&Task> for FamilyTask {
    fn from(task: &Task) -> Self {
        Self { id: task.id.clone(), title: task.title.clone(), status: task.status }
    }
}

/// A completed task in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentCompletion {
    /// The id.
    pub id: TaskId,
    /// The title.
    pub title: String,
    /// The commit that completed it, where it is known.
    pub commit_sha: Option<String>,
}

/// How many tasks stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// All tasks.
    pub total: u64,
    /// Those that wait.
    pub pending: u64,
    /// Those that are completed.
    pub completed: u64,
    /// Those in progress, skipped or blocked.
    pub other: u64,
}

/// A task in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLine {
    /// The id.
    pub id: TaskId,
    /// Where it stands.
    pub status: Status,
    /// How urgent it is.
    pub priority: Priority,
    /// The title.
    pub title: String,
}

/// What a project consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectSnapshot {
    /// When it was taken.
    pub generated_at: Timestamp,
    /// Figures about the whole.
    pub summary: SnapshotSummary,
    /// The files, as far as there is room for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SnapshotFile>,
    /// Source files without tests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test_gaps: Vec<String>,
    /// Files with many lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub large_files: Vec<LargeFile>,
    /// Files in which something is left to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todo_counts: Vec<TodoCount>,
    /// The last commits, last first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub git_log: Vec<CommitLine>,
}

/// Figures about a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SnapshotSummary {
    /// How many files there are.
    pub files: u64,
    /// How many lines they have, as far as that was counted.
    pub lines: u64,
    /// The languages, the one with most files first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// What was left out, and why; one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotFile {
    /// The path, relative to the project.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// What it is: a language, or another kind of file.
    pub kind: String,
}

/// A file with many lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeFile {
    /// The path, relative to the project.
    pub path: String,
    /// How many lines it has.
    pub lines: u64,
}

/// A file in which something is left to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoCount {
    /// The path, relative to the project.
    pub path: String,
    /// How many marks it has.
    pub count: u64,
}

/// A commit in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitLine {
    /// The abbreviated id.
    pub sha: String,
    /// The day, `2026-11-21`.
    pub date: String,
    /// The first line of the message.
    pub subject: String,
}

impl TaskContext {
    /// Writes the context as TOON.
    ///
    /// # Errors
    /// Returns [`StateError::Encode`]; that is a fault in Samuel.
    pub fn encode(&self) -> Result<String, StateError> {
        plan_file::to_toon("task context", self)
    }

    /// Reads the context, with or without the version header.
    ///
    /// # Errors
    /// Returns [`StateError::Corrupt`] or [`StateError::Version`], which name
    /// the path.
    pub fn decode(path: &Path, text: &str) -> Result<Self, StateError> {
        plan_file::from_toon(path, text)
    }
}

impl ProjectSnapshot {
    /// Writes the snapshot as TOON.
    ///
    /// # Errors
    /// Returns [`StateError::Encode`]; that is a fault in Samuel.
    pub fn encode(&self) -> Result<String, StateError> {
        plan_file::to_toon("project snapshot", self)
    }

    /// Reads the snapshot, with or without the version header.
    ///
    /// # Errors
    /// Returns [`StateError::Corrupt`] or [`StateError::Version`], which name
    /// the path.
    pub fn decode(path: &Path, text: &str) -> Result<Self, StateError> {
        plan_file::from_toon(path, text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use samuel_model::ErrorCode;

    fn task(id: &str, title: &str) -> Task {
        Task::new(TaskId::new(id), title)
    }

    #[test]
    fn the_context_of_an_implementation_reads_back() {
        let depends_on = vec![TaskId::new("1.10")];
        let task = Task { depends_on, acceptance: vec!["a, b".into()], ..task("1.2", "Parse") };
        let done = RecentCompletion {
            id: TaskId::new("1.10"),
            title: "Lex".into(),
            commit_sha: Some("12e4567".into()),
        };
        let context = TaskContext {
            current_task: Some(CurrentTask::from(&task)),
            prd: Some("docs/prd.md".into()),
            parent: Some(FamilyTask::from(&self::task("1", "Read"))),
            siblings: vec![FamilyTask::from(&self::task("1.10", "Lex, fast"))],
            recent_completions: vec![done],
            ..TaskContext::default()
        };
        let text = context.encode().unwrap();
        insta::assert_snapshot!(text, @r#"
        mode: implementation
        current_task:
          id: "1.2"
          title: Parse
          priority: medium
          complexity: medium
          description: ""
          depends_on[1]: "1.10"
          acceptance[1]: "a, b"
        prd: docs/prd.md
        parent:
          id: "1"
          title: Read
          status: pending
        siblings[1]{id,title,status}:
          "1.10","Lex, fast",pending
        recent_completions[1]{id,title,commit_sha}:
          "1.10",Lex,"12e4567"
        "#);
        let with_header = format!("# toon v3\n{text}");
        for text in [text.as_str(), &with_header] {
            assert_eq!(TaskContext::decode(Path::new("task-context.toon"), text).unwrap(), context);
        }
    }

    #[test]
    fn the_context_of_a_discovery_reads_back() {
        let line = |task: Task| TaskLine {
            id: task.id,
            status: task.status,
            priority: task.priority,
            title: task.title,
        };
        let context = TaskContext {
            mode: Mode::Discovery,
            summary: Some(TaskSummary { total: 2, pending: 2, ..TaskSummary::default() }),
            tasks: vec![line(task("1", "a, b")), line(task("2", "#"))],
            covered_files: vec!["src/a.rs".into()],
            ..TaskContext::default()
        };
        let text = context.encode().unwrap();
        insta::assert_snapshot!(text, @r##"
        mode: discovery
        summary:
          total: 2
          pending: 2
          completed: 0
          other: 0
        tasks[2]{id,status,priority,title}:
          "1",pending,medium,"a, b"
          "2",pending,medium,"#"
        covered_files[1]: src/a.rs
        "##);
        assert_eq!(TaskContext::decode(Path::new("task-context.toon"), &text).unwrap(), context);
    }

    #[test]
    fn a_snapshot_reads_back() {
        let snapshot = ProjectSnapshot {
            summary: SnapshotSummary {
                files: 2,
                lines: 90,
                languages: vec!["Rust".into(), "C++".into()],
                notes: vec!["2 of 3 files are listed".into()],
            },
            files: vec![SnapshotFile { path: "a, b.rs".into(), bytes: 10, kind: "Rust".into() }],
            test_gaps: vec!["src/main.rs".into()],
            large_files: vec![LargeFile { path: "src/big.rs".into(), lines: 4_000 }],
            todo_counts: vec![TodoCount { path: "src/todo.rs".into(), count: 3 }],
            git_log: vec![CommitLine {
                sha: "0012345".into(),
                date: "2026-11-21".into(),
                subject: "fix: x".into(),
            }],
            ..ProjectSnapshot::default()
        };
        let text = snapshot.encode().unwrap();
        insta::assert_snapshot!(text, @r#"
        generated_at: "1970-01-01T00:00:00Z"
        summary:
          files: 2
          lines: 90
          languages[2]: Rust,C++
          notes[1]: 2 of 3 files are listed
        files[1]{path,bytes,kind}:
          "a, b.rs",10,Rust
        test_gaps[1]: src/main.rs
        large_files[1]{path,lines}:
          src/big.rs,4000
        todo_counts[1]{path,count}:
          src/todo.rs,3
        git_log[1]{sha,date,subject}:
          "0012345",2026-11-21,"fix: x"
        "#);
        assert_eq!(ProjectSnapshot::decode(Path::new("project-snapshot.toon"), &text).unwrap(), snapshot);
    }

    #[test]
    fn text_that_is_no_context_is_refused_with_its_place() {
        use samuel_model::Coded;
        let error = TaskContext::decode(Path::new("t.toon"), "# toon v3\nmode: sleeping\n").unwrap_err();
        assert_eq!(error.code(), ErrorCode::STATE_CORRUPT);
        assert_eq!(error.location().unwrap().line, Some(2));
    }
}
