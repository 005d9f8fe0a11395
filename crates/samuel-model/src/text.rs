//! Words that messages are put together from: counts, lengths of time, and errors with their causes.
//!
//! ```
//! use samuel_model::text::counted;
//!
//! assert_eq!((counted(1, "task"), counted(3, "entry")), ("1 task".to_owned(), "3 entries".to_owned()));
//! ```

mod time_span;

pub use time_span::lasting;
pub use time_span::limit;

/// What `samuel run done` says while a run is under way. An agent prints it, so it is
/// left out where the agent's last words are quoted.
pub const RUN_IS_UNDER_WAY: &str =
    "A run is under way: what is completed during an iteration stands once its check passes.";

/// How many characters count as one token.
pub const CHARS_PER_TOKEN: usize = 4;

/// Estimates how many tokens a text has: one for every [`CHARS_PER_TOKEN`] characters, rounded up.
///
/// Each model has a tokenizer of its own; for English text and code this is within about a fifth of what they
/// count, and for other scripts it may be half of it.
///
/// ```
/// assert_eq!(samuel_model::text::tokens("one line"), 2);
/// ```
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARS_PER_TOKEN)
}

/// Counts something in words: `1 task`, `2 tasks`, `0 entries`.
///
/// The noun is given in the singular and takes the ending that English gives it.
pub fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    // What is more than there can be of anything is many.
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 { format!("1 {noun}") } else { format!("{count} {}", plural(noun)) }
}

/// Counts something and says that it is: `1 file is`, `2 files are`.
pub fn counted_are(count: impl TryInto<u64>, noun: &str) -> String {
    with_verb(counted(count, noun), "is", "are")
}

/// Counts something and says that it was: `1 token was`, `2 tokens were`.
pub fn counted_were(count: impl TryInto<u64>, noun: &str) -> String {
    with_verb(counted(count, noun), "was", "were")
}

fn with_verb(counted: String, of_one: &str, of_more: &str) -> String {
    let verb = if counted.starts_with("1 ") { of_one } else { of_more };
    format!("{counted} {verb}")
}

/// The highest amount that is written out.
const MAX_DOLLARS: f64 = 1e12;

/// Writes an amount of US dollars in cents. One that is above zero and less than a
/// cent gets as many digits as it takes not to look like nothing, down to a millionth.
/// Of one that nobody pays only that is said.
pub fn dollars(amount: f64) -> String {
    if amount > MAX_DOLLARS {
        return format!("more than ${MAX_DOLLARS}");
    }
    let written = |digits: usize| format!("${amount:.digits$}");
    let says_something = |text: &String| text.contains(|c: char| ('1'..='9').contains(&c));
    match (2..=6).map(written).find(says_something) {
        Some(text) => text,
        None if amount > 0.0 => "less than $0.000001".to_owned(),
        None => written(2),
    }
}

/// Returns a noun in the plural, by its ending.
fn plural(noun: &str) -> String {
    let is_vowel = |c: char| "aeiou".contains(c);
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|ending| noun.ends_with(ending)) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Lists names, the first of them, and says how many more there are: `a, b and 3 more`.
pub fn names(all: &[impl ToString], most: usize) -> String {
    let named: Vec<String> = all.iter().take(most).map(ToString::to_string).collect();
    let more = all.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(", ") + &more
}

/// How many of several reasons are told.
const REASONS: usize = 5;

/// Writes the first of some reasons on one line, and how many more there are.
pub fn listed(reasons: &[impl ToString]) -> String {
    let told: Vec<String> = reasons.iter().take(REASONS).map(ToString::to_string).collect();
    let more = reasons.len().saturating_sub(REASONS);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    told.join("; ") + &more
}

/// Returns the start of a text, with an ellipsis where something is missing.
pub fn excerpt(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Returns a text on one line: runs of white space and control characters become one space. If it is longer than
/// `max_chars`, it is cut there and ends in ` …`.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let is_break = |c: char| c.is_whitespace() || c.is_control();
    let line = text.split(is_break).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or(&line)),
        None => line,
    }
}

/// How much of a line is told, in characters.
const MAX_LINE_CHARS: usize = 500;

/// Returns the last line with something on it, or its start where it is long.
pub fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(MAX_LINE_CHARS).collect())
}

/// Returns the causes of an error, the next one first. A cause that the text before it ends with already, as that of an
/// error that names its cause itself, is left out.
///
/// ```
/// #[derive(Debug)]
/// struct Unread(std::io::Error);
///
/// impl std::fmt::Display for Unread {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         write!(f, "the plan cannot be read: {}", self.0)
///     }
/// }
///
/// impl std::error::Error for Unread {
///     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
///         Some(&self.0)
///     }
/// }
///
/// assert!(samuel_model::text::causes(&Unread(std::io::Error::other("it is gone"))).is_empty());
/// ```
pub fn causes(error: &dyn std::error::Error) -> Vec<String> {
    let message = error.to_string();
    let mut causes: Vec<String> = Vec::new();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let words = cause.to_string();
        if !causes.last().unwrap_or(&message).ends_with(&words) {
            causes.push(words);
        }
    }
    causes
}

/// Writes an error with its [`causes`] on one line.
pub fn described(error: &dyn std::error::Error) -> String {
    let told = std::iter::once(error.to_string()).chain(causes(error));
    told.collect::<Vec<_>>().join(": ")
}

/// Says whether a character is not seen: a control character, or a mark that turns the
/// direction of text.
pub fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Takes out the escape sequences by which a program colours its output, and all else that is not seen.
pub fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut characters),
            odd if is_odd(odd) && odd != '\t' => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Takes the same out of each line of a text.
pub fn without_odd(text: &str) -> String {
    text.split('\n').map(without_colours).collect::<Vec<_>>().join("\n")
}

/// Skips what follows an escape character: `[` up to a letter, `]` up to BEL
/// or another escape, or one character.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.next() {
        Some('[') => while characters.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
        Some(']') => {
            while characters.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {}
            characters.next_if_eq(&'\\');
        }
        _ => {}
    }
}

/// Says whether a character is invisible or changes the direction of text.
pub fn is_unseen(c: char) -> bool {
    matches!(
        c,
        // Soft hyphen, and what is shown as nothing in Arabic, Khmer and Mongolian.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            // Spaces without a width, marks of direction and their overrides.
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Line breaks that are none for a terminal.
            | '\u{2028}' | '\u{2029}'
            // Fillers, the mark of byte order, notes between lines.
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags, and further selectors of variants.
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_it_is_said_how_many_are_not_listed() {
        assert_eq!(names(&["a"; 0], 2), "");
        assert_eq!(names(&["a", "b"], 2), "a, b");
        assert_eq!(names(&["a", "b", "c"], 2), "a, b and 1 more");
    }

    #[test]
    fn a_cost_never_looks_like_none_and_never_fills_a_line() {
        for (amount, expected) in [
            (0.0, "$0.00"),
            (12.345, "$12.35"),
            (0.01, "$0.01"),
            (0.004, "$0.004"),
            (0.005_1, "$0.01"),
            (0.000_12, "$0.0001"),
            (0.000_000_2, "less than $0.000001"),
            (1e308, "more than $1000000000000"),
            (f64::INFINITY, "more than $1000000000000"),
        ] {
            assert_eq!(dollars(amount), expected);
        }
    }

    #[test]
    fn a_count_has_one_form() {
        for (count, noun, expected) in [
            (0, "task", "0 tasks"),
            (1, "task", "1 task"),
            (2, "entry", "2 entries"),
            (1, "entry", "1 entry"),
            (3, "key", "3 keys"),
            (2, "process", "2 processes"),
        ] {
            assert_eq!(counted(count, noun), expected);
        }
        assert_eq!([counted_are(1, "file"), counted_are(11, "file")], ["1 file is", "11 files are"]);
        assert_eq!([counted_were(1, "token"), counted_were(0, "token")], ["1 token was", "0 tokens were"]);
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(without_colours("\u{1b}[38;5;141m> \u{1b}[0mhi\tthere\r"), "> hi\tthere");
        assert_eq!(without_colours("\u{1b}]0;title\u{7}x\u{1b}[?25l"), "x");
        assert_eq!(without_colours("a\u{202e}b\u{7}"), "ab");
    }
}
