//! Documents in, tasks out: PRDs and plans in Markdown or JSON, converted by the crate `samuel-prd`.

pub use samuel_prd::{
    BYTES_PER_MARK, Conversion, Document, Excerpt, Form, MAX_DEPTH, MAX_INPUT_BYTES, MAX_MARKS, MAX_REMARKS,
    MAX_TASKS, Passage, PrdError, PrdForm, Quoted, Remark, RemarkKind, UnknownForm, companion_name, convert,
    convert_as, excerpt, forms,
};
