//! Plugins and Samuels of different ages.
//!
//! The components in `data/components` are kept as text, as tools of their time
//! made them. Whatever is added within protocol 1, they go on loading: nobody
//! rebuilds a plugin because Samuel has a new point.

use std::{error::Error, path::Path};

use samuel_core::{
    hook::{HookPoint, points},
    model::payload::{QualityCheckInput, SessionEndInput},
    plugin::{
        Capabilities, Capability,
        wasm::{ProtocolVersion, WasmError, interface_of},
    },
};
use serde_json::json;
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve};

use crate::plugin_host::{HOST, Project, contributed};

fn component(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/components/{name}.wat"));
    wat::parse_file(path).unwrap()
}

fn project() -> Project {
    Project::granting(&Capabilities::default())
}

fn check() -> QualityCheckInput {
    QualityCheckInput { commands: vec!["cargo test".to_owned()], ..QualityCheckInput::default() }
}

/// A component that imports every function of the contract and exports every
/// interface of a point.
fn component_of_everything() -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1")).unwrap();
    let exports: Vec<String> = HookPoint::ALL
        .iter()
        .map(|point| format!("export samuel:plugin/{}@1.0.0;", interface_of(*point)))
        .collect();
    let world = format!(
        "package test:everything; world plugin {{ include samuel:plugin/imports@1.0.0; {} }}",
        exports.join(" ")
    );
    let package = resolve.push_str("test.wit", &world).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

#[test]
fn the_host_offers_every_function_and_takes_every_point_with_its_type() {
    let everything = component_of_everything();
    let mut capabilities = Capabilities::default();
    for capability in Capability::ALL {
        capabilities = capabilities.with(capability, ["x"]);
    }
    let loaded = Project::granting(&capabilities).load(&everything, HookPoint::ALL);
    let mut problem: Option<&dyn Error> = loaded.as_ref().err().map(|error| error as &dyn Error);
    let mut said = Vec::new();
    while let Some(error) = problem {
        said.push(error.to_string());
        problem = error.source();
    }
    assert!(loaded.is_ok(), "{said:#?}");
}

#[test]
fn a_plugin_of_protocol_1_0_still_answers() {
    let earlier = component("earlier");
    let checked = project().fire::<points::QualityCheck>(&earlier, check()).unwrap();
    assert!(checked.outcome.broken.is_empty(), "{:?}", checked.outcome.broken);
    assert_eq!((checked.output.ok, checked.output.reason.as_deref()), (false, Some("no changelog entry")));
    assert_eq!(contributed(&checked), json!({"Checked": true}));

    let input = SessionEndInput { exit_reason: "completed".to_owned(), ..SessionEndInput::default() };
    let ended = project().fire::<points::SessionEnd>(&earlier, input).unwrap();
    assert!(ended.outcome.broken.is_empty() && ended.output.ok);
}

#[test]
fn an_earlier_plugin_shows_the_version_it_was_built_against() {
    let found = HOST.inspect(&component("earlier")).unwrap();
    assert_eq!(found.protocol, Some(ProtocolVersion { major: 1, minor: 0 }));
    assert_eq!(found.points, [HookPoint::QualityCheck, HookPoint::SessionEnd]);
}

#[test]
fn a_later_plugin_answers_at_the_points_that_are_known() {
    let later = component("later");
    let found = HOST.inspect(&later).unwrap();
    assert_eq!(found.points, [HookPoint::QualityCheck], "prompt-review is no point here");
    assert_eq!(found.protocol, Some(ProtocolVersion { major: 1, minor: 1 }));

    let checked = project().fire::<points::QualityCheck>(&later, check()).unwrap();
    assert!(checked.outcome.broken.is_empty(), "{:?}", checked.outcome.broken);
    assert_eq!(checked.output.reason.as_deref(), Some("no changelog entry"));
}

#[test]
fn a_plugin_that_uses_a_later_interface_says_which_samuel_it_needs() {
    let input = SessionEndInput::default();
    let error = project().fire::<points::SessionEnd>(&component("beyond"), input).unwrap_err();
    assert!(matches!(error, WasmError::NeedsNewer { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the component needs Samuel >= 2.1: `samuel:plugin/metrics@1.1.0` is of plugin protocol 1.1, this \
         Samuel speaks 1.0"
    );
}
