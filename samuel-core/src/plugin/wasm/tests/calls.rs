//! What crosses the boundary, at every point.

use tokio_util::sync::CancellationToken;

use super::kit::{Bench, HOST, INPUT, bind, broke, component, dispatch, probe, probed, quality_check, value};
use crate::{
    hook::{BreakClass, ChainSpec, HookPoint, Point, PointVisitor, Tier, points},
    model::payload::{CheckFailure, QualityCheckInput, QualityCheckOutput, SessionStartInput},
    plugin::{sample_input, wasm::interface_of},
};

/// Answers `ok` with the first command as the reason.
fn echo_first_command() -> Vec<u8> {
    quality_check(&format!(
        "(local $first i32)
         (local.set $first (i32.load offset={INPUT} (local.get 0)))
         (i32.store8 (i32.add (global.get $zero) (i32.const 4)) (i32.const 1))
         (i32.store8 (i32.add (global.get $zero) (i32.const 8)) (i32.const 1))
         (i32.store (i32.add (global.get $zero) (i32.const 12)) (i32.load (local.get $first)))
         (i32.store (i32.add (global.get $zero) (i32.const 16)) (i32.load offset=4 (local.get $first)))
         (global.get $zero)"
    ))
}

#[tokio::test]
async fn a_payload_crosses_as_typed_values() {
    let input =
        QualityCheckInput { commands: vec!["cargo test é".into(), "x".into()], ..Default::default() };
    let fired = Bench::new().fire::<points::QualityCheck>(&echo_first_command(), input).await;
    assert!(fired.outcome.broken.is_empty(), "{:?}", fired.outcome);
    let expected = QualityCheckOutput { reason: Some("cargo test é".into()), ..Default::default() };
    assert_eq!(fired.output, expected);
}

#[tokio::test]
async fn every_point_can_be_handled_by_its_standard_interface() {
    struct Fire<'a>(&'a crate::plugin::wasm::WasmPlugin);

    impl PointVisitor for Fire<'_> {
        type Out = std::pin::Pin<Box<dyn Future<Output = serde_json::Value>>>;

        fn visit<P: Point>(self) -> Self::Out {
            let plugin = self.0.clone();
            Box::pin(async move {
                // Any input will do: what matters is that it and the answer
                // cross as what they are.
                let input = sample_input::<P>();
                let cancel = CancellationToken::new();
                let fired = dispatch::<P>(&plugin, input, ChainSpec::default(), &cancel).await;
                assert!(fired.outcome.broken.is_empty(), "{}: {:?}", P::POINT, fired.outcome.broken);
                serde_json::to_value(&fired.output).unwrap()
            })
        }
    }

    let interfaces: Vec<String> = HookPoint::ALL.iter().map(|point| interface_of(*point)).collect();
    let exports: String =
        interfaces.iter().map(|name| format!("export samuel:plugin/{name}@1.0.0;")).collect();
    let functions: String = interfaces
        .iter()
        .map(|name| {
            format!(
                r#"(func (export "samuel:plugin/{name}@1.0.0#run") (param i32) (result i32) (global.get $zero))
                "#
            )
        })
        .collect();
    let bindings: Vec<_> = HookPoint::ALL.iter().map(|point| bind(*point, &interface_of(*point))).collect();
    let mut bench = Bench::new();
    let workspace = bench.workspace.take().unwrap().into();
    let plugin =
        HOST.load(&component(&exports, &functions), bench.setup.clone(), workspace, &bindings).unwrap();
    for point in HookPoint::ALL {
        let output = point.visit(Fire(&plugin)).await;
        for verdict in ["ok", "block", "continue"] {
            let said = output.get(verdict);
            assert!(said.is_none_or(|said| said == false), "{point}: {output}");
        }
    }
    let inspected = HOST.inspect(&component(&exports, &functions)).unwrap();
    assert_eq!(inspected.points, HookPoint::ALL);
}

#[tokio::test]
async fn a_handler_can_be_a_function_at_the_root() {
    let world = "use samuel:plugin/types@1.0.0.{call-header, failure};
        use samuel:plugin/quality-check@1.0.0.{input, output};
        export on-quality-check: func(call: call-header, input: input, previous: option<output>)
            -> result<output, failure>;";
    let module = r#"(func (export "on-quality-check") (param i32) (result i32) (global.get $zero))"#;
    let bytes = component(world, module);
    let mut bench = Bench::new();
    let plugin = bench.load(&bytes, HookPoint::QualityCheck, "on_quality_check").unwrap();
    let cancel = CancellationToken::new();
    let input = QualityCheckInput::default();
    let registry = super::kit::registry(&plugin, HookPoint::QualityCheck, ChainSpec::default());
    let handlers: Vec<_> = registry.handlers(HookPoint::QualityCheck).collect();
    assert_eq!(handlers, [("samuel-test:on_quality_check", 200, Tier::Wasm)]);
    let fired = dispatch::<points::QualityCheck>(&plugin, input, ChainSpec::default(), &cancel).await;
    assert_eq!(fired.outcome.refused.as_deref(), Some("no reason given"));

    let inspected = HOST.inspect(&bytes).unwrap();
    assert_eq!(
        (&*inspected.functions[0].name, &*inspected.functions[0].points),
        ("on-quality-check", &[HookPoint::QualityCheck][..])
    );
    assert!(inspected.functions[0].signature.contains("ok: bool"), "{:?}", inspected.functions);
}

#[tokio::test]
async fn a_component_can_say_that_it_failed() {
    // The error side, with the code and the message one text each.
    let body = |code: &str| {
        let (at, length) = (4096, code.len());
        quality_check(&format!(
            "(i32.store8 (global.get $zero) (i32.const 1))
             {stores}
             (i32.store (i32.const 1028) (i32.const {at}))
             (i32.store (i32.const 1032) (i32.const {length}))
             (i32.store (i32.const 1036) (i32.const {at}))
             (i32.store (i32.const 1040) (i32.const {length}))
             (global.get $zero)",
            stores = code
                .bytes()
                .enumerate()
                .map(|(place, byte)| format!("(i32.store8 (i32.const {}) (i32.const {byte}))", at + place))
                .collect::<String>(),
        ))
    };
    for (code, class) in [("E_HOOK_DENIED", BreakClass::Denied), ("E_MINE", BreakClass::Failed)] {
        let fired =
            Bench::new().fire::<points::QualityCheck>(&body(code), QualityCheckInput::default()).await;
        assert_eq!((broke(&fired).class, &*broke(&fired).message), (class, code));
    }
}

#[tokio::test]
async fn documents_in_an_answer_must_be_json() {
    // An intent of one byte.
    let intent = |byte: u8| {
        component(
            "export samuel:plugin/session-start@1.0.0;",
            &format!(
                r#"(func (export "samuel:plugin/session-start@1.0.0#run") (param i32) (result i32)
                    (i32.store8 (i32.const 4096) (i32.const {byte}))
                    (i32.store8 (i32.const 1092) (i32.const 1))
                    (i32.store (i32.const 1096) (i32.const 4096))
                    (i32.store (i32.const 1100) (i32.const 1))
                    (global.get $zero))"#
            ),
        )
    };
    let fire = async |bytes: &[u8]| {
        Bench::new().fire::<points::SessionStart>(bytes, SessionStartInput::default()).await
    };
    let good = fire(&intent(b'7')).await;
    assert_eq!(good.output.results.new_intent.as_deref(), Some("7"), "{:?}", good.outcome);
    assert_eq!(broke(&fire(&intent(b'{')).await).class, BreakClass::BadOutput);
}

#[tokio::test]
async fn what_a_handler_contributes_counts_once_it_has_answered() {
    let contribute = probe(
        "plugins.contribute",
        "i32 i32 i32 i32",
        "(i32.const 512) (i32.const 4) (i32.const 516) (i32.const 4)",
        "Venvtrue",
        8,
    );
    let mut bench = Bench::new();
    let fired = bench.fire::<points::QualityCheck>(&contribute, QualityCheckInput::default()).await;
    assert_eq!(fired.context.plugins()["test"]["Venv"], serde_json::json!(true));

    let no_json = probe(
        "plugins.contribute",
        "i32 i32 i32 i32",
        "(i32.const 512) (i32.const 1) (i32.const 513) (i32.const 1)",
        "a{",
        8,
    );
    let fired = Bench::new().fire::<points::QualityCheck>(&no_json, QualityCheckInput::default()).await;
    let [CheckFailure { exit_code: Some(3), .. }] = &fired.output.failures[..] else {
        panic!("{:?}", fired.output)
    };
    assert!(fired.context.plugins().is_empty());
}

#[tokio::test]
async fn the_prompt_context_and_the_configuration_can_be_read() {
    // Both return at the address they are given, without an error side, so
    // the byte the probe looks at is theirs.
    let config = probe("config.get", "i32 i32", "(i32.const 512) (i32.const 5)", "level", 4);
    let mut bench = Bench::new();
    bench.setup.config = serde_json::json!({"level": [3]});
    let fired = bench.fire::<points::QualityCheck>(&config, QualityCheckInput::default()).await;
    assert_eq!(fired.output.failures[0].exit_code, Some(3), "{:?}", fired.output);

    let group = component(
        "import samuel:plugin/prompt-context@1.0.0; export samuel:plugin/quality-check@1.0.0;",
        r#"(import "samuel:plugin/prompt-context@1.0.0" "samuel" (func $samuel (param i32)))
        (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
            (call $samuel (i32.const 1036))
            (i32.store (i32.const 1044) (i32.const 0))
            (i32.store (i32.const 1048) (i32.const 0))
            (i32.store8 (i32.const 1032) (i32.const 1))
            (global.get $zero))"#,
    );
    let fired = Bench::new().fire::<points::QualityCheck>(&group, QualityCheckInput::default()).await;
    assert_eq!(fired.output.reason.as_deref(), Some("2.0.0"));
}

#[tokio::test]
async fn values_are_kept_from_one_call_to_the_next() {
    let set = probe(
        "kv.set",
        "i32 i32 i32 i32",
        "(i32.const 512) (i32.const 3) (i32.const 515) (i32.const 5)",
        "keyvalue",
        8,
    );
    let get = probe("kv.get", "i32 i32", "(i32.const 512) (i32.const 3)", "key", 12);
    let mut bench = Bench::new();
    assert_eq!(probed(&mut bench, &set).await, value(""));
    bench.workspace = Some(bench.new_workspace());
    assert_eq!(probed(&mut bench, &get).await, value("value"));
    assert!(bench.dir.path().join(".samuel/run/plugins/samuel-test/kv").is_dir());
}
