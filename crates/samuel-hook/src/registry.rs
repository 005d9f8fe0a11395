//! Handlers, kept in the order they will run.
//!
//! A [`Registry`] maps each [`HookPoint`] to its chain. It is built once, from
//! what was registered and what is configured, and then only read, so that
//! concurrent runs can share one. Which handlers run in which order says
//! [`resolve`]; running them is [`dispatch`](Registry::dispatch)'s.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use samuel_model::payload::Mode;

use super::{
    ChainSpec, Handler, HandlerInfo, HookFileEntry, HookLayer, HookPoint, IntoHandler, OnFailure, Point,
    Resolved, Tier, Unresolved, chain::DEFAULT_ID, resolve,
};

/// The namespace of handlers that an embedding program registers.
pub const API_NAMESPACE: &str = "api";

/// A handler in its place in a chain.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) id: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) tier: Tier,
    pub(super) order: i32,
    /// What the handler itself asks for.
    asks: Asks,
    /// What a hook file says of it.
    entry: Option<Arc<HookFileEntry>>,
    /// Holds an `Arc<dyn Handler<P>>` of the chain's point.
    handler: Arc<dyn Any + Send + Sync>,
}

/// What a handler itself asks for; what is configured for its point comes before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// How long it wants to be given.
    pub timeout: Option<Duration>,
    /// Whether its breaking is to end what fits the point.
    pub strict: Option<bool>,
}

impl Slot {
    /// Returns the handler as what it was registered as.
    pub(super) fn handler<P: Point>(&self) -> &Arc<dyn Handler<P>> {
        self.handler.downcast_ref().expect("a slot is filed under the point its handler was registered for")
    }
}

/// The handlers of one point, and how they run.
pub(super) struct Chain {
    point: HookPoint,
    /// The point's id, as calls carry it.
    pub(super) id: Arc<str>,
    pub(super) slots: Vec<Slot>,
    pub(super) spec: ChainSpec,
    resolved: Resolved,
    /// Every handler, also those that do not run, in the canonical sequence.
    registered: Vec<Registered>,
}

/// A handler as it was registered, whether it runs or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// What it was registered as.
    pub info: HandlerInfo,
    /// What kind of thing it is.
    pub tier: Tier,
    /// How long it may take; nothing where it is exempt.
    pub timeout: Option<Duration>,
    /// What happens when it breaks.
    pub on_failure: OnFailure,
    /// What it asks for itself.
    pub asks: Asks,
    /// What a hook file says of it; nothing where it comes from elsewhere.
    pub entry: Option<Arc<HookFileEntry>>,
}

/// A plugin that takes part, as people are told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is made of, such as `skill`.
    pub kind: String,
    /// Where it is installed.
    pub directory: String,
    /// One digest over all its files.
    pub digest: String,
    /// The image of one that is an image, pinned by its digest.
    pub image: Option<String>,
    /// What it was granted: each capability with its targets.
    pub granted: Vec<(String, Vec<String>)>,
    /// What samuel.toml configures of it: each key with its value as JSON.
    pub config: Vec<(String, String)>,
}

/// Every point's handlers, in the order they run.
#[derive(Default)]
pub struct Registry {
    /// One chain a point, in the order of [`HookPoint::ALL`].
    chains: Vec<Chain>,
    /// The plugins that take part, in the order of samuel.toml.
    plugins: Vec<PluginIdentity>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.chains.iter().map(|chain| (&chain.id, &chain.resolved.run))).finish()
    }
}

impl Registry {
    /// Starts with no handlers.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// Returns how a point's chain was resolved.
    pub fn resolved(&self, point: HookPoint) -> Option<&Resolved> {
        self.chain(point).map(|chain| &chain.resolved)
    }

    /// Returns the configuration of a point, all layers merged.
    pub fn spec(&self, point: HookPoint) -> Option<&ChainSpec> {
        self.chain(point).map(|chain| &chain.spec)
    }

    /// Says whether any handler runs at a point.
    pub fn has_handlers(&self, point: HookPoint) -> bool {
        self.chain(point).is_some_and(|chain| !chain.slots.is_empty())
    }

    /// Returns whether a handler that is not built in runs at a point.
    #[doc(hidden)]
    pub fn has_handlers_beside_default(&self, point: HookPoint) -> bool {
        self.chain(point).is_some_and(|chain| chain.slots.iter().any(|slot| slot.tier != Tier::BuiltIn))
    }

    /// Returns the sum of the time limits of the handlers that run at a point in iterations of a mode, or `None` if no
    /// handler runs. A handler without a limit counts as [`ChainSpec::TIMEOUT`].
    #[doc(hidden)]
    pub fn time_of(&self, point: HookPoint, mode: Mode) -> Option<Duration> {
        let chain = self.chain(point).filter(|chain| chain.spec.skips(mode).is_none())?;
        let limits = chain.slots.iter().map(|slot| chain.limit(slot).unwrap_or(ChainSpec::TIMEOUT));
        limits.reduce(Duration::saturating_add)
    }

    /// Lists the handlers that run at a point: id, order and tier.
    pub fn handlers(&self, point: HookPoint) -> impl Iterator<Item = (&str, i32, Tier)> {
        let slots = self.chain(point).map(|chain| chain.slots.as_slice()).unwrap_or_default();
        slots.iter().map(|slot| (&*slot.id, slot.order, slot.tier))
    }

    /// Lists the plugins that take part, with handlers or without, in the order
    /// in which they were told of.
    pub fn plugins(&self) -> &[PluginIdentity] {
        &self.plugins
    }

    /// Lists every handler of a point, also those that do not run: built-in
    /// ones first, then by source and declaration.
    pub fn registered(&self, point: HookPoint) -> &[Registered] {
        self.chain(point).map(|chain| chain.registered.as_slice()).unwrap_or_default()
    }

    /// Returns everything the user should know of how chains were resolved.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.chains.iter().flat_map(|chain| chain.resolved.warnings.iter().map(String::as_str))
    }

    /// Removes every handler of a point except the handler with this id.
    #[doc(hidden)]
    pub fn retain(&mut self, point: HookPoint, id: &str) {
        if let Some(chain) = self.chains.get_mut(point as usize) {
            chain.slots.retain(|slot| &*slot.id == id);
        }
    }

    /// Removes every handler that is not built in, at all points.
    #[doc(hidden)]
    pub fn retain_built_in(&mut self) {
        for chain in &mut self.chains {
            chain.slots.retain(|slot| slot.tier == Tier::BuiltIn);
        }
    }

    pub(super) fn chain(&self, point: HookPoint) -> Option<&Chain> {
        self.chains.get(point as usize)
    }
}

/// A handler that waits for its chain to be resolved.
#[derive(Clone)]
struct Waiting {
    info: HandlerInfo,
    slot: Slot,
}

/// Collects handlers, then puts them in order. A copy has the same handlers.
#[derive(Clone, Default)]
pub struct RegistryBuilder {
    waiting: BTreeMap<HookPoint, Vec<Waiting>>,
    plugins: Vec<PluginIdentity>,
    count: u32,
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryBuilder").field("handlers", &self.count).finish_non_exhaustive()
    }
}

impl RegistryBuilder {
    /// Registers the methodology's handler of a point, the `default`, in place of one
    /// that was registered before.
    pub fn default_handler<P: Point, M>(&mut self, handler: impl IntoHandler<P, M>) {
        let origin = Origin {
            id: DEFAULT_ID.into(),
            namespace: "samuel",
            layer: HookLayer::BuiltIn,
            source: 0,
            order: None,
            entry: None,
        };
        let waiting = self.waiting.entry(P::POINT).or_default();
        waiting.retain(|waiting| waiting.info.layer != HookLayer::BuiltIn);
        self.add::<P, M>(origin, handler);
    }

    /// Registers a handler of the embedding program as `api:<name>`, in the
    /// order it asks for, else after the plugins.
    pub fn api<P: Point, M>(&mut self, name: &str, order: Option<i32>, handler: impl IntoHandler<P, M>) {
        let id = format!("{API_NAMESPACE}:{name}");
        self.add::<P, M>(
            Origin { id, namespace: API_NAMESPACE, layer: HookLayer::Api, source: 0, order, entry: None },
            handler,
        );
    }

    /// Registers what an entry of a hook file describes, such as `session:post_iteration#1`,
    /// between the built-in handlers and those of plugins.
    ///
    /// `namespace` names the kind of hook file, such as `session`; `source` is the file's
    /// place among those of the project, which breaks ties.
    pub fn hook_file<P: Point, M>(
        &mut self,
        id: &str,
        namespace: &str,
        source: u32,
        entry: Arc<HookFileEntry>,
        handler: impl IntoHandler<P, M>,
    ) {
        let (id, entry) = (id.to_owned(), Some(entry));
        let origin = Origin { id, namespace, layer: HookLayer::Dialect, source, order: None, entry };
        self.add::<P, M>(origin, handler);
    }

    /// Returns the handlers of hook files: the id of each with its entry.
    #[doc(hidden)]
    pub fn hook_file_entries(&self) -> impl Iterator<Item = (&str, &Arc<HookFileEntry>)> {
        let waiting = self.waiting.values().flatten();
        waiting.filter_map(|waiting| Some((&*waiting.info.id, waiting.slot.entry.as_ref()?)))
    }

    /// Tells of a plugin that takes part, once for each.
    pub fn identify(&mut self, plugin: PluginIdentity) {
        self.plugins.push(plugin);
    }

    /// Registers a plugin's handler as `<plugin>:<handler>`.
    ///
    /// `source` is the plugin's place in samuel.toml, which breaks ties.
    pub fn plugin<P: Point, M>(
        &mut self,
        plugin: &PluginSource<'_>,
        name: &str,
        order: Option<i32>,
        handler: impl IntoHandler<P, M>,
    ) {
        let id = format!("{}:{name}", plugin.name);
        let origin = Origin {
            id,
            namespace: plugin.namespace,
            layer: HookLayer::Plugin,
            source: plugin.place,
            order,
            entry: None,
        };
        self.add::<P, M>(origin, handler);
    }

    fn add<P: Point, M>(&mut self, origin: Origin<'_>, handler: impl IntoHandler<P, M>) {
        let handler = handler.into_handler();
        let id: Arc<str> = origin.id.into();
        let tier = if origin.layer == HookLayer::BuiltIn { Tier::BuiltIn } else { handler.tier() };
        let slot = Slot {
            id: Arc::clone(&id),
            namespace: origin.namespace.into(),
            tier,
            order: 0,
            asks: Asks { timeout: handler.timeout(), strict: handler.strict() },
            entry: origin.entry,
            handler: Arc::new(handler),
        };
        self.count += 1;
        let info = HandlerInfo {
            id,
            layer: origin.layer,
            source: origin.source,
            declaration: self.count,
            order: origin.order,
            enabled: slot.entry.as_ref().is_none_or(|entry| !entry.disabled),
        };
        self.waiting.entry(P::POINT).or_default().push(Waiting { info, slot });
    }

    /// Puts every chain in order.
    ///
    /// # Errors
    /// Returns a [`RegistryError`] where two handlers of a point have one id,
    /// or where the configuration cannot be resolved.
    pub fn build(mut self, specs: &BTreeMap<HookPoint, ChainSpec>) -> Result<Registry, RegistryError> {
        let mut build = |point: &HookPoint| {
            let waiting = self.waiting.remove(point).unwrap_or_default();
            build_chain(*point, waiting, specs.get(point).cloned().unwrap_or_default())
        };
        let mut chains = Vec::with_capacity(HookPoint::ALL.len());
        let mut errors = Vec::new();
        for point in HookPoint::ALL {
            match build(point) {
                Ok(chain) => chains.push(chain),
                Err(RegistryError::Resolve(unresolved)) => errors.extend(unresolved.errors),
                Err(error) => return Err(error),
            }
        }
        if !errors.is_empty() {
            return Err(Unresolved { errors }.into());
        }
        Ok(Registry { chains, plugins: self.plugins })
    }
}

/// Where a handler comes from.
struct Origin<'a> {
    id: String,
    namespace: &'a str,
    layer: HookLayer,
    source: u32,
    order: Option<i32>,
    entry: Option<Arc<HookFileEntry>>,
}

/// A plugin that brings handlers.
#[derive(Clone, Copy, Debug)]
pub struct PluginSource<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its key in the Plugins group.
    pub namespace: &'a str,
    /// Its place in samuel.toml, from 0.
    pub place: u32,
}

fn build_chain(point: HookPoint, waiting: Vec<Waiting>, spec: ChainSpec) -> Result<Chain, RegistryError> {
    let mut seen = BTreeSet::new();
    for handler in &waiting {
        if !seen.insert(&handler.info.id) {
            return Err(RegistryError::DoubledId { point, id: handler.info.id.to_string() });
        }
    }
    let infos: Vec<HandlerInfo> = waiting.iter().map(|handler| handler.info.clone()).collect();
    let resolved = resolve(point, &infos, &spec)?;
    let known = |Waiting { slot, .. }: &Waiting| (slot.tier, slot.asks, slot.entry.clone());
    let known: Vec<_> = waiting.iter().map(known).collect();
    let mut waiting: BTreeMap<Arc<str>, Slot> =
        waiting.into_iter().map(|handler| (handler.info.id, handler.slot)).collect();
    let in_order =
        |(id, order): &(Arc<str>, i32)| waiting.remove(id).map(|slot| Slot { order: *order, ..slot });
    let mut registered: Vec<Registered> = infos
        .into_iter()
        .zip(known)
        .map(|(info, (tier, asks, entry))| {
            let timeout = limit(point, &spec, asks, tier);
            Registered { info, tier, timeout, on_failure: failure_action(point, &spec, asks), asks, entry }
        })
        .collect();
    registered.sort_by_key(|handler| handler.info.sequence());
    let slots = resolved.run.iter().filter_map(in_order).collect();
    Ok(Chain { point, id: point.as_str().into(), slots, spec, resolved, registered })
}

/// Returns how long a handler may take: what is configured, else what it asks
/// for, else the default.
fn limit(point: HookPoint, spec: &ChainSpec, asks: Asks, tier: Tier) -> Option<Duration> {
    match asks.timeout {
        Some(asked) if spec.timeout.is_none() => Some(asked),
        _ => spec.limit(point, tier),
    }
}

impl Chain {
    /// Returns how long a handler may take; nothing where it is exempt.
    pub(super) fn limit(&self, slot: &Slot) -> Option<Duration> {
        limit(self.point, &self.spec, slot.asks, slot.tier)
    }

    /// Returns what a handler does when it breaks.
    pub(super) fn failure_action(&self, slot: &Slot) -> OnFailure {
        failure_action(self.point, &self.spec, slot.asks)
    }
}

/// Returns what a handler does when it breaks: what is configured, else what it asks for, else
/// the point's default.
fn failure_action(point: HookPoint, spec: &ChainSpec, asks: Asks) -> OnFailure {
    match asks.strict.filter(|_| spec.on_failure.is_none() && spec.strict.is_none()) {
        Some(strict) => ChainSpec { strict: Some(strict), ..ChainSpec::default() }.failure_action(point),
        None => spec.failure_action(point),
    }
}

/// Handlers that cannot become a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two handlers of a point have the same id.
    #[error("two handlers of {point} have the id \"{id}\"")]
    DoubledId {
        /// The point.
        point: HookPoint,
        /// The id.
        id: String,
    },
    /// The configuration cannot be resolved.
    #[error(transparent)]
    Resolve(#[from] Unresolved),
}

impl samuel_model::Coded for RegistryError {
    fn code(&self) -> samuel_model::ErrorCode {
        samuel_model::ErrorCode::HOOK_UNKNOWN
    }
}
