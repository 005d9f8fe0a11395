//! What hook handlers are given and what they answer.
//!
//! The records are written from the contract in `wit/` by `cargo xtask contract`:
//! same names, same fields, same types, plain data throughout. They are the same
//! types for every tier; as JSON they have the field names below. Each hook point has an
//! `…Input` and an `…Output`; which goes with which point says
//! [`Point`](crate::Point).
//!
//! A verdict (`ok`, `block`, `continue`) must be present where the point is a
//! gate and may be left out elsewhere; every other field of an output may be
//! left out, and unknown fields are ignored.

mod generated;
pub mod json_text;
mod results;
mod usage;

pub use generated::*;
pub use usage::add_cost;

/// A JSON document as text (the contract's `json`). In a JSON envelope it is
/// the document itself, not a string.
pub type Json = String;

/// Fields of later protocol versions: name and value.
pub type Extensions = Vec<(String, String)>;

/// The verdict of a handler that left it out.
pub(crate) fn yes() -> bool {
    true
}
