//! Renders a parsed template by walking its tree.
//!
//! Main type: [`Renderer`], made for one rendering. It counts fuel, work and
//! output, and keeps the variables that were not there. Statements are
//! walked with a stack of [`Frame`]s, so that calls and blocks within each other
//! take no stack of the thread; only the values of one action nest.

use std::{collections::BTreeMap, iter, mem, slice};

use serde_json::Value as Json;

use crate::{
    EvaluationProblem, Rendered, TemplateError, TemplateLimits, UndefinedVariable,
    ast::{Arm, Expr, Node, Part, Range, Slot, Statement},
    builtins::{Builtin, Call, Run, wrong_kind},
    limits::Budgets,
    location::{Places, TemplateLocation},
    problem::{Failure, nearest},
    text::{Text, write_value},
    value::{Value, sorted},
};

/// What is rendered: the parts of a template by name, and how much they may cost.
pub(crate) struct Tree {
    pub(crate) places: Places,
    pub(crate) parts: BTreeMap<String, Part>,
    pub(crate) limits: TemplateLimits,
}

impl Tree {
    /// Renders the part that has the template's own name.
    pub(crate) fn render(&self, context: &Json) -> Result<Rendered, TemplateError> {
        let budgets = Budgets::new(&self.limits);
        let mut renderer = Renderer {
            tree: self,
            context,
            budgets: &budgets,
            out: Text::new(&budgets.output),
            missing: BTreeMap::new(),
            frames: Vec::new(),
            variables: Vec::new(),
            scope: Scope { root: Value::Undefined, base: 0, calls: 0 },
            at: 0,
        };
        renderer.enter(self.places.template(), context.into(), 0)?;
        renderer.run()?;
        let warnings = renderer.missing.into_values().collect();
        Ok(Rendered { text: renderer.out.into_string(), warnings })
    }
}

/// The state of one rendering.
struct Renderer<'v> {
    tree: &'v Tree,
    context: &'v Json,
    budgets: &'v Budgets,
    out: Text<'v>,
    /// By place, so that a loop warns once.
    missing: BTreeMap<usize, UndefinedVariable>,
    frames: Vec<Frame<'v>>,
    /// Those of all parts that are running.
    variables: Vec<Value<'v>>,
    scope: Scope<'v>,
    /// The statement that is running.
    at: usize,
}

/// What belongs to a part that is running.
struct Scope<'v> {
    /// What `$` is.
    root: Value<'v>,
    /// Where its variables start.
    base: usize,
    calls: usize,
}

/// Statements under way, and the current value for them.
struct Frame<'v> {
    nodes: slice::Iter<'v, Node>,
    dot: Value<'v>,
    kind: Kind<'v>,
}

/// What happens at the end of a frame.
enum Kind<'v> {
    Block,
    /// The scope of the caller is there again.
    Part(Scope<'v>),
    Loop(Turns<'v>),
}

/// What is left of a loop.
struct Turns<'v> {
    range: &'v Range,
    items: Items<'v>,
    at: usize,
}

/// Position or key, and element.
type Items<'v> = Box<dyn Iterator<Item = (Value<'v>, Value<'v>)> + 'v>;

impl<'v> Renderer<'v> {
    fn run(&mut self) -> Result<(), TemplateError> {
        while let Some(frame) = self.frames.last_mut() {
            match frame.nodes.next() {
                Some(node) => {
                    self.at = node.at;
                    self.step(1)?;
                    self.execute(&node.statement)?;
                }
                None => self.leave()?,
            }
        }
        Ok(())
    }

    fn execute(&mut self, statement: &'v Statement) -> Result<(), TemplateError> {
        match statement {
            Statement::Text(text) => self.write(&Value::Text(text))?,
            Statement::Print(value) => {
                let value = self.value(value)?;
                self.write(&value)?;
            }
            Statement::Let { slot, value } => {
                let value = self.value(value)?;
                self.assign(*slot, value);
            }
            Statement::Choose { arms, otherwise } => self.choose(arms, otherwise)?,
            Statement::Range(range) => self.range(range)?,
            Statement::Call { part, argument } => {
                let argument = self.value(argument)?;
                self.enter(part, argument, self.scope.calls + 1)?;
            }
            Statement::Break => self.frames.truncate(self.innermost_loop()),
            Statement::Continue => {
                self.frames.truncate(self.innermost_loop() + 1);
                if let Some(frame) = self.frames.last_mut() {
                    frame.nodes = [].iter();
                }
            }
        }
        Ok(())
    }

    /// Ends the innermost frame, or starts the next turn of its loop.
    fn leave(&mut self) -> Result<(), TemplateError> {
        match self.frames.pop().map(|frame| frame.kind) {
            Some(Kind::Loop(turns)) => self.turn(turns).map(|_| ()),
            Some(Kind::Part(caller)) => {
                self.variables.truncate(self.scope.base);
                self.scope = caller;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, nodes: &'v [Node], dot: Value<'v>, kind: Kind<'v>) {
        self.frames.push(Frame { nodes: nodes.iter(), dot, kind });
    }

    fn innermost_loop(&self) -> usize {
        self.frames.iter().rposition(|frame| matches!(frame.kind, Kind::Loop(_))).unwrap_or(0)
    }

    fn choose(&mut self, arms: &'v [Arm], otherwise: &'v [Node]) -> Result<(), TemplateError> {
        for arm in arms {
            self.at = arm.at;
            let value = self.value(&arm.subject)?;
            if let Some(slot) = arm.binding {
                self.assign(slot, value.clone());
            }
            if value.is_true() {
                let dot = if arm.changes_dot { value } else { self.dot() };
                self.push(&arm.body, dot, Kind::Block);
                return Ok(());
            }
        }
        self.push(otherwise, self.dot(), Kind::Block);
        Ok(())
    }

    fn range(&mut self, range: &'v Range) -> Result<(), TemplateError> {
        let items: Items<'v> = match self.value(&range.subject)? {
            Value::Undefined | Value::Nil => Box::new(iter::empty()),
            Value::List(items) => {
                Box::new(items.iter().enumerate().map(|(at, item)| (Value::Integer(at as i128), item.into())))
            }
            Value::Map(map) => {
                let bytes = map.len().saturating_mul(size_of::<Value<'_>>());
                self.budgets.work.spend(bytes).ok_or_else(|| self.failed(self.at, Failure::TooMuchWork))?;
                Box::new(sorted(map).into_iter().map(|(key, value)| (Value::Text(key), value.into())))
            }
            Value::Integer(count) => Box::new((0..count).map(|at| (Value::Integer(at), Value::Integer(at)))),
            other => {
                return Err(self.failed(self.at, wrong_kind("range", "a list, a map or an integer", &other)));
            }
        };
        if !self.turn(Turns { range, items, at: self.at })? {
            self.push(&range.otherwise, self.dot(), Kind::Block);
        }
        Ok(())
    }

    /// Starts the next turn of a loop; returns whether there is one.
    fn turn(&mut self, mut turns: Turns<'v>) -> Result<bool, TemplateError> {
        let Some((key, element)) = turns.items.next() else {
            return Ok(false);
        };
        self.at = turns.at;
        self.step(1)?;
        let range = turns.range;
        for (slot, value) in [(range.key, key), (range.element, element.clone())] {
            if let Some(slot) = slot {
                self.assign(slot, value);
            }
        }
        self.push(&range.body, element, Kind::Loop(turns));
        Ok(true)
    }

    /// Starts a part, which has variables of its own.
    fn enter(&mut self, name: &str, root: Value<'v>, calls: usize) -> Result<(), TemplateError> {
        let limit = TemplateLimits::TEMPLATE_CALLS;
        if calls > limit {
            return Err(self.failed(self.at, EvaluationProblem::TooManyCalls { limit }.into()));
        }
        let Some(part) = self.tree.parts.get(name) else {
            return Ok(());
        };
        self.step(part.slots)?;
        let base = self.variables.len();
        self.variables.resize(base + part.slots, Value::Undefined);
        let scope = Scope { root: root.clone(), base, calls };
        let caller = mem::replace(&mut self.scope, scope);
        self.push(&part.body, root, Kind::Part(caller));
        Ok(())
    }

    fn assign(&mut self, slot: Slot, value: Value<'v>) {
        if let Some(variable) = self.variables.get_mut(self.scope.base + slot.0) {
            *variable = value;
        }
    }

    fn dot(&self) -> Value<'v> {
        self.frames.last().map(|frame| frame.dot.clone()).unwrap_or_default()
    }

    fn value(&mut self, expr: &'v Expr) -> Result<Value<'v>, TemplateError> {
        self.step(1)?;
        Ok(match expr {
            Expr::Dot => self.dot(),
            Expr::Root => self.scope.root.clone(),
            Expr::Variable(slot) => self.variables.get(self.scope.base + slot.0).cloned().unwrap_or_default(),
            Expr::Literal(value) => value.into(),
            Expr::Path { base, names, spelling, at } => {
                let base = self.value(base)?;
                self.path(base, names, spelling, *at)
            }
            Expr::Call { function, arguments, at } => self.call(function, arguments, *at)?,
        })
    }

    /// Follows a path; the first name that is not there ends it with a warning.
    fn path(&mut self, base: Value<'v>, names: &[String], spelling: &str, at: usize) -> Value<'v> {
        let mut value = base;
        for name in names {
            let next = match &value {
                Value::Map(map) => map.get(name),
                _ => None,
            };
            match next {
                Some(next) => value = next.into(),
                None => {
                    self.warn(at, &value, name, |_| spelling.to_owned());
                    return Value::Undefined;
                }
            }
        }
        value
    }

    fn call(
        &mut self,
        function: &'static Builtin,
        arguments: &'v [Expr],
        at: usize,
    ) -> Result<Value<'v>, TemplateError> {
        let run = match function.run {
            Run::Eager(run) => run,
            Run::Until(truth) => {
                let mut value = Value::Undefined;
                for argument in arguments {
                    value = self.value(argument)?;
                    if value.is_true() == truth {
                        break;
                    }
                }
                return Ok(value);
            }
        };
        let values: Vec<_> =
            arguments.iter().map(|argument| self.value(argument)).collect::<Result<_, _>>()?;
        let (context, work) = (self.context, &self.budgets.work);
        let call = Call { name: function.name, arguments: &values, context, work };
        let value = run(&call).map_err(|failure| self.failed(at, failure))?;
        // A value that is not there at all has had its own warning.
        if let (Value::Undefined, [first, .., key]) = (&value, &*values)
            && !first.is_nothing()
        {
            let mut name = String::new();
            // Nothing bounds a string that is written to.
            let _ = write_value(&mut name, key);
            self.warn(at, first, &name, |name| format!("{} … \"{name}\"", function.name));
        }
        Ok(value)
    }

    fn warn(&mut self, at: usize, parent: &Value<'v>, name: &str, variable: impl FnOnce(&str) -> String) {
        let places = &self.tree.places;
        self.missing.entry(at).or_insert_with(|| {
            let keys = match parent {
                Value::Map(map) => Some(map.keys().map(String::as_str)),
                _ => None,
            };
            let TemplateLocation { template, line, column } = places.locate(at);
            let nearest = nearest(name, keys.into_iter().flatten());
            UndefinedVariable { template, line, column, variable: variable(name), nearest }
        });
    }

    fn write(&mut self, value: &Value<'v>) -> Result<(), TemplateError> {
        write_value(&mut self.out, value).map_err(|_| self.failed(self.at, Failure::OutputTooLarge))
    }

    fn step(&self, count: usize) -> Result<(), TemplateError> {
        self.budgets.fuel.spend(count).ok_or_else(|| self.failed(self.at, Failure::OutOfFuel))
    }

    fn failed(&self, at: usize, failure: Failure) -> TemplateError {
        let location = self.tree.places.locate(at);
        let TemplateLimits { fuel, work_bytes, output_bytes, .. } = self.tree.limits;
        match failure {
            Failure::Problem(problem) => TemplateError::Evaluation { location, problem },
            Failure::OutOfFuel => TemplateError::OutOfFuel { location, limit: fuel },
            Failure::TooMuchWork => TemplateError::TooMuchWork { location, limit: work_bytes },
            Failure::OutputTooLarge => TemplateError::OutputTooLarge { location, limit: output_bytes },
        }
    }
}
