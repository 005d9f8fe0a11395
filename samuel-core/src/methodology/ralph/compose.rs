//! Composing the prompt.
//!
//! [`compose_prompt`] is the default of `before:agent.invoke`. The prompt is,
//! in this order:
//!
//! ```text
//! what the template renders            what to do
//!
//! # Context                            one section per blob, with its file:
//! ## Task context                      task, progress, snapshot
//! ## <extra>                           one section per extra, as handlers gave them
//!
//! # Messages                           text that hooks left for the agent
//! ```
//!
//! Contents are fenced with more backticks than they contain themselves, so
//! that none can end its own section. Parts without content are left out.

use std::fmt::{self, Write};

use crate::{
    context::{
        ContextView,
        template::{Template, TemplateError, Warning},
    },
    model::payload::Extra,
};

/// The longest blob, extra or message, in bytes; of longer ones the start is kept.
const MAX_PART_BYTES: usize = 128 * 1024;
/// The longest prompt beside what the template renders, in bytes.
const MAX_ADDED_BYTES: usize = 1024 * 1024;

/// What a prompt is made of beside its template and its context.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptParts<'a> {
    /// The blobs of the context points, in the order they are shown.
    pub blobs: &'a [Blob<'a>],
    /// The sections of `context.extra`.
    pub extras: &'a [Extra],
    /// Text that hooks left for the agent, each framed by who left it.
    pub pending: &'a [String],
}

/// A blob of a context point.
#[derive(Clone, Copy, Debug)]
pub struct Blob<'a> {
    /// Its heading, such as `Task context`.
    pub title: &'a str,
    /// The file it was written to, relative to the project.
    pub path: &'a str,
    /// The language of its fence: `toon` or `markdown`.
    pub language: &'a str,
    /// Its text; an empty one is left out.
    pub text: &'a str,
}

/// A prompt, and what was not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposedPrompt {
    /// The prompt.
    pub text: String,
    /// What was not as it should be.
    pub warnings: Vec<PromptWarning>,
}

/// Something about a prompt that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptWarning {
    /// The template asks for a variable that does not exist.
    Undefined(Warning),
    /// A part was longer than a prompt can take.
    Shortened {
        /// The part, by its heading.
        part: String,
        /// The bytes that were left out.
        bytes: usize,
    },
}

impl fmt::Display for PromptWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undefined(warning) => warning.fmt(f),
            Self::Shortened { part, bytes } => {
                write!(f, "{bytes} bytes of \"{part}\" are left out of the prompt")
            }
        }
    }
}

/// Composes the prompt of an iteration; the module says how it is laid out.
///
/// # Errors
/// [`TemplateError`] if the template cannot be rendered.
pub fn compose_prompt(
    template: &Template,
    context: &ContextView,
    parts: PromptParts<'_>,
) -> Result<ComposedPrompt, TemplateError> {
    let rendered = template.render(context)?;
    let mut prompt = Prompt {
        text: rendered.text.trim_end().to_owned(),
        room: MAX_ADDED_BYTES,
        warnings: rendered.warnings.into_iter().map(PromptWarning::Undefined).collect(),
    };
    prompt.text.push('\n');
    prompt.add_context(parts.blobs, parts.extras);
    prompt.add_messages(parts.pending);
    Ok(ComposedPrompt { text: prompt.text, warnings: prompt.warnings })
}

struct Prompt {
    text: String,
    /// Bytes that may still be added.
    room: usize,
    warnings: Vec<PromptWarning>,
}

impl Prompt {
    fn add_context(&mut self, blobs: &[Blob<'_>], extras: &[Extra]) {
        let blobs: Vec<&Blob<'_>> = blobs.iter().filter(|blob| !blob.text.trim().is_empty()).collect();
        let extras: Vec<&Extra> = extras.iter().filter(|extra| !extra.content.trim().is_empty()).collect();
        if blobs.is_empty() && extras.is_empty() {
            return;
        }
        self.text.push_str("\n# Context\n");
        for blob in blobs {
            let content = self.shorten(blob.title, blob.text);
            let fence = fence(content);
            // Writing to a string cannot fail.
            let _ = write!(self.text, "\n## {}\n\nFile: `{}`\n", blob.title, blob.path);
            let _ = write!(self.text, "\n{fence}{}\n{content}\n{fence}\n", blob.language);
        }
        for extra in extras {
            let content = self.shorten(&extra.name, &extra.content);
            let heading = extra.name.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = write!(self.text, "\n## {heading}\n\n{content}\n");
        }
    }

    fn add_messages(&mut self, pending: &[String]) {
        let messages: Vec<&String> = pending.iter().filter(|message| !message.trim().is_empty()).collect();
        if messages.is_empty() {
            return;
        }
        self.text.push_str("\n# Messages\n");
        for message in messages {
            let content = self.shorten("Messages", message);
            let _ = write!(self.text, "\n{content}\n");
        }
    }

    /// Keeps the start of a part that is too long, and says so.
    fn shorten<'a>(&mut self, part: &str, text: &'a str) -> &'a str {
        let text = text.trim_end();
        let end = text.floor_char_boundary(MAX_PART_BYTES.min(self.room));
        let kept = text.get(..end).unwrap_or(text);
        self.room -= kept.len().min(self.room);
        if kept.len() < text.len() {
            let bytes = text.len() - kept.len();
            self.warnings.push(PromptWarning::Shortened { part: part.to_owned(), bytes });
        }
        kept
    }
}

/// Returns a fence that is longer than every run of backticks in a text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::context::PromptContext;
    use std::sync::Arc;

    fn compose(template: &str, parts: PromptParts<'_>) -> ComposedPrompt {
        let context = ContextView::new(Arc::new(PromptContext::default()));
        compose_prompt(&Template::parse("prompt.md.tmpl", template).unwrap(), &context, parts).unwrap()
    }

    fn extra(name: &str, content: &str) -> Extra {
        Extra { name: name.to_owned(), content: content.to_owned(), path: None }
    }

    #[test]
    fn the_parts_stand_in_their_order() {
        let blobs = [
            Blob {
                title: "Task context",
                path: "run/task.toon",
                language: "toon",
                text: "mode: implementation\n",
            },
            Blob { title: "Empty", path: "run/empty.toon", language: "toon", text: " \n" },
        ];
        let extras = [extra("Python\nenvironment", "venv at .venv"), extra("Nothing", "")];
        let pending = ["from a hook".to_owned(), String::new()];
        let prompt = compose("Do it.\n\n", PromptParts { blobs: &blobs, extras: &extras, pending: &pending });
        let expected = "Do it.\n\n# Context\n\n## Task context\n\nFile: `run/task.toon`\n\n```toon\nmode: \
                        implementation\n```\n\n## Python environment\n\nvenv at .venv\n\n# Messages\n\nfrom a hook\n";
        assert_eq!(prompt, ComposedPrompt { text: expected.to_owned(), warnings: Vec::new() });
    }

    #[test]
    fn a_template_alone_is_a_prompt() {
        assert_eq!(compose("Do it.", PromptParts::default()).text, "Do it.\n");
    }

    #[test]
    fn no_blob_can_end_its_own_fence() {
        let blobs = [Blob { title: "B", path: "b", language: "markdown", text: "a\n````\nb" }];
        let prompt = compose("", PromptParts { blobs: &blobs, ..PromptParts::default() });
        assert!(prompt.text.contains("`````markdown\na\n````\nb\n`````\n"), "{}", prompt.text);
    }

    #[test]
    fn what_handlers_say_is_not_read_as_a_template() {
        let pending = ["{{ .Project.Root }}".to_owned()];
        let prompt = compose("", PromptParts { pending: &pending, ..PromptParts::default() });
        assert!(prompt.text.contains("{{ .Project.Root }}"));
    }

    #[test]
    fn an_unknown_variable_is_a_warning_with_its_place() {
        let prompt = compose("a {{ .Project.Nmae }}", PromptParts::default());
        let warnings: Vec<String> = prompt.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), 1);
        assert!(warnings.concat().starts_with("prompt.md.tmpl:1:6: `.Project.Nmae`"), "{warnings:?}");
    }

    #[test]
    fn no_part_can_flood_the_prompt() {
        let long = "ü".repeat(MAX_PART_BYTES);
        let pending = vec![long; 20];
        let prompt = compose("", PromptParts { pending: &pending, ..PromptParts::default() });
        assert!(prompt.text.len() < MAX_ADDED_BYTES + 1_000, "{}", prompt.text.len());
        assert_eq!(prompt.warnings.len(), 20);
        assert_eq!(
            prompt.warnings.first().unwrap().to_string(),
            "131072 bytes of \"Messages\" are left out of the prompt"
        );
    }
}
