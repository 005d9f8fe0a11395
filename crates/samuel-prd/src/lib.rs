//! PRD conversion: Markdown in, tasks out.
//!
//! [`convert`] takes the text of a PRD (product requirements document) and of its
//! companion task list, if there is one. It returns a [`Conversion`]: tasks ready for
//! a plan, the project's name and description, and a [`Remark`] with its line for
//! everything that a reader of the document should know.
//!
//! Tasks come from checklists in the companion, or otherwise from the PRD, in the
//! [`Form`] that it most likely has. [`forms`] lists the forms, [`convert_as`]
//! forces one, and `docs/prd.md` shows each.
//!
//! [`excerpt`] returns the text of a PRD around one of its tasks.
//!
//! This crate does not access files. [`companion_name`] returns the name that a
//! companion would have. The caller looks for it and writes the plan.
//!
//! ```
//! use samuel_prd::{Document, convert};
//!
//! let prd = Document::new("prd.md", "# Notes\n\n## Tasks\n\n- [ ] 1.0 Store notes\n");
//! let conversion = convert(&prd, None, "2026-01-01T00:00:00Z".parse()?)?;
//! assert_eq!((conversion.name.as_str(), conversion.tasks.len()), ("Notes", 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod annotation;
mod block;
mod body;
mod checklist;
mod content;
mod convert;
mod cycle;
mod draft;
mod error;
mod excerpt;
mod form;
mod forms;
mod heading;
mod ids;
mod json;
mod label;
mod line;
mod mark;
mod outline;
mod remark;
mod resolve;
mod section;
mod shapes;
mod source;
mod sweep;
#[cfg(test)]
mod tests;
mod title;
mod value;

pub use convert::{Conversion, companion_name, convert, convert_as};
pub use error::{BYTES_PER_MARK, MAX_DEPTH, MAX_INPUT_BYTES, MAX_MARKS, MAX_TASKS, PrdError};
pub use excerpt::{Excerpt, Passage, Quoted, excerpt};
pub use form::{Form, PrdForm, UnknownForm, forms};
pub use remark::{MAX_REMARKS, Remark, RemarkKind};
pub use source::Document;
