//! What a component is, without running it.

use wasmtime::component::{
    Component,
    types::{ComponentFunc, ComponentItem, Type},
};

use super::{ProtocolVersion, interface_of, protocol::ContractName, scan::Outline};
use crate::hook::HookPoint;

/// What a component imports and exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The full names of its imports, in order.
    pub imports: Vec<String>,
    /// The hook points whose standard interface it exports.
    pub points: Vec<HookPoint>,
    /// The functions at its root, in order.
    pub functions: Vec<RootFunction>,
    /// The latest version of the contract among its imports and exports;
    /// nothing where it names none.
    pub protocol: Option<ProtocolVersion>,
}

/// A function that a component exports at its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootFunction {
    /// Its name, such as `on-quality-check`.
    pub name: String,
    /// The points whose type it has; more than one where their types are
    /// alike.
    pub points: Vec<HookPoint>,
    /// Its type as the contract would write it, with records by their fields.
    pub signature: String,
}

pub(super) fn inspect(outline: &Outline, component: &Component) -> Inspection {
    let names = outline.imports.iter().chain(&outline.interfaces);
    let protocol = names.filter_map(|name| Some(ContractName::parse(name)?.protocol)).max();
    let exports = |point: &HookPoint| {
        let interface = interface_of(*point);
        let mut names = outline.interfaces.iter().filter_map(|name| ContractName::parse(name));
        names.any(|name| name.interface == interface)
    };
    Inspection {
        imports: outline.imports.clone(),
        points: HookPoint::ALL.iter().copied().filter(exports).collect(),
        functions: outline.functions.iter().filter_map(|name| root_function(name, component)).collect(),
        protocol,
    }
}

fn root_function(name: &str, component: &Component) -> Option<RootFunction> {
    let (item, _) = component.get_export(None, name)?;
    let ComponentItem::ComponentFunc(function) = item else { return None };
    let points = HookPoint::ALL.iter().copied();
    let points = points.filter(|point| super::points::mismatch(*point, component, &function).is_none());
    Some(RootFunction { name: name.to_owned(), points: points.collect(), signature: signature(&function) })
}

/// Writes the type of a function.
fn signature(function: &ComponentFunc) -> String {
    let params: Vec<String> =
        function.params().map(|(name, ty)| format!("{name}: {}", written(&ty))).collect();
    let results: Vec<String> = function.results().map(|ty| written(&ty)).collect();
    let arrow = if results.is_empty() { "" } else { " -> " };
    format!("func({}){arrow}{}", params.join(", "), results.join(", "))
}

/// Writes a type; the names of records are not kept in a component.
fn written(ty: &Type) -> String {
    let list = |types: Vec<String>| types.join(", ");
    match ty {
        Type::Bool => "bool".into(),
        Type::S8 => "s8".into(),
        Type::U8 => "u8".into(),
        Type::S16 => "s16".into(),
        Type::U16 => "u16".into(),
        Type::S32 => "s32".into(),
        Type::U32 => "u32".into(),
        Type::S64 => "s64".into(),
        Type::U64 => "u64".into(),
        Type::Float32 => "f32".into(),
        Type::Float64 => "f64".into(),
        Type::Char => "char".into(),
        Type::String => "string".into(),
        Type::List(of) => format!("list<{}>", written(&of.ty())),
        Type::Option(of) => format!("option<{}>", written(&of.ty())),
        Type::Tuple(of) => format!("tuple<{}>", list(of.types().map(|ty| written(&ty)).collect())),
        Type::Record(record) => {
            let fields = record.fields().map(|field| format!("{}: {}", field.name, written(&field.ty)));
            format!("record {{ {} }}", list(fields.collect()))
        }
        Type::Enum(cases) => {
            format!("enum {{ {} }}", list(cases.names().map(str::to_owned).collect()))
        }
        Type::Result(result) => {
            let side = |ty: Option<Type>| ty.as_ref().map_or_else(|| "_".to_owned(), written);
            format!("result<{}, {}>", side(result.ok()), side(result.err()))
        }
        _ => "another type".into(),
    }
}
