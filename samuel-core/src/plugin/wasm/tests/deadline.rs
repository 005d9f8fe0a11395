//! A call ends at its deadline, whatever the component does then: at most
//! [`GRACE`] later, host functions included.
//!
//! A busy machine is late by itself. So every case has several tries, and the
//! best one counts: what is not stopped is late each time. The clock of dispatch
//! stands still, so that what counts here are the bounds of this tier.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::kit::{Bench, component, get, probe, quality_check, registry, scope};
use crate::{
    clock::SystemClock,
    hook::{BreakClass, CallScope, ChainSpec, HookPoint, points},
    model::{Plan, payload::QualityCheckInput},
    plugin::{Capabilities, Capability, wasm::WasmPlugin},
    state::{Actor, Existing, FileStore, PlanStore, RunDir},
    testing::VirtualClock,
};

/// The time of each call.
const LIMIT: Duration = Duration::from_millis(200);
/// How much later it may end.
const GRACE: Duration = Duration::from_millis(50);
/// How often a case is tried.
const TRIES: u32 = 10;
/// Long enough for a loaded machine.
const SOON: Duration = Duration::from_secs(15);

/// Fires a handler of `quality.check` until a call has ended on time, and
/// returns how the last one broke; nothing where it answered.
async fn ends_on_time(plugin: &WasmPlugin) -> Option<BreakClass> {
    let mut best = Duration::MAX;
    for _ in 0..TRIES {
        let spec = ChainSpec { strict: Some(false), timeout: Some(LIMIT), ..ChainSpec::default() };
        let registry = registry(plugin, HookPoint::QualityCheck, spec);
        let clock = Arc::new(VirtualClock::new());
        let scope = CallScope { clock, ..scope(&CancellationToken::new()) };
        let started = Instant::now();
        let fired = registry.dispatch::<points::QualityCheck>(QualityCheckInput::default(), &scope).await;
        let took = started.elapsed();
        assert!(took > LIMIT / 2, "it was not kept busy: {took:?}");
        best = best.min(took.saturating_sub(LIMIT));
        if best <= GRACE {
            return fired.outcome.broken.first().map(|broken| broken.failure.class);
        }
    }
    panic!("a call outlived its deadline by {best:?} at least")
}

/// Loads a handler of `quality.check`.
fn load(bench: &mut Bench, bytes: &[u8]) -> WasmPlugin {
    bench.load(bytes, HookPoint::QualityCheck, "quality-check").unwrap()
}

/// A project whose plugin is granted a capability.
fn granted(capability: Capability, target: &str) -> Bench {
    let mut bench = Bench::new();
    bench.setup.asked = Capabilities::default().with(capability, [target]);
    bench.setup.granted = bench.setup.asked.clone();
    bench
}

/// A project whose plugin may run `sh`.
fn with_shell() -> Bench {
    let mut bench = granted(Capability::Exec, "sh");
    bench.workspace = Some(bench.new_workspace().command_env([("PATH".into(), "/usr/bin:/bin".into())]));
    bench
}

/// How `exec.run` is lowered.
const RUN: &str = "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64";

/// The program `sh` with two arguments, as [`shell`] lays them out.
const RUN_SHELL: &str = "(i32.const 512) (i32.const 2) (i32.const 520) (i32.const 2)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)";

/// Lays out `sh -c <script>` from address 512 on.
fn shell(script: &str) -> String {
    let (list, texts) = (r"\18\02\00\00\02\00\00\00\1a\02\00\00", "-c");
    format!(r"sh\00\00\00\00\00\00{list}\{:02x}\00\00\00{texts}{script}", script.len())
}

#[tokio::test]
async fn a_loop_in_the_component_ends() {
    let plugin = load(&mut Bench::new(), &quality_check("(loop $l (br $l)) unreachable"));
    assert_eq!(ends_on_time(&plugin).await, Some(BreakClass::Timeout));
}

#[tokio::test]
async fn a_loop_that_moves_all_of_its_memory_ends() {
    // One instruction that touches 60 MiB is not interrupted half-way.
    let body = "(drop (memory.grow (i32.const 960)))
        (loop $l (memory.fill (i32.const 131072) (i32.const 1) (i32.const 62914560)) (br $l))
        unreachable";
    let plugin = load(&mut Bench::new(), &quality_check(body));
    assert_eq!(ends_on_time(&plugin).await, Some(BreakClass::Timeout));
}

#[tokio::test]
async fn a_component_that_does_not_start_ends() {
    let bytes = component(
        "export samuel:plugin/quality-check@1.0.0;",
        r#"(func $start (loop $l (br $l)))
        (start $start)
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32) (global.get $zero))"#,
    );
    let plugin = load(&mut Bench::new(), &bytes);
    assert_eq!(ends_on_time(&plugin).await, Some(BreakClass::Timeout));

    let mut best = Duration::MAX;
    for _ in 0..TRIES {
        let started = Instant::now();
        let failure = plugin.try_start(LIMIT).await.unwrap_err();
        assert_eq!(failure.class, BreakClass::Timeout);
        best = best.min(started.elapsed().saturating_sub(LIMIT));
    }
    assert!(best <= GRACE, "a trial outlived its deadline by {best:?} at least");
}

#[tokio::test]
async fn a_command_that_does_not_end_is_left_and_ended() {
    let mut bench = with_shell();
    let script = "trap '' TERM; echo $$ >> pids; while :; do sleep 1000; done";
    let plugin = load(&mut bench, &probe("exec.run", RUN, RUN_SHELL, &shell(script), 12));
    // The component is told a little before the end, and may answer in time.
    assert!(matches!(ends_on_time(&plugin).await, None | Some(BreakClass::Timeout)));

    let pids = fs::read_to_string(bench.dir.path().join("pids")).unwrap();
    let started = Instant::now();
    let is_running = |pid: &str| Path::new("/proc").join(pid).exists();
    while pids.lines().any(is_running) {
        assert!(started.elapsed() < SOON, "a command survived its call");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_component_that_runs_one_command_after_the_other_ends() {
    let module = format!(
        r#"(import "samuel:plugin/exec@1.0.0" "run" (func $run (param {RUN} i32)))
        (data (i32.const 512) "{}")
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
            (loop $l (call $run {RUN_SHELL} (i32.const 2048)) (br $l)) unreachable)"#,
        shell("exec sleep 1000")
    );
    let world = "import samuel:plugin/exec@1.0.0; export samuel:plugin/quality-check@1.0.0;";
    let plugin = load(&mut with_shell(), &component(world, &module));
    assert_eq!(ends_on_time(&plugin).await, Some(BreakClass::Timeout));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_left() {
    // Connections are taken, and nobody reads from them.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = server.local_addr().unwrap().to_string();
    let send = get(&format!("http://{here}/"));
    let plugin = load(&mut granted(Capability::NetworkOutbound, &here), &send);
    assert!(matches!(ends_on_time(&plugin).await, None | Some(BreakClass::Timeout)));
}

#[tokio::test]
async fn a_plan_that_somebody_keeps_locked_is_left() {
    // Taking the lock blocks a thread for ten seconds, which nothing interrupts.
    let mut bench = granted(Capability::SamuelApi, "write");
    let run_dir = RunDir::new(bench.dir.path());
    let store = FileStore::new(run_dir.clone(), Arc::new(SystemClock::new()));
    store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
    bench.workspace = Some(bench.new_workspace().store(Arc::new(store)));
    let args = "(i32.const 512) (i32.const 6) (i32.const 2) (i32.const 1)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)";
    let enqueue = probe("tasks.enqueue", "i32 i32 i32 i32 i32 i32 i32 i32", args, "Second", 8);
    let plugin = load(&mut bench, &enqueue);

    let held = fs::OpenOptions::new().write(true).open(run_dir.lock()).unwrap();
    held.lock().unwrap();
    let ended = ends_on_time(&plugin).await;
    // The runtime waits for its threads when the test ends.
    held.unlock().unwrap();
    assert!(matches!(ended, None | Some(BreakClass::Timeout)), "{ended:?}");
}
