//! The hook points of `wit/points.toml`.

// Written by `cargo xtask contract`; change `wit/` instead.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{CallVisitor, Kind, OnFailure, Point, PointVisitor, UnknownPoint, payload::*};

/// A named step of the loop or of a lifecycle command that handlers
/// attach to (docs/hooks.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookPoint {
    /// Fires once, before `samuel init` writes anything.
    #[serde(rename = "init.before")]
    InitBefore,
    /// Fires once, after `samuel init` has written.
    #[serde(rename = "init.after")]
    InitAfter,
    /// Fires once, before `samuel sync` writes anything.
    #[serde(rename = "sync.before")]
    SyncBefore,
    /// Fires once, after `samuel sync` has written.
    #[serde(rename = "sync.after")]
    SyncAfter,
    /// Fires once, before the loop.
    #[serde(rename = "session.start")]
    SessionStart,
    /// Fires once, before the first iteration.
    #[serde(rename = "before:loop")]
    BeforeLoop,
    /// Fires at the start of each iteration.
    #[serde(rename = "before:iteration")]
    BeforeIteration,
    /// Says whether the loop goes on, and in which mode.
    #[serde(rename = "iteration.gate")]
    IterationGate,
    /// Fires before a prompt is put together.
    #[serde(rename = "prompt.submit")]
    PromptSubmit,
    /// Produces what the agent is told of the project, as TOON.
    #[serde(rename = "context.snapshot")]
    ContextSnapshot,
    /// Produces what the agent is told of earlier work, as Markdown.
    #[serde(rename = "context.progress")]
    ContextProgress,
    /// Produces what the agent is told of its task, as TOON.
    #[serde(rename = "context.task")]
    ContextTask,
    /// Adds sections of its own to the prompt.
    #[serde(rename = "context.extra")]
    ContextExtra,
    /// Changes what the agent is called with.
    #[serde(rename = "before:agent.invoke")]
    BeforeAgentInvoke,
    /// Runs the agent.
    #[serde(rename = "agent.invoke")]
    AgentInvoke,
    /// Fires after each agent call.
    #[serde(rename = "after:agent.invoke")]
    AfterAgentInvoke,
    /// Fires after each agent call of an iteration.
    #[serde(rename = "quality.check")]
    QualityCheck,
    /// Fires after each iteration, failed ones included.
    #[serde(rename = "after:iteration")]
    AfterIteration,
    /// Fires when an iteration failed.
    #[serde(rename = "iteration.error")]
    IterationError,
    /// Fires once for each completion, while the agent is still at work.
    #[serde(rename = "task.completed")]
    TaskCompleted,
    /// Fires before each tool call of the agent.
    #[serde(rename = "ability.before")]
    AbilityBefore,
    /// Fires after each tool call.
    #[serde(rename = "ability.after")]
    AbilityAfter,
    /// Fires when the loop is about to end.
    #[serde(rename = "session.stop")]
    SessionStop,
    /// Fires once, after the last iteration.
    #[serde(rename = "after:loop")]
    AfterLoop,
    /// Fires once, as the last point of a run.
    #[serde(rename = "session.end")]
    SessionEnd,
}

impl HookPoint {
    /// Every point, in the order of the contract.
    pub const ALL: &[Self] = &[
        Self::InitBefore,
        Self::InitAfter,
        Self::SyncBefore,
        Self::SyncAfter,
        Self::SessionStart,
        Self::BeforeLoop,
        Self::BeforeIteration,
        Self::IterationGate,
        Self::PromptSubmit,
        Self::ContextSnapshot,
        Self::ContextProgress,
        Self::ContextTask,
        Self::ContextExtra,
        Self::BeforeAgentInvoke,
        Self::AgentInvoke,
        Self::AfterAgentInvoke,
        Self::QualityCheck,
        Self::AfterIteration,
        Self::IterationError,
        Self::TaskCompleted,
        Self::AbilityBefore,
        Self::AbilityAfter,
        Self::SessionStop,
        Self::AfterLoop,
        Self::SessionEnd,
    ];

    /// Returns the id, such as `before:agent.invoke`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InitBefore => "init.before",
            Self::InitAfter => "init.after",
            Self::SyncBefore => "sync.before",
            Self::SyncAfter => "sync.after",
            Self::SessionStart => "session.start",
            Self::BeforeLoop => "before:loop",
            Self::BeforeIteration => "before:iteration",
            Self::IterationGate => "iteration.gate",
            Self::PromptSubmit => "prompt.submit",
            Self::ContextSnapshot => "context.snapshot",
            Self::ContextProgress => "context.progress",
            Self::ContextTask => "context.task",
            Self::ContextExtra => "context.extra",
            Self::BeforeAgentInvoke => "before:agent.invoke",
            Self::AgentInvoke => "agent.invoke",
            Self::AfterAgentInvoke => "after:agent.invoke",
            Self::QualityCheck => "quality.check",
            Self::AfterIteration => "after:iteration",
            Self::IterationError => "iteration.error",
            Self::TaskCompleted => "task.completed",
            Self::AbilityBefore => "ability.before",
            Self::AbilityAfter => "ability.after",
            Self::SessionStop => "session.stop",
            Self::AfterLoop => "after:loop",
            Self::SessionEnd => "session.end",
        }
    }

    /// Returns how outcomes become one.
    pub fn kind(self) -> Kind {
        match self {
            Self::InitBefore => Kind::Gate,
            Self::InitAfter => Kind::Observe,
            Self::SyncBefore => Kind::Gate,
            Self::SyncAfter => Kind::Observe,
            Self::SessionStart => Kind::Observe,
            Self::BeforeLoop => Kind::Gate,
            Self::BeforeIteration => Kind::Gate,
            Self::IterationGate => Kind::Decide,
            Self::PromptSubmit => Kind::Gate,
            Self::ContextSnapshot => Kind::Blob,
            Self::ContextProgress => Kind::Blob,
            Self::ContextTask => Kind::Blob,
            Self::ContextExtra => Kind::List,
            Self::BeforeAgentInvoke => Kind::Transform,
            Self::AgentInvoke => Kind::Replace,
            Self::AfterAgentInvoke => Kind::Observe,
            Self::QualityCheck => Kind::List,
            Self::AfterIteration => Kind::Observe,
            Self::IterationError => Kind::Observe,
            Self::TaskCompleted => Kind::Observe,
            Self::AbilityBefore => Kind::Transform,
            Self::AbilityAfter => Kind::Observe,
            Self::SessionStop => Kind::Gate,
            Self::AfterLoop => Kind::Observe,
            Self::SessionEnd => Kind::Observe,
        }
    }

    /// Returns what a handler that breaks does where nothing is
    /// configured.
    pub fn default_on_failure(self) -> OnFailure {
        match self {
            Self::InitBefore => OnFailure::AbortCommand,
            Self::InitAfter => OnFailure::Warn,
            Self::SyncBefore => OnFailure::AbortCommand,
            Self::SyncAfter => OnFailure::Warn,
            Self::SessionStart => OnFailure::Warn,
            Self::BeforeLoop => OnFailure::AbortLoop,
            Self::BeforeIteration => OnFailure::Warn,
            Self::IterationGate => OnFailure::Warn,
            Self::PromptSubmit => OnFailure::Warn,
            Self::ContextSnapshot => OnFailure::Warn,
            Self::ContextProgress => OnFailure::Warn,
            Self::ContextTask => OnFailure::Warn,
            Self::ContextExtra => OnFailure::Warn,
            Self::BeforeAgentInvoke => OnFailure::AbortIteration,
            Self::AgentInvoke => OnFailure::AbortIteration,
            Self::AfterAgentInvoke => OnFailure::Warn,
            Self::QualityCheck => OnFailure::AbortIteration,
            Self::AfterIteration => OnFailure::Warn,
            Self::IterationError => OnFailure::Warn,
            Self::TaskCompleted => OnFailure::Warn,
            Self::AbilityBefore => OnFailure::Warn,
            Self::AbilityAfter => OnFailure::Warn,
            Self::SessionStop => OnFailure::Warn,
            Self::AfterLoop => OnFailure::Warn,
            Self::SessionEnd => OnFailure::Warn,
        }
    }

    /// Returns the abort that fits the point: the one `strict = true` means.
    pub fn strict(self) -> OnFailure {
        match self {
            Self::InitBefore => OnFailure::AbortCommand,
            Self::InitAfter => OnFailure::AbortCommand,
            Self::SyncBefore => OnFailure::AbortCommand,
            Self::SyncAfter => OnFailure::AbortCommand,
            Self::SessionStart => OnFailure::AbortLoop,
            Self::BeforeLoop => OnFailure::AbortLoop,
            Self::BeforeIteration => OnFailure::AbortIteration,
            Self::IterationGate => OnFailure::AbortIteration,
            Self::PromptSubmit => OnFailure::AbortIteration,
            Self::ContextSnapshot => OnFailure::AbortIteration,
            Self::ContextProgress => OnFailure::AbortIteration,
            Self::ContextTask => OnFailure::AbortIteration,
            Self::ContextExtra => OnFailure::AbortIteration,
            Self::BeforeAgentInvoke => OnFailure::AbortIteration,
            Self::AgentInvoke => OnFailure::AbortIteration,
            Self::AfterAgentInvoke => OnFailure::AbortIteration,
            Self::QualityCheck => OnFailure::AbortIteration,
            Self::AfterIteration => OnFailure::AbortIteration,
            Self::IterationError => OnFailure::AbortIteration,
            Self::TaskCompleted => OnFailure::AbortIteration,
            Self::AbilityBefore => OnFailure::AbortIteration,
            Self::AbilityAfter => OnFailure::AbortIteration,
            Self::SessionStop => OnFailure::AbortIteration,
            Self::AfterLoop => OnFailure::AbortLoop,
            Self::SessionEnd => OnFailure::AbortLoop,
        }
    }

    /// Says why a chain cannot be kept to the iterations of one mode; nothing
    /// where it can.
    pub fn refuses_mode(self) -> Option<&'static str> {
        match self {
            Self::InitBefore => Some("it fires outside of iterations"),
            Self::InitAfter => Some("it fires outside of iterations"),
            Self::SyncBefore => Some("it fires outside of iterations"),
            Self::SyncAfter => Some("it fires outside of iterations"),
            Self::SessionStart => Some("it fires outside of iterations"),
            Self::BeforeLoop => Some("it fires outside of iterations"),
            Self::BeforeIteration => Some("it fires before the mode of an iteration is decided"),
            Self::IterationGate => Some("it fires before the mode of an iteration is decided"),
            Self::PromptSubmit => None,
            Self::ContextSnapshot => None,
            Self::ContextProgress => None,
            Self::ContextTask => None,
            Self::ContextExtra => None,
            Self::BeforeAgentInvoke => Some("in iterations of the other mode no agent could be called"),
            Self::AgentInvoke => Some("in iterations of the other mode no agent could be called"),
            Self::AfterAgentInvoke => None,
            Self::QualityCheck => None,
            Self::AfterIteration => None,
            Self::IterationError => None,
            Self::TaskCompleted => None,
            Self::AbilityBefore => None,
            Self::AbilityAfter => None,
            Self::SessionStop => Some("it fires outside of iterations"),
            Self::AfterLoop => Some("it fires outside of iterations"),
            Self::SessionEnd => Some("it fires outside of iterations"),
        }
    }

    /// Returns an input as JSON, in which every field has a value.
    pub fn sample(self) -> &'static str {
        match self {
            Self::InitBefore => r#"{"project_root": "/home/ada/parser", "force": false, "minimal": true}"#,
            Self::InitAfter => {
                r#"{"project_root": "/home/ada/parser", "plugins_installed": ["samuel-rust"]}"#
            }
            Self::SyncBefore => r#"{"project_root": "/home/ada/parser", "dry_run": false}"#,
            Self::SyncAfter => {
                r#"{"project_root": "/home/ada/parser", "files_written": ["AGENTS.md", "src/AGENTS.md"]}"#
            }
            Self::SessionStart => r#"{"session": "parser", "source": "startup"}"#,
            Self::BeforeLoop => {
                r#"{"prd_path": "/home/ada/parser/.samuel/run/prd.toon", "max_iterations": 20}"#
            }
            Self::BeforeIteration => {
                r#"{
  "iteration": 3,
  "task": {
    "id": "1.2",
    "title": "Parse the header",
    "priority": "high",
    "complexity": "medium",
    "description": "Read version and flags.",
    "files_to_modify": ["src/parse.rs"],
    "files_to_create": ["src/header.rs"],
    "depends_on": ["1.1"]
  }
}"#
            }
            Self::IterationGate => {
                r#"{"iteration": 3, "consec_fails": 1, "queue_size": 4, "mode": "implementation"}"#
            }
            Self::PromptSubmit => {
                r#"{"source": "task", "user_raw_input": "Parse the header\n\nRead version and flags."}"#
            }
            Self::ContextSnapshot => r#"{"project_root": "/home/ada/parser"}"#,
            Self::ContextProgress => r#"{"progress_path": "/home/ada/parser/.samuel/run/progress.md"}"#,
            Self::ContextTask => {
                r#"{
  "task": {
    "id": "1.2",
    "title": "Parse the header",
    "priority": "high",
    "complexity": "medium",
    "description": "Read version and flags.",
    "files_to_modify": ["src/parse.rs"],
    "files_to_create": ["src/header.rs"],
    "depends_on": ["1.1"]
  },
  "mode": "implementation"
}"#
            }
            Self::ContextExtra => {
                r#"{
  "task": {
    "id": "1.2",
    "title": "Parse the header",
    "priority": "high",
    "complexity": "medium",
    "description": "Read version and flags.",
    "files_to_modify": ["src/parse.rs"],
    "files_to_create": ["src/header.rs"],
    "depends_on": ["1.1"]
  }
}"#
            }
            Self::BeforeAgentInvoke => {
                r#"{
  "agent": "claude",
  "prompt": "Work on task 1.2.",
  "env": [["LANG", "C.UTF-8"]],
  "env_names": ["ANTHROPIC_API_KEY", "LANG", "PATH"],
  "sandbox": "host",
  "snapshot": "files: 12",
  "progress": "The lessons so far:\n\n- The parser is recursive.\n",
  "task_context": "ticket: PARSE-7",
  "extras": [{"name": "Glossary", "content": "Header: the first 16 bytes."}]
}"#
            }
            Self::AgentInvoke => {
                r#"{
  "agent": "claude",
  "prompt": "Work on task 1.2.",
  "env": [["LANG", "C.UTF-8"]],
  "env_names": ["ANTHROPIC_API_KEY", "LANG", "PATH"],
  "sandbox": "host",
  "task": {
    "id": "1.2",
    "title": "Parse the header",
    "priority": "high",
    "complexity": "medium",
    "description": "Read version and flags.",
    "files_to_modify": ["src/parse.rs"],
    "files_to_create": ["src/header.rs"],
    "depends_on": ["1.1"]
  }
}"#
            }
            Self::AfterAgentInvoke => {
                r#"{
  "exit_code": 0,
  "stdout": "Done.",
  "stderr": "",
  "duration_ms": 41200,
  "usage": {
    "input_tokens": 18200,
    "output_tokens": 950,
    "cached_tokens": 16000,
    "cost_usd": 0.21
  }
}"#
            }
            Self::QualityCheck => r#"{"commands": ["cargo test", "cargo clippy"]}"#,
            Self::AfterIteration => {
                r#"{
  "iteration": 3,
  "task": {
    "id": "1.2",
    "title": "Parse the header",
    "priority": "high",
    "complexity": "medium",
    "description": "Read version and flags.",
    "files_to_modify": ["src/parse.rs"],
    "files_to_create": ["src/header.rs"],
    "depends_on": ["1.1"]
  },
  "outcome": "succeeded",
  "changed_files": ["src/parse.rs"]
}"#
            }
            Self::IterationError => {
                r#"{"error": "cargo test failed", "class": "quality-check", "consec_fails": 2}"#
            }
            Self::TaskCompleted => {
                r#"{
  "task_id": "1.2",
  "task_content": "Parse the header\nRead version and flags.",
  "actor": "agent",
  "provisional": true
}"#
            }
            Self::AbilityBefore => {
                r#"{
  "ability_id": "Bash",
  "operation_key": "git.push",
  "input": {"command": "git push --force"},
  "caller": "claude",
  "enforced": true
}"#
            }
            Self::AbilityAfter => {
                r#"{
  "ability_id": "Bash",
  "operation_key": "cargo.test",
  "status": "success",
  "duration_ms": 5300,
  "input_summary": "cargo test",
  "output_summary": "41 passed",
  "tool_call_path": ["Task", "Bash"],
  "changed_files": ["Cargo.lock"]
}"#
            }
            Self::SessionStop => {
                r#"{
  "reason": "completed",
  "changed_files": ["src/parse.rs", "src/header.rs"],
  "stop_block_count": 0
}"#
            }
            Self::AfterLoop => r#"{"iterations_run": 7, "exit_reason": "completed"}"#,
            Self::SessionEnd => r#"{"exit_reason": "completed"}"#,
        }
    }

    /// Calls a visitor with the point as a type.
    pub fn visit<V: PointVisitor>(self, visitor: V) -> V::Out {
        match self {
            Self::InitBefore => visitor.visit::<types::InitBefore>(),
            Self::InitAfter => visitor.visit::<types::InitAfter>(),
            Self::SyncBefore => visitor.visit::<types::SyncBefore>(),
            Self::SyncAfter => visitor.visit::<types::SyncAfter>(),
            Self::SessionStart => visitor.visit::<types::SessionStart>(),
            Self::BeforeLoop => visitor.visit::<types::BeforeLoop>(),
            Self::BeforeIteration => visitor.visit::<types::BeforeIteration>(),
            Self::IterationGate => visitor.visit::<types::IterationGate>(),
            Self::PromptSubmit => visitor.visit::<types::PromptSubmit>(),
            Self::ContextSnapshot => visitor.visit::<types::ContextSnapshot>(),
            Self::ContextProgress => visitor.visit::<types::ContextProgress>(),
            Self::ContextTask => visitor.visit::<types::ContextTask>(),
            Self::ContextExtra => visitor.visit::<types::ContextExtra>(),
            Self::BeforeAgentInvoke => visitor.visit::<types::BeforeAgentInvoke>(),
            Self::AgentInvoke => visitor.visit::<types::AgentInvoke>(),
            Self::AfterAgentInvoke => visitor.visit::<types::AfterAgentInvoke>(),
            Self::QualityCheck => visitor.visit::<types::QualityCheck>(),
            Self::AfterIteration => visitor.visit::<types::AfterIteration>(),
            Self::IterationError => visitor.visit::<types::IterationError>(),
            Self::TaskCompleted => visitor.visit::<types::TaskCompleted>(),
            Self::AbilityBefore => visitor.visit::<types::AbilityBefore>(),
            Self::AbilityAfter => visitor.visit::<types::AbilityAfter>(),
            Self::SessionStop => visitor.visit::<types::SessionStop>(),
            Self::AfterLoop => visitor.visit::<types::AfterLoop>(),
            Self::SessionEnd => visitor.visit::<types::SessionEnd>(),
        }
    }
}

impl FromStr for HookPoint {
    type Err = UnknownPoint;

    fn from_str(text: &str) -> Result<Self, UnknownPoint> {
        match text {
            "init.before" => Ok(Self::InitBefore),
            "init.after" => Ok(Self::InitAfter),
            "sync.before" => Ok(Self::SyncBefore),
            "sync.after" => Ok(Self::SyncAfter),
            "session.start" => Ok(Self::SessionStart),
            "before:loop" => Ok(Self::BeforeLoop),
            "before:iteration" => Ok(Self::BeforeIteration),
            "iteration.gate" => Ok(Self::IterationGate),
            "prompt.submit" => Ok(Self::PromptSubmit),
            "context.snapshot" => Ok(Self::ContextSnapshot),
            "context.progress" => Ok(Self::ContextProgress),
            "context.task" => Ok(Self::ContextTask),
            "context.extra" => Ok(Self::ContextExtra),
            "before:agent.invoke" => Ok(Self::BeforeAgentInvoke),
            "agent.invoke" => Ok(Self::AgentInvoke),
            "after:agent.invoke" => Ok(Self::AfterAgentInvoke),
            "quality.check" => Ok(Self::QualityCheck),
            "after:iteration" => Ok(Self::AfterIteration),
            "iteration.error" => Ok(Self::IterationError),
            "task.completed" => Ok(Self::TaskCompleted),
            "ability.before" => Ok(Self::AbilityBefore),
            "ability.after" => Ok(Self::AbilityAfter),
            "session.stop" => Ok(Self::SessionStop),
            "after:loop" => Ok(Self::AfterLoop),
            "session.end" => Ok(Self::SessionEnd),
            _ => Err(UnknownPoint::new(text)),
        }
    }
}

/// What any point's handlers are given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "point", content = "input")]
#[expect(missing_docs, reason = "the cases are the points")]
pub enum HookCall {
    #[serde(rename = "init.before")]
    InitBefore(InitBeforeInput),
    #[serde(rename = "init.after")]
    InitAfter(InitAfterInput),
    #[serde(rename = "sync.before")]
    SyncBefore(SyncBeforeInput),
    #[serde(rename = "sync.after")]
    SyncAfter(SyncAfterInput),
    #[serde(rename = "session.start")]
    SessionStart(SessionStartInput),
    #[serde(rename = "before:loop")]
    BeforeLoop(BeforeLoopInput),
    #[serde(rename = "before:iteration")]
    BeforeIteration(BeforeIterationInput),
    #[serde(rename = "iteration.gate")]
    IterationGate(IterationGateInput),
    #[serde(rename = "prompt.submit")]
    PromptSubmit(PromptSubmitInput),
    #[serde(rename = "context.snapshot")]
    ContextSnapshot(ContextSnapshotInput),
    #[serde(rename = "context.progress")]
    ContextProgress(ContextProgressInput),
    #[serde(rename = "context.task")]
    ContextTask(ContextTaskInput),
    #[serde(rename = "context.extra")]
    ContextExtra(ContextExtraInput),
    #[serde(rename = "before:agent.invoke")]
    BeforeAgentInvoke(BeforeAgentInvokeInput),
    #[serde(rename = "agent.invoke")]
    AgentInvoke(AgentInvokeInput),
    #[serde(rename = "after:agent.invoke")]
    AfterAgentInvoke(AfterAgentInvokeInput),
    #[serde(rename = "quality.check")]
    QualityCheck(QualityCheckInput),
    #[serde(rename = "after:iteration")]
    AfterIteration(AfterIterationInput),
    #[serde(rename = "iteration.error")]
    IterationError(IterationErrorInput),
    #[serde(rename = "task.completed")]
    TaskCompleted(TaskCompletedInput),
    #[serde(rename = "ability.before")]
    AbilityBefore(AbilityBeforeInput),
    #[serde(rename = "ability.after")]
    AbilityAfter(AbilityAfterInput),
    #[serde(rename = "session.stop")]
    SessionStop(SessionStopInput),
    #[serde(rename = "after:loop")]
    AfterLoop(AfterLoopInput),
    #[serde(rename = "session.end")]
    SessionEnd(SessionEndInput),
}

impl HookCall {
    /// Returns the point.
    pub fn point(&self) -> HookPoint {
        match self {
            Self::InitBefore(_) => HookPoint::InitBefore,
            Self::InitAfter(_) => HookPoint::InitAfter,
            Self::SyncBefore(_) => HookPoint::SyncBefore,
            Self::SyncAfter(_) => HookPoint::SyncAfter,
            Self::SessionStart(_) => HookPoint::SessionStart,
            Self::BeforeLoop(_) => HookPoint::BeforeLoop,
            Self::BeforeIteration(_) => HookPoint::BeforeIteration,
            Self::IterationGate(_) => HookPoint::IterationGate,
            Self::PromptSubmit(_) => HookPoint::PromptSubmit,
            Self::ContextSnapshot(_) => HookPoint::ContextSnapshot,
            Self::ContextProgress(_) => HookPoint::ContextProgress,
            Self::ContextTask(_) => HookPoint::ContextTask,
            Self::ContextExtra(_) => HookPoint::ContextExtra,
            Self::BeforeAgentInvoke(_) => HookPoint::BeforeAgentInvoke,
            Self::AgentInvoke(_) => HookPoint::AgentInvoke,
            Self::AfterAgentInvoke(_) => HookPoint::AfterAgentInvoke,
            Self::QualityCheck(_) => HookPoint::QualityCheck,
            Self::AfterIteration(_) => HookPoint::AfterIteration,
            Self::IterationError(_) => HookPoint::IterationError,
            Self::TaskCompleted(_) => HookPoint::TaskCompleted,
            Self::AbilityBefore(_) => HookPoint::AbilityBefore,
            Self::AbilityAfter(_) => HookPoint::AbilityAfter,
            Self::SessionStop(_) => HookPoint::SessionStop,
            Self::AfterLoop(_) => HookPoint::AfterLoop,
            Self::SessionEnd(_) => HookPoint::SessionEnd,
        }
    }

    /// Calls a visitor with the point as a type, and its input.
    pub fn visit<V: CallVisitor>(self, visitor: V) -> V::Out {
        match self {
            Self::InitBefore(input) => visitor.visit::<types::InitBefore>(input),
            Self::InitAfter(input) => visitor.visit::<types::InitAfter>(input),
            Self::SyncBefore(input) => visitor.visit::<types::SyncBefore>(input),
            Self::SyncAfter(input) => visitor.visit::<types::SyncAfter>(input),
            Self::SessionStart(input) => visitor.visit::<types::SessionStart>(input),
            Self::BeforeLoop(input) => visitor.visit::<types::BeforeLoop>(input),
            Self::BeforeIteration(input) => visitor.visit::<types::BeforeIteration>(input),
            Self::IterationGate(input) => visitor.visit::<types::IterationGate>(input),
            Self::PromptSubmit(input) => visitor.visit::<types::PromptSubmit>(input),
            Self::ContextSnapshot(input) => visitor.visit::<types::ContextSnapshot>(input),
            Self::ContextProgress(input) => visitor.visit::<types::ContextProgress>(input),
            Self::ContextTask(input) => visitor.visit::<types::ContextTask>(input),
            Self::ContextExtra(input) => visitor.visit::<types::ContextExtra>(input),
            Self::BeforeAgentInvoke(input) => visitor.visit::<types::BeforeAgentInvoke>(input),
            Self::AgentInvoke(input) => visitor.visit::<types::AgentInvoke>(input),
            Self::AfterAgentInvoke(input) => visitor.visit::<types::AfterAgentInvoke>(input),
            Self::QualityCheck(input) => visitor.visit::<types::QualityCheck>(input),
            Self::AfterIteration(input) => visitor.visit::<types::AfterIteration>(input),
            Self::IterationError(input) => visitor.visit::<types::IterationError>(input),
            Self::TaskCompleted(input) => visitor.visit::<types::TaskCompleted>(input),
            Self::AbilityBefore(input) => visitor.visit::<types::AbilityBefore>(input),
            Self::AbilityAfter(input) => visitor.visit::<types::AbilityAfter>(input),
            Self::SessionStop(input) => visitor.visit::<types::SessionStop>(input),
            Self::AfterLoop(input) => visitor.visit::<types::AfterLoop>(input),
            Self::SessionEnd(input) => visitor.visit::<types::SessionEnd>(input),
        }
    }
}

/// The hook points as types.
pub mod types {
    use super::*;

    /// Fires once, before `samuel init` writes anything.
    /// A refusal ends the command with nothing written.
    #[derive(Clone, Copy, Debug)]
    pub struct InitBefore;

    impl Point for InitBefore {
        const POINT: HookPoint = HookPoint::InitBefore;
        const PREVIOUS: bool = false;
        type Input = InitBeforeInput;
        type Output = InitBeforeOutput;

        fn wrap(input: InitBeforeInput) -> HookCall {
            HookCall::InitBefore(input)
        }
    }

    /// Fires once, after `samuel init` has written.
    #[derive(Clone, Copy, Debug)]
    pub struct InitAfter;

    impl Point for InitAfter {
        const POINT: HookPoint = HookPoint::InitAfter;
        const PREVIOUS: bool = false;
        type Input = InitAfterInput;
        type Output = InitAfterOutput;

        fn wrap(input: InitAfterInput) -> HookCall {
            HookCall::InitAfter(input)
        }
    }

    /// Fires once, before `samuel sync` writes anything.
    #[derive(Clone, Copy, Debug)]
    pub struct SyncBefore;

    impl Point for SyncBefore {
        const POINT: HookPoint = HookPoint::SyncBefore;
        const PREVIOUS: bool = false;
        type Input = SyncBeforeInput;
        type Output = SyncBeforeOutput;

        fn wrap(input: SyncBeforeInput) -> HookCall {
            HookCall::SyncBefore(input)
        }
    }

    /// Fires once, after `samuel sync` has written.
    #[derive(Clone, Copy, Debug)]
    pub struct SyncAfter;

    impl Point for SyncAfter {
        const POINT: HookPoint = HookPoint::SyncAfter;
        const PREVIOUS: bool = false;
        type Input = SyncAfterInput;
        type Output = SyncAfterOutput;

        fn wrap(input: SyncAfterInput) -> HookCall {
            HookCall::SyncAfter(input)
        }
    }

    /// Fires once, before the loop.
    #[derive(Clone, Copy, Debug)]
    pub struct SessionStart;

    impl Point for SessionStart {
        const POINT: HookPoint = HookPoint::SessionStart;
        const PREVIOUS: bool = false;
        type Input = SessionStartInput;
        type Output = SessionStartOutput;

        fn wrap(input: SessionStartInput) -> HookCall {
            HookCall::SessionStart(input)
        }
    }

    /// Fires once, before the first iteration.
    #[derive(Clone, Copy, Debug)]
    pub struct BeforeLoop;

    impl Point for BeforeLoop {
        const POINT: HookPoint = HookPoint::BeforeLoop;
        const PREVIOUS: bool = false;
        type Input = BeforeLoopInput;
        type Output = BeforeLoopOutput;

        fn wrap(input: BeforeLoopInput) -> HookCall {
            HookCall::BeforeLoop(input)
        }
    }

    /// Fires at the start of each iteration. A
    /// refusal fails the iteration before the agent is called.
    #[derive(Clone, Copy, Debug)]
    pub struct BeforeIteration;

    impl Point for BeforeIteration {
        const POINT: HookPoint = HookPoint::BeforeIteration;
        const PREVIOUS: bool = false;
        type Input = BeforeIterationInput;
        type Output = BeforeIterationOutput;

        fn wrap(input: BeforeIterationInput) -> HookCall {
            HookCall::BeforeIteration(input)
        }
    }

    /// Says whether the loop goes on, and in which mode.
    #[derive(Clone, Copy, Debug)]
    pub struct IterationGate;

    impl Point for IterationGate {
        const POINT: HookPoint = HookPoint::IterationGate;
        const PREVIOUS: bool = false;
        type Input = IterationGateInput;
        type Output = IterationGateOutput;

        fn wrap(input: IterationGateInput) -> HookCall {
            HookCall::IterationGate(input)
        }
    }

    /// Fires before a prompt is put together.
    #[derive(Clone, Copy, Debug)]
    pub struct PromptSubmit;

    impl Point for PromptSubmit {
        const POINT: HookPoint = HookPoint::PromptSubmit;
        const PREVIOUS: bool = false;
        type Input = PromptSubmitInput;
        type Output = PromptSubmitOutput;

        fn wrap(input: PromptSubmitInput) -> HookCall {
            HookCall::PromptSubmit(input)
        }
    }

    /// Produces what the agent is told of the project, as TOON.
    #[derive(Clone, Copy, Debug)]
    pub struct ContextSnapshot;

    impl Point for ContextSnapshot {
        const POINT: HookPoint = HookPoint::ContextSnapshot;
        const PREVIOUS: bool = true;
        type Input = ContextSnapshotInput;
        type Output = ContextSnapshotOutput;

        fn wrap(input: ContextSnapshotInput) -> HookCall {
            HookCall::ContextSnapshot(input)
        }
    }

    /// Produces what the agent is told of earlier work, as
    /// Markdown.
    #[derive(Clone, Copy, Debug)]
    pub struct ContextProgress;

    impl Point for ContextProgress {
        const POINT: HookPoint = HookPoint::ContextProgress;
        const PREVIOUS: bool = true;
        type Input = ContextProgressInput;
        type Output = ContextProgressOutput;

        fn wrap(input: ContextProgressInput) -> HookCall {
            HookCall::ContextProgress(input)
        }
    }

    /// Produces what the agent is told of its task, as TOON.
    #[derive(Clone, Copy, Debug)]
    pub struct ContextTask;

    impl Point for ContextTask {
        const POINT: HookPoint = HookPoint::ContextTask;
        const PREVIOUS: bool = true;
        type Input = ContextTaskInput;
        type Output = ContextTaskOutput;

        fn wrap(input: ContextTaskInput) -> HookCall {
            HookCall::ContextTask(input)
        }
    }

    /// Adds sections of its own to the prompt.
    #[derive(Clone, Copy, Debug)]
    pub struct ContextExtra;

    impl Point for ContextExtra {
        const POINT: HookPoint = HookPoint::ContextExtra;
        const PREVIOUS: bool = true;
        type Input = ContextExtraInput;
        type Output = ContextExtraOutput;

        fn wrap(input: ContextExtraInput) -> HookCall {
            HookCall::ContextExtra(input)
        }
    }

    /// Changes what the agent is called with.
    /// The environment's deny list is applied again after the last handler.
    /// A plugin cannot choose another agent or sandbox.
    #[derive(Clone, Copy, Debug)]
    pub struct BeforeAgentInvoke;

    impl Point for BeforeAgentInvoke {
        const POINT: HookPoint = HookPoint::BeforeAgentInvoke;
        const PREVIOUS: bool = true;
        type Input = BeforeAgentInvokeInput;
        type Output = BeforeAgentInvokeOutput;

        fn apply(input: &mut BeforeAgentInvokeInput, output: &BeforeAgentInvokeOutput) {
            if let Some(changed) = &output.agent {
                input.agent.clone_from(changed);
            }
            if let Some(changed) = &output.prompt {
                input.prompt.clone_from(changed);
            }
            if !output.env.is_empty() {
                crate::changes::apply(&mut input.env, &output.env);
                input.env_names = input.env.iter().map(|(name, _)| name.clone()).collect();
            }
            if let Some(changed) = &output.sandbox {
                input.sandbox.clone_from(changed);
            }
        }

        fn wrap(input: BeforeAgentInvokeInput) -> HookCall {
            HookCall::BeforeAgentInvoke(input)
        }
    }

    /// Runs the agent. Only the last handler in order is
    /// called; the others are shadowed.
    #[derive(Clone, Copy, Debug)]
    pub struct AgentInvoke;

    impl Point for AgentInvoke {
        const POINT: HookPoint = HookPoint::AgentInvoke;
        const PREVIOUS: bool = false;
        type Input = AgentInvokeInput;
        type Output = AgentInvokeOutput;

        fn wrap(input: AgentInvokeInput) -> HookCall {
            HookCall::AgentInvoke(input)
        }
    }

    /// Fires after each agent call.
    #[derive(Clone, Copy, Debug)]
    pub struct AfterAgentInvoke;

    impl Point for AfterAgentInvoke {
        const POINT: HookPoint = HookPoint::AfterAgentInvoke;
        const PREVIOUS: bool = false;
        type Input = AfterAgentInvokeInput;
        type Output = AfterAgentInvokeOutput;

        fn wrap(input: AfterAgentInvokeInput) -> HookCall {
            HookCall::AfterAgentInvoke(input)
        }
    }

    /// Fires after each agent call of an iteration.
    /// Failures of all handlers are concatenated and reach the next prompt.
    #[derive(Clone, Copy, Debug)]
    pub struct QualityCheck;

    impl Point for QualityCheck {
        const POINT: HookPoint = HookPoint::QualityCheck;
        const PREVIOUS: bool = true;
        type Input = QualityCheckInput;
        type Output = QualityCheckOutput;

        fn wrap(input: QualityCheckInput) -> HookCall {
            HookCall::QualityCheck(input)
        }
    }

    /// Fires after each iteration, failed ones
    /// included.
    #[derive(Clone, Copy, Debug)]
    pub struct AfterIteration;

    impl Point for AfterIteration {
        const POINT: HookPoint = HookPoint::AfterIteration;
        const PREVIOUS: bool = false;
        type Input = AfterIterationInput;
        type Output = AfterIterationOutput;

        fn wrap(input: AfterIterationInput) -> HookCall {
            HookCall::AfterIteration(input)
        }
    }

    /// Fires when an iteration failed. Text is
    /// sent to the agent at once, in one recovery turn.
    #[derive(Clone, Copy, Debug)]
    pub struct IterationError;

    impl Point for IterationError {
        const POINT: HookPoint = HookPoint::IterationError;
        const PREVIOUS: bool = false;
        type Input = IterationErrorInput;
        type Output = IterationErrorOutput;

        fn wrap(input: IterationErrorInput) -> HookCall {
            HookCall::IterationError(input)
        }
    }

    /// Fires once for each completion, while the
    /// agent is still at work.
    #[derive(Clone, Copy, Debug)]
    pub struct TaskCompleted;

    impl Point for TaskCompleted {
        const POINT: HookPoint = HookPoint::TaskCompleted;
        const PREVIOUS: bool = false;
        type Input = TaskCompletedInput;
        type Output = TaskCompletedOutput;

        fn wrap(input: TaskCompletedInput) -> HookCall {
            HookCall::TaskCompleted(input)
        }
    }

    /// Fires before each tool call of the agent.
    #[derive(Clone, Copy, Debug)]
    pub struct AbilityBefore;

    impl Point for AbilityBefore {
        const POINT: HookPoint = HookPoint::AbilityBefore;
        const PREVIOUS: bool = true;
        type Input = AbilityBeforeInput;
        type Output = AbilityBeforeOutput;

        fn apply(input: &mut AbilityBeforeInput, output: &AbilityBeforeOutput) {
            if let Some(changed) = &output.updated_input {
                input.input.clone_from(changed);
            }
        }

        fn wrap(input: AbilityBeforeInput) -> HookCall {
            HookCall::AbilityBefore(input)
        }
    }

    /// Fires after each tool call.
    #[derive(Clone, Copy, Debug)]
    pub struct AbilityAfter;

    impl Point for AbilityAfter {
        const POINT: HookPoint = HookPoint::AbilityAfter;
        const PREVIOUS: bool = false;
        type Input = AbilityAfterInput;
        type Output = AbilityAfterOutput;

        fn wrap(input: AbilityAfterInput) -> HookCall {
            HookCall::AbilityAfter(input)
        }
    }

    /// Fires when the loop is about to end. A block
    /// gives the agent one more turn with the reason, at most eight in a row.
    #[derive(Clone, Copy, Debug)]
    pub struct SessionStop;

    impl Point for SessionStop {
        const POINT: HookPoint = HookPoint::SessionStop;
        const PREVIOUS: bool = false;
        type Input = SessionStopInput;
        type Output = SessionStopOutput;

        fn wrap(input: SessionStopInput) -> HookCall {
            HookCall::SessionStop(input)
        }
    }

    /// Fires once, after the last iteration.
    #[derive(Clone, Copy, Debug)]
    pub struct AfterLoop;

    impl Point for AfterLoop {
        const POINT: HookPoint = HookPoint::AfterLoop;
        const PREVIOUS: bool = false;
        type Input = AfterLoopInput;
        type Output = AfterLoopOutput;

        fn wrap(input: AfterLoopInput) -> HookCall {
            HookCall::AfterLoop(input)
        }
    }

    /// Fires once, as the last point of a run.
    #[derive(Clone, Copy, Debug)]
    pub struct SessionEnd;

    impl Point for SessionEnd {
        const POINT: HookPoint = HookPoint::SessionEnd;
        const PREVIOUS: bool = false;
        type Input = SessionEndInput;
        type Output = SessionEndOutput;

        fn wrap(input: SessionEndInput) -> HookCall {
            HookCall::SessionEnd(input)
        }
    }
}
