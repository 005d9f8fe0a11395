//! Components that are refused before anything of them runs.

use super::kit::{Bench, HOST, component, quality_check};
use crate::{
    hook::HookPoint,
    plugin::{
        Capabilities, Capability,
        wasm::{CodeLimits, HostConfig, WasmError, WasmHost},
    },
};

fn refused(bytes: &[u8], handler: &str) -> WasmError {
    Bench::new().load(bytes, HookPoint::QualityCheck, handler).unwrap_err()
}

/// A component that is nothing but its imports.
fn importing(name: &str) -> Vec<u8> {
    wat::parse_str(format!(r#"(component (import "{name}" (instance)))"#)).unwrap()
}

#[test]
fn an_import_that_the_manifest_does_not_ask_for_is_refused_by_name() {
    for capability in Capability::ALL {
        let Some(interface) = capability.interface() else { continue };
        let import = format!("samuel:plugin/{interface}@1.0.0");
        let error = refused(&importing(&import), "quality-check");
        let WasmError::Undeclared { import: named, capability: needed } = &error else { panic!("{error:?}") };
        assert_eq!((named, *needed), (&import, capability));
        assert!(error.to_string().contains(capability.as_str()), "{error}");
    }
    // Asking for another one does not help.
    let mut bench = Bench::new();
    bench.setup.asked = Capabilities::default().with(Capability::Env, ["HOME"]);
    let loaded = bench.load(&importing("samuel:plugin/exec@1.0.0"), HookPoint::QualityCheck, "x");
    assert!(matches!(loaded, Err(WasmError::Undeclared { .. })), "{loaded:?}");
}

#[test]
fn an_import_that_nobody_offers_is_refused_by_name() {
    for import in ["acme:tools/run@1.0.0", "samuel:plugin/telepathy@1.0.0", "samuel:plugin/telepathy"] {
        let error = refused(&importing(import), "quality-check");
        assert!(matches!(&error, WasmError::UnknownImport { import: named } if named == import), "{error:?}");
    }
}

#[test]
fn another_protocol_is_said_before_anything_else() {
    let later = refused(&importing("samuel:plugin/exec@2.1.0"), "quality-check");
    assert!(later.to_string().starts_with("the component needs Samuel >= 3.1"), "{later}");
    let later = refused(&importing("samuel:plugin/telepathy@1.4.0"), "quality-check");
    assert!(later.to_string().starts_with("the component needs Samuel >= 2.4"), "{later}");
    let earlier = refused(&importing("samuel:plugin/log@0.9.0"), "quality-check");
    assert!(matches!(earlier, WasmError::Outdated { .. }), "{earlier:?}");
}

#[test]
fn a_later_minor_protocol_works_where_nothing_new_is_used() {
    let bytes = quality_check("(global.get $zero)");
    let later = replaced(&bytes, "@1.0.0", "@1.7.0");
    assert!(Bench::new().load(&later, HookPoint::QualityCheck, "quality-check").is_ok());
    assert_eq!(
        HOST.inspect(&later).unwrap().protocol.map(|protocol| protocol.to_string()),
        Some("1.7".into())
    );
}

/// Replaces a text by another of the same length.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[test]
fn a_binding_must_name_a_handler_of_the_right_type() {
    let bytes = quality_check("(global.get $zero)");
    let error = refused(&bytes, "on-quality-check");
    assert!(error.to_string().contains("it exports `quality-check`"), "{error}");

    let world = "export on-quality-check: func(input: string) -> string;";
    let module = r#"(func (export "on-quality-check") (param i32 i32) (result i32) (global.get $zero))"#;
    let error = refused(&component(world, module), "on-quality-check");
    let WasmError::Signature { point: HookPoint::QualityCheck, mismatch, .. } = &error else {
        panic!("{error:?}")
    };
    assert!(mismatch.contains("expected") && mismatch.contains("found"), "{mismatch}");
}

#[test]
fn what_is_no_component_is_refused() {
    assert!(matches!(refused(b"", "x"), WasmError::Malformed { .. }));
    assert!(matches!(refused(b"\0asm", "x"), WasmError::Malformed { .. }));
    assert!(matches!(refused(&wat::parse_str("(module)").unwrap(), "x"), WasmError::CoreModule));
    let whole = quality_check("(global.get $zero)");
    assert!(matches!(refused(&whole[..whole.len() / 2], "x"), WasmError::Malformed { .. }));
}

#[test]
fn two_megabytes_of_nested_blocks_are_not_compiled() {
    let depth = 1_000_000;
    let mut body = vec![0];
    body.extend([0x02, 0x40].repeat(depth));
    body.extend([0x0b].repeat(depth + 1));
    let error = refused(&of_one_function(&body), "quality-check");
    assert!(matches!(error, WasmError::TooLarge { .. }), "{error:?}");
    // A function that is short enough is refused by its depth.
    let mut body = vec![0];
    body.extend([0x02, 0x40].repeat(100_000));
    body.extend([0x0b].repeat(100_001));
    let error = refused(&of_one_function(&body), "quality-check");
    assert!(error.to_string().contains("nested blocks"), "{error}");
}

#[test]
fn a_function_of_a_few_bytes_that_takes_hours_to_compile_is_not_compiled() {
    // Empty loops, one after the other: the compiler's time grows with the
    // square of their number.
    let mut body = vec![0];
    body.extend([0x03, 0x40, 0x0b].repeat(60_000));
    body.push(0x0b);
    let error = refused(&of_one_function(&body), "quality-check");
    assert!(error.to_string().contains("units of compiling effort"), "{error}");
    // A jump table to a loop in which many locals change.
    let mut body = [&[1][..], &leb(40_000), &[0x7f, 0x03, 0x40, 0x41, 0, 0x0e], &leb(80_000)].concat();
    body.extend([0].repeat(80_001));
    body.extend([0x0b, 0x0b]);
    let error = refused(&of_one_function(&body), "quality-check");
    assert!(error.to_string().contains("units of compiling effort"), "{error}");
}

/// Makes a component around a module with one function.
fn of_one_function(body: &[u8]) -> Vec<u8> {
    let section = |id: u8, contents: &[u8]| [&[id][..], &leb(contents.len()), contents].concat();
    let code = [&[1][..], &leb(body.len()), body].concat();
    let module =
        [b"\0asm\x01\0\0\0".to_vec(), section(1, &[1, 0x60, 0, 0]), section(3, &[1, 0]), section(10, &code)]
            .concat();
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
}

/// Writes a number as WASM does.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[test]
fn what_is_compiled_at_all_is_bounded() {
    let bytes = component(
        "export samuel:plugin/quality-check@1.0.0;",
        r#"(func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32) (global.get $zero))
        (func) (func)"#,
    );
    let limited = |limits: CodeLimits| {
        let host = WasmHost::new(HostConfig { code: limits, ..HostConfig::default() }).unwrap();
        host.inspect(&bytes).unwrap_err().to_string()
    };
    let all = CodeLimits::default;
    assert!(limited(CodeLimits { max_component_bytes: 100, ..all() }).contains("bytes"));
    assert!(limited(CodeLimits { max_functions: 2, ..all() }).contains("functions; the limit is 2"));
    assert!(limited(CodeLimits { max_modules: 0, ..all() }).contains("modules"));
    assert!(limited(CodeLimits { max_function_bytes: 8, ..all() }).contains("one function"));
    assert!(limited(CodeLimits { max_component_depth: 1, ..all() }).contains("nested components"));
    assert!(limited(CodeLimits { max_effort: 10, ..all() }).contains("compiling effort; the limit is 10"));
}
