//! One session hook, as its file describes it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    HookType,
    shell::ShellText,
    template::{Template, Values},
};
use crate::{
    dialect::command::{self, Pinning, PlainCommand},
    hook::HookFileEntry,
    model::payload::Deliver,
    script::{CommandLine, Pinned},
};

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
    /// The files of the project that its command starts, once they were read.
    pub(super) pinned: Option<Arc<Pinned>>,
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

impl SessionHook {
    /// Reads what the hook executes of a project: its command without values of its variables.
    /// Blocks.
    pub(in crate::dialect) fn executed(&self, root: &Path) -> PlainCommand {
        let cwd = self.cwd.as_ref().map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
        PlainCommand::read(self.command.line(&Values::new()).0, root, cwd)
    }

    /// Has the hook start the files of the project as they are now. Blocks.
    pub(in crate::dialect) fn pinned(&self, command: PlainCommand, pinning: &Pinning<'_>) -> Self {
        let is_fixed = |place: usize| match &self.command {
            Command::Shell(_) => true,
            Command::Words(words) => words.get(place).is_some_and(|word| word.variables().next().is_none()),
        };
        let (entry, pinned) = command.pinned(&self.entry, pinning, &is_fixed);
        Self { entry: Arc::new(entry), pinned: Some(Arc::new(pinned)), ..self.clone() }
    }

    /// Says in one line each what to know of the files that the hook starts, with its place.
    pub(in crate::dialect) fn remarks(&self) -> Vec<String> {
        self.pinned.as_ref().map(|pinned| command::remarks(&self.entry, pinned, None)).unwrap_or_default()
    }
}

/// The longest argument and the longest environment variable that systems pass, in bytes.
const MAX_PASSED: usize = (128 << 10) - 1;

/// Says why a text with the values of variables cannot be passed.
pub(super) fn too_long(what: &str, template: &Template, filled: &str, values: &Values) -> Option<String> {
    let variable = template.longest(values).filter(|_| filled.len() > MAX_PASSED)?;
    Some(format!(
        "{what} with {{{{{}}}}} is {} KiB long, and a system passes less than 128 KiB. Write the command as a line, \
         where a variable may be of any length",
        variable.as_str(),
        filled.len().div_ceil(1 << 10)
    ))
}

impl Command {
    /// Says which argument is too long to be passed with the values of its variables.
    pub(super) fn too_long(&self, values: &Values) -> Option<String> {
        let Self::Words(words) = self else { return None };
        let too_long = |(number, word): (usize, &Template)| {
            too_long(&format!("argument {number}"), word, &word.fill(values), values)
        };
        words.iter().enumerate().find_map(too_long)
    }

    /// Returns the command with the values of its variables, the environment variables that hold
    /// them, and what it reads first.
    pub(super) fn line(&self, values: &Values) -> (CommandLine, Vec<(String, String)>, String) {
        match self {
            Self::Words(words) => {
                (CommandLine::words(words.iter().map(|word| word.fill(values))), Vec::new(), String::new())
            }
            Self::Shell(line) => {
                let ready = line.with(values);
                (CommandLine::Shell(ready.text), ready.env, ready.stdin)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::dialect::session::Variable;

    #[test]
    fn an_argument_is_passed_without_nul_and_told_of_where_it_is_too_long() {
        let word = |text| Template::read(text, |_| Ok::<_, ()>(Variable::Error)).unwrap();
        let command = Command::Words(vec![word("echo"), word("why: {{error}}")]);
        let values = |text: String| Values::from([(Variable::Error, text)]);
        assert_eq!(command.too_long(&values("x".repeat(MAX_PASSED - 5))), None);
        let told = command.too_long(&values("x".repeat(MAX_PASSED - 4))).unwrap();
        assert!(told.starts_with("argument 1 with {{error}} is 128 KiB long"), "{told}");
        let (line, ..) = command.line(&values("a\0b".to_owned()));
        assert_eq!(line, CommandLine::words(["echo", "why: a\u{fffd}b"].map(str::to_owned)));
    }
}
