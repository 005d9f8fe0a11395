//! A run as Markdown that fits into the text of a pull request.

use std::fmt::{self, Write};

use super::{RunPage, escape::markdown, html::outcome_of};
use crate::{
    event::CheckResult,
    history::words::{consumed, took, verdict},
    text::{counted, excerpt},
};

/// How many rows a list has.
const MAX_ROWS: usize = 100;
/// How much is shown of one text, in bytes.
const MAX_TEXT: usize = 300;

impl RunPage {
    /// Writes the text.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_markdown(&mut out);
        out
    }

    fn write_markdown(&self, out: &mut String) -> fmt::Result {
        let run = &self.run;
        let (_, ended) = self.ended();
        writeln!(out, "## {}\n", shown(&self.project))?;
        writeln!(
            out,
            "{}. Run {}: {}, {}{}.\n",
            shown(&ended),
            shown(&run.run),
            counted(run.begun().0, "iteration"),
            took(run.took_ms),
            consumed(run.usage)
        )?;
        for gap in self.gaps() {
            writeln!(out, "> {}\n", shown(&gap))?;
        }
        if !self.tasks.is_empty() {
            writeln!(out, "### Tasks\n")?;
            for task in self.tasks.iter().take(MAX_ROWS) {
                let (_, outcome) = outcome_of(task);
                let mark = if task.completed { 'x' } else { ' ' };
                let commits: Vec<String> =
                    task.commits.iter().map(|sha| shown(sha.get(..12).unwrap_or(sha))).collect();
                let commits =
                    if commits.is_empty() { String::new() } else { format!(" ({})", commits.join(", ")) };
                let iterations = counted(task.iterations, "iteration");
                let (id, title) = (shown(task.task.as_str()), shown(&task.title));
                writeln!(out, "- [{mark}] {id} {title}: {outcome}, {iterations}{commits}")?;
            }
            more(out, self.tasks.len(), "task")?;
        }
        if let Some(check) = run.checks.iter().rev().find(|check| check.result != CheckResult::Cancelled) {
            writeln!(out, "### Checks\n\nThe last: {}.\n", verdict(check.result))?;
            for failure in check.failures.iter().take(MAX_ROWS) {
                writeln!(out, "- {}: {}", shown(&failure.command), shown(&failure.message))?;
            }
            if !check.failures.is_empty() {
                writeln!(out)?;
            }
        }
        if !self.files.is_empty() {
            writeln!(out, "### Files\n")?;
            for file in self.files.iter().take(MAX_ROWS) {
                writeln!(out, "- {} {}", file.change, shown(&file.path))?;
            }
            more(out, self.files.len() + self.more_files, "file")?;
        }
        if !run.warnings.is_empty() {
            writeln!(out, "### Warnings\n")?;
            for warning in run.warnings.iter().take(MAX_ROWS) {
                writeln!(out, "- {}", shown(&warning.text))?;
            }
            let all = usize::try_from(run.more_warnings).unwrap_or(usize::MAX);
            more(out, run.warnings.len().saturating_add(all), "warning")?;
        }
        Ok(())
    }
}

fn more(out: &mut String, all: usize, noun: &str) -> fmt::Result {
    match all.saturating_sub(MAX_ROWS) {
        0 => writeln!(out),
        more => writeln!(out, "- and {}\n", counted(more, noun)),
    }
}

fn shown(words: &str) -> String {
    markdown(excerpt(words, MAX_TEXT))
}
