//! A loaded plugin: a component with its grants and its handlers.
//!
//! [`WasmHost::load`](super::WasmHost::load) makes a [`WasmPlugin`] after all
//! that can be known before a call was checked. Calling it is
//! [`call`](super::call)'s.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;
use wasmtime::component::{
    Component, ComponentExportIndex, InstancePre,
    types::{ComponentFunc, ComponentItem},
};

use super::{
    ProtocolVersion, WasmError, Workspace, call,
    engine::Inner,
    guest::Guest,
    host::written::Written,
    interface_of, points,
    protocol::{ContractName, Needs, needs},
    scan::Outline,
};
use crate::{
    hook::{Handler, HookFailure, HookPoint, PluginSource, Point, PointVisitor, RegistryBuilder},
    plugin::{Binding, Capabilities, kv::KvStore},
};

/// What a component is loaded with.
#[derive(Clone, Debug, Default)]
pub struct PluginSetup {
    /// The plugin's name.
    pub name: String,
    /// What its manifest asks for.
    pub asked: Capabilities,
    /// What of it the user granted.
    pub granted: Capabilities,
    /// Its own table in samuel.toml, `[plugins.config]`, as JSON.
    pub config: Value,
}

/// A component that is ready to be called.
#[derive(Clone)]
pub struct WasmPlugin {
    loaded: Arc<LoadedComponent>,
    handlers: Vec<BoundHandler>,
}

/// What all handlers of a plugin share.
pub(super) struct LoadedComponent {
    pub(super) host: Arc<Inner>,
    pub(super) pre: InstancePre<Guest>,
    pub(super) setup: PluginSetup,
    pub(super) workspace: Arc<Workspace>,
    pub(super) kv: KvStore,
    pub(super) written: Written,
}

/// A binding whose function was found and type-checked.
#[derive(Clone)]
struct BoundHandler {
    binding: Binding,
    function: ComponentExportIndex,
}

/// A handler as the registry holds it.
pub(super) struct WasmHandler {
    pub(super) loaded: Arc<LoadedComponent>,
    pub(super) function: ComponentExportIndex,
}

impl fmt::Debug for WasmPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bindings: Vec<&Binding> = self.handlers.iter().map(|handler| &handler.binding).collect();
        f.debug_struct("WasmPlugin")
            .field("name", &self.loaded.setup.name)
            .field("bindings", &bindings)
            .finish_non_exhaustive()
    }
}

impl WasmPlugin {
    /// Returns the plugin's name.
    pub fn name(&self) -> &str {
        &self.loaded.setup.name
    }

    /// Starts the component once and takes it down again, as an installation or
    /// a check-up does: types are known to fit, and whether it starts is not.
    ///
    /// # Errors
    /// Returns the [`HookFailure`] of a component that traps, takes too much or
    /// does not start within `limit`.
    pub async fn try_start(&self, limit: Duration) -> Result<(), HookFailure> {
        call::trial(&self.loaded, limit).await
    }

    /// Returns the handler of a point, for a program that registers it under a
    /// name of its own; nothing where no binding is for the point.
    pub fn handler<P: Point>(&self) -> Option<Arc<dyn Handler<P>>> {
        let bound = self.handlers.iter().find(|handler| handler.binding.point == P::POINT)?;
        Some(Arc::new(WasmHandler { loaded: Arc::clone(&self.loaded), function: bound.function }))
    }

    /// Registers a handler for each binding, as `<plugin>:<handler>`.
    pub fn register(&self, source: &PluginSource<'_>, registry: &mut RegistryBuilder) {
        struct Register<'a>(&'a mut RegistryBuilder, &'a PluginSource<'a>, &'a Binding, WasmHandler);

        impl PointVisitor for Register<'_> {
            type Out = ();

            fn visit<P: Point>(self) {
                let Self(registry, source, binding, handler) = self;
                registry.plugin::<P, _>(source, &binding.handler, binding.order, handler);
            }
        }

        for BoundHandler { binding, function } in &self.handlers {
            let handler = WasmHandler { loaded: Arc::clone(&self.loaded), function: *function };
            binding.point.visit(Register(registry, source, binding, handler));
        }
    }
}

/// Checks what a component imports and exports by name: the version first,
/// then the capabilities.
pub(super) fn check_outline(outline: &Outline, asked: &Capabilities) -> Result<(), WasmError> {
    for name in outline.imports.iter().chain(&outline.interfaces) {
        let Some(ContractName { protocol, .. }) = ContractName::parse(name) else { continue };
        let name = || name.clone();
        if protocol.major > ProtocolVersion::CURRENT.major {
            return Err(WasmError::NeedsNewer { name: name(), protocol });
        }
        if protocol.major < ProtocolVersion::CURRENT.major {
            return Err(WasmError::Outdated { name: name(), protocol });
        }
    }
    for import in &outline.imports {
        match needs(import) {
            Needs::Nothing => {}
            Needs::Capability(capability) if asked.has(capability) => {}
            Needs::Capability(capability) => {
                return Err(WasmError::Undeclared { import: import.clone(), capability });
            }
            Needs::Unknown => return Err(unknown_import(import)),
        }
    }
    Ok(())
}

/// An interface that a later Samuel offers is no mistake of the component.
fn unknown_import(import: &str) -> WasmError {
    match ContractName::parse(import) {
        Some(ContractName { protocol, .. }) if protocol > ProtocolVersion::CURRENT => {
            WasmError::NeedsNewer { name: import.to_owned(), protocol }
        }
        _ => WasmError::UnknownImport { import: import.to_owned() },
    }
}

pub(super) fn load(
    host: &Arc<Inner>,
    outline: &Outline,
    component: &Component,
    setup: PluginSetup,
    workspace: Arc<Workspace>,
    bindings: &[Binding],
) -> Result<WasmPlugin, WasmError> {
    let pre = host.linker.instantiate_pre(component).map_err(|error| link_error(outline, error))?;
    let handlers = bindings
        .iter()
        .map(|binding| {
            let function = find(outline, component, binding)?;
            Ok(BoundHandler { binding: binding.clone(), function })
        })
        .collect::<Result<_, WasmError>>()?;
    let kv = KvStore::new(workspace.scratch_root(), workspace.scratch_of(&setup.name));
    let written = Written::new(host.write.clone());
    let loaded = LoadedComponent { host: Arc::clone(host), pre, setup, workspace, kv, written };
    Ok(WasmPlugin { loaded: Arc::new(loaded), handlers })
}

/// A component that was built against a later minor version may import what
/// this one's interfaces do not have yet.
fn link_error(outline: &Outline, error: wasmtime::Error) -> WasmError {
    let later = outline.imports.iter().find_map(|import| {
        let protocol = ContractName::parse(import)?.protocol;
        (protocol > ProtocolVersion::CURRENT).then(|| (import.clone(), protocol))
    });
    match later {
        Some((name, protocol)) => WasmError::NeedsNewer { name, protocol },
        None => WasmError::Link { source: error.into() },
    }
}

/// Finds the function of a binding and checks its type.
fn find(
    outline: &Outline,
    component: &Component,
    binding: &Binding,
) -> Result<ComponentExportIndex, WasmError> {
    let handler = binding.handler.replace('_', "-");
    let (export, function, index) = match standard(outline, component, binding.point, &handler) {
        Some(found) => found,
        None => at_root(component, &handler).ok_or_else(|| WasmError::NoHandler {
            point: binding.point,
            handler: binding.handler.clone(),
            exports: exports_of(outline),
        })?,
    };
    match points::mismatch(binding.point, component, &function) {
        None => Ok(index),
        Some(mismatch) => Err(WasmError::Signature { point: binding.point, export, mismatch }),
    }
}

type Found = (String, ComponentFunc, ComponentExportIndex);

/// Finds `run` of the point's standard interface, if the handler names that.
fn standard(outline: &Outline, component: &Component, point: HookPoint, handler: &str) -> Option<Found> {
    if handler != interface_of(point) {
        return None;
    }
    let is_it = |name: &&String| ContractName::parse(name).is_some_and(|name| name.interface == handler);
    let name = outline.interfaces.iter().find(is_it)?;
    let interface = component.get_export_index(None, name)?;
    match component.get_export(Some(&interface), "run")? {
        (ComponentItem::ComponentFunc(function), index) => Some((format!("{name}#run"), function, index)),
        _ => None,
    }
}

/// Finds a function at the root.
fn at_root(component: &Component, handler: &str) -> Option<Found> {
    match component.get_export(None, handler)? {
        (ComponentItem::ComponentFunc(function), index) => Some((handler.to_owned(), function, index)),
        _ => None,
    }
}

/// Lists what a binding could have named.
fn exports_of(outline: &Outline) -> Vec<String> {
    let interfaces = outline.interfaces.iter().map(|name| {
        let short = ContractName::parse(name).map(|name| name.interface);
        format!("`{}`", short.unwrap_or(name))
    });
    interfaces.chain(outline.functions.iter().map(|name| format!("`{name}`"))).collect()
}
