//! What `run prompt --json` answers: the next prompt, what it consists of, or the templates that were
//! copied.

use std::path::PathBuf;

use samuel_core::{
    agent::Choice,
    context::PromptStats,
    engine::{Preview, PreviewStop},
    model::payload::{Mode, TaskBrief},
};
use serde::Serialize;

/// The prompt that the agent would get next.
#[derive(Debug, Serialize)]
pub(crate) struct NextPrompt<'a> {
    /// The iteration, from 1.
    iteration: u32,
    /// What it would be for.
    mode: Mode,
    /// The task it would be for.
    task: Option<&'a TaskBrief>,
    /// The agent that would get it, and why it is this one; nothing where none would be called.
    agent: Option<&'a Choice>,
    /// What the agent would get; nothing where no iteration would be made.
    prompt: Option<&'a str>,
    /// Why no iteration would be made, where that is so.
    stop: Option<&'a PreviewStop>,
}

impl<'a> NextPrompt<'a> {
    /// Takes it from a preview.
    pub(crate) fn of(preview: &'a Preview) -> Self {
        Self {
            iteration: preview.iteration,
            mode: preview.mode,
            task: preview.task.as_ref(),
            agent: preview.agent.as_ref(),
            prompt: preview.prompt.as_deref(),
            stop: preview.stop.as_ref(),
        }
    }
}

/// What the next prompt consists of: `run prompt --stats`.
#[derive(Debug, Serialize)]
pub(crate) struct NextPromptStats<'a> {
    /// The iteration, from 1.
    iteration: u32,
    /// What it would be for.
    mode: Mode,
    /// The task it would be for.
    task: Option<&'a TaskBrief>,
    /// The agent that would get it, and why it is this one.
    agent: Option<&'a Choice>,
    /// The sections and what each takes.
    stats: &'a PromptStats,
}

impl<'a> NextPromptStats<'a> {
    /// Takes it from a preview and what its prompt consists of.
    pub(crate) fn of(preview: &'a Preview, stats: &'a PromptStats) -> Self {
        Self {
            iteration: preview.iteration,
            mode: preview.mode,
            task: preview.task.as_ref(),
            agent: preview.agent.as_ref(),
            stats,
        }
    }
}

/// The templates that were copied: `run prompt --export`.
#[derive(Debug, Serialize)]
pub(crate) struct ExportedTemplates {
    /// The files that were written, relative to the project.
    pub written: Vec<PathBuf>,
}
