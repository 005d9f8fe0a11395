//! What the process tests share: this test binary as a supervisor, and a way
//! to find what a command left behind.
//!
//! Shared with the tests of the core. A test binary starts itself again with the name of a test that does nothing
//! unless it sees the role among the arguments. (The test harness takes the
//! role for one more filter, which matches nothing.)

#![allow(dead_code, reason = "each test file uses a part")]

use samuel_process::{CommandOutput, CommandSpec, ProcessError, Supervisor, run};
use std::{fs, path::Path};
use tokio_util::sync::CancellationToken;

/// Describes this binary in a role that the test `entry` plays.
pub(crate) fn role_args(entry: &str, role: &str) -> [String; 4] {
    [entry.into(), "--exact".into(), "--nocapture".into(), role.into()]
}

/// Tells whether this process was started to play a role.
pub(crate) fn plays(role: &str) -> bool {
    std::env::args().any(|arg| arg == role)
}

/// A supervisor that is this test binary; its `main.rs` must have a test
/// `supervisor_entry` that calls [`supervise_if_asked`].
pub(crate) fn supervisor() -> Supervisor {
    Supervisor::SelfExec {
        program: std::env::current_exe().unwrap(),
        args: role_args("supervisor_entry", "as-supervisor").map(Into::into).to_vec(),
    }
}

pub(crate) fn supervise_if_asked() {
    if plays("as-supervisor") {
        samuel_process::supervisor_main();
    }
}

/// A shell command in `dir` with a `PATH`.
pub(crate) fn shell(line: &str, dir: &Path) -> CommandSpec {
    CommandSpec::shell(line, dir).env("PATH", "/usr/local/bin:/usr/bin:/bin")
}

pub(crate) async fn run_supervised(spec: CommandSpec) -> Result<CommandOutput, ProcessError> {
    run(spec, &supervisor(), &CancellationToken::new()).await
}

/// Marks a command and all its descendants by a variable that they inherit.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new(name: &str) -> Self {
        Self(format!("{name}-{}", std::process::id()))
    }

    pub(crate) fn on(&self, spec: CommandSpec) -> CommandSpec {
        spec.env("SAMUEL_TEST_MARK", self.0.as_str())
    }

    pub(crate) fn variable(&self) -> (&'static str, &str) {
        ("SAMUEL_TEST_MARK", &self.0)
    }

    /// Returns the living processes with the mark.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let wanted = format!("SAMUEL_TEST_MARK={}", self.0);
        let table = fs::read_dir("/proc").unwrap();
        let pids = table.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
    }

    #[track_caller]
    pub(crate) fn assert_gone(&self) {
        let left = self.processes();
        assert!(left.is_empty(), "still there: {left:?}");
    }
}
