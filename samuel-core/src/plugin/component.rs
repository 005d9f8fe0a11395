//! Plugins that are components, from their directory to their handlers.
//!
//! Here the manifest and the grants of an installed plugin meet the host of
//! [`wasm`](super::wasm), which knows neither.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value};

use super::{
    Capabilities, Capability, FetchOptions, LoadOptions, Manifest, Plugin, PluginError,
    contents::Contents,
    fetch::blocking,
    load::Register,
    wasm::{HostConfig, PluginSetup, WasmError, WasmHost, WasmPlugin, Workspace},
};
use crate::{environment::plugin_env, state::RunDir};

/// How long a component may take to start on trial.
const TRIAL_LIMIT: Duration = Duration::from_secs(10);

/// Sets up a host for components, the first of which is a manifest's.
pub(super) fn host(
    manifest: &Manifest,
    cache_dir: Option<PathBuf>,
    state_dir: Option<PathBuf>,
) -> Result<WasmHost, PluginError> {
    let host = WasmHost::new(HostConfig { cache_dir, state_dir, ..HostConfig::default() });
    host.map_err(|error| unusable(manifest, error))
}

/// Makes the handlers of an installed component.
pub(super) fn load(
    host: &WasmHost,
    plugin: &Plugin,
    root: &Path,
    options: &LoadOptions,
) -> Result<Register, PluginError> {
    // A command could tell what is in its environment, so that is no more than
    // the plugin may read itself, and what programs need in general.
    let command_env = plugin_env(&options.env, plugin.granted().targets(Capability::Env)).into_iter();
    let mut workspace = Workspace::new(root, RunDir::new(root).plugins())
        .env(options.env.iter().cloned())
        .command_env(command_env.map(|(name, value)| (name.into(), value.into())))
        .supervisor(options.supervisor.clone());
    if let Some(store) = &options.store {
        workspace = workspace.store(Arc::clone(store));
    }
    let own = Own { granted: plugin.granted(), config: &plugin.config };
    let component = open(host, &plugin.contents, &plugin.manifest, own, workspace)?;
    Ok(Arc::new(move |source, registry| component.register(source, registry)))
}

/// Holds a component against its manifest: what it imports and the types of
/// its handlers. Then starts it on trial, with nothing granted.
pub(super) async fn check(
    directory: PathBuf,
    manifest: &Manifest,
    contents: &Contents,
    options: &FetchOptions,
) -> Result<(), PluginError> {
    let (asked, contents) = (manifest.clone(), contents.clone());
    let (cache_dir, state_dir) = (options.cache_dir.clone(), options.state_dir.clone());
    let component = blocking(move || {
        let own = Own { granted: &Capabilities::default(), config: &Map::new() };
        let workspace = Workspace::new(&directory, &directory);
        open(&host(&asked, cache_dir, state_dir)?, &contents, &asked, own, workspace)
    });
    let component = component.await?;
    let started = component.try_start(TRIAL_LIMIT).await;
    started.map_err(|failure| PluginError::NoStart {
        name: manifest.name.clone(),
        module: module_of(manifest),
        failure: Box::new(failure),
    })
}

/// What a plugin has of its own in a project.
struct Own<'a> {
    granted: &'a Capabilities,
    config: &'a Map<String, Value>,
}

fn open(
    host: &WasmHost,
    contents: &Contents,
    manifest: &Manifest,
    own: Own<'_>,
    workspace: Workspace,
) -> Result<WasmPlugin, PluginError> {
    // A component that is not there reads as one that is none.
    let module = manifest.module.as_deref().unwrap_or_default();
    let bytes = contents.get(module).unwrap_or_default();
    let setup = PluginSetup {
        name: manifest.name.clone(),
        asked: manifest.capabilities.clone(),
        granted: own.granted.clone(),
        config: Value::Object(own.config.clone()),
    };
    let loaded = host.load(bytes, setup, Arc::new(workspace), &manifest.bindings);
    loaded.map_err(|error| unusable(manifest, error))
}

/// Returns where the component is, relative to the plugin.
fn module_of(manifest: &Manifest) -> PathBuf {
    manifest.module.as_deref().unwrap_or_default().into()
}

fn unusable(manifest: &Manifest, error: WasmError) -> PluginError {
    let (name, module) = (manifest.name.clone(), module_of(manifest));
    PluginError::Component { name, module, source: Box::new(error) }
}
