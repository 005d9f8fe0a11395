//! Components.
//!
//! One component stands for all rows: `guest/`, which handles every point and is
//! told by its settings what to do. It is built once in a run of the suite, from
//! the guest crate as any plugin is, and runs in the host that runs installed
//! plugins. Every row applies; what hangs waits in the host, what ignores its
//! deadline is busy in code of its own.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use samuel_core::{
    hook::{HookPoint, RegistryBuilder},
    model::Location,
    plugin::{
        Binding, Capabilities, Capability, MANIFEST_FILE,
        wasm::{HostConfig, PluginSetup, WasmHost, WasmPlugin, Workspace, interface_of},
    },
    process::Supervisor,
};
use samuel_tests::example::{TARGET, target_is_installed};
use serde_json::json;

use crate::{
    point::at_point,
    row::{Break, HandlerRow},
    tier::{Stage, Tier, file},
};

/// What supervises the commands of components.
const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");

/// Components.
pub(crate) struct Wasm;

impl Tier for Wasm {
    fn name(&self) -> &'static str {
        "wasm"
    }

    fn missing(&self) -> Option<String> {
        match target_is_installed(TARGET) {
            Ok(true) => None,
            Ok(false) => Some(format!("the target {TARGET} is not installed")),
            Err(error) => Some(error),
        }
    }

    fn abandons(&self) -> bool {
        false
    }

    fn register(&self, point: HookPoint, row: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder) {
        let plugin = loaded(row);
        at_point!(point, P => {
            let handler = plugin.handler::<P>().expect("the guest handles every point");
            file::<P>(handler, row, stage, registry);
        });
    }
}

/// One host for all rows; what it compiles is kept over runs.
static HOST: LazyLock<WasmHost> = LazyLock::new(|| {
    let place = |name| Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    let (cache_dir, state_dir) = (place("wasm-cache"), place("wasm-state"));
    WasmHost::new(HostConfig { cache_dir, state_dir, ..HostConfig::default() }).unwrap()
});

/// Loads the guest with what a row says of a handler, once for each that says
/// the same.
fn loaded(row: &HandlerRow) -> WasmPlugin {
    static PLUGINS: Mutex<Option<HashMap<String, WasmPlugin>>> = Mutex::new(None);
    let breaks = row.breaks.map(|breaks| match breaks {
        Break::Fails => "fails",
        Break::Panics => "panics",
        Break::Hangs => "hangs",
        Break::Ignores => "ignores",
    });
    let config = json!({
        "answer": row.answer, "contribute": row.contribute, "breaks": breaks, "message": row.message,
        "warns": row.warns, "says": row.says, "asks": row.asks, "starts": row.supervised,
    });
    let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    let plugin = plugins.get_or_insert_default().entry(config.to_string()).or_insert_with(|| {
        let place = Location { file: MANIFEST_FILE.into(), line: None, column: None };
        let bindings: Vec<Binding> = HookPoint::ALL
            .iter()
            .map(|point| {
                let (handler, place) = (interface_of(*point), place.clone());
                Binding { point: *point, handler, order: None, interactive: false, place }
            })
            .collect();
        // No row has files; the directory is only named.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let workspace = Workspace::new(root, root.join("parity-scratch"));
        // A component has the host start its commands, and the host names their supervisors.
        let workspace = Arc::new(workspace.supervisor(Supervisor::Helper(SAMUEL.into())));
        let granted = Capabilities::default()
            .with(Capability::Exec, ["/bin/sh -c :"])
            .with(Capability::AgentEnv, ["LANG", "MY_FLAG"]);
        let (name, asked) = ("parity".to_owned(), granted.clone());
        let setup = PluginSetup { name, asked, granted, config };
        HOST.load(guest(), setup, workspace, &bindings).unwrap()
    });
    plugin.clone()
}

/// Returns the guest, building it at first.
fn guest() -> &'static [u8] {
    static GUEST: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    GUEST.get_or_init(build).as_ref().unwrap_or_else(|error| panic!("{error}"))
}

fn build() -> Result<Vec<u8>, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("parity/guest");
    // Where the example plugin is built too, which has the same dependencies.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-target");
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--target", TARGET, "--target-dir"])
        .arg(&target)
        .current_dir(source)
        // What the tests are built with is not for the guest.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("the guest does not build:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let component: PathBuf = target.join(TARGET).join("release/parity_guest.wasm");
    fs::read(&component).map_err(|error| format!("{}: {error}", component.display()))
}
