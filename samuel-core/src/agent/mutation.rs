//! How the scripted agent changes tasks.
//!
//! A real agent runs `samuel run done ID` from its shell. The scripted one does
//! the same through a [`MutationRoute::Command`], or, so that a library user
//! needs no binary, through a [`MutationSink`] in the program itself.

use std::{fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::model::{Complexity, Priority, Source, TaskId};

/// A change of the task list; seed 004, the mutation commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mutation", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mutation {
    /// A task is done.
    Done {
        /// The task.
        task: TaskId,
        /// The commit that did it.
        #[serde(default)]
        commit_sha: Option<String>,
        /// The iteration that did it, from 1.
        #[serde(default)]
        iteration: Option<u32>,
    },
    /// A task is left out.
    Skip {
        /// The task.
        task: TaskId,
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// A task is pending again.
    Reset {
        /// The task.
        task: TaskId,
    },
    /// There is a new task.
    Enqueue {
        /// Its title.
        title: String,
        /// How urgent it is.
        #[serde(default)]
        priority: Option<Priority>,
        /// How much work it is.
        #[serde(default)]
        complexity: Option<Complexity>,
        /// Where it comes from.
        #[serde(default)]
        source: Option<Source>,
    },
}

impl Mutation {
    /// Returns the tool under which hooks see the mutation, such as `samuel.done`.
    pub fn ability_id(&self) -> &'static str {
        match self {
            Self::Done { .. } => "samuel.done",
            Self::Skip { .. } => "samuel.skip",
            Self::Reset { .. } => "samuel.reset",
            Self::Enqueue { .. } => "samuel.enqueue",
        }
    }

    /// Returns the arguments after `samuel`.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = vec!["run".to_owned()];
        let option = |name: &str, value: Option<String>| {
            value.map(|value| [name.to_owned(), value]).into_iter().flatten().collect::<Vec<_>>()
        };
        match self {
            Self::Done { task, commit_sha, iteration } => {
                args.extend(["done".to_owned(), task.to_string()]);
                args.extend(option("--commit-sha", commit_sha.clone()));
                args.extend(option("--iteration", iteration.map(|number| number.to_string())));
            }
            Self::Skip { task, reason } => {
                args.extend(["skip".to_owned(), task.to_string()]);
                args.extend(option("--reason", reason.clone()));
            }
            Self::Reset { task } => args.extend(["reset".to_owned(), task.to_string()]),
            Self::Enqueue { title, priority, complexity, source } => {
                args.push("enqueue".to_owned());
                args.extend(option("--priority", priority.map(|word| word.to_string())));
                args.extend(option("--complexity", complexity.map(|word| word.to_string())));
                args.extend(option("--source", source.map(|word| word.to_string())));
                // A title may start with a dash.
                args.extend(["--".to_owned(), title.clone()]);
            }
        }
        args
    }
}

/// Carries out the scripted agent's mutations inside the program.
#[async_trait]
pub trait MutationSink: Send + Sync {
    /// Carries out a mutation and returns a line that says what was done.
    ///
    /// # Errors
    /// Returns why it cannot be carried out, for the agent to read.
    async fn apply(&self, mutation: Mutation) -> Result<String, Box<dyn std::error::Error + Send + Sync>>;
}

/// The way by which the scripted agent changes tasks.
#[derive(Clone, Default)]
pub enum MutationRoute {
    /// None: a script that changes tasks fails.
    #[default]
    None,
    /// The `samuel` program at this path, run in the project.
    Command(PathBuf),
    /// An object in this program.
    Sink(Arc<dyn MutationSink>),
}

impl fmt::Debug for MutationRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Command(program) => f.debug_tuple("Command").field(program).finish(),
            Self::Sink(_) => f.write_str("Sink"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_are_the_commands_of_the_cli() {
        let done = Mutation::Done { task: TaskId::new("1.2"), commit_sha: Some("abc".into()), iteration: Some(3) };
        assert_eq!(done.to_args(), ["run", "done", "1.2", "--commit-sha", "abc", "--iteration", "3"]);
        let new = Mutation::Enqueue {
            title: "-v is ignored".into(),
            priority: Some(Priority::High),
            complexity: None,
            source: Some(Source::PilotDiscovery),
        };
        assert_eq!(
            new.to_args(),
            ["run", "enqueue", "--priority", "high", "--source", "pilot-discovery", "--", "-v is ignored"]
        );
    }
}
