//! Follows the quoting of a shell's line.
//!
//! It knows what POSIX shells and bash have in common: quotes, substitutions, here-documents,
//! arithmetic, comments. Text is copied as it is; only variables, and here-documents with a quoted
//! delimiter, are written anew. From where shells disagree on, no variable is let through.

use std::collections::BTreeSet;

use super::{
    super::{
        Variable,
        template::{self, Found},
    },
    evaluated::{Refused, evaluated, reads_code_from_input},
    words::Words,
};

/// How deep substitutions may stand in each other.
const MAX_DEPTH: usize = 32;

/// How text is quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// Not at all.
    None,
    /// `'..'`
    Single,
    /// `".."`, or a here-document.
    Double,
    /// `$'..'`; whether there are escapes in what follows.
    Ansi { has_escapes: bool },
}

/// Where the commands end that are being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Parenthesis,
}

/// A here-document whose text follows the line.
struct HereDocument {
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
    /// What its end is called now, where that is written anew.
    renamed: Option<String>,
    /// Who reads it, where that takes it for code.
    reader: Option<String>,
}

/// Reads a line once, from its beginning to its end.
pub(super) struct Scanner<'a, K> {
    text: &'a str,
    /// How far it is read, in bytes.
    at: usize,
    /// How far it may be read now, in bytes.
    end: usize,
    known: K,
    out: String,
    used: BTreeSet<Variable>,
    /// From where on the quoting is unclear, in words.
    unclear: Option<&'static str>,
    depth: usize,
    /// How many parentheses are open.
    parentheses: usize,
    waiting: Vec<HereDocument>,
    renamed: usize,
}

type Scanned = Result<(), Refused>;

impl<'a, K: Fn(&str) -> Result<Variable, (String, String)>> Scanner<'a, K> {
    pub(super) fn new(text: &'a str, known: K) -> Self {
        Self {
            text,
            at: 0,
            end: text.len(),
            known,
            out: String::with_capacity(text.len() * 2),
            used: BTreeSet::new(),
            unclear: None,
            depth: 0,
            parentheses: 0,
            waiting: Vec::new(),
            renamed: 0,
        }
    }

    /// Reads the line, and returns it with its variables.
    pub(super) fn scan(mut self) -> Result<(String, BTreeSet<Variable>), Refused> {
        self.commands(End::Text)?;
        Ok((self.out, self.used))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Copies some characters.
    fn copy(&mut self, count: usize) -> &'a str {
        let rest = self.rest();
        let end = rest.char_indices().nth(count).map_or(rest.len(), |(end, _)| end);
        let copied = rest.get(..end).unwrap_or_default();
        self.out.push_str(copied);
        self.at += end;
        copied
    }

    fn lose(&mut self, why: &'static str) {
        self.unclear.get_or_insert(why);
    }

    /// Reads commands up to their end.
    fn commands(&mut self, end: End) -> Scanned {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(refuse(
                "substitutions stand too deep in each other",
                "Move the command into a script.",
            ));
        }
        let mut words = Words::default();
        while let Some(c) = self.peek() {
            if self.variable(Quoting::None, &mut words)? {
                continue;
            }
            match c {
                ' ' | '\t' => self.end_word(&mut words),
                '\n' => {
                    self.copy(1);
                    words = Words::default();
                    self.here_documents()?;
                    continue;
                }
                '#' if !words.in_word() => {
                    self.comment();
                    continue;
                }
                ';' | '&' | '|' => {
                    self.copy(1);
                    words = Words::default();
                    continue;
                }
                '(' => {
                    if self.starts_with("((") && !words.in_word() && words.names_a_program() {
                        self.copy(2);
                        self.arithmetic(&mut words)?;
                    } else {
                        self.copy(1);
                        self.parenthesis()?;
                    }
                    words = Words::default();
                    continue;
                }
                ')' => {
                    self.copy(1);
                    if end == End::Parenthesis {
                        self.depth -= 1;
                        return Ok(());
                    }
                    words = Words::default();
                    continue;
                }
                '<' | '>' => {
                    self.redirection(&mut words)?;
                    continue;
                }
                _ => {
                    self.part_of_word(c, &mut words)?;
                    continue;
                }
            }
            self.copy(1);
        }
        if end == End::Parenthesis {
            self.lose("a parenthesis is not closed");
        }
        self.depth -= 1;
        Ok(())
    }

    fn end_word(&mut self, words: &mut Words) {
        words.end_word();
        // A `)` behind a pattern looks like the end of the substitution.
        if self.parentheses > 0 && words.ends_with_keyword("case") {
            self.lose("`case` stands in a substitution");
        }
    }

    /// Reads commands in parentheses; the first one is copied.
    fn parenthesis(&mut self) -> Scanned {
        self.parentheses += 1;
        let waiting = std::mem::take(&mut self.waiting);
        self.commands(End::Parenthesis)?;
        if !std::mem::replace(&mut self.waiting, waiting).is_empty() {
            self.lose("a here-document is not closed in its substitution");
        }
        self.parentheses -= 1;
        Ok(())
    }

    /// Reads what belongs to a word outside of quotes.
    fn part_of_word(&mut self, c: char, words: &mut Words) -> Scanned {
        match c {
            '\\' => {
                // A line that goes on is not in the word.
                let is_continued = self.starts_with("\\\n");
                let escaped = self.copy(2);
                if !is_continued {
                    words.push(escaped.trim_start_matches('\\'));
                }
                Ok(())
            }
            '\'' => self.single(words),
            '"' => self.double(words),
            '$' => self.dollar(Quoting::None, words),
            '`' => self.backticks(words),
            _ => {
                let text = self.copy(1);
                words.push(text);
                Ok(())
            }
        }
    }

    fn comment(&mut self) {
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        // Nobody reads it.
        self.at += length;
    }

    fn single(&mut self, words: &mut Words) -> Scanned {
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

    fn double(&mut self, words: &mut Words) -> Scanned {
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
                '`' => self.backticks(words)?,
                _ => {
                    self.note_line_end(c);
                    let text = self.copy(1);
                    words.push(text);
                }
            }
        }
        self.lose("a quotation is not closed");
        Ok(())
    }

    /// Reads `$'..'`, which some shells take for a `$` before a quotation.
    fn ansi(&mut self, words: &mut Words) -> Scanned {
        self.copy(2);
        words.push("");
        while let Some(c) = self.peek() {
            let quoted = self.rest().split('\'').next().unwrap_or_default();
            let has_escapes = quoted.contains('\\');
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
                _ => {
                    self.note_line_end(c);
                    let text = self.copy(1);
                    words.push(text);
                }
            }
        }
        self.lose("a quotation is not closed");
        Ok(())
    }

    /// A line that ends in quotes is not where the text of a here-document begins, in all shells.
    fn note_line_end(&mut self, c: char) {
        if c == '\n' && !self.waiting.is_empty() {
            self.lose("a quotation goes on behind the line of a here-document");
        }
    }

    /// Reads what a `$` begins.
    fn dollar(&mut self, quoting: Quoting, words: &mut Words) -> Scanned {
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
            self.arithmetic(words)
        } else if self.starts_with("$(") {
            self.copy(2);
            self.parenthesis()
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
    fn braces(&mut self, quoting: Quoting, words: &mut Words) -> Scanned {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(refuse(
                "substitutions stand too deep in each other",
                "Move the command into a script.",
            ));
        }
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

    /// Reads arithmetic behind its two opening parentheses.
    fn arithmetic(&mut self, words: &mut Words) -> Scanned {
        let mut open = 2_usize;
        while let Some(c) = self.peek() {
            if let Some(Found::Name(name, rest)) = template::at(self.rest()) {
                let variable = self.look_up(name)?;
                if !variable.is_number() {
                    return Err(refuse(
                        format!("{{{{{name}}}}} stands in arithmetic, where its text would be evaluated"),
                        "Use only numbers there.",
                    ));
                }
                self.reference(variable, Quoting::Double);
                self.at = self.end - rest.len();
                continue;
            }
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                '$' => {
                    self.dollar(Quoting::Double, words)?;
                    continue;
                }
                '`' => {
                    self.backticks(words)?;
                    continue;
                }
                '\'' | '"' | '\\' | ';' | '\n' | '#' => self.lose("arithmetic holds what may be a command"),
                _ => {}
            }
            self.copy(1);
            if open == 0 {
                return Ok(());
            }
        }
        self.lose("a parenthesis is not closed");
        Ok(())
    }

    fn backticks(&mut self, words: &mut Words) -> Scanned {
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
            let has_variable = inner
                .char_indices()
                .any(|(at, _)| template::at(inner.get(at..).unwrap_or_default()).is_some());
            if has_variable {
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
        let waiting = std::mem::take(&mut self.waiting);
        self.end = self.at + length;
        self.commands(End::Text)?;
        if !std::mem::replace(&mut self.waiting, waiting).is_empty() {
            self.lose("a here-document is not closed in its substitution");
        }
        (self.end, self.parentheses) = (end, parentheses);
        self.copy(1);
        Ok(())
    }

    fn redirection(&mut self, words: &mut Words) -> Scanned {
        let is_here = self.starts_with("<<") && !self.starts_with("<<<");
        if self.starts_with("<(") || self.starts_with(">(") {
            self.copy(2);
            words.push("\0");
            return self.parenthesis();
        }
        words.redirect();
        if is_here {
            return self.here_document(words);
        }
        const OPERATORS: [&str; 8] = ["<<<", "<>", "<&", ">>", ">|", ">&", "<", ">"];
        let operator = OPERATORS.into_iter().find(|operator| self.starts_with(operator)).unwrap_or(">");
        self.copy(operator.len());
        // Blanks before the target do not end a word.
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.copy(1);
        }
        Ok(())
    }

    /// Reads the delimiter of a here-document.
    fn here_document(&mut self, words: &mut Words) -> Scanned {
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
        let reader = reads_code_from_input(words.done()).map(str::to_owned);
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
    fn here_documents(&mut self) -> Scanned {
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
        words.push("cat");
        words.end_word();
        while let Some(c) = self.peek() {
            if let (Some(reader), Some(Found::Name(name, _))) = (&document.reader, template::at(self.rest()))
                && !self.look_up(name)?.is_number()
            {
                return Err(refuse(
                    format!("{reader} would read the value of {{{{{name}}}}} as code"),
                    "Hand it over as data: as an argument, or by the environment.",
                ));
            }
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

    fn look_up(&self, name: &str) -> Result<Variable, Refused> {
        (self.known)(name).map_err(|(what, help)| Refused { what, help })
    }

    /// Writes a variable, or braces that are meant as such, where either stands here.
    fn variable(&mut self, quoting: Quoting, words: &mut Words) -> Result<bool, Refused> {
        let rest = match template::at(self.rest()) {
            None => return Ok(false),
            Some(Found::Braces(rest)) => {
                self.out.push_str("{{");
                words.push("{{");
                rest
            }
            Some(Found::Name(name, rest)) => {
                let variable = self.look_up(name)?;
                if let Some(why) = self.unclear {
                    return Err(refuse(
                        format!("what quotes {{{{{name}}}}} stands in is not clear: {why}"),
                        format!(
                            "Set a shell variable at the beginning: `value={{{{{name}}}}}`, and use \"$value\" here."
                        ),
                    ));
                }
                if words.names_a_program() {
                    return Err(Refused::of_program());
                }
                if !variable.is_number()
                    && let Some(refused) = evaluated(words.done(), words.current(), variable)
                {
                    return Err(refused);
                }
                self.reference(variable, quoting);
                words.push("\0");
                rest
            }
        };
        self.at = self.end - rest.len();
        Ok(true)
    }

    /// Writes a reference to the value of a variable.
    fn reference(&mut self, variable: Variable, quoting: Quoting) {
        self.used.insert(variable);
        let name = variable.env_name();
        let (before, after) = match quoting {
            Quoting::None => ("\"", "\""),
            Quoting::Single | Quoting::Ansi { has_escapes: false } => ("'\"", "\"'"),
            Quoting::Double => ("", ""),
            Quoting::Ansi { has_escapes: true } => ("'\"", "\"$'"),
        };
        self.out.push_str(&format!("{before}${{{name}}}{after}"));
    }
}

fn refuse(what: impl Into<String>, help: impl Into<String>) -> Refused {
    Refused { what: what.into(), help: help.into() }
}
