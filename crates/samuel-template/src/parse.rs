//! Parses a scanned template into its parts.
//!
//! Main entry: [`parse`]. Statements and blocks are here; the inside of an
//! action is [`pipeline`](crate::pipeline)'s.

use std::{collections::BTreeMap, mem};

use serde_json::Value as Json;

use crate::{
    SyntaxProblem,
    ast::{Arm, Expr, Node, Part, Range, Slot, Statement},
    pipeline::{Bind, Binding, Cursor, Scope, unexpected},
    problem::{Fault, nearest},
    scan::{Action, Piece, Token, TokenKind, scan},
};

/// Words that open, split or end statements.
const KEYWORDS: [&str; 10] =
    ["if", "else", "end", "range", "with", "break", "continue", "define", "template", "block"];

pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Parses a template into its parts by name; the one under `name` is the template itself.
pub(crate) fn parse(name: &str, source: &str, nesting: usize) -> Result<BTreeMap<String, Part>, Fault> {
    let mut parser = Parser {
        pieces: scan(source)?.into_iter(),
        scope: Scope::default(),
        slots: 0,
        depth: 0,
        loops: 0,
        nesting,
        parts: BTreeMap::from([(name.to_owned(), Part::default())]),
        calls: Vec::new(),
    };
    let body = match parser.body()? {
        (body, Stop::Source) => body,
        (_, Stop::End(action) | Stop::Else(action)) => {
            let found = action.tokens.first().map_or_else(String::new, |token| token.kind.describe());
            let problem = SyntaxProblem::Unexpected { found, place: "without an open block" };
            return Err(Fault::at(action.offset, problem));
        }
    };
    parser.parts.insert(name.to_owned(), Part { body, slots: parser.slots });
    parser.check_calls()?;
    Ok(parser.parts)
}

struct Parser<'s> {
    pieces: std::vec::IntoIter<Piece<'s>>,
    scope: Scope,
    slots: usize,
    depth: usize,
    loops: usize,
    nesting: usize,
    /// All parts; one that is not yet complete is empty.
    parts: BTreeMap<String, Part>,
    /// Every name that `template` asked for, with its place.
    calls: Vec<(String, usize)>,
}

/// What a body ended with.
enum Stop {
    Source,
    End(Action),
    Else(Action),
}

/// A block's opening word and place, for the error when it is never closed.
#[derive(Clone, Copy)]
struct Opener {
    keyword: &'static str,
    at: usize,
}

impl Opener {
    fn unclosed(self) -> Fault {
        Fault::at(self.at, SyntaxProblem::UnclosedBlock { keyword: self.keyword })
    }
}

impl Parser<'_> {
    /// Parses statements up to an `end`, an `else` or the end of the source.
    fn body(&mut self) -> Result<(Vec<Node>, Stop), Fault> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let action = match piece {
                Piece::Text { text, offset } => {
                    nodes.push(Node { at: offset, statement: Statement::Text(text.to_owned()) });
                    continue;
                }
                Piece::Action(action) => action,
            };
            let mut cursor = self.cursor(&action);
            if cursor.take_word("end") {
                cursor.finish("after `end`")?;
                return Ok((nodes, Stop::End(action)));
            }
            if cursor.take_word("else") {
                return Ok((nodes, Stop::Else(action)));
            }
            nodes.extend(self.statement(&action)?);
        }
        Ok((nodes, Stop::Source))
    }

    fn cursor<'a>(&self, action: &'a Action) -> Cursor<'a> {
        Cursor::new(action, self.depth, self.nesting)
    }

    fn statement(&mut self, action: &Action) -> Result<Option<Node>, Fault> {
        let at = action.offset;
        let mut cursor = self.cursor(action);
        let keyword = KEYWORDS.into_iter().find(|keyword| cursor.take_word(keyword));
        let opener = |keyword| Opener { keyword, at };
        let statement = match keyword {
            Some(keyword @ ("if" | "with")) => self.choose(cursor, opener(keyword))?,
            Some(keyword @ "range") => self.range(cursor, opener(keyword))?,
            Some(keyword @ ("break" | "continue")) => {
                cursor.finish("after this word")?;
                self.jump(keyword, at)?
            }
            Some(keyword @ "define") => {
                self.define(cursor, opener(keyword))?;
                return Ok(None);
            }
            Some("template") => self.call(cursor)?,
            Some(keyword @ "block") => self.block(cursor, opener(keyword))?,
            _ => self.print_or_let(cursor)?,
        };
        Ok(Some(Node { at, statement }))
    }

    fn print_or_let(&mut self, mut cursor: Cursor<'_>) -> Result<Statement, Fault> {
        let binding = cursor.binding()?;
        let value_at = cursor.at();
        let value = cursor.pipeline(&self.scope)?;
        cursor.finish("in an action")?;
        match binding {
            Some(binding) => {
                let slot = self.single(binding)?;
                Ok(Statement::Let { slot, value })
            }
            None if matches!(value, Expr::Literal(Json::Null)) => {
                let found = "`nil`".to_owned();
                Err(Fault::at(value_at, SyntaxProblem::Unexpected { found, place: "as an action" }))
            }
            None => Ok(Statement::Print(value)),
        }
    }

    /// Resolves the one variable that a binding outside `range` can have.
    fn single(&mut self, binding: Binding<'_>) -> Result<Slot, Fault> {
        match binding.second {
            None => self.bind(binding.first, binding.how),
            Some(second) => Err(unexpected(second, "in a binding of one variable")),
        }
    }

    fn bind(&mut self, token: &Token, how: Bind) -> Result<Slot, Fault> {
        let TokenKind::Variable(name) = &token.kind else {
            return Err(unexpected(token, "in a binding"));
        };
        if name.is_empty() {
            return Err(unexpected(token, "in a binding: it cannot be changed"));
        }
        if how == Bind::Assign {
            return self.scope.find(name, token.offset);
        }
        let slot = Slot(self.slots);
        self.slots += 1;
        self.scope.declare(name, slot);
        Ok(slot)
    }

    /// Runs `inner` one level deeper, in a scope of its own.
    fn nested<T>(
        &mut self,
        at: usize,
        inner: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.depth >= self.nesting {
            return Err(Fault::at(at, SyntaxProblem::TooDeep { limit: self.nesting }));
        }
        let scope = self.scope.depth();
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        self.scope.leave(scope);
        result
    }

    fn choose(&mut self, cursor: Cursor<'_>, opener: Opener) -> Result<Statement, Fault> {
        self.nested(opener.at, |parser| {
            let mut arms = vec![parser.arm_head(cursor, opener)?];
            loop {
                let (body, stop) = parser.body()?;
                if let Some(arm) = arms.last_mut() {
                    arm.body = body;
                }
                let action = match stop {
                    Stop::Source => return Err(opener.unclosed()),
                    Stop::End(_) => return Ok(Statement::Choose { arms, otherwise: Vec::new() }),
                    Stop::Else(action) => action,
                };
                let mut cursor = parser.cursor(&action);
                cursor.take_word("else");
                if cursor.take_word(opener.keyword) {
                    let at = action.offset;
                    arms.push(parser.arm_head(cursor, Opener { at, ..opener })?);
                    continue;
                }
                cursor.finish("after `else`")?;
                let otherwise = parser.last_body(opener)?;
                return Ok(Statement::Choose { arms, otherwise });
            }
        })
    }

    /// Parses the condition of an arm; its body follows in the source.
    fn arm_head(&mut self, mut cursor: Cursor<'_>, opener: Opener) -> Result<Arm, Fault> {
        let binding = cursor.binding()?;
        let subject = cursor.pipeline(&self.scope)?;
        cursor.finish("in a condition")?;
        let binding = match binding {
            Some(binding) => Some(self.single(binding)?),
            None => None,
        };
        Ok(Arm { subject, binding, changes_dot: opener.keyword == "with", body: Vec::new(), at: opener.at })
    }

    /// Parses a body that only `end` can close.
    fn last_body(&mut self, opener: Opener) -> Result<Vec<Node>, Fault> {
        match self.body()? {
            (body, Stop::End(_)) => Ok(body),
            (_, Stop::Source) => Err(opener.unclosed()),
            (_, Stop::Else(action)) => {
                let found = "`else`".to_owned();
                let problem = SyntaxProblem::Unexpected { found, place: "here" };
                Err(Fault::at(action.offset, problem))
            }
        }
    }

    fn range(&mut self, mut cursor: Cursor<'_>, opener: Opener) -> Result<Statement, Fault> {
        self.nested(opener.at, |parser| {
            let binding = cursor.binding()?;
            let subject = cursor.pipeline(&parser.scope)?;
            cursor.finish("in a range")?;
            let (key, element) = match binding {
                None => (None, None),
                Some(Binding { first, second: None, how }) => (None, Some(parser.bind(first, how)?)),
                Some(Binding { first, second: Some(second), how }) => {
                    (Some(parser.bind(first, how)?), Some(parser.bind(second, how)?))
                }
            };
            parser.loops += 1;
            let body = parser.body();
            parser.loops -= 1;
            let (body, stop) = body?;
            let otherwise = match stop {
                Stop::Source => return Err(opener.unclosed()),
                Stop::End(_) => Vec::new(),
                Stop::Else(action) => {
                    let mut cursor = parser.cursor(&action);
                    cursor.take_word("else");
                    cursor.finish("after `else`")?;
                    parser.last_body(opener)?
                }
            };
            Ok(Statement::Range(Range { subject, key, element, body, otherwise }))
        })
    }

    fn jump(&mut self, keyword: &'static str, at: usize) -> Result<Statement, Fault> {
        match (self.loops, keyword) {
            (0, _) => Err(Fault::at(at, SyntaxProblem::OutsideRange { keyword })),
            (_, "break") => Ok(Statement::Break),
            _ => Ok(Statement::Continue),
        }
    }

    fn define(&mut self, mut cursor: Cursor<'_>, opener: Opener) -> Result<(), Fault> {
        if self.depth > 0 {
            return Err(Fault::at(opener.at, SyntaxProblem::NestedDefine));
        }
        let (name, at) = part_name(&mut cursor)?;
        cursor.finish("after a template's name")?;
        self.part(name, at, opener)
    }

    fn call(&mut self, mut cursor: Cursor<'_>) -> Result<Statement, Fault> {
        let (part, at) = part_name(&mut cursor)?;
        let argument = self.argument(cursor)?;
        self.calls.push((part.clone(), at));
        Ok(Statement::Call { part, argument })
    }

    fn block(&mut self, mut cursor: Cursor<'_>, opener: Opener) -> Result<Statement, Fault> {
        let (part, at) = part_name(&mut cursor)?;
        if cursor.peek().is_none() {
            let problem = SyntaxProblem::MissingValue { place: "after a block's name" };
            return Err(Fault::at(cursor.at(), problem));
        }
        let argument = self.argument(cursor)?;
        self.part(part.clone(), at, opener)?;
        Ok(Statement::Call { part, argument })
    }

    /// Parses the value handed to a named part; without one it gets nil.
    fn argument(&mut self, mut cursor: Cursor<'_>) -> Result<Expr, Fault> {
        if cursor.peek().is_none() {
            return Ok(Expr::Literal(Json::Null));
        }
        let value = cursor.pipeline(&self.scope)?;
        cursor.finish("after a template's value")?;
        Ok(value)
    }

    /// Parses the body of a named part, which sees no variables and no loops around it.
    fn part(&mut self, name: String, at: usize, opener: Opener) -> Result<(), Fault> {
        if self.parts.contains_key(&name) {
            return Err(Fault::at(at, SyntaxProblem::DuplicateTemplate { name }));
        }
        // The name is taken now, so that a part within this one cannot have it.
        self.parts.insert(name.clone(), Part::default());
        let scope = mem::take(&mut self.scope);
        let loops = mem::take(&mut self.loops);
        let slots = mem::take(&mut self.slots);
        let body = self.nested(opener.at, |parser| parser.last_body(opener));
        self.scope = scope;
        self.loops = loops;
        let slots = mem::replace(&mut self.slots, slots);
        self.parts.insert(name, Part { body: body?, slots });
        Ok(())
    }

    fn check_calls(&self) -> Result<(), Fault> {
        for (name, at) in &self.calls {
            if !self.parts.contains_key(name) {
                let problem = SyntaxProblem::UnknownTemplate {
                    name: name.clone(),
                    nearest: nearest(name, self.parts.keys().map(String::as_str)),
                };
                return Err(Fault::at(*at, problem));
            }
        }
        Ok(())
    }
}

/// Takes a part's name; returns it with its place.
fn part_name(cursor: &mut Cursor<'_>) -> Result<(String, usize), Fault> {
    let at = cursor.at();
    match cursor.take() {
        Some(Token { kind: TokenKind::Literal(Json::String(name)), .. }) => Ok((name.clone(), at)),
        Some(token) => Err(unexpected(token, "where a template's name belongs")),
        None => Err(Fault::at(at, SyntaxProblem::MissingValue { place: "for a template's name" })),
    }
}
