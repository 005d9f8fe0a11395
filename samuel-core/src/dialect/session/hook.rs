//! One session hook, as its file describes it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{HookType, shell::ShellText, template::Template};
use crate::{hook::HookFileEntry, model::payload::Deliver};

/// How long a hook may take that says nothing of it.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// A session hook.
#[derive(Clone, Debug)]
pub struct SessionHook {
    /// When it runs.
    pub hook_type: HookType,
    /// Its place among the entries of its type, from 1; entries that are left out count.
    pub number: usize,
    /// How long its command may take.
    pub timeout: Duration,
    /// Whether the agent is told what the command printed.
    pub pipe_output: bool,
    /// When the agent is told.
    pub deliver: Deliver,
    /// The directory of the command, relative to the project's root.
    pub cwd: Option<PathBuf>,
    /// Whether what the command leaves running lives on.
    pub background: bool,
    pub(super) command: Command,
    pub(super) env: Vec<(String, Template)>,
    /// What is told of it before it runs.
    pub(super) entry: Arc<HookFileEntry>,
}

impl SessionHook {
    /// Returns the id of its handler, such as `session:post_iteration#1`.
    pub fn id(&self) -> String {
        format!("session:{}#{}", self.hook_type.as_str(), self.number)
    }

    /// Returns what is told of it before it runs: place, command, and what changes how that runs.
    pub fn entry(&self) -> &Arc<HookFileEntry> {
        &self.entry
    }
}

/// What a session hook runs.
#[derive(Clone, Debug)]
pub(super) enum Command {
    /// A line for a shell.
    Shell(ShellText),
    /// A program and its arguments.
    Words(Vec<Template>),
}
