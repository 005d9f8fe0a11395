//! `env`: environment variables, name by name.
//!
//! Samuel reads no environment itself: the values are what the embedding
//! program put into the [`Workspace`](super::super::Workspace).

use wasmtime::component::LinkerInstance;

use super::{Guest, HostError, at_once};
use crate::{environment::covers_variable, plugin::Capability};

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    at_once(interface, "get", |guest, (name,): (String,)| {
        if !covers_variable(guest.loaded.setup.granted.targets(Capability::Env), &name) {
            return Err(HostError::denied(Capability::Env, name));
        }
        Ok(guest.loaded.workspace.env.get(&name).cloned())
    })
}
