//! The tree of a parsed template, which the renderer walks.
//!
//! Variables are already resolved to slots, pipelines are already nested
//! calls, and every place that can fail keeps its byte offset.

use serde_json::Value as Json;

use crate::builtins::Builtin;

/// A template or one of its named parts.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) body: Vec<Node>,
    /// How many variables it declares.
    pub(crate) slots: usize,
}

/// A statement, and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) statement: Statement,
}

/// What a statement does.
#[derive(Debug)]
pub(crate) enum Statement {
    Text(String),
    Print(Expr),
    Let { slot: Slot, value: Expr },
    Choose { arms: Vec<Arm>, otherwise: Vec<Node> },
    Range(Range),
    Call { part: String, argument: Expr },
    Break,
    Continue,
}

/// One `if`, `else if`, `with` or `else with`.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) subject: Expr,
    pub(crate) binding: Option<Slot>,
    /// Whether the body sees the subject as its current value.
    pub(crate) changes_dot: bool,
    pub(crate) body: Vec<Node>,
    pub(crate) at: usize,
}

/// A loop.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) subject: Expr,
    pub(crate) key: Option<Slot>,
    pub(crate) element: Option<Slot>,
    pub(crate) body: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}

/// A variable, numbered by declaration in its part, so that shadowing needs no names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) usize);

/// A value.
#[derive(Debug)]
pub(crate) enum Expr {
    Dot,
    Root,
    Variable(Slot),
    Literal(Json),
    Path { base: Box<Expr>, names: Vec<String>, spelling: String, at: usize },
    Call { function: &'static Builtin, arguments: Vec<Expr>, at: usize },
}
