//! The logs of a repository's hooks, in the repository: `.system/logs/hooks.log`, and its trace.
//!
//! They belong to whoever writes the hooks, beside `hooks.jsonl` in the run directory, which has the
//! handlers of every tier. Both are JSON Lines, the owner's alone; past 8 MiB a file becomes
//! `hooks.1.log` or `hooks-trace.1.log`, in the place of the one before. Git is kept away from the
//! directory. Nothing is written through a
//! link that leads out of the project. Who writes them is the engine's business.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{StateError, append_rotated, unversioned_directory};
use samuel_fs::Root;
use samuel_model::{BreakClass, HookStatus};

/// Where the logs are, from the root of the project.
const DIRECTORY: &str = ".system/logs";

/// A call of a repository hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepositoryLogLine {
    /// When it had answered.
    pub time: Timestamp,
    /// The hook's id, as its file gives it.
    pub hook_id: String,
    /// The event, such as `PostAbilityCall`.
    pub event_type: String,
    /// How it ended.
    pub status: HookStatus,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The code that its process exited with; nothing where it had none, or a signal ended it.
    pub exit: Option<i32>,
    /// How it failed or broke, where it did, such as `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<BreakClass>,
    /// The lines that it wrote for the log, without what is known to be a secret.
    pub logs: Vec<String>,
}

/// The same call with all that went in and came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepositoryTraceLine {
    /// What the log has.
    #[serde(flatten)]
    pub line: RepositoryLogLine,
    /// What the hook was given: the input of its hook point with `event_type` and `session_id`.
    pub context: Value,
    /// What its process printed: the document, or the text where it is none. Nothing of a built-in
    /// handler, and of a process that did not start or was not waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Value>,
    /// What was taken of it, as the hook point answers; of one that broke, how.
    pub result: Value,
}

/// The logs of repository hooks in a project: `.system/logs/hooks.log`, and the trace `hooks-trace.log`.
#[derive(Clone, Debug)]
pub struct RepositoryLog {
    root: Root,
}

impl RepositoryLog {
    /// Returns the logs of the project with this root. Touches no file.
    pub fn new(root: Root) -> Self {
        Self { root }
    }

    /// Appends calls to the log, one line of JSON each. Creates the directory if it is missing. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError`] where the log cannot be written, also because a link leads out of the
    /// project.
    pub fn append(&self, lines: &[RepositoryLogLine]) -> Result<(), StateError> {
        self.write("hooks", lines)
    }

    /// Appends calls to the trace, one line of JSON each. Blocks.
    ///
    /// # Errors
    /// Returns the errors of [`append`](Self::append).
    pub fn trace(&self, lines: &[RepositoryTraceLine]) -> Result<(), StateError> {
        self.write("hooks-trace", lines)
    }

    fn write<T: Serialize>(&self, name: &str, lines: &[T]) -> Result<(), StateError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for line in lines {
            // Texts, lists, numbers and documents alone, so that this cannot fail.
            text.extend(serde_json::to_vec(line).unwrap_or_default());
            text.push(b'\n');
        }
        let directory = self.root.path().join(DIRECTORY);
        unversioned_directory(&self.root, &directory)?;
        let log = |suffix: &str| -> PathBuf { directory.join(format!("{name}{suffix}.log")) };
        append_rotated(&self.root, &log(""), &log(".1"), &text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use serde_json::json;

    use super::*;

    fn line(id: &str, log: &str) -> RepositoryLogLine {
        RepositoryLogLine {
            time: Timestamp::UNIX_EPOCH,
            hook_id: id.to_owned(),
            event_type: "PostAbilityCall".to_owned(),
            status: HookStatus::Ok,
            duration_ms: 4,
            exit: Some(0),
            class: None,
            logs: vec![log.to_owned()],
        }
    }

    #[test]
    fn a_call_is_one_line_of_json_that_has_what_every_log_has() {
        let root = tempfile::tempdir().unwrap();
        let log = RepositoryLog::new(Root::new(root.path()));
        log.append(&[line("slow", "one\ntwo"), line("usage", "three")]).unwrap();
        let path = root.path().join(".system/logs/hooks.log");
        let text = fs::read_to_string(&path).unwrap();
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let expected = json!({
            "time": "1970-01-01T00:00:00Z", "hook_id": "slow", "event_type": "PostAbilityCall", "status": "ok",
            "duration_ms": 4, "exit": 0, "logs": ["one\ntwo"],
        });
        assert_eq!((first, text.lines().count()), (expected, 2));
        assert!(!root.path().join(".system/logs/hooks-trace.log").exists());
    }

    #[test]
    fn a_trace_has_what_went_in_and_came_out_and_is_the_owners_alone() {
        let root = tempfile::tempdir().unwrap();
        let (context, result) = (json!({"ability_id": "Bash"}), json!({"results": {}}));
        let printed = Some(json!({"logs": []}));
        let traced = RepositoryTraceLine { line: line("slow", ""), context, printed, result };
        RepositoryLog::new(Root::new(root.path())).trace(std::slice::from_ref(&traced)).unwrap();
        let path = root.path().join(".system/logs/hooks-trace.log");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read: RepositoryTraceLine = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(read, traced);
    }

    #[test]
    fn a_long_log_is_moved_aside() {
        let root = tempfile::tempdir().unwrap();
        let log = RepositoryLog::new(Root::new(root.path()));
        let long = "x".repeat(3 << 20);
        for number in 0..7 {
            log.append(&[line(&number.to_string(), &long)]).unwrap();
        }
        let logs = root.path().join(".system/logs");
        let size = |name: &str| fs::metadata(logs.join(name)).unwrap().len();
        assert!(size("hooks.log") < 12 << 20 && size("hooks.1.log") < 12 << 20);
        // With the file that keeps them out of git.
        assert_eq!(fs::read_dir(logs).unwrap().count(), 3);
    }

    #[test]
    fn no_link_is_followed_out_of_the_project() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(root.path().join(".system")).unwrap();
        let log = RepositoryLog::new(Root::new(root.path()));
        symlink(other.path(), root.path().join(".system/logs")).unwrap();
        assert!(log.append(&[line("slow", "")]).is_err());
        fs::remove_file(root.path().join(".system/logs")).unwrap();
        fs::create_dir(root.path().join(".system/logs")).unwrap();
        symlink(other.path().join("f"), root.path().join(".system/logs/hooks.log")).unwrap();
        assert!(log.append(&[line("slow", "")]).is_err());
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    }
}
