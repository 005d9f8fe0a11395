//! Follows the quoting of a shell's line.
//!
//! It knows what POSIX shells and bash have in common: quotes, substitutions, here-documents,
//! arithmetic, comments. Text is copied as it is; only variables, and here-documents with a quoted
//! delimiter, are written anew. From where shells disagree on, no variable is let through.

mod expansions;
mod here_documents;
mod quotes;

use std::collections::{BTreeMap, BTreeSet};

use here_documents::HereDocument;

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

    /// Goes into what may hold the same again.
    fn deepen(&mut self) -> Scanned {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => {
                Err(refuse("substitutions stand too deep in each other", "Move the command into a script."))
            }
            false => Ok(()),
        }
    }

    /// Reads commands up to their end.
    fn commands(&mut self, end: End) -> Scanned {
        self.deepen()?;
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
        self.commands_within(End::Parenthesis)?;
        self.parentheses -= 1;
        Ok(())
    }

    /// Reads commands whose here-documents are their own.
    fn commands_within(&mut self, end: End) -> Scanned {
        let waiting = std::mem::take(&mut self.waiting);
        self.commands(end)?;
        if !std::mem::replace(&mut self.waiting, waiting).is_empty() {
            self.lose("a here-document is not closed in its substitution");
        }
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
