//! The interfaces that the host implements, as the modules of this crate see them.
//!
//! All of them are there; what a plugin does not use is not imported by its component. The modules
//! `log`, `files` and so on are in front of it.

pub(crate) use crate::bindings::host as bindings;
