//! Making handlers of installed plugins.
//!
//! [`Catalog::load`] does everything that can fail, so that
//! [`LoadedPlugins::register`] cannot. Each kind of plugin has one function here.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Binding, Catalog, Plugin, PluginError, PluginKind, skill::Skill};
use crate::{
    hook::{Handler, HookPoint, PluginIdentity, PluginSource, Point, PointVisitor, RegistryBuilder},
    process::Supervisor,
    sandbox::Containers,
    script::{CopyError, CopyOf, PrivateCopy},
    state::PlanStore,
};

/// What handlers of plugins get of the program that loads them.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The environment that plugins get parts of: what programs need in
    /// general, and what was granted by name.
    pub env: Vec<(String, String)>,
    /// Who watches over their processes.
    pub supervisor: Supervisor,
    /// Where compiled components are kept, a private directory; each load
    /// compiles them again where absent.
    pub cache_dir: Option<PathBuf>,
    /// A private directory outside of every project, made with mode 0700: there
    /// lies the key that compiled components are signed with, without which none
    /// are kept, and scripts are run from copies in it. Where absent, plugins of
    /// scripts are refused.
    pub state_dir: Option<PathBuf>,
    /// The plan that plugins with `samuel.api` see.
    pub store: Option<Arc<dyn PlanStore>>,
    /// Where the containers of images come from. Where absent, plugins that are images are refused.
    pub containers: Option<Containers>,
}

/// Registers the handlers of a plugin.
pub(super) type Register = Arc<dyn Fn(&PluginSource<'_>, &mut RegistryBuilder) + Send + Sync>;

/// A plugin whose handlers are ready to be registered.
struct Ready {
    points: Vec<HookPoint>,
    plugin: String,
    namespace: String,
    place: u32,
    register: Register,
}

/// The handlers of a project's plugins, ready to be registered.
#[derive(Default)]
pub struct LoadedPlugins {
    ready: Vec<Ready>,
    /// All plugins of the catalog, those without handlers too.
    identities: Vec<PluginIdentity>,
}

impl fmt::Debug for LoadedPlugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.handlers()).finish()
    }
}

impl LoadedPlugins {
    /// Registers the handlers; see
    /// [`RunBuilder::register`](crate::engine::RunBuilder::register).
    pub fn register(&self, registry: &mut RegistryBuilder) {
        self.identities.iter().cloned().for_each(|plugin| registry.identify(plugin));
        for Ready { plugin, namespace, place, register, .. } in &self.ready {
            let source = PluginSource { name: plugin, namespace, place: *place };
            register(&source, registry);
        }
    }

    /// Lists the handlers: point and plugin.
    pub fn handlers(&self) -> impl Iterator<Item = (HookPoint, &str)> {
        self.ready.iter().flat_map(|one| one.points.iter().map(|point| (*point, one.plugin.as_str())))
    }
}

impl Catalog {
    /// Makes the handlers of every plugin.
    ///
    /// # Errors
    /// Returns [`PluginError::Unsupported`] for a plugin of a kind that this
    /// build does not run, [`PluginError::NoStateDir`] for one of scripts where
    /// `options` name no private directory, [`PluginError::Image`] for an image that cannot be run here, and what its
    /// kind can have wrong.
    pub fn load(&self, options: &LoadOptions) -> Result<LoadedPlugins, PluginError> {
        let mut loaded = LoadedPlugins::default();
        let mut loader = Loader {
            root: &self.root,
            options,
            #[cfg(feature = "wasm")]
            host: None,
        };
        loaded.identities = self.plugins().iter().map(identity).collect();
        for plugin in self.plugins() {
            let register = match plugin.manifest.kind {
                PluginKind::Skill => loader.skill(plugin)?,
                PluginKind::Wasm => loader.wasm(plugin)?,
                PluginKind::Oci => loader.oci(plugin)?,
                PluginKind::Methodology => continue,
            };
            loaded.ready.push(Ready {
                points: plugin.manifest.bindings.iter().map(|binding| binding.point).collect(),
                plugin: plugin.manifest.name.clone(),
                namespace: plugin.manifest.namespace.clone(),
                place: plugin.place,
                register,
            });
        }
        Ok(loaded)
    }
}

/// Tells of a plugin what decides what it does, and what it may reach.
fn identity(plugin: &Plugin) -> PluginIdentity {
    let granted = plugin.granted().iter();
    PluginIdentity {
        name: plugin.manifest.name.clone(),
        version: plugin.entry.version.clone(),
        kind: plugin.manifest.kind.as_str().to_owned(),
        directory: plugin.directory.display().to_string(),
        digest: plugin.entry.digest.clone(),
        granted: granted.map(|(capability, targets)| (capability.to_string(), targets.to_vec())).collect(),
        image: plugin.entry.image.clone(),
        config: plugin.config.iter().map(|(key, value)| (key.clone(), value.to_string())).collect(),
    }
}

/// Makes handlers, with one function for each kind of plugin.
struct Loader<'a> {
    root: &'a Path,
    options: &'a LoadOptions,
    /// The host that all components share, set up with the first of them.
    #[cfg(feature = "wasm")]
    host: Option<super::wasm::WasmHost>,
}

impl Loader<'_> {
    fn skill(&self, plugin: &Plugin) -> Result<Register, PluginError> {
        let name = &plugin.manifest.name;
        let state_dir = self.options.state_dir.as_deref();
        let state_dir = state_dir.ok_or_else(|| PluginError::NoStateDir { name: name.clone() })?;
        let copy = PrivateCopy::make(state_dir, CopyOf::Plugin, name, plugin.contents.files(), []);
        let copy = Arc::new(copy.map_err(|CopyError { action, path, source }| PluginError::Io {
            action,
            path,
            source,
        })?);
        let handler = |binding: &Binding| {
            let skill = Skill::of(plugin, binding, Arc::clone(&copy), self.root, self.options);
            binding.point.visit(Shared { handler: Arc::new(skill), binding })
        };
        let handlers: Vec<Register> = plugin.manifest.bindings.iter().map(handler).collect();
        Ok(Arc::new(move |source, registry| handlers.iter().for_each(|register| register(source, registry))))
    }

    #[cfg(feature = "wasm")]
    fn wasm(&mut self, plugin: &Plugin) -> Result<Register, PluginError> {
        let host = match self.host.take() {
            Some(host) => host,
            None => {
                let (cache_dir, state_dir) = (self.options.cache_dir.clone(), self.options.state_dir.clone());
                super::component::host(&plugin.manifest, cache_dir, state_dir)?
            }
        };
        super::component::load(self.host.insert(host), plugin, self.root, self.options)
    }

    #[cfg(not(feature = "wasm"))]
    fn wasm(&mut self, plugin: &Plugin) -> Result<Register, PluginError> {
        let (name, kind) = (plugin.manifest.name.clone(), PluginKind::Wasm);
        Err(PluginError::Unsupported { name, kind, why: "it was built without the feature `wasm`" })
    }

    #[cfg(feature = "sandbox")]
    fn oci(&self, plugin: &Plugin) -> Result<Register, PluginError> {
        super::oci::load(plugin, self.root, self.options)
    }

    #[cfg(not(feature = "sandbox"))]
    #[expect(clippy::unused_self, reason = "with the feature it has what containers come from")]
    fn oci(&self, plugin: &Plugin) -> Result<Register, PluginError> {
        let (name, kind) = (plugin.manifest.name.clone(), PluginKind::Oci);
        Err(PluginError::Unsupported { name, kind, why: "it was built without the feature `sandbox`" })
    }
}

/// A handler that answers at any point, and the binding it is for.
pub(super) struct Shared<'a, H> {
    pub(super) handler: Arc<H>,
    pub(super) binding: &'a Binding,
}

/// A handler that answers at any point.
pub(super) trait AtAnyPoint: Send + Sync + 'static {
    fn at<P: Point>(self: Arc<Self>) -> Arc<dyn Handler<P>>;
}

impl AtAnyPoint for Skill {
    fn at<P: Point>(self: Arc<Self>) -> Arc<dyn Handler<P>> {
        self
    }
}

impl<H: AtAnyPoint> PointVisitor for Shared<'_, H> {
    type Out = Register;

    fn visit<P: Point>(self) -> Register {
        let (name, order) = (self.binding.handler.clone(), self.binding.order);
        let handler = self.handler.at::<P>();
        Arc::new(move |plugin, registry| registry.plugin::<P, _>(plugin, &name, order, Arc::clone(&handler)))
    }
}
