//! What is recorded of runs, and what is read from it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod browser;
mod cut_off;
mod interrupted;
mod kit;
mod pages;
mod record;
mod replay;
mod why;
