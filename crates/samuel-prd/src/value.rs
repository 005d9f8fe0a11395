//! Values: files, ids, priorities and complexities, read from a line.
//!
//! Pure functions over [`Line`]s. What to do with a value that cannot be read
//! is up to who asked for it.

use super::line::{Line, Span, SpanKind, render};
use samuel_model::{Complexity, Priority, TaskId};

/// Reads a complexity, with the words that estimates use for the three.
pub(super) fn complexity(word: &str) -> Option<Complexity> {
    match word.to_lowercase().as_str() {
        "simple" | "easy" | "small" | "low" | "trivial" => Some(Complexity::Simple),
        "medium" | "moderate" | "normal" => Some(Complexity::Medium),
        "complex" | "hard" | "large" | "high" | "difficult" => Some(Complexity::Complex),
        _ => None,
    }
}

/// Reads a priority: its own words, or `P0` to `P4`.
pub(super) fn priority(word: &str) -> Option<Priority> {
    match word.to_lowercase().as_str() {
        "p0" => Some(Priority::Critical),
        "p1" => Some(Priority::High),
        "p2" => Some(Priority::Medium),
        "p3" | "p4" => Some(Priority::Low),
        word => word.parse().ok(),
    }
}

/// Returns the first word of a text, without what is around it.
pub(super) fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default()
}

/// Says whether a value only says that there is none.
pub(super) fn is_none_word(text: &str) -> bool {
    let text = text.trim_end_matches('.').to_lowercase();
    ["", "-", "–", "—", "none", "nothing", "n/a", "no"].contains(&text.as_str())
}

/// A file that a line names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileEntry {
    pub(super) path: String,
    /// Whether a remark behind it says that it is new.
    pub(super) is_new: bool,
}

/// Reads the files a line names, separated by commas.
///
/// A path is inline code, or a word; what follows it is a remark. Returns
/// nothing if a part is neither, so that prose stays prose.
pub(super) fn files(line: &Line) -> Option<Vec<FileEntry>> {
    if is_none_word(&line.words()) {
        return Some(Vec::new());
    }
    let parts = split_at_commas(without_label(&line.spans));
    let has_code = |part: &[Span]| part.first().is_some_and(|span| span.kind == SpanKind::Code);
    if parts.iter().any(|part| has_code(part)) {
        // A comma inside a remark opens a part that names no file.
        return Some(
            parts.iter().filter(|part| has_code(part)).filter_map(|part| coded_file(part)).collect(),
        );
    }
    parts.iter().map(|part| plain_file(&render(part, false))).collect()
}

/// Leaves out a word such as `Test:` in front of code.
fn without_label(spans: &[Span]) -> &[Span] {
    match spans {
        [label, code, ..] if code.kind == SpanKind::Code && label.text.trim_end().ends_with(':') => {
            let is_word = label.text.split_whitespace().count() <= 2;
            spans.get(usize::from(is_word)..).unwrap_or_default()
        }
        _ => spans,
    }
}

fn coded_file(part: &[Span]) -> Option<FileEntry> {
    let (code, remark) = part.split_first()?;
    let path = code.text.trim();
    (!path.is_empty()).then(|| FileEntry { path: path.to_owned(), is_new: says_new(&render(remark, false)) })
}

fn plain_file(text: &str) -> Option<FileEntry> {
    let end = [" - ", " – ", " — ", " (", ": "].iter().filter_map(|mark| text.find(mark)).min();
    let (path, remark) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let path = path.trim_end_matches(':');
    let is_path = !path.is_empty() && !path.contains(char::is_whitespace);
    is_path.then(|| FileEntry { path: path.to_owned(), is_new: says_new(remark) })
}

fn says_new(remark: &str) -> bool {
    let remark = remark.to_lowercase();
    let mut words = remark.split(|c: char| !c.is_alphanumeric());
    words.any(|word| ["new", "create", "created"].contains(&word))
}

/// Splits spans at the commas in their text, and at `and` between code.
fn split_at_commas(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut parts: Vec<Vec<Span>> = vec![Vec::new()];
    for span in spans {
        let pieces: Vec<&str> = match span.kind {
            SpanKind::Text if span.text.trim() == "and" => vec!["", ""],
            SpanKind::Text => span.text.split([',', ';']).collect(),
            SpanKind::Code | SpanKind::Target => vec![&span.text],
        };
        for (index, piece) in pieces.into_iter().enumerate() {
            if index > 0 {
                parts.push(Vec::new());
            }
            if let Some(part) = parts.last_mut()
                && !(span.kind == SpanKind::Text && piece.trim().is_empty())
            {
                part.push(Span { kind: span.kind, text: piece.to_owned() });
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The tasks a line refers to, and the parts of it that refer to none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct References {
    pub(super) ids: Vec<TaskId>,
    pub(super) unknown: Vec<String>,
}

/// Reads ids such as `1.1, Task 1.2 (the store) and [T-3]`.
pub(super) fn references(text: &str) -> References {
    let mut found = References::default();
    let text = without_parentheses(&text.replace('`', ""));
    if is_none_word(text.trim()) {
        return found;
    }
    for part in text.replace(" and ", ",").split([',', ';', '&']) {
        let before = found.ids.len();
        let words = part.split_whitespace().skip_while(|word| is_task_word(word));
        found.ids.extend(words.map_while(reference));
        if found.ids.len() == before && !part.trim().is_empty() {
            found.unknown.push(part.trim().to_owned());
        }
    }
    found
}

/// Reads a text that holds ids and nothing else but words such as `task`.
pub(super) fn only_references(text: &str) -> Option<Vec<TaskId>> {
    let words = text.split([',', ';', '&', ' ', '\t']).filter(|word| !word.is_empty());
    let words = words.filter(|word| !is_task_word(word));
    let ids = words.map(reference).collect::<Option<Vec<TaskId>>>()?;
    (!ids.is_empty()).then_some(ids)
}

fn is_task_word(word: &str) -> bool {
    ["task", "tasks", "and"].contains(&word.to_lowercase().as_str())
}

fn reference(word: &str) -> Option<TaskId> {
    let id = word.trim_start_matches(['[', '#']).trim_end_matches([']', '.', ':']);
    id.contains(|c: char| c.is_ascii_digit()).then(|| id.parse().ok())?
}

fn without_parentheses(text: &str) -> String {
    let mut open = 0_usize;
    text.chars()
        .filter(|c| {
            match c {
                '(' => open += 1,
                ')' => open = open.saturating_sub(1),
                _ => return open == 0,
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        let span = |(index, text): (usize, &str)| Span {
            kind: if index % 2 == 0 { SpanKind::Text } else { SpanKind::Code },
            text: text.to_owned(),
        };
        let mut spans: Vec<Span> = text.split('`').enumerate().map(span).collect();
        spans.retain(|span| !span.text.is_empty());
        Line { spans, ..Line::default() }
    }

    fn paths(text: &str) -> Option<Vec<String>> {
        files(&line(text)).map(|files| files.into_iter().map(|file| file.path).collect())
    }

    #[test]
    fn files_are_code_or_words_between_commas() {
        let two = Some(vec!["src/a.rs".to_owned(), "b.rs".to_owned()]);
        assert_eq!(paths("src/a.rs, b.rs"), two);
        assert_eq!(paths("`src/a.rs`, `b.rs`"), two);
        assert_eq!(paths("`src/a.rs` and `b.rs`"), two);
        assert_eq!(paths("`src/a.rs` - reads, writes and calls `f`, `b.rs`"), two);
        assert_eq!(paths("src/a.rs (new), b.rs: small"), two);
        assert_eq!(paths("`docs/a, b.md`"), Some(vec!["docs/a, b.md".to_owned()]));
        assert_eq!(paths("none"), Some(Vec::new()));
    }

    #[test]
    fn prose_is_no_list_of_files() {
        assert_eq!(paths("a new endpoint for notes"), None);
        assert_eq!(paths("src/a.rs, and later some others"), None);
    }

    #[test]
    fn a_remark_says_that_a_file_is_new() {
        let new =
            |text: &str| files(&line(text)).map(|files| files.iter().map(|f| f.is_new).collect::<Vec<_>>());
        assert_eq!(new("`a.rs` (new), `b.rs`"), Some(vec![true, false]));
        assert_eq!(new("a.rs (create), newest.rs"), Some(vec![true, false]));
    }

    #[test]
    fn references_are_ids_with_words_around_them() {
        let ids = |text: &str| references(text).ids.iter().map(TaskId::to_string).collect::<Vec<_>>();
        assert_eq!(ids("1.1, 1.2"), ["1.1", "1.2"]);
        assert_eq!(ids("Task 1.1 (the 2nd store), [T-3] and #4."), ["1.1", "T-3", "4"]);
        assert_eq!(ids("Tasks 1 2 3"), ["1", "2", "3"]);
        assert_eq!(ids("1.2 Read 3 files"), ["1.2"]);
        assert_eq!(references("None."), References::default());
        assert_eq!(references("the schema, 2").unknown, ["the schema"]);
    }
}
