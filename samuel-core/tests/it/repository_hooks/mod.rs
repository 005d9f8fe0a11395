//! Repository hooks: files, contexts, results and what they stop.

mod bad_files;
mod builtins;
mod declaration;
mod kit;
mod objects;
mod recipes;
mod runtime;
