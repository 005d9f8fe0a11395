//! Whether a template of the project still fits: [`StaleTemplate`].
//!
//! A project that replaces a template keeps its own for years. [`marked`] is what an
//! export writes: the template with a comment that says which one it was copied from.
//! [`staleness`] finds what does not fit any more; it looks and renders nothing.

use std::{fmt, path::PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::ralph::templates::{DISCOVERY_PROMPT_FILE, PROMPT_FILE};
use crate::{
    context::{
        CompletedTask, FailedCheck, PromptContext, SiblingTask, Suggestion, TaskGroup, TaskVars,
        template::{Template, UndefinedVariable},
    },
    model::{Location, Remedy, digest_of},
};

/// How the mark begins, a comment in the first line.
const MARK: &str = "{{/* Copied from Samuel ";
/// How it ends: what follows it is the template, without the line break.
const MARK_END: &str = " */ -}}";
/// Files of the first version, which there are no more.
const OLD_FILES: [&str; 2] = ["prd.json", ".claude/"];
/// How many faults of a template are told.
const MAX_FAULTS: usize = 20;

/// A template of the project that does not fit any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StaleTemplate {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; none where it is about the file as a whole.
    pub line: Option<usize>,
    /// The column, from 1, in characters.
    pub column: Option<usize>,
    /// What does not fit.
    pub why: Staleness,
}

/// What of a template does not fit any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Staleness {
    /// It does not have the command by which agents record what they did.
    NoCommand {
        /// What follows `samuel run`: `done` or `enqueue`.
        command: &'static str,
    },
    /// It names a file or directory of the first version.
    OldFile {
        /// The name, such as `prd.json`.
        name: &'static str,
    },
    /// It has a variable that does not exist.
    UnknownVariable {
        /// The variable as the template spells it.
        variable: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// The template that it was copied from is another one by now.
    Older {
        /// The version of Samuel that it was copied from.
        version: String,
    },
}

impl StaleTemplate {
    /// Returns where it is.
    pub fn location(&self) -> Location {
        Location { file: self.path.clone(), line: self.line, column: self.column }
    }

    /// Returns what to do about it.
    pub fn help(&self) -> Remedy {
        match &self.why {
            Staleness::NoCommand { command: "done" } => {
                "Have the agent run `{{ .Samuel.Binary }} run done {{ .State.NextTask.ID }}`.".into()
            }
            Staleness::NoCommand { .. } => {
                "Have the agent run `{{ .Samuel.Binary }} run enqueue` for each task that it finds.".into()
            }
            Staleness::OldFile { .. } => {
                "Have the agent read the plan by `{{ .Samuel.Binary }} run tasks`, and change it by commands alone."
                    .into()
            }
            Staleness::UnknownVariable { .. } => Remedy::ListVariables,
            Staleness::Older { .. } => Remedy::ExportTemplates,
        }
    }
}

impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand { command } => {
                write!(f, "it does not tell the agent to run `run {command}`, so nothing is recorded")
            }
            Self::OldFile { name } => write!(f, "it names {name}, which Samuel does not use"),
            Self::UnknownVariable { variable, nearest: Some(nearest) } => {
                write!(f, "`{variable}` is not defined; did you mean `{nearest}`?")
            }
            Self::UnknownVariable { variable, nearest: None } => write!(f, "`{variable}` is not defined"),
            Self::Older { version } => {
                write!(f, "it was copied from a template of Samuel {version} that is another one by now")
            }
        }
    }
}

/// Returns a template with the mark of what it is a copy of.
pub(crate) fn marked(text: &str) -> String {
    let (version, digest) = (env!("CARGO_PKG_VERSION"), digest_of(text.as_bytes()));
    format!("{MARK}{version}, {digest}{MARK_END}\n{text}")
}

/// Returns what does not fit any more of a template of the project, which stands in the place of `behind`,
/// by line. One that does not parse has other faults.
pub(crate) fn staleness(path: PathBuf, name: &str, text: &str, behind: &str) -> Vec<StaleTemplate> {
    let at = |line, column, why| StaleTemplate { path: path.clone(), line, column, why };
    let mut found = Vec::new();
    if let Some((version, digest)) = mark_of(text)
        && digest != digest_of(behind.as_bytes())
    {
        found.push(at(Some(1), None, Staleness::Older { version: version.to_owned() }));
    }
    let commands: &[&'static str] = match name {
        PROMPT_FILE => &["done"],
        DISCOVERY_PROMPT_FILE => &["enqueue", "task"],
        _ => &[],
    };
    if let Some(command) = commands.first()
        && !commands.iter().any(|command| runs(text, command))
    {
        found.push(at(None, None, Staleness::NoCommand { command }));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let named = OLD_FILES.into_iter().filter(|name| line.contains(name));
        found.extend(named.map(|name| at(Some(number), None, Staleness::OldFile { name })));
    }
    let unknown = Template::parse(name, text).and_then(|template| template.unknown_variables(&sample()));
    found.extend(unknown.unwrap_or_default().into_iter().map(
        |UndefinedVariable { line, column, variable, nearest, .. }| {
            at(Some(line), Some(column), Staleness::UnknownVariable { variable, nearest })
        },
    ));
    found.sort_by_key(|fault| (fault.line, fault.column));
    found.truncate(MAX_FAULTS);
    found
}

/// Returns version and digest that the mark in the first line says, if there is one.
fn mark_of(text: &str) -> Option<(&str, &str)> {
    text.lines().next()?.trim_end().strip_prefix(MARK)?.strip_suffix(MARK_END)?.split_once(", ")
}

/// Says whether a text has `run <command>`, a methodology in between or none.
fn runs(text: &str, command: &str) -> bool {
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    let follows = |at: usize| words.iter().skip(at + 1).take(2).any(|word| *word == command);
    words.iter().enumerate().any(|(at, word)| *word == "run" && follows(at))
}

/// Returns a context in which everything is there that a template can read.
fn sample() -> Value {
    let mut context = PromptContext::default();
    let state = &mut context.state;
    state.next_task = Some(TaskVars::default());
    state.parent = Some(TaskGroup::default());
    state.siblings = vec![SiblingTask::default()];
    state.recent_completed = vec![CompletedTask::default()];
    state.last_failures = vec![FailedCheck::default()];
    state.suggestions = vec![Suggestion::default()];
    let mut sample = json!(context);
    if let Some(project) = sample.get_mut("Project").and_then(Value::as_object_mut) {
        project.extend([("HasRepository".to_owned(), true.into()), ("PRD".to_owned(), "".into())]);
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methodology::ralph::templates::{DISCOVERY_PROMPT, PROMPT, PROMPTS};

    fn told(name: &str, text: &str, behind: &str) -> Vec<String> {
        let found = staleness(PathBuf::from("t"), name, text, behind);
        found.iter().map(|one| format!("{:?} {}", one.line, one.why)).collect()
    }

    #[test]
    fn a_copy_of_a_built_in_template_fits_and_renders_the_same() {
        for (name, text) in PROMPTS {
            let copy = marked(text);
            assert_eq!(told(name, text, text), [""; 0]);
            assert_eq!(told(name, &copy, text), [""; 0]);
            let render = |text: &str| Template::parse(name, text).and_then(|one| one.render(&sample()));
            assert_eq!(render(&copy).map(|one| one.text).ok(), render(text).map(|one| one.text).ok());
            assert!(render(text).is_ok());
        }
    }

    #[test]
    fn a_copy_of_what_is_another_one_by_now_is_older() {
        let copy = marked(PROMPT).replace(env!("CARGO_PKG_VERSION"), "1.9.0");
        assert_eq!(
            told(PROMPT_FILE, &copy, &format!("{PROMPT}More.\n")),
            ["Some(1) it was copied from a template of Samuel 1.9.0 that is another one by now"]
        );
    }

    #[test]
    fn what_agents_are_told_of_the_first_version_is_found_by_line() {
        let text = "Do it.\nUpdate prd.json, then\n.claude/auto too.\n{{ if .Mode.IsPilot }}{{ .State.NextTask.Nmae }}{{ end }}\n";
        assert_eq!(
            told(PROMPT_FILE, text, PROMPT),
            [
                "None it does not tell the agent to run `run done`, so nothing is recorded",
                "Some(2) it names prd.json, which Samuel does not use",
                "Some(3) it names .claude/, which Samuel does not use",
                "Some(4) `.State.NextTask.Nmae` is not defined",
            ]
        );
        let discovery = "Run `samuel run tdd task add 1 x`.";
        assert_eq!(told(DISCOVERY_PROMPT_FILE, discovery, DISCOVERY_PROMPT), [""; 0]);
        assert_eq!(told(DISCOVERY_PROMPT_FILE, "samuel run done", DISCOVERY_PROMPT).len(), 1);
        assert_eq!(told("agents.md.tmpl", "Hello.", ""), [""; 0]);
        assert_eq!(told(PROMPT_FILE, &"prd.json run done\n".repeat(100), PROMPT).len(), MAX_FAULTS);
    }
}
