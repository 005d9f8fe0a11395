//! Programs of container images, in both of their modes.
//!
//! One program stands for all rows: it is told by the name of its handler what to do. Its image is made of the Python
//! of this machine, and containers that serve are used for one row after the other, as long as none breaks. A program
//! cannot panic, so it fails with the message of the panic. Every row applies. A container takes longer to start than a row
//! allows that is about a deadline, so those have more time here.

use std::{
    path::Path,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use async_trait::async_trait;
use samuel_core::{
    hook::{Call, Handler, HookFailure, HookPoint, Point, RegistryBuilder, Tier as Kind},
    plugin::{Capabilities, Capability, ImageHandler, ImageMode, ImagePlugin, ImageSetup, LoadOptions},
    process::Supervisor,
    sandbox::{Containers, Image},
};
use samuel_tests::engine::TestEngine;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    point::at_point,
    row::{Break, HandlerRow},
    tier::{NOBODY, Stage, Tier, file},
};

/// What the image runs.
const PROGRAM: &str = include_str!("program.py");
/// The name of the image.
const IMAGE: &str = "localhost/samuel-test-parity";

/// What is called otherwise here: a failure in place of a panic, and deadlines that leave time for the start of a
/// container.
const WORDS: &[(&str, &str)] = &[
    ("panicked", "failed"),
    ("timeout = \"1s\"", "timeout = \"6s\""),
    ("hook = 'timeout = 1'", "hook = 'timeout = 6'"),
    ("within 1s", "within 6s"),
];

/// Programs that serve one call after the other.
pub(crate) struct Serving;

/// Programs that are started for each call.
pub(crate) struct Called;

impl Tier for Serving {
    fn name(&self) -> &'static str {
        "oci-serve"
    }

    fn missing(&self) -> Option<String> {
        ready().as_ref().err().cloned()
    }

    fn abandons(&self) -> bool {
        false
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        WORDS
    }

    fn register(&self, point: HookPoint, row: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder) {
        register(ImageMode::Serve, point, row, stage, registry);
    }
}

impl Tier for Called {
    fn name(&self) -> &'static str {
        "oci-call"
    }

    fn missing(&self) -> Option<String> {
        match std::env::var_os("SAMUEL_LONG") {
            None => Some("a container for each call takes minutes, see --long".to_owned()),
            Some(_) => ready().as_ref().err().cloned(),
        }
    }

    fn abandons(&self) -> bool {
        false
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        WORDS
    }

    fn register(&self, point: HookPoint, row: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder) {
        register(ImageMode::Call, point, row, stage, registry);
    }
}

fn register(
    mode: ImageMode,
    point: HookPoint,
    row: &HandlerRow,
    stage: &Stage,
    registry: &mut RegistryBuilder,
) {
    at_point!(point, P => {
        let handler: Arc<dyn Handler<P>> = Arc::new(Borrowed::new(mode, told::<P>(row)));
        file::<P>(handler, row, stage, registry);
    });
}

/// Tells the program what to do, as the name of its handler.
fn told<P: Point>(row: &HandlerRow) -> String {
    let mut answer = serde_json::to_value(<P as Point>::Output::default()).unwrap();
    let fields = answer.as_object_mut().unwrap();
    fields.extend(row.answer.clone());
    let breaks = row.breaks.map(|breaks| match breaks {
        Break::Fails | Break::Panics => "fails",
        Break::Hangs => "hangs",
        Break::Ignores => "ignores",
    });
    json!({
        "answer": answer, "contribute": row.contribute, "breaks": breaks, "message": row.message,
        "warns": row.warns, "says": row.says, "asks": row.asks, "supervisor": row.supervised.then_some(NOBODY),
    })
    .to_string()
}

/// What all rows share: an engine, an image and a directory.
struct Ready {
    containers: Containers,
    image: Image,
    directory: TempDir,
}

fn ready() -> &'static Result<Ready, String> {
    static READY: LazyLock<Result<Ready, String>> = LazyLock::new(|| {
        let engine = TestEngine::podman()?;
        let image = Image::parse(&engine.import_python(IMAGE, PROGRAM)?)?;
        let directory =
            tempfile::Builder::new().prefix("so-").tempdir_in("/tmp").map_err(|error| error.to_string())?;
        let ready = Ready { containers: engine.containers(&directory.path().join("s")), image, directory };
        // Whatever keeps it from being run keeps all rows.
        made(&ready, ImageMode::Serve).map(|_| ready)
    });
    &READY
}

fn made(ready: &Ready, mode: ImageMode) -> Result<ImagePlugin, String> {
    let setup = ImageSetup {
        name: "parity".to_owned(),
        image: ready.image.clone(),
        mode,
        granted: Capabilities::default()
            .with(Capability::Exec, ["agent"])
            .with(Capability::AgentEnv, ["LANG", "MY_FLAG"]),
        config: serde_json::Map::<String, Value>::new(),
    };
    let options = LoadOptions {
        env: Vec::new(),
        supervisor: Supervisor::GroupOnly,
        cache_dir: None,
        state_dir: None,
        store: None,
        containers: Some(ready.containers.clone()),
    };
    let root: &Path = ready.directory.path();
    ImagePlugin::new(setup, root, &options).map_err(|error| error.to_string())
}

/// Plugins that no row has at the moment: those that serve, and those that are called.
static FREE: OnceLock<[Mutex<Vec<ImagePlugin>>; 2]> = OnceLock::new();

fn free(mode: ImageMode) -> &'static Mutex<Vec<ImagePlugin>> {
    let [serving, called] = FREE.get_or_init(Default::default);
    if mode == ImageMode::Serve { serving } else { called }
}

/// A handler of a plugin that nobody else has meanwhile: one call of another row would keep it waiting.
struct Borrowed {
    handler: ImageHandler,
    plugin: ImagePlugin,
    mode: ImageMode,
}

impl Borrowed {
    fn new(mode: ImageMode, told: String) -> Self {
        let found = free(mode).lock().unwrap_or_else(PoisonError::into_inner).pop();
        let ready = ready().as_ref().unwrap();
        let plugin = found.unwrap_or_else(|| made(ready, mode).unwrap());
        Self { handler: plugin.handler(told).interactive(), plugin, mode }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        free(self.mode).lock().unwrap_or_else(PoisonError::into_inner).push(self.plugin.clone());
    }
}

#[async_trait]
impl<P: Point> Handler<P> for Borrowed {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        Handler::<P>::call(&self.handler, call).await
    }

    fn tier(&self) -> Kind {
        Kind::Oci
    }
}
