//! A run as one page of HTML that needs nothing else: no script, no network.

use std::fmt::{self, Write};

use super::{
    RunPage, TaskOutcome,
    escape::{beginning, ending, text},
    style::STYLE,
};
use crate::{
    event::CheckResult,
    history::{
        CheckHistory, IterationHistory, LOST_ITS_TASK, RunState,
        words::{consumed, ids, took, verdict},
    },
    model::{ExitReason, Mark, Usage, payload::Mode},
    text::{counted, dollars},
};

/// How many iterations have a row, the last ones.
const MAX_ROWS: usize = 2_000;
/// How many of them show their turns and long texts, the last ones, and how many turns each.
const MAX_TURNS: usize = 300;
const MAX_TURNS_EACH: usize = 8;
/// How many checks that failed show what they printed, the last ones, how many failures each, and how much in bytes.
const MAX_CHECKS: usize = 50;
const MAX_FAILURES: usize = 5;
const MAX_TAIL: usize = 2_500;
/// How many commits are named of a task, the last ones.
const MAX_COMMITS: usize = 10;
/// How many rows other tables have.
const MAX_TABLE: usize = 500;
/// How much is shown of one text, in bytes of the page, and of one in a row further up or of a turn.
const MAX_TEXT: usize = 400;
const MAX_BRIEF: usize = 150;

impl RunPage {
    /// Writes the page.
    pub fn to_html(&self) -> String {
        let mut out = String::with_capacity(64 << 10);
        // Writing to a string cannot fail.
        let _ = self.write_html(&mut out);
        out
    }

    fn write_html(&self, out: &mut String) -> fmt::Result {
        let title = format!("{}: run {}", self.project, self.run.run);
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none';style-src 'unsafe-inline'\"><title>{}</title><style>{STYLE}</style></head><body>\n",
            text(&title)
        )?;
        self.head(out)?;
        self.timeline(out)?;
        self.tasks(out)?;
        self.iterations(out)?;
        self.checks(out)?;
        self.cost(out)?;
        self.hooks(out)?;
        self.changes(out)?;
        self.warnings(out)?;
        writeln!(
            out,
            "<p class=\"dim\">Made {} from the record of the run.</p>\n</body></html>",
            text(format!("{:.0}", self.made_at))
        )
    }

    fn head(&self, out: &mut String) -> fmt::Result {
        let run = &self.run;
        writeln!(out, "<h1>{}</h1>", shown(&self.project))?;
        write!(out, "<p class=\"dim\">Run <span class=\"id\">{}</span>", text(&run.run))?;
        if let Some(started) = run.started_at {
            write!(out, ", started {}", text(format!("{started:.0}")))?;
        }
        if !run.agent.is_empty() {
            let model = run.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
            write!(out, ", with {}", text(format!("{}{model}", run.agent)))?;
        }
        if let Some(from) = &run.goes_on_from {
            write!(out, ", goes on from {}", text(from))?;
        }
        writeln!(out, "</p>")?;
        let (class, ended) = self.ended();
        writeln!(out, "<p class=\"{class}\"><b>{}</b></p>", shown(&ended))?;
        let (begun, failed) = run.begun();
        out.push_str("<div class=\"cards\">");
        card(out, begun, if begun == 1 { "iteration" } else { "iterations" })?;
        card(out, failed, "of them failed")?;
        let completed = run.completed.len();
        card(out, completed, if completed == 1 { "task completed" } else { "tasks completed" })?;
        card(out, took(run.took_ms), "from start to end")?;
        card(out, run.usage.tokens(), "tokens")?;
        card(out, run.usage.cost_usd.map_or("unknown".to_owned(), dollars), "cost")?;
        out.push_str("</div>\n");
        for note in self.notes() {
            writeln!(out, "<p class=\"note\">{}</p>", text(note))?;
        }
        Ok(())
    }

    /// Says how the run ended, and whether that is well.
    pub(super) fn ended(&self) -> (&'static str, String) {
        match (&self.run.report, self.run.state) {
            (Some(report), _) => {
                let asked =
                    self.run.ended_by.as_ref().filter(|_| report.exit_reason == ExitReason::Cancelled);
                let asked = asked.map(|by| format!("asked by {by}"));
                let why: Vec<String> = report.detail.clone().into_iter().chain(asked).collect();
                let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
                let class = if report.exit_reason.exit_code() == 0 { "ok" } else { "bad" };
                (class, format!("Ended as {}{why}", report.exit_reason))
            }
            (None, RunState::UnderWay) => ("warn", "Under way".to_owned()),
            (None, _) => ("bad", "Cut off: no end is recorded".to_owned()),
        }
    }

    /// Says where work is that is not merged, and what of the record is missing.
    pub(super) fn notes(&self) -> Vec<String> {
        let gaps = &self.run.gaps;
        let unmerged = |branch| format!("{branch} has work that is not merged into what is checked out.");
        let mut told: Vec<String> = self.run.unmerged.iter().map(unmerged).collect();
        if gaps.beginning {
            told.push(
                "The beginning of the record is not there any more: what is told here begins later."
                    .to_owned(),
            );
        }
        if gaps.missing > 0 {
            told.push(format!("The record lacks {}.", counted(gaps.missing, "event")));
        }
        if gaps.repeated > 0 {
            told.push(format!("The record has {} more than once.", counted(gaps.repeated, "event")));
        }
        if gaps.unreadable > 0 {
            told.push(format!("The record has {} that cannot be read.", counted(gaps.unreadable, "line")));
        }
        told
    }

    fn tasks(&self, out: &mut String) -> fmt::Result {
        if self.tasks.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Tasks</h2><div class=\"wide\"><table><tr><th>Task</th><th>Title</th><th>Outcome</th><th class=\"n\">Iterations</th><th class=\"n\">Tokens</th><th class=\"n\">Cost</th><th>Commits</th></tr>\n");
        for task in self.tasks.iter().take(MAX_TABLE) {
            let (class, outcome) = outcome_of(task);
            write!(
                out,
                "<tr><td class=\"id\">{}</td><td class=\"t\">{}</td><td class=\"{class}\">{}</td><td class=\"n\">{}</td>",
                shown(task.task.as_str()),
                shown(&task.title),
                shown(&outcome),
                task.iterations
            )?;
            usage_cells(out, &task.usage)?;
            let last = task.commits.iter().skip(task.commits.len().saturating_sub(MAX_COMMITS));
            let commits: Vec<&str> = last.map(|sha| sha.get(..12).unwrap_or(sha)).collect();
            writeln!(out, "<td class=\"id\">{}</td></tr>", shown(&commits.join(" ")))?;
        }
        out.push_str("</table></div>\n");
        more(out, self.tasks.len(), MAX_TABLE, "task")
    }

    fn iterations(&self, out: &mut String) -> fmt::Result {
        let iterations = &self.run.iterations;
        if iterations.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Iterations</h2>");
        let left_out = iterations.len().saturating_sub(MAX_ROWS);
        if left_out > 0 {
            writeln!(
                out,
                "<p class=\"dim\">{} are left out here.</p>",
                text(format!("The first {left_out}"))
            )?;
        }
        out.push_str("<div class=\"wide\"><table><tr><th class=\"n\">#</th><th>Task</th><th>Outcome</th><th class=\"n\">Took</th><th class=\"n\">Tokens</th><th class=\"n\">Cost</th></tr>\n");
        let first_late = iterations.len().saturating_sub(MAX_TURNS);
        for (place, iteration) in iterations.iter().enumerate().skip(left_out) {
            row(out, iteration, place >= first_late)?;
        }
        out.push_str("</table></div>\n");
        Ok(())
    }

    fn checks(&self, out: &mut String) -> fmt::Result {
        let checks = &self.run.checks;
        if checks.is_empty() {
            return Ok(());
        }
        let count = |wanted| checks.iter().filter(|check| check.result == wanted).count();
        writeln!(
            out,
            "<h2>Checks</h2><p>{} passed, {} failed, {} advisory, {} cancelled, {} without anything to ask.</p>",
            count(CheckResult::Passed),
            count(CheckResult::Failed),
            count(CheckResult::Advisory),
            count(CheckResult::Cancelled),
            count(CheckResult::Unverified)
        )?;
        let failed: Vec<&CheckHistory> =
            checks.iter().filter(|check| !check.failures.is_empty() || check.reason.is_some()).collect();
        let left_out = failed.len().saturating_sub(MAX_CHECKS);
        if left_out > 0 {
            writeln!(out, "<p class=\"dim\">The first {left_out} that failed are left out here.</p>")?;
        }
        for check in failed.into_iter().skip(left_out) {
            let at = check.commit.as_ref().map(|sha| format!(" at {}", sha.get(..12).unwrap_or(sha)));
            writeln!(
                out,
                "<details><summary>{}: {}{}</summary>",
                shown(&checked(check)),
                text(verdict(check.result)),
                shown(&at.unwrap_or_default())
            )?;
            for failure in check.failures.iter().take(MAX_FAILURES) {
                writeln!(
                    out,
                    "<p><code>{}</code>: {}</p>",
                    shown(&failure.command),
                    shown(&failure.message)
                )?;
                if !failure.tail.trim().is_empty() {
                    writeln!(out, "<pre>{}</pre>", ending(failure.tail.trim_end(), MAX_TAIL))?;
                }
                if let Some(log) = &failure.log {
                    writeln!(out, "<p class=\"dim\">All of it: {}</p>", shown(log))?;
                }
            }
            more(out, check.failures.len(), MAX_FAILURES, "failure")?;
            if let Some(reason) = &check.reason {
                writeln!(out, "<p>{}</p>", shown(reason))?;
            }
            out.push_str("</details>\n");
        }
        Ok(())
    }

    fn cost(&self, out: &mut String) -> fmt::Result {
        if self.run.agents.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Cost</h2><div class=\"wide\"><table><tr><th>Agent</th><th class=\"n\">Tokens</th><th class=\"n\">Cost</th></tr>\n");
        for total in self.run.agents.iter().take(MAX_TABLE) {
            write!(out, "<tr><td>{}</td>", shown(&total.agent))?;
            usage_cells(out, &total.usage)?;
            out.push_str("</tr>\n");
        }
        out.push_str("</table></div>\n");
        Ok(())
    }

    fn hooks(&self, out: &mut String) -> fmt::Result {
        if self.run.hooks.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Hooks</h2><div class=\"wide\"><table><tr><th>Point</th><th>Handler</th><th class=\"n\">Calls</th><th class=\"n\">Not ok</th><th class=\"n\">Altogether</th><th class=\"n\">Longest</th></tr>\n");
        let mut hooks: Vec<_> = self.run.hooks.iter().collect();
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.total_ms));
        for hook in hooks.iter().take(MAX_TABLE) {
            writeln!(
                out,
                "<tr><td class=\"id\">{}</td><td class=\"id\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
                text(&hook.point),
                shown(&hook.handler),
                hook.calls,
                hook.not_ok,
                took(hook.total_ms),
                took(hook.longest_ms)
            )?;
        }
        out.push_str("</table></div>\n");
        more(out, self.run.hooks.len(), MAX_TABLE, "handler")
    }

    fn changes(&self, out: &mut String) -> fmt::Result {
        let (Some(first), Some(last)) = (&self.run.first_commit, &self.run.last_commit) else {
            return Ok(());
        };
        let short = |sha: &str| text(sha.get(..12).unwrap_or(sha));
        out.push_str("<h2>Files</h2>");
        if first == last && self.run.has_lanes() {
            return writeln!(out, "<p>Nothing landed: the work began at {}.</p>", short(first));
        }
        if first == last {
            return writeln!(
                out,
                "<p>No commit was made: {} was checked out all the time.</p>",
                short(first)
            );
        }
        let lines = self.lines().map(|lines| format!(": {lines}")).unwrap_or_default();
        writeln!(
            out,
            "<p class=\"dim\">From commit {} to {}{}.</p><ul>",
            short(first),
            short(last),
            text(lines)
        )?;
        for file in self.files.iter().take(MAX_TABLE) {
            writeln!(
                out,
                "<li><span class=\"dim\">{}</span> <span class=\"id\">{}</span>{}</li>",
                file.change,
                shown(&file.path),
                file.lines()
                    .map(|lines| format!(" <span class=\"dim\">{}</span>", text(lines)))
                    .unwrap_or_default()
            )?;
        }
        out.push_str("</ul>\n");
        more(out, self.files.len() + self.more_files, MAX_TABLE, "file")
    }

    fn warnings(&self, out: &mut String) -> fmt::Result {
        let warnings = &self.run.warnings;
        if warnings.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Warnings</h2><ul>\n");
        for warning in warnings.iter().take(MAX_TABLE) {
            writeln!(out, "<li>{}</li>", shown(&warning.text))?;
        }
        out.push_str("</ul>\n");
        let all =
            warnings.len().saturating_add(usize::try_from(self.run.more_warnings).unwrap_or(usize::MAX));
        more(out, all, MAX_TABLE, "warning")
    }
}

fn card(out: &mut String, value: impl ToString, what: &str) -> fmt::Result {
    write!(out, "<div><b>{}</b><span>{what}</span></div>", text(value.to_string()))
}

/// Says how many there are beyond those that are shown.
fn more(out: &mut String, all: usize, shown: usize, noun: &str) -> fmt::Result {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "<p class=\"dim\">And {} more.</p>", text(counted(more, noun))),
    }
}

fn usage_cells(out: &mut String, usage: &Usage) -> fmt::Result {
    let tokens = if usage.tokens() > 0 { usage.tokens().to_string() } else { String::new() };
    let cost = usage.cost_usd.map(dollars).unwrap_or_default();
    write!(out, "<td class=\"n\">{tokens}</td><td class=\"n\">{}</td>", text(cost))
}

fn row(out: &mut String, iteration: &IterationHistory, is_late: bool) -> fmt::Result {
    let shown = |words: &str| beginning(words, if is_late { MAX_TEXT } else { MAX_BRIEF });
    let (class, mut outcome) = match (&iteration.outcome, &iteration.failure) {
        (None, _) => ("warn", "no end is recorded".to_owned()),
        (Some(_), Some(_)) if iteration.lost_its_task => ("warn", format!("stopped: {LOST_ITS_TASK}")),
        (Some(outcome), Some(failure)) => {
            ("bad", format!("{outcome}, {}: {}", failure.class, failure.message))
        }
        (Some(outcome), None) => ("ok", outcome.to_string()),
    };
    if iteration.unrecorded {
        outcome.push_str(", but the task was not recorded as done");
    }
    write!(out, "<tr><td class=\"n\">{}</td><td class=\"t\">", iteration.iteration)?;
    match (&iteration.task, iteration.mode) {
        (Some(task), _) => {
            write!(out, "<span class=\"id\">{}</span> {}", shown(task.as_str()), shown(&iteration.title))?
        }
        (None, Some(Mode::Discovery)) => out.push_str("looking for tasks"),
        (None, Some(Mode::Implementation)) => out.push_str("no task"),
        (None, None) => out.push_str("what it was for is not recorded"),
    }
    if let Some(run) = &iteration.began_in {
        write!(out, "<br><span class=\"dim\">began in run {}</span>", shown(run))?;
    }
    if let Some(lane) = iteration.lane {
        write!(out, "<br><span class=\"dim\">in lane {lane}</span>")?;
    }
    write!(out, "</td><td><span class=\"{class}\">{}</span>", shown(&outcome))?;
    if !iteration.taken_back.is_empty() {
        write!(out, "<br><span class=\"warn\">taken back: {}</span>", shown(&ids(&iteration.taken_back)))?;
    }
    if is_late && !iteration.turns.is_empty() {
        out.push_str("<details><summary>turns</summary><ul>");
        for turn in iteration.turns.iter().take(MAX_TURNS_EACH) {
            let model = turn.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
            let ended = match (turn.took_ms, turn.exit_code) {
                (None, _) => "no end is recorded".to_owned(),
                (Some(ms), None) => took(ms),
                (Some(ms), Some(code)) => format!("exit code {code} after {}", took(ms)),
            };
            let calls = counted(turn.tool_calls, "tool call");
            let line =
                format!("{:?}: {}{model}, {ended}, {calls}{}", turn.turn, turn.agent, consumed(turn.usage));
            write!(out, "<li>{}</li>", beginning(&line, MAX_BRIEF))?;
        }
        out.push_str("</ul>");
        more(out, iteration.turns.len(), MAX_TURNS_EACH, "turn")?;
        out.push_str("</details>");
    }
    write!(out, "</td><td class=\"n\">{}</td>", iteration.took_ms.map(took).unwrap_or_default())?;
    usage_cells(out, &iteration.usage)?;
    out.push_str("</tr>\n");
    Ok(())
}

/// Says what was checked.
pub(super) fn checked(check: &CheckHistory) -> String {
    match (check.merged.as_slice(), check.iteration) {
        ([], 0) => "Outside of an iteration".to_owned(),
        ([], iteration) => format!("Iteration {iteration}"),
        (merged, _) => format!("Merged work of {}", ids(merged)),
    }
}

/// Says what became of a task, and whether that is well.
pub(super) fn outcome_of(task: &TaskOutcome) -> (&'static str, String) {
    let again = if task.taken_back > 0 {
        format!(", taken back {} before", times(task.taken_back))
    } else {
        String::new()
    };
    let landings = counted(task.returned.len(), "attempt");
    let (landings, last) = match (task.completed, task.returned.last()) {
        (_, None) => (String::new(), String::new()),
        (true, Some(_)) => {
            let often = u32::try_from(task.returned.len()).unwrap_or(u32::MAX);
            (format!(", came back {}", times(often)), String::new())
        }
        (false, Some(last)) => (format!(", {landings} did not land"), format!(": {last}")),
    };
    let waits = task.waits.as_ref().map(|waits| format!(", {waits}")).unwrap_or_default();
    let (class, became) = match (task.completed, task.taken_back) {
        (true, _) => match Mark::told_of(&task.marks) {
            Some(marks) => ("warn", format!("completed {marks}{again}{landings}")),
            None => ("ok", format!("completed{again}{landings}")),
        },
        (false, _) if task.skipped => {
            let why = task.skip_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            ("warn", format!("skipped{why}"))
        }
        (false, _) if task.held.is_some() => (
            "warn",
            format!("not completed, held back in the queue {}", task.held.as_deref().unwrap_or_default()),
        ),
        (false, 0) => {
            let class = if last.is_empty() { "warn" } else { "bad" };
            (class, format!("not completed{waits}{landings}{last}"))
        }
        (false, count) => ("bad", format!("taken back {}{waits}{landings}{last}", times(count))),
    };
    let found =
        task.found_in.map(|iteration| format!(", found in iteration {iteration}")).unwrap_or_default();
    let left = task.left.as_ref().map(|left| format!(", {left}")).unwrap_or_default();
    (class, became + &found + &left)
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Shortens somebody's words, as text for the page.
fn shown(words: &str) -> String {
    beginning(words, MAX_TEXT)
}
