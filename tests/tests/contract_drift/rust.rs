//! The Rust records that mirror the contract, read with syn.

use std::{collections::BTreeSet, fs, path::Path};

use crate::wit::{Shape, Shapes};

/// Reads the structs and enums of files. `points` are the interfaces of the hook
/// points, whose inputs and outputs have the point in their name.
pub(crate) fn shapes<P: AsRef<Path>>(
    files: impl IntoIterator<Item = P>,
    points: &BTreeSet<String>,
) -> Shapes {
    let mut shapes = Shapes::new();
    for file in files {
        let parsed = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
        for item in &parsed.items {
            match item {
                syn::Item::Struct(item) => {
                    let fields = item.fields.iter().filter_map(|f| Some((wire_name(f)?, type_name(&f.ty))));
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

/// Writes a Rust name as the contract does.
pub(crate) fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    out
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

/// The name on the wire: serde's where that is a word of its own, else the
/// field's. Names that templates use, such as `TaskID`, are not the contract's.
fn wire_name(field: &syn::Field) -> Option<String> {
    let mut name = kebab(&field.ident.as_ref()?.to_string());
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute
            .parse_nested_meta(|meta| {
                let value = meta.value().ok().map(|value| value.parse::<syn::LitStr>()).transpose()?;
                if meta.path.is_ident("rename") {
                    let renamed = value.unwrap().value();
                    if !renamed.starts_with(|first: char| first.is_ascii_uppercase()) {
                        name = renamed;
                    }
                }
                Ok(())
            })
            .unwrap();
    }
    Some(name)
}

/// A type in the contract's words, such as `option<task-brief>`.
fn type_name(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Tuple(tuple) => {
            format!("tuple<{}>", tuple.elems.iter().map(type_name).collect::<Vec<_>>().join(", "))
        }
        syn::Type::Path(path) => {
            let last = path.path.segments.last().unwrap();
            let arguments: Vec<String> = match &last.arguments {
                syn::PathArguments::AngleBracketed(inner) => inner
                    .args
                    .iter()
                    .map(|argument| match argument {
                        syn::GenericArgument::Type(inner) => type_name(inner),
                        _ => panic!("unexpected argument"),
                    })
                    .collect(),
                _ => Vec::new(),
            };
            match (last.ident.to_string().as_str(), arguments.as_slice()) {
                ("Option", [inner]) => format!("option<{inner}>"),
                ("Vec", [inner]) => format!("list<{inner}>"),
                ("BTreeMap", [key, value]) => format!("list<tuple<{key}, {value}>>"),
                ("Arc", [inner]) => inner.clone(),
                ("String" | "str", []) => "string".into(),
                ("i32", []) => "s32".into(),
                // The prompt context's own task has the fields of the shared one.
                ("TaskVars", []) => "task-brief".into(),
                (name, []) => kebab(name),
                // Data of plugins crosses as JSON.
                (name, _) => format!("{}<{}>", kebab(name), arguments.join(", ")),
            }
        }
        syn::Type::Slice(_) | syn::Type::Reference(_) => "-".into(),
        _ => panic!("unexpected type"),
    }
}
