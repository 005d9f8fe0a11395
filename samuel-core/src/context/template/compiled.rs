//! A template ready to render: [`Template`].
//!
//! This is where minijinja is set up and where its errors are turned back into
//! places of the template.

use std::{error::Error as StdError, fmt, sync::Arc};

use minijinja::{
    Environment, Error, ErrorKind, UndefinedBehavior, context,
    value::{Serde, Value},
};
use serde::Serialize;

use super::{
    EvaluationProblem, Limits, Location, TemplateError,
    emit::{Emitted, Site, emit, unit_name},
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
    /// the context cannot be serialised as JSON.
    pub fn render<S: Serialize>(&self, context: &S) -> Result<Rendered, TemplateError> {
        let compiled = &*self.compiled;
        let json = serde_json::to_value(context).map_err(|source| {
            let template = self.name().to_owned();
            TemplateError::Context { template, source }
        })?;
        let root = Value::from(Serde(&json));
        let sites = Arc::clone(&compiled.sites);
        let runtime = Arc::new(Runtime::new(sites, root.clone(), compiled.limits));
        let go = Value::from_dyn_object(Arc::clone(&runtime));
        let text = compiled
            .environment
            .get_template(&unit_name(0))
            .and_then(|unit| unit.render(context! { go, dot => root, depth => 0 }))
            .map_err(|error| compiled.explain(error))?;
        let warnings = runtime.missing().into_iter();
        let warnings = warnings.map(|missing| compiled.warning(missing)).collect();
        Ok(Rendered { text, warnings })
    }
}

/// Sets minijinja up with nothing but what emitted sources need.
fn environment(fuel: u64) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_fuel(Some(fuel));
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_formatter(|out, state, value| {
        let go = state.lookup("go").unwrap_or_default();
        let runtime = go.downcast_object_ref::<Runtime>().ok_or(ErrorKind::UndefinedError)?;
        Ok(runtime.write(out, value)?)
    });
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
    fn explain(&self, error: Error) -> TemplateError {
        let mut offset = 0;
        let mut kind = error.kind();
        let mut detail = None;
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
        // Includes wrap the errors of what they include, so the innermost counts.
        while let Some(current) = cause {
            if let Some(halt) = current.downcast_ref::<Halt>() {
                return self.halted(halt, offset);
            }
            if let Some(error) = current.downcast_ref::<Error>() {
                offset = self.offset(error).unwrap_or(offset);
                kind = error.kind();
                detail = error.detail();
            }
            cause = current.source();
        }
        let location = self.places.locate(offset);
        match (kind, detail) {
            (ErrorKind::OutOfFuel, _) => TemplateError::OutOfFuel { location, limit: self.limits.fuel },
            // Many ranges around each call reach minijinja's limit before ours.
            (ErrorKind::InvalidOperation, Some("recursion limit exceeded")) => {
                let limit = Limits::TEMPLATE_CALLS;
                let problem = EvaluationProblem::TooManyCalls { limit };
                TemplateError::Evaluation { location, problem }
            }
            _ => {
                let template = self.places.template().to_owned();
                TemplateError::Engine { template, source: error }
            }
        }
    }

    fn halted(&self, halt: &Halt, offset: usize) -> TemplateError {
        let location = self.places.locate(halt.offset.unwrap_or(offset));
        match &halt.failure {
            Failure::Problem(problem) => TemplateError::Evaluation { location, problem: problem.clone() },
            Failure::TooMuchWork => TemplateError::TooMuchWork { location, limit: self.limits.work_bytes },
            Failure::OutputTooLarge => {
                TemplateError::OutputTooLarge { location, limit: self.limits.output_bytes }
            }
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
