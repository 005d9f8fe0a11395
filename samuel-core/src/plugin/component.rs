//! Plugins that are components, from their directory to their handlers.
//!
//! Here the manifest and the grants of an installed plugin meet the host of
//! [`wasm`](super::wasm), which knows neither.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Capabilities, LoadOptions, Manifest, Plugin, PluginError,
    load::Register,
    skill::allowed_env,
    wasm::{HostConfig, PluginSetup, WasmError, WasmHost, WasmPlugin, Workspace},
};

/// Where plugins keep their own files, below the project.
const SCRATCH: &str = ".samuel/run/plugins";

/// Makes the handlers of an installed component.
pub(super) fn load(plugin: &Plugin, root: &Path, options: &LoadOptions) -> Result<Register, PluginError> {
    // A command could tell what is in its environment, so that is no more than
    // the plugin may read itself, and what programs need in general.
    let command_env = allowed_env(&options.env, plugin.granted()).into_iter();
    let mut workspace = Workspace::new(root, root.join(SCRATCH))
        .env(options.env.iter().cloned())
        .command_env(command_env.map(|(name, value)| (name.into(), value.into())))
        .supervisor(options.supervisor.clone());
    if let Some(store) = &options.store {
        workspace = workspace.store(Arc::clone(store));
    }
    let own = Own { granted: plugin.granted(), config: &plugin.config };
    let component = open(&plugin.directory, &plugin.manifest, own, workspace, options.cache_dir.clone())?;
    Ok(Arc::new(move |source, registry| component.register(source, registry)))
}

/// Holds a component against its manifest: what it imports, and the types of
/// its handlers. Runs nothing of it.
pub(super) fn check(
    directory: &Path,
    manifest: &Manifest,
    cache_dir: Option<PathBuf>,
) -> Result<(), PluginError> {
    let own = Own { granted: &Capabilities::default(), config: &Map::new() };
    open(directory, manifest, own, Workspace::new(directory, directory), cache_dir).map(drop)
}

/// What a plugin has of its own in a project.
struct Own<'a> {
    granted: &'a Capabilities,
    config: &'a Map<String, Value>,
}

fn open(
    directory: &Path,
    manifest: &Manifest,
    own: Own<'_>,
    workspace: Workspace,
    cache_dir: Option<PathBuf>,
) -> Result<WasmPlugin, PluginError> {
    let module = directory.join(manifest.module.as_deref().unwrap_or_default());
    let bytes = fs::read(&module).map_err(PluginError::io("read", &module))?;
    let setup = PluginSetup {
        name: manifest.name.clone(),
        asked: manifest.capabilities.clone(),
        granted: own.granted.clone(),
        config: Value::Object(own.config.clone()),
    };
    WasmHost::new(HostConfig { cache_dir, ..HostConfig::default() })
        .and_then(|host| host.load(&bytes, setup, Arc::new(workspace), &manifest.bindings))
        .map_err(|source: WasmError| PluginError::Component {
            name: manifest.name.clone(),
            module,
            source: Box::new(source),
        })
}
