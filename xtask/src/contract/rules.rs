//! What holds for every interface of the contract, whatever it is for.

use anyhow::{Result, ensure};
use wit_parser::{Docs, Interface, Resolve, Type, TypeDefKind};

use super::{
    model::{Contract, Ty},
    read::{GROUPS, interface_of},
};

/// What points share.
const TYPES: &str = "types";
/// What functions of the host share.
const HOST_TYPES: &str = "host-types";

/// Checks the package beside what was read of it.
///
/// # Errors
/// Fails at an interface that is nobody's, a point of another form, an input or
/// output without room for more, and at what is not documented.
pub(super) fn check(resolve: &Resolve, contract: &Contract) -> Result<()> {
    let mut missing = Vec::new();
    for (_, interface) in &resolve.interfaces {
        let name = interface.name.as_deref().unwrap_or_default();
        let has_types = [TYPES, HOST_TYPES].contains(&name);
        let is_point = contract.points.iter().any(|point| point.interface == name);
        ensure!(
            is_point || has_types || is_imported(resolve, name),
            "{name} is neither in wit/points.toml nor in the world imports"
        );
        ensure!(!has_types || interface.functions.is_empty(), "{name} has functions beside its types");
        undocumented(resolve, interface, is_point || name == TYPES || name == GROUPS, &mut missing);
    }
    ensure!(missing.is_empty(), "without documentation: {}", missing.join(", "));
    for point in &contract.points {
        let interface = interface_of(&point.row.id);
        let found = resolve.interfaces.iter().find(|(_, known)| known.name.as_deref() == Some(&*interface));
        let functions: Vec<&str> =
            found.iter().flat_map(|(_, known)| known.functions.keys()).map(String::as_str).collect();
        ensure!(functions == ["run"], "{interface} has the functions {functions:?} instead of run");
        let run = found.and_then(|(_, known)| known.functions.get("run"));
        let given: Vec<String> = run
            .iter()
            .flat_map(|run| &run.params)
            .map(|given| format!("{}: {}", given.name, written(resolve, given.ty)))
            .collect();
        let mut expected = vec!["call: call-header".to_owned(), "input: input".to_owned()];
        if point.row.previous {
            expected.push("previous: option<output>".to_owned());
        }
        ensure!(given == expected, "{interface}: run takes {given:?} instead of {expected:?}");
        let returned = run.and_then(|run| run.result).map(|ty| written(resolve, ty));
        let is_expected = returned.as_deref() == Some("result<output, failure>");
        ensure!(is_expected, "{interface}: run returns {returned:?} instead of result<output, failure>");
        for record in [contract.input(point), contract.output(point)] {
            let last = record.fields.last().map(|field| &field.ty);
            ensure!(last == Some(&Ty::Extensions), "{} does not end with extensions", record.name);
        }
    }
    Ok(())
}

fn is_imported(resolve: &Resolve, name: &str) -> bool {
    let imports = resolve.worlds.iter().find(|(_, world)| world.name == "imports");
    let names = imports.iter().flat_map(|(_, world)| world.imports.values()).filter_map(|item| match item {
        wit_parser::WorldItem::Interface { id, .. } => resolve.interfaces.get(*id)?.name.as_deref(),
        _ => None,
    });
    names.into_iter().any(|known| known == name)
}

/// Lists what is not documented; `words` says whether single words have to be.
fn undocumented(resolve: &Resolve, interface: &Interface, words: bool, missing: &mut Vec<String>) {
    let owner = interface.name.as_deref().unwrap_or_default();
    let mut check = |docs: &Docs, what: String| {
        if docs.contents.as_deref().is_none_or(|text| text.trim().is_empty()) {
            missing.push(what);
        }
    };
    check(&interface.docs, owner.to_owned());
    for (name, function) in &interface.functions {
        check(&function.docs, format!("{owner}.{name}"));
    }
    for (name, id) in &interface.types {
        let Some(definition) = resolve.types.get(*id) else { continue };
        // An input or output is what the interface says; `use` brings docs along.
        let is_used = matches!(definition.kind, TypeDefKind::Type(Type::Id(_)));
        if !is_used && name != "input" && name != "output" {
            check(&definition.docs, format!("{owner}.{name}"));
        }
        match &definition.kind {
            TypeDefKind::Record(record) => {
                for field in record.fields.iter().filter(|field| field.name != "extensions") {
                    check(&field.docs, format!("{owner}.{name}.{}", field.name));
                }
            }
            TypeDefKind::Enum(cases) if words => {
                for case in &cases.cases {
                    check(&case.docs, format!("{owner}.{name}.{}", case.name));
                }
            }
            _ => {}
        }
    }
}

/// A type in the package's words, as far as functions of points have it.
fn written(resolve: &Resolve, ty: Type) -> String {
    let Type::Id(id) = ty else { return format!("{ty:?}").to_lowercase() };
    let Some(definition) = resolve.types.get(id) else { return String::new() };
    match (&definition.kind, definition.name.as_deref()) {
        (TypeDefKind::Type(first @ Type::Id(_)), _) => written(resolve, *first),
        (_, Some(name)) => name.to_owned(),
        (TypeDefKind::Option(inner), _) => format!("option<{}>", written(resolve, *inner)),
        (TypeDefKind::Result(result), _) => {
            let part = |ty: Option<Type>| ty.map_or_else(|| "_".to_owned(), |ty| written(resolve, ty));
            format!("result<{}, {}>", part(result.ok), part(result.err))
        }
        (other, _) => format!("{other:?}"),
    }
}
