//! Documents that need not fit into memory.
//!
//! [`Rows`] reads the rows of one table into a type, [`EventReader`] reads any
//! document as [`StreamEvent`]s, [`TableWriter`] writes a table row by row. Each
//! holds one line at a time, besides what is open around it.

mod events;
mod lines;
mod rows;
mod writer;

pub use events::{EventReader, StreamEvent};
pub use rows::Rows;
pub use writer::TableWriter;
