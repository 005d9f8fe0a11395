//! Plugins that exist only in a test.

use std::{fmt, sync::Arc};

use crate::hook::{Handler, IntoHandler, PluginSource, Point, RegistryBuilder};

/// Registers one handler of a plugin.
type Register = Arc<dyn Fn(&PluginSource<'_>, &mut RegistryBuilder) + Send + Sync>;

/// A plugin with a name, a namespace and handlers, as if it were installed.
///
/// ```
/// use samuel_core::{
///     hook::{HookPoint, Registry, points},
///     testing::{FakeHandler, FakePlugin},
/// };
/// let plugin = FakePlugin::new("samuel-lint")
///     .handler("check", FakeHandler::<points::QualityCheck>::refuses("unused import"));
/// let mut handlers = Registry::builder();
/// plugin.register(&mut handlers);
/// let registry = handlers.build(&Default::default())?;
/// let (id, order, _) = registry.handlers(HookPoint::QualityCheck).next().expect("it is registered");
/// assert_eq!((id, order), ("samuel-lint:check", 200));
/// # Ok::<(), samuel_core::hook::RegistryError>(())
/// ```
#[derive(Clone)]
pub struct FakePlugin {
    name: String,
    namespace: String,
    place: u32,
    handlers: Vec<Register>,
}

impl FakePlugin {
    /// Creates a plugin without handlers. Its namespace is its name, with `_`
    /// for `-`; it is the first one in samuel.toml.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { namespace: name.replace('-', "_"), name, place: 0, handlers: Vec::new() }
    }

    /// Gives its key in the Plugins group.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Gives its place in samuel.toml, from 0, which breaks ties.
    #[must_use]
    pub fn place(mut self, place: u32) -> Self {
        self.place = place;
        self
    }

    /// Adds a handler as `<plugin>:<name>`.
    #[must_use]
    pub fn handler<P: Point, M>(self, name: &str, handler: impl IntoHandler<P, M>) -> Self {
        self.add(name, None, handler.into_handler())
    }

    /// Adds a handler that asks for an order.
    #[must_use]
    pub fn handler_at<P: Point, M>(self, name: &str, order: i32, handler: impl IntoHandler<P, M>) -> Self {
        self.add(name, Some(order), handler.into_handler())
    }

    fn add<P: Point>(mut self, name: &str, order: Option<i32>, handler: Arc<dyn Handler<P>>) -> Self {
        let name = name.to_owned();
        self.handlers.push(Arc::new(move |plugin, registry| {
            registry.plugin::<P, _>(plugin, &name, order, Arc::clone(&handler));
        }));
        self
    }

    /// Registers its handlers, as loading the plugin would; see also
    /// [`RunBuilder::register`](crate::engine::RunBuilder::register).
    pub fn register(&self, registry: &mut RegistryBuilder) {
        let source = PluginSource { name: &self.name, namespace: &self.namespace, place: self.place };
        for register in &self.handlers {
            register(&source, registry);
        }
    }
}

impl fmt::Debug for FakePlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakePlugin")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("place", &self.place)
            .field("handlers", &self.handlers.len())
            .finish()
    }
}
