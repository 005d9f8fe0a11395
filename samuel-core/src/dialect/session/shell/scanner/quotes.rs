//! Quoted text: `'..'`, `".."`, `$'..'`.

use super::{Quoting, Scanned, Scanner};
use crate::dialect::session::{Variable, shell::words::Words, template};

impl<K: Fn(&str) -> Result<Variable, (String, String)>> Scanner<'_, K> {
    pub(super) fn single(&mut self, words: &mut Words) -> Scanned {
        self.copy(1);
        words.push("");
        while let Some(c) = self.peek() {
            if self.variable(Quoting::Single, words)? {
                continue;
            }
            let text = if self.starts_with("\\\\") { self.copy(2) } else { self.copy(1) };
            if c == '\'' {
                return Ok(());
            }
            self.note_line_end(c);
            words.push(text);
        }
        self.lose("a quotation is not closed");
        Ok(())
    }

    pub(super) fn double(&mut self, words: &mut Words) -> Scanned {
        self.copy(1);
        words.push("");
        while let Some(c) = self.peek() {
            if self.variable(Quoting::Double, words)? {
                continue;
            }
            match c {
                '"' => {
                    self.copy(1);
                    return Ok(());
                }
                '\\' => {
                    let escaped = self.copy(2);
                    words.push(escaped);
                }
                '$' => self.dollar(Quoting::Double, words)?,
                '`' => self.substitution(words, Self::backticks)?,
                _ => self.quoted(c, words),
            }
        }
        self.lose("a quotation is not closed");
        Ok(())
    }

    /// Reads `$'..'`, which some shells take for a `$` before a quotation.
    pub(super) fn ansi(&mut self, words: &mut Words) -> Scanned {
        self.copy(2);
        words.push("");
        while let Some(c) = self.peek() {
            let quoted = || self.rest().split('\'').next().unwrap_or_default();
            let has_escapes = template::at(self.rest()).is_some() && quoted().contains('\\');
            if self.variable(Quoting::Ansi { has_escapes }, words)? {
                continue;
            }
            match c {
                '\'' => {
                    self.copy(1);
                    return Ok(());
                }
                '\\' => {
                    if self.starts_with("\\'") {
                        self.lose("shells disagree on where $'..' with a \\' ends");
                    }
                    self.copy(2);
                    words.push("\0");
                }
                _ => self.quoted(c, words),
            }
        }
        self.lose("a quotation is not closed");
        Ok(())
    }

    /// Reads a character that means itself.
    fn quoted(&mut self, c: char, words: &mut Words) {
        self.note_line_end(c);
        let text = self.copy(1);
        words.push(text);
    }

    /// A line that ends in quotes is not where the text of a here-document begins, in all shells.
    fn note_line_end(&mut self, c: char) {
        if c == '\n' && !self.waiting.is_empty() {
            self.lose("a quotation goes on behind the line of a here-document");
        }
    }
}
