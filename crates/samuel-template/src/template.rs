//! A template ready to render: [`Template`].

use std::{fmt, sync::Arc};

use serde::Serialize;

use crate::{TemplateError, TemplateLimits, location::Places, parse::parse, render::Tree};

/// A parsed template. Cheap to clone, and free to be rendered from several threads.
#[derive(Clone)]
pub struct Template {
    tree: Arc<Tree>,
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
    /// Parses a template with the default [`TemplateLimits`]; `name` is what errors and warnings say.
    ///
    /// # Errors
    ///
    /// [`TemplateError::Syntax`] with line, column and help when the source is
    /// not a template, [`TemplateError::SourceTooLarge`] when it is too long.
    pub fn parse(name: &str, source: &str) -> Result<Template, TemplateError> {
        Template::parse_with(name, source, TemplateLimits::default())
    }

    /// Parses a template with limits of the caller's.
    ///
    /// # Errors
    ///
    /// Those of [`Template::parse`].
    pub fn parse_with(name: &str, source: &str, limits: TemplateLimits) -> Result<Template, TemplateError> {
        if source.len() > limits.source_bytes {
            return Err(TemplateError::SourceTooLarge {
                template: name.to_owned(),
                bytes: source.len(),
                limit: limits.source_bytes,
            });
        }
        let places = Places::new(name, source);
        let parts = parse(name, source, limits.nesting.min(TemplateLimits::NESTING)).map_err(|fault| {
            TemplateError::Syntax { location: places.locate(fault.offset), problem: fault.problem }
        })?;
        Ok(Template { tree: Arc::new(Tree { places, parts, limits }) })
    }

    /// Returns the name the template was parsed under.
    pub fn name(&self) -> &str {
        self.tree.places.template()
    }

    /// Renders the template from a context, which it sees as `.` and `$`.
    ///
    /// # Errors
    ///
    /// [`TemplateError::Evaluation`] when a function cannot work on a value,
    /// the variants of passed [`TemplateLimits`], and [`TemplateError::Context`] when
    /// the context cannot be serialised as JSON.
    pub fn render<S: Serialize>(&self, context: &S) -> Result<Rendered, TemplateError> {
        let json = serde_json::to_value(context).map_err(|source| {
            let template = self.name().to_owned();
            TemplateError::Context { template, source }
        })?;
        self.tree.render(&json)
    }
}
