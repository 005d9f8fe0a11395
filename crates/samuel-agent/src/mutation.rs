//! How the scripted agent changes tasks.
//!
//! A real agent runs `samuel run done ID` from its shell. The scripted one does
//! the same through a [`MutationRoute::Command`], or, so that a library user
//! needs no binary, through a [`MutationSink`] in the program itself.

use std::{fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use samuel_model::run_blocking;
use samuel_state::{Actor, Mutation, PlanStore};

/// Returns the tool under which hooks see a mutation, such as `samuel.done`.
pub(super) fn ability_id(mutation: &Mutation) -> String {
    format!("samuel.{}", mutation.name())
}

/// Returns the arguments after `samuel` for a mutation that a script can hold.
pub(super) fn to_args(mutation: &Mutation) -> Option<Vec<String>> {
    let mut args = vec!["run".to_owned(), mutation.name().to_owned()];
    let option = |name: &str, value: Option<String>| match value {
        Some(value) => vec![name.to_owned(), value],
        None => Vec::new(),
    };
    match mutation {
        Mutation::Done { id, commit_sha, iteration } => {
            args.push(id.to_string());
            args.extend(option("--commit-sha", commit_sha.clone()));
            args.extend(option("--iteration", iteration.map(|number| number.to_string())));
        }
        Mutation::Skip { id, reason } => {
            args.push(id.to_string());
            args.extend(option("--reason", reason.clone()));
        }
        Mutation::Reset { id } => args.push(id.to_string()),
        Mutation::Ask { id, question, options } => {
            args.extend(options.iter().flat_map(|proposed| option("--option", Some(proposed.clone()))));
            args.extend(["--".to_owned(), id.to_string(), question.clone()]);
        }
        Mutation::Enqueue { task } => {
            args.extend(option("--priority", Some(task.priority.to_string())));
            args.extend(option("--complexity", Some(task.complexity.to_string())));
            args.extend(option("--source", Some(task.source.to_string())));
            args.extend(option("--parent", task.parent_id.as_ref().map(ToString::to_string)));
            // A title may start with a dash.
            args.extend(["--".to_owned(), task.title.clone()]);
        }
        _ => return None,
    }
    Some(args)
}

/// Carries out the scripted agent's mutations inside the program.
///
/// Implementations stand below [`async_trait`](async_trait::async_trait).
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

/// Carries out the scripted agent's mutations on a store.
#[derive(Clone, Debug)]
pub struct StoreSink(pub Arc<dyn PlanStore>);

#[async_trait]
impl MutationSink for StoreSink {
    async fn apply(&self, mutation: Mutation) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let store = Arc::clone(&self.0);
        let applied = run_blocking(move || store.mutate(mutation, Actor::Agent)).await??;
        Ok(format!("revision {}", applied.revision))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::{Priority, TaskId};
    use samuel_state::NewTask;

    #[test]
    fn mutations_are_the_commands_of_the_cli() {
        let done =
            Mutation::Done { id: TaskId::new("1.2"), commit_sha: Some("abc".into()), iteration: Some(3) };
        let new = NewTask { priority: Priority::High, ..NewTask::new("-v is ignored") };
        let words = |mutation| to_args(&mutation).map(|args| args.join(" "));
        assert_eq!(words(done).as_deref(), Some("run done 1.2 --commit-sha abc --iteration 3"));
        assert_eq!(
            words(Mutation::Enqueue { task: new }).as_deref(),
            Some("run enqueue --priority high --complexity medium --source manual -- -v is ignored")
        );
        assert_eq!(words(Mutation::StartTask { id: TaskId::new("1"), owner: None }), None);
    }
}
