//! Conversion from the outside.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod fuzz;
