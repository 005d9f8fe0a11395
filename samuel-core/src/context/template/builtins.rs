//! The functions of the template language: [`Builtin`].
//!
//! The list, with names and arities, is what parser and runtime agree on. The
//! functions for values and comparison are here; text is
//! [`format`](super::format)'s and [`printf`](super::printf)'s, and Samuel's
//! own functions are [`helpers`](super::helpers).

use std::cmp::Ordering;

use minijinja::value::{Value, ValueKind};

use super::{
    format::{describe, print, println},
    helpers, printf,
    problem::EvaluationProblem,
    runtime::{Failure, Meter},
};

/// A function a template can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    And,
    Or,
    Not,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Index,
    Len,
    Slice,
    Print,
    Printf,
    Println,
    Join,
    Indent,
    Relpath,
    HasPlugin,
    CommitConvention,
    FocusDescription,
}

impl Builtin {
    /// Every function.
    pub(super) const ALL: [Builtin; 21] = [
        Builtin::And,
        Builtin::Or,
        Builtin::Not,
        Builtin::Eq,
        Builtin::Ne,
        Builtin::Lt,
        Builtin::Le,
        Builtin::Gt,
        Builtin::Ge,
        Builtin::Index,
        Builtin::Len,
        Builtin::Slice,
        Builtin::Print,
        Builtin::Printf,
        Builtin::Println,
        Builtin::Join,
        Builtin::Indent,
        Builtin::Relpath,
        Builtin::HasPlugin,
        Builtin::CommitConvention,
        Builtin::FocusDescription,
    ];

    pub(super) fn named(name: &str) -> Option<Builtin> {
        Builtin::ALL.into_iter().find(|builtin| builtin.name() == name)
    }

    /// The name as templates write it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Builtin::And => "and",
            Builtin::Or => "or",
            Builtin::Not => "not",
            Builtin::Eq => "eq",
            Builtin::Ne => "ne",
            Builtin::Lt => "lt",
            Builtin::Le => "le",
            Builtin::Gt => "gt",
            Builtin::Ge => "ge",
            Builtin::Index => "index",
            Builtin::Len => "len",
            Builtin::Slice => "slice",
            Builtin::Print => "print",
            Builtin::Printf => "printf",
            Builtin::Println => "println",
            Builtin::Join => "join",
            Builtin::Indent => "indent",
            Builtin::Relpath => "relpath",
            Builtin::HasPlugin => "hasPlugin",
            Builtin::CommitConvention => "commitConvention",
            Builtin::FocusDescription => "focusDescription",
        }
    }

    /// Whether minijinja has it as an operator between two values.
    pub(super) fn is_operator(self) -> bool {
        matches!(self, Builtin::And | Builtin::Or)
    }

    /// The least and the most arguments; `None` for as many as a call can have.
    pub(super) fn arity(self) -> (usize, Option<usize>) {
        match self {
            Builtin::And | Builtin::Or | Builtin::Index | Builtin::Printf => (1, None),
            Builtin::Not | Builtin::Len | Builtin::Relpath | Builtin::HasPlugin => (1, Some(1)),
            Builtin::Eq => (2, None),
            Builtin::Ne | Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge => (2, Some(2)),
            Builtin::Join | Builtin::Indent => (2, Some(2)),
            Builtin::Slice => (1, Some(4)),
            Builtin::Print | Builtin::Println => (0, None),
            Builtin::CommitConvention | Builtin::FocusDescription => (0, Some(1)),
        }
    }

    /// Runs the function; `and`, `or` and `not` never come here, since minijinja has them.
    pub(super) fn run(self, arguments: &[Value], meter: &Meter<'_>) -> Result<Value, Failure> {
        let name = self.name();
        let nothing = Value::UNDEFINED;
        let first = arguments.first().unwrap_or(&nothing);
        let second = arguments.get(1).unwrap_or(&nothing);
        Ok(match self {
            Builtin::And | Builtin::Or | Builtin::Not => Value::UNDEFINED,
            Builtin::Eq => Value::from(equals_any(name, arguments, meter)?),
            Builtin::Ne => Value::from(!equal(name, first, second, meter)?),
            Builtin::Lt => Value::from(orders(name, first, second, meter, Ordering::is_lt)?),
            Builtin::Le => Value::from(orders(name, first, second, meter, Ordering::is_le)?),
            Builtin::Gt => Value::from(orders(name, first, second, meter, Ordering::is_gt)?),
            Builtin::Ge => Value::from(orders(name, first, second, meter, Ordering::is_ge)?),
            Builtin::Index => index(arguments)?,
            Builtin::Len => Value::from(length(name, first)?),
            Builtin::Slice => slice(arguments, meter)?,
            Builtin::Print => print(arguments, meter)?,
            Builtin::Println => println(arguments, meter)?,
            Builtin::Printf => printf::printf(arguments, meter)?,
            Builtin::Join => helpers::join(first, second, meter)?,
            Builtin::Indent => helpers::indent(first, second, meter)?,
            Builtin::Relpath => helpers::relpath(first, meter)?,
            Builtin::HasPlugin => helpers::has_plugin(first, meter)?,
            Builtin::CommitConvention => helpers::commit_convention(arguments.first(), meter),
            Builtin::FocusDescription => helpers::focus_description(arguments.first(), meter),
        })
    }
}

/// Makes the failure of a function that met a value it does not take.
pub(super) fn wrong_kind(function: &'static str, expected: &'static str, found: &Value) -> Failure {
    let found = describe(found);
    Failure::Problem(EvaluationProblem::WrongKind { function, expected, found })
}

/// Tells whether a value is undefined or nil.
pub(super) fn is_nothing(value: &Value) -> bool {
    value.is_undefined() || value.is_none()
}

fn equals_any(name: &'static str, arguments: &[Value], meter: &Meter<'_>) -> Result<bool, Failure> {
    let Some((first, others)) = arguments.split_first() else {
        return Ok(false);
    };
    for other in others {
        if equal(name, first, other, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal(name: &'static str, left: &Value, right: &Value, meter: &Meter<'_>) -> Result<bool, Failure> {
    if is_nothing(left) || is_nothing(right) {
        return Ok(is_nothing(left) && is_nothing(right));
    }
    Ok(compare(name, left, right, meter)?.is_eq())
}

/// Compares in an order; nothing is neither less nor greater than anything.
fn orders(
    name: &'static str,
    left: &Value,
    right: &Value,
    meter: &Meter<'_>,
    test: fn(Ordering) -> bool,
) -> Result<bool, Failure> {
    if is_nothing(left) || is_nothing(right) {
        return Ok(false);
    }
    if left.kind() == ValueKind::Bool {
        return Err(incomparable(name, left, right));
    }
    compare(name, left, right, meter).map(test)
}

fn compare(name: &'static str, left: &Value, right: &Value, meter: &Meter<'_>) -> Result<Ordering, Failure> {
    let basic = matches!(left.kind(), ValueKind::Bool | ValueKind::Number | ValueKind::String);
    if !basic || left.kind() != right.kind() {
        return Err(incomparable(name, left, right));
    }
    meter.charge(left.as_str().map_or(1, str::len))?;
    Ok(left.cmp(right))
}

fn incomparable(function: &'static str, left: &Value, right: &Value) -> Failure {
    let (left, right) = (describe(left), describe(right));
    Failure::Problem(EvaluationProblem::Incomparable { function, left, right })
}

/// Follows keys and positions; one that leads nowhere gives nothing, like a path.
fn index(arguments: &[Value]) -> Result<Value, Failure> {
    let Some((first, keys)) = arguments.split_first() else {
        return Ok(Value::UNDEFINED);
    };
    let mut value = first.clone();
    for key in keys {
        value = match value.kind() {
            ValueKind::Undefined | ValueKind::None => return Ok(Value::UNDEFINED),
            ValueKind::Map => value.get_item(key).unwrap_or(Value::UNDEFINED),
            ValueKind::Seq => match position(key)? {
                Some(at) => value.get_item_by_index(at).unwrap_or(Value::UNDEFINED),
                None => Value::UNDEFINED,
            },
            ValueKind::String => {
                let bytes = value.as_str().unwrap_or("").as_bytes();
                let byte = position(key)?.and_then(|at| bytes.get(at));
                byte.map_or(Value::UNDEFINED, |&byte| Value::from(byte))
            }
            _ => return Err(wrong_kind("index", "a list, a map or a string", &value)),
        };
    }
    Ok(value)
}

fn position(key: &Value) -> Result<Option<usize>, Failure> {
    let position = integer("index", "an integer as position", key)?;
    Ok(usize::try_from(position).ok())
}

fn integer(function: &'static str, expected: &'static str, value: &Value) -> Result<i64, Failure> {
    let number = value.is_integer().then(|| value.as_i64()).flatten();
    number.ok_or_else(|| wrong_kind(function, expected, value))
}

/// Counts bytes of strings, as Go does, and elements of lists and maps.
fn length(name: &'static str, value: &Value) -> Result<usize, Failure> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(0),
        ValueKind::String => Ok(value.as_str().unwrap_or("").len()),
        ValueKind::Seq | ValueKind::Map => Ok(value.len().unwrap_or(0)),
        _ => Err(wrong_kind(name, "a string, a list or a map", value)),
    }
}

fn slice(arguments: &[Value], meter: &Meter<'_>) -> Result<Value, Failure> {
    let Some((value, bounds)) = arguments.split_first() else {
        return Ok(Value::UNDEFINED);
    };
    if is_nothing(value) {
        return Ok(Value::UNDEFINED);
    }
    let kind = value.kind();
    if !matches!(kind, ValueKind::String | ValueKind::Seq) || (kind == ValueKind::String && bounds.len() > 2)
    {
        return Err(wrong_kind("slice", "a list, or a string with two bounds", value));
    }
    let length = length("slice", value)?;
    let mut limits = [0, length, length];
    let mut least = 0;
    for (limit, bound) in limits.iter_mut().zip(bounds) {
        let bound = integer("slice", "integers as bounds", bound)?;
        let inside = usize::try_from(bound).ok().filter(|at| (least..=length).contains(at));
        *limit = inside.ok_or_else(|| out_of_range(bound, length))?;
        least = *limit;
    }
    let [start, end, _] = limits;
    match value.as_str() {
        Some(text) => {
            let part = text.get(start..end).ok_or_else(|| inside_character(text, start, end))?;
            meter.charge(part.len())?;
            Ok(Value::from(part))
        }
        None => {
            meter.charge((end - start).saturating_mul(size_of::<Value>()))?;
            let items = (start..end).filter_map(|at| value.get_item_by_index(at).ok());
            Ok(Value::from(items.collect::<Vec<Value>>()))
        }
    }
}

fn out_of_range(bound: i64, length: usize) -> Failure {
    Failure::Problem(EvaluationProblem::OutOfRange { function: "slice", bound, length })
}

fn inside_character(text: &str, start: usize, end: usize) -> Failure {
    let at = if text.is_char_boundary(start) { end } else { start };
    let bound = i64::try_from(at).unwrap_or(i64::MAX);
    Failure::Problem(EvaluationProblem::InsideCharacter { bound })
}
