//! What a shell puts something else in the place of: parameters, substitutions, arithmetic.

use super::{End, Quoting, Scanned, Scanner, refuse};
use crate::dialect::session::{
    Variable,
    shell::{evaluated::Place, words::Words},
    template::{self, Found},
};

/// Commands that are not kept from the line's own variables.
const COMPARING: [&str; 9] =
    ["[", "[[", "declare", "export", "local", "printf", "readonly", "test", "typeset"];

impl<K: Fn(&str) -> Result<Variable, (String, String)>> Scanner<'_, K> {
    /// Reads what a `$` begins.
    pub(super) fn dollar(&mut self, quoting: Quoting, words: &mut Words) -> Scanned {
        let place = self.place(words);
        if let Some(name) = parameter(self.rest())
            && let Some(variable) = self.holding.get(name)
        {
            self.references += 1;
            self.last = *variable;
            // What only compares and sets texts does so in this case too.
            if !matches!(&place, Place::Code(reader) if COMPARING.contains(&reader.as_str())) {
                self.take(&place, words)?;
            }
        }
        // What it stands for is not known.
        words.push("\0");
        if template::at(self.rest().get(1..).unwrap_or_default()).is_some() {
            // A dollar sign as such, and no part of the reference.
            self.out.push_str("\\$");
            self.at += 1;
            return Ok(());
        }
        if self.starts_with("$((") {
            self.copy(3);
            self.arithmetic(words, ['(', ')'], 2, false)
        } else if self.starts_with("$[") {
            self.copy(2);
            self.arithmetic(words, ['[', ']'], 1, false)
        } else if self.starts_with("$(") {
            self.copy(2);
            let before = self.references;
            self.parenthesis()?;
            if self.references > before { self.take(&place, words) } else { Ok(()) }
        } else if self.starts_with("${") {
            self.copy(2);
            self.braces(quoting, words)
        } else if quoting == Quoting::None && self.starts_with("$'") {
            self.ansi(words)
        } else {
            self.copy(1);
            // `$#` begins no comment, and `$$` no parameter.
            if self.peek().is_some_and(|c| matches!(c, '#' | '$' | '!' | '?' | '-' | '*' | '@')) {
                self.copy(1);
            }
            Ok(())
        }
    }

    /// Reads `${..}` behind its opening brace.
    pub(super) fn braces(&mut self, quoting: Quoting, words: &mut Words) -> Scanned {
        self.deepen()?;
        while let Some(c) = self.peek() {
            if let Some(Found::Name(name, _)) = template::at(self.rest()) {
                self.look_up(name)?;
                return Err(refuse(
                    "a variable stands within ${..}",
                    format!("Set a shell variable first: `value={{{{{name}}}}}`, and use \"${{value}}\"."),
                ));
            }
            match c {
                '}' => {
                    self.copy(1);
                    self.depth -= 1;
                    return Ok(());
                }
                '\\' => {
                    self.copy(2);
                }
                '$' => self.dollar(quoting, words)?,
                '`' => self.backticks(words)?,
                '\'' | '"' if quoting != Quoting::None => {
                    self.lose("shells disagree on quotes within \"${..}\"");
                    self.copy(1);
                }
                '\'' => self.single(words)?,
                '"' => self.double(words)?,
                _ => {
                    self.copy(1);
                }
            }
        }
        self.lose("a brace is not closed");
        Ok(())
    }

    /// Reads arithmetic behind what opens it: `count` of the first bracket. `for` has three parts.
    pub(super) fn arithmetic(
        &mut self,
        words: &mut Words,
        [opening, closing]: [char; 2],
        count: usize,
        is_loop: bool,
    ) -> Scanned {
        let refused = |name: &str| {
            refuse(
                format!("{{{{{name}}}}} stands in arithmetic, where its text would be evaluated"),
                "Use only numbers there.",
            )
        };
        let (mut open, before) = (count, self.references);
        while let Some(c) = self.peek() {
            if let Some(Found::Name(name, rest)) = template::at(self.rest()) {
                let variable = self.look_up(name)?;
                if !variable.is_number() {
                    return Err(refused(name));
                }
                self.reference(variable, Quoting::Double);
                self.at = self.end - rest.len();
                continue;
            }
            match c {
                '$' => {
                    self.dollar(Quoting::Double, words)?;
                    continue;
                }
                '`' => {
                    self.backticks(words)?;
                    continue;
                }
                ';' if is_loop => {}
                '\'' | '"' | '\\' | ';' | '\n' | '#' => self.lose("arithmetic holds what may be a command"),
                c if c == opening => open += 1,
                c if c == closing => open -= 1,
                _ => {}
            }
            if self.references > before {
                return Err(refused(self.last.as_str()));
            }
            self.copy(1);
            if open == 0 {
                return Ok(());
            }
        }
        self.lose("a bracket is not closed");
        Ok(())
    }

    pub(super) fn backticks(&mut self, words: &mut Words) -> Scanned {
        self.copy(1);
        words.push("\0");
        let rest = self.rest();
        let mut escaped = false;
        let close = rest.char_indices().find(|(_, c)| {
            let ends = *c == '`' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((length, _)) = close else {
            self.lose("a backtick is not closed");
            return Ok(());
        };
        let inner = rest.get(..length).unwrap_or_default();
        if inner.contains('\\') {
            if template::is_in(inner) {
                return Err(refuse(
                    "a variable stands in backticks with backslashes",
                    "Write $(..) in place of the backticks.",
                ));
            }
            self.out.push_str(inner);
            self.at += length;
            self.copy(1);
            return Ok(());
        }
        let (end, parentheses) = (self.end, std::mem::take(&mut self.parentheses));
        self.end = self.at + length;
        self.commands_within(End::Text)?;
        (self.end, self.parentheses) = (end, parentheses);
        self.copy(1);
        Ok(())
    }
}

/// Returns the name of the shell's variable that a `$` at the beginning of a text stands for.
fn parameter(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${").or_else(|| text.strip_prefix('$'))?;
    let length = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    name.get(..length).filter(|name| !name.is_empty())
}
