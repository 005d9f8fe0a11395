//! The contract in `wit/` and the Rust records say the same: every name, field
//! and type is compared, so that the two cannot drift apart. So are the copies of
//! the contract that packages carry.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "contract_drift/rust.rs"]
mod rust;
#[path = "contract_drift/wit.rs"]
mod wit;

use std::{collections::BTreeSet, fs, path::PathBuf};

use samuel_core::{
    hook::{HookPoint, Kind},
    plugin::{Capability, wasm::Protocol},
};
use wit_parser::{Docs, Type, TypeDefKind};

use wit::{Shape, Shapes, contract, interface, interface_of, root};

/// What the host implements for every component.
const UNGATED: [&str; 5] = ["log", "config", "plugins", "kv", "prompt-context"];

fn points() -> BTreeSet<String> {
    HookPoint::ALL.iter().map(|point| interface_of(*point)).collect()
}

fn payload_files() -> Vec<PathBuf> {
    let model = root().join("samuel-core/src/model");
    let mut files: Vec<PathBuf> =
        fs::read_dir(model.join("payload")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.extend(["outcome.rs", "usage.rs", "task.rs"].map(|name| model.join(name)));
    files
}

fn assert_same(contract: &Shapes, rust: &Shapes) {
    for (name, shape) in contract {
        let found = rust.get(name).unwrap_or_else(|| panic!("{name} has no counterpart in Rust"));
        assert_eq!(found, shape, "{name} differs (left Rust, right WIT)");
    }
}

#[test]
fn the_contract_has_a_world_for_each_point_and_one_for_the_host() {
    let resolve = contract();
    let mut worlds: BTreeSet<&str> = resolve.worlds.iter().map(|(_, world)| world.name.as_str()).collect();
    for point in points() {
        let name = format!("{point}-hook");
        let world = wit::world(&resolve, &name);
        assert_eq!(wit::names(&resolve, world.exports.values()), [point]);
        assert!(worlds.remove(name.as_str()));
    }
    assert_eq!(worlds, BTreeSet::from(["imports"]));
}

#[test]
fn every_interface_is_a_point_or_the_hosts_or_holds_types() {
    let resolve = contract();
    let imports = wit::world(&resolve, "imports");
    let imported: BTreeSet<String> = wit::names(&resolve, imports.imports.values()).into_iter().collect();
    let gated = Capability::ALL.into_iter().filter_map(Capability::interface);
    let types = ["types", "host-types"];
    let host: BTreeSet<String> = gated.chain(UNGATED).chain(types).map(str::to_owned).collect();
    assert_eq!(imported, host, "left the world imports, right what the host has");
    assert!(imports.exports.is_empty());

    let all: BTreeSet<String> = resolve.interfaces.iter().filter_map(|(_, i)| i.name.clone()).collect();
    assert_eq!(all, points().union(&host).cloned().collect());
    for name in types {
        assert!(interface(&resolve, name).functions.is_empty(), "{name} has only types");
    }
}

#[test]
fn an_interface_of_the_host_names_its_capability() {
    let resolve = contract();
    for capability in Capability::ALL {
        let Some(name) = capability.interface() else { continue };
        let docs = interface(&resolve, name).docs.contents.as_deref().unwrap();
        assert!(docs.contains(&format!("`{capability}`")), "{capability}: {docs}");
    }
    for name in UNGATED {
        let docs = interface(&resolve, name).docs.contents.as_deref().unwrap();
        assert!(docs.replace('\n', " ").contains("No capability is needed"), "{name}: {docs}");
    }
}

#[test]
fn every_record_and_enum_of_the_points_is_the_same_in_rust() {
    let resolve = contract();
    let rust = rust::shapes(payload_files(), &points());
    let mut compared = 0;
    for (_, interface) in resolve.interfaces.iter() {
        if wit::is_point(interface) || interface.name.as_deref() == Some("types") {
            let shapes = wit::shapes(&resolve, interface);
            assert_same(&shapes, &rust);
            compared += shapes.len();
        }
    }
    assert!(compared > 60, "the contract was not read whole");
    let inputs_and_outputs = rust.keys().filter(|name| name.contains('/')).count();
    assert_eq!(inputs_and_outputs, 50, "Rust has records that the contract lacks");
}

#[test]
fn every_record_of_the_prompt_context_is_the_same_in_rust() {
    let resolve = contract();
    let rust = rust::shapes([root().join("samuel-core/src/context/prompt.rs")], &points());
    let context = wit::shapes(&resolve, interface(&resolve, "prompt-context"));
    assert!(context.len() >= 16, "the prompt context was not read whole");
    assert_same(&context, &rust);

    let shared = wit::shapes(&resolve, interface(&resolve, "types"));
    assert_eq!(rust["task-vars"], shared["task-brief"], "a task is the same everywhere");
    // What only Rust has: the whole, the task above, and the view of both.
    let only_rust: Vec<&str> =
        rust.keys().filter(|name| !context.contains_key(*name)).map(String::as_str).collect();
    assert_eq!(only_rust, ["context-view", "prompt-context", "task-vars"]);
}

#[test]
fn every_group_of_the_prompt_context_is_a_function() {
    let resolve = contract();
    let rust = rust::shapes([root().join("samuel-core/src/context/prompt.rs")], &points());
    let Shape::Record(groups) = &rust["prompt-context"] else { panic!("it is a struct") };
    let typed: Vec<(String, String)> = groups.iter().filter(|(name, _)| name != "plugins").cloned().collect();
    let functions = &interface(&resolve, "prompt-context").functions;
    let offered: Vec<(String, String)> = functions
        .values()
        .filter(|function| function.name != "group")
        .map(|function| (function.name.clone(), wit::type_name(&resolve, function.result.unwrap())))
        .collect();
    assert_eq!(offered, typed, "left WIT, right Rust");
    assert_eq!(wit::parameters(&resolve, &functions["group"]), ["name: string"]);
}

#[test]
fn every_point_is_a_function_of_header_and_input_that_may_fail() {
    let resolve = contract();
    for point in HookPoint::ALL {
        let name = interface_of(*point);
        let functions = &interface(&resolve, &name).functions;
        assert_eq!(functions.keys().collect::<Vec<_>>(), ["run"], "{name}");
        let run = &functions["run"];
        let mut expected = vec!["call: call-header", "input: input"];
        if matches!(point.kind(), Kind::Blob | Kind::List | Kind::Transform) {
            expected.push("previous: option<output>");
        }
        assert_eq!(wit::parameters(&resolve, run), expected, "{name}");
        assert_eq!(wit::type_name(&resolve, run.result.unwrap()), "result<output, failure>", "{name}");
    }
}

#[test]
fn every_input_and_output_ends_with_room_for_more() {
    let resolve = contract();
    for point in points() {
        let shapes = wit::shapes(&resolve, interface(&resolve, &point));
        for part in ["input", "output"] {
            let Shape::Record(fields) = &shapes[&format!("{point}/{part}")] else { panic!("{point}") };
            let last = fields.last().unwrap();
            assert_eq!(last, &("extensions".to_owned(), "extensions".to_owned()), "{point}/{part}");
        }
    }
}

#[test]
fn the_version_of_the_package_is_the_protocol_of_the_host() {
    let resolve = contract();
    let (_, types) = resolve.interfaces.iter().next().unwrap();
    let version = resolve.packages[types.package.unwrap()].name.version.clone().unwrap();
    assert_eq!(version.to_string(), format!("{}.0", Protocol::CURRENT));
}

#[test]
fn a_call_to_the_host_fails_with_a_typed_error() {
    let resolve = contract();
    for capability in Capability::ALL {
        let Some(own) = capability.interface() else { continue };
        for (name, function) in &interface(&resolve, own).functions {
            let result = wit::result_of(&resolve, function);
            assert!(result.ends_with(", host-error>"), "{capability}: {name} returns {result}");
        }
    }
    let host_types = interface(&resolve, "host-types");
    let TypeDefKind::Variant(error) = &resolve.types[host_types.types["host-error"]].kind else {
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
fn everything_in_the_contract_is_documented() {
    let resolve = contract();
    let mut missing = Vec::new();
    let mut check = |docs: &Docs, what: String| {
        if docs.contents.as_deref().is_none_or(|text| text.trim().is_empty()) {
            missing.push(what);
        }
    };
    for (_, interface) in resolve.interfaces.iter() {
        let owner = interface.name.as_deref().unwrap();
        check(&interface.docs, owner.to_owned());
        for (name, function) in &interface.functions {
            check(&function.docs, format!("{owner}.{name}"));
        }
        for (name, id) in &interface.types {
            let definition = &resolve.types[*id];
            // An input or output is what the interface says; `use` brings docs along.
            let is_used = matches!(definition.kind, TypeDefKind::Type(Type::Id(_)));
            if !is_used && name != "input" && name != "output" {
                check(&definition.docs, format!("{owner}.{name}"));
            }
            if let TypeDefKind::Record(record) = &definition.kind {
                for field in record.fields.iter().filter(|field| field.name != "extensions") {
                    check(&field.docs, format!("{owner}.{name}.{}", field.name));
                }
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}

/// Packages carry the contract with them, so that they can be built alone.
#[test]
fn every_copy_of_the_contract_is_the_contract() {
    let copies = [
        "bindings/rust/wit",
        "examples/plugins/python/wit/deps/samuel-plugin",
        "examples/plugins/javascript/wit/deps/samuel-plugin",
    ];
    let files = |directory: &str| -> Vec<(String, String)> {
        let entries = fs::read_dir(root().join(directory)).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries
            .map(|e| (e.file_name().into_string().unwrap(), fs::read_to_string(e.path()).unwrap()))
            .collect();
        files.sort();
        files
    };
    let original = files("wit/v1");
    for copy in copies {
        assert!(
            files(copy) == original,
            "{copy} differs: rm -r {copy} && cp -r wit/v1 {copy}, from the root of the repository"
        );
    }
}

#[test]
fn the_guest_crate_has_every_point() {
    let table = fs::read_to_string(root().join("bindings/rust/src/points.rs")).unwrap();
    for point in points() {
        assert!(table.contains(&format!("\"{point}-hook\": ")), "samuel-plugin lacks {point}");
    }
}
