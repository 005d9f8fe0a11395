//! Error codes: stable names for what users see.
//!
//! Every error that reaches the edge has one [`ErrorCode`]; the CLI, Python and
//! the WIT failures share this one table.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A stable name for a kind of error, with what goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The name, `E_<AREA>_<NAME>`.
    pub name: &'static str,
    /// The exit code of a process that ends with it.
    pub exit_code: u8,
    /// What to do next, one line.
    pub help: &'static str,
    /// Whether the same call may work later without a change.
    pub retryable: bool,
}

/// Errors that have a code.
pub trait Coded: std::error::Error {
    /// Returns the code.
    fn code(&self) -> ErrorCode;

    /// Returns what to do next, one line: the code's help, or better where the
    /// error knows better.
    fn help(&self) -> String {
        self.code().help.to_owned()
    }

    /// Returns the file the error is about, with line and column from 1 where
    /// they are known.
    fn location(&self) -> Option<Location> {
        None
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
}

/// Defines the table: one constant a code, and the list of all.
macro_rules! codes {
    ($($name:ident, $exit:literal, $retry:literal, $help:literal;)+) => {
        impl ErrorCode {
            $(#[doc = $help]
            pub const $name: ErrorCode = ErrorCode {
                name: concat!("E_", stringify!($name)),
                exit_code: $exit,
                help: $help,
                retryable: $retry,
            };)+

            /// Every code, by area.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name),+];
        }
    };
}

codes! {
    STATE_NOT_INITIALISED, 1, false, "Run `samuel run init` or `samuel run init --prd <path>` first.";
    STATE_EXISTS, 1, false, "Pass --force to replace it; a backup is kept.";
    STATE_CORRUPT, 5, false, "Correct the file at the place named above, or replace it with a backup from the same directory.";
    STATE_VERSION, 5, false, "Update Samuel, or restore a file that this version wrote.";
    STATE_IO, 1, true, "Check that the directory exists, is writable and has space left.";
    STATE_LOCKED, 75, true, "Wait for the holder to finish, or end it.";
    STATE_LOOP_RUNNING, 75, true, "Wait for the running loop to finish, or end it.";
    STATE_REPLACED, 1, false, "Look at the plan that is there now with `samuel run tasks`.";
    STATE_NOT_KEPT, 1, false, "List the plans that are kept with `samuel run restore --list`.";
    TASK_NOT_FOUND, 1, false, "List the tasks with `samuel run tasks`.";
    TASK_EXISTS, 1, false, "Choose another id, or let `samuel run enqueue` assign one.";
    TASK_INVALID, 2, false, "Correct the task and try again.";
    PRD_NOT_FOUND, 1, false, "Check the path of the PRD.";
    PRD_INVALID, 1, false, "Correct the PRD at the lines named above.";
    CONFIG_INVALID, 2, false, "Correct samuel.toml at the place named above.";
    CONFIG_IO, 1, true, "Check that samuel.toml can be read.";
    PLUGIN_INVALID, 2, false, "Correct the plugin at the place named above.";
    PLUGIN_NOT_FOUND, 1, false, "List what is installed with `samuel ls`.";
    PLUGIN_SOURCE, 1, true, "Give a directory with a samuel-plugin.toml, or the URL of a git repository.";
    PLUGIN_CHANGED, 78, false, "Review the change, then install the plugin again.";
    PLUGIN_REFUSED, 78, false, "Review what the plugin asks for, then pass --yes.";
    PLUGIN_UNSUPPORTED, 1, false, "Uninstall the plugin, or use a Samuel that runs it.";
    PLUGIN_LOCK, 1, false, "Restore samuel.lock from version control, or install its plugins again.";
    PLUGIN_BUSY, 75, true, "Wait for the other command to finish.";
    PLUGIN_IO, 1, true, "Check that the directory exists, is writable and has space left.";
    PLUGIN_COMPONENT, 1, false, "Ask the plugin's author for a component that this Samuel can run.";
    PLUGIN_VERSION, 1, false, "Update Samuel, or use a version of the plugin that fits.";
    PLUGIN_UNDECLARED, 1, false, "Add the capability to the plugin's manifest, or do without the import.";
    PLUGIN_CACHE, 1, false, "Remove the directory; Samuel makes it again with mode 0700.";
    PROJECT_OWNER, 78, false, "If you trust who owns it, run `git config --global --add safe.directory PATH`.";
    METHODOLOGY_NOT_FOUND, 2, false, "List what is installed with `samuel ls --type methodology`.";
    TEMPLATE_INVALID, 2, false, "Correct the template at the place named above.";
    AGENT_UNKNOWN, 2, false, "Use one of claude, codex, gemini, copilot, kiro, command, scripted.";
    AGENT_NOT_FOUND, 1, false, "Install the agent, or name its program in `agent_command`.";
    AGENT_FAILED, 1, true, "Read the agent's log in .samuel/run/logs.";
    SANDBOX_UNKNOWN, 2, false, "Use sandbox \"host\".";
    HOOK_UNKNOWN, 2, false, "Use one of the known hook points and handlers.";
    HOOK_TIMEOUT, 1, true, "Raise the hook's timeout, or make the handler faster.";
    HOOK_PANICKED, 1, false, "Fix the handler; the message above is its own.";
    HOOK_CANCELLED, 1, true, "The run was cancelled while the handler was at work.";
    HOOK_BAD_OUTPUT, 1, false, "Return the point's output record.";
    HOOK_FAILED, 1, true, "Read the handler's message above.";
    HOOK_DENIED, 1, false, "Grant the capability, or do without it.";
    HOOK_REFUSED, 1, false, "Do what the handler asks for.";
    PROCESS_FAILED, 1, true, "Check that the program exists and can be run.";
    TRUST_REFUSED, 78, false, "Review what would run, then pass --yes.";
    SYNC_MARKERS, 1, false, "Repair Samuel's markers at the place named above, or remove them all.";
    SYNC_REFUSED, 1, false, "Correct the file named above and run the command again.";
    DOCTOR_FAILED, 1, false, "Correct what is marked as failed above.";
    GIT_NOT_FOUND, 1, false, "Install git, or add its directory to PATH.";
    TOON_INVALID, 1, false, "Correct the text at the place named above, or print what can be read of it with `samuel toon recover`.";
    JSON_INVALID, 1, false, "Correct the JSON at the place named above.";
    INPUT_IO, 1, true, "Check that the file exists and can be read.";
    INPUT_TOO_LARGE, 1, false, "Split the input, or stream it with the library.";
    USAGE, 2, false, "Run the command with --help.";
    RUN_BLOCKED, 3, false, "See why with `samuel run status`, then reset, skip or correct the tasks.";
    RUN_STOPPED, 4, true, "Read .samuel/run/progress.md, then go on with `samuel run start`.";
    RUN_CANCELLED, 130, true, "Go on with `samuel run start`.";
    RUN_FAILED, 1, true, "Read the message above, then go on with `samuel run start`.";
    INTERNAL, 1, false, "Report this as a bug.";
}
