//! The log of the hooks that were called: one line of JSON each.
//!
//! [`HookLogLine`]s are appended to `hooks.jsonl` in the run directory, whole or not at all where
//! they are read: a line that a crash cut short is left out. Past 8 MiB the file becomes
//! `hooks.1.jsonl`, in the place of the one before. Both are the owner's alone. Who writes them is
//! the engine's business.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{RunDir, StateError, append_rotated, file::read_end};
use samuel_model::{BreakClass, HookStatus};

/// A hook that was called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookLogLine {
    /// When it had answered.
    pub time: Timestamp,
    /// The run's id.
    pub run: String,
    /// The iteration, from 1; nothing outside of one.
    pub iteration: Option<u32>,
    /// The hook point.
    pub point: String,
    /// The handler's id.
    pub id: String,
    /// What kind of thing it is, such as `skill`.
    pub tier: String,
    /// How it ended.
    pub status: HookStatus,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The code that its process exited with; nothing where it had none, or a signal ended it.
    pub exit: Option<i32>,
    /// How it failed or broke, where it did, such as `timeout`; nothing of an agent that failed.
    pub class: Option<BreakClass>,
    /// What it warned of, and how it broke, without what is known to be a secret.
    pub warnings: Vec<String>,
}

/// Which lines of the log are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookLogFilter {
    /// Those of a handler.
    pub id: Option<String>,
    /// Those of a hook point.
    pub point: Option<String>,
    /// The last so many.
    pub limit: Option<usize>,
}

/// What the log has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HookLog {
    /// The lines, oldest first.
    pub lines: Vec<HookLogLine>,
    /// How many more there are that were asked for, before these.
    pub left_out: usize,
    /// How many lines cannot be read.
    pub unreadable: usize,
}

impl HookLog {
    /// Reads the log of a run directory: the file that is written to, and the one before.
    /// Nothing is there where no hook was called.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] where a file cannot be read.
    pub fn read(dir: &RunDir, filter: &HookLogFilter) -> Result<Self, StateError> {
        let mut log = Self::default();
        for path in [dir.old_hook_log(), dir.hook_log()] {
            let (content, is_cut) =
                read_end(dir.root(), &path).map_err(StateError::file("read", path.clone()))?;
            let text = String::from_utf8_lossy(&content);
            let text = if is_cut { text.split_once('\n').map_or("", |(_, whole)| whole) } else { &text };
            for line in text.lines().filter(|line| !line.is_empty()) {
                match serde_json::from_str::<HookLogLine>(line) {
                    Ok(line) if filter.takes(&line) => log.lines.push(line),
                    Ok(_) => {}
                    Err(_) => log.unreadable += 1,
                }
            }
        }
        log.left_out = log.lines.len().saturating_sub(filter.limit.unwrap_or(usize::MAX));
        log.lines.drain(..log.left_out);
        Ok(log)
    }

    /// Appends lines to `hooks.jsonl` in the run directory. Past 8 MiB the file is moved aside. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the log cannot be written.
    #[doc(hidden)]
    pub fn append(dir: &RunDir, lines: &[HookLogLine]) -> Result<(), StateError> {
        let mut text = Vec::new();
        for line in lines {
            // Texts, lists and numbers alone, so that this cannot fail.
            text.extend(serde_json::to_vec(line).unwrap_or_default());
            text.push(b'\n');
        }
        dir.create()?;
        append_rotated(dir.root(), &dir.hook_log(), &dir.old_hook_log(), &text)
    }
}

impl HookLogFilter {
    fn takes(&self, line: &HookLogLine) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|one| one == found);
        is(&self.id, &line.id) && is(&self.point, &line.point)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::rotated::MAX_BYTES;

    fn line(id: &str, warning: &str) -> HookLogLine {
        HookLogLine {
            time: Timestamp::UNIX_EPOCH,
            run: "r".to_owned(),
            iteration: Some(1),
            point: "quality.check".to_owned(),
            id: id.to_owned(),
            tier: "skill".to_owned(),
            status: HookStatus::Ok,
            duration_ms: 4,
            exit: Some(0),
            class: None,
            warnings: vec![warning.to_owned()],
        }
    }

    #[test]
    fn lines_are_whole_private_and_found_by_their_handler() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        assert_eq!(HookLog::read(&dir, &HookLogFilter::default()).unwrap(), HookLog::default());
        HookLog::append(&dir, &[line("a:x", "one\ntwo"), line("b:x", "")]).unwrap();
        // What a crash left open ends nobody else's line.
        let mut text = fs::read_to_string(dir.hook_log()).unwrap();
        text += "{\"time\":";
        fs::write(dir.hook_log(), text).unwrap();
        HookLog::append(&dir, &[line("a:x", "three")]).unwrap();
        let filter = HookLogFilter { id: Some("a:x".to_owned()), ..HookLogFilter::default() };
        let log = HookLog::read(&dir, &filter).unwrap();
        let warnings: Vec<_> = log.lines.iter().map(|line| line.warnings[0].as_str()).collect();
        assert_eq!((warnings, log.left_out, log.unreadable), (vec!["one\ntwo", "three"], 0, 1));
        let log = HookLog::read(&dir, &HookLogFilter { limit: Some(1), ..filter }).unwrap();
        assert_eq!((log.lines[0].warnings[0].as_str(), log.left_out), ("three", 1));
        assert_eq!(fs::metadata(dir.hook_log()).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_log_that_was_open_to_others_is_closed_to_them() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        dir.create().unwrap();
        fs::write(dir.hook_log(), "").unwrap();
        fs::set_permissions(dir.hook_log(), fs::Permissions::from_mode(0o666)).unwrap();
        HookLog::append(&dir, &[line("a:x", "")]).unwrap();
        assert_eq!(fs::metadata(dir.hook_log()).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_long_log_is_moved_aside_and_still_read() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        let long = "x".repeat(1 << 20);
        for number in 0..20 {
            HookLog::append(&dir, &[line(&number.to_string(), &long)]).unwrap();
        }
        let sizes = [dir.hook_log(), dir.old_hook_log()].map(|path| fs::metadata(path).unwrap().len());
        assert!(sizes.iter().all(|size| *size < MAX_BYTES + (2 << 20)), "{sizes:?}");
        let log = HookLog::read(&dir, &HookLogFilter::default()).unwrap();
        assert_eq!(log.lines.last().map(|line| line.id.as_str()), Some("19"));
        assert!(log.lines.len() >= 8, "{}", log.lines.len());
    }

    #[test]
    fn a_log_that_is_a_link_out_of_the_project_is_not_written() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dir = RunDir::new(root.path());
        dir.create().unwrap();
        std::os::unix::fs::symlink(other.path().join("f"), dir.hook_log()).unwrap();
        assert!(HookLog::append(&dir, &[line("a:x", "")]).is_err());
        assert!(!other.path().join("f").exists());
    }
}
