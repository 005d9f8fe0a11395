//! The functions of the template language: [`Builtin`].
//!
//! One table says each function's name, how many arguments it takes and what
//! runs it. The functions for values and comparison are here; text is
//! [`text`](crate::text)'s and [`printf`](crate::printf)'s, and Samuel's own
//! functions are [`helpers`](crate::helpers).

use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::{
    TemplateLimits, helpers,
    limits::Budget,
    printf::printf,
    problem::{EvaluationProblem, Failure},
    text::{Text, print, println},
    value::Value,
};

/// A function a template can call.
#[derive(Debug)]
pub(crate) struct Builtin {
    /// The name as templates write it.
    pub(crate) name: &'static str,
    /// The least and the most arguments.
    pub(crate) arity: (usize, usize),
    pub(crate) run: Run,
}

/// How a call gets its value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Run {
    /// From the first argument that is as true as this, else from the last;
    /// those after it are not evaluated.
    Until(bool),
    /// From all its arguments.
    Eager(for<'v> fn(&Call<'_, 'v>) -> Result<Value<'v>, Failure>),
}

const ANY: usize = TemplateLimits::ARGUMENTS;

static ALL: [Builtin; 21] = [
    Builtin { name: "and", arity: (1, ANY), run: Run::Until(false) },
    Builtin { name: "or", arity: (1, ANY), run: Run::Until(true) },
    Builtin {
        name: "not",
        arity: (1, 1),
        run: Run::Eager(|call| Ok(Value::Bool(!call.argument(0).is_true()))),
    },
    Builtin { name: "eq", arity: (2, ANY), run: Run::Eager(equals_any) },
    Builtin { name: "ne", arity: (2, 2), run: Run::Eager(differs) },
    Builtin { name: "lt", arity: (2, 2), run: Run::Eager(|call| ordered(call, Ordering::is_lt)) },
    Builtin { name: "le", arity: (2, 2), run: Run::Eager(|call| ordered(call, Ordering::is_le)) },
    Builtin { name: "gt", arity: (2, 2), run: Run::Eager(|call| ordered(call, Ordering::is_gt)) },
    Builtin { name: "ge", arity: (2, 2), run: Run::Eager(|call| ordered(call, Ordering::is_ge)) },
    Builtin { name: "index", arity: (1, ANY), run: Run::Eager(index) },
    Builtin { name: "len", arity: (1, 1), run: Run::Eager(len) },
    Builtin { name: "slice", arity: (1, 4), run: Run::Eager(slice) },
    Builtin { name: "print", arity: (0, ANY), run: Run::Eager(print) },
    Builtin { name: "printf", arity: (1, ANY), run: Run::Eager(printf) },
    Builtin { name: "println", arity: (0, ANY), run: Run::Eager(println) },
    Builtin { name: "join", arity: (2, 2), run: Run::Eager(helpers::join) },
    Builtin { name: "indent", arity: (2, 2), run: Run::Eager(helpers::indent) },
    Builtin { name: "relpath", arity: (1, 1), run: Run::Eager(helpers::relpath) },
    Builtin { name: "hasPlugin", arity: (1, 1), run: Run::Eager(helpers::has_plugin) },
    Builtin { name: "commitConvention", arity: (0, 1), run: Run::Eager(helpers::commit_convention) },
    Builtin { name: "focusDescription", arity: (0, 1), run: Run::Eager(helpers::focus_description) },
];

impl Builtin {
    pub(crate) fn named(name: &str) -> Option<&'static Builtin> {
        ALL.iter().find(|builtin| builtin.name == name)
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|builtin| builtin.name)
    }
}

/// A call of a function: its arguments, and what it may use of the rendering.
pub(crate) struct Call<'a, 'v> {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'a [Value<'v>],
    /// What the template was rendered with.
    pub(crate) context: &'v Json,
    /// The bytes that functions can still read and build.
    pub(crate) work: &'a Budget,
}

impl<'a, 'v> Call<'a, 'v> {
    /// Returns an argument by its position, from 0.
    pub(crate) fn argument(&self, index: usize) -> &'a Value<'v> {
        self.arguments.get(index).unwrap_or(&Value::Undefined)
    }

    /// Accounts for bytes the function is about to read or build.
    pub(crate) fn charge(&self, bytes: usize) -> Result<(), Failure> {
        self.work.spend(bytes).ok_or(Failure::TooMuchWork)
    }

    /// Starts a text, which is charged for as it grows.
    pub(crate) fn text(&self) -> Text<'a> {
        Text::new(self.work)
    }

    /// Makes the failure of a function that met a value it does not take.
    pub(crate) fn wrong_kind(&self, expected: &'static str, found: &Value<'_>) -> Failure {
        wrong_kind(self.name, expected, found)
    }

    fn integer(&self, expected: &'static str, value: &Value<'_>) -> Result<i64, Failure> {
        let number = value.as_integer().and_then(|number| i64::try_from(number).ok());
        number.ok_or_else(|| self.wrong_kind(expected, value))
    }

    fn equal(&self, left: &Value<'_>, right: &Value<'_>) -> Result<bool, Failure> {
        if left.is_nothing() || right.is_nothing() {
            return Ok(left.is_nothing() && right.is_nothing());
        }
        Ok(self.compare(left, right)?.is_eq())
    }

    fn compare(&self, left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, Failure> {
        self.charge(left.as_str().map_or(1, str::len))?;
        match (left, right) {
            (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
            (Value::Integer(left), Value::Integer(right)) => Ok(left.cmp(right)),
            (Value::Float(left), Value::Float(right)) => Ok(compare_floats(*left, *right)),
            (Value::Float(left), Value::Integer(right)) => Ok(compare_mixed(*left, *right)),
            (Value::Integer(left), Value::Float(right)) => Ok(compare_mixed(*right, *left).reverse()),
            _ => match (left.as_str(), right.as_str()) {
                (Some(left), Some(right)) => Ok(left.cmp(right)),
                _ => Err(self.incomparable(left, right)),
            },
        }
    }

    fn incomparable(&self, left: &Value<'_>, right: &Value<'_>) -> Failure {
        let (function, left, right) = (self.name, left.describe(), right.describe());
        EvaluationProblem::Incomparable { function, left, right }.into()
    }
}

/// Makes the failure of a function or statement that met a value it does not take.
pub(crate) fn wrong_kind(function: &'static str, expected: &'static str, found: &Value<'_>) -> Failure {
    let found = found.describe();
    EvaluationProblem::WrongKind { function, expected, found }.into()
}

/// Compares floats; neither literals nor contexts have one that is no number.
fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Compares a float with an integer without rounding either.
fn compare_mixed(float: f64, integer: i128) -> Ordering {
    let whole = float.trunc();
    // A float past the integers becomes the largest, which no context holds.
    (whole as i128).cmp(&integer).then_with(|| compare_floats(float, whole))
}

fn equals_any<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let first = call.argument(0);
    for other in call.arguments.iter().skip(1) {
        if call.equal(first, other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn differs<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    Ok(Value::Bool(!call.equal(call.argument(0), call.argument(1))?))
}

/// Compares in an order; nothing is neither less nor greater than anything.
fn ordered<'v>(call: &Call<'_, 'v>, test: fn(Ordering) -> bool) -> Result<Value<'v>, Failure> {
    let (left, right) = (call.argument(0), call.argument(1));
    if left.is_nothing() || right.is_nothing() {
        return Ok(Value::Bool(false));
    }
    if matches!(left, Value::Bool(_)) {
        return Err(call.incomparable(left, right));
    }
    call.compare(left, right).map(|order| Value::Bool(test(order)))
}

/// Follows keys and positions; one that leads nowhere gives nothing, like a path.
fn index<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let mut value = call.argument(0).clone();
    let position = |key| call.integer("an integer as position", key).map(|at| usize::try_from(at).ok());
    for key in call.arguments.iter().skip(1) {
        let next = match &value {
            Value::Undefined | Value::Nil => None,
            Value::Map(map) => key.as_str().and_then(|key| map.get(key)).map(Value::from),
            Value::List(items) => position(key)?.and_then(|at| items.get(at)).map(Value::from),
            _ => match value.as_str() {
                Some(text) => {
                    let byte = position(key)?.and_then(|at| text.as_bytes().get(at));
                    byte.map(|&byte| Value::Integer(byte.into()))
                }
                None => return Err(call.wrong_kind("a list, a map or a string", &value)),
            },
        };
        match next {
            Some(next) => value = next,
            None => return Ok(Value::Undefined),
        }
    }
    Ok(value)
}

/// Counts bytes of strings, as Go does, and elements of lists and maps.
fn len<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let value = call.argument(0);
    let length = match value {
        Value::Undefined | Value::Nil => 0,
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        _ => value.as_str().ok_or_else(|| call.wrong_kind("a string, a list or a map", value))?.len(),
    };
    Ok(Value::Integer(length as i128))
}

fn slice<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let value = call.argument(0);
    let bounds = call.arguments.get(1..).unwrap_or_default();
    let length = match (value, value.as_str()) {
        (Value::Undefined | Value::Nil, _) => return Ok(Value::Undefined),
        (Value::List(items), _) => items.len(),
        (_, Some(text)) if bounds.len() <= 2 => text.len(),
        _ => return Err(call.wrong_kind("a list, or a string with two bounds", value)),
    };
    let mut limits = [0, length, length];
    let mut least = 0;
    for (limit, bound) in limits.iter_mut().zip(bounds) {
        let bound = call.integer("integers as bounds", bound)?;
        let inside = usize::try_from(bound).ok().filter(|at| (least..=length).contains(at));
        let outside = EvaluationProblem::OutOfRange { function: "slice", bound, length };
        *limit = inside.ok_or(outside)?;
        least = *limit;
    }
    let [start, end, _] = limits;
    if let Value::List(items) = value {
        return Ok(Value::List(items.get(start..end).unwrap_or_default()));
    }
    let text = value.as_str().unwrap_or("");
    let part = text.get(start..end).ok_or_else(|| inside_character(text, start, end))?;
    call.charge(part.len())?;
    Ok(part.to_owned().into())
}

fn inside_character(text: &str, start: usize, end: usize) -> EvaluationProblem {
    let at = if text.is_char_boundary(start) { end } else { start };
    EvaluationProblem::InsideCharacter { bound: i64::try_from(at).unwrap_or(i64::MAX) }
}
