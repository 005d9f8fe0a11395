//! One call of an agent, as its hooks are wired for it.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use samuel_hook::Bridge;
use serde_json::{Map, Value};

use super::{EventKind, Protocol};

/// How much longer an agent waits for its hook than the bridge takes at most. Agents let a call
/// pass when a hook runs out of time.
const SLACK: Duration = Duration::from_secs(10);

/// The file in the bridge's directory that says where the run listens. It is named on the bridge's
/// command line, since settings of the agent's own can put something else into a hook's environment.
const ADDRESS: &str = "run.json";

/// How an agent's hooks are wired for one call.
pub(crate) trait Wire: Protocol {
    /// Adds to a command line what makes the agent start the bridge.
    ///
    /// # Errors
    /// Returns a [`WireError`] where settings that have to be kept cannot be read.
    fn wire(&self, wiring: &mut Wiring<'_>) -> Result<(), WireError>;

    /// Says what it means to the user that the bridge is wired.
    fn notice(&self) -> &'static str;
}

/// The command line of one call of an agent, while a [`Protocol`] wires the bridge into it.
pub(crate) struct Wiring<'a> {
    /// The bridge.
    pub(super) bridge: &'a Bridge,
    /// The words that start the agent, up to those of a conversation it goes on in.
    pub(crate) words: Vec<String>,
    /// The agent's whole environment.
    pub(crate) env: Vec<(String, String)>,
    /// The files that are written before the agent starts, all in the bridge's directory.
    pub(crate) files: Vec<(PathBuf, String)>,
    settings: &'a dyn SettingsFiles,
}

/// The settings of an agent, as they lie on the machine.
pub(crate) trait SettingsFiles {
    /// Reads a file; nothing where there is none. Relative paths are of the directory that the agent
    /// works in.
    fn read(&self, path: &Path) -> io::Result<Option<String>>;

    /// Says whether a directory and all above it are root's, and nobody else can write to any.
    fn is_roots(&self, directory: &Path) -> bool;
}

/// Settings that have to be kept beside the bridge and cannot be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// A file cannot be read.
    #[error("cannot read {}, which the hooks of its tool calls stand beside", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Settings cannot be understood.
    #[error("cannot add the hooks of its tool calls to {place}: {problem}")]
    Settings {
        /// Where they are.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

impl<'a> Wiring<'a> {
    /// Begins with an agent's command line and environment.
    pub(crate) fn new(
        bridge: &'a Bridge,
        words: Vec<String>,
        env: Vec<(String, String)>,
        settings: &'a dyn SettingsFiles,
    ) -> Self {
        let address: Map<_, _> =
            bridge.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let env = env.into_iter().chain(bridge.env.iter().cloned()).collect();
        let files = vec![(bridge.dir.join(ADDRESS), Value::from(address).to_string())];
        Self { bridge, words, env, files, settings }
    }

    /// Returns the events to wire, with the command of each for a shell.
    pub(super) fn hooks(&self, protocol: &dyn Protocol) -> Vec<(&'static str, String)> {
        let is_wanted = |kind: EventKind| match kind {
            EventKind::Before => self.bridge.before,
            EventKind::After | EventKind::Failed => self.bridge.after,
            // Those are the run's own.
            _ => false,
        };
        let events = protocol.events().iter().filter(|(_, kind)| is_wanted(*kind));
        events.map(|(event, _)| (*event, self.command(protocol, event))).collect()
    }

    /// Returns how long the agent waits for one of its hooks.
    pub(super) fn timeout(&self) -> Duration {
        self.bridge.deadline + SLACK
    }

    fn command(&self, protocol: &dyn Protocol, event: &str) -> String {
        let deadline = format!("{}s", self.bridge.deadline.as_secs().max(1));
        let address = self.bridge.dir.join(ADDRESS).display().to_string();
        let own = [protocol.name(), event, "--deadline", &deadline, "--run", &address];
        let words = self.bridge.command.iter().map(String::as_str).chain(own);
        words.map(shell_word).collect::<Vec<_>>().join(" ")
    }

    /// Returns where a variable of the environment stands that is set.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let set = self.env.iter().rev().find(|(known, _)| known == name);
        set.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Reads a file of settings; nothing where there is none.
    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, WireError> {
        self.settings.read(path).map_err(|source| WireError::Read { path: path.to_owned(), source })
    }

    /// Says whether the bridge's directory and all above it are root's alone.
    pub(super) fn is_roots(&self) -> bool {
        self.settings.is_roots(&self.bridge.dir)
    }
}

impl std::fmt::Debug for Wiring<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wiring").field("words", &self.words).finish_non_exhaustive()
    }
}

/// Quotes a word for a POSIX shell, so that it is one whatever it holds.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
