//! A template ready to render: [`Template`].
//!
//! This is where minijinja is set up and where its errors are turned back into
//! places of the template.

use std::{error::Error as StdError, fmt, io, sync::Arc};

use minijinja::{
    Environment, Error, ErrorKind, UndefinedBehavior, context,
    value::{Serde, Value},
};
use serde::Serialize;

use super::{
    Limits, Location, TemplateError,
    emit::{Emitted, Site, emit, unit_name},
    format::write_value,
    location::Places,
    parse::parse,
    runtime::{Failure, Halt, Missing, Runtime},
};

/// A parsed template. Cheap to clone, and free to be rendered from several threads.
#[derive(Clone)]
pub struct Template {
    compiled: Arc<Compiled>,
}

struct Compiled {
    environment: Environment<'static>,
    places: Places,
    sites: Arc<[Site]>,
    /// By part and line of the emitted source, the offset in the template.
    lines: Vec<Vec<usize>>,
    limits: Limits,
}

/// What rendering a template gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Variables that were not there, by place; each place once.
    pub warnings: Vec<Warning>,
}

/// A variable that was not there and rendered empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The name the template was parsed under.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The variable as the template spells it: `.Project.Nmae`.
    pub variable: String,
    /// The nearest name there is, for the part of the path that failed.
    pub nearest: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { template, line, column, variable, nearest } = self;
        write!(f, "{template}:{line}:{column}: `{variable}` is not defined")?;
        match nearest {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Template {
    /// Parses a template with the default [`Limits`]; `name` is what errors and warnings say.
    ///
    /// # Errors
    ///
    /// [`TemplateError::Syntax`] with line, column and help when the source is
    /// not a template, [`TemplateError::SourceTooLarge`] when it is too long.
    pub fn parse(name: &str, source: &str) -> Result<Template, TemplateError> {
        Template::parse_with(name, source, Limits::default())
    }

    /// Parses a template with limits of the caller's.
    ///
    /// # Errors
    ///
    /// Those of [`Template::parse`].
    pub fn parse_with(name: &str, source: &str, limits: Limits) -> Result<Template, TemplateError> {
        if source.len() > limits.source_bytes {
            return Err(TemplateError::SourceTooLarge {
                template: name.to_owned(),
                bytes: source.len(),
                limit: limits.source_bytes,
            });
        }
        let places = Places::new(name, source);
        let parts = parse(name, source, limits.nesting.min(Limits::NESTING)).map_err(|fault| {
            TemplateError::Syntax { location: places.locate(fault.offset), problem: fault.problem }
        })?;
        let Emitted { units, sites } = emit(&parts);
        let mut environment = environment(limits.fuel);
        let mut lines = Vec::with_capacity(units.len());
        for (index, unit) in units.into_iter().enumerate() {
            let added = environment.add_template_owned(unit_name(index), unit.source);
            added.map_err(|source| {
                let template = name.to_owned();
                TemplateError::Engine { template, source }
            })?;
            lines.push(unit.lines);
        }
        let sites = sites.into();
        Ok(Template { compiled: Arc::new(Compiled { environment, places, sites, lines, limits }) })
    }

    /// Returns the name the template was parsed under.
    pub fn name(&self) -> &str {
        self.compiled.places.template()
    }

    /// Renders the template from a context, which it sees as `.` and `$`.
    ///
    /// # Errors
    ///
    /// [`TemplateError::Evaluation`] when a function cannot work on a value,
    /// the variants of passed [`Limits`], and [`TemplateError::Context`] when
    /// the context cannot be serialised.
    pub fn render<S: Serialize>(&self, context: &S) -> Result<Rendered, TemplateError> {
        let compiled = &*self.compiled;
        let limits = compiled.limits;
        let root = Value::from(Serde(context));
        let runtime = Runtime::new(Arc::clone(&compiled.sites), root.clone(), limits.work_bytes);
        let runtime = Arc::new(runtime);
        let go = Value::from_dyn_object(Arc::clone(&runtime));
        let mut text = BoundedText { bytes: Vec::new(), limit: limits.output_bytes, full: false };
        let rendered = compiled.environment.get_template(&unit_name(0)).and_then(|unit| {
            let context = context! { go, dot => root, depth => 0 };
            unit.render_captured_to(context, &mut text).map(drop)
        });
        rendered.map_err(|error| compiled.explain(error, text.full))?;
        let warnings = runtime.missing().into_iter().map(|missing| compiled.warning(missing));
        Ok(Rendered {
            warnings: warnings.collect(),
            // Minijinja writes whole strings, so this copies nothing and loses nothing.
            text: String::from_utf8(text.bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        })
    }
}

/// Sets minijinja up with nothing but what emitted sources need.
fn environment(fuel: u64) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_fuel(Some(fuel));
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_formatter(|out, _state, value| Ok(write_value(out, value)?));
    environment.add_function("namespace", minijinja::functions::namespace);
    environment
}

impl Compiled {
    fn warning(&self, missing: Missing) -> Warning {
        let Location { template, line, column } = self.places.locate(missing.offset);
        let Missing { variable, nearest, .. } = missing;
        Warning { template, line, column, variable, nearest }
    }

    /// Turns a minijinja error into the template's own.
    fn explain(&self, error: Error, output_full: bool) -> TemplateError {
        let mut offset = 0;
        let mut out_of_fuel = false;
        let mut bad_context = false;
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
        // Includes wrap the errors of what they include, so the last one counts.
        while let Some(current) = cause {
            if let Some(halt) = current.downcast_ref::<Halt>() {
                return self.halted(halt);
            }
            if let Some(error) = current.downcast_ref::<Error>() {
                offset = self.offset(error).unwrap_or(offset);
                out_of_fuel |= error.kind() == ErrorKind::OutOfFuel;
                bad_context |= error.kind() == ErrorKind::BadSerialization;
            }
            cause = current.source();
        }
        let location = self.places.locate(offset);
        let template = self.places.template().to_owned();
        match (output_full, out_of_fuel, bad_context) {
            (true, _, _) => TemplateError::OutputTooLarge { location, limit: self.limits.output_bytes },
            (_, true, _) => TemplateError::OutOfFuel { location, limit: self.limits.fuel },
            (_, _, true) => TemplateError::Context { template, source: error },
            _ => TemplateError::Engine { template, source: error },
        }
    }

    fn halted(&self, halt: &Halt) -> TemplateError {
        let location = self.places.locate(halt.offset);
        match &halt.failure {
            Failure::Problem(problem) => TemplateError::Evaluation { location, problem: problem.clone() },
            Failure::TooMuchWork => TemplateError::TooMuchWork { location, limit: self.limits.work_bytes },
        }
    }

    /// Finds the offset in the template of a place in an emitted source.
    fn offset(&self, error: &Error) -> Option<usize> {
        let name = error.name()?;
        let line = error.line()?.checked_sub(1)?;
        let part = (0..self.lines.len()).find(|&index| unit_name(index) == name)?;
        self.lines.get(part)?.get(line).copied()
    }
}

/// The text being rendered, which refuses to grow over its limit.
struct BoundedText {
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
}

impl io::Write for BoundedText {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if part.len() > self.limit.saturating_sub(self.bytes.len()) {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
