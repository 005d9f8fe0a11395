//! The interfaces of the host, as `wit/v1/host.wit` and `prompt-context.wit` have
//! them, are those that the host has.

use std::{collections::BTreeSet, path::Path};

use wit_parser::{Interface, Resolve, Type, TypeDefKind, WorldItem};

use crate::{
    context::PromptContext,
    plugin::{Capability, wasm::ProtocolVersion},
};

/// What the host implements for every component.
const UNGATED: [&str; 6] = ["log", "agent-port", "config", "plugins", "kv", "prompt-context"];

fn package() -> Resolve {
    let mut resolve = Resolve::new();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1")).unwrap();
    resolve
}

fn interface<'a>(package: &'a Resolve, name: &str) -> &'a Interface {
    package.interfaces.iter().find(|(_, known)| known.name.as_deref() == Some(name)).unwrap().1
}

fn docs(interface: &Interface) -> String {
    interface.docs.contents.as_deref().unwrap().replace('\n', " ")
}

#[test]
fn components_may_import_what_the_host_has_and_nothing_else() {
    let package = package();
    let (_, world) = package.worlds.iter().find(|(_, world)| world.name == "imports").unwrap();
    let imported: BTreeSet<&str> = world
        .imports
        .values()
        .map(|item| match item {
            WorldItem::Interface { id, .. } => package.interfaces[*id].name.as_deref().unwrap(),
            other => panic!("{other:?} is no interface"),
        })
        .collect();
    let gated = Capability::ALL.into_iter().filter_map(Capability::interface);
    assert_eq!(imported, gated.chain(UNGATED).chain(["types", "host-types"]).collect());
    assert!(world.exports.is_empty());
}

#[test]
fn an_interface_of_the_host_names_its_capability() {
    let package = package();
    for capability in Capability::ALL {
        let Some(name) = capability.interface() else { continue };
        let docs = docs(interface(&package, name));
        assert!(docs.contains(&format!("`{capability}`")), "{capability}: {docs}");
    }
    for name in UNGATED {
        let docs = docs(interface(&package, name));
        assert!(docs.contains("No capability is needed"), "{name}: {docs}");
    }
}

#[test]
fn a_call_to_the_host_fails_with_a_typed_error() {
    let package = package();
    let host_types = interface(&package, "host-types");
    for name in Capability::ALL.into_iter().filter_map(Capability::interface) {
        for (function, definition) in &interface(&package, name).functions {
            let Some(Type::Id(result)) = definition.result else { panic!("{name}.{function} cannot fail") };
            let TypeDefKind::Result(result) = &package.types[result].kind else {
                panic!("{name}.{function} cannot fail")
            };
            let Some(Type::Id(error)) = result.err else {
                panic!("{name}.{function} fails without an error")
            };
            let used = package.types[error].name.as_deref();
            assert_eq!(used, Some("host-error"), "{name}.{function}");
        }
    }
    let TypeDefKind::Variant(error) = &package.types[host_types.types["host-error"]].kind else {
        panic!("host-error is a variant")
    };
    let cases: Vec<&str> = error.cases.iter().map(|case| case.name.as_str()).collect();
    let expected = [
        "denied",
        "unsupported",
        "not-found",
        "invalid",
        "too-large",
        "quota",
        "timed-out",
        "cancelled",
        "other",
    ];
    assert_eq!(cases, expected, "a variant is closed: a new case breaks old components");
    assert_eq!(error.cases.last().unwrap().ty, Some(Type::String), "what has no case of its own is text");
}

#[test]
fn every_group_of_the_prompt_context_is_a_function() {
    let package = package();
    let offered: Vec<&str> =
        interface(&package, "prompt-context").functions.keys().map(String::as_str).collect();
    let groups = PromptContext::GROUPS.map(str::to_lowercase);
    let mut expected: Vec<&str> =
        groups.iter().map(String::as_str).filter(|name| *name != "plugins").collect();
    expected.push("group");
    assert_eq!(offered, expected);
}

#[test]
fn the_version_of_the_package_is_the_protocol_of_the_host() {
    let package = package();
    let version = package.packages.iter().next().unwrap().1.name.version.clone().unwrap();
    assert_eq!(version.to_string(), format!("{}.0", ProtocolVersion::CURRENT));
}
