//! The codec from the outside. Each module is one subject.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod fixtures;
mod fuzz_corpus;
mod limits;
mod oracle;
mod positions;
mod recovery;
mod round_trip;
mod stream;
