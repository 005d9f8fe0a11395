//! What the scripted agent does, call by call.
//!
//! A [`Script`] is read from TOML or JSON or built in code. For each call the
//! agent plays the first [`ScriptedCall`] that fits the call's task, iteration
//! and turn and was not used up before.
//!
//! ```toml
//! [[calls]]
//! task = "1"
//! steps = [
//!     { say = "I add the greeting." },
//!     { write = { path = "src/greet.txt", content = "hello\n" } },
//!     { run = { command = "git add -A && git commit -qm 'feat: greet'" } },
//!     { done = { commit_sha = "{{head}}" } },
//! ]
//! ```

use std::path::Path;

use samuel_fs::read_text_anywhere;
use samuel_model::{Complexity, Priority, Source, TaskId, Usage, payload::Turn};
use serde::{Deserialize, Serialize};

use super::AgentError;

/// The most text a script may be.
const MAX_SCRIPT_BYTES: usize = 16 * 1024 * 1024;

/// A recording for the scripted agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The calls, in order of preference.
    #[serde(default)]
    pub calls: Vec<ScriptedCall>,
    /// What is done in a call that fits none; nothing by default, which the
    /// agent says.
    #[serde(default)]
    pub otherwise: Vec<Step>,
}

/// What is done in one call. A condition that is absent fits every call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// Fits a call about this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Fits this iteration, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// Fits this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// Whether it may be played more than once. Default `false`, so that a
    /// second attempt at a task can go otherwise than the first.
    #[serde(default)]
    pub repeat: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One thing the scripted agent does.
///
/// In texts `{{task_id}}`, `{{task_title}}` and `{{iteration}}` stand for those
/// of the call and `{{head}}` for the commit that is checked out. In a command line
/// each becomes a quoted reference to a variable (`SAMUEL_TASK_TITLE` and so on), so
/// that no title is read as code. Paths are
/// relative to the project and stay inside it. A step that writes, deletes, runs
/// or changes tasks is asked for at `ability.before` first; one that is blocked
/// is left out, one that fails ends the call with exit code 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Step {
    /// Says something.
    Say(String),
    /// Writes a file, with its directories. The tool is `Write`.
    Write {
        /// The file.
        path: String,
        /// What it holds afterwards.
        content: String,
    },
    /// Replaces a text that a file holds exactly once. The tool is `Edit`.
    Edit {
        /// The file.
        path: String,
        /// The text.
        old: String,
        /// What stands there afterwards.
        new: String,
    },
    /// Deletes a file. The tool is `Delete`.
    Delete {
        /// The file.
        path: String,
    },
    /// Runs a command line with `/bin/sh` in the project. The tool is `Bash`.
    Run {
        /// The command line.
        command: String,
        /// Whether the call goes on when the command fails.
        #[serde(default)]
        allow_failure: bool,
    },
    /// Reports what was consumed by this step; the agent reports running totals.
    Usage(Usage),
    /// Completes a task. The tool is `samuel.done`.
    Done {
        /// The task; the call's by default.
        #[serde(default = "current_task")]
        task: String,
        /// The commit that did it.
        #[serde(default)]
        commit_sha: Option<String>,
    },
    /// Leaves a task out. The tool is `samuel.skip`.
    Skip {
        /// The task; the call's by default.
        #[serde(default = "current_task")]
        task: String,
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Makes a task pending again. The tool is `samuel.reset`.
    Reset {
        /// The task; the call's by default.
        #[serde(default = "current_task")]
        task: String,
    },
    /// Asks something about a task, which waits for the answer. The tool is `samuel.ask`.
    Ask {
        /// The task; the call's by default.
        #[serde(default = "current_task")]
        task: String,
        /// What is asked.
        question: String,
        /// Answers that are proposed.
        #[serde(default)]
        options: Vec<String>,
    },
    /// Adds a task. The tool is `samuel.enqueue`.
    Enqueue {
        /// Its title.
        title: String,
        /// How urgent it is.
        #[serde(default)]
        priority: Priority,
        /// How much work it is.
        #[serde(default)]
        complexity: Complexity,
        /// Where it comes from.
        #[serde(default)]
        source: Source,
    },
    /// Does nothing for a while; ends as a hanging agent does if that is longer
    /// than a clock allows.
    Sleep {
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Reports that a tool was refused.
    DenyPermission {
        /// The tool.
        tool: String,
        /// What it was refused.
        #[serde(default)]
        message: String,
    },
    /// Ends the call at a usage limit.
    RateLimit {
        /// The provider's words.
        message: String,
        /// When the limit ends.
        #[serde(default)]
        resets_at: Option<jiff::Timestamp>,
    },
    /// Ends the call with a failure the agent reports.
    Fail {
        /// Its words.
        message: String,
    },
    /// Ends the call with an exit code.
    Exit {
        /// The code.
        code: i32,
    },
    /// Ends the call as if a signal had ended the agent.
    Crash {
        /// The signal's number.
        signal: i32,
    },
}

fn current_task() -> String {
    "{{task_id}}".to_owned()
}

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is no TOML or JSON, or no script.
    #[error("line {line}, column {column}: {message}")]
    Invalid {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// It is too long.
    #[error("the script has {bytes} bytes, more than {MAX_SCRIPT_BYTES}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

impl Script {
    /// The largest script that is read, in bytes.
    pub const MAX_BYTES: u64 = MAX_SCRIPT_BYTES as u64;

    /// Reads a script from TOML.
    ///
    /// # Errors
    /// Returns [`ScriptError`], with line and column where it is the text.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        check_length(text)?;
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            ScriptError::Invalid {
                line: before.matches('\n').count() + 1,
                column: before.get(line_start..).map_or(0, |rest| rest.chars().count()) + 1,
                message: in_terms_of_the_format(error.message()),
            }
        })
    }

    /// Reads a script from JSON.
    ///
    /// # Errors
    /// Returns [`ScriptError`], with line and column where it is the text.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        check_length(text)?;
        serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            // The place is told by itself.
            let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
            ScriptError::Invalid {
                line: error.line(),
                column: error.column(),
                message: in_terms_of_the_format(message),
            }
        })
    }

    /// Reads the recording in a file: JSON where its name ends so, else TOML.
    ///
    /// # Errors
    /// Returns [`AgentError::Config`] where it cannot be read, or is no script.
    pub fn load(path: &Path) -> Result<Self, AgentError> {
        let text = read_text_anywhere(path, Self::MAX_BYTES).map_err(|error| error.to_string());
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let parse = if is_json { Self::from_json } else { Self::from_toml };
        let script = text.and_then(|text| parse(&text).map_err(|error| error.to_string()));
        script.map_err(|problem| AgentError::Config {
            agent: super::scripted::NAME.to_owned(),
            problem: format!("the script \"{}\" cannot be used: {problem}", path.display()),
        })
    }

    /// Adds a call.
    #[must_use]
    pub fn call(mut self, call: ScriptedCall) -> Self {
        self.calls.push(call);
        self
    }

    /// Sets what is done in a call that fits no other.
    #[must_use]
    pub fn otherwise(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.otherwise = steps.into_iter().collect();
        self
    }
}

/// Puts the terms of the format in the place of the Rust types that a parser names.
fn in_terms_of_the_format(message: &str) -> String {
    let mut text = message.lines().collect::<Vec<_>>().join(" ");
    for (types, term) in [
        ("struct variant Step::", "a table, as in the step "),
        ("newtype variant Step::", "the step "),
        ("enum Step", "a step"),
        ("struct ScriptedCall", "a table of one call"),
        ("struct Script", "a table of calls"),
    ] {
        text = text.replace(types, term);
    }
    text
}

fn check_length(text: &str) -> Result<(), ScriptError> {
    match text.len() {
        0..=MAX_SCRIPT_BYTES => Ok(()),
        bytes => Err(ScriptError::TooLong { bytes }),
    }
}

impl ScriptedCall {
    /// Starts a call that fits any; add conditions and steps.
    pub fn any() -> Self {
        Self::default()
    }

    /// Starts a call about a task.
    pub fn for_task(id: impl Into<String>) -> Self {
        Self { task: Some(TaskId::new(id)), ..Self::default() }
    }

    /// Starts a call of an iteration, from 1.
    pub fn for_iteration(iteration: u32) -> Self {
        Self { iteration: Some(iteration), ..Self::default() }
    }

    /// Fits this turn only.
    #[must_use]
    pub fn in_turn(mut self, turn: Turn) -> Self {
        self.turn = Some(turn);
        self
    }

    /// May be played any number of times.
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Says something.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.step(Step::Say(text.into()))
    }

    /// Writes a file.
    #[must_use]
    pub fn write(self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.step(Step::Write { path: path.into(), content: content.into() })
    }

    /// Runs a command line that must succeed.
    #[must_use]
    pub fn run(self, command: impl Into<String>) -> Self {
        self.step(Step::Run { command: command.into(), allow_failure: false })
    }

    /// Completes the call's task.
    #[must_use]
    pub fn done(self) -> Self {
        self.step(Step::Done { task: current_task(), commit_sha: None })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn toml_json_and_builder_make_the_same_script() {
        let toml = r#"
            otherwise = [{ exit = { code = 3 } }]
            [[calls]]
            task = "1"
            turn = "main"
            steps = [{ say = "hi" }, { write = { path = "a", content = "b" } }, { run = { command = "true" } }, { done = {} }]
        "#;
        let json = r#"{"calls": [{"task": "1", "turn": "main", "steps": [{"say": "hi"},
            {"write": {"path": "a", "content": "b"}}, {"run": {"command": "true"}}, {"done": {}}]}],
            "otherwise": [{"exit": {"code": 3}}]}"#;
        let call =
            ScriptedCall::for_task("1").in_turn(Turn::Main).say("hi").write("a", "b").run("true").done();
        let built = Script::default().call(call).otherwise([Step::Exit { code: 3 }]);
        assert_eq!(Script::from_toml(toml).unwrap(), built);
        assert_eq!(Script::from_json(json).unwrap(), built);
    }

    #[test]
    fn an_unknown_step_or_field_is_an_error_that_names_it() {
        for (step, expected) in [("{ dance = {} }", "dance"), ("{ sleep = { ms = 1, rest = 2 } }", "rest")] {
            let error = Script::from_toml(&format!("[[calls]]\nsteps = [{step}]")).unwrap_err();
            let told = error.to_string();
            assert!(told.starts_with("line 2, column ") && told.contains(expected), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_in_one_line_without_rust() {
        let of_toml = |text: &str| Script::from_toml(text).unwrap_err().to_string();
        let of_json = |text: &str| Script::from_json(text).unwrap_err().to_string();
        for told in [
            of_toml("[[calls]]\nsteps = [{ rate_limit = \"now\" }]"),
            of_toml("[[calls]]\nsteps = [{ say = 1 }]"),
            of_toml("[[calls]]\nsteps = 3"),
            of_toml("calls = 3"),
            of_toml("calls = [3]"),
            of_toml("calls = ["),
            of_json("{\"calls\": [{\"steps\": [{\"exit\": 3}]}]}"),
            of_json("[1"),
        ] {
            let is_plain =
                !["Step", "struct", "variant ", "enum", "\n"].iter().any(|word| told.contains(word));
            assert!(told.starts_with("line ") && is_plain, "{told}");
        }
    }
}
