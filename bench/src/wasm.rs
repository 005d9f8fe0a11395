//! `cargo xtask bench wasm`: what a handler in a component costs.
//!
//! The gates are absolute: what is measured is work of the processor and of
//! memory, and must stay small beside anything a handler does. The same answer
//! is given by a closure, by a component whose values are typed, and by a
//! component that takes and returns JSON, which reads and writes none itself.

use std::{
    fs,
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use samuel_core::{
    hook::{Call, CallScope, HookPoint, PluginSource, Registry, points},
    model::{
        Location,
        payload::{CallHeader, Failure, Mode, QualityCheckInput, QualityCheckOutput, Turn},
    },
    plugin::{
        Binding, Capabilities, Capability, MANIFEST_FILE,
        wasm::{HostConfig, PluginSetup, WasmHost, WasmPlugin, Workspace, interface_of},
    },
};
use tokio::runtime::Runtime;
use wasmtime::{
    Config, Engine, Store,
    component::{Component, Instance, Linker, TypedFunc},
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::measure::in_turns;

/// How many calls are timed at once.
const BATCH: u32 = 200;
const ROUNDS: usize = 51;
/// How many checks an input has, and the bytes of each: 4 KB together.
const COMMANDS: usize = 32;
const COMMAND_BYTES: usize = 128;

/// Answers with the first command as the reason, once as typed values and once
/// as JSON that stays as it is.
const GUEST: &str = r#"(module
    (memory (export "memory") 2)
    (global $top (mut i32) (i32.const 8192))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $top) (i32.const 15)) (i32.const -16)))
        (global.set $top (i32.add (local.get $at) (local.get 3)))
        (local.get $at))
    (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
        (local $first i32)
        (global.set $top (i32.const 8192))
        (local.set $first (i32.load offset=64 (local.get 0)))
        (i32.store8 (i32.const 1028) (i32.const 1))
        (i32.store8 (i32.const 1032) (i32.const 1))
        (i32.store (i32.const 1036) (i32.load (local.get $first)))
        (i32.store (i32.const 1040) (i32.load offset=4 (local.get $first)))
        (i32.const 1024))
    (func (export "echo") (param i32 i32) (result i32)
        (global.set $top (i32.const 8192))
        (i32.store (i32.const 1024) (local.get 0))
        (i32.store (i32.const 1028) (local.get 1))
        (i32.const 1024)))"#;

const WORLD: &str = "package xtask:bench;
world guest {
    export samuel:plugin/quality-check@1.0.0;
    export echo: func(document: string) -> string;
}";

/// Measures and prints what handlers in components cost. Each argument is a
/// component that is measured as well: what it takes to compile, load and start
/// it.
///
/// # Errors
/// Fails where it is too much, or cannot be measured.
pub(super) fn run(components: &[String]) -> Result<()> {
    let bytes = guest()?;
    let bench = Bench::new(&bytes)?;
    let directory = tempfile::tempdir_in(crate::workspace::target())?;
    let [native, fresh, warm, json, fresh_json] = bench.calls()?;
    let (compiled, cached) = loads(&bytes, directory.path())?;
    println!("{:<58}{:>11}{:>11}", "", "takes", "at most");
    let gates = [
        ("a call with 4 KB, on an instance of its own", fresh, 80),
        ("a call with 4 KB, on an instance that is kept", warm, 15),
        ("loading a component that was compiled before", cached, 3_000),
    ];
    let mut missed = Vec::new();
    for (name, took, limit) in gates {
        let limit = Duration::from_micros(limit);
        let verdict = if took <= limit { "pass" } else { "FAIL" };
        println!("{name:<58}{:>11}{:>11}   {verdict}", microseconds(took), microseconds(limit));
        if took > limit {
            missed.push(name);
        }
    }
    for (name, took) in [
        ("the same answer by a closure", native),
        ("the same answer as JSON, on an instance that is kept", json),
        ("the same answer as JSON, on an instance of its own", fresh_json),
        ("compiling the component", compiled),
    ] {
        println!("{name:<58}{:>11}", microseconds(took));
    }
    for component in components {
        measure_component(component, &bench.runtime)?;
    }
    ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

/// Measures a component that somebody built.
fn measure_component(path: &str, runtime: &Runtime) -> Result<()> {
    let bytes = fs::read(path)?;
    let directory = tempfile::tempdir_in(crate::workspace::target())?;
    let host = WasmHost::new(HostConfig {
        cache_dir: Some(directory.path().join("cache")),
        state_dir: Some(directory.path().join("state")),
        ..HostConfig::default()
    })?;
    let began = Instant::now();
    let inspected = host.inspect(&bytes)?;
    let compiled = began.elapsed();
    let mut plugin = None;
    let [loaded] = in_turns(
        11,
        [&mut || {
            let asked =
                Capability::ALL.into_iter().fold(Capabilities::default(), |all, one| all.with(one, ["none"]));
            let setup = PluginSetup { name: "samuel-bench".to_owned(), asked, ..PluginSetup::default() };
            let workspace = Arc::new(Workspace::new("/", "/nonexistent"));
            let bindings: Vec<Binding> = inspected.points.iter().map(|point| bind(*point)).collect();
            plugin = Some(host.load(&bytes, setup, workspace, &bindings)?);
            Ok(())
        }],
    )?;
    let plugin = plugin.context("there was no round")?;
    let [started] = in_turns(
        51,
        [&mut || {
            let started = runtime.block_on(plugin.try_start(Duration::from_secs(60)));
            started.map_err(|failure| anyhow::anyhow!("{failure} {:?}", failure.details))
        }],
    )?;
    let handles: Vec<&str> = inspected.points.iter().map(|point| point.as_str()).collect();
    println!("{path}: {} KB, handles {}", bytes.len() / 1_000, handles.join(", "));
    for (name, took) in [("compiled in", compiled), ("loaded in", loaded), ("started in", started)] {
        println!("    {name:<12}{:>14}", microseconds(took));
    }
    Ok(())
}

/// Makes the component.
fn guest() -> Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    resolve.push_dir(crate::workspace::root().join("wit/v1"))?;
    let package = resolve.push_str("guest.wit", WORLD)?;
    let world = resolve.select_world(&[package], Some("guest"))?;
    let mut module = wat::parse_str(GUEST)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
    ComponentEncoder::default().module(&module)?.encode()
}

/// Measures what it takes to load the component: for the first time, and from
/// the cache.
fn loads(bytes: &[u8], directory: &Path) -> Result<(Duration, Duration)> {
    let cache = directory.join("cache");
    let config = || HostConfig {
        cache_dir: Some(cache.clone()),
        state_dir: Some(directory.join("state")),
        ..HostConfig::default()
    };
    let [compiled] = in_turns(
        5,
        [&mut || {
            fs::remove_dir_all(&cache).or_else(ignore_missing)?;
            load(&WasmHost::new(config())?, bytes).map(drop)
        }],
    )?;
    let host = WasmHost::new(config())?;
    let [cached] = in_turns(ROUNDS, [&mut || load(&host, bytes).map(drop)])?;
    Ok((compiled, cached))
}

fn ignore_missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn load(host: &WasmHost, bytes: &[u8]) -> Result<WasmPlugin> {
    let setup = PluginSetup { name: "samuel-bench".to_owned(), ..PluginSetup::default() };
    let workspace = Arc::new(Workspace::new("/", "/nonexistent"));
    Ok(host.load(bytes, setup, workspace, &[bind(HookPoint::QualityCheck)])?)
}

/// Binds a point to its standard interface.
fn bind(point: HookPoint) -> Binding {
    let place = Location { file: MANIFEST_FILE.into(), line: None, column: None };
    Binding { point, handler: interface_of(point), order: None, interactive: false, place }
}

/// What the calls share.
struct Bench {
    runtime: Runtime,
    scope: CallScope,
    input: QualityCheckInput,
    native: Registry,
    component: Registry,
    kept: Kept,
}

/// Instances outside of a host, of the same component.
struct Kept {
    engine: Engine,
    component: Component,
    linker: Linker<()>,
    store: std::cell::RefCell<Store<()>>,
    instance: Instance,
    header: CallHeader,
}

type Params<'a> = (&'a CallHeader, &'a QualityCheckInput, Option<&'a QualityCheckOutput>);
type Returned = (Result<QualityCheckOutput, Failure>,);

impl Bench {
    fn new(bytes: &[u8]) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let mut native = Registry::builder();
        native.api::<points::QualityCheck, _>("a", None, async |call: Call<points::QualityCheck>| {
            let reason = call.input().commands.first().cloned();
            Ok(QualityCheckOutput { reason, ..QualityCheckOutput::default() })
        });
        let mut component = Registry::builder();
        let plugin = load(&WasmHost::new(HostConfig::default())?, bytes)?;
        let source = PluginSource { name: plugin.name(), namespace: "bench", place: 0 };
        plugin.register(&source, &mut component);
        let input = QualityCheckInput {
            commands: vec!["x".repeat(COMMAND_BYTES); COMMANDS],
            ..QualityCheckInput::default()
        };
        Ok(Self {
            runtime,
            scope: super::scope(),
            input,
            native: native.build(&Default::default())?,
            component: component.build(&Default::default())?,
            kept: Kept::new(bytes).map_err(boxed)?,
        })
    }

    /// Measures each kind of call.
    fn calls(&self) -> Result<[Duration; 5]> {
        let times = in_turns(
            ROUNDS,
            [
                &mut || self.batch(async || self.fire(&self.native).await),
                &mut || self.batch(async || self.fire(&self.component).await),
                &mut || self.batch(async || self.kept.typed(&self.input).map_err(boxed)),
                &mut || self.batch(async || self.kept.json(&self.input).map_err(boxed)),
                &mut || self.batch(async || self.kept.fresh_json(&self.input).map_err(boxed)),
            ],
        )?;
        Ok(times.map(|time| time / BATCH))
    }

    async fn fire(&self, registry: &Registry) -> Result<()> {
        let fired = registry.dispatch::<points::QualityCheck>(self.input.clone(), &self.scope).await;
        ensure!(fired.output.reason.is_some(), "{:?}", fired.outcome);
        black_box(fired);
        Ok(())
    }

    fn batch(&self, work: impl AsyncFn() -> Result<()>) -> Result<()> {
        self.runtime.block_on(async {
            for _ in 0..BATCH {
                work().await?;
            }
            Ok(())
        })
    }
}

impl Kept {
    fn new(bytes: &[u8]) -> wasmtime::Result<Self> {
        // As in a host, the guest looks at the epoch.
        let engine = Engine::new(Config::new().epoch_interruption(true))?;
        let component = Component::from_binary(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        linker.instance("samuel:plugin/types@1.0.0")?;
        let mut store = endless(&engine);
        let instance = linker.instantiate(&mut store, &component)?;
        let header = CallHeader {
            point: "quality.check".into(),
            handler_id: "samuel-bench:quality-check".into(),
            run_id: "20261121T100000Z-01234567".into(),
            session: "project".into(),
            iteration: 1,
            mode: Mode::Implementation,
            turn: Turn::Main,
            deadline_ms: 300_000,
            preview: false,
            namespace: "bench".into(),
        };
        Ok(Self { engine, component, linker, store: store.into(), instance, header })
    }

    fn typed(&self, input: &QualityCheckInput) -> wasmtime::Result<()> {
        let store = &mut *self.store.borrow_mut();
        let interface =
            self.instance.get_export_index(&mut *store, None, "samuel:plugin/quality-check@1.0.0");
        let index = self.instance.get_export_index(&mut *store, interface.as_ref(), "run");
        let index = index.ok_or_else(|| wasmtime::format_err!("there is no `run`"))?;
        let run: TypedFunc<Params<'_>, Returned> = self.instance.get_typed_func(&mut *store, index)?;
        let (answer,) = run.call(&mut *store, (&self.header, input, None))?;
        wasmtime::ensure!(black_box(answer).is_ok_and(|output| output.ok), "a bad answer");
        Ok(())
    }

    fn json(&self, input: &QualityCheckInput) -> wasmtime::Result<()> {
        echo(&self.instance, &mut self.store.borrow_mut(), input)
    }

    fn fresh_json(&self, input: &QualityCheckInput) -> wasmtime::Result<()> {
        let mut store = endless(&self.engine);
        let instance = self.linker.instantiate(&mut store, &self.component)?;
        echo(&instance, &mut store, input)
    }
}

/// Makes a store whose epoch never ends.
fn endless(engine: &Engine) -> Store<()> {
    let mut store = Store::new(engine, ());
    store.set_epoch_deadline(u64::MAX / 2);
    store
}

/// Sends the input as JSON and reads it back, which is about what reading an
/// answer of its size takes.
fn echo(instance: &Instance, store: &mut Store<()>, input: &QualityCheckInput) -> wasmtime::Result<()> {
    let echo: TypedFunc<(&str,), (String,)> = instance.get_typed_func(&mut *store, "echo")?;
    let (document,) = echo.call(&mut *store, (&serde_json::to_string(input)?,))?;
    black_box(serde_json::from_str::<QualityCheckInput>(&document)?);
    Ok(())
}

/// Errors of wasmtime are none of the standard library's.
fn boxed(error: wasmtime::Error) -> anyhow::Error {
    anyhow::Error::from_boxed(error.into())
}

fn microseconds(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1_000_000.0)
}
