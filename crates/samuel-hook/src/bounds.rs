//! How much of an answer's texts is taken over.
//!
//! They are shown, written to the progress log and saved with the run, so a handler
//! decides neither how much that is nor what a terminal does with it.

use samuel_model::{
    payload::{CheckFailure, HookResults},
    text::{counted_are, one_line, without_colours, without_odd},
};
use samuel_process::OutputLimits;

use super::{Output, Tier};

/// Characters kept of a message or a reason.
const MAX_WORDS: usize = 1_000;
/// Bytes kept of the end of a check's output.
const MAX_TAIL: usize = 4 * 1024;
/// How many failures of one handler are kept.
const MAX_FAILURES: usize = 100;
/// How many items are kept of each list of results, and the bytes of each document in them.
pub(super) const MAX_RESULTS: usize = 100;
const MAX_DOCUMENT: usize = 16 * 1024;
/// How many log files are named, and the bytes of one name.
const MAX_LOGS: usize = 8;
const MAX_PATH: usize = 1_024;

/// Shortens the texts of an answer, and takes out of them what is not seen. What the
/// runtime's own defaults answer stays as it is.
pub(super) fn bound<O: Output>(tier: Tier, output: &mut O) {
    if tier == Tier::BuiltIn {
        return;
    }
    if let Some(printed) = output.printed_mut() {
        if let Some(failure) = printed.failure {
            failure.message = line(&failure.message);
        }
        let limits = OutputLimits::default();
        for stream in printed.streams {
            *stream = head_and_tail(stream, limits.head, limits.tail);
        }
        printed.logs.retain(|log| is_path(log));
        printed.logs.truncate(MAX_LOGS);
    }
    if let Some(checks) = output.checks_mut() {
        let more = checks.len().saturating_sub(MAX_FAILURES);
        checks.truncate(MAX_FAILURES);
        checks.iter_mut().for_each(bound_check);
        if more > 0 {
            let message = format!("{} left out", counted_are(more, "more failure"));
            checks.push(CheckFailure { message, ..CheckFailure::default() });
        }
    }
}

/// Shortens what a handler reports beside its verdict, and says what was left out of it.
pub(super) fn bound_results<O: Output>(tier: Tier, output: &mut O) -> Option<String> {
    let results = output.reported_mut().filter(|_| tier != Tier::BuiltIn)?;
    let HookResults {
        logs,
        messages_to_user,
        suggested_abilities,
        suggested_documents,
        follow_up_actions,
        new_intent,
        usage_recorded: _,
        block_execution: _,
    } = results;
    for text in logs.iter_mut().chain(messages_to_user.iter_mut()) {
        *text = words(text);
    }
    for ability in suggested_abilities.iter_mut() {
        (ability.id, ability.reason) = (line(&ability.id), words(&ability.reason));
    }
    for document in suggested_documents.iter_mut() {
        (document.path, document.reason) = (line(&document.path), words(&document.reason));
    }
    let mut left_out = 0;
    let before = follow_up_actions.len();
    follow_up_actions.retain(|action| action.len() <= MAX_DOCUMENT);
    left_out += before - follow_up_actions.len();
    left_out += usize::from(new_intent.take_if(|intent| intent.len() > MAX_DOCUMENT).is_some());
    left_out += shortened(logs) + shortened(messages_to_user) + shortened(follow_up_actions);
    left_out += shortened(suggested_abilities) + shortened(suggested_documents);
    let limits = format!("{MAX_RESULTS} of a kind count, of JSON up to {} KiB each", MAX_DOCUMENT >> 10);
    (left_out > 0).then(|| format!("{} left out of its results: {limits}", counted_are(left_out, "item")))
}

/// Takes away what is too many of a list, and returns how many.
fn shortened<T>(list: &mut Vec<T>) -> usize {
    let more = list.len().saturating_sub(MAX_RESULTS);
    list.truncate(MAX_RESULTS);
    more
}

fn bound_check(failure: &mut CheckFailure) {
    failure.message = line(&failure.message);
    failure.command = line(&failure.command);
    failure.tail = without_odd(&head_and_tail(&failure.tail, 0, MAX_TAIL));
    failure.log = failure.log.take().filter(|log| is_path(log));
}

/// Returns the start of a reason or a warning, with its lines.
pub(super) fn words(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{} …", without_odd(text.get(..end).unwrap_or_default())),
        None => without_odd(text),
    }
}

fn line(text: &str) -> String {
    one_line(&words(text), MAX_WORDS + 2)
}

/// Returns the start and the end of a text, and says between them how much is missing.
fn head_and_tail(text: &str, head: usize, tail: usize) -> String {
    if text.len() <= head + tail {
        return text.to_owned();
    }
    let (start, end) = text.split_at(text.floor_char_boundary(head));
    let end = end.get(end.ceil_char_boundary(end.len() - tail)..).unwrap_or_default();
    let left_out = text.len() - start.len() - end.len();
    let start = if start.is_empty() { String::new() } else { format!("{start}\n") };
    format!("{start}... {left_out} bytes left out\n{end}")
}

/// Says whether a name is one of a file: an absolute one, or one below the project.
fn is_path(name: &str) -> bool {
    let stays_below = !name.split('/').any(|part| part == "..");
    stays_below
        && (1..=MAX_PATH).contains(&name.len())
        && without_colours(name) == name
        && !name.contains('\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::payload::{AgentFailure, AgentInvokeOutput, QualityCheckOutput, SessionStartOutput};

    fn odd(count: usize) -> String {
        format!("\u{1b}[31mred\u{1b}[0m\u{7}\u{202e}\n{}", "é".repeat(count))
    }

    #[test]
    fn results_are_short_and_plain_and_it_is_told_what_is_left_out() {
        let results = HookResults {
            logs: vec![odd(3_000); 150],
            messages_to_user: vec![odd(3)],
            follow_up_actions: vec![format!("\"{}\"", "x".repeat(20_000)), "{}".to_owned()],
            new_intent: Some("{}".to_owned()),
            ..HookResults::default()
        };
        let mut output = SessionStartOutput { results, ..SessionStartOutput::default() };
        assert_eq!(bound_results(Tier::BuiltIn, &mut output.clone()), None);
        let told = bound_results(Tier::Shell, &mut output).unwrap_or_default();
        assert!(told.starts_with("51 items are left out of its results"), "{told}");
        let HookResults { logs, messages_to_user, follow_up_actions, new_intent, .. } = output.results;
        assert_eq!(
            (logs.len(), follow_up_actions, new_intent),
            (100, vec!["{}".to_owned()], Some("{}".to_owned()))
        );
        assert!(logs.iter().all(|log| log.chars().count() <= MAX_WORDS + 2 && log.ends_with('…')));
        assert_eq!(messages_to_user, ["red\nééé"]);
    }

    #[test]
    fn what_an_agent_call_tells_is_short_and_plain() {
        let failure = AgentFailure { message: odd(3_000_000), ..AgentFailure::default() };
        let named =
            ["a.log", "/var/log/a", "../../x", "a/../../b", "", "a\u{1b}[2J", "a\nb"].map(str::to_owned);
        let logs = named.into_iter().chain((0..50).map(|n| n.to_string())).collect();
        let stdout = "é".repeat(3_000_000);
        let mut output =
            AgentInvokeOutput { failure: Some(failure), logs, stdout, ..AgentInvokeOutput::default() };
        let given = output.clone();
        bound(Tier::BuiltIn, &mut output);
        assert_eq!(output, given);
        bound(Tier::Async, &mut output);
        let message = output.failure.map(|failure| failure.message).unwrap_or_default();
        assert!(message.starts_with("red éé") && message.ends_with('…'), "{message}");
        assert!(message.chars().count() <= MAX_WORDS + 2, "{message}");
        assert!(!message.contains(samuel_model::text::is_odd), "{message:?}");
        assert_eq!(output.logs, ["a.log", "/var/log/a", "0", "1", "2", "3", "4", "5"]);
        let limits = OutputLimits::default();
        assert!(output.stdout.len() <= limits.head + limits.tail + 100, "{}", output.stdout.len());
        assert!(output.stdout.contains("bytes left out"));
    }

    #[test]
    fn what_a_check_tells_is_short_and_plain() {
        let failure = |part: usize| CheckFailure {
            command: odd(3_000),
            message: odd(3_000_000 / part),
            tail: format!("{}{}end\n", "x\n".repeat(1_000_000 / part), odd(1)),
            log: Some("../x".to_owned()),
            ..CheckFailure::default()
        };
        // In short one of megabytes, and others several times as long as there is room for.
        let part = if std::env::var_os("SAMUEL_LONG").is_some() { 1 } else { 100 };
        let failures = [vec![failure(1)], vec![failure(part); 499]].concat();
        let mut output = QualityCheckOutput { ok: false, failures, ..QualityCheckOutput::default() };
        bound(Tier::Async, &mut output);
        assert_eq!(output.failures.len(), MAX_FAILURES + 1);
        let told = output.failures.last().map(|last| last.message.as_str());
        assert_eq!(told, Some("400 more failures are left out"));
        for failure in output.failures.iter().take(MAX_FAILURES) {
            let texts = [&failure.command, &failure.message];
            assert!(
                texts.iter().all(|text| text.len() < 2_100 && !text.contains(samuel_model::text::is_odd))
            );
            assert!(failure.tail.ends_with("x\nred\néend\n"), "{}", failure.tail);
            assert!(failure.tail.len() < MAX_TAIL + 100 && !failure.tail.contains('\u{1b}'));
            assert_eq!(failure.log, None);
        }
    }

    #[test]
    fn a_reason_keeps_its_lines() {
        assert_eq!(words("a\n\tb\u{1b}[2J"), "a\n\tb");
        assert_eq!(words(&"x".repeat(MAX_WORDS)).len(), MAX_WORDS);
        assert!(words(&odd(3_000_000)).len() < 2_100);
    }
}
