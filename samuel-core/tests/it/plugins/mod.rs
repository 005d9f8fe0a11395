//! Plugins as a program that embeds Samuel sees them: manifests, installing,
//! loading, scripts as handlers.

mod bench;

mod install;
mod load;
mod manifest;
mod skill;
