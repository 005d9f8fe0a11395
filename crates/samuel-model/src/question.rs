//! Questions about tasks, and what people answer.
//!
//! An agent that cannot decide something asks. Its task is blocked with the [`Question`] until a person
//! answers; the next prompt of the task then holds both, and the question is gone. Who may ask and when is
//! decided in `state::apply`; how a prompt quotes it, in the machine.

use serde::{Deserialize, Serialize};

/// The longest question, in characters.
pub const MAX_QUESTION_CHARS: usize = 2_000;
/// The longest answer, in characters.
pub const MAX_ANSWER_CHARS: usize = 8_000;
/// How many options a question may offer.
pub const MAX_OPTIONS: usize = 10;
/// The longest option, in characters.
pub const MAX_OPTION_CHARS: usize = 200;

/// A question about a task.
///
/// ```
/// use samuel_model::{InvalidQuestion, Question};
///
/// let question = Question::new("Which database?", vec!["sqlite".into(), "postgres".into()])?;
/// assert!(question.answer.is_none());
/// assert_eq!(question.answered("sqlite")?.answer.as_deref(), Some("sqlite"));
/// assert!(Question::new(" ", Vec::new()).is_err());
/// # Ok::<(), InvalidQuestion>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// What is asked: any number of lines, not blank, at most [`MAX_QUESTION_CHARS`] characters, without
    /// control characters but tabs and line feeds.
    pub text: String,
    /// Answers that whoever asks proposes, a line of at most [`MAX_OPTION_CHARS`] characters each, at most
    /// [`MAX_OPTIONS`]; any other answer may be given too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What a person answered, under the rules of a question, with [`MAX_ANSWER_CHARS`] characters at
    /// most; nothing while the question is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Question {
    /// Asks something. White space around it goes.
    ///
    /// # Errors
    /// Returns [`InvalidQuestion`] for the first rule that does not hold.
    pub fn new(text: impl AsRef<str>, options: Vec<String>) -> Result<Self, InvalidQuestion> {
        let text = checked("question", text.as_ref(), MAX_QUESTION_CHARS)?;
        if options.len() > MAX_OPTIONS {
            return Err(InvalidQuestion::Options { count: options.len() });
        }
        let options = options.iter().map(|option| {
            let option = checked("option", option, MAX_OPTION_CHARS)?;
            if option.contains('\n') { Err(InvalidQuestion::OptionLines) } else { Ok(option) }
        });
        Ok(Self { text, options: options.collect::<Result<_, _>>()?, answer: None })
    }

    /// Returns the same question with an answer. White space around it goes.
    ///
    /// # Errors
    /// Returns [`InvalidQuestion`] for the first rule that does not hold.
    pub fn answered(&self, answer: impl AsRef<str>) -> Result<Self, InvalidQuestion> {
        let answer = checked("answer", answer.as_ref(), MAX_ANSWER_CHARS)?;
        Ok(Self { answer: Some(answer), ..self.clone() })
    }
}

/// How much of a question is told in one line, in characters.
const MAX_LINE_CHARS: usize = 300;

impl Question {
    /// Returns what is asked in one line, shortened where it is long.
    pub fn line(&self) -> String {
        let breaks = |c: char| c.is_whitespace() || c.is_control();
        let words = self.text.split(breaks).filter(|word| !word.is_empty());
        let line = words.collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }
}

/// Returns a text without the white space around it, unless it breaks a rule.
fn checked(what: &'static str, text: &str, most: usize) -> Result<String, InvalidQuestion> {
    let text = text.trim();
    if text.is_empty() {
        return Err(InvalidQuestion::Empty { what });
    }
    if text.chars().count() > most {
        return Err(InvalidQuestion::TooLong { what, most });
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(InvalidQuestion::Control { what });
    }
    Ok(text.to_owned())
}

/// A question or an answer that is not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidQuestion {
    /// It is blank.
    #[error("the {what} must not be empty")]
    Empty {
        /// `question`, `option` or `answer`.
        what: &'static str,
    },
    /// It is too long.
    #[error("the {what} has at most {most} characters")]
    TooLong {
        /// `question`, `option` or `answer`.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// It has control characters, such as those that move the cursor of a terminal.
    #[error("the {what} must have no control characters but tabs and line feeds")]
    Control {
        /// `question`, `option` or `answer`.
        what: &'static str,
    },
    /// An option has several lines.
    #[error("an option must be one line")]
    OptionLines,
    /// There are too many options.
    #[error("a question has at most {MAX_OPTIONS} options, and not {count}")]
    Options {
        /// How many were given.
        count: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_rule_is_neither_asked_nor_answered() {
        let ask = |text: &str, options: &[&str]| {
            Question::new(text, options.iter().map(|option| (*option).to_owned()).collect())
        };
        let (empty, control) = ("question", "option");
        assert_eq!(ask(" \n", &[]), Err(InvalidQuestion::Empty { what: empty }));
        assert_eq!(ask("a", &["b", "c\u{1b}[2J"]), Err(InvalidQuestion::Control { what: control }));
        assert_eq!(ask("a", &["b\nc"]), Err(InvalidQuestion::OptionLines));
        assert_eq!(ask("a", &["b"; 11]), Err(InvalidQuestion::Options { count: 11 }));
        let long = ask(&"é".repeat(2_001), &[]);
        assert_eq!(long, Err(InvalidQuestion::TooLong { what: "question", most: 2_000 }));
        let asked = ask(&format!(" {}\n", "é".repeat(2_000)), &["\tb "]);
        let asked = asked.unwrap_or_default();
        assert_eq!(
            (asked.text.chars().count(), asked.options.as_slice()),
            (2_000, ["b".to_owned()].as_slice())
        );
        let mebibyte = asked.answered("x".repeat(1 << 20));
        assert_eq!(mebibyte, Err(InvalidQuestion::TooLong { what: "answer", most: 8_000 }));
        assert_eq!(asked.answered(""), Err(InvalidQuestion::Empty { what: "answer" }));
        assert_eq!(asked.answered("a\u{0}b"), Err(InvalidQuestion::Control { what: "answer" }));
    }
}
