//! The commands and words of a shell's text, as far as it takes to see what they run.

use std::ops::Range;

/// What ends one command and begins the next.
const SEPARATORS: &str = ";&|()`\n";

/// A word of a text.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// What it is without its quotes.
    pub(super) text: String,
    /// Where it stands, with its quotes.
    pub(super) span: Range<usize>,
}

/// Splits a text into commands, and those into words without their quotes. Where output
/// goes and what a comment says is left out, what input comes from is a word. A text that
/// the shell would refuse is split as far as it goes.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let texts = |words: Vec<Word>| words.into_iter().map(|word| word.text).collect();
    placed_commands(line).into_iter().map(texts).collect()
}

/// Splits a text into commands, and those into words with their places.
pub(super) fn placed_commands(line: &str) -> Vec<Vec<Word>> {
    let mut split = Split::default();
    let (mut chars, mut quote) = (line.char_indices().peekable(), None);
    // How many `${` are open, in which `#` is a text, and whether a '`' is, which ends a comment.
    let (mut braces, mut is_substituted) = (0_usize, false);
    while let Some((at, char)) = chars.next() {
        match (char, quote) {
            ('\\', None | Some('"')) => match chars.next() {
                Some((_, '\n')) | None => {}
                Some((_, escaped)) => split.push(escaped, at),
            },
            ('"' | '\'', None) => {
                quote = Some(char);
                split.begin_word(at);
            }
            (_, Some(open)) if char == open => quote = None,
            ('>', None) => {
                // A number right before it says which output.
                split.word.take_if(|word| word.text.chars().all(|digit| digit.is_ascii_digit()));
                split.end_word(at);
                while chars.next_if(|(_, next)| matches!(next, '>' | '|' | '&' | ' ' | '\t')).is_some() {}
                split.is_target = true;
            }
            ('<', None) => split.end_word(at),
            ('$', None | Some('"')) => {
                split.push(char, at);
                if let Some((at, brace)) = chars.next_if(|(_, next)| *next == '{') {
                    split.push(brace, at);
                    braces += 1;
                }
            }
            ('}', None | Some('"')) if braces > 0 => {
                split.push(char, at);
                braces -= 1;
            }
            // The apostrophes of a comment open no quotation.
            ('#', None) if split.word.is_none() && braces == 0 => {
                let is_comment = |next: char| next != '\n' && !(next == '`' && is_substituted);
                while chars.next_if(|(_, next)| is_comment(*next)).is_some() {}
            }
            ('`', None) => {
                split.end_command(at);
                is_substituted = !is_substituted;
            }
            (_, None) if SEPARATORS.contains(char) => split.end_command(at),
            (_, None) if char.is_whitespace() => split.end_word(at),
            _ => split.push(char, at),
        }
    }
    split.end_command(line.len());
    split.commands
}

/// Says whether a word may be a command line of its own, as in `bash -c 'sh a.sh'`.
pub(super) fn is_line(word: &str) -> bool {
    word.contains(|char: char| char.is_whitespace() || char == '<' || SEPARATORS.contains(char))
}

#[derive(Default)]
struct Split {
    commands: Vec<Vec<Word>>,
    words: Vec<Word>,
    word: Option<Word>,
    is_target: bool,
}

impl Split {
    fn begin_word(&mut self, at: usize) -> &mut Word {
        self.word.get_or_insert_with(|| Word { text: String::new(), span: at..at })
    }

    fn push(&mut self, char: char, at: usize) {
        self.begin_word(at).text.push(char);
    }

    fn end_word(&mut self, at: usize) {
        if let Some(mut word) = self.word.take()
            && !std::mem::take(&mut self.is_target)
        {
            word.span.end = at;
            self.words.push(word);
        }
    }

    fn end_command(&mut self, at: usize) {
        self.end_word(at);
        self.is_target = false;
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_the_shell_splits_them() {
        for (line, expected) in [
            ("sh a.sh && ./b;c|d", "sh,a.sh / ./b / c / d"),
            ("sh 'a b.sh' \"c;d\" e\\ f", "sh,a b.sh,c;d,e f"),
            ("sh a > b 2>>'c d' 2>&1 <e", "sh,a,e"),
            ("> log sh a", "sh,a"),
            ("grep '>' a", "grep,>,a"),
            ("(cd x; sh \"$(cat y)\")", "cd,x / sh,$(cat y)"),
            ("echo '' \\\nx", "echo,,x"),
            ("sh 'a", "sh,a"),
            ("# it's\ntrue # don't; sh a\n./b;# \"c\nd", "true / ./b / d"),
            ("sh a#b '#c' \\#d ''#e $# ${#f}", "sh,a#b,#c,#d,#e,$#,${#f}"),
            ("sh a # b\\\nsh c", "sh,a / sh,c"),
            ("sh ${A:-b #c}; sh \"${A:-\"b #\"}\"; sh d # e", "sh,${A:-b,#c} / sh,${A:-b,#} / sh,d"),
            ("sh `cat a # b`; sh c # `; sh d", "sh / cat,a / sh,c"),
            (" ;; ", ""),
        ] {
            let found: Vec<String> = commands(line).iter().map(|words| words.join(",")).collect();
            assert_eq!(found.join(" / "), expected, "{line}");
        }
    }
}
