//! The hook points of `wit/points.toml`.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};

use crate::{
    CallVisitor, Kind, OnFailure, Point, PointVisitor, field,
    payload::*,
    table::{Row, points},
};

points! {
/// Fires once, before `samuel init` writes anything.
/// A refusal ends the command with nothing written.
InitBefore(InitBeforeInput) -> InitBeforeOutput {
    id: "init.before",
    kind: Gate,
    on_failure: AbortCommand,
    strict: AbortCommand,
    every_mode: Some("it fires outside of iterations"),
    previous: false,
    sample: r#"{"project_root": "/home/ada/parser", "force": false, "minimal": true}"#,
    given: [
        ("project_root", "text", true),
        ("force", "bool", true),
        ("minimal", "bool", true),
        ("extensions", "list of tuple", false),
    ],
    answered: [
        ("ok", "bool", true),
        ("reason", "optional text", false),
        ("extensions", "list of tuple", false),
    ],
}

/// Fires once, after `samuel init` has written.
InitAfter(InitAfterInput) -> InitAfterOutput {
    id: "init.after",
    kind: Observe,
    on_failure: Warn,
    strict: AbortCommand,
    every_mode: Some("it fires outside of iterations"),
    previous: false,
    sample: r#"{"project_root": "/home/ada/parser", "plugins_installed": ["samuel-rust"]}"#,
    given: [
        ("project_root", "text", true),
        ("plugins_installed", "list of text", true),
        ("extensions", "list of tuple", false),
    ],
    answered: [
        ("ok", "bool", false),
        ("reason", "optional text", false),
        ("extensions", "list of tuple", false),
    ],
}

/// Fires once, before `samuel sync` writes anything.
SyncBefore(SyncBeforeInput) -> SyncBeforeOutput {
    id: "sync.before",
    kind: Gate,
    on_failure: AbortCommand,
    strict: AbortCommand,
    every_mode: Some("it fires outside of iterations"),
    previous: false,
    sample: r#"{"project_root": "/home/ada/parser", "dry_run": false}"#,
    given: [
        ("project_root", "text", true),
        ("dry_run", "bool", true),
        ("extensions", "list of tuple", false),
    ],
    answered: [
        ("ok", "bool", true),
        ("reason", "optional text", false),
        ("skip", "bool", false),
        ("extensions", "list of tuple", false),
    ],
}

/// Fires once, after `samuel sync` has written.
SyncAfter(SyncAfterInput) -> SyncAfterOutput {
    id: "sync.after",
    kind: Observe,
    on_failure: Warn,
    strict: AbortCommand,
    every_mode: Some("it fires outside of iterations"),
    previous: false,
    sample: r#"{"project_root": "/home/ada/parser", "files_written": ["AGENTS.md", "src/AGENTS.md"]}"#,
    given: [
        ("project_root", "text", true),
        ("files_written", "list of text", true),
        ("extensions", "list of tuple", false),
    ],
    answered: [
        ("ok", "bool", false),
        ("reason", "optional text", false),
        ("extensions", "list of tuple", false),
    ],
}

/// Fires once, before the loop.
SessionStart(SessionStartInput) -> SessionStartOutput {
    id: "session.start",
    kind: Observe,
    on_failure: Warn,
    strict: AbortLoop,
    every_mode: Some("it fires outside of iterations"),
    previous: false,
    sample: r#"{"session": "parser", "source": "startup"}"#,
    given: [
        ("session", "text", true),
        ("source", "startup or resume", true),
        ("extensions", "list of tuple", false),
    ],
    answered: [
        ("ok", "bool", false),
        ("reason", "optional text", false),
        ("text", "list of TextItem", false),
        ("results", "HookResults", false),
        ("extensions", "list of tuple", false),
    ],
}

/// Fires once, before the first iteration.
BeforeLoop(BeforeLoopInput) -> BeforeLoopOutput {
    id: "before:loop",
    kind: Gate,
    on_failure: AbortLoop,
    strict: AbortLoop,
    every_mode: Some("it fires outside of iterations"),
    previous: false,
    sample: r#"{"prd_path": "/home/ada/parser/.samuel/run/prd.toon", "max_iterations": 20}"#,
    given: [
        ("prd_path", "text", true),
        ("max_iterations", "optional integer", false),
        ("extensions", "list of tuple", false),
    ],
    answered: [
        ("ok", "bool", true),
        ("reason", "optional text", false),
        ("extensions", "list of tuple", false),
    ],
}

/// Fires at the start of each iteration. A
/// refusal fails the iteration before the agent is called.
BeforeIteration(BeforeIterationInput) -> BeforeIterationOutput {
    id: "before:iteration",
    kind: Gate,
    on_failure: Warn,
    strict: AbortIteration,
    every_mode: Some("it fires before the mode of an iteration is decided"),
    previous: false,
    sample: r#"{
              "iteration": 3,
              "task": {
                    "id": "1.2",
                    "title": "Parse the header",
                    "priority": "high",
                    "complexity": "medium",
                    "description": "Read version and flags.",
                    "files_to_modify": ["src/parse.rs"],
                    "files_to_create": ["src/header.rs"],
                    "depends_on": ["1.1"],
                    "acceptance": ["A file of another version is refused."]
                  }
            }"#,
        given: [
            ("iteration", "integer", true),
            ("task", "optional TaskBrief", false),
            ("extensions", "list of tuple", false),
        ],
        answered: [
            ("ok", "bool", true),
            ("reason", "optional text", false),
            ("text", "list of TextItem", false),
            ("extensions", "list of tuple", false),
        ],
    }

    /// Says whether the loop goes on, and in which mode.
    IterationGate(IterationGateInput) -> IterationGateOutput {
        id: "iteration.gate",
        kind: Decide,
        on_failure: Warn,
        strict: AbortIteration,
        every_mode: Some("it fires before the mode of an iteration is decided"),
        previous: false,
        sample: r#"{"iteration": 3, "consec_fails": 1, "queue_size": 4, "mode": "implementation"}"#,
        given: [
            ("iteration", "integer", true),
            ("consec_fails", "integer", true),
            ("queue_size", "integer", true),
            ("mode", "implementation or discovery", true),
            ("extensions", "list of tuple", false),
        ],
        answered: [
            ("continue", "bool", true),
            ("mode", "optional implementation or discovery", false),
            ("reason", "optional text", false),
            ("extensions", "list of tuple", false),
        ],
    }

    /// Fires before a prompt is put together.
    PromptSubmit(PromptSubmitInput) -> PromptSubmitOutput {
        id: "prompt.submit",
        kind: Gate,
        on_failure: Warn,
        strict: AbortIteration,
        every_mode: None,
        previous: false,
        sample: r#"{"source": "task", "user_raw_input": "Parse the header\n\nRead version and flags."}"#,
        given: [
            ("source", "text", true),
            ("user_raw_input", "text", true),
            ("extensions", "list of tuple", false),
        ],
        answered: [
            ("block", "bool", true),
            ("reason", "optional text", false),
            ("results", "HookResults", false),
            ("extensions", "list of tuple", false),
        ],
    }

    /// Produces what the agent is told of the project, as TOON.
    ContextSnapshot(ContextSnapshotInput) -> ContextSnapshotOutput {
        id: "context.snapshot",
        kind: Blob,
        on_failure: Warn,
        strict: AbortIteration,
        every_mode: None,
        previous: true,
        sample: r#"{"project_root": "/home/ada/parser"}"#,
        given: [
            ("project_root", "text", true),
            ("extensions", "list of tuple", false),
        ],
        answered: [
            ("toon_blob", "text", true),
            ("extensions", "list of tuple", false),
        ],
    }

    /// Produces what the agent is told of earlier work, as
    /// Markdown.
    ContextProgress(ContextProgressInput) -> ContextProgressOutput {
        id: "context.progress",
        kind: Blob,
        on_failure: Warn,
        strict: AbortIteration,
        every_mode: None,
        previous: true,
        sample: r#"{"progress_path": "/home/ada/parser/.samuel/run/progress.md"}"#,
        given: [
            ("progress_path", "text", true),
            ("extensions", "list of tuple", false),
        ],
        answered: [
            ("md_blob", "text", true),
            ("extensions", "list of tuple", false),
        ],
    }

    /// Produces what the agent is told of its task, as TOON.
    ContextTask(ContextTaskInput) -> ContextTaskOutput {
        id: "context.task",
        kind: Blob,
        on_failure: Warn,
        strict: AbortIteration,
        every_mode: None,
        previous: true,
        sample: r#"{
                  "task": {
                        "id": "1.2",
                        "title": "Parse the header",
                        "priority": "high",
                        "complexity": "medium",
                        "description": "Read version and flags.",
                        "files_to_modify": ["src/parse.rs"],
                        "files_to_create": ["src/header.rs"],
                        "depends_on": ["1.1"],
                        "acceptance": ["A file of another version is refused."]
                      },
                      "mode": "implementation"
                }"#,
            given: [
                ("task", "optional TaskBrief", false),
                ("mode", "implementation or discovery", true),
                ("extensions", "list of tuple", false),
            ],
            answered: [
                ("toon_blob", "text", true),
                ("extensions", "list of tuple", false),
            ],
        }

        /// Adds sections of its own to the prompt.
        ContextExtra(ContextExtraInput) -> ContextExtraOutput {
            id: "context.extra",
            kind: List,
            on_failure: Warn,
            strict: AbortIteration,
            every_mode: None,
            previous: true,
            sample: r#"{
                      "task": {
                            "id": "1.2",
                            "title": "Parse the header",
                            "priority": "high",
                            "complexity": "medium",
                            "description": "Read version and flags.",
                            "files_to_modify": ["src/parse.rs"],
                            "files_to_create": ["src/header.rs"],
                            "depends_on": ["1.1"],
                            "acceptance": ["A file of another version is refused."]
                          }
                    }"#,
                given: [
                    ("task", "optional TaskBrief", false),
                    ("extensions", "list of tuple", false),
                ],
                answered: [
                    ("extras", "list of Extra", false),
                    ("extensions", "list of tuple", false),
                ],
            }

            /// Changes what the agent is called with.
            /// The environment's deny list is applied again after the last handler.
            /// A plugin cannot choose another agent or sandbox.
            BeforeAgentInvoke(BeforeAgentInvokeInput) -> BeforeAgentInvokeOutput {
                id: "before:agent.invoke",
                kind: Transform,
                on_failure: AbortIteration,
                strict: AbortIteration,
                every_mode: Some("in iterations of the other mode no agent could be called"),
                previous: true,
                sample: r#"{
                          "agent": "claude",
                          "prompt": "Work on task 1.2.",
                          "env": [["LANG", "C.UTF-8"]],
                          "env_names": ["ANTHROPIC_API_KEY", "LANG", "PATH"],
                          "sandbox": "host",
                          "snapshot": "files: 12",
                          "progress": "The lessons so far:\n\n- The parser is recursive.\n",
                          "task_context": "ticket: PARSE-7",
                          "extras": [{"name": "Glossary", "content": "Header: the first 16 bytes."}]
                    }"#,
                given: [
                    ("agent", "text", true),
                    ("prompt", "text", true),
                    ("env", "list of tuple", true),
                    ("env_names", "list of text", false),
                    ("sandbox", "text", true),
                    ("snapshot", "text", false),
                    ("progress", "text", false),
                    ("task_context", "text", false),
                    ("extras", "list of Extra", false),
                    ("extensions", "list of tuple", false),
                ],
                answered: [
                    ("agent", "optional text", false),
                    ("prompt", "optional text", false),
                    ("env", "list of tuple", false),
                    ("sandbox", "optional text", false),
                    ("ok", "bool", false),
                    ("reason", "optional text", false),
                    ("extensions", "list of tuple", false),
                ],
                apply(output, input) {
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
            }

            /// Runs the agent. Only the last handler in order is
            /// called; the others are shadowed.
            AgentInvoke(AgentInvokeInput) -> AgentInvokeOutput {
                id: "agent.invoke",
                kind: Replace,
                on_failure: AbortIteration,
                strict: AbortIteration,
                every_mode: Some("in iterations of the other mode no agent could be called"),
                previous: false,
                sample: r#"{
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
                                "depends_on": ["1.1"],
                                "acceptance": ["A file of another version is refused."]
                              },
                              "conversation": "7951589c-2998-4b51-8082-10bac556fff7"
                        }"#,
                    given: [
                        ("agent", "text", true),
                        ("prompt", "text", true),
                        ("env", "list of tuple", true),
                        ("env_names", "list of text", false),
                        ("sandbox", "text", true),
                        ("task", "optional TaskBrief", false),
                        ("conversation", "optional text", false),
                        ("extensions", "list of tuple", false),
                    ],
                    answered: [
                        ("exit_code", "integer", true),
                        ("stdout", "text", false),
                        ("stderr", "text", false),
                        ("usage", "optional Usage", false),
                        ("failure", "optional AgentFailure", false),
                        ("logs", "list of text", false),
                        ("extensions", "list of tuple", false),
                    ],
                }

                /// Fires after each agent call.
                AfterAgentInvoke(AfterAgentInvokeInput) -> AfterAgentInvokeOutput {
                    id: "after:agent.invoke",
                    kind: Observe,
                    on_failure: Warn,
                    strict: AbortIteration,
                    every_mode: None,
                    previous: false,
                    sample: r#"{
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
                            }"#,
                        given: [
                            ("exit_code", "integer", true),
                            ("stdout", "text", true),
                            ("stderr", "text", true),
                            ("duration_ms", "integer", true),
                            ("usage", "optional Usage", false),
                            ("extensions", "list of tuple", false),
                        ],
                        answered: [
                            ("ok", "bool", false),
                            ("reason", "optional text", false),
                            ("extensions", "list of tuple", false),
                        ],
                    }

                    /// Fires after each agent call of an iteration.
                    /// Failures of all handlers are concatenated and reach the next prompt.
                    QualityCheck(QualityCheckInput) -> QualityCheckOutput {
                        id: "quality.check",
                        kind: List,
                        on_failure: AbortIteration,
                        strict: AbortIteration,
                        every_mode: None,
                        previous: true,
                        sample: r#"{"commands": ["cargo test", "cargo clippy"], "changed_files": ["src/header.rs"]}"#,
                        given: [
                            ("commands", "list of text", true),
                            ("changed_files", "optional list of text", false),
                            ("extensions", "list of tuple", false),
                        ],
                        answered: [
                            ("ok", "bool", true),
                            ("reason", "optional text", false),
                            ("failures", "list of CheckFailure", false),
                            ("extensions", "list of tuple", false),
                        ],
                    }

                    /// Fires after each iteration, failed ones
                    /// included.
                    AfterIteration(AfterIterationInput) -> AfterIterationOutput {
                        id: "after:iteration",
                        kind: Observe,
                        on_failure: Warn,
                        strict: AbortIteration,
                        every_mode: None,
                        previous: false,
                        sample: r#"{
                                  "iteration": 3,
                                  "task": {
                                        "id": "1.2",
                                        "title": "Parse the header",
                                        "priority": "high",
                                        "complexity": "medium",
                                        "description": "Read version and flags.",
                                        "files_to_modify": ["src/parse.rs"],
                                        "files_to_create": ["src/header.rs"],
                                        "depends_on": ["1.1"],
                                        "acceptance": ["A file of another version is refused."]
                                      },
                                      "outcome": "succeeded",
                                      "changed_files": ["src/parse.rs"]
                                }"#,
                            given: [
                                ("iteration", "integer", true),
                                ("task", "optional TaskBrief", false),
                                ("outcome", "succeeded or failed or cancelled", true),
                                ("changed_files", "optional list of text", false),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("ok", "bool", false),
                                ("reason", "optional text", false),
                                ("text", "list of TextItem", false),
                                ("extensions", "list of tuple", false),
                            ],
                        }

                        /// Fires when an iteration failed. Text is
                        /// sent to the agent at once, in one recovery turn.
                        IterationError(IterationErrorInput) -> IterationErrorOutput {
                            id: "iteration.error",
                            kind: Observe,
                            on_failure: Warn,
                            strict: AbortIteration,
                            every_mode: None,
                            previous: false,
                            sample: r#"{"error": "cargo test failed", "class": "quality-check", "consec_fails": 2}"#,
                            given: [
                                ("error", "text", true),
                                ("class", "text", true),
                                ("consec_fails", "integer", true),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("text", "list of TextItem", false),
                                ("extensions", "list of tuple", false),
                            ],
                        }

                        /// Fires once for each completion, while the
                        /// agent is still at work.
                        TaskCompleted(TaskCompletedInput) -> TaskCompletedOutput {
                            id: "task.completed",
                            kind: Observe,
                            on_failure: Warn,
                            strict: AbortIteration,
                            every_mode: None,
                            previous: false,
                            sample: r#"{
                                      "task_id": "1.2",
                                      "task_content": "Parse the header\nRead version and flags.",
                                      "actor": "agent",
                                      "provisional": true
                                }"#,
                            given: [
                                ("task_id", "text", true),
                                ("task_content", "text", true),
                                ("actor", "agent or user or runtime or external", true),
                                ("provisional", "bool", true),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("text", "list of TextItem", false),
                                ("extensions", "list of tuple", false),
                            ],
                        }

                        /// Fires before each tool call of the agent.
                        AbilityBefore(AbilityBeforeInput) -> AbilityBeforeOutput {
                            id: "ability.before",
                            kind: Transform,
                            on_failure: Warn,
                            strict: AbortIteration,
                            every_mode: None,
                            previous: true,
                            sample: r#"{
                                      "ability_id": "Bash",
                                      "call_id": "call-7",
                                      "operation_key": "git.push",
                                      "input": {"command": "git push --force"},
                                      "caller": "claude",
                                      "enforced": true
                                }"#,
                            given: [
                                ("ability_id", "text", true),
                                ("call_id", "optional text", false),
                                ("operation_key", "optional text", false),
                                ("input", "JSON", true),
                                ("caller", "text", true),
                                ("enforced", "bool", true),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("block", "bool", true),
                                ("reason", "optional text", false),
                                ("ask", "bool", false),
                                ("updated_input", "optional JSON", false),
                                ("results", "HookResults", false),
                                ("extensions", "list of tuple", false),
                            ],
                            apply(output, input) {
                                if let Some(changed) = &output.updated_input {
                                    input.input.clone_from(changed);
                                }
                            }
                        }

                        /// Fires after each tool call.
                        AbilityAfter(AbilityAfterInput) -> AbilityAfterOutput {
                            id: "ability.after",
                            kind: Observe,
                            on_failure: Warn,
                            strict: AbortIteration,
                            every_mode: None,
                            previous: false,
                            sample: r#"{
                                      "ability_id": "Bash",
                                      "call_id": "call-8",
                                      "operation_key": "cargo.test",
                                      "status": "success",
                                      "duration_ms": 5300,
                                      "input_summary": "cargo test",
                                      "output_summary": "41 passed",
                                      "tool_call_path": ["Task", "Bash"],
                                      "changed_files": ["Cargo.lock"]
                                }"#,
                            given: [
                                ("ability_id", "text", true),
                                ("call_id", "optional text", false),
                                ("operation_key", "optional text", false),
                                ("status", "success or error or cancelled", true),
                                ("duration_ms", "optional integer", false),
                                ("input_summary", "optional text", false),
                                ("output_summary", "optional text", false),
                                ("tool_call_path", "list of text", true),
                                ("changed_files", "optional list of text", false),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("text", "list of TextItem", false),
                                ("results", "HookResults", false),
                                ("extensions", "list of tuple", false),
                            ],
                        }

                        /// Fires when the loop is about to end. A block
                        /// gives the agent one more turn with the reason, at most eight in a row.
                        SessionStop(SessionStopInput) -> SessionStopOutput {
                            id: "session.stop",
                            kind: Gate,
                            on_failure: Warn,
                            strict: AbortIteration,
                            every_mode: Some("it fires outside of iterations"),
                            previous: false,
                            sample: r#"{
                                      "reason": "completed",
                                      "changed_files": ["src/parse.rs", "src/header.rs"],
                                      "stop_block_count": 0
                                }"#,
                            given: [
                                ("reason", "text", true),
                                ("changed_files", "optional list of text", false),
                                ("stop_block_count", "integer", true),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("block", "bool", true),
                                ("reason", "optional text", false),
                                ("results", "HookResults", false),
                                ("extensions", "list of tuple", false),
                            ],
                        }

                        /// Fires once, after the last iteration.
                        AfterLoop(AfterLoopInput) -> AfterLoopOutput {
                            id: "after:loop",
                            kind: Observe,
                            on_failure: Warn,
                            strict: AbortLoop,
                            every_mode: Some("it fires outside of iterations"),
                            previous: false,
                            sample: r#"{"iterations_run": 7, "exit_reason": "completed"}"#,
                            given: [
                                ("iterations_run", "integer", true),
                                ("exit_reason", "text", true),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("ok", "bool", false),
                                ("reason", "optional text", false),
                                ("extensions", "list of tuple", false),
                            ],
                        }

                        /// Fires once, as the last point of a run.
                        SessionEnd(SessionEndInput) -> SessionEndOutput {
                            id: "session.end",
                            kind: Observe,
                            on_failure: Warn,
                            strict: AbortLoop,
                            every_mode: Some("it fires outside of iterations"),
                            previous: false,
                            sample: r#"{"exit_reason": "completed"}"#,
                            given: [
                                ("exit_reason", "text", true),
                                ("extensions", "list of tuple", false),
                            ],
                            answered: [
                                ("ok", "bool", false),
                                ("reason", "optional text", false),
                                ("extensions", "list of tuple", false),
                            ],
                        }
                    }
