//! Sample payloads, one a point, for trying plugins out.

use serde_json::{Value, json};

use crate::hook::{HookPoint, Point};

/// Returns a sample input of a point, as JSON. Every field has a value that a
/// handler can work with.
pub fn sample_text(point: HookPoint) -> Value {
    let task = || {
        json!({
            "id": "1.2", "title": "Parse dates", "priority": "high", "complexity": "simple",
            "description": "Dates come as 2026-01-31.\nOthers are refused.",
            "files_to_modify": ["src/parse.rs"], "files_to_create": [], "depends_on": ["1.1"],
        })
    };
    let root = "/home/ada/parser";
    let agent = || json!({ "agent": "claude", "prompt": "Work on the task 1.2.", "env": [["LANG", "C.UTF-8"]], "env_names": ["LANG", "PATH"], "sandbox": "host" });
    match point {
        HookPoint::InitBefore => json!({ "project_root": root, "force": false, "minimal": false }),
        HookPoint::InitAfter => json!({ "project_root": root, "plugins_installed": ["samuel-python"] }),
        HookPoint::SyncBefore => json!({ "project_root": root, "dry_run": false }),
        HookPoint::SyncAfter => json!({ "project_root": root, "files_written": ["AGENTS.md"] }),
        HookPoint::SessionStart => json!({ "session": "parser", "source": "startup" }),
        HookPoint::BeforeLoop => json!({ "prd_path": ".samuel/run/prd.toon", "max_iterations": 20 }),
        HookPoint::BeforeIteration => json!({ "iteration": 3, "task": task() }),
        HookPoint::IterationGate => {
            json!({ "iteration": 3, "consec_fails": 1, "queue_size": 4, "mode": "implementation" })
        }
        HookPoint::PromptSubmit => json!({ "source": "task", "user_raw_input": "Parse dates" }),
        HookPoint::ContextSnapshot => json!({ "project_root": root }),
        HookPoint::ContextProgress => json!({ "progress_path": ".samuel/run/progress.md" }),
        HookPoint::ContextTask => json!({ "task": task(), "mode": "implementation" }),
        HookPoint::ContextExtra => json!({ "task": task() }),
        HookPoint::BeforeAgentInvoke | HookPoint::AgentInvoke => agent(),
        HookPoint::AfterAgentInvoke => json!({
            "exit_code": 0, "stdout": "Done.", "stderr": "", "duration_ms": 61_000,
            "usage": { "input_tokens": 12_000, "output_tokens": 800, "cached_tokens": 9_000, "cost_usd": 0.04 },
        }),
        HookPoint::QualityCheck => json!({ "commands": ["cargo test"] }),
        HookPoint::AfterIteration => json!({
            "iteration": 3, "task": task(), "outcome": "succeeded", "changed_files": ["src/parse.rs"],
        }),
        HookPoint::IterationError => {
            json!({ "error": "cargo test: exit code 101", "class": "quality-check", "consec_fails": 1 })
        }
        HookPoint::TaskCompleted => {
            json!({ "task_id": "1.2", "task_content": "Parse dates", "actor": "agent", "provisional": true })
        }
        HookPoint::AbilityBefore => json!({
            "ability_id": "Bash", "operation_key": "git push", "input": { "command": "git push" },
            "caller": "claude", "enforced": true,
        }),
        HookPoint::AbilityAfter => json!({
            "ability_id": "Edit", "operation_key": "src/parse.rs", "status": "success", "duration_ms": 40,
            "input_summary": "src/parse.rs", "output_summary": "3 lines", "tool_call_path": [],
            "changed_files": ["src/parse.rs"],
        }),
        HookPoint::SessionStop => {
            json!({ "reason": "completed", "changed_files": ["src/parse.rs"], "stop_block_count": 0 })
        }
        HookPoint::AfterLoop => json!({ "iterations_run": 3, "exit_reason": "completed" }),
        HookPoint::SessionEnd => json!({ "exit_reason": "completed" }),
    }
}

/// Returns a sample input of a point.
pub fn sample_input<P: Point>() -> P::Input {
    serde_json::from_value(sample_text(P::POINT)).expect("a test reads the sample of every point")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::hook::PointVisitor;

    struct Reads;

    impl PointVisitor for Reads {
        type Out = Value;

        fn visit<P: Point>(self) -> Value {
            serde_json::to_value(sample_input::<P>()).unwrap()
        }
    }

    #[test]
    fn the_sample_of_every_point_is_its_input_and_has_every_field() {
        for point in HookPoint::ALL {
            let read = point.visit(Reads);
            assert_eq!(read, sample_text(*point), "{point}");
            for field in point.input_fields() {
                let name = field.name;
                assert!(name == "extensions" || read.get(name).is_some(), "{point} lacks {name}");
            }
        }
    }
}
