//! The words of a simple command, as far as a line spells them out.

/// What may stand before the name of a command.
const KEYWORDS: [&str; 11] =
    ["!", "{", "if", "then", "else", "elif", "while", "until", "do", "time", "coproc"];
/// Commands that run the command which their arguments name.
const STARTERS: [&str; 16] = [
    "builtin", "command", "doas", "env", "exec", "flock", "ionice", "nice", "nohup", "setsid", "stdbuf",
    "sudo", "timeout", "unbuffer", "xargs", "chroot",
];
/// Commands that read and run the file which their arguments name.
const SOURCES: [&str; 2] = [".", "source"];

/// A simple command up to where a scanner stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// The words before the current one. What is not spelt out stands for nothing.
    done: Vec<String>,
    /// The word under way.
    current: Option<String>,
    /// Whether the word under way is where a redirection leads.
    is_target: bool,
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
        if std::mem::take(&mut self.is_target) {
            return None;
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

    /// Returns the words before the current one.
    pub(super) fn done(&self) -> &[String] {
        &self.done
    }

    /// Returns what is spelt out of the word under way.
    pub(super) fn current(&self) -> &str {
        self.current.as_deref().unwrap_or_default()
    }

    /// Says whether the word under way decides which program or file is run.
    pub(super) fn names_a_program(&self) -> bool {
        !self.is_target && !is_assignment(self.current()) && names_a_program(&self.done)
    }

    /// Says whether a word at the end of those that are done is a keyword.
    pub(super) fn ends_with_keyword(&self, keyword: &str) -> bool {
        let Some((last, before)) = self.done.split_last() else { return false };
        last == keyword && names_a_program(before)
    }
}

/// Says whether the next word after some decides which program or file is run.
pub(super) fn names_a_program(words: &[String]) -> bool {
    let mut words = words;
    // What follows is a command of its own.
    if let [first, ..] = words
        && ["for", "select"].contains(&first.as_str())
        && let Some(place) = words.iter().position(|word| word == "do")
    {
        words = words.get(place..).unwrap_or_default();
    }
    let mut is_argument = false;
    for word in words {
        let name = base_name(word);
        let goes_on = KEYWORDS.contains(&word.as_str())
            || is_assignment(word)
            || STARTERS.contains(&name)
            || SOURCES.contains(&name)
            || (is_argument && (word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit())));
        if !goes_on {
            return false;
        }
        is_argument |= STARTERS.contains(&name) || SOURCES.contains(&name);
    }
    true
}

/// Says whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns the name of a program without the directories before it.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
