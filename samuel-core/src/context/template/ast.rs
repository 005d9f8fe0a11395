//! The tree of a parsed template, which the renderer walks.
//!
//! Variables are already resolved to slots, pipelines are already nested
//! calls, and every place that can fail keeps its byte offset.

use serde_json::Value as Json;

use super::builtins::Builtin;

/// A template or one of its named parts.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) body: Vec<Node>,
    /// How many variables it declares.
    pub(super) slots: usize,
}

/// A statement, and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) statement: Statement,
}

/// What a statement does.
#[derive(Debug)]
pub(super) enum Statement {
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
pub(super) struct Arm {
    pub(super) subject: Expr,
    pub(super) binding: Option<Slot>,
    /// Whether the body sees the subject as its current value.
    pub(super) changes_dot: bool,
    pub(super) body: Vec<Node>,
    pub(super) at: usize,
}

/// A loop.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) subject: Expr,
    pub(super) key: Option<Slot>,
    pub(super) element: Option<Slot>,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
}

/// A variable, numbered by declaration in its part, so that shadowing needs no names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(pub(super) usize);

/// A value.
#[derive(Debug)]
pub(super) enum Expr {
    Dot,
    Root,
    Variable(Slot),
    Literal(Json),
    Path { base: Box<Expr>, names: Vec<String>, spelling: String, at: usize },
    Call { function: &'static Builtin, arguments: Vec<Expr>, at: usize },
}
