//! The contract in `wit/` and the Rust payload records say the same: every
//! name, field and type is compared, so that the two cannot drift apart.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use samuel_core::hook::HookPoint;
use wit_parser::{Resolve, Type, TypeDefKind, TypeId, WorldItem};

/// Types by their contract name: `quality-check/input` or `text-item`.
type Shapes = BTreeMap<String, Shape>;

#[derive(Debug, PartialEq)]
enum Shape {
    Record(Vec<(String, String)>),
    Enum(Vec<String>),
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn contract() -> Resolve {
    let mut resolve = Resolve::new();
    resolve.push_dir(root().join("wit/v1")).unwrap();
    resolve
}

/// The name of a point's interface: its id with hyphens throughout.
fn interface_of(point: HookPoint) -> String {
    point.as_str().replace([':', '.'], "-")
}

fn contract_shapes(resolve: &Resolve) -> Shapes {
    let mut shapes = Shapes::new();
    for (_, interface) in resolve.interfaces.iter() {
        let owner = interface.name.clone().unwrap();
        for (name, id) in &interface.types {
            let key =
                if name == "input" || name == "output" { format!("{owner}/{name}") } else { name.clone() };
            let shape = match &resolve.types[*id].kind {
                TypeDefKind::Record(record) => Shape::Record(
                    record
                        .fields
                        .iter()
                        .map(|field| (field.name.clone(), contract_type(resolve, field.ty)))
                        .collect(),
                ),
                TypeDefKind::Enum(cases) => {
                    Shape::Enum(cases.cases.iter().map(|case| case.name.clone()).collect())
                }
                // Aliases: `json`, `extensions`, and what `use` brings in.
                TypeDefKind::Type(_) | TypeDefKind::List(_) => continue,
                other => panic!("{owner}/{name}: {other:?} has no counterpart"),
            };
            assert!(shapes.insert(key.clone(), shape).is_none(), "{key} is defined twice");
        }
    }
    shapes
}

fn contract_type(resolve: &Resolve, ty: Type) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::String => "string".into(),
        Type::U32 => "u32".into(),
        Type::U64 => "u64".into(),
        Type::S32 => "s32".into(),
        Type::F64 => "f64".into(),
        Type::Id(id) => contract_named(resolve, id),
        other => panic!("{other:?} has no counterpart"),
    }
}

fn contract_named(resolve: &Resolve, id: TypeId) -> String {
    let definition = &resolve.types[id];
    if let Some(name) = definition.name.as_deref() {
        return name.to_owned();
    }
    match &definition.kind {
        TypeDefKind::Option(inner) => format!("option<{}>", contract_type(resolve, *inner)),
        TypeDefKind::List(inner) => format!("list<{}>", contract_type(resolve, *inner)),
        TypeDefKind::Tuple(tuple) => {
            let parts: Vec<String> = tuple.types.iter().map(|ty| contract_type(resolve, *ty)).collect();
            format!("tuple<{}>", parts.join(", "))
        }
        other => panic!("{other:?} has no counterpart"),
    }
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    out
}

fn rust_files() -> Vec<PathBuf> {
    let model = root().join("samuel-core/src/model");
    let mut files: Vec<PathBuf> =
        fs::read_dir(model.join("payload")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.extend(["outcome.rs", "usage.rs", "task.rs"].map(|name| model.join(name)));
    files
}

fn rust_shapes(points: &BTreeSet<String>) -> Shapes {
    let mut shapes = Shapes::new();
    for file in rust_files() {
        let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
        for item in &parsed.items {
            match item {
                syn::Item::Struct(item) => {
                    let fields = item.fields.iter().filter_map(|field| {
                        let name = wire_name(field)?;
                        Some((name, rust_type(&field.ty)))
                    });
                    shapes.insert(key_of(&item.ident.to_string(), points), Shape::Record(fields.collect()));
                }
                syn::Item::Enum(item) => {
                    let cases = item.variants.iter().map(|case| kebab(&case.ident.to_string())).collect();
                    shapes.insert(kebab(&item.ident.to_string()), Shape::Enum(cases));
                }
                syn::Item::Macro(item) if item.mac.path.is_ident("words") => {
                    let (name, cases) = words(&item.mac.tokens.to_string());
                    shapes.insert(kebab(&name), Shape::Enum(cases));
                }
                _ => {}
            }
        }
    }
    shapes
}

/// Reads the name and the words of a `words!` invocation.
fn words(tokens: &str) -> (String, Vec<String>) {
    let quoted = |text: &str| text.split('"').nth(1).unwrap_or_default().replace('_', "-");
    let body = tokens.rsplit_once('{').unwrap();
    let name = body.0.trim().rsplit_once('(').unwrap().0.trim().rsplit(' ').next().unwrap().to_owned();
    // Documentation comments are tokens as well; they start with a space.
    let is_word = |part: &&str| part.starts_with('"') && !part.starts_with("\" ");
    let cases = body.1.split(" = ").skip(1).filter(is_word).map(quoted).collect();
    (name, cases)
}

/// `QualityCheckInput` belongs to the point's interface; others are shared.
fn key_of(name: &str, points: &BTreeSet<String>) -> String {
    for (suffix, part) in [("Input", "input"), ("Output", "output")] {
        if let Some(owner) = name.strip_suffix(suffix).map(kebab).filter(|owner| points.contains(owner)) {
            return format!("{owner}/{part}");
        }
    }
    kebab(name)
}

/// The name on the wire: serde's, else the field's own.
fn wire_name(field: &syn::Field) -> Option<String> {
    let mut name = kebab(&field.ident.as_ref()?.to_string());
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute
            .parse_nested_meta(|meta| {
                let value = meta.value().ok().map(|value| value.parse::<syn::LitStr>()).transpose()?;
                if meta.path.is_ident("rename") {
                    name = value.unwrap().value();
                }
                Ok(())
            })
            .unwrap();
    }
    Some(name)
}

fn rust_type(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Tuple(tuple) => {
            format!("tuple<{}>", tuple.elems.iter().map(rust_type).collect::<Vec<_>>().join(", "))
        }
        syn::Type::Path(path) => {
            let last = path.path.segments.last().unwrap();
            let inner = match &last.arguments {
                syn::PathArguments::AngleBracketed(inner) => {
                    inner.args.first().map(|argument| match argument {
                        syn::GenericArgument::Type(inner) => rust_type(inner),
                        _ => panic!("unexpected argument"),
                    })
                }
                _ => None,
            };
            match (last.ident.to_string().as_str(), inner) {
                ("Option", Some(inner)) => format!("option<{inner}>"),
                ("Vec", Some(inner)) => format!("list<{inner}>"),
                ("Arc", Some(inner)) => inner,
                ("String" | "str", None) => "string".into(),
                ("i32", None) => "s32".into(),
                (name, None) => kebab(name),
                (name, Some(_)) => panic!("{name} has no counterpart"),
            }
        }
        syn::Type::Slice(_) | syn::Type::Reference(_) => "-".into(),
        _ => panic!("unexpected type"),
    }
}

#[test]
fn the_contract_has_an_interface_and_a_world_for_each_point() {
    let resolve = contract();
    let points: BTreeSet<String> = HookPoint::ALL.iter().map(|point| interface_of(*point)).collect();
    let interfaces: BTreeSet<String> = resolve
        .interfaces
        .iter()
        .filter(|(_, i)| i.functions.contains_key("run"))
        .filter_map(|(_, i)| i.name.clone())
        .collect();
    assert_eq!(interfaces, points);

    let exports: BTreeSet<String> = resolve
        .worlds
        .iter()
        .flat_map(|(_, world)| world.exports.values())
        .filter_map(|item| match item {
            WorldItem::Interface { id, .. } => resolve.interfaces[*id].name.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(exports, points);
}

#[test]
fn every_record_and_enum_of_the_contract_is_the_same_in_rust() {
    let resolve = contract();
    let points: BTreeSet<String> = HookPoint::ALL.iter().map(|point| interface_of(*point)).collect();
    let (contract, rust) = (contract_shapes(&resolve), rust_shapes(&points));
    assert!(contract.len() > 60, "the contract was not read whole");
    for (name, shape) in &contract {
        let found = rust.get(name).unwrap_or_else(|| panic!("{name} has no counterpart in Rust"));
        assert_eq!(found, shape, "{name} differs (left Rust, right WIT)");
    }
    let inputs_and_outputs = rust.keys().filter(|name| name.contains('/')).count();
    assert_eq!(inputs_and_outputs, 50, "Rust has records that the contract lacks");
}

#[test]
fn every_point_is_a_function_of_header_and_input_that_may_fail() {
    let resolve = contract();
    for (_, interface) in resolve.interfaces.iter() {
        let Some(run) = interface.functions.get("run") else { continue };
        let name = interface.name.as_deref().unwrap();
        let parameters: Vec<String> =
            run.params.iter().map(|p| format!("{}: {}", p.name, contract_type(&resolve, p.ty))).collect();
        assert_eq!(parameters[..2], ["call: call-header", "input: input"], "{name}");
        let point = HookPoint::ALL.iter().find(|point| interface_of(**point) == name).unwrap();
        use samuel_core::hook::Kind;
        let passes_on = matches!(point.kind(), Kind::Blob | Kind::List | Kind::Transform);
        assert_eq!(
            parameters.get(2).is_some(),
            passes_on,
            "{name}: previous goes with blob, list and transform"
        );
        let Some(Type::Id(result)) = run.result else { panic!("{name} returns nothing") };
        let TypeDefKind::Result(result) = &resolve.types[result].kind else { panic!("{name} cannot fail") };
        assert_eq!(contract_type(&resolve, result.ok.unwrap()), "output", "{name}");
        assert_eq!(contract_type(&resolve, result.err.unwrap()), "failure", "{name}");
    }
}
