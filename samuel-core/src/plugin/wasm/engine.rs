//! The engine that runs components.
//!
//! A program has one [`WasmHost`]. It owns the compiler, the cache of compiled
//! components, what is offered to components, and the clock that interrupts
//! them. [`WasmHost::load`] gives plugins, [`WasmHost::inspect`] looks at a
//! component without running it.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use wasmtime::{
    Config, Engine,
    component::{Component, Linker},
};

use super::{
    CallLimits, CodeLimits, Inspection, PluginSetup, WasmError, WasmPlugin, Workspace, WriteLimits,
    cache::Cache, guest::Guest, host, inspect, key::Key, plugin, scan::Outline, scan::scan, ticker::Ticker,
};
use crate::plugin::Binding;

/// How a host is set up.
#[derive(Clone, Debug, Default)]
pub struct HostConfig {
    /// Where compiled components are kept; nowhere where absent. It is made
    /// with mode 0700 and must be nobody else's.
    pub cache_dir: Option<PathBuf>,
    /// A private directory, made with mode 0700, for the key that they are
    /// signed with; without it, and where it cannot be used, none are kept. It
    /// is no directory of a project's, nor below the cache's.
    pub state_dir: Option<PathBuf>,
    /// What is compiled at all.
    pub code: CodeLimits,
    /// What one call may use.
    pub call: CallLimits,
    /// What one plugin may write in one run.
    pub write: WriteLimits,
}

/// Runs components.
///
/// Cloning shares the engine.
#[derive(Clone)]
pub struct WasmHost(pub(super) Arc<Inner>);

/// What plugins share with their host.
pub(super) struct Inner {
    pub(super) engine: Engine,
    pub(super) linker: Linker<Guest>,
    pub(super) ticker: Ticker,
    pub(super) limits: CallLimits,
    pub(super) write: WriteLimits,
    code: CodeLimits,
    cache: Option<Cache>,
}

impl fmt::Debug for WasmHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmHost").field("cache", &self.0.cache).finish_non_exhaustive()
    }
}

/// Room on a stack for the host functions that a guest calls.
const HOST_STACK: usize = 1024 * 1024;

impl WasmHost {
    /// Sets up the engine and the clock that interrupts components.
    ///
    /// # Errors
    /// Returns [`WasmError::Engine`] where the machine cannot run it, and
    /// [`WasmError::CacheDir`] or [`WasmError::CacheOpen`] where compiled
    /// components cannot be kept safely.
    pub fn new(config: HostConfig) -> Result<Self, WasmError> {
        let HostConfig { cache_dir, state_dir, code, call, write } = config;
        let mut settings = Config::new();
        settings
            .epoch_interruption(true)
            .max_wasm_stack(call.max_stack_bytes)
            .async_stack_size(call.max_stack_bytes + HOST_STACK);
        let engine = Engine::new(&settings).map_err(|error| WasmError::Engine { source: error.into() })?;
        let linker = host::linker(&engine).map_err(|error| WasmError::Engine { source: error.into() })?;
        let ticker = Ticker::start(&engine).map_err(|error| WasmError::Engine { source: Box::new(error) })?;
        let cache = match (cache_dir, state_dir.as_deref().and_then(key_in)) {
            (Some(dir), Some(key)) => Some(Cache::open(&dir, key, &engine)?),
            _ => None,
        };
        Ok(Self(Arc::new(Inner { engine, linker, ticker, limits: call, write, code, cache })))
    }

    /// Looks at a component: what it imports and exports, and against which
    /// version of the contract it was built. Compiles it, and runs nothing.
    ///
    /// # Errors
    /// Returns the [`WasmError`] of a component that cannot be read or
    /// compiled. That it asks for too much or was built for another version is
    /// in the inspection, and an error only of [`load`](Self::load).
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, WasmError> {
        let (outline, component) = self.0.compile(bytes, |_| Ok(()))?;
        Ok(inspect::inspect(&outline, &component))
    }

    /// Loads a component for a project, with what it may do there and the
    /// handlers it is bound to. Runs nothing of it.
    ///
    /// The handler of a binding is the short name of its point's interface,
    /// such as `quality-check`, or the name of a function at the component's
    /// root that has the same type, such as `on-quality-check`. Underscores read
    /// as hyphens.
    ///
    /// Compiling a component for the first time takes a while and blocks.
    ///
    /// # Errors
    /// Returns a [`WasmError`] where the component cannot be compiled, was
    /// built for another version, imports what its manifest does not ask for,
    /// or lacks a handler of the right type for one of the bindings.
    pub fn load(
        &self,
        bytes: &[u8],
        setup: PluginSetup,
        workspace: Arc<Workspace>,
        bindings: &[Binding],
    ) -> Result<WasmPlugin, WasmError> {
        // Before it is compiled: what a version or a manifest rules out may
        // not compile at all.
        let (outline, component) =
            self.0.compile(bytes, |outline| plugin::check_outline(outline, &setup.asked))?;
        plugin::load(&self.0, &outline, &component, setup, workspace, bindings)
    }
}

/// Returns the key in a directory. Nothing is lost without one but time.
fn key_in(state_dir: &Path) -> Option<Key> {
    let opened = Key::open(state_dir);
    let warn = |error| tracing::warn!(dir = %state_dir.display(), %error, "compiled components are not kept");
    opened.map_err(warn).ok()
}

impl Inner {
    fn compile(
        &self,
        bytes: &[u8],
        check: impl FnOnce(&Outline) -> Result<(), WasmError>,
    ) -> Result<(Outline, Component), WasmError> {
        let outline = scan(bytes, &self.code)?;
        check(&outline)?;
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.get(&self.engine, bytes)) {
            return Ok((outline, component));
        }
        let component = Component::from_binary(&self.engine, bytes)
            .map_err(|error| WasmError::Compile { source: error.into() })?;
        if let Some(cache) = &self.cache {
            cache.put(bytes, &component);
        }
        Ok((outline, component))
    }
}
