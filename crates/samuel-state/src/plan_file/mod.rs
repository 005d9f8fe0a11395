//! How a plan is written in `prd.toon`.
//!
//! A [`Document`] is a plan and everything else that stands in the file:
//! columns and keys of a later version or another tool, and lines that could
//! not be understood. All of that survives a rewrite (ARCHITECTURE.md, State).
//!
//! The text below the header is plain TOON. Its profile is narrow, so that any
//! tool can read it: flat objects, one flat table of tasks, lists of
//! primitives. A list within a cell is one string that holds a JSON array.

mod cell;
mod claims;
mod codec;
mod document;
mod excerpt;
mod header;
mod lines;
mod missing;
mod record;
mod salvage;
mod task;

pub(crate) use codec::{decode, encode, from_toon, to_toon};
pub(crate) use document::Document;
pub(crate) use excerpt::{outline, read_excerpt};
pub(crate) use header::with_header;
pub(crate) use lines::{Lines, Pieces, encode_changed};
pub(crate) use missing::Missing;
pub(crate) use salvage::{Salvaged, salvage};
