//! Dispatch and resolve, tested through the registry.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod dispatch;
mod laws;
mod order;
mod table;

use std::{collections::BTreeMap, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{ChainSpec, HookPoint, Registry, RegistryBuilder, Scope};
use crate::{
    clock::SystemClock,
    context::{ContextView, PromptContext},
    model::payload::{Mode, Turn},
};

fn scope() -> Scope {
    Scope {
        run_id: "r".into(),
        session: "s".into(),
        iteration: 1,
        mode: Mode::Implementation,
        turn: Turn::Main,
        context: ContextView::new(Arc::new(PromptContext::default())),
        clock: Arc::new(SystemClock::new()),
        cancel: CancellationToken::new(),
    }
}

fn build(handlers: RegistryBuilder, point: HookPoint, spec: ChainSpec) -> Registry {
    handlers.build(&BTreeMap::from([(point, spec)])).expect("the chain resolves")
}
