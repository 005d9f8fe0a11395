//! Titles: the id in front, the words, what is noted beside them.
//!
//! [`Title::parse`] takes a heading or a checklist line apart. Whether the id
//! may be used and the words will do is decided later, when all are known.

use super::annotation::{self, Annotation};
use super::line::Line;
use super::mark::Mark;
use super::value;
use samuel_model::{Complexity, InvalidTask, Priority, Status, TaskId};

/// The text of a task's heading or checklist line, taken apart.
#[derive(Debug, Default)]
pub(super) struct Title {
    /// The id in front, if there is one.
    pub(super) id: Option<Result<TaskId, InvalidTask>>,
    /// Whether the word `Task` introduced the id.
    pub(super) says_task: bool,
    /// Where the task stands.
    pub(super) status: Status,
    /// Why it is skipped, if it is.
    pub(super) skip_reason: Option<String>,
    /// The words.
    pub(super) words: String,
    /// The complexity that an estimate such as `[~3,000 tokens - Medium]`
    /// gives, or the word that is none.
    pub(super) complexity: Option<Result<Complexity, String>>,
    /// The priority that `[Priority: High]` or `(P1)` gives, or the word that
    /// is none.
    pub(super) priority: Option<Result<Priority, String>>,
    /// The ids in `(depends on 1.1)`.
    pub(super) depends_on: Vec<TaskId>,
}

impl Title {
    /// Takes the title of a heading or an item apart, with what its box and
    /// struck words say.
    pub(super) fn of(line: &Line, mark: Option<Mark>) -> Self {
        let title = line.title();
        let mut parsed = Self::parse(&title.text);
        if let Some(mark) = mark {
            parsed.mark(mark);
        }
        let Some(unstruck) = title.unstruck.filter(|_| parsed.status != Status::Completed) else {
            return parsed;
        };
        let id = parsed.id.as_ref().and_then(|id| id.as_ref().ok()).map_or("", TaskId::as_str);
        let rest = unstruck.split_once(id).filter(|_| !id.is_empty()).map_or(&*unstruck, |(_, rest)| rest);
        let rest = rest.trim_start_matches([']', '.', ')', ' ']);
        // Words behind struck ones replace them, unless they say why.
        let reason = rest.trim_start_matches(['(', '-', '–', '—', ':']).trim_start();
        if rest.is_empty() || reason.len() < rest.len() {
            let words = parsed.words.strip_suffix(rest).unwrap_or(&parsed.words).trim_end();
            if !words.is_empty() {
                parsed.words = words.to_owned();
            }
            let reason = reason.trim_end_matches(')');
            let said = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            parsed.status = Status::Skipped;
            parsed.skip_reason = Some(format!("struck in the PRD{said}"));
        }
        parsed
    }

    /// Takes a title apart.
    pub(super) fn parse(text: &str) -> Self {
        let mut title = Self::default();
        let mut text = text.trim();
        if let Some((mark, _, rest)) = Mark::split(text) {
            title.mark(mark);
            text = rest;
        }
        let mut words = title.check_mark(text);
        let found = split_id(words).or_else(|| {
            // `🚀 1.1 Store notes`: a picture in front of an id is no word.
            let plain = words.trim_start_matches(is_picture).trim_start();
            (plain.len() < words.len()).then(|| split_id(plain))?
        });
        if let Some(found) = found {
            (title.id, title.says_task, words) = (Some(found.id.parse()), found.says_task, found.rest);
            words = title.check_mark(words);
        }
        title.words = title.annotations(words).to_owned();
        title
    }

    fn mark(&mut self, mark: Mark) {
        self.status = mark.status();
        self.skip_reason = mark.skip_reason().map(str::to_owned);
    }

    /// Strips a check mark at either end, which says that the task is done.
    fn check_mark<'t>(&mut self, text: &'t str) -> &'t str {
        const DONE: [char; 3] = ['✅', '☑', '✔'];
        let rest = text.trim_end_matches('\u{fe0f}');
        let rest = rest.strip_suffix(DONE).or_else(|| rest.strip_prefix(DONE));
        let rest = rest.map(|rest| rest.trim_start_matches('\u{fe0f}').trim());
        match rest.filter(|rest| !rest.is_empty()) {
            Some(rest) => {
                if self.status == Status::Pending {
                    self.status = Status::Completed;
                }
                rest
            }
            None => text,
        }
    }

    /// Strips what is noted in brackets at either end, and keeps it.
    fn annotations<'t>(&mut self, mut words: &'t str) -> &'t str {
        while let Some((rest, annotation)) = annotation::strip(words) {
            match annotation {
                Annotation::Complexity(complexity) => self.complexity = complexity.or(self.complexity.take()),
                Annotation::Priority(priority) => self.priority = Some(priority),
                Annotation::DependsOn(ids) => self.depends_on.extend(ids),
            }
            words = rest;
        }
        words
    }
}

/// Says whether a character is a picture or a sign, as stands before headings.
fn is_picture(c: char) -> bool {
    !c.is_ascii() && !c.is_alphanumeric() && !matches!(c, '–' | '—' | '«' | '„' | '“' | '”')
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
        inner.split_once(']').filter(|(id, _)| is_token(id) && value::priority(id).is_none())?
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
    // A digit on a key, `1️⃣`, is a digit.
    let rest = text.get(id.len()..)?.trim_start_matches(['\u{fe0f}', '\u{20e3}']);
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
