//! Titles: the id in front, the words, the estimate behind.
//!
//! [`Title::parse`] takes a heading or a checklist line apart. Whether the id
//! may be used and the words will do is decided later, when all are known.

use super::value;
use crate::model::{Complexity, InvalidTask, TaskId};

/// The text of a task's heading or checklist line, taken apart.
#[derive(Debug)]
pub(super) struct Title {
    /// The id in front, if there is one.
    pub(super) id: Option<Result<TaskId, InvalidTask>>,
    /// Whether the word `Task` introduced the id.
    pub(super) says_task: bool,
    /// Whether a box in front of a heading is ticked.
    pub(super) checked: bool,
    /// The words.
    pub(super) words: String,
    /// The complexity that an estimate such as `[~3,000 tokens - Medium]`
    /// gives, or the word that is none.
    pub(super) complexity: Option<Result<Complexity, String>>,
}

impl Title {
    /// Takes a title apart.
    pub(super) fn parse(text: &str) -> Self {
        let (checked, text) = strip_box(text.trim());
        let (words, complexity) = strip_estimate(text);
        match split_id(words) {
            Some(found) => Self {
                id: Some(found.id.parse()),
                says_task: found.says_task,
                checked,
                words: found.rest.to_owned(),
                complexity,
            },
            None => Self { id: None, says_task: false, checked, words: words.to_owned(), complexity },
        }
    }
}

/// Strips `[ ]` or `[x]` in front of a heading's text.
fn strip_box(text: &str) -> (bool, &str) {
    for (mark, checked) in [("[ ] ", false), ("[x] ", true), ("[X] ", true)] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (checked, rest.trim_start());
        }
    }
    (false, text)
}

/// An id in front of a text.
struct FoundId<'a> {
    id: &'a str,
    says_task: bool,
    rest: &'a str,
}

/// Splits off `1.1`, `1.1:`, `1.1.`, `1.1)`, `[1.1]` or `Task 1.1:`.
///
/// An id that is not a number, such as `T-1`, is only seen in brackets or
/// after the word: without them `UTF-8 names` would be a task `UTF-8`.
fn split_id(text: &str) -> Option<FoundId<'_>> {
    let after_task = strip_task_word(text);
    let says_task = after_task.is_some();
    let text = after_task.unwrap_or(text);
    let (id, rest) = if let Some(inner) = text.strip_prefix('[') {
        inner.split_once(']').filter(|(id, _)| is_token(id))?
    } else if says_task {
        let token = text.strip_prefix('#').unwrap_or(text);
        let end = token.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(token.len());
        let (id, rest) = token.split_at_checked(end)?;
        (Some(id.trim_end_matches(['.', ')'])).filter(|id| is_token(id))?, rest)
    } else {
        split_number(text)?
    };
    Some(FoundId { id, says_task, rest: strip_separator(rest) })
}

fn strip_task_word(text: &str) -> Option<&str> {
    let (word, rest) = text.split_at_checked(4)?;
    let stands_alone = rest.starts_with(char::is_whitespace);
    (word.eq_ignore_ascii_case("task") && stands_alone).then(|| rest.trim_start())
}

/// Says whether brackets or the word `Task` may hold a text as an id.
fn is_token(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}

/// Splits off numbers with points between them that stand for themselves.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let id = text.get(..end)?.trim_end_matches('.');
    let rest = text.get(id.len()..)?;
    let is_number = id.split('.').all(|part| !part.is_empty());
    let behind = rest.strip_prefix(['.', ')', ':']).unwrap_or(rest);
    let ends = behind.is_empty()
        || behind.starts_with(char::is_whitespace)
        || (rest.starts_with(':') && behind.starts_with(char::is_alphabetic));
    (is_number && ends).then_some((id, rest))
}

fn strip_separator(rest: &str) -> &str {
    let rest = rest.trim_start_matches(['.', ')']).trim_start();
    rest.trim_start_matches([':', '-', '–', '—']).trim()
}

/// Strips an estimate in brackets from the end of a title.
///
/// Brackets that hold neither a complexity nor a number of tokens, such as
/// `[P]`, belong to the title.
fn strip_estimate(text: &str) -> (&str, Option<Result<Complexity, String>>) {
    let Some((words, estimate)) = text.strip_suffix(']').and_then(|inner| inner.rsplit_once('[')) else {
        return (text, None);
    };
    let mut parts = estimate.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    if let Some(complexity) = parts.clone().find_map(value::complexity) {
        return (words.trim_end(), Some(Ok(complexity)));
    }
    let is_filler = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            || ["token", "tokens", "k", "about", "est", "approx"].contains(&part.to_lowercase().as_str())
    };
    if !estimate.to_lowercase().contains("token") {
        return (text, None);
    }
    (words.trim_end(), parts.find(|part| !is_filler(part)).map(|word| Err(word.to_owned())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn parts(text: &str) -> (Option<String>, String) {
        let title = Title::parse(text);
        (title.id.map(|id| id.unwrap().to_string()), title.words)
    }

    #[test]
    fn every_spelling_of_an_id_gives_the_id_and_the_words() {
        let spellings = [
            "1.1 Store notes",
            "1.1: Store notes",
            "1.1. Store notes",
            "1.1) Store notes",
            "1.1 - Store notes",
            "1.1 — Store notes",
            "1.1:Store notes",
            "[1.1] Store notes",
            "[1.1]: Store notes",
            "Task 1.1: Store notes",
            "TASK 1.1 - Store notes",
            "task [1.1] Store notes",
            "Task #1.1: Store notes",
            "[ ] 1.1 Store notes",
        ];
        for text in spellings {
            assert_eq!(parts(text), (Some("1.1".to_owned()), "Store notes".to_owned()), "{text}");
        }
        assert_eq!(parts("Task T-1: a"), (Some("T-1".to_owned()), "a".to_owned()));
        assert_eq!(parts("1.1"), (Some("1.1".to_owned()), String::new()));
    }

    #[test]
    fn words_that_only_look_like_an_id_stay_words() {
        for text in
            ["3D view", "UTF-8 names", "1..2 gap", "v2 of it", "Task list for 3", "[Draft] notes", ".5 a"]
        {
            assert_eq!(parts(text), (None, text.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_estimate_gives_the_complexity_and_leaves_the_title() {
        let complexity = |text: &str| {
            let title = Title::parse(text);
            (title.words, title.complexity)
        };
        let title = || "Store notes".to_owned();
        assert_eq!(
            complexity("1 Store notes [~3,000 tokens - Medium]"),
            (title(), Some(Ok(Complexity::Medium)))
        );
        assert_eq!(complexity("Store notes [Low]"), (title(), Some(Ok(Complexity::Simple))));
        assert_eq!(complexity("Store notes [HIGH, 8k tokens]"), (title(), Some(Ok(Complexity::Complex))));
        assert_eq!(complexity("Store notes [~500 tokens]"), (title(), None));
        assert_eq!(complexity("Store notes [~5 tokens - Epic]"), (title(), Some(Err("Epic".to_owned()))));
        assert_eq!(complexity("Store notes [P]"), ("Store notes [P]".to_owned(), None));
    }
}
