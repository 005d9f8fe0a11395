//! `assistant`: reserved for asking a model.

use wasmtime::component::LinkerInstance;

use super::{Guest, HostError, at_once};

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    at_once(interface, "invoke", |_, (_,): (String,)| -> Result<String, HostError> {
        Err(HostError::Unsupported("asking a model is reserved for a later version".to_owned()))
    })
}
