//! TOON, the token-oriented object notation, version 4.4: a serde codec.
//!
//! The shape is that of `serde_json`: [`to_string`] and [`from_str`] for any
//! serde type, [`Value`] and [`toon!`](crate::toon!) for data without one,
//! [`Error`]s with line, column and path. Beyond that:
//!
//! - [`recover()`] reads what can be read of a damaged document and keeps the
//!   text of the rest;
//! - [`Rows`], [`EventReader`] and [`TableWriter`] stream documents that need
//!   not fit into memory;
//! - typed decoding keeps text: a `String` receives `1.10`, `007` and `1e5` as
//!   they are written.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Deserialize, PartialEq, Serialize)]
//! struct Task {
//!     id: u32,
//!     title: String,
//! }
//!
//! let tasks = vec![Task { id: 1, title: "Lexer".into() }, Task { id: 2, title: "Parser".into() }];
//! let text = samuel_toon::to_string(&tasks)?;
//! assert_eq!(text, "[2]{id,title}:\n  1,Lexer\n  2,Parser");
//! assert_eq!(samuel_toon::from_str::<Vec<Task>>(&text)?, tasks);
//!
//! // Recovery reads the intact rows of a damaged document, and check lists its faults.
//! let damaged = "[3]{id,title}:\n  1,Lexer\n  soon,Parser\n  3,Printer";
//! let recovered = samuel_toon::recover::<Vec<Task>>(damaged);
//! assert_eq!(recovered.value.map(|tasks| tasks.len()), Some(2));
//! assert_eq!(recovered.skipped[0].raw, "  soon,Parser");
//! let found = samuel_toon::check(b"a: 1\na: 2", Default::default());
//! assert_eq!(found.diagnostics[0].code(), "duplicate_key");
//! # Ok::<(), samuel_toon::Error>(())
//! ```
//!
//! The crate knows nothing of Samuel, whose state files it was written for: the version
//! line that those open with is a comment here.
#![forbid(unsafe_code)]

mod de;
mod error;
mod number;
mod options;
mod recover;
mod scan;
mod ser;
mod stats;
mod stream;
mod text;
mod value;

pub use de::{
    Deserializer, Lenient, from_reader, from_reader_with, from_slice, from_slice_with, from_str,
    from_str_with,
};
pub use error::{Error, ErrorKind, LimitKind, Result};
pub use number::Number;
pub use options::{DecodeOptions, Delimiter, EncodeOptions, Limits, NumberText};
pub use recover::{Action, Diagnostic, Recovered, Skipped, check, recover, recover_with};
pub use ser::{
    Array, Object, Serializer, Written, to_string, to_string_with, to_vec, to_vec_with, to_writer,
    to_writer_with,
};
pub use stats::{Size, Stats, stats};
pub use stream::{EventReader, Rows, StreamEvent, TableWriter};
pub use value::{Map, Value, from_value, to_value};
