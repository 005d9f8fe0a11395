//! Prompt templates, in the syntax of Go's templates.
//!
//! [`Template::parse`] turns source text into a template and
//! [`Template::render`] fills it from any serialisable context. Prompts are
//! plain text, so nothing is escaped, and what a value contains is never read
//! as template syntax again.
//!
//! A template is read by `scan` (text and tokens) and `parse` (a tree, with variables
//! resolved). `render` walks the tree and enforces the [`TemplateLimits`]: templates come
//! with repositories and plugins, so none takes more than it was given, whatever it
//! says. The functions a template can call are in `builtins`, `printf` and `helpers`.
//!
//! # Language
//!
//! | form | meaning |
//! |---|---|
//! | `{{ .A.B }}`, `{{ . }}`, `{{ $ }}` | a path from the current value, the current value, the value the template started with |
//! | `{{ $x := .A }}`, `{{ $x = .B }}` | declare a variable, assign to it |
//! | `{{ if }}`, `{{ else if }}`, `{{ else }}`, `{{ end }}` | choose |
//! | `{{ with }}`, `{{ else with }}` | choose, and make the value current |
//! | `{{ range }}`, `{{ range $i, $e := .L }}`, `{{ break }}`, `{{ continue }}` | repeat over lists, maps (by key) and integers |
//! | `{{ define }}`, `{{ template }}`, `{{ block }}` | named parts |
//! | `{{- -}}`, `{{/* */}}` | trim white space, comment |
//! | `a \| f x`, `(f x)` | the value becomes the last argument of `f`; grouping |
//! | `"a"`, `` `a` ``, `'a'`, `1`, `0x1F`, `1.5`, `true`, `nil` | literals |
//! | `and or not eq ne lt le gt ge` | logic and comparison |
//! | `index len slice print printf println` | values and text |
//! | `join indent relpath hasPlugin commitConvention focusDescription` | Samuel's own [helpers](#helpers) |
//!
//! Empty strings, lists and maps, zero, `false` and `nil` are false. A path
//! that leads nowhere renders empty and is reported as a [`UndefinedVariable`]; only
//! `hasPlugin` asks without one. Comparing values of different kinds is an
//! error, as it is in Go.
//!
//! # Helpers
//!
//! Some read the context that the template was rendered with, wherever in it they stand.
//!
//! | call | gives | reads |
//! |---|---|---|
//! | `join .List ", "`, `.List \| join ", "` | the list as text; the arguments in either order | |
//! | `indent 4 .Text`, `.Text \| indent 4` | each line that is not empty, indented by 0 to 100 columns; in either order | |
//! | `relpath .Path` | an absolute path as one from the root; a relative one is only tidied | `Project.Root` |
//! | `hasPlugin "name"` | whether a plugin has data, by its name or its namespace | `Plugins` |
//! | `commitConvention`, `commitConvention "angular"` | a sentence on commit messages | `Guardrails.CommitConvention`, without an argument |
//! | `focusDescription`, `focusDescription "security"` | a sentence on what to look for | `Mode.Focus`, without an argument |
//!
//! # Example
//!
//! ```
//! use samuel_template::Template;
//!
//! let template = Template::parse(
//!     "prompt.md.tmpl",
//!     "Work on {{ .Task.Title }}.{{ range .Task.Files }}\n- {{ . }}{{ end }}\n",
//! )?;
//! let rendered = template.render(&serde_json::json!({
//!     "Task": {"Title": "the parser", "Files": ["src/lex.rs", "src/parse.rs"]}
//! }))?;
//! assert_eq!(rendered.text, "Work on the parser.\n- src/lex.rs\n- src/parse.rs\n");
//! # Ok::<(), samuel_template::TemplateError>(())
//! ```

mod ast;
mod builtins;
mod check;
mod error;
mod helpers;
mod limits;
mod literal;
mod location;
mod parse;
mod pipeline;
mod printf;
mod problem;
mod render;
mod scan;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use error::TemplateError;
pub use limits::TemplateLimits;
pub use location::TemplateLocation;
pub use problem::{EvaluationProblem, SyntaxProblem};
pub use template::{Rendered, Template, UndefinedVariable};
