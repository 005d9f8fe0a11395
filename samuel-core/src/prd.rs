//! Documents in, tasks out: PRDs and plans in Markdown or JSON, converted by the crate `samuel-prd`.
//!
//! ```
//! use samuel_core::prd::{Document, convert};
//!
//! let prd = Document::new("prd.md", "# Notes\n\n## Tasks\n\n- [ ] 1.0 Store notes\n");
//! let conversion = convert(&prd, None, "2026-01-01T00:00:00Z".parse()?)?;
//! assert_eq!((conversion.name.as_str(), conversion.tasks.len()), ("Notes", 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use samuel_prd::{
    BYTES_PER_MARK, Conversion, Document, Excerpt, Form, MAX_DEPTH, MAX_INPUT_BYTES, MAX_MARKS, MAX_REMARKS,
    MAX_TASKS, Passage, PrdError, PrdForm, Quoted, Remark, RemarkKind, UnknownForm, companion_name, convert,
    convert_as, excerpt, forms,
};
