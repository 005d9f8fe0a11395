//! Follows the quoting of a shell's line.
//!
//! It knows what POSIX shells and bash have in common: quotes, substitutions, here-documents,
//! arithmetic, comments. Text is copied as it is; only variables, and here-documents with a quoted
//! delimiter, are written anew. From where shells disagree on, no variable is let through.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        Variable,
        template::{self, Found},
    },
    evaluated::{Place, Refused, place, reads_code_from_input},
    words::{Words, is_assignment},
};

/// How deep substitutions may stand in each other.
const MAX_DEPTH: usize = 32;

/// Commands that are not kept from the line's own variables.
const COMPARING: [&str; 9] =
    ["[", "[[", "declare", "export", "local", "printf", "readonly", "test", "typeset"];

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
    /// How many references to texts are written, and to which of them the last one is.
    references: usize,
    last: Variable,
    /// The line's own variables that hold such a text.
    holding: BTreeMap<String, Variable>,
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
            references: 0,
            last: Variable::Session,
            holding: BTreeMap::new(),
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
        let mut pipeline = Pipeline { before: self.references, ..Pipeline::default() };
        while let Some(c) = self.peek() {
            if self.variable(Quoting::None, &mut words)? {
                continue;
            }
            // Within `[[` these join conditions, and end no command.
            if matches!(c, '&' | '|' | '(' | ')' | '\n') && self.waiting.is_empty() && words.in_condition() {
                words.end_word();
                self.copy(1);
                continue;
            }
            match c {
                ' ' | '\t' => self.end_word(&mut words),
                '\n' => {
                    self.copy(1);
                    self.end_command(&mut words, &mut pipeline, false)?;
                    self.here_documents()?;
                    continue;
                }
                '#' if !words.in_word() => {
                    self.comment();
                    continue;
                }
                ';' | '&' | '|' => {
                    let is_pipe = c == '|' && !self.starts_with("||");
                    let length = ["||", "&&", "|&", ";;"].iter().any(|operator| self.starts_with(operator));
                    self.copy(if length { 2 } else { 1 });
                    self.end_command(&mut words, &mut pipeline, is_pipe)?;
                    continue;
                }
                '(' => {
                    let is_loop = words.ends_with_keyword("for");
                    if self.starts_with("((") && !words.in_word() && (is_loop || words.names_a_program()) {
                        self.copy(2);
                        self.arithmetic(&mut words, ['(', ')'], 2, is_loop)?;
                    } else {
                        self.copy(1);
                        self.parenthesis()?;
                    }
                    words = Words::default();
                    continue;
                }
                ')' => {
                    self.end_command(&mut words, &mut pipeline, false)?;
                    self.copy(1);
                    if end == End::Parenthesis {
                        self.depth -= 1;
                        return Ok(());
                    }
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
        self.end_command(&mut words, &mut pipeline, false)?;
        if end == End::Parenthesis {
            self.lose("a parenthesis is not closed");
        }
        self.depth -= 1;
        Ok(())
    }

    /// Ends a command; `is_pipe` says whether the next one reads what it prints.
    fn end_command(&mut self, words: &mut Words, pipeline: &mut Pipeline, is_pipe: bool) -> Scanned {
        words.end_word();
        let ended = std::mem::take(words);
        if pipeline.is_piped
            && let Some(reader) = reads_code_from_input(ended.done())
        {
            if self.references > pipeline.before {
                return Err(Refused::of_code(&reader, self.last));
            }
            for document in &mut self.waiting {
                document.reader.get_or_insert_with(|| reader.clone());
            }
        }
        for word in ended.done() {
            match word.as_str() {
                "{" | "if" | "for" | "while" | "until" | "case" | "select" => pipeline.open += 1,
                "}" | "fi" | "done" | "esac" => pipeline.open = pipeline.open.saturating_sub(1),
                "then" | "else" | "elif" | "do" | "!" => {}
                _ => break,
            }
        }
        pipeline.is_piped = is_pipe;
        if !is_pipe && pipeline.open == 0 {
            pipeline.before = self.references;
        }
        Ok(())
    }

    /// Reads what stands for its output, by `read`. Where that has the value of a variable, it is
    /// treated as one.
    fn substitution(
        &mut self,
        words: &mut Words,
        read: impl FnOnce(&mut Self, &mut Words) -> Scanned,
    ) -> Scanned {
        let before = self.references;
        let place = self.place(words);
        read(self, words)?;
        if self.references > before {
            self.take(&place, words)?;
        }
        Ok(())
    }

    /// Says what becomes of the word under way.
    fn place(&self, words: &Words) -> Place {
        match (words.is_target(), words.reader()) {
            (false, _) => place(words.done(), words.current()),
            (true, None) => Place::Data,
            (true, Some(reader)) => Place::Code(reader.to_owned()),
        }
    }

    /// Notes that the word under way has a text, where it may.
    fn take(&mut self, place: &Place, words: &Words) -> Scanned {
        if let Some(refused) = place.refuses(self.last) {
            return Err(refused);
        }
        let list =
            ["for", "select"].iter().any(|keyword| words.done().first().is_some_and(|word| word == keyword));
        let name = match words.current().split_once('=') {
            Some((name, _)) if is_assignment(words.current()) => Some(name.trim_end_matches('+')),
            _ if list => words.done().get(1).map(String::as_str),
            _ => None,
        };
        self.holding.extend(name.map(|name| (name.to_owned(), self.last)));
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
            '`' => self.substitution(words, Self::backticks),
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
                '`' => self.substitution(words, Self::backticks)?,
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

    /// Reads arithmetic behind what opens it: `count` of the first bracket. `for` has three parts.
    fn arithmetic(
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
            return self.substitution(words, |scanner, words| {
                words.push("\0");
                scanner.parenthesis()
            });
        }
        words.redirect();
        if is_here {
            return self.here_document(words);
        }
        const OPERATORS: [&str; 8] = ["<<<", "<>", "<&", ">>", ">|", ">&", "<", ">"];
        let operator = OPERATORS.into_iter().find(|operator| self.starts_with(operator)).unwrap_or(">");
        self.copy(operator.len());
        if operator == "<<<" {
            words.feed(reads_code_from_input(words.done()));
        }
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
                let place = self.place(words);
                if variable.is_number() {
                    place.refuses(variable).map_or(Ok(()), Err)?;
                } else {
                    self.last = variable;
                    self.take(&place, words)?;
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
        if !variable.is_number() {
            self.references += 1;
            self.last = variable;
        }
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

/// Returns the name of the shell's variable that a `$` at the beginning of a text stands for.
fn parameter(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${").or_else(|| text.strip_prefix('$'))?;
    let length = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    name.get(..length).filter(|name| !name.is_empty())
}

/// A pipeline under way.
#[derive(Default)]
struct Pipeline {
    /// How many references to texts there were before it.
    before: usize,
    /// Whether the command under way reads what the one before it prints.
    is_piped: bool,
    /// How many groups of commands are open, such as `{` and `if`.
    open: usize,
}

fn refuse(what: impl Into<String>, help: impl Into<String>) -> Refused {
    Refused { what: what.into(), help: help.into() }
}
