//! A run as Markdown that fits into the text of a pull request.

use std::fmt::{self, Write};

use super::{RunPage, escape::markdown, html::outcome_of};
use crate::{
    event::CheckResult,
    history::words::{consumed, ids, took, verdict},
    text::counted,
};

/// How long the whole is at most, in bytes: forges take the text of a pull request up to 65,536 characters.
const MAX_BYTES: usize = 60_000;
/// How much is shown, the most that fits; the last one always does.
const LIMITS: [Limits; 4] = [
    Limits { rows: 100, text: 300 },
    Limits { rows: 100, text: 120 },
    Limits { rows: 50, text: 120 },
    Limits { rows: 25, text: 80 },
];
/// How many commits are named of a task, the last ones.
const MAX_COMMITS: usize = 5;
/// What is said at the end of a text that did not fit.
const SHORTENED: &str = "Shortened to fit here: the page of the run has more of it.\n";

/// How much is shown.
#[derive(Clone, Copy)]
struct Limits {
    /// How many rows a list has.
    rows: usize,
    /// How much is shown of one text, in bytes.
    text: usize,
}

impl RunPage {
    /// Writes the text, below 60,000 bytes: where there is more, lists and texts are cut shorter, and that is said.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for (tried, limits) in LIMITS.into_iter().enumerate() {
            out.clear();
            // Writing to a string cannot fail.
            let _ = self.write_markdown(&mut out, limits);
            if tried > 0 {
                out.push_str(SHORTENED);
            }
            if out.len() < MAX_BYTES {
                break;
            }
        }
        out
    }

    fn write_markdown(&self, out: &mut String, limits: Limits) -> fmt::Result {
        let shown = |words: &str| markdown(words, limits.text);
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
        for note in self.notes() {
            writeln!(out, "> {}\n", shown(&note))?;
        }
        if !self.tasks.is_empty() {
            writeln!(out, "### Tasks\n")?;
            for task in self.tasks.iter().take(limits.rows) {
                let (_, outcome) = outcome_of(task);
                let mark = if task.completed { 'x' } else { ' ' };
                let last = task.commits.iter().skip(task.commits.len().saturating_sub(MAX_COMMITS));
                let commits: Vec<String> = last.map(|sha| shown(sha.get(..12).unwrap_or(sha))).collect();
                let commits =
                    if commits.is_empty() { String::new() } else { format!(" ({})", commits.join(", ")) };
                let mut iterations = counted(task.iterations, "iteration");
                let of_task = run.iterations.iter().filter(|one| one.task.as_ref() == Some(&task.task));
                let earlier = of_task.filter(|iteration| !iteration.began_here()).count();
                if earlier > 0 {
                    let which = match u32::try_from(earlier) == Ok(task.iterations) {
                        true => "begun".to_owned(),
                        false => format!("{earlier} of which began"),
                    };
                    write!(iterations, ", {which} in the run before")?;
                }
                let (id, title, outcome) = (shown(task.task.as_str()), shown(&task.title), shown(&outcome));
                writeln!(out, "- [{mark}] {id} {title}: {outcome}, {iterations}{commits}")?;
            }
            more(out, self.tasks.len(), limits, "task")?;
        }
        let said = || run.checks.iter().rev().filter(|check| check.result != CheckResult::Cancelled);
        // What lands is what the queue has checked, whatever a lane did since.
        let last = said().find(|check| !check.merged.is_empty()).or_else(|| said().next());
        if let Some(check) = last {
            let of = match check.merged.as_slice() {
                [] => String::new(),
                merged => format!(" of merged work ({})", shown(&ids(merged))),
            };
            writeln!(out, "### Checks\n\nThe last{of}: {}.\n", verdict(check.result))?;
            for failure in check.failures.iter().take(limits.rows) {
                writeln!(out, "- {}: {}", shown(&failure.command), shown(&failure.message))?;
            }
            if !check.failures.is_empty() {
                more(out, check.failures.len(), limits, "failure")?;
            }
        }
        if !self.files.is_empty() {
            writeln!(out, "### Files\n\n{}\n", self.lines().unwrap_or_default())?;
            for file in self.files.iter().take(limits.rows) {
                let lines = file.lines().map(|lines| format!(" ({lines})")).unwrap_or_default();
                writeln!(out, "- {} {}{lines}", file.change, shown(&file.path))?;
            }
            more(out, self.files.len() + self.more_files, limits, "file")?;
        }
        if !run.warnings.is_empty() {
            writeln!(out, "### Warnings\n")?;
            for warning in run.warnings.iter().take(limits.rows) {
                writeln!(out, "- {}", shown(&warning.text))?;
            }
            let all = usize::try_from(run.more_warnings).unwrap_or(usize::MAX);
            more(out, run.warnings.len().saturating_add(all), limits, "warning")?;
        }
        Ok(())
    }
}

fn more(out: &mut String, all: usize, limits: Limits, noun: &str) -> fmt::Result {
    match all.saturating_sub(limits.rows) {
        0 => writeln!(out),
        more => writeln!(out, "- and {}\n", counted(more, noun)),
    }
}
