//! Here-documents: their delimiters, and the texts that follow the line.

use super::{Quoting, Scanned, Scanner, refuse};
use crate::dialect::session::{
    Variable,
    shell::{evaluated::reads_code_from_input, words::Words},
    template,
};

/// A here-document whose text follows the line.
pub(super) struct HereDocument {
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
    /// What its end is called now, where that is written anew.
    renamed: Option<String>,
    /// Who reads it, where that takes it for code.
    pub(super) reader: Option<String>,
}

impl<K: Fn(&str) -> Result<Variable, (String, String)>> Scanner<'_, K> {
    /// Reads the delimiter of a here-document.
    pub(super) fn here_document(&mut self, words: &mut Words) -> Scanned {
        let strips_tabs = self.starts_with("<<-");
        self.copy(if strips_tabs { 3 } else { 2 });
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.copy(1);
        }
        let mut delimiter = String::new();
        let mut is_quoted = false;
        let mut quote = None;
        let begin = self.at;
        while let Some(c) = self.peek() {
            if template::at(self.rest()).is_some() {
                return Err(refuse(
                    "a variable stands in the delimiter of a here-document",
                    "Use another word.",
                ));
            }
            match (quote, c) {
                (None, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => break,
                (_, '$' | '`') => self.lose("the delimiter of a here-document is not plain"),
                (_, '\\') if quote != Some('\'') => {
                    is_quoted = true;
                    self.at += 1;
                    delimiter.extend(self.peek());
                }
                (None, '\'' | '"') => (is_quoted, quote) = (true, Some(c)),
                (Some(open), c) if open == c => quote = None,
                (_, c) => delimiter.push(c),
            }
            self.at += self.peek().map_or(0, char::len_utf8);
        }
        let reader = reads_code_from_input(words.done());
        let renamed = is_quoted.then(|| self.new_delimiter());
        match &renamed {
            Some(renamed) => self.out.push_str(renamed),
            None => self.out.push_str(self.text.get(begin..self.at).unwrap_or_default()),
        }
        words.push("");
        words.end_word();
        self.waiting.push(HereDocument { delimiter, is_quoted, strips_tabs, renamed, reader });
        Ok(())
    }

    /// Returns a word that stands nowhere in the line.
    fn new_delimiter(&mut self) -> String {
        loop {
            self.renamed += 1;
            let word = format!("SAMUEL_END_{}", self.renamed);
            if !self.text.contains(&word) {
                return word;
            }
        }
    }

    /// Reads the texts of here-documents at the beginning of a line.
    pub(super) fn here_documents(&mut self) -> Scanned {
        for document in std::mem::take(&mut self.waiting) {
            let end = self.end_of(&document);
            let outer = std::mem::replace(&mut self.end, end);
            self.here_text(&document)?;
            self.end = outer;
            // The line of the delimiter, as it is or by its new name.
            let rest = self.rest();
            let line = rest.split_inclusive('\n').next().unwrap_or_default();
            match &document.renamed {
                Some(renamed) => {
                    if !self.out.ends_with('\n') {
                        self.out.push('\n');
                    }
                    self.out.push_str(renamed);
                    self.out.push_str(if line.ends_with('\n') { "\n" } else { "" });
                }
                None => self.out.push_str(line),
            }
            self.at += line.len();
        }
        Ok(())
    }

    /// Returns where the text of a here-document ends, in bytes.
    fn end_of(&mut self, document: &HereDocument) -> usize {
        let mut at = self.at;
        for line in self.rest().split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let bare = if document.strips_tabs { text.trim_start_matches('\t') } else { text };
            if bare == document.delimiter {
                return at;
            }
            let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
            if !document.is_quoted && backslashes % 2 == 1 {
                self.lose("a line of a here-document ends with a backslash");
            }
            at += line.len();
        }
        self.lose("a here-document is not closed");
        at
    }

    fn here_text(&mut self, document: &HereDocument) -> Scanned {
        let mut words = Words::default();
        // What stands in it is no command.
        words.redirect();
        words.feed(document.reader.clone());
        while let Some(c) = self.peek() {
            if self.variable(Quoting::Double, &mut words)? {
                continue;
            }
            match (document.is_quoted, c) {
                (true, '\\') if self.starts_with("\\\\") => {
                    self.out.push_str("\\\\\\\\");
                    self.at += 2;
                }
                (true, '\\' | '$' | '`') => {
                    self.out.push('\\');
                    self.copy(1);
                }
                (false, '\\') => {
                    self.copy(2);
                }
                (false, '$') => self.dollar(Quoting::Double, &mut words)?,
                (false, '`') => self.backticks(&mut words)?,
                _ => {
                    self.copy(1);
                }
            }
        }
        Ok(())
    }
}
