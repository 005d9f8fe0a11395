//! The words of a simple command, as far as a line spells them out.

use crate::script::named::command_words::last_program_of;

/// Variables that say which programs are run, or that a shell reads as code.
const DECIDING: [&str; 7] =
    ["BASH_ENV", "ENV", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PROMPT_COMMAND", "PS4"];

/// A simple command up to where a scanner stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// The words before the current one. What is not spelt out stands for nothing.
    done: Vec<String>,
    /// The word under way.
    current: Option<String>,
    /// Whether the word under way is where a redirection leads.
    is_target: bool,
    /// Who reads the word under way as code, where that is its input.
    reader: Option<String>,
    /// Whether a `[[` is open.
    in_condition: bool,
}

impl Words {
    /// Goes on with the word under way, or begins one.
    pub(super) fn push(&mut self, text: &str) {
        self.current.get_or_insert_default().push_str(text);
    }

    /// Says whether a word is under way.
    pub(super) fn in_word(&self) -> bool {
        self.current.is_some()
    }

    /// Ends the word under way, and says which it was.
    pub(super) fn end_word(&mut self) -> Option<&str> {
        let word = self.current.take()?;
        self.reader = None;
        if std::mem::take(&mut self.is_target) {
            return None;
        }
        match word.as_str() {
            "[[" => self.in_condition |= names_a_program(&self.done),
            "]]" => self.in_condition = false,
            _ => {}
        }
        self.done.push(word);
        self.done.last().map(String::as_str)
    }

    /// Begins a redirection, whose target is the next word.
    pub(super) fn redirect(&mut self) {
        // The number before it is a descriptor.
        if self.current.as_deref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.current = None;
        }
        self.end_word();
        self.is_target = true;
    }

    /// Says who reads the next word as code, where that is its input.
    pub(super) fn feed(&mut self, reader: Option<String>) {
        self.reader = reader;
    }

    /// Returns who reads the word under way as code, where that is its input.
    pub(super) fn reader(&self) -> Option<&str> {
        self.reader.as_deref()
    }

    /// Says whether a `[[` is open.
    pub(super) fn in_condition(&self) -> bool {
        self.in_condition && self.current() != "]]"
    }

    /// Returns the words before the current one.
    pub(super) fn done(&self) -> &[String] {
        &self.done
    }

    /// Returns what is spelt out of the word under way.
    pub(super) fn current(&self) -> &str {
        self.current.as_deref().unwrap_or_default()
    }

    /// Says whether the word under way names a program.
    pub(super) fn names_a_program(&self) -> bool {
        !self.is_target && !is_assignment(self.current()) && names_a_program(&self.done)
    }

    /// Says whether the word under way is where a redirection leads.
    pub(super) fn is_target(&self) -> bool {
        self.is_target
    }

    /// Says whether a word at the end of those that are done is a keyword.
    pub(super) fn ends_with_keyword(&self, keyword: &str) -> bool {
        let Some((last, before)) = self.done.split_last() else { return false };
        last == keyword && names_a_program(before)
    }
}

/// Returns the words of the command that some words lead to; nothing where they are no command,
/// as in the list of `for`.
pub(super) fn command_of(words: &[String]) -> Option<&[String]> {
    let mut words = words;
    if let [first, ..] = words {
        match first.as_str() {
            "case" => return None,
            // What follows is a command of its own.
            "for" | "select" => words = words.get(words.iter().position(|word| word == "do")?..)?,
            _ => {}
        }
    }
    let settings = words.iter().take_while(|word| is_assignment(word)).count();
    words.get(settings..)
}

/// Says whether the next word after some names a program.
pub(super) fn names_a_program(words: &[String]) -> bool {
    command_of(words).is_some_and(|words| last_program_of(words) == words.len())
}

/// Says whether a word sets a variable that decides what is run.
pub(super) fn decides_what_runs(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| DECIDING.contains(&name.trim_end_matches('+')))
}

/// Says whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
