//! Annotations: what a title notes in brackets.
//!
//! `[~3,000 tokens - Medium]`, `[Priority: High]`, `(P1)`, `(depends on 1.1)`:
//! [`strip`] takes one of them off either end of a title.

use super::value;
use samuel_model::{Complexity, Priority, TaskId};

/// What brackets in a title say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Annotation {
    /// An estimate: a complexity, the word that is none, or only tokens.
    Complexity(Option<Result<Complexity, String>>),
    /// A priority, or the word that is none.
    Priority(Result<Priority, String>),
    /// The tasks to depend on.
    DependsOn(Vec<TaskId>),
}

/// The words before the ids of what a task depends on, the longest first.
const DEPENDS_ON: &[&str] = &[
    "depends on",
    "dependencies",
    "dependency",
    "depends",
    "deps",
    "blocked by",
    "requires",
    "needs",
    "after",
];

/// Takes an annotation off the end or the start of a title. One that is the
/// whole title stays.
pub(super) fn strip(title: &str) -> Option<(&str, Annotation)> {
    at_end(title).or_else(|| at_start(title)).filter(|(rest, _)| !rest.is_empty())
}

fn at_end(title: &str) -> Option<(&str, Annotation)> {
    let (open, inside) = match title.as_bytes().last()? {
        b']' => ('[', title.strip_suffix(']')?),
        b')' => ('(', title.strip_suffix(')')?),
        _ => return None,
    };
    let (rest, inside) = inside.rsplit_once(open)?;
    Some((rest.trim_end(), read(inside, open)?))
}

fn at_start(title: &str) -> Option<(&str, Annotation)> {
    let (open, close) = match title.as_bytes().first()? {
        b'[' => ('[', ']'),
        b'(' => ('(', ')'),
        _ => return None,
    };
    let (inside, rest) = title.strip_prefix(open)?.split_once(close)?;
    // An estimate stands behind the words.
    let annotation = read(inside, open).filter(|found| !matches!(found, Annotation::Complexity(_)))?;
    Some((rest.trim_start_matches([':', ' ', '\t']), annotation))
}

fn read(inside: &str, open: char) -> Option<Annotation> {
    let lower = inside.trim().to_lowercase();
    if let Some(priority) = priority(&lower) {
        return Some(Annotation::Priority(priority));
    }
    if let Some(ids) = depends_on(inside.trim()) {
        return Some(Annotation::DependsOn(ids));
    }
    if open == '[' { estimate(inside, &lower).map(Annotation::Complexity) } else { None }
}

/// Reads `priority: high`, `high priority` or `p1`, in lower case.
fn priority(text: &str) -> Option<Result<Priority, String>> {
    if let Some(rest) = text.strip_prefix("priority").or_else(|| text.strip_prefix("prio")) {
        let word = value::first_word(rest.strip_prefix([':', '=', ' ', '-'])?);
        return Some(value::priority(word).ok_or_else(|| word.to_owned()));
    }
    let word = text.strip_suffix(" priority").or_else(|| text.starts_with('p').then_some(text))?;
    value::priority(word).map(Ok)
}

fn depends_on(text: &str) -> Option<Vec<TaskId>> {
    let starts =
        |words: &&&str| text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words));
    let words = DEPENDS_ON.iter().find(starts)?;
    let rest = text.get(words.len()..)?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    value::only_references(rest)
}

/// Reads a complexity or a number of tokens; anything else, such as `[P]`,
/// belongs to the title.
fn estimate(inside: &str, lower: &str) -> Option<Option<Result<Complexity, String>>> {
    let mut parts = inside.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    if let Some(complexity) = parts.clone().find_map(value::complexity) {
        return Some(Some(Ok(complexity)));
    }
    let is_filler = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            || ["token", "tokens", "k", "about", "est", "approx"].contains(&part.to_lowercase().as_str())
    };
    lower.contains("token").then(|| parts.find(|part| !is_filler(part)).map(|word| Err(word.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Option<Annotation> {
        Some(Annotation::DependsOn(ids.iter().copied().map(TaskId::new).collect()))
    }

    #[test]
    fn brackets_with_a_priority_or_with_ids_are_read() {
        let read = |title| strip(title).map(|(rest, annotation)| (rest, Some(annotation)));
        let high = || Some(Annotation::Priority(Ok(Priority::High)));
        for title in ["A [Priority: High]", "A (P1)", "[P1] A", "(priority: p1): A", "A [high priority]"] {
            assert_eq!(read(title), Some(("A", high())), "{title}");
        }
        let odd = Some(Annotation::Priority(Err("urgent".to_owned())));
        assert_eq!(read("A (Priority: urgent)"), Some(("A", odd)));
        assert_eq!(read("A (depends on T012, T013)"), Some(("A", ids(&["T012", "T013"]))));
        assert_eq!(read("A [after task 1.2 and 3]"), Some(("A", ids(&["1.2", "3"]))));
    }

    #[test]
    fn brackets_with_anything_else_belong_to_the_title() {
        for title in
            ["A (after 3 days)", "A (requires Python 3)", "A [P]", "A (low)", "(P1)", "A (pages)", "A (1)"]
        {
            assert_eq!(strip(title), None, "{title}");
        }
    }
}
