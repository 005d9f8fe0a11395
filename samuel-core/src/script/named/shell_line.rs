//! The commands and words of a shell's text, as far as it takes to see what they run.

/// What ends one command and begins the next.
const SEPARATORS: &str = ";&|()`\n";

/// Splits a text into commands, and those into words without their quotes. Where output
/// goes is left out, what input comes from is a word. A text that the shell would refuse
/// is split as far as it goes.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut split = Split::default();
    let (mut chars, mut quote) = (line.chars().peekable(), None);
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('\\', None | Some('"')) => match chars.next() {
                Some('\n') | None => {}
                Some(escaped) => split.push(escaped),
            },
            ('"' | '\'', None) => {
                quote = Some(char);
                split.word.get_or_insert_default();
            }
            (_, Some(open)) if char == open => quote = None,
            ('>', None) => {
                // A number right before it says which output.
                split.word.take_if(|word| word.chars().all(|digit| digit.is_ascii_digit()));
                split.end_word();
                while chars.next_if(|next| matches!(next, '>' | '|' | '&' | ' ' | '\t')).is_some() {}
                split.is_target = true;
            }
            ('<', None) => split.end_word(),
            (_, None) if SEPARATORS.contains(char) => split.end_command(),
            (_, None) if char.is_whitespace() => split.end_word(),
            _ => split.push(char),
        }
    }
    split.end_command();
    split.commands
}

/// Says whether a word may be a command line of its own, as in `bash -c 'sh a.sh'`.
pub(super) fn is_line(word: &str) -> bool {
    word.contains(|char: char| char.is_whitespace() || char == '<' || SEPARATORS.contains(char))
}

#[derive(Default)]
struct Split {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    is_target: bool,
}

impl Split {
    fn push(&mut self, char: char) {
        self.word.get_or_insert_default().push(char);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.is_target)
        {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
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
            (" ;; ", ""),
        ] {
            let found: Vec<String> = commands(line).iter().map(|words| words.join(",")).collect();
            assert_eq!(found.join(" / "), expected, "{line}");
        }
    }
}
