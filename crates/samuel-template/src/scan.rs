//! Splits a template into text and actions, and actions into tokens.
//!
//! Main entry: [`scan`]. Trim markers and comments are settled here, so that
//! the parser sees only text to write and tokens to read. Whether a token
//! stood apart from the one before it is kept, because `.A.B` is one path and
//! `.A .B` are two values.

use serde_json::Value as Json;

use crate::{
    literal,
    problem::{Fault, SyntaxProblem},
};

/// A stretch of a template.
#[derive(Debug)]
pub(crate) enum Piece<'s> {
    Text { text: &'s str, offset: usize },
    Action(Action),
}

/// What stands between `{{` and `}}`, without comments.
#[derive(Debug)]
pub(crate) struct Action {
    /// Where the opening braces are.
    pub(crate) offset: usize,
    pub(crate) tokens: Vec<Token>,
    /// Where the closing braces (or their trim marker) are.
    pub(crate) end: usize,
}

/// A token of an action.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) offset: usize,
    /// Whether white space, or the start of the action, stands before it.
    pub(crate) spaced: bool,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    Dot,
    /// `.Name`, without the dot.
    Field(String),
    /// `$name`, without the sign; `$` alone is empty.
    Variable(String),
    /// A function or keyword.
    Name(String),
    /// A string or a number; a character is its code point.
    Literal(Json),
    Pipe,
    Open,
    Close,
    Comma,
    Declare,
    Assign,
}

impl TokenKind {
    /// Describes the token for a message.
    pub(crate) fn describe(&self) -> String {
        match self {
            TokenKind::Dot => "`.`".to_owned(),
            TokenKind::Field(name) => format!("`.{name}`"),
            TokenKind::Variable(name) => format!("`${name}`"),
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Literal(Json::String(_)) => "string".to_owned(),
            TokenKind::Literal(_) => "number".to_owned(),
            TokenKind::Pipe => "`|`".to_owned(),
            TokenKind::Open => "`(`".to_owned(),
            TokenKind::Close => "`)`".to_owned(),
            TokenKind::Comma => "`,`".to_owned(),
            TokenKind::Declare => "`:=`".to_owned(),
            TokenKind::Assign => "`=`".to_owned(),
        }
    }
}

/// Scans a whole template.
pub(crate) fn scan(source: &str) -> Result<Vec<Piece<'_>>, Fault> {
    let mut scanner = Scanner { source, at: 0 };
    let mut pieces = Vec::new();
    let mut trim_next = false;
    loop {
        let start = scanner.at;
        let open = scanner.rest().find("{{").map(|found| start + found);
        let mut text = source.get(start..open.unwrap_or(source.len())).unwrap_or("");
        if trim_next {
            text = text.trim_start_matches(is_space);
        }
        let offset = open.unwrap_or(source.len()) - text.len();
        let Some(open) = open else {
            push_text(&mut pieces, text, offset);
            return Ok(pieces);
        };
        scanner.at = open + 2;
        if scanner.rest().starts_with('-') && scanner.second().is_some_and(is_space) {
            text = text.trim_end_matches(is_space);
            scanner.at += 2;
        }
        push_text(&mut pieces, text, offset);
        if scanner.rest().starts_with("/*") {
            trim_next = scanner.comment(open)?;
        } else {
            let (action, trim) = scanner.action(open)?;
            pieces.push(Piece::Action(action));
            trim_next = trim;
        }
    }
}

fn push_text<'s>(pieces: &mut Vec<Piece<'s>>, text: &'s str, offset: usize) {
    if !text.is_empty() {
        pieces.push(Piece::Text { text, offset });
    }
}

/// Tells what Go templates count as white space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Scanner<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Scanner<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or("")
    }

    fn first(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    /// Skips a comment and its closing braces; returns whether they trim.
    fn comment(&mut self, open: usize) -> Result<bool, Fault> {
        let unclosed = || Fault::at(open, SyntaxProblem::UnclosedComment);
        let close = self.rest().find("*/").ok_or_else(unclosed)?;
        self.at += close + 2;
        self.close().ok_or_else(unclosed)
    }

    /// Steps over `}}` or ` -}}` if it is next; returns whether it trims.
    fn close(&mut self) -> Option<bool> {
        let rest = self.rest();
        if rest.starts_with("}}") {
            self.at += 2;
            return Some(false);
        }
        if rest.starts_with(is_space) && rest.get(1..4) == Some("-}}") {
            self.at += 4;
            return Some(true);
        }
        None
    }

    fn action(&mut self, open: usize) -> Result<(Action, bool), Fault> {
        let mut tokens = Vec::new();
        let mut spaced = true;
        loop {
            let end = self.at;
            if let Some(trim) = self.close() {
                let offset = open;
                return Ok((Action { offset, tokens, end }, trim));
            }
            let Some(first) = self.first() else {
                return Err(Fault::at(open, SyntaxProblem::UnclosedAction));
            };
            if is_space(first) {
                self.at += 1;
                spaced = true;
                continue;
            }
            let offset = self.at;
            let kind = self.token(first, open)?;
            tokens.push(Token { kind, offset, spaced });
            spaced = false;
        }
    }

    fn token(&mut self, first: char, open: usize) -> Result<TokenKind, Fault> {
        let digit_next = self.second().is_some_and(|c| c.is_ascii_digit());
        match first {
            '|' => Ok(self.step(1, TokenKind::Pipe)),
            '(' => Ok(self.step(1, TokenKind::Open)),
            ')' => Ok(self.step(1, TokenKind::Close)),
            ',' => Ok(self.step(1, TokenKind::Comma)),
            '=' if self.second() != Some('=') => Ok(self.step(1, TokenKind::Assign)),
            ':' if self.second() == Some('=') => Ok(self.step(2, TokenKind::Declare)),
            '"' | '\'' | '`' => self.quoted(first),
            '0'..='9' => self.number(),
            '.' | '+' | '-' if digit_next => self.number(),
            '.' => self.dot(),
            '$' => {
                self.at += 1;
                self.name().map(TokenKind::Variable)
            }
            _ if is_name(first) => self.name().map(TokenKind::Name),
            // A second `{{` means that the first was meant to end before it.
            '{' => Err(Fault::at(open, SyntaxProblem::UnclosedAction)),
            found => {
                let problem = SyntaxProblem::UnexpectedCharacter { found };
                Err(Fault::at(self.at, problem))
            }
        }
    }

    fn step(&mut self, bytes: usize, kind: TokenKind) -> TokenKind {
        self.at += bytes;
        kind
    }

    fn dot(&mut self) -> Result<TokenKind, Fault> {
        self.at += 1;
        let name = self.name()?;
        Ok(if name.is_empty() { TokenKind::Dot } else { TokenKind::Field(name) })
    }

    /// Reads a name, which may be empty, and checks what follows it.
    fn name(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or("").to_owned();
        self.at += length;
        let ends = match self.first() {
            None => true,
            Some(next) => {
                is_space(next)
                    || matches!(next, '.' | ',' | '|' | ':' | '=' | '(' | ')')
                    || self.rest().starts_with("}}")
            }
        };
        match self.first() {
            Some(found) if !ends => {
                let problem = SyntaxProblem::UnexpectedCharacter { found };
                Err(Fault::at(self.at, problem))
            }
            _ => Ok(name),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<TokenKind, Fault> {
        let start = self.at;
        let body = self.source.get(start + 1..).unwrap_or("");
        let length = literal::quoted_length(body, quote)
            .ok_or_else(|| Fault::at(start, SyntaxProblem::UnclosedLiteral))?;
        self.at = start + 1 + length + 1;
        let body = body.get(..length).unwrap_or("");
        let value = match quote {
            '`' => Some(body.replace('\r', "").into()),
            '"' => literal::unescape(body, quote).map(Json::from),
            _ => literal::character(body).map(Json::from),
        };
        value.map(TokenKind::Literal).ok_or_else(|| Fault::at(start, SyntaxProblem::BadLiteral))
    }

    fn number(&mut self) -> Result<TokenKind, Fault> {
        let start = self.at;
        let length = literal::number_length(self.rest());
        let text = self.rest().get(..length).unwrap_or("");
        self.at += length;
        literal::number(text)
            .map(TokenKind::Literal)
            .ok_or_else(|| Fault::at(start, SyntaxProblem::BadNumber { text: text.to_owned() }))
    }
}
