//! Dispatch and resolve, tested through the registry.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod conversation;
mod dispatch;
mod laws;
mod order;
mod port;
mod table;

use std::{collections::BTreeMap, sync::Arc};

use samuel_model::clock::SystemClock;

use super::{CallScope, ChainSpec, HookPoint, Registry, RegistryBuilder};

fn scope() -> CallScope {
    CallScope {
        run_id: "r".into(),
        session: "s".into(),
        iteration: 1,
        ..CallScope::new(Arc::new(SystemClock::new()))
    }
}

fn build(handlers: RegistryBuilder, point: HookPoint, spec: ChainSpec) -> Registry {
    handlers.build(&BTreeMap::from([(point, spec)])).expect("the chain resolves")
}
