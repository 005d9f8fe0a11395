//! Words that messages are put together from: counts, durations, and errors with their causes.
//!
//! ```
//! use samuel_core::text::counted;
//!
//! assert_eq!((counted(1, "task"), counted(3, "entry")), ("1 task".to_owned(), "3 entries".to_owned()));
//! ```

pub use samuel_model::text::{
    CHARS_PER_TOKEN, RUN_IS_UNDER_WAY, causes, counted, counted_are, counted_were, described, dollars,
    is_unseen, lasting, tokens,
};
pub(crate) use samuel_model::text::{
    excerpt, is_odd, last_line, limit, listed, names, one_line, without_odd,
};
