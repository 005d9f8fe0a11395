//! Components that mean harm: each ends within its bounds as a typed failure,
//! and what comes after it runs.

use std::{
    fs,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::kit::{
    Bench, ESCAPES, broke, component, denied, dispatch, probe, probed, project_with_ways_out, quality_check,
};
use crate::{
    hook::{BreakClass, Call, ChainSpec, HookPoint, PluginSource, Registry, points},
    model::payload::{QualityCheckInput, QualityCheckOutput},
    plugin::{Capabilities, Capability, wasm::Workspace},
};

/// Long enough for a loaded machine, much shorter than any handler's time.
const SOON: Duration = Duration::from_secs(15);

/// The place of `timed-out` among the errors of the host.
const TIMED_OUT: i32 = 6;

/// Fires a hostile handler of `quality.check` in front of a good one, and
/// returns how it broke.
async fn survived(bytes: &[u8], limit: Duration) -> (BreakClass, String) {
    let started = Instant::now();
    let mut bench = Bench::new();
    let plugin = bench.load(bytes, HookPoint::QualityCheck, "quality-check").unwrap();
    let mut registry = Registry::builder();
    plugin.register(&PluginSource { name: "samuel-test", namespace: "test", place: 0 }, &mut registry);
    registry.api::<points::QualityCheck, _>("good", None, async |_: Call<points::QualityCheck>| {
        Ok(QualityCheckOutput { reason: Some("good".into()), ..Default::default() })
    });
    let spec = ChainSpec { strict: Some(false), timeout: Some(limit), ..ChainSpec::default() };
    let registry = registry.build(&[(HookPoint::QualityCheck, spec)].into()).unwrap();
    let scope = super::kit::scope(&CancellationToken::new());
    let fired = registry.dispatch::<points::QualityCheck>(QualityCheckInput::default(), &scope).await;
    assert_eq!(fired.output.reason.as_deref(), Some("good"), "{:?}", fired.outcome);
    assert!(fired.outcome.abort.is_none());
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    let failure = broke(&fired);
    (failure.class, failure.message.clone())
}

/// Makes a component whose handler does this, and survives it.
async fn survived_doing(body: &str) -> (BreakClass, String) {
    survived(&quality_check(body), SOON * 4).await
}

#[tokio::test]
async fn an_endless_loop_ends_at_its_deadline() {
    let bytes = quality_check("(loop $l (br $l)) unreachable");
    let (class, message) = survived(&bytes, Duration::from_millis(300)).await;
    assert_eq!((class, &*message), (BreakClass::Timeout, "no answer within 0.3s"));
}

#[tokio::test]
async fn an_endless_loop_ends_when_the_run_is_stopped() {
    let bytes = quality_check("(loop $l (br $l)) unreachable");
    let mut bench = Bench::new();
    let plugin = bench.load(&bytes, HookPoint::QualityCheck, "quality-check").unwrap();
    let cancel = CancellationToken::new();
    let input = QualityCheckInput::default();
    let call = dispatch::<points::QualityCheck>(&plugin, input, ChainSpec::default(), &cancel);
    // The loop yields once in an epoch, or this would never run.
    let (fired, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    assert_eq!(broke(&fired).class, BreakClass::Cancelled);
}

#[tokio::test]
async fn memory_ends_at_its_limit() {
    let (class, message) = survived_doing("(drop (memory.grow (i32.const 16384))) (global.get $zero)").await;
    assert_eq!(class, BreakClass::Panicked);
    assert!(message.contains("bytes of memory; the limit is 67108864"), "{message}");
    // Little by little is no way around it, and neither is beginning with it.
    let (class, _) =
        survived_doing("(loop $l (drop (memory.grow (i32.const 16))) (br $l)) unreachable").await;
    assert_eq!(class, BreakClass::Panicked);
    let bytes = component(
        "export samuel:plugin/quality-check@1.0.0;",
        r#"(memory $more 2000)
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32) (global.get $zero))"#,
    );
    let (class, message) = survived(&bytes, SOON).await;
    assert!(class == BreakClass::Panicked && message.contains("bytes of memory"), "{message}");
}

#[tokio::test]
async fn tables_end_at_their_limit() {
    let bytes = component(
        "export samuel:plugin/quality-check@1.0.0;",
        r#"(table $t 1 funcref)
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
            (drop (table.grow $t (ref.null func) (i32.const 50000000))) (global.get $zero))"#,
    );
    let (class, message) = survived(&bytes, SOON).await;
    assert!(class == BreakClass::Panicked && message.contains("table elements"), "{message}");
}

#[tokio::test]
async fn deep_recursion_ends_with_the_stack() {
    let bytes = component(
        "export samuel:plugin/quality-check@1.0.0;",
        r#"(func $down (param i64) (result i64) (i64.add (call $down (local.get 0)) (i64.const 1)))
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
            (drop (call $down (i64.const 1))) (global.get $zero))"#,
    );
    let (class, message) = survived(&bytes, SOON).await;
    assert!(class == BreakClass::Panicked && message.contains("call stack exhausted"), "{message}");
}

#[tokio::test]
async fn a_trap_is_told_wherever_it_happens() {
    let (class, message) = survived_doing("unreachable").await;
    assert!(class == BreakClass::Panicked && message.contains("unreachable"), "{message}");
    let bytes = component(
        "export samuel:plugin/quality-check@1.0.0;",
        r#"(func $start unreachable)
        (start $start)
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32) (global.get $zero))"#,
    );
    let (class, message) = survived(&bytes, SOON).await;
    assert!(class == BreakClass::Panicked && message.contains("unreachable"), "{message}");
    // A check-up finds it before a call does.
    let plugin = Bench::new().load(&bytes, HookPoint::QualityCheck, "quality-check").unwrap();
    assert_eq!(plugin.try_start(SOON).await.map_err(|failure| failure.class), Err(BreakClass::Panicked));
    let good = quality_check("(global.get $zero)");
    let plugin = Bench::new().load(&good, HookPoint::QualityCheck, "quality-check").unwrap();
    assert_eq!(plugin.try_start(SOON).await, Ok(()));
}

#[tokio::test]
async fn answers_that_are_huge_or_make_no_sense_are_bad_output() {
    let bad = [
        // An address outside of memory.
        "(i32.const 2000000000)",
        // A discriminant that is none.
        "(i32.store8 (global.get $zero) (i32.const 9)) (global.get $zero)",
        // A reason that reaches beyond memory.
        "(i32.store8 (i32.const 1032) (i32.const 1)) (i32.store (i32.const 1036) (i32.const 8))
         (i32.store (i32.const 1040) (i32.const 2000000000)) (global.get $zero)",
        // A reason that is no UTF-8.
        "(i32.store8 (i32.const 1032) (i32.const 1)) (i32.store (i32.const 1036) (i32.const 4096))
         (i32.store (i32.const 1040) (i32.const 1)) (i32.store8 (i32.const 4096) (i32.const 255))
         (global.get $zero)",
        // A list that is longer than memory.
        "(i32.store (i32.const 1044) (i32.const 8)) (i32.store (i32.const 1048) (i32.const 200000000))
         (global.get $zero)",
    ];
    for body in bad {
        let (class, message) = survived_doing(body).await;
        assert_eq!(class, BreakClass::BadOutput, "{message}: {body}");
    }
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_bad_output() {
    // A path that is no UTF-8, and one that reaches beyond memory.
    for args in ["(i32.const 512) (i32.const 2)", "(i32.const 512) (i32.const 2000000000)"] {
        let bytes = probe("files-read.read", "i32 i32", args, r"\ff\fe", 8);
        let mut bench = Bench::new();
        bench.setup.asked = Capabilities::default().with(Capability::FilesystemRead, ["/workspace/**"]);
        bench.setup.granted = bench.setup.asked.clone();
        let fired = bench.fire::<points::QualityCheck>(&bytes, QualityCheckInput::default()).await;
        let failure = broke(&fired);
        assert_eq!(failure.class, BreakClass::BadOutput, "{failure}");
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_project() {
    for path in ESCAPES {
        for (import, capability) in [
            ("files-read.read", Capability::FilesystemRead),
            ("files-write.write", Capability::FilesystemWrite),
        ] {
            let bench = Bench::new();
            let outside = bench.dir.path().to_owned();
            let root = project_with_ways_out(&outside);
            let text = format!("(i32.const 512) (i32.const {})", path.len());
            let (signature, args) = match capability {
                Capability::FilesystemRead => ("i32 i32", text),
                _ => ("i32 i32 i32 i32", format!("{text} {text}")),
            };
            let bytes = probe(import, signature, &args, path, 8);
            let mut bench = Bench { workspace: Some(Workspace::new(&root, root.join("scratch"))), ..bench };
            bench.setup.asked = Capabilities::default().with(capability, ["/workspace/**"]);
            bench.setup.granted = bench.setup.asked.clone();
            let answer = probed(&mut bench, &bytes).await;
            assert_eq!(answer, denied(capability.as_str(), path), "{import} {path}");
            assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret", "{path}");
        }
    }
}

#[tokio::test]
async fn a_small_memory_cannot_say_a_huge_answer() {
    // Four thousand extensions, each of which is the same 100 KiB twice.
    let body = "(local $i i32)
        (memory.fill (i32.const 100000) (i32.const 97) (i32.const 102400))
        (loop $l
            (i32.store (i32.add (i32.const 8192) (i32.shl (local.get $i) (i32.const 3))) (i32.const 100000))
            (i32.store (i32.add (i32.const 8196) (i32.shl (local.get $i) (i32.const 3))) (i32.const 102400))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $i) (i32.const 8000))))
        (i32.store (i32.const 1052) (i32.const 8192))
        (i32.store (i32.const 1056) (i32.const 4000))
        (global.get $zero)";
    let (class, message) = survived_doing(body).await;
    assert!(class == BreakClass::BadOutput && message.contains("fuel"), "{class}: {message}");
}

#[tokio::test]
async fn a_host_function_does_not_outlast_the_call() {
    let args = "(i32.const 512) (i32.const 5) (i32.const 520) (i32.const 1)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
        (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)";
    // `sleep` with the one argument `60`: its text is at 528.
    let data = r"sleep\00\00\00\10\02\00\00\02\00\00\0060";
    let sleep = probe("exec.run", "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64", args, data, 12);
    let mut bench = Bench::new();
    bench.setup.asked = Capabilities::default().with(Capability::Exec, ["sleep"]);
    bench.setup.granted = bench.setup.asked.clone();
    let env = [("PATH".into(), "/usr/bin:/bin".into())];
    bench.workspace = Some(bench.new_workspace().command_env(env));
    let plugin = bench.load(&sleep, HookPoint::QualityCheck, "quality-check").unwrap();
    let spec = ChainSpec { timeout: Some(Duration::from_millis(400)), ..ChainSpec::default() };
    let started = Instant::now();
    let input = QualityCheckInput::default();
    let fired = dispatch::<points::QualityCheck>(&plugin, input, spec, &CancellationToken::new()).await;
    // The command is ended a little before the call, so that the component is
    // told and can still answer.
    let told = fired.output.failures.iter().map(|failure| failure.exit_code);
    let is_told = told.eq([Some(TIMED_OUT)]);
    assert!(is_told || broke(&fired).class == BreakClass::Timeout, "{fired:?}");
    assert!(started.elapsed() < SOON);
}

#[tokio::test]
async fn a_trap_leaves_nothing_behind_for_the_next_call() {
    // The first call with commands traps half-way; state would show.
    let bytes = component(
        "export samuel:plugin/quality-check@1.0.0;",
        r#"(global $calls (mut i32) (i32.const 0))
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
            (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
            (if (i32.gt_u (global.get $calls) (i32.const 1)) (then unreachable))
            (if (i32.load offset=68 (local.get 0)) (then unreachable))
            (global.get $zero))"#,
    );
    let mut bench = Bench::new();
    let plugin = bench.load(&bytes, HookPoint::QualityCheck, "quality-check").unwrap();
    let fire = async |commands: &[&str]| {
        let commands = commands.iter().map(|command| (*command).to_owned()).collect();
        let input = QualityCheckInput { commands, ..Default::default() };
        let cancel = CancellationToken::new();
        let fired = dispatch::<points::QualityCheck>(&plugin, input, ChainSpec::default(), &cancel).await;
        fired.outcome.broken.is_empty()
    };
    assert!(!fire(&["cargo test"]).await);
    assert!(fire(&[]).await);
    assert!(fire(&[]).await);
}
