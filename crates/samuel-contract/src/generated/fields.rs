//! What the inputs and outputs of each point consist of.

// Written by `cargo xtask contract`; change `wit/` instead.

use crate::{Field, HookPoint, field};

impl HookPoint {
    /// Lists what a handler is given beside the call header.
    pub fn input_fields(self) -> &'static [Field] {
        match self {
            Self::InitBefore => {
                &const {
                    [
                        field("project_root", "text", true),
                        field("force", "bool", true),
                        field("minimal", "bool", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::InitAfter => {
                &const {
                    [
                        field("project_root", "text", true),
                        field("plugins_installed", "list of text", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SyncBefore => {
                &const {
                    [
                        field("project_root", "text", true),
                        field("dry_run", "bool", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SyncAfter => {
                &const {
                    [
                        field("project_root", "text", true),
                        field("files_written", "list of text", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SessionStart => {
                &const {
                    [
                        field("session", "text", true),
                        field("source", "startup or resume", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::BeforeLoop => {
                &const {
                    [
                        field("prd_path", "text", true),
                        field("max_iterations", "integer", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::BeforeIteration => {
                &const {
                    [
                        field("iteration", "integer", true),
                        field("task", "optional TaskBrief", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::IterationGate => {
                &const {
                    [
                        field("iteration", "integer", true),
                        field("consec_fails", "integer", true),
                        field("queue_size", "integer", true),
                        field("mode", "implementation or discovery", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::PromptSubmit => {
                &const {
                    [
                        field("source", "text", true),
                        field("user_raw_input", "text", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::ContextSnapshot => {
                &const { [field("project_root", "text", true), field("extensions", "list of tuple", false)] }
            }
            Self::ContextProgress => {
                &const { [field("progress_path", "text", true), field("extensions", "list of tuple", false)] }
            }
            Self::ContextTask => {
                &const {
                    [
                        field("task", "optional TaskBrief", false),
                        field("mode", "implementation or discovery", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::ContextExtra => {
                &const { [field("task", "optional TaskBrief", false), field("extensions", "list of tuple", false)] }
            }
            Self::BeforeAgentInvoke => {
                &const {
                    [
                        field("agent", "text", true),
                        field("prompt", "text", true),
                        field("env", "list of tuple", true),
                        field("env_names", "list of text", false),
                        field("sandbox", "text", true),
                        field("snapshot", "text", false),
                        field("progress", "text", false),
                        field("task_context", "text", false),
                        field("extras", "list of Extra", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AgentInvoke => {
                &const {
                    [
                        field("agent", "text", true),
                        field("prompt", "text", true),
                        field("env", "list of tuple", true),
                        field("env_names", "list of text", false),
                        field("sandbox", "text", true),
                        field("task", "optional TaskBrief", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AfterAgentInvoke => {
                &const {
                    [
                        field("exit_code", "integer", true),
                        field("stdout", "text", true),
                        field("stderr", "text", true),
                        field("duration_ms", "integer", true),
                        field("usage", "optional Usage", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::QualityCheck => {
                &const { [field("commands", "list of text", true), field("extensions", "list of tuple", false)] }
            }
            Self::AfterIteration => {
                &const {
                    [
                        field("iteration", "integer", true),
                        field("task", "optional TaskBrief", false),
                        field("outcome", "succeeded or failed or cancelled", true),
                        field("changed_files", "optional list of text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::IterationError => {
                &const {
                    [
                        field("error", "text", true),
                        field("class", "text", true),
                        field("consec_fails", "integer", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::TaskCompleted => {
                &const {
                    [
                        field("task_id", "text", true),
                        field("task_content", "text", true),
                        field("actor", "agent or user or runtime or external", true),
                        field("provisional", "bool", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AbilityBefore => {
                &const {
                    [
                        field("ability_id", "text", true),
                        field("operation_key", "optional text", false),
                        field("input", "JSON", true),
                        field("caller", "text", true),
                        field("enforced", "bool", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AbilityAfter => {
                &const {
                    [
                        field("ability_id", "text", true),
                        field("operation_key", "optional text", false),
                        field("status", "success or error or cancelled", true),
                        field("duration_ms", "optional integer", false),
                        field("input_summary", "optional text", false),
                        field("output_summary", "optional text", false),
                        field("tool_call_path", "list of text", true),
                        field("changed_files", "optional list of text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SessionStop => {
                &const {
                    [
                        field("reason", "text", true),
                        field("changed_files", "optional list of text", false),
                        field("stop_block_count", "integer", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AfterLoop => {
                &const {
                    [
                        field("iterations_run", "integer", true),
                        field("exit_reason", "text", true),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SessionEnd => {
                &const { [field("exit_reason", "text", true), field("extensions", "list of tuple", false)] }
            }
        }
    }

    /// Lists what a handler answers.
    pub fn output_fields(self) -> &'static [Field] {
        match self {
            Self::InitBefore => {
                &const {
                    [
                        field("ok", "bool", true),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::InitAfter => {
                &const {
                    [
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SyncBefore => {
                &const {
                    [
                        field("ok", "bool", true),
                        field("reason", "optional text", false),
                        field("skip", "bool", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SyncAfter => {
                &const {
                    [
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SessionStart => {
                &const {
                    [
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("text", "list of TextItem", false),
                        field("results", "HookResults", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::BeforeLoop => {
                &const {
                    [
                        field("ok", "bool", true),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::BeforeIteration => {
                &const {
                    [
                        field("ok", "bool", true),
                        field("reason", "optional text", false),
                        field("text", "list of TextItem", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::IterationGate => {
                &const {
                    [
                        field("continue", "bool", true),
                        field("mode", "optional implementation or discovery", false),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::PromptSubmit => {
                &const {
                    [
                        field("block", "bool", true),
                        field("reason", "optional text", false),
                        field("results", "HookResults", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::ContextSnapshot => {
                &const { [field("toon_blob", "text", true), field("extensions", "list of tuple", false)] }
            }
            Self::ContextProgress => {
                &const { [field("md_blob", "text", true), field("extensions", "list of tuple", false)] }
            }
            Self::ContextTask => {
                &const { [field("toon_blob", "text", true), field("extensions", "list of tuple", false)] }
            }
            Self::ContextExtra => {
                &const { [field("extras", "list of Extra", false), field("extensions", "list of tuple", false)] }
            }
            Self::BeforeAgentInvoke => {
                &const {
                    [
                        field("agent", "optional text", false),
                        field("prompt", "optional text", false),
                        field("env", "list of tuple", false),
                        field("sandbox", "optional text", false),
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AgentInvoke => {
                &const {
                    [
                        field("exit_code", "integer", true),
                        field("stdout", "text", false),
                        field("stderr", "text", false),
                        field("usage", "optional Usage", false),
                        field("failure", "optional AgentFailure", false),
                        field("logs", "list of text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AfterAgentInvoke => {
                &const {
                    [
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::QualityCheck => {
                &const {
                    [
                        field("ok", "bool", true),
                        field("reason", "optional text", false),
                        field("failures", "list of CheckFailure", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AfterIteration => {
                &const {
                    [
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("text", "list of TextItem", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::IterationError => {
                &const { [field("text", "list of TextItem", false), field("extensions", "list of tuple", false)] }
            }
            Self::TaskCompleted => {
                &const { [field("text", "list of TextItem", false), field("extensions", "list of tuple", false)] }
            }
            Self::AbilityBefore => {
                &const {
                    [
                        field("block", "bool", true),
                        field("reason", "optional text", false),
                        field("ask", "bool", false),
                        field("updated_input", "optional JSON", false),
                        field("results", "HookResults", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AbilityAfter => {
                &const {
                    [
                        field("text", "list of TextItem", false),
                        field("results", "HookResults", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SessionStop => {
                &const {
                    [
                        field("block", "bool", true),
                        field("reason", "optional text", false),
                        field("results", "HookResults", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::AfterLoop => {
                &const {
                    [
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
            Self::SessionEnd => {
                &const {
                    [
                        field("ok", "bool", false),
                        field("reason", "optional text", false),
                        field("extensions", "list of tuple", false),
                    ]
                }
            }
        }
    }
}
