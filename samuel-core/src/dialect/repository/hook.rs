//! One repository hook, as its file describes it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use super::{Builtin, EventType, Toggle, handler, matching::Matching};
use crate::{
    dialect::command::{self, Pinning, PlainCommand},
    hook::HookFileEntry,
    script::{CommandLine, Pinned},
};

/// A repository hook.
#[derive(Clone, Debug)]
pub struct RepositoryHook {
    /// Its name, of which there is one in a repository.
    pub id: String,
    /// When it runs.
    pub event_type: EventType,
    /// What it is for, in the words of its file; empty where it has none.
    pub summary: String,
    /// Whether it is to run.
    pub enabled: Toggle,
    /// Whether it can stop what it is asked about, and stops it where it breaks. `false` at events
    /// where nothing can be stopped.
    pub blocking: bool,
    /// How long its command may take.
    pub timeout: Duration,
    /// What it is said to do beside answering, each as it is written: a name, and what it is about.
    pub effects: Vec<(String, Option<String>)>,
    pub(super) matching: Matching,
    pub(super) action: Action,
    /// What is told of it before it runs.
    pub(super) entry: Arc<HookFileEntry>,
    /// The script in its command that a problem of its file is about, as it stands there.
    pub(super) told_of: Option<PathBuf>,
    /// The files of the project that its command starts, once they were read.
    pub(super) pinned: Option<Arc<Pinned>>,
}

/// What a repository hook does.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Starts a command.
    Script(CommandLine),
    /// Runs what is built in.
    Builtin(Builtin),
}

impl RepositoryHook {
    /// Returns the id of its handler, such as `repo:post_tool_use_tracker`.
    pub fn handler_id(&self) -> String {
        format!("repo:{}", self.id)
    }

    /// Returns what is told of it before it runs: place, command, conditions.
    pub fn entry(&self) -> &Arc<HookFileEntry> {
        &self.entry
    }

    /// Says whether the input of its point, as JSON, is an event that it is for.
    pub(crate) fn is_for(&self, input: &Value) -> bool {
        handler::is_for(self, input)
    }

    /// Turns it on or off by an environment.
    pub(in crate::dialect) fn toggled(&self, env: &[(String, String)]) -> Self {
        let entry = HookFileEntry { disabled: !self.enabled.is_on(env), ..HookFileEntry::clone(&self.entry) };
        Self { entry: Arc::new(entry), ..self.clone() }
    }

    /// Reads what it executes of a project; nothing of one that does not run, or is built in. Blocks.
    pub(in crate::dialect) fn executed(&self, root: &Path) -> Option<PlainCommand> {
        match &self.action {
            Action::Script(line) if !self.entry.disabled => {
                Some(PlainCommand::read(line.clone(), root, root.to_owned()))
            }
            _ => None,
        }
    }

    /// Has the hook start the files of the project as they are now. Blocks.
    pub(in crate::dialect) fn pinned(&self, command: PlainCommand, pinning: &Pinning<'_>) -> Self {
        let (entry, pinned) = command.pinned(&self.entry, pinning, &|_| true);
        Self { entry: Arc::new(entry), pinned: Some(Arc::new(pinned)), ..self.clone() }
    }

    /// Says in one line each what to know of the files that the hook starts, with its place; nothing of one
    /// that a problem is about.
    pub(in crate::dialect) fn remarks(&self) -> Vec<String> {
        let told_of = self.told_of.as_deref();
        self.pinned.as_ref().map(|pinned| command::remarks(&self.entry, pinned, told_of)).unwrap_or_default()
    }
}
