//! Error codes: stable names for what users see.
//!
//! Every error that reaches the edge has one [`ErrorCode`]; the CLI, Python and
//! the WIT failures share this one table.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Remedy;

/// A stable name for a kind of error, with what goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The name, `E_<AREA>_<NAME>`.
    pub name: &'static str,
    /// The exit code of a process that ends with it.
    pub exit_code: u8,
    /// What to do next.
    pub help: &'static Remedy,
    /// Whether the same call may work later without a change.
    pub retryable: bool,
}

/// Errors that have a code.
pub trait Coded: std::error::Error {
    /// Returns the code.
    fn code(&self) -> ErrorCode;

    /// Returns what to do next: the code's help, or better where the error knows
    /// better.
    fn help(&self) -> Remedy {
        self.code().help.clone()
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
    ($($name:ident, $exit:literal, $retry:literal, $help:ident $(($words:literal))?;)+) => {
        impl ErrorCode {
            $(#[doc = concat!("`E_", stringify!($name), "`, exit code ", $exit, ".")]
            pub const $name: ErrorCode = ErrorCode {
                name: concat!("E_", stringify!($name)),
                exit_code: $exit,
                help: &Remedy::$help$(($words))?,
                retryable: $retry,
            };)+

            /// Every code, by area.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name),+];
        }
    };
}

codes! {
    STATE_NOT_INITIALISED, 1, false, MakePlan;
    STATE_EXISTS, 1, false, ReplacePlan;
    STATE_CORRUPT, 5, false, Say("Correct the file at the place named above, or replace it with a backup from the same directory.");
    STATE_VERSION, 5, false, Say("Update Samuel, or restore a file that this version wrote.");
    STATE_IO, 1, true, Say("Check that the directory exists, is writable and has space left.");
    STATE_LOCKED, 75, true, Say("Wait for the holder to finish, or end it.");
    STATE_LOOP_RUNNING, 75, true, EndLoop;
    STATE_REPLACED, 1, false, LookAtPlan;
    STATE_NOT_KEPT, 1, false, ListKeptPlans;
    FLEET_UNREACHABLE, 75, true, Say("Check that the log's servers run and can be reached, then try again.");
    FLEET_UNACKNOWLEDGED, 75, true, Say("Look at the plan once the log can be reached: the change may have happened.");
    FLEET_DENIED, 78, false, Say("Use credentials that may read and write the log of this plan.");
    FLEET_LOG_LOST, 5, false, Say("Stop every worker, and bring the records back from the longest mirror, as docs/fleet.md describes it.");
    FLEET_FORMAT, 5, false, Say("Update Samuel on this machine: others write what this version does not know.");
    FLEET_RECORD, 2, false, Say("Correct what is named above and try again.");
    FLEET_WRITER, 1, false, Say("End one of the two processes, and start the other one again.");
    FLEET_MIRROR, 5, false, Say("Put the file aside: the worker reads the log anew. Do not bring a log back from it.");
    FLEET_DIVERGED, 5, false, Say("Decide which of the two counts, and bring its records back into an empty log.");
    TASK_NOT_FOUND, 1, false, ListTasks;
    TASK_EXISTS, 1, false, ChooseTaskId;
    TASK_CHANGED, 75, true, Say("Try again.");
    TASK_CLAIMED, 75, true, GiveBackClaim;
    TASK_LANDING, 75, true, Say("Try again in a moment. A landing that was cut off is settled by the next run with lanes, or by landing by hand.");
    CLAIM_VOID, 1, false, Say("Leave it: somebody else has the task by now, or it is done.");
    TASK_GROUP, 1, false, Say("Change its parts: a group follows from them.");
    TASK_IN_USE, 1, false, RemoveWithParts;
    TASK_DENIED, 1, false, Say("Ask the person who started the run; done, skip, reset, block, ask and enqueue are an agent's.");
    TASK_NOT_UNDONE, 1, false, Say("Take the later changes back first, or make the change that you want.");
    TASK_UNDO_NOT_KEPT, 1, false, ListKeptPlans;
    DISCOVERY_FULL, 1, false, Say("Leave it at the tasks that there are, or add more once the iteration has ended.");
    QUESTION_INVALID, 2, false, Say("Say it in other words: what there is to say as text, and no more than that.");
    QUESTION_REFUSED, 1, false, Say("Ask about a task that is pending or being worked on, and once its last answer was delivered.");
    QUESTION_NOT_OPEN, 1, false, ListQuestions;
    TASK_INVALID, 2, false, Say("Correct the task and try again.");
    PRD_NOT_FOUND, 1, false, Say("Check the path of the PRD.");
    PRD_INVALID, 1, false, Say("Correct the PRD at the lines named above.");
    CONFIG_INVALID, 2, false, Say("Correct samuel.toml at the place named above.");
    CONFIG_IO, 1, true, Say("Check that samuel.toml can be read.");
    PLUGIN_INVALID, 2, false, Say("Correct the plugin at the place named above.");
    PLUGIN_NOT_FOUND, 1, false, ListPlugins;
    PLUGIN_SOURCE, 1, true, Say("Give a directory with a samuel-plugin.toml, or the URL of a git repository.");
    PLUGIN_DIGEST, 78, false, Say("Do not use it: look at who publishes it, and install it by the digest that they tell.");
    PLUGIN_MOVED, 78, false, AcceptMoved;
    PLUGIN_ARCHIVE, 1, false, Say("Ask for an archive that Samuel has packed.");
    PLUGIN_SIZE, 1, false, Say("Keep build results and downloads out of the plugin.");
    PLUGIN_REGISTRY, 1, true, Say("Check the address, and whether the host can be reached and lets you in.");
    PLUGIN_CHANGED, 78, false, Say("Review the change, then install the plugin again.");
    PLUGIN_REFUSED, 78, false, GrantPlugin;
    PLUGIN_UNSUPPORTED, 1, false, Say("Uninstall the plugin, or use a Samuel that runs it.");
    PLUGIN_LOCK, 1, false, Say("Restore samuel.lock from version control, or install its plugins again.");
    PLUGIN_BUSY, 75, true, Say("Wait for the other command to finish.");
    PLUGIN_IO, 1, true, Say("Check that the directory exists, is writable and has space left.");
    PLUGIN_COMPONENT, 1, false, Say("Ask the plugin's author for a component that this Samuel can run.");
    PLUGIN_VERSION, 1, false, Say("Update Samuel, or use a version of the plugin that fits.");
    PLUGIN_UNDECLARED, 1, false, Say("Add the capability to the plugin's manifest, or do without the import.");
    PLUGIN_CACHE, 1, false, Say("Remove the directory; Samuel makes it again with mode 0700.");
    PROJECT_OWNER, 78, false, Say("If you trust who owns it, run `git config --global --add safe.directory PATH`.");
    METHODOLOGY_NOT_FOUND, 2, false, ListMethodologies;
    TEMPLATE_EXISTS, 1, false, ReplaceTemplates;
    TEMPLATE_INVALID, 2, false, Say("Correct the template at the place named above.");
    AGENT_UNKNOWN, 2, false, Say("Use one of claude, codex, gemini, copilot, kiro, command, scripted.");
    AGENT_NOT_FOUND, 1, false, Say("Install the agent, or name its program in `agent_command`.");
    AGENT_FAILED, 1, true, Say("Read the agent's log in .samuel/run/logs.");
    SANDBOX_UNKNOWN, 2, false, Say("Use host, which is no sandbox, bwrap or oci.");
    SANDBOX_UNAVAILABLE, 1, true, Say("Set up what the sandbox needs, then start again.");
    SANDBOX_STUCK, 1, true, Say("Look at the engine, remove the container with it, then start again.");
    WORKSPACE_UNFIT, 1, false, Say("Without a sandbox, work in place: set workspace = \"in-place\" below [sandbox] in samuel.toml.");
    WORKSPACE_DIRTY, 1, false, Say("Commit the changes or put them aside with `git stash -u`; or, without a sandbox, work in place: workspace = \"in-place\" below [sandbox] in samuel.toml.");
    WORKSPACE_PLANTED, 1, false, Say("Run no git in that clone before you have looked at what was found.");
    WORKSPACE_REFUSED, 1, false, Say("Look at it in the clone; what may arrive is described in docs/sandbox.md.");
    WORKSPACE_NOT_LANDED, 1, true, Say("Take it over with `git merge`, or let the run try again.");
    WORKSPACE_CUT_OFF, 1, false, Say("Restore the files, then start again.");
    WORKSPACE_SETUP, 1, true, Say("Run the command by hand in a fresh clone to see what it needs, or change `setup` below [methodology.<name>.parallel].");
    WORKSPACE_FAILED, 1, true, Say("Check that git works there, and that the disk has space left.");
    LANES_INVALID, 2, false, UseOneLane;
    LANES_UNFIT, 1, false, UseOneLane;
    MERGE_REFUSED, 1, false, Say("Mend the branch, or merge it yourself with `git merge`.");
    MERGE_HELD, 75, true, Say("Commit or stash what is in the way, then merge again.");
    HOOK_UNKNOWN, 2, false, Say("Use one of the known hook points and handlers.");
    HOOK_TIMEOUT, 1, true, Say("Raise the hook's timeout, or make the handler faster.");
    HOOK_PANICKED, 1, false, Say("Fix the handler; the message above is its own.");
    HOOK_CANCELLED, 1, true, Say("The run was cancelled while the handler was at work.");
    HOOK_BAD_OUTPUT, 1, false, Say("Return the point's output record; a repository hook prints its result, as docs/repository-hooks.md describes it.");
    HOOK_FAILED, 1, true, Say("Read the handler's message above.");
    HOOK_DENIED, 1, false, Say("Grant the capability, or do without it.");
    HOOK_INVALID, 1, false, Say("Correct each of the places named above.");
    HOOK_REFUSED, 1, false, Say("Do what the handler asks for.");
    PROCESS_FAILED, 1, true, Say("Check that the program exists and can be run.");
    SOCKET_UNAVAILABLE, 1, true, Say("Check that the run is under way, and that its directory is this user's, mode 0700, on a file system with sockets.");
    SOCKET_MESSAGE, 1, false, Say("Send one JSON object a line, as docs/run-socket.md describes them.");
    SOCKET_VERSION, 1, false, Say("Use the Samuel that the run was started with.");
    SOCKET_PEER, 78, false, Say("Connect as the user who started the run.");
    SOCKET_TOKEN, 78, false, Say("Use the token of a run, or of a call of an agent, that is under way.");
    SOCKET_SCOPE, 78, false, Say("Use a verb that the answer to the first message lists.");
    SOCKET_VERB, 1, false, Say("Use a verb that the answer to the first message lists.");
    SOCKET_TOO_LARGE, 1, false, Say("Send less.");
    SOCKET_BUSY, 75, true, Say("Close connections that are not needed, then try again.");
    SOCKET_TIMEOUT, 75, true, Say("Try again, or raise the timeouts of the handlers that were asked.");
    BROKER_RATE, 75, true, Say("Wait a second, and ask no more than 50 times in each.");
    BROKER_VERB, 78, false, Say("Leave it to the person who started the run; done, skip, reset, block, ask, enqueue and add are an agent's.");
    BROKER_SCOPE, 78, false, Say("Settle the task that this call is for; what else is to be done, add as a task.");
    BROKER_GONE, 1, false, Say("Nothing was changed. The next start goes on from what was acknowledged; outside of the sandbox the command works on the plan itself.");
    BROKER_UNANSWERED, 75, true, Say("It may have happened: look at the tasks, or ask again. What is done already stays as it is.");
    CONTROL_NO_LOOP, 1, false, StartRun;
    CONTROL_UNREACHABLE, 1, true, Say("Look at where it was started; at its terminal, Ctrl-C ends it after the iteration.");
    CONTROL_UNANSWERED, 75, true, Say("It may still count: look at the run's status first, which lists the calls that wait, or decide the same again, which counts once.");
    CONTROL_NOTHING_WAITS, 1, false, ListQuestions;
    CONTROL_WHICH_CALL, 1, false, ListQuestions;
    CONTROL_DENIED, 1, false, Say("Leave that to the person who started the run.");
    CONTROL_INVALID, 2, false, Say("Say it in other words: what there is to say as text, and no more than that.");
    TRUST_REFUSED, 78, false, TrustRun;
    SYNC_MARKERS, 1, false, Say("Repair Samuel's markers at the place named above, or remove them all.");
    SYNC_REFUSED, 1, false, Say("Correct the file named above and run the command again.");
    DOCTOR_FAILED, 1, false, Say("Correct what is marked as failed above.");
    GIT_NOT_FOUND, 1, false, Say("Install git, or add its directory to PATH.");
    TOON_INVALID, 1, false, RecoverToon;
    JSON_INVALID, 1, false, Say("Correct the JSON at the place named above.");
    INPUT_IO, 1, true, Say("Check that the file exists and can be read.");
    INPUT_TOO_LARGE, 1, false, Say("Split the input, or stream it with the library.");
    USAGE, 2, false, SeeUsage;
    RECORD_NOT_FOUND, 1, false, ListRuns;
    RECORD_VERSION, 1, false, Say("Use the Samuel that the run was made with.");
    RECORD_DIFFERS, 1, false, Say("Look at the place named above in the run's inputs.jsonl.");
    RUN_BLOCKED, 3, false, SeeWhyBlocked;
    RUN_STOPPED, 4, true, ReadProgressAndGoOn;
    RUN_CANCELLED, 130, true, GoOn;
    RUN_FAILED, 1, true, ReadMessageAndGoOn;
    INTERNAL, 1, false, Say("Report this as a bug.");
}
