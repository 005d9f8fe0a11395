//! The template language of prompts, which is a crate of its own, and where
//! templates are looked for: [`TemplatePlace`].

use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc};

use samuel_fs::{Root, found};
pub use samuel_template::{
    EvaluationProblem, Rendered, SyntaxProblem, Template, TemplateError, TemplateLimits, TemplateLocation,
    UndefinedVariable,
};

/// A directory of templates.
#[derive(Clone, Debug)]
pub enum TemplatePlace {
    /// One whose files are read when they are wanted.
    Directory {
        /// What no link leads out of.
        root: Root,
        /// The directory in it.
        directory: PathBuf,
    },
    /// One of an installed plugin, as its files were when they were checked:
    /// what is in the directory by now makes no difference.
    Checked {
        /// Where the files were, for messages.
        directory: PathBuf,
        /// Their bytes, by their paths in the directory.
        files: Arc<BTreeMap<String, Vec<u8>>>,
    },
}

impl TemplatePlace {
    /// Returns the path that a template of a name has here.
    pub fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Directory { directory, .. } | Self::Checked { directory, .. } => directory.join(name),
        }
    }

    /// Reads a template of at most `max_bytes`; nothing where there is none.
    ///
    /// # Errors
    /// Returns an error where it cannot be read, is too long or no UTF-8.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<String>> {
        match self {
            Self::Directory { root, .. } => Ok(found(root.read_text(&self.path(name), max_bytes))?),
            Self::Checked { files, .. } => {
                let text = files.get(name).map(|bytes| String::from_utf8(bytes.clone()));
                text.transpose().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]

    use super::Template;
    use crate::context::PromptContext;

    #[test]
    fn the_prompt_context_is_read_by_its_template_names() {
        let source = "{{ .Samuel.Version }}{{ .Project.Root }}{{ .Methodology.Name }}{{ .Iteration.TaskID }}\
            {{ .Config.MaxIterations }}{{ .Guardrails.CommitConvention }}{{ .Paths.PRDFile }}{{ .Mode.Focus }}\
            {{ with .State.NextTask }}{{ .ID }}{{ end }}{{ range $point, $ids := .Hooks.Registered }}{{ end }}\
            {{ range .Plugins }}{{ end }}{{ commitConvention }}";
        let rendered = Template::parse("t", source).unwrap().render(&PromptContext::default()).unwrap();
        assert_eq!(rendered.warnings, []);
    }
}
