//! Hooks as text: lists, what one starts, what came of one, the log.

use std::time::Duration;

use samuel_core::{
    config::format_duration,
    engine::{
        HandlerReport, HookFiring, HookList, HookProblem, HookTrial, HookValidation, ListedHook, ShownHooks,
    },
    hook::{BreakClass, ChainMode, HookExchange, HookStatus, Launch, Tier},
    state::{HookLog, HookLogLine},
    text::{counted, lasting},
};
use serde_json::Value;

use super::{columns, hooks::when_it_breaks, safe, safe_lines, time_of_day};

/// Lists hooks, one a line, with why those do not run that do not.
pub(crate) fn hook_list_text(list: &HookList) -> String {
    if list.hooks.is_empty() {
        return format!(
            "There are no hooks beside {}; `samuel doctor --hooks` lists those.\n",
            counted(list.built_in, "built-in handler")
        );
    }
    let header = ["ID", "POINT", "ENABLED", "BLOCKING", "MATCH", "TIER", "WHERE"].map(str::to_owned);
    let row = |hook: &ListedHook| {
        let enabled = match &hook.why_not {
            None => "true".to_owned(),
            Some(why) => format!("false: {why}"),
        };
        [
            hook.id.clone(),
            point(hook),
            enabled,
            hook.blocking.to_string(),
            matched(hook),
            tier(hook),
            hook.place.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<[String; 7]> = std::iter::once(header).chain(list.hooks.iter().map(row)).collect();
    columns(&rows)
}

/// Names the point, with what a hook file calls the event.
fn point(hook: &ListedHook) -> String {
    match &hook.event_type {
        Some(event_type) => format!("{} ({event_type})", hook.point),
        None => hook.point.to_string(),
    }
}

/// Names what kind of thing it is. That a built-in handler is a closure is nothing that readers of hook files
/// know of.
fn tier(hook: &ListedHook) -> String {
    match (hook.tier, &hook.event_type) {
        (Tier::Blocking, Some(_)) => "built-in".to_owned(),
        (tier, _) => tier.to_string(),
    }
}

fn matched(hook: &ListedHook) -> String {
    match (&hook.matches, hook.mode) {
        (Some(matches), ChainMode::Both) => matches.clone(),
        (Some(matches), ChainMode::Only(mode)) => format!("{matches}, {} iterations", mode.as_str()),
        (None, ChainMode::Both) if hook.event_type.is_some() => "every time".to_owned(),
        (None, ChainMode::Both) => "every iteration".to_owned(),
        (None, ChainMode::Only(mode)) => format!("{} iterations", mode.as_str()),
    }
}

/// Shows a hook at each point that it answers at.
pub(crate) fn shown_hooks_text(shown: &ShownHooks) -> String {
    let mut text = String::new();
    for hook in &shown.hooks {
        text.push_str(&format!("{}: {}\n", safe(&shown.id), hook.point));
        if let Some(skipped) = &hook.skipped {
            text.push_str(&format!("  does not run: {}\n", safe(&skipped.why)));
        }
        if let Some(report) = &hook.runs {
            text.push_str(&handler_text(report));
        }
        if let Some(launch) = &hook.launch {
            text.push_str("\nIt starts, for a sample of the event\n");
            text.push_str(&launch_text(launch));
        }
    }
    text
}

fn handler_text(report: &HandlerReport) -> String {
    let limit = |ms: u64| format_duration(Duration::from_millis(ms));
    let mut lines = vec![
        ("tier", report.tier.to_string()),
        ("source", report.source.clone()),
        ("order", report.order.to_string()),
        ("timeout", report.timeout_ms.map_or_else(|| "its own".to_owned(), limit)),
        ("when it breaks", when_it_breaks(report).to_owned()),
    ];
    let asks_timeout = report.asks.timeout_ms.map(|ms| format!("timeout {}", limit(ms)));
    let asks_strict = report.asks.strict.map(|strict| format!("strict {strict}"));
    let asks: Vec<String> = asks_timeout.into_iter().chain(asks_strict).collect();
    if !asks.is_empty() {
        lines.push(("asks for", asks.join(", ")));
    }
    if let Some(entry) = &report.entry {
        lines.push(("where", entry.to_string()));
        lines.push(("command", entry.command.clone()));
    }
    if let Some(origin) = report.origin.as_ref().filter(|_| report.entry.is_none()) {
        lines.push(("where", origin.to_string()));
    }
    let line = |(name, value): &(&str, String)| format!("  {name:<15} {}\n", safe(value));
    let mut text: String = lines.iter().map(line).collect();
    if let Some(entry) = &report.entry {
        let detail = |(name, value): &(String, String)| format!("  {:<15} {}\n", safe(name), safe(value));
        text.extend(entry.details.iter().map(detail));
        text.extend(
            entry
                .scripts
                .iter()
                .map(|(path, digest)| format!("  {:<15} {}  {digest}\n", "script", safe(path))),
        );
    }
    text
}

fn launch_text(launch: &Launch) -> String {
    let mut text = String::new();
    for word in &launch.argv {
        text.push_str(&format!("  argv   {}\n", quoted(word)));
    }
    text.push_str(&format!("  cwd    {}\n", safe(&launch.cwd)));
    for variable in &launch.env {
        let value = variable.value.as_deref().map_or_else(|| "(a secret, not shown)".to_owned(), quoted);
        text.push_str(&format!("  env    {}={value}\n", safe(&variable.name)));
    }
    if let Some(stdin) = &launch.stdin {
        text.push_str(&block("stdin", stdin));
    }
    text
}

/// Writes a text of one line as it is, and any other so that its ends are plain.
fn quoted(text: &str) -> String {
    match text.contains(|c: char| c.is_control()) || text.is_empty() {
        true => safe(&format!("{text:?}")),
        false => safe(text),
    }
}

/// Sets a text in below its name.
fn block(name: &str, text: &str) -> String {
    if text.is_empty() {
        return format!("  {name}: nothing\n");
    }
    let lines: String = safe_lines(text).lines().map(|line| format!("    {line}\n")).collect();
    format!("  {name}\n{lines}")
}

fn exchange_text(exchange: &HookExchange) -> String {
    let head = format!(
        "Process of {}: {} after {}\n",
        safe(&exchange.handler),
        safe(&exchange.status),
        lasting(Duration::from_millis(exchange.duration_ms))
    );
    head + &launch_text(&exchange.launch)
        + &block("stdout", &exchange.stdout)
        + &block("stderr", &exchange.stderr)
}

/// Says how a call ended, such as `broke: timeout`.
fn ended(status: HookStatus, class: Option<BreakClass>) -> String {
    match class {
        Some(class) => format!("{status}: {class}"),
        None => status.to_string(),
    }
}

/// Returns what was measured in parts of milliseconds.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or_default()
}

/// What is said of a hook that was not asked.
const NOT_ASKED: &str = "not asked, the event is none of those that it is for,";

/// Shows what came of one hook.
pub(crate) fn trial_text(trial: &HookTrial) -> String {
    let mut text = format!(
        "{} at {}: {} in {}\n",
        safe(&trial.id),
        trial.point,
        trial.status.map_or_else(|| NOT_ASKED.to_owned(), |status| ended(status, trial.class)),
        lasting(milliseconds(trial.duration_ms))
    );
    if let Some(place) = &trial.place {
        text.push_str(&format!("  where: {}\n", safe(place)));
    }
    if let Some(failure) = &trial.failure {
        text.push_str(&format!("  broke: {}\n", safe(&failure.to_string())));
        failure.details.iter().for_each(|line| text.push_str(&format!("    {}\n", safe(line))));
    }
    if let Some(reason) = &trial.refused {
        text.push_str(&format!("  refused: {}\n", safe(reason)));
    }
    for warning in &trial.warnings {
        text.push_str(&format!("  warning: {}\n", safe(&warning.message)));
    }
    text.push_str(&block("event", &pretty(&trial.input)));
    trial.exchanges.iter().for_each(|exchange| text.push_str(&exchange_text(exchange)));
    if let Some(output) = &trial.output {
        text.push_str("Answer\n");
        text.push_str(&block("output", &pretty(output)));
    }
    if trial.contributed.as_object().is_some_and(|data| !data.is_empty()) {
        text.push_str(&block("contributed", &pretty(&trial.contributed)));
    }
    text
}

/// Shows what came of a point, or what would.
pub(crate) fn firing_text(firing: &HookFiring) -> String {
    let mut text = match firing.outcome {
        Some(_) => format!("{} was fired\n", firing.point),
        None => format!("{} would call\n", firing.point),
    };
    for handler in &firing.run {
        let timing = firing.outcome.iter().flat_map(|outcome| &outcome.timings);
        let told = timing
            .filter(|timing| *timing.handler == *handler.id)
            .map(|timing| format!(": {} in {}", ended(timing.status, timing.class), lasting(timing.took)));
        let told: String = told.collect();
        text.push_str(&format!("  {} {} {}{told}\n", handler.order, safe(&handler.id), handler.tier));
    }
    if firing.run.is_empty() {
        text.push_str("  nothing\n");
    }
    for skipped in &firing.skipped {
        text.push_str(&format!("  skipped {}: {}\n", safe(&skipped.id), safe(&skipped.why)));
    }
    let Some(outcome) = &firing.outcome else { return text };
    if let Some(reason) = &outcome.refused {
        text.push_str(&format!("  refused: {}\n", safe(reason)));
    }
    for warning in &outcome.warnings {
        let (handler, class) = (safe(&warning.handler), safe(&warning.class));
        text.push_str(&format!("  warning: {handler} {class}: {}\n", safe(&warning.message)));
    }
    text.push_str(&block("event", &pretty(&firing.input)));
    firing.exchanges.iter().for_each(|exchange| text.push_str(&exchange_text(exchange)));
    if let Some(output) = &firing.output {
        text.push_str("Answer\n");
        text.push_str(&block("output", &pretty(output)));
    }
    text
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Shows what was found of the hook files and the hook tables.
pub(crate) fn validation_text(found: &HookValidation) -> String {
    let mut text: String = found.problems.iter().map(problem_text).collect();
    for warning in &found.warnings {
        text.push_str(&format!("warning: {}\n", safe(warning)));
    }
    if !found.secrets.is_empty() {
        text.push_str(&format!(
            "warning: commands of hook files are given these variables, which look like secrets: {}\n",
            safe(&found.secrets.join(", "))
        ));
    }
    let files: Vec<String> = found.files.iter().map(|file| safe(&file.display().to_string())).collect();
    let files = match (files.as_slice(), found.problems.as_slice()) {
        ([], []) => "no hook file".to_owned(),
        ([], _) => "no hook file that can be read".to_owned(),
        (files, _) => files.join(", "),
    };
    let problems = match found.problems.len() {
        0 => "no problems".to_owned(),
        count => counted(count, "problem"),
    };
    text + &format!("{files}: {} in all, {problems}\n", counted(found.hooks, "hook"))
}

fn problem_text(problem: &HookProblem) -> String {
    let place = problem.file.as_ref().map(|file| file.display().to_string());
    let numbers = [problem.line, problem.column].into_iter().flatten().map(|number| number.to_string());
    let place: Vec<String> = place.into_iter().chain(numbers).collect();
    let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(":")) };
    format!("{}{}\n  help: {}\n", safe(&place), safe(&problem.message), safe(&problem.help))
}

/// Shows calls of hooks, one a line.
pub(crate) fn hook_log_text(log: &HookLog) -> String {
    if log.lines.is_empty() {
        return "No call of a hook is in the log.\n".to_owned();
    }
    let header = ["TIME", "ITERATION", "POINT", "ID", "STATUS", "TIME TAKEN", "EXIT"].map(str::to_owned);
    let row = |line: &HookLogLine| {
        [
            time_of_day(line.time),
            line.iteration.map_or_else(|| "-".to_owned(), |iteration| iteration.to_string()),
            line.point.clone(),
            line.id.clone(),
            ended(line.status, line.class),
            lasting(Duration::from_millis(line.duration_ms)),
            line.exit.map_or_else(|| "-".to_owned(), |code| code.to_string()),
        ]
    };
    let rows: Vec<[String; 7]> = std::iter::once(header).chain(log.lines.iter().map(row)).collect();
    let table = columns(&rows);
    let mut lines = table.lines();
    let mut text = lines.next().map(|line| format!("{line}\n")).unwrap_or_default();
    for (line, call) in lines.zip(&log.lines) {
        text.push_str(&format!("{line}\n"));
        call.warnings.iter().for_each(|warning| text.push_str(&format!("    {}\n", safe(warning))));
    }
    if log.left_out > 0 {
        text.push_str(&format!("{} before these; --limit shows more\n", counted(log.left_out, "call")));
    }
    if log.unreadable > 0 {
        text.push_str(&format!("{} of the log cannot be read\n", counted(log.unreadable, "line")));
    }
    text
}
