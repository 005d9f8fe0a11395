//! What a tier has to bring, and what all tiers share.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError},
};

use samuel_core::{
    hook::{Call, Handler, HookPoint, Point, RegistryBuilder},
    model::payload::CallHeader,
    testing::FakePlugin,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::row::HandlerRow;

/// The id of no process: more than the system has.
pub(crate) const NOBODY: u32 = 1 << 30;

/// A kind of handler.
pub(crate) trait Tier: Send + Sync {
    /// Returns the tier's name in the names of tests.
    fn name(&self) -> &'static str;

    /// Says why the tier cannot run on this machine, if it cannot.
    fn missing(&self) -> Option<String> {
        None
    }

    /// Says whether what a handler was doing goes on after its deadline, or
    /// after the run was stopped.
    fn abandons(&self) -> bool;

    /// Returns words of the table that are others for this tier: what its handlers are called, and the
    /// class of one that panics.
    fn words(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Says whether one of its handlers can do what a row says, at a point; most can do anything.
    fn can(&self, _: HookPoint, _: &HandlerRow) -> bool {
        true
    }

    /// Says whether its handlers tell the user why they refuse, beside the reason.
    fn tells_reasons(&self) -> bool {
        false
    }

    /// Makes a handler that behaves as a row says, and registers it.
    fn register(&self, point: HookPoint, handler: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder);
}

/// What a row is played on.
#[derive(Clone, Default)]
pub(crate) struct Stage {
    /// The names of the plugins in samuel.toml, in order.
    pub(crate) plugins: Vec<String>,
    /// Lets go of the handlers that ignore everything else.
    pub(crate) curtain: Arc<Curtain>,
    /// The project of the run, where there is one whose files count.
    project: Option<PathBuf>,
    /// Where handlers that are files are.
    directory: Arc<OnceLock<TempDir>>,
}

impl Stage {
    /// Sets the stage for the plugins of samuel.toml, in its order.
    pub(crate) fn of(plugins: Vec<String>) -> Self {
        Self { plugins, ..Self::default() }
    }

    /// Sets the stage for a run of a project, in which files of handlers have to lie.
    pub(crate) fn in_project(root: &Path) -> Self {
        Self { project: Some(root.to_owned()), ..Self::default() }
    }

    /// Returns the project whose files a handler is made of: that of the run, else one of its own.
    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.project.clone().unwrap_or_else(|| self.directory().join(name))
    }

    /// Returns a directory that lasts as long as the row.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.get_or_init(|| tempfile::tempdir().unwrap()).path()
    }

    /// Returns a plugin's place in samuel.toml.
    pub(crate) fn place(&self, plugin: &str) -> u32 {
        let place = self.plugins.iter().position(|name| name == plugin);
        u32::try_from(place.unwrap_or_default()).unwrap()
    }
}

/// Falls at the end of a row.
#[derive(Default)]
pub(crate) struct Curtain(Mutex<bool>, Condvar);

impl Curtain {
    /// Blocks the thread until the end.
    pub(crate) fn wait(&self) {
        let mut fallen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*fallen {
            fallen = self.1.wait(fallen).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn fall(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}

/// Registers a handler as what a row says it is.
pub(crate) fn file<P: Point>(
    handler: Arc<dyn Handler<P>>,
    row: &HandlerRow,
    stage: &Stage,
    registry: &mut RegistryBuilder,
) {
    match row.id.split_once(':') {
        None => registry.default_handler::<P, _>(handler),
        Some(("api", name)) => registry.api::<P, _>(name, row.order, handler),
        Some((plugin, name)) => {
            let fake = FakePlugin::new(plugin).place(stage.place(plugin));
            let fake = match row.order {
                Some(order) => fake.handler_at::<P, _>(name, order, handler),
                None => fake.handler::<P, _>(name, handler),
            };
            fake.register(registry);
        }
    }
}

/// Returns the fields of an answer with its texts filled from a call.
pub(crate) fn filled<P: Point>(answer: &Map<String, Value>, call: &Call<P>) -> Value {
    let envelope = json!({
        "call": serde_json::to_value::<&CallHeader>(call.header()).unwrap(),
        "input": serde_json::to_value(call.input()).unwrap(),
        "previous": serde_json::to_value(call.previous()).unwrap(),
        "context": serde_json::to_value(call.context()).unwrap(),
    });
    fill(&Value::Object(answer.clone()), &envelope)
}

fn fill(value: &Value, envelope: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(fill_text(text, envelope)),
        Value::Array(items) => items.iter().map(|item| fill(item, envelope)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), fill(value, envelope))).collect())
        }
        other => other.clone(),
    }
}

fn fill_text(text: &str, envelope: &Value) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (path, tail) = after.split_once('}').unwrap();
        filled.push_str(before);
        match envelope.pointer(&format!("/{}", path.replace('.', "/"))) {
            Some(Value::String(text)) => filled.push_str(text),
            Some(Value::Null) | None => {}
            Some(other) => filled.push_str(&other.to_string()),
        }
        rest = tail;
    }
    filled + rest
}

/// Returns a point's default as JSON with some fields put over it.
pub(crate) fn over<T: Default + serde::Serialize + serde::de::DeserializeOwned>(
    fields: &Value,
) -> Result<T, serde_json::Error> {
    let mut whole = serde_json::to_value(T::default())?;
    if let (Value::Object(whole), Value::Object(fields)) = (&mut whole, fields) {
        whole.extend(fields.clone());
    }
    serde_json::from_value(whole)
}
