#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod campaign;
mod decisions;
mod world;
