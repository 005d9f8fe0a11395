//! Makes components of a few lines, and calls their handlers.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::{
    clock::SystemClock,
    context::{ContextView, PromptContext},
    hook::{CallScope, ChainSpec, Dispatched, HookFailure, HookPoint, PluginSource, Point, Registry},
    model::{Location, payload::Mode},
    plugin::wasm::{HostConfig, PluginSetup, WasmError, WasmHost, WasmPlugin, Workspace},
    plugin::{Binding, MANIFEST_FILE},
};

/// Where handlers find the parts of what they are given, at the address of
/// their one parameter. Every call header has the same size.
pub(super) const INPUT: usize = 64;

/// What every module begins with: memory, an allocator that never frees, and
/// `$zero`, an address from which on everything is zero. Read as any point's
/// result it is an answer in which all fields are empty and `ok` is false.
const PRELUDE: &str = r#"
    (memory (export "memory") 4)
    (global $top (mut i32) (i32.const 65536))
    (global $zero i32 (i32.const 1024))
    (func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $top) (i32.const 15)) (i32.const -16)))
        (global.set $top (i32.add (local.get $at) (local.get 3)))
        (block $fits (loop $grow
            (br_if $fits (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
            (drop (memory.grow (i32.const 16)))
            (br $grow)))
        (local.get $at))
"#;

/// The host of all tests: the cache keeps what is compiled over runs.
pub(super) static HOST: LazyLock<WasmHost> = LazyLock::new(|| {
    let place = |name| Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp").join(name));
    let (cache_dir, state_dir) = (place("wasm-cache"), place("wasm-state"));
    WasmHost::new(HostConfig { cache_dir, state_dir, ..HostConfig::default() }).unwrap()
});

/// Makes a component. `world` lists imports and exports, such as
/// `export samuel:plugin/quality-check@1.0.0;`; `module` are the fields of a
/// core module behind the prelude.
pub(super) fn component(world: &str, module: &str) -> Vec<u8> {
    encode(world, &format!("(module {} {PRELUDE} {})", imports_of(module), rest_of(module)))
}

/// Imports come before everything else in a module.
fn imports_of(module: &str) -> String {
    module.lines().filter(|line| line.trim_start().starts_with("(import")).collect()
}

fn rest_of(module: &str) -> String {
    let rest = module.lines().filter(|line| !line.trim_start().starts_with("(import"));
    rest.collect::<Vec<_>>().join("\n")
}

/// Wraps a whole core module, given as text.
pub(super) fn encode(world: &str, module: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1")).unwrap();
    let source = format!("package test:plugin; world plugin {{ {world} }}");
    let package = resolve.push_str("test.wit", &source).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    let mut module = wat::parse_str(module).unwrap_or_else(|error| panic!("{error}\n{module}"));
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// A component whose only export is the handler of `quality.check`, with a
/// body that gets an address and leaves one.
pub(super) fn quality_check(body: &str) -> Vec<u8> {
    component(
        "export samuel:plugin/quality-check@1.0.0;",
        &format!(
            r#"(func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32) {body})"#
        ),
    )
}

/// A plugin's project and what it is loaded with.
pub(super) struct Bench {
    pub(super) dir: TempDir,
    pub(super) setup: PluginSetup,
    pub(super) workspace: Option<Workspace>,
}

impl Bench {
    /// Starts with an empty project, no capabilities and no configuration.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let setup = PluginSetup { name: "samuel-test".into(), ..PluginSetup::default() };
        let mut bench = Self { dir, setup, workspace: None };
        bench.workspace = Some(bench.new_workspace());
        bench
    }

    /// Describes the project, to be added to.
    pub(super) fn new_workspace(&self) -> Workspace {
        Workspace::new(self.dir.path(), self.dir.path().join(".samuel/run/plugins"))
    }

    /// Loads a component with one handler.
    pub(super) fn load(
        &mut self,
        bytes: &[u8],
        point: HookPoint,
        handler: &str,
    ) -> Result<WasmPlugin, WasmError> {
        let binding = bind(point, handler);
        let workspace = Arc::new(self.workspace.take().unwrap());
        HOST.load(bytes, self.setup.clone(), workspace, &[binding])
    }

    /// Loads a component and fires a point it handles by its standard
    /// interface.
    pub(super) async fn fire<P: Point>(&mut self, bytes: &[u8], input: P::Input) -> Dispatched<P::Output> {
        let handler = crate::plugin::wasm::interface_of(P::POINT);
        let plugin = self.load(bytes, P::POINT, &handler).unwrap();
        dispatch::<P>(&plugin, input, ChainSpec::default(), &CancellationToken::new()).await
    }
}

/// Binds a point to a handler.
pub(super) fn bind(point: HookPoint, handler: &str) -> Binding {
    let place = Location { file: MANIFEST_FILE.into(), line: None, column: None };
    Binding { point, handler: handler.to_owned(), order: None, interactive: false, place }
}

/// Registers a plugin alone and fires a point.
pub(super) async fn dispatch<P: Point>(
    plugin: &WasmPlugin,
    input: P::Input,
    spec: ChainSpec,
    cancel: &CancellationToken,
) -> Dispatched<P::Output> {
    registry(plugin, P::POINT, spec).dispatch::<P>(input, &scope(cancel)).await
}

pub(super) fn registry(plugin: &WasmPlugin, point: HookPoint, spec: ChainSpec) -> Registry {
    let mut registry = Registry::builder();
    let source = PluginSource { name: plugin.name(), namespace: "test", place: 0 };
    plugin.register(&source, &mut registry);
    registry.build(&BTreeMap::from([(point, spec)])).unwrap()
}

pub(super) fn scope(cancel: &CancellationToken) -> CallScope {
    let mut base = PromptContext::default();
    base.samuel.version = "2.0.0".to_owned();
    CallScope {
        run_id: "r1".into(),
        session: "s".into(),
        iteration: 7,
        mode: Mode::Discovery,
        context: ContextView::new(Arc::new(base)),
        cancel: cancel.clone(),
        ..CallScope::new(Arc::new(SystemClock::new()))
    }
}

/// Returns how the one handler broke.
pub(super) fn broke<O>(dispatched: &Dispatched<O>) -> &HookFailure {
    let [broken] = &dispatched.outcome.broken[..] else {
        panic!("the handler did not break: {:?}", dispatched.outcome)
    };
    &broken.failure
}

/// Makes a component that handles `quality.check` with one call of the host
/// and says what came of it: see [`probed`]. `signature` is that of the
/// lowered import, `args` pushes its arguments, `data` holds texts from address
/// 512 on, and `at` is where the value begins in what the host returns.
pub(super) fn probe(import: &str, signature: &str, args: &str, data: &str, at: usize) -> Vec<u8> {
    let (interface, function) = import.split_once('.').unwrap();
    component(
        &format!("import samuel:plugin/{interface}@1.0.0; export samuel:plugin/quality-check@1.0.0;"),
        &format!(
            r#"(import "samuel:plugin/{interface}@1.0.0" "{function}" (func $probed (param {signature} i32)))
            (data (i32.const 512) "{data}")
            (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
                (call $probed {args} (i32.const 2048))
                (if (i32.eqz (i32.load8_u (i32.const 2048)))
                    (then
                        (i32.store8 (i32.const 1028) (i32.const 1))
                        (i32.store8 (i32.const 1032) (i32.const 1))
                        (i32.store (i32.const 1036) (i32.load (i32.const {value})))
                        (i32.store (i32.const 1040) (i32.load (i32.const {length}))))
                    (else
                        (i32.store (i32.const 1044) (i32.const 3072))
                        (i32.store (i32.const 1048) (i32.const 1))
                        (i32.store (i32.const 3080) (i32.load (i32.const 2064)))
                        (i32.store (i32.const 3084) (i32.load (i32.const 2068)))
                        (i32.store8 (i32.const 3088) (i32.const 1))
                        (i32.store (i32.const 3092) (i32.load8_u (i32.const 2056)))
                        (if (i32.eqz (i32.load8_u (i32.const 2056)))
                            (then
                                (i32.store (i32.const 3072) (i32.load (i32.const 2072)))
                                (i32.store (i32.const 3076) (i32.load (i32.const 2076)))))))
                (i32.const 1024))"#,
            value = 2048 + at,
            length = 2052 + at,
        ),
    )
}

/// What a host function answered to a [`probe`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Probed {
    /// The value, as text.
    Value(String),
    /// It was denied: the capability and the target.
    Denied(String, String),
    /// Another error: its place among the cases, and its text.
    Error(i32, String),
}

pub(super) fn denied(capability: &str, target: &str) -> Probed {
    Probed::Denied(capability.to_owned(), target.to_owned())
}

pub(super) fn value(text: &str) -> Probed {
    Probed::Value(text.to_owned())
}

/// Calls a [`probe`] and reads what it says.
pub(super) async fn probed(bench: &mut Bench, bytes: &[u8]) -> Probed {
    let input = crate::model::payload::QualityCheckInput::default();
    let fired = bench.fire::<crate::hook::points::QualityCheck>(bytes, input).await;
    assert!(fired.outcome.broken.is_empty(), "{:?}", fired.outcome.broken);
    match &fired.output.failures[..] {
        [] => Probed::Value(fired.output.reason.unwrap()),
        [failure] if failure.exit_code == Some(0) => {
            Probed::Denied(failure.message.clone(), failure.command.clone())
        }
        [failure] => Probed::Error(failure.exit_code.unwrap(), failure.message.clone()),
        more => panic!("{more:?}"),
    }
}

/// Paths that would lead out of the project of [`project_with_ways_out`].
pub(in crate::plugin::wasm) const ESCAPES: [&str; 13] = [
    "../secret",
    "a/../../secret",
    "/etc/passwd",
    "/workspace/../secret",
    "/workspacesecret",
    "//etc/passwd",
    "out",
    "up/secret",
    "up",
    "etc/passwd",
    "a/fake/secret",
    "twice",
    "../project/../secret",
];

/// Makes a project below a directory, with links that lead out of it to a file
/// `secret` beside it.
pub(in crate::plugin::wasm) fn project_with_ways_out(outside: &Path) -> PathBuf {
    let root = outside.join("project");
    fs::create_dir_all(root.join("a")).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    for (to, link) in [
        ("../secret", "out"),
        ("..", "up"),
        ("/etc", "etc"),
        ("/workspace/../..", "a/fake"),
        ("out", "twice"),
    ] {
        symlink(to, root.join(link)).unwrap();
    }
    root
}

/// Makes a component that sends a GET request.
pub(super) fn get(url: &str) -> Vec<u8> {
    let args = format!(
        "(i32.const 512) (i32.const 3) (i32.const 515) (i32.const {})
         (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)",
        url.len()
    );
    probe("http.send", "i32 i32 i32 i32 i32 i32 i32 i32 i32 i64", &args, &format!("GET{url}"), 8)
}
