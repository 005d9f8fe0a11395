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
