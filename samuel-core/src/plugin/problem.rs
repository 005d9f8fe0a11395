//! What can be wrong in a manifest beside what any TOML file can have wrong.

use super::{Capability, PluginKind};
use crate::{config::ProblemKind, hook::HookPoint, model::Remedy};

/// What makes no sense in a manifest.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestProblem {
    /// The text is no version.
    #[error("\"{text}\" is not a version: {problem}")]
    NoVersion {
        /// The text as it was given.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The plugin is for another Samuel.
    #[error("the plugin needs Samuel {needed}, and this is {host}")]
    OtherSamuel {
        /// The range it needs.
        needed: String,
        /// The version there is.
        host: String,
    },
    /// A table belongs to another kind of plugin.
    #[error("this belongs to a plugin of kind {wanted}, and this one is {kind}")]
    OtherKind {
        /// The kind it belongs to.
        wanted: PluginKind,
        /// The plugin's kind.
        kind: PluginKind,
    },
    /// A methodology has no handlers of its own.
    #[error("a plugin of kind methodology has no handlers of its own")]
    NoHandlers,
    /// A setting that is no text has a list of texts that it may be.
    #[error("one_of lists texts, and a setting of type {kind} is none")]
    ChoiceOfTexts {
        /// The type of the setting.
        kind: &'static str,
    },
    /// One point is bound twice, and not to the same.
    #[error("{point} is bound to \"{second}\" here and to \"{first}\" at line {line}")]
    TwoBindings {
        /// The point.
        point: HookPoint,
        /// The handler of the first binding.
        first: String,
        /// The line of the first binding, from 1.
        line: usize,
        /// The handler of this one.
        second: String,
    },
    /// A point is provided and has no handler.
    #[error("{point} is provided and bound to no handler")]
    Unbound {
        /// The point.
        point: HookPoint,
    },
    /// The text cannot name a handler.
    #[error("\"{handler}\" cannot be a handler: {rule}")]
    BadHandler {
        /// The text as it was given.
        handler: String,
        /// What handlers of this kind look like.
        rule: &'static str,
    },
    /// The text cannot be a target of a capability.
    #[error("\"{target}\" cannot be a target of {capability}: {rule}")]
    BadTarget {
        /// The capability.
        capability: Capability,
        /// The text as it was given.
        target: String,
        /// What targets look like.
        rule: &'static str,
    },
    /// A capability without targets grants nothing.
    #[error("{capability} has no targets")]
    NoTargets {
        /// The capability.
        capability: Capability,
    },
    /// The path leaves the plugin.
    #[error("\"{path}\" is not a path within the plugin")]
    OutsidePath {
        /// The path as it was given.
        path: String,
    },
    /// A file that the manifest names is not there, or not what it must be.
    #[error("\"{path}\" {fault}")]
    BadFile {
        /// The path as it was given.
        path: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A handler of the agent's point may only stand for a program.
    #[error("a handler of agent.invoke runs a program, and the plugin does not ask for exec")]
    AgentWithoutExec,
    /// The component is not there, because nobody has built it yet.
    #[error("\"{path}\" does not exist")]
    NoModule {
        /// Its path as it was given.
        path: String,
    },
    /// A handler is to be replied to that asks nothing.
    #[error("only a script that handles agent.invoke has its input kept open for replies")]
    NotInteractive,
}

impl ManifestProblem {
    /// Returns what to do next, one line.
    fn help(&self) -> String {
        match self {
            Self::NoVersion { .. } => {
                "Write a version such as \"1.2.0\", or a range such as \"^2.0\".".to_owned()
            }
            Self::OtherSamuel { .. } => "Use another version of the plugin, or of Samuel.".to_owned(),
            Self::OtherKind { wanted, .. } => format!("Remove it, or write kind = \"{wanted}\"."),
            Self::NoHandlers => "Write kind = \"skill\", \"wasm\" or \"oci\".".to_owned(),
            Self::ChoiceOfTexts { .. } => "Write type = \"string\", or remove one_of.".to_owned(),
            Self::TwoBindings { .. } => "Remove one of the two.".to_owned(),
            Self::Unbound { point } => format!("Add \"{point}\" = \"<handler>\" to [hooks]."),
            Self::BadHandler { .. } => "Name another handler.".to_owned(),
            Self::BadTarget { .. } => "Correct the target.".to_owned(),
            Self::NoTargets { .. } => "Name what it is for, or remove it.".to_owned(),
            Self::OutsidePath { .. } => "Give a path relative to the plugin's directory.".to_owned(),
            Self::BadFile { .. } | Self::NoModule { .. } => "Correct the path, or the file.".to_owned(),
            Self::NotInteractive => "Leave `interactive` out.".to_owned(),
            Self::AgentWithoutExec => "Add exec with its programs to [capabilities].".to_owned(),
        }
    }
}

impl From<ManifestProblem> for ProblemKind {
    fn from(problem: ManifestProblem) -> Self {
        let help = match &problem {
            ManifestProblem::NoModule { .. } => Remedy::BuildPlugin.after(problem.help()),
            problem => problem.help().into(),
        };
        Self::Specific { what: problem.to_string(), help }
    }
}
