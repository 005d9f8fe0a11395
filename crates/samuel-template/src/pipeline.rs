//! Parses what stands inside an action: pipelines, calls and values.
//!
//! Main type: [`Cursor`], a walk over one action's tokens. Statements, and the
//! scope of variables, belong to [`parse`](crate::parse).

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::{
    SyntaxProblem, TemplateLimits,
    ast::{Expr, Slot},
    builtins::{Builtin, Run},
    problem::{Fault, nearest},
    scan::{Action, Token, TokenKind},
};

/// The variables in scope; an inner one hides an outer one of its name.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    slots: BTreeMap<String, Vec<Slot>>,
    order: Vec<String>,
}

impl Scope {
    pub(crate) fn declare(&mut self, name: &str, slot: Slot) {
        self.slots.entry(name.to_owned()).or_default().push(slot);
        self.order.push(name.to_owned());
    }

    pub(crate) fn depth(&self) -> usize {
        self.order.len()
    }

    /// Forgets what was declared since the scope had this depth.
    pub(crate) fn leave(&mut self, depth: usize) {
        for name in self.order.drain(depth..) {
            if let Some(slots) = self.slots.get_mut(&name) {
                slots.pop();
            }
        }
    }

    pub(crate) fn find(&self, name: &str, at: usize) -> Result<Slot, Fault> {
        let found = self.slots.get(name).and_then(|slots| slots.last());
        found.copied().ok_or_else(|| {
            let known = self.slots.iter().filter(|(_, slots)| !slots.is_empty());
            let problem = SyntaxProblem::UndeclaredVariable {
                name: name.to_owned(),
                nearest: nearest(name, known.map(|(known, _)| known.as_str())),
            };
            Fault::at(at, problem)
        })
    }
}

/// What stands before a pipeline whose value is kept: `$x :=`, `$i, $e =`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding<'a> {
    pub(crate) first: &'a Token,
    pub(crate) second: Option<&'a Token>,
    pub(crate) how: Bind,
}

/// How a value is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bind {
    Declare,
    Assign,
}

/// A walk over the tokens of one action.
pub(crate) struct Cursor<'a> {
    tokens: &'a [Token],
    next: usize,
    end: usize,
    /// Nesting so far, blocks included.
    depth: usize,
    limit: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(action: &'a Action, depth: usize, limit: usize) -> Cursor<'a> {
        Cursor { tokens: &action.tokens, next: 0, end: action.end, depth, limit }
    }

    pub(crate) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    pub(crate) fn take(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        self.next += 1;
        Some(token)
    }

    /// Returns the offset of the next token, or of the action's end.
    pub(crate) fn at(&self) -> usize {
        self.peek().map_or(self.end, |token| token.offset)
    }

    /// Takes the next token if it is the word `name`.
    pub(crate) fn take_word(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), Some(Token { kind: TokenKind::Name(word), .. }) if word == name);
        self.next += usize::from(found);
        found
    }

    /// Checks that nothing is left in the action.
    pub(crate) fn finish(&mut self, place: &'static str) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(token) => Err(unexpected(token, place)),
        }
    }

    /// Takes `$x :=`, `$x =` or `$i, $e :=` if the pipeline starts with it.
    pub(crate) fn binding(&mut self) -> Result<Option<Binding<'a>>, Fault> {
        let Some(first) = self.variable_at(self.next) else {
            return Ok(None);
        };
        let kind = |index| self.tokens.get(index).map(|token: &Token| &token.kind);
        let (second, sign) = match kind(self.next + 1) {
            Some(TokenKind::Comma) => (self.variable_at(self.next + 2), self.next + 3),
            _ => (None, self.next + 1),
        };
        let how = match kind(sign) {
            Some(TokenKind::Declare) => Bind::Declare,
            Some(TokenKind::Assign) => Bind::Assign,
            // Only a binding has a comma, so what breaks it is the mistake.
            Some(_) if second.is_some() => {
                self.next = sign;
                return self.finish("in a binding").map(|()| None);
            }
            _ => return Ok(None),
        };
        self.next = sign + 1;
        Ok(Some(Binding { first, second, how }))
    }

    fn variable_at(&self, index: usize) -> Option<&'a Token> {
        let token = self.tokens.get(index)?;
        matches!(token.kind, TokenKind::Variable(_)).then_some(token)
    }

    /// Parses a pipeline up to `)` or the end of the action.
    pub(crate) fn pipeline(&mut self, scope: &Scope) -> Result<Expr, Fault> {
        let entry = self.depth;
        self.deepen()?;
        let mut value = self.command(scope, None)?;
        while matches!(self.peek(), Some(Token { kind: TokenKind::Pipe, .. })) {
            self.next += 1;
            // Each stage nests the ones before it in its arguments.
            self.deepen()?;
            value = self.command(scope, Some(value))?;
        }
        self.depth = entry;
        Ok(value)
    }

    fn deepen(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > self.limit {
            return Err(Fault::at(self.at(), SyntaxProblem::TooDeep { limit: self.limit }));
        }
        Ok(())
    }

    fn command(&mut self, scope: &Scope, piped: Option<Expr>) -> Result<Expr, Fault> {
        let Some(token) = self.peek() else {
            return Err(Fault::at(self.end, SyntaxProblem::MissingValue { place: "in a pipeline" }));
        };
        if let TokenKind::Name(name) = &token.kind
            && let Some(function) = Builtin::named(name)
        {
            self.next += 1;
            return self.call(function, token.offset, scope, piped);
        }
        if piped.is_some() {
            // The operand is parsed first, for its own error is the better one.
            self.operand(scope)?;
            let found = token.kind.describe();
            return Err(Fault::at(token.offset, SyntaxProblem::NotAFunction { found }));
        }
        let value = self.operand(scope)?;
        match self.peek() {
            Some(next) if starts_operand(&next.kind) && next.spaced => {
                let found = token.kind.describe();
                Err(Fault::at(token.offset, SyntaxProblem::NotAFunction { found }))
            }
            Some(next) if !matches!(next.kind, TokenKind::Pipe | TokenKind::Close) => {
                Err(unexpected(next, "in a pipeline"))
            }
            _ => Ok(value),
        }
    }

    fn call(
        &mut self,
        function: &'static Builtin,
        at: usize,
        scope: &Scope,
        piped: Option<Expr>,
    ) -> Result<Expr, Fault> {
        let mut arguments = Vec::new();
        while let Some(token) = self.peek() {
            if matches!(token.kind, TokenKind::Pipe | TokenKind::Close) {
                break;
            }
            if !token.spaced {
                return Err(unexpected(token, "after a function"));
            }
            let argument = match &token.kind {
                TokenKind::Name(name) => match Builtin::named(name) {
                    Some(inner) => {
                        self.next += 1;
                        self.built(inner, Vec::new(), token.offset)?
                    }
                    None => self.operand(scope)?,
                },
                _ => self.operand(scope)?,
            };
            arguments.push(argument);
        }
        arguments.extend(piped);
        self.built(function, arguments, at)
    }

    fn built(&self, function: &'static Builtin, arguments: Vec<Expr>, at: usize) -> Result<Expr, Fault> {
        check_arity(function, arguments.len(), at)?;
        let call = Expr::Call { function, arguments, at };
        if height(&call) > self.limit + 1 {
            return Err(Fault::at(at, SyntaxProblem::TooDeep { limit: self.limit }));
        }
        Ok(call)
    }

    /// Parses one value and the path after it.
    fn operand(&mut self, scope: &Scope) -> Result<Expr, Fault> {
        let start = self.at();
        let Some(token) = self.take() else {
            return Err(Fault::at(self.end, SyntaxProblem::MissingValue { place: "in a pipeline" }));
        };
        let (base, spelling) = match &token.kind {
            TokenKind::Field(_) => {
                self.next -= 1;
                (Expr::Dot, String::new())
            }
            TokenKind::Variable(name) if name.is_empty() => (Expr::Root, "$".to_owned()),
            TokenKind::Variable(name) => (Expr::Variable(scope.find(name, start)?), format!("${name}")),
            TokenKind::Open => (self.parenthesised(scope, start)?, "(…)".to_owned()),
            _ => return self.plain(token),
        };
        Ok(self.path(base, spelling, start))
    }

    fn parenthesised(&mut self, scope: &Scope, open: usize) -> Result<Expr, Fault> {
        if matches!(self.peek(), Some(Token { kind: TokenKind::Close, .. })) {
            return Err(Fault::at(self.at(), SyntaxProblem::MissingValue { place: "in parentheses" }));
        }
        let value = self.pipeline(scope)?;
        match self.take() {
            Some(Token { kind: TokenKind::Close, .. }) => Ok(value),
            Some(token) => Err(unexpected(token, "in parentheses")),
            None => {
                let found = "unclosed `(`".to_owned();
                Err(Fault::at(open, SyntaxProblem::Unexpected { found, place: "in a pipeline" }))
            }
        }
    }

    /// Takes a value that no path can follow.
    fn plain(&mut self, token: &Token) -> Result<Expr, Fault> {
        let value = match &token.kind {
            TokenKind::Dot => Expr::Dot,
            TokenKind::Literal(value) => Expr::Literal(value.clone()),
            TokenKind::Name(name) => match name.as_str() {
                "true" => Expr::Literal(true.into()),
                "false" => Expr::Literal(false.into()),
                "nil" => Expr::Literal(Json::Null),
                _ => return Err(unknown_name(name, token)),
            },
            _ => return Err(unexpected(token, "in a pipeline")),
        };
        match self.peek() {
            Some(next) if starts_operand(&next.kind) && !next.spaced => {
                Err(unexpected(next, "after a value"))
            }
            _ => Ok(value),
        }
    }

    fn path(&mut self, base: Expr, mut spelling: String, start: usize) -> Expr {
        let mut names = Vec::new();
        while let Some(Token { kind: TokenKind::Field(name), spaced, offset }) = self.peek() {
            if *spaced && *offset != start {
                break;
            }
            self.next += 1;
            spelling.push('.');
            spelling.push_str(name);
            names.push(name.clone());
        }
        if names.is_empty() {
            return base;
        }
        Expr::Path { base: Box::new(base), names, spelling, at: start }
    }
}

/// Checks how many arguments a call has.
fn check_arity(function: &Builtin, found: usize, at: usize) -> Result<(), Fault> {
    let (least, most) = function.arity;
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let expected = match (least, most) {
        (1, 1) => "1 argument".to_owned(),
        _ if least == most => format!("{least} arguments"),
        (_, TemplateLimits::ARGUMENTS) if found < least => format!("at least {least}"),
        _ if least == 0 || found > TemplateLimits::ARGUMENTS => format!("at most {most}"),
        _ => format!("{least} to {most} arguments"),
    };
    let function = function.name;
    Err(Fault::at(at, SyntaxProblem::WrongArgumentCount { function, expected, found }))
}

/// Measures how deep a value nests the values it is made of.
fn height(value: &Expr) -> usize {
    match value {
        Expr::Path { base, .. } => 1 + height(base),
        Expr::Call { function, arguments, .. } => {
            let inner = arguments.iter().map(height).max().unwrap_or(0);
            // `and` and `or` are chains of operators between two values.
            let chain =
                if matches!(function.run, Run::Until(_)) { arguments.len().saturating_sub(1) } else { 1 };
            inner + chain.max(1)
        }
        _ => 1,
    }
}

fn starts_operand(kind: &TokenKind) -> bool {
    !matches!(
        kind,
        TokenKind::Pipe | TokenKind::Close | TokenKind::Comma | TokenKind::Declare | TokenKind::Assign
    )
}

pub(crate) fn unexpected(token: &Token, place: &'static str) -> Fault {
    let found = token.kind.describe();
    Fault::at(token.offset, SyntaxProblem::Unexpected { found, place })
}

fn unknown_name(name: &str, token: &Token) -> Fault {
    if crate::parse::is_keyword(name) {
        return unexpected(token, "in a pipeline");
    }
    let problem =
        SyntaxProblem::UnknownFunction { name: name.to_owned(), nearest: nearest(name, Builtin::names()) };
    Fault::at(token.offset, problem)
}
