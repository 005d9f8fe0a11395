//! What a running template reaches as `go`: paths, loops, functions.
//!
//! Main type: [`Runtime`], made for one rendering. It collects warnings, keeps
//! the account of what functions handle, and turns the failures of functions
//! into minijinja errors that carry their place ([`Halt`]).

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use minijinja::{
    Error, ErrorKind, State,
    value::{Object, Value, ValueKind},
};

use super::{
    Limits,
    builtins::{Builtin, is_nothing, wrong_kind},
    emit::Site,
    format::write_value,
    problem::{EvaluationProblem, nearest},
};

/// Why a function stopped.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    Problem(EvaluationProblem),
    TooMuchWork,
    OutputTooLarge,
}

/// A failure with its place, as the source of a minijinja error.
#[derive(Debug)]
pub(super) struct Halt {
    /// Where it happened; `None` for the place that minijinja reports.
    pub(super) offset: Option<usize>,
    pub(super) failure: Failure,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template function failed")
    }
}

impl std::error::Error for Halt {}

impl From<Halt> for Error {
    fn from(halt: Halt) -> Error {
        Error::new(ErrorKind::InvalidOperation, "a template stopped").with_source(halt)
    }
}

/// A variable that was not there.
#[derive(Debug, Clone)]
pub(super) struct Missing {
    pub(super) offset: usize,
    pub(super) variable: String,
    pub(super) nearest: Option<String>,
}

/// The state of one rendering.
#[derive(Debug)]
pub(super) struct Runtime {
    sites: Arc<[Site]>,
    root: Value,
    /// By site, so that a loop warns once.
    missing: Mutex<BTreeMap<usize, Missing>>,
    work_left: AtomicUsize,
    output_left: AtomicUsize,
}

/// What a function may use of the rendering: its context and its budget.
pub(super) struct Meter<'a> {
    runtime: &'a Runtime,
}

impl Meter<'_> {
    /// The value the template was rendered with.
    pub(super) fn root(&self) -> &Value {
        &self.runtime.root
    }

    /// Accounts for bytes a function is about to read or build.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), Failure> {
        let left = &self.runtime.work_left;
        let rest = left.load(Ordering::Relaxed).checked_sub(bytes).ok_or(Failure::TooMuchWork)?;
        left.store(rest, Ordering::Relaxed);
        Ok(())
    }

    /// Returns how many bytes can still be charged.
    pub(super) fn left(&self) -> usize {
        self.runtime.work_left.load(Ordering::Relaxed)
    }
}

impl Runtime {
    pub(super) fn new(sites: Arc<[Site]>, root: Value, limits: Limits) -> Runtime {
        Runtime {
            sites,
            root,
            missing: Mutex::default(),
            work_left: AtomicUsize::new(limits.work_bytes),
            output_left: AtomicUsize::new(limits.output_bytes),
        }
    }

    /// Writes a value to the text being rendered, as far as it may grow.
    pub(super) fn write(&self, out: &mut dyn fmt::Write, value: &Value) -> Result<(), Halt> {
        let left = self.output_left.load(Ordering::Relaxed);
        let mut bounded = Bounded { out, left };
        let written = write_value(&mut bounded, value);
        self.output_left.store(bounded.left, Ordering::Relaxed);
        written.map_err(|fmt::Error| Halt { offset: None, failure: Failure::OutputTooLarge })
    }

    /// Returns the variables that were not there, in the order of the source.
    pub(super) fn missing(&self) -> Vec<Missing> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<Missing> = missing.values().cloned().collect();
        list.sort_by_key(|missing| missing.offset);
        list
    }

    /// Follows a path; the first name that is not there ends it with a warning.
    fn path(&self, site: usize, base: &Value, names: &Value) -> Result<Value, Failure> {
        let mut value = base.clone();
        for index in 0..names.len().unwrap_or(0) {
            let name = names.get_item_by_index(index).unwrap_or(Value::UNDEFINED);
            let next = match value.kind() {
                ValueKind::Map => value.get_item(&name).unwrap_or(Value::UNDEFINED),
                _ => Value::UNDEFINED,
            };
            if next.is_undefined() {
                self.warn(site, &value, &name);
                return Ok(Value::UNDEFINED);
            }
            value = next;
        }
        Ok(value)
    }

    fn warn(&self, site: usize, parent: &Value, name: &Value) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(place), false) = (self.sites.get(site), missing.contains_key(&site)) else {
            return;
        };
        let keys: Vec<Value> = match parent.kind() {
            ValueKind::Map => parent.try_iter().map(Iterator::collect).unwrap_or_default(),
            _ => Vec::new(),
        };
        let name = name.to_string();
        let variable =
            if place.spelling.is_empty() { format!("index … \"{name}\"") } else { place.spelling.clone() };
        let nearest = nearest(&name, keys.iter().filter_map(Value::as_str));
        missing.insert(site, Missing { offset: place.offset, variable, nearest });
    }

    /// Makes the pairs a `for` goes through: position or key, and element.
    fn range(&self, value: &Value) -> Result<Value, Failure> {
        let value = value.clone();
        let pair = |key: Value, element: Value| Value::from(vec![key, element]);
        let length = value.len().unwrap_or(0);
        match value.kind() {
            ValueKind::Undefined | ValueKind::None => Ok(Value::from(Vec::<Value>::new())),
            ValueKind::Seq => Ok(Value::make_iterable(move || {
                let value = value.clone();
                (0..length)
                    .map(move |at| pair(Value::from(at), value.get_item_by_index(at).unwrap_or_default()))
            })),
            ValueKind::Map => {
                Meter { runtime: self }.charge(length.saturating_mul(size_of::<Value>()))?;
                let mut keys: Vec<Value> = value.try_iter().map(Iterator::collect).unwrap_or_default();
                keys.sort();
                Ok(Value::make_iterable(move || {
                    let value = value.clone();
                    keys.clone().into_iter().map(move |key| {
                        let element = value.get_item(&key).unwrap_or_default();
                        pair(key, element)
                    })
                }))
            }
            ValueKind::Number if value.is_integer() => {
                let count = value.as_i64().unwrap_or(0).max(0);
                Ok(Value::make_iterable(move || {
                    (0..count).map(move |at| pair(Value::from(at), Value::from(at)))
                }))
            }
            _ => Err(wrong_kind("range", "a list, a map or an integer", &value)),
        }
    }

    fn deeper(&self, depth: &Value) -> Result<Value, Failure> {
        let depth = depth.as_usize().unwrap_or(0) + 1;
        if depth > Limits::TEMPLATE_CALLS {
            let limit = Limits::TEMPLATE_CALLS;
            return Err(Failure::Problem(EvaluationProblem::TooManyCalls { limit }));
        }
        Ok(Value::from(depth))
    }

    fn dispatch(&self, site: usize, method: &str, arguments: &[Value]) -> Result<Value, Failure> {
        match (method, arguments) {
            ("path", [base, names]) => self.path(site, base, names),
            ("range", [value]) => self.range(value),
            ("deeper", [depth]) => self.deeper(depth),
            _ => match Builtin::named(method) {
                Some(function) => {
                    let value = function.run(arguments, &Meter { runtime: self })?;
                    if function == Builtin::Index && value.is_undefined() {
                        self.warn_index(site, arguments);
                    }
                    Ok(value)
                }
                None => Ok(Value::UNDEFINED),
            },
        }
    }

    fn warn_index(&self, site: usize, arguments: &[Value]) {
        let (Some(value), Some(key)) = (arguments.first(), arguments.last()) else {
            return;
        };
        // A value that is not there at all has had its own warning.
        if !is_nothing(value) {
            self.warn(site, value, key);
        }
    }
}

impl Object for Runtime {
    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        let Some((site, arguments)) = arguments.split_first() else {
            return Err(Error::from(ErrorKind::MissingArgument));
        };
        let site = site.as_usize().unwrap_or(usize::MAX);
        self.dispatch(site, method, arguments).map_err(|failure| {
            let offset = self.sites.get(site).map(|site| site.offset);
            Halt { offset, failure }.into()
        })
    }
}

/// A writer that fails before it writes more than it may.
struct Bounded<'a> {
    out: &'a mut dyn fmt::Write,
    left: usize,
}

impl fmt::Write for Bounded<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.left = self.left.checked_sub(part.len()).ok_or(fmt::Error)?;
        self.out.write_str(part)
    }
}
