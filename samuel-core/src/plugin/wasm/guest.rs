//! What a running instance has on the host's side.
//!
//! A [`Guest`] is the data of one store and lives for one call: who is called,
//! what it may do, what it has used, and what it contributed so far.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::{call::Bounds, limits::Meter, plugin::LoadedComponent, stderr::Stderr};
use crate::{context::ContextView, hook::AgentPort, model::payload::CallHeader, plugin::log_lines::LogLines};

/// The host's side of one instance.
pub(super) struct Guest {
    pub(super) loaded: Arc<LoadedComponent>,
    pub(super) header: CallHeader,
    pub(super) context: ContextView,
    pub(super) cancelled: CancellationToken,
    /// Where it reports to, in the agent's place.
    pub(super) port: Option<Arc<dyn AgentPort>>,
    /// When the call must have ended.
    pub(super) deadline: Instant,
    pub(super) meter: Meter,
    pub(super) log: LogLines,
    pub(super) contributions: Contributions,
    stderr: Stderr,
    wasi: Option<Wasi>,
}

/// What the call contributed so far.
#[derive(Debug, Default)]
pub(super) struct Contributions {
    pub(super) values: BTreeMap<String, Value>,
    /// The length of all values as text.
    pub(super) bytes: usize,
}

/// The most random bytes that are made at once.
const MAX_RANDOM_BYTES: u64 = 64 * 1024;

/// The most handles a guest holds at once, such as those of streams.
pub(super) const MAX_HANDLES: usize = 10_000;

/// WASI without files, environment, arguments, input or network.
struct Wasi {
    context: WasiCtx,
    table: ResourceTable,
}

impl Guest {
    pub(super) fn new(
        loaded: Arc<LoadedComponent>,
        header: CallHeader,
        context: ContextView,
        bounds: &Bounds,
    ) -> Self {
        let Bounds { cancelled, deadline, stderr, port, link, .. } = bounds;
        let meter = Meter::new(&loaded.host.limits);
        let log = LogLines::new(Arc::clone(&header.handler_id), link.clone());
        let contributions = Contributions::default();
        Self {
            loaded,
            header,
            context,
            cancelled: cancelled.clone(),
            port: port.clone(),
            deadline: *deadline,
            meter,
            log,
            contributions,
            stderr: stderr.clone(),
            wasi: None,
        }
    }

    /// Returns the time the call has left.
    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl Wasi {
    fn new(stderr: Stderr) -> Self {
        let context = WasiCtx::builder()
            .stderr(stderr)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .max_random_size(MAX_RANDOM_BYTES)
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self { context, table }
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        // Few calls use it, so it is made when the first one does.
        let stderr = &self.stderr;
        let Wasi { context, table } = self.wasi.get_or_insert_with(|| Wasi::new(stderr.clone()));
        WasiCtxView { ctx: context, table }
    }
}
