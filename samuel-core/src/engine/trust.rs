//! Whether what a repository brings may run.
//!
//! Agent commands, quality checks and hooks come with the repository and
//! execute on the user's machine. The library never decides that by itself:
//! the caller gives a [`TrustPolicy`], which is shown the [`Executables`].

use std::{fmt, path::PathBuf, sync::Arc};

use serde::Serialize;

use super::run::Frozen;
use crate::hook::{HookPoint, Registry, Tier};

/// What a run would execute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Executables {
    /// The agent's name.
    pub agent: String,
    /// The configured command line of the agent, where there is one.
    pub agent_command: Vec<String>,
    /// How the agent runs unattended, in its own words.
    pub permission_notice: Option<String>,
    /// The quality checks, in order.
    pub quality_checks: Vec<String>,
    /// Handlers beside the built-in ones: point and id.
    pub handlers: Vec<(String, String)>,
    /// Templates of the repository that replace built-in ones.
    pub templates: Vec<String>,
}

impl Executables {
    /// Collects what a run would execute.
    pub(super) fn of(frozen: &Frozen, registry: &Registry, templates: &[PathBuf]) -> Self {
        let mut handlers = Vec::new();
        for point in HookPoint::ALL {
            let foreign = registry.handlers(*point).filter(|(_, _, tier)| *tier != Tier::BuiltIn);
            handlers.extend(foreign.map(|(id, _, _)| (point.to_string(), id.to_owned())));
        }
        let checks = &frozen.settings.quality_checks;
        Self {
            agent: frozen.agent.name().to_owned(),
            agent_command: frozen.settings.agent_command.clone(),
            permission_notice: frozen.agent.permission_notice(),
            quality_checks: checks.iter().map(|check| check.command.clone()).collect(),
            handlers,
            templates: templates.iter().map(|path| path.display().to_string()).collect(),
        }
    }

    /// Returns one line for each thing that would execute.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![match self.agent_command.is_empty() {
            true => format!("agent {}", self.agent),
            false => format!("agent {}: {}", self.agent, command_line(&self.agent_command)),
        }];
        lines.extend(self.permission_notice.iter().map(|notice| format!("  {notice}")));
        lines.extend(self.quality_checks.iter().map(|check| format!("quality check: {check}")));
        lines.extend(self.handlers.iter().map(|(point, id)| format!("handler of {point}: {id}")));
        lines.extend(self.templates.iter().map(|path| format!("prompt template: {path}")));
        lines
    }
}

/// Writes a command so that it is plain where each word ends.
fn command_line(words: &[String]) -> String {
    let is_plain =
        |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c));
    let quoted = |word: &String| if is_plain(word) { word.clone() } else { format!("{word:?}") };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A closure that decides.
type Decide = Arc<dyn Fn(&Executables) -> bool + Send + Sync>;

/// Who decides whether what a repository brings may run.
#[derive(Clone, Default)]
pub enum TrustPolicy {
    /// Nothing of it may run; the default.
    #[default]
    Refuse,
    /// All of it may run: the caller knows the repository.
    TrustAll,
    /// A closure decides. It may block, for instance to ask a user.
    Ask(Decide),
}

impl TrustPolicy {
    /// Creates a policy that asks a closure.
    pub fn ask(decide: impl Fn(&Executables) -> bool + Send + Sync + 'static) -> Self {
        Self::Ask(Arc::new(decide))
    }

    /// Says whether the executables may run.
    pub(super) fn allows(&self, executables: &Executables) -> bool {
        match self {
            Self::Refuse => false,
            Self::TrustAll => true,
            Self::Ask(decide) => decide(executables),
        }
    }
}

impl fmt::Debug for TrustPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "Refuse",
            Self::TrustAll => "TrustAll",
            Self::Ask(_) => "Ask",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_plain_where_each_word_of_a_command_ends() {
        let words = ["sh", "-c", "rm -rf x", ""].map(str::to_owned);
        assert_eq!(command_line(&words), r#"sh -c "rm -rf x" """#);
    }
}
