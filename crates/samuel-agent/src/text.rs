//! Limits on what adapters hand on.
//!
//! An agent's stream holds whole files and command outputs. Events are for
//! watching and for hooks, so adapters shorten what they report; the raw
//! stream is in the log files.

use samuel_model::text::{RUN_IS_UNDER_WAY, without_colours};

pub(super) use samuel_hook::{MAX_SUMMARY, arguments};
pub(super) use samuel_model::text::excerpt;

/// Bytes kept of one text an agent says.
pub(super) const MAX_TEXT: usize = 16 * 1024;
/// Bytes kept of a line that could not be read.
pub(super) const MAX_UNREADABLE: usize = 200;
/// Bytes kept of the line that says why an agent failed.
const MAX_LAST_WORDS: usize = 300;
/// Bytes kept of everything an agent says in one call.
pub(super) const MAX_ANSWER: usize = 64 * 1024;

/// The end of everything an agent said.
#[derive(Debug, Default)]
pub(super) struct Answer(String);

impl Answer {
    /// Adds a text on a line of its own.
    pub(super) fn push_line(&mut self, text: &str) {
        if !self.0.is_empty() && !self.0.ends_with('\n') {
            self.0.push('\n');
        }
        self.push(text);
    }

    /// Adds a text that goes on where the last one ended.
    pub(super) fn push(&mut self, text: &str) {
        self.0.push_str(text);
        if self.0.len() > MAX_ANSWER {
            let mut start = self.0.len() - MAX_ANSWER;
            while !self.0.is_char_boundary(start) {
                start += 1;
            }
            self.0.drain(..start);
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the line in which a program says why it failed: the last one on stderr
/// that calls itself an error, since help may follow it, else the last one that it
/// wrote for people, there or in its output unless that is an event.
pub fn last_words(stderr: &str, stdout: &str) -> Option<String> {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().rev().map(|line| without_colours(line).trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    };
    let is_error = |line: &String| {
        let line = line.to_lowercase();
        ["error:", "fatal:"].iter().any(|sign| line.starts_with(sign) || line.contains(&format!(" {sign}")))
    };
    // Samuel's own answer to `run done` is one line and a note.
    let last_line = |text: &str| {
        let mut lines = lines(text).into_iter();
        loop {
            let line = lines.next()?;
            if line != RUN_IS_UNDER_WAY {
                return Some(line);
            }
            lines.next();
        }
    };
    let words = lines(stderr)
        .into_iter()
        .find(is_error)
        .or_else(|| last_line(stderr))
        .or_else(|| last_line(stdout).filter(|line| !line.starts_with('{')))?;
    Some(excerpt(&words, MAX_LAST_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_splits_no_character() {
        assert_eq!(excerpt("aé", 3), "aé");
        assert_eq!(excerpt("aéb", 2), "a…");
    }

    #[test]
    fn an_answer_keeps_its_end() {
        let mut answer = Answer::default();
        answer.push_line(&"é".repeat(MAX_ANSWER));
        answer.push_line("last");
        assert!(answer.as_str().len() <= MAX_ANSWER);
        assert!(answer.as_str().ends_with("é\nlast"));
    }

    #[test]
    fn last_words_are_those_of_the_errors_before_those_of_the_output() {
        assert_eq!(last_words("a\n\u{1b}[31mno login\u{1b}[0m \n\n", "out").as_deref(), Some("no login"));
        assert_eq!(last_words(" \n", "first\nlast\n").as_deref(), Some("last"));
        let helped = "Error: no login\nhelp: run `login` first\n\nusage: x\n";
        assert_eq!(last_words(helped, "").as_deref(), Some("Error: no login"));
        assert_eq!(last_words("git: fatal: no\nhint: y\nterror: z\n", "").as_deref(), Some("git: fatal: no"));
        let answered = format!("why\n3 is completed\n{RUN_IS_UNDER_WAY}\n");
        assert_eq!(last_words("", &answered).as_deref(), Some("why"));
        assert_eq!(last_words("", &answered.replacen("why\n", "", 1)), None);
        assert_eq!(last_words("", "words\n{\"type\":\"result\"}\n"), None);
        let long = last_words(&"é".repeat(MAX_LAST_WORDS), "").unwrap_or_default();
        assert!(long.len() < MAX_LAST_WORDS + 5 && long.ends_with('…'), "{long}");
    }
}
