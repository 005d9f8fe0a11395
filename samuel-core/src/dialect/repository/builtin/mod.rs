//! Handlers that are built in: a repository hook names one in the place of a command.
//!
//! Both write below `.system/logs` and `.system/cache` only, one process at a time, and what they
//! write is bounded.

mod ability_call;
mod slow_calls;
mod usage;

use std::path::{Component, Path, PathBuf};

pub(super) use ability_call::AbilityCall;

use crate::{
    config::{ProblemKind, shorten},
    dialect::{
        problems::Problems,
        yaml::{Node, Value},
    },
    fs::{PROJECT_DIRECTORY, Root},
    hook::HookFailure,
    model::payload::HookResults,
    state::{FileLock, Holder, append_rotated, unversioned_directory},
};

/// Where logs may be.
const LOGS: &str = ".system/logs";
/// Where caches may be.
const CACHES: &str = ".system/cache";
/// The log that the engine writes.
const HOOK_LOG: &str = ".system/logs/hooks.log";
/// Held while one of them writes.
const LOCK: &str = ".system/cache/builtin_hooks.lock";
/// How long it is waited for.
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_secs(5);

/// A handler that is built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `usage_log`: a line of JSON for each call, and counters by ability and status.
    UsageLog {
        /// The log, relative to the project's root; `.system/logs/tool_call.log` by default.
        log: PathBuf,
        /// The counters, one JSON document; `.system/cache/ability_usage.json` by default.
        cache: PathBuf,
    },
    /// `slow_calls`: a line of JSON for each call that took as long as `min_duration_ms` says; 2
    /// seconds where it says nothing.
    SlowCalls {
        /// The log, relative to the project's root; `.system/logs/slow_abilities.log` by default.
        log: PathBuf,
    },
}

impl Builtin {
    /// The names that hook files use.
    const NAMES: [&str; 2] = ["usage_log", "slow_calls"];

    /// Returns the name that hook files use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::UsageLog { .. } => "usage_log",
            Self::SlowCalls { .. } => "slow_calls",
        }
    }

    /// Lists where it writes, as hook files say it.
    pub(super) fn details(&self) -> Vec<(String, String)> {
        let place = |key: &str, path: &Path| (key.to_owned(), path.display().to_string());
        match self {
            Self::UsageLog { log, cache } => vec![place("log", log), place("cache", cache)],
            Self::SlowCalls { log } => vec![place("log", log)],
        }
    }

    /// Reads what a hook file says of one.
    pub(super) fn read(problems: &mut Problems, node: &Node, mapping: &[(Node, Node)]) -> Option<Self> {
        let is_name = |(key, _): &&(Node, Node)| matches!(&key.value, Value::Text(name) if name == "name");
        let Some((_, name)) = mapping.iter().find(is_name) else {
            problems.add(node, "handler", ProblemKind::Missing { name: "name" });
            return None;
        };
        match problems.text(name, "handler.name")? {
            "usage_log" => {
                let [_, _, log, cache] =
                    problems.keys(mapping, "handler", &["kind", "name", "log", "cache"], |_| None);
                let log = place(problems, log, "handler.log", LOGS, "tool_call.log");
                let cache = place(problems, cache, "handler.cache", CACHES, "ability_usage.json");
                Some(Self::UsageLog { log: log?, cache: cache? })
            }
            "slow_calls" => {
                let [_, _, log] = problems.keys(mapping, "handler", &["kind", "name", "log"], |_| None);
                Some(Self::SlowCalls {
                    log: place(problems, log, "handler.log", LOGS, "slow_abilities.log")?,
                })
            }
            other => {
                let unknown = ProblemKind::unknown_name("built-in handler", other, &Self::NAMES);
                problems.add(name, "handler.name", unknown);
                None
            }
        }
    }

    /// Writes down a call. Blocks.
    pub(super) fn write(
        &self,
        root: &Root,
        call: &AbilityCall,
        min_duration_ms: u64,
    ) -> Result<HookResults, HookFailure> {
        if let Self::SlowCalls { .. } = self
            && !slow_calls::is_slow(call, min_duration_ms)
        {
            return Ok(HookResults::default());
        }
        for directory in [LOGS, CACHES] {
            unversioned_directory(root, Path::new(directory))?;
        }
        let holder = Holder::this_process(call.time, self.name());
        let _lock = FileLock::exclusive(root, Path::new(LOCK), &holder, LOCK_WAIT)?;
        match self {
            Self::UsageLog { log, cache } => {
                append(root, log, call)?;
                let logs = usage::count(root, cache, call)?;
                Ok(HookResults { usage_recorded: true, logs, ..HookResults::default() })
            }
            Self::SlowCalls { log } => {
                append(root, log, call)?;
                Ok(HookResults { logs: vec![slow_calls::told(call)], ..HookResults::default() })
            }
        }
    }
}

/// Appends a call to a log, which is moved aside past 8 MiB.
fn append(root: &Root, log: &Path, call: &AbilityCall) -> Result<(), HookFailure> {
    let mut line = serde_json::to_vec(call)?;
    line.push(b'\n');
    let mut old = log.as_os_str().to_owned();
    old.push(".1");
    if let Some(directory) = log.parent() {
        root.create_directory(directory, PROJECT_DIRECTORY)?;
    }
    Ok(append_rotated(root, log, Path::new(&old), &line)?)
}

/// Reads where something is written, which is below one directory.
fn place(
    problems: &mut Problems,
    entry: Option<&(Node, Node)>,
    key: &str,
    directory: &'static str,
    default: &str,
) -> Option<PathBuf> {
    let Some((_, node)) = entry else { return Some(Path::new(directory).join(default)) };
    let text = problems.text(node, key)?;
    let path = Path::new(text.strip_prefix("./").unwrap_or(text));
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let below = path.strip_prefix(directory).is_ok_and(|rest| rest.components().next().is_some());
    if is_plain && below && path != Path::new(HOOK_LOG) && path != Path::new(LOCK) {
        return Some(path.to_owned());
    }
    let what = format!("\"{}\" is not a place below {directory}", shorten(text));
    problems.tell(node, key, what, format!("Write a path such as {directory}/{default}."));
    None
}
