//! The example plugins: each is built in an empty directory by the commands of
//! its page, and what comes out asks for what its manifest says, no more and no
//! less.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests"
)]

use std::{collections::BTreeSet, fs, path::Path};

use samuel_core::plugin::Capability;
use samuel_tests::example::{Built, Example, NotBuilt};
use wit_component::DecodedWasm;
use wit_parser::{Resolve, WorldKey};

/// What a component needs no capability for.
const UNGATED: [&str; 7] = ["types", "host-types", "log", "config", "plugins", "kv", "prompt-context"];

/// Builds an example, or says why it cannot be built here.
fn build(example: Example) -> Option<Built> {
    match example.build(Path::new(env!("CARGO_TARGET_TMPDIR"))) {
        Ok(built) => Some(built),
        Err(NotBuilt::Skipped(reason)) => {
            println!("skipped: the {example:?} example: {reason}");
            None
        }
        Err(NotBuilt::Failed(said)) => panic!("{said}"),
    }
}

/// The short names of a component's imports and exports of the contract.
#[derive(Debug, PartialEq)]
struct Surface {
    imports: BTreeSet<String>,
    exports: BTreeSet<String>,
}

impl Surface {
    fn of(component: &[u8]) -> Self {
        let DecodedWasm::Component(resolve, world) = wit_component::decode(component).unwrap() else {
            panic!("it is no component")
        };
        let world = &resolve.worlds[world];
        let names = |keys: &mut dyn Iterator<Item = &WorldKey>| -> BTreeSet<String> {
            keys.filter_map(|key| contract_name(&resolve, key)).collect()
        };
        Self { imports: names(&mut world.imports.keys()), exports: names(&mut world.exports.keys()) }
    }
}

/// `samuel:plugin/log@1.0.0` is `log`; what others define has no name here.
fn contract_name(resolve: &Resolve, key: &WorldKey) -> Option<String> {
    let name = resolve.name_world_key(key);
    let (interface, version) = name.strip_prefix("samuel:plugin/")?.split_once('@')?;
    assert_eq!(version, "1.0.0");
    Some(interface.to_owned())
}

fn manifest(example: Example) -> toml::Table {
    fs::read_to_string(example.source().join("samuel-plugin.toml")).unwrap().parse().unwrap()
}

/// The capabilities of a manifest, as dotted keys or as one.
fn asked(manifest: &toml::Table) -> BTreeSet<String> {
    let mut asked = BTreeSet::new();
    for (name, value) in manifest.get("capabilities").and_then(toml::Value::as_table).into_iter().flatten() {
        match value.as_table() {
            Some(inner) => asked.extend(inner.keys().map(|key| format!("{name}.{key}"))),
            None => drop(asked.insert(name.clone())),
        }
    }
    asked
}

#[track_caller]
fn assert_fits(example: Example, built: &Built) {
    let manifest = manifest(example);
    let surface = Surface::of(&built.component);
    let bound: BTreeSet<String> =
        manifest["hooks"].as_table().unwrap().keys().map(|point| point.replace([':', '.'], "-")).collect();
    assert_eq!(surface.exports, bound, "left the component, right its manifest");

    let gated = surface.imports.iter().filter(|name| !UNGATED.contains(&name.as_str()));
    let needed: BTreeSet<String> = gated
        .map(|name| {
            let capability = Capability::ALL.into_iter().find(|capability| capability.interface() == name);
            capability.unwrap_or_else(|| panic!("nothing offers {name}")).to_string()
        })
        .collect();
    assert_eq!(needed, asked(&manifest), "left what it needs, right what its manifest asks for");
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn every_page_has_exactly_three_commands() {
    for example in Example::ALL {
        let commands = example.commands();
        assert_eq!(commands.len(), 3, "{example:?}: {commands:#?}");
        assert!(commands[0].starts_with("cp -R \"$SAMUEL/examples/plugins/"), "{}", commands[0]);
    }
}

#[test]
fn the_rust_example_exports_what_it_names_and_imports_what_it_uses() {
    let Some(built) = build(Example::Rust) else { return };
    assert_fits(Example::Rust, &built);
    let expected = names(&["files-read", "host-types", "log", "plugins", "types"]);
    assert_eq!(Surface::of(&built.component).imports, expected);
}

#[test]
fn the_python_example_fits_its_manifest() {
    let Some(built) = build(Example::Python) else { return };
    assert_fits(Example::Python, &built);
}

#[test]
fn the_javascript_example_fits_its_manifest() {
    let Some(built) = build(Example::JavaScript) else { return };
    assert_fits(Example::JavaScript, &built);
}
