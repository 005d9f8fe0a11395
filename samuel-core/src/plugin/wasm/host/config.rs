//! `config`: what the user set for the plugin.

use serde_json::Value;
use wasmtime::component::LinkerInstance;

use super::{Guest, at_once};
use crate::plugin::config_value;

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    at_once(interface, "get", |guest, (key,): (String,)| {
        config_value(&guest.loaded.setup.config, &key).map(Value::to_string)
    })
}
