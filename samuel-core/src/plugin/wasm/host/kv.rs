//! `kv`: values that outlive a call, of the plugin's [`KvStore`](crate::plugin::kv::KvStore).

use wasmtime::component::LinkerInstance;

use super::{Guest, on_a_thread, waiting};

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    waiting(interface, "get", |guest, (key,): (String,)| {
        let kv = guest.loaded.kv.clone();
        on_a_thread(move || kv.get(&key))
    })?;
    waiting(interface, "set", |guest, (key, value): (String, Vec<u8>)| {
        let kv = guest.loaded.kv.clone();
        on_a_thread(move || kv.set(&key, &value))
    })?;
    waiting(interface, "delete", |guest, (key,): (String,)| {
        let kv = guest.loaded.kv.clone();
        on_a_thread(move || kv.delete(&key))
    })?;
    waiting(interface, "keys", |guest, (prefix,): (String,)| {
        let kv = guest.loaded.kv.clone();
        on_a_thread(move || kv.keys(&prefix))
    })
}
