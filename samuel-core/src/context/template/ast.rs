//! The tree of a parsed template.
//!
//! Variables are already resolved to slots, pipelines are already nested
//! calls, and every place that can fail keeps its byte offset.

use super::builtins::Builtin;

/// A template or one of its named parts.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) body: Vec<Node>,
}

/// A statement.
#[derive(Debug)]
pub(super) enum Node {
    Text(String),
    Print { value: Expr, at: usize },
    Let { slot: Slot, value: Expr, at: usize },
    Choose { arms: Vec<Arm>, otherwise: Vec<Node> },
    Range(Range),
    Call { part: PartName, argument: Expr, at: usize },
    Break { at: usize },
    Continue { at: usize },
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
    pub(super) at: usize,
}

/// A name in `{{ template }}`, with its place.
#[derive(Debug)]
pub(super) struct PartName {
    pub(super) name: String,
    pub(super) at: usize,
}

/// A variable, numbered by declaration, so that shadowing needs no names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(pub(super) usize);

/// A value.
#[derive(Debug)]
pub(super) enum Expr {
    Dot,
    Root,
    Variable(Slot),
    Nil,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Path { base: Box<Expr>, names: Vec<String>, spelling: String, at: usize },
    Call { function: Builtin, arguments: Vec<Expr>, at: usize },
}
