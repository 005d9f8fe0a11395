//! A template ready to render: [`Template`].

use std::{fmt, sync::Arc};

use serde::Serialize;

use crate::{TemplateError, TemplateLimits, check::check, location::Places, parse::parse, render::Tree};

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
    pub warnings: Vec<UndefinedVariable>,
}

/// A variable that was not there and rendered empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndefinedVariable {
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

impl fmt::Display for UndefinedVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UndefinedVariable { template, line, column, variable, nearest } = self;
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

    /// Returns the variables that a sample of the context does not have, by place, in branches
    /// that rendering would not reach as well. What is empty in the sample may have anything.
    ///
    /// ```
    /// use samuel_template::Template;
    ///
    /// let template = Template::parse("t", "{{ if .Off }}\n{{ .Task.Nmae }}{{ end }}")?;
    /// let sample = serde_json::json!({ "Off": false, "Task": { "Name": "" } });
    /// let unknown = template.unknown_variables(&sample)?;
    /// assert_eq!(unknown[0].to_string(), "t:2:4: `.Task.Nmae` is not defined; did you mean `Name`?");
    /// # Ok::<(), samuel_template::TemplateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TemplateError::Context`] when the sample cannot be serialised as JSON.
    pub fn unknown_variables<S: Serialize>(
        &self,
        sample: &S,
    ) -> Result<Vec<UndefinedVariable>, TemplateError> {
        Ok(check(&self.tree, &self.json(sample)?))
    }

    /// Renders the template from a context, which it sees as `.` and `$`.
    ///
    /// # Errors
    ///
    /// [`TemplateError::Evaluation`] when a function cannot work on a value,
    /// the variants of passed [`TemplateLimits`], and [`TemplateError::Context`] when
    /// the context cannot be serialised as JSON.
    pub fn render<S: Serialize>(&self, context: &S) -> Result<Rendered, TemplateError> {
        self.tree.render(&self.json(context)?)
    }

    fn json<S: Serialize>(&self, context: &S) -> Result<serde_json::Value, TemplateError> {
        serde_json::to_value(context).map_err(|source| {
            let template = self.name().to_owned();
            TemplateError::Context { template, source }
        })
    }
}
