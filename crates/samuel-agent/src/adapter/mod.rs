//! The agents' command lines, one file each.
//!
//! A [`Cli`] says how a program is called unattended; its parser reads what the
//! program prints. Running it is [`run`](super::run)'s.

mod claude;
mod codex;
mod command;
mod copilot;
mod gemini;
mod kiro;
mod plain;

use std::sync::Arc;

use samuel_model::{Usage, clock::Clock};

use super::{Provider, Reports, stream::StreamParser};

/// How an agent's program is called unattended.
#[derive(Debug)]
pub(super) struct Cli {
    /// The name in configuration.
    pub(super) name: &'static str,
    /// The program, unless the configuration names another.
    pub(super) program: Option<&'static str>,
    /// The arguments before those of the configuration.
    pub(super) args: &'static [&'static str],
    /// The option that takes the name of a model; none where it takes no name.
    pub(super) model_flag: Option<&'static str>,
    /// The arguments after those of the configuration that make it go on in a conversation,
    /// for whose name `{conversation}` stands; none where it cannot.
    pub(super) resume_args: &'static [&'static str],
    /// What it says where the conversation is not there: any of these texts.
    pub(super) lost_words: &'static [&'static str],
    /// The arguments after all others.
    pub(super) last_args: &'static [&'static str],
    /// The environment variables it needs beside the general ones.
    pub(super) env: &'static [&'static str],
    /// Whom it talks to; none where that is not known, or is said by nothing of it.
    pub(super) provider: Option<Provider>,
    /// What a user must know before it runs.
    pub(super) notice: Option<&'static str>,
    /// Whether it reports while it works. One that does not may be silent for as
    /// long as it works, which is no sign that it hangs.
    pub(super) speaks: Speaks,
    /// What it reports of what it consumes.
    pub(super) reports: Reports,
    /// Whether its output is a stream whose last event says how it ended.
    pub(super) final_event: bool,
    /// Makes the reader of its output, from what earlier calls consumed in the conversation
    /// that it goes on in.
    pub(super) parser: fn(Arc<dyn Clock>, Usage) -> Box<dyn StreamParser>,
}

/// When an agent's program writes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    /// From the start and while it works.
    Throughout,
    /// Perhaps only at its end.
    PerhapsLate,
}

/// Every agent that is a program.
pub(super) const ALL: &[&Cli] =
    &[&claude::CLI, &codex::CLI, &gemini::CLI, &copilot::CLI, &kiro::CLI, &command::CLI];
