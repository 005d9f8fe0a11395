//! What a handler starts, and what passes between it and Samuel.
//!
//! A [`Launch`] is made of the very [`CommandSpec`] that a handler starts, so that what is shown
//! is what runs. An [`HookExchange`] has what a process was given and what it gave back. They are
//! kept where somebody asks for them with [`CallScope::exchanges`](super::CallScope), as `samuel hooks
//! test` does, or has the calls of repository hooks traced, and nowhere else.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use samuel_model::{clock::whole_ms, environment::is_secret};
use samuel_process::CommandSpec;
use serde::Serialize;

/// How many processes of one dispatch are kept.
const MAX_EXCHANGES: usize = 100;

/// What a handler starts, as it is started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory that it starts in.
    pub cwd: String,
    /// Its whole environment, by name.
    pub env: Vec<LaunchVariable>,
    /// What it reads on its standard input; nothing where that is empty or stays open.
    pub stdin: Option<String>,
    /// How long it may run, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// A variable of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchVariable {
    /// Its name.
    pub name: String,
    /// Its value; nothing where the name says that it is a secret, which is not shown.
    pub value: Option<String>,
}

/// A process of a handler: what went in, and what came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookExchange {
    /// The handler's id.
    pub handler: String,
    /// What was started.
    pub launch: Launch,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// How it ended, such as `exit code 0`.
    pub status: String,
    /// The code that it exited with; nothing where a signal ended it.
    pub exit_code: Option<i32>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
}

impl Launch {
    /// Describes what starts. Of variables whose names say that they are secrets no value is
    /// taken.
    pub fn of(spec: &CommandSpec) -> Self {
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let program = std::iter::once(text(spec.program()));
        let env: BTreeMap<String, String> =
            spec.variables().map(|(name, value)| (text(name), text(value))).collect();
        let shown = |(name, value): (String, String)| {
            let value = (!is_secret(&name)).then_some(value);
            LaunchVariable { name, value }
        };
        Self {
            argv: program.chain(spec.arguments().iter().map(|argument| text(argument))).collect(),
            cwd: spec.cwd().display().to_string(),
            env: env.into_iter().map(shown).collect(),
            stdin: spec.input().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            timeout_ms: spec.time_limit().map(whole_ms),
        }
    }
}

/// Collects the processes of a dispatch, up to 100.
#[derive(Debug, Default)]
pub struct Exchanges(Mutex<Vec<HookExchange>>);

impl Exchanges {
    pub(super) fn keep(&self, exchange: HookExchange) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_EXCHANGES {
            kept.push(exchange);
        }
    }

    /// Returns what the process printed that ended last.
    pub(super) fn last_printed(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last().map(|exchange| exchange.stdout.clone())
    }

    /// Takes what was collected, in the order in which the processes ended.
    pub fn take(&self) -> Vec<HookExchange> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_launch_is_what_starts_without_the_values_of_secrets() {
        let spec = CommandSpec::shell("echo \"$A\"", "/work")
            .env("A", "1")
            .env("A", "2")
            .env("GITHUB_TOKEN", "ghp_x")
            .stdin("{}")
            .timeout(Duration::from_secs(3));
        let launch = Launch::of(&spec);
        assert_eq!(launch.argv, ["/bin/sh", "-c", "echo \"$A\""]);
        let env: Vec<_> = launch.env.iter().map(|one| (one.name.as_str(), one.value.as_deref())).collect();
        assert_eq!(env, [("A", Some("2")), ("GITHUB_TOKEN", None)]);
        assert_eq!((launch.stdin.as_deref(), launch.timeout_ms), (Some("{}"), Some(3000)));
    }
}
