//! PRD conversion: Markdown in, tasks out.
//!
//! [`convert`] takes a PRD and, if there is one, its companion task list, both
//! already read, and returns a [`Conversion`]: tasks ready for a plan, the
//! project's name and description, and a [`Remark`] for everything a reader
//! of the document should know, each with its line.
//!
//! Tasks come from one of three places, the first that has any: checklists in
//! the companion, numbered headings in a task section of the PRD, checklists in
//! the PRD. `docs/prd.md` shows each form.
//!
//! Nothing here touches a file. [`companion_name`] says where a companion
//! would be; who looks there and writes the plan is the caller.
//!
//! ```
//! use samuel_core::prd::{Document, convert};
//!
//! let prd = Document::new("prd.md", "# Notes\n\n## Tasks\n\n- [ ] 1.0 Store notes\n");
//! let conversion = convert(&prd, None, "2026-01-01T00:00:00Z".parse()?)?;
//! assert_eq!((conversion.name.as_str(), conversion.tasks.len()), ("Notes", 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod block;
mod body;
mod checklist;
mod convert;
mod cycle;
mod draft;
mod error;
mod heading;
mod ids;
mod label;
mod line;
mod remark;
mod resolve;
mod section;
mod source;
#[cfg(test)]
mod tests;
mod title;
mod value;

pub use convert::{Conversion, Form, companion_name, convert};
pub use error::{MAX_DEPTH, MAX_INPUT_BYTES, MAX_TASKS, PrdError};
pub use remark::{MAX_REMARKS, Remark, RemarkKind, Severity};
pub use source::Document;
