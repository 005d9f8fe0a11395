//! The contract in `wit/v1`, read with wit-parser.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use samuel_core::hook::HookPoint;
use wit_parser::{Function, Interface, InterfaceId, Resolve, Type, TypeDefKind, TypeId, World, WorldItem};

/// Types by their contract name: `quality-check/input` or `text-item`.
pub(crate) type Shapes = BTreeMap<String, Shape>;

/// What a type is made of.
#[derive(Debug, PartialEq)]
pub(crate) enum Shape {
    /// The names and types of fields.
    Record(Vec<(String, String)>),
    /// The names of cases.
    Enum(Vec<String>),
}

/// The directory of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The package as it is.
pub(crate) fn contract() -> Resolve {
    let mut resolve = Resolve::new();
    resolve.push_dir(root().join("wit/v1")).unwrap();
    resolve
}

/// The name of a point's interface: its id with hyphens throughout.
pub(crate) fn interface_of(point: HookPoint) -> String {
    point.as_str().replace([':', '.'], "-")
}

/// Whether components implement an interface, rather than the host.
pub(crate) fn is_point(interface: &Interface) -> bool {
    let name = interface.name.as_deref().unwrap();
    HookPoint::ALL.iter().any(|point| interface_of(*point) == name)
}

/// An interface by its name.
pub(crate) fn interface<'a>(resolve: &'a Resolve, name: &str) -> &'a Interface {
    let found = resolve.interfaces.iter().find(|(_, interface)| interface.name.as_deref() == Some(name));
    found.unwrap_or_else(|| panic!("there is no interface {name}")).1
}

/// A world by its name.
pub(crate) fn world<'a>(resolve: &'a Resolve, name: &str) -> &'a World {
    let found = resolve.worlds.iter().find(|(_, world)| world.name == name);
    found.unwrap_or_else(|| panic!("there is no world {name}")).1
}

/// The names of the interfaces among a world's imports or exports.
pub(crate) fn names<'a>(resolve: &Resolve, items: impl IntoIterator<Item = &'a WorldItem>) -> Vec<String> {
    let name = |id: InterfaceId| resolve.interfaces[id].name.clone().unwrap();
    items
        .into_iter()
        .map(|item| match item {
            WorldItem::Interface { id, .. } => name(*id),
            other => panic!("{other:?} is no interface"),
        })
        .collect()
}

/// The shapes of the types that an interface defines itself.
pub(crate) fn shapes(resolve: &Resolve, interface: &Interface) -> Shapes {
    let owner = interface.name.as_deref().unwrap();
    let mut shapes = Shapes::new();
    for (name, id) in &interface.types {
        let key = if name == "input" || name == "output" { format!("{owner}/{name}") } else { name.clone() };
        let shape = match &resolve.types[*id].kind {
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter();
                Shape::Record(fields.map(|f| (f.name.clone(), type_name(resolve, f.ty))).collect())
            }
            TypeDefKind::Enum(cases) => {
                Shape::Enum(cases.cases.iter().map(|case| case.name.clone()).collect())
            }
            // Aliases: `json`, `extensions`, and what `use` brings in.
            TypeDefKind::Type(_) | TypeDefKind::List(_) => continue,
            other => panic!("{owner}/{name}: {other:?} has no counterpart"),
        };
        shapes.insert(key, shape);
    }
    shapes
}

/// The parameters of a function as `name: type`.
pub(crate) fn parameters(resolve: &Resolve, function: &Function) -> Vec<String> {
    function.params.iter().map(|p| format!("{}: {}", p.name, type_name(resolve, p.ty))).collect()
}

/// What a function returns.
pub(crate) fn result_of(resolve: &Resolve, function: &Function) -> String {
    function.result.map_or_else(|| "_".to_owned(), |ty| type_name(resolve, ty))
}

/// A type in the contract's words, such as `option<task-brief>`.
pub(crate) fn type_name(resolve: &Resolve, ty: Type) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::U8 => "u8".into(),
        Type::String => "string".into(),
        Type::U32 => "u32".into(),
        Type::U64 => "u64".into(),
        Type::S32 => "s32".into(),
        Type::F64 => "f64".into(),
        Type::Id(id) => named(resolve, id),
        other => panic!("{other:?} has no counterpart"),
    }
}

fn named(resolve: &Resolve, id: TypeId) -> String {
    let definition = &resolve.types[id];
    let name = |ty: Type| type_name(resolve, ty);
    match (&definition.kind, definition.name.as_deref()) {
        // What `use` brings in, under its first name.
        (TypeDefKind::Type(Type::Id(first)), _) => named(resolve, *first),
        (_, Some(own)) => own.to_owned(),
        (TypeDefKind::Option(inner), _) => format!("option<{}>", name(*inner)),
        (TypeDefKind::List(inner), _) => format!("list<{}>", name(*inner)),
        (TypeDefKind::Tuple(tuple), _) => {
            let parts: Vec<String> = tuple.types.iter().map(|ty| name(*ty)).collect();
            format!("tuple<{}>", parts.join(", "))
        }
        (TypeDefKind::Result(result), _) => {
            let part = |ty: Option<Type>| ty.map_or_else(|| "_".to_owned(), name);
            format!("result<{}, {}>", part(result.ok), part(result.err))
        }
        (other, _) => panic!("{other:?} has no counterpart"),
    }
}
