//! Dispatch and resolve, tested through the registry.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod conversation;
mod dispatch;
mod laws;
mod order;
mod port;
mod table;

use std::{collections::BTreeMap, sync::Arc};

use super::{ChainSpec, HookPoint, Registry, RegistryBuilder, Scope};
use crate::clock::SystemClock;

fn scope() -> Scope {
    Scope {
        run_id: "r".into(),
        session: "s".into(),
        iteration: 1,
        ..Scope::new(Arc::new(SystemClock::new()))
    }
}

fn build(handlers: RegistryBuilder, point: HookPoint, spec: ChainSpec) -> Registry {
    handlers.build(&BTreeMap::from([(point, spec)])).expect("the chain resolves")
}
