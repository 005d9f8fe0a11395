//! The first hour of those who are new: each story follows the code blocks of its page, as a reader would.
//!
//! A story has a scratch directory outside of the workspace, into which is copied what it needs, and no path back. Its
//! programs are the blocks of the page ([`page`]). Where a tool cannot be had it says so and is skipped; what takes
//! minutes is for `SAMUEL_LONG=1`.

mod embedding;
mod page;
mod plugins;
mod python;
mod registries;
mod scratch;
