//! Plugins in the host that runs installed ones.
//!
//! [`Project::fire`] loads a component for a directory, with what was granted,
//! and dispatches one point to it.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, LazyLock},
};

use samuel_core::{
    clock::SystemClock,
    hook::{AgentPort, CallScope, Dispatched, HookPoint, PluginSource, Point, Registry},
    model::Location,
    plugin::{
        Binding, Capabilities, MANIFEST_FILE,
        wasm::{HostConfig, PluginSetup, WasmError, WasmHost, WasmPlugin, Workspace, interface_of},
    },
};
use serde_json::Value;
use tempfile::TempDir;

/// One host for all tests of a process; what it compiles is kept over runs.
pub(crate) static HOST: LazyLock<WasmHost> = LazyLock::new(|| {
    let place = |name| Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    let (cache_dir, state_dir) = (place("wasm-cache"), place("wasm-state"));
    WasmHost::new(HostConfig { cache_dir, state_dir, ..HostConfig::default() }).unwrap()
});

/// The namespace that contributions of tested plugins are under.
pub(crate) const NAMESPACE: &str = "tested";

/// A project with a plugin.
pub(crate) struct Project {
    directory: TempDir,
    setup: PluginSetup,
}

impl Project {
    /// An empty one, whose plugin is granted all it asks for.
    pub(crate) fn granting(capabilities: &Capabilities) -> Self {
        let (asked, granted) = (capabilities.clone(), capabilities.clone());
        let setup = PluginSetup { name: "tested".to_owned(), asked, granted, config: Value::Null };
        Self { directory: tempfile::tempdir().unwrap(), setup }
    }

    /// Takes every grant away.
    pub(crate) fn denying(mut self) -> Self {
        self.setup.granted = Capabilities::default();
        self
    }

    /// Sets the user's settings for the plugin.
    pub(crate) fn config(mut self, config: Value) -> Self {
        self.setup.config = config;
        self
    }

    /// Writes a file.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Loads a component with the standard interfaces of points.
    pub(crate) fn load(&self, component: &[u8], points: &[HookPoint]) -> Result<WasmPlugin, WasmError> {
        let root = self.directory.path();
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        let workspace = Workspace::new(root, root.join(".samuel/run/plugins")).command_env(path);
        let workspace = Arc::new(workspace);
        let place = Location { file: MANIFEST_FILE.into(), line: None, column: None };
        let binding = |point: &HookPoint| {
            let (handler, place) = (interface_of(*point), place.clone());
            Binding { point: *point, handler, order: None, interactive: false, place }
        };
        let bindings: Vec<Binding> = points.iter().map(binding).collect();
        HOST.load(component, self.setup.clone(), workspace, &bindings)
    }

    /// Loads a component and fires a point that it handles.
    pub(crate) fn fire<P: Point>(
        &self,
        component: &[u8],
        input: P::Input,
    ) -> Result<Dispatched<P::Output>, WasmError> {
        self.fire_in::<P>(component, input, None)
    }

    /// Does the same in the agent's place, and reports to a port.
    pub(crate) fn fire_at<P: Point>(
        &self,
        component: &[u8],
        input: P::Input,
        port: Arc<dyn AgentPort>,
    ) -> Result<Dispatched<P::Output>, WasmError> {
        self.fire_in::<P>(component, input, Some(port))
    }

    fn fire_in<P: Point>(
        &self,
        component: &[u8],
        input: P::Input,
        port: Option<Arc<dyn AgentPort>>,
    ) -> Result<Dispatched<P::Output>, WasmError> {
        let plugin = self.load(component, &[P::POINT])?;
        let mut registry = Registry::builder();
        plugin.register(&PluginSource { name: plugin.name(), namespace: NAMESPACE, place: 0 }, &mut registry);
        let registry = registry.build(&BTreeMap::new()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let scope = CallScope {
            run_id: "r1".into(),
            iteration: 7,
            port,
            ..CallScope::new(Arc::new(SystemClock::new()))
        };
        Ok(runtime.block_on(registry.dispatch::<P>(input, &scope)))
    }
}

/// What a plugin contributed, as JSON.
pub(crate) fn contributed<O>(dispatched: &Dispatched<O>) -> Value {
    dispatched.context.plugins().get(NAMESPACE).map_or(Value::Null, |data| Value::Object(data.clone()))
}

/// How the only handler broke: the class and the message.
pub(crate) fn broke<O>(dispatched: &Dispatched<O>) -> (&'static str, String) {
    let [broken] = &dispatched.outcome.broken[..] else { panic!("broken: {:?}", dispatched.outcome.broken) };
    (broken.failure.class.as_str(), broken.failure.message.clone())
}
