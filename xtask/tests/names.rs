//! One word is one thing: no two public types of the library have the same name, wherever
//! they are reached from.
//!
//! Left out is the crate `samuel-plugin`, whose types are those of the library as a component
//! has them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{Item, UseTree, Visibility};

/// The crates that a program sees as one library, by their directories.
const CRATES: [(&str, &str); 5] = [
    ("samuel_core", "samuel-core"),
    ("samuel_contract", "crates/samuel-contract"),
    ("samuel_process", "crates/samuel-process"),
    ("samuel_template", "crates/samuel-template"),
    ("samuel_toon", "crates/samuel-toon"),
];

/// The crates below the core of which a program sees only what the core re-exports.
const BELOW: [(&str, &str); 9] = [
    ("samuel_agent", "crates/samuel-agent"),
    ("samuel_config", "crates/samuel-config"),
    ("samuel_fs", "crates/samuel-fs"),
    ("samuel_git", "crates/samuel-git"),
    ("samuel_hook", "crates/samuel-hook"),
    ("samuel_machine", "crates/samuel-machine"),
    ("samuel_model", "crates/samuel-model"),
    ("samuel_prd", "crates/samuel-prd"),
    ("samuel_state", "crates/samuel-state"),
];

/// A path of modules and a name in them, from the name of a crate on.
type Names = Vec<String>;

/// What a module says of the names in it.
#[derive(Default)]
struct Module {
    /// Whether everybody can name the module.
    is_public: bool,
    /// The public types that are written here.
    types: BTreeSet<String>,
    /// What is imported, by its name here.
    uses: BTreeMap<String, Names>,
    /// Those of these names that everybody can use from here.
    exported: BTreeSet<String>,
    /// The modules all of which is re-exported.
    globs: Vec<Names>,
}

type Modules = BTreeMap<Names, Module>;

fn modules() -> Modules {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut modules = Modules::new();
    let public = CRATES.map(|known| (known, true));
    for ((name, directory), is_public) in public.into_iter().chain(BELOW.map(|known| (known, false))) {
        let source = root.join(directory).join("src");
        read(&source.join("lib.rs"), &source, vec![name.to_owned()], is_public, &mut modules);
    }
    modules
}

/// Reads a file, whose modules lie in a directory, with the modules below it.
fn read(file: &Path, directory: &Path, path: Names, is_public: bool, modules: &mut Modules) {
    let items = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap().items;
    take(items, directory, path, is_public, modules);
}

fn take(items: Vec<Item>, directory: &Path, path: Names, is_public: bool, modules: &mut Modules) {
    let mut module = Module { is_public, ..Module::default() };
    for item in items {
        let named = match item {
            Item::Struct(item) => (item.vis, item.ident),
            Item::Enum(item) => (item.vis, item.ident),
            Item::Union(item) => (item.vis, item.ident),
            Item::Trait(item) => (item.vis, item.ident),
            Item::Type(item) => (item.vis, item.ident),
            Item::Use(item) => {
                let mut imports = Module::default();
                imported(&item.tree, &mut Vec::new(), &path, &mut imports);
                if matches!(item.vis, Visibility::Public(_)) {
                    module.exported.extend(imports.uses.keys().cloned());
                    module.globs.append(&mut imports.globs);
                }
                module.uses.append(&mut imports.uses);
                continue;
            }
            Item::Mod(item) => {
                let name = item.ident.to_string();
                let is_public = is_public && matches!(item.vis, Visibility::Public(_));
                let inner = [&path[..], std::slice::from_ref(&name)].concat();
                let directory = directory.join(&name);
                let files = [directory.join("mod.rs"), directory.with_extension("rs")];
                match (item.content, files.iter().find(|file| file.is_file())) {
                    (Some((_, items)), _) => take(items, &directory, inner, is_public, modules),
                    (None, Some(file)) => read(file, &directory, inner, is_public, modules),
                    // One that has its place by an attribute is a test.
                    (None, None) => assert!(!is_public, "{inner:?} has no file"),
                }
                continue;
            }
            _ => continue,
        };
        if let (Visibility::Public(_), name) = named {
            module.types.insert(name.to_string());
        }
    }
    modules.insert(path, module);
}

/// Notes what a `use` makes known in a module.
fn imported(tree: &UseTree, above: &mut Names, at: &Names, module: &mut Module) {
    match tree {
        UseTree::Path(inner) => {
            above.push(inner.ident.to_string());
            imported(&inner.tree, above, at, module);
            above.pop();
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| imported(tree, above, at, module));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            module.uses.insert(name.clone(), absolute(&[above, &[name][..]].concat(), at));
        }
        UseTree::Rename(rename) => {
            let path = [above, &[rename.ident.to_string()][..]].concat();
            module.uses.insert(rename.rename.to_string(), absolute(&path, at));
        }
        UseTree::Glob(_) => module.globs.push(absolute(above, at)),
    }
}

/// Returns a path from its crate on, as it is meant in a module.
fn absolute(path: &[String], at: &Names) -> Names {
    let (first, rest) = path.split_first().unwrap();
    match first.as_str() {
        "crate" => [&at[..1], rest].concat(),
        "self" => [&at[..], rest].concat(),
        "super" if rest.first().is_some_and(|next| next == "super") => absolute(rest, &above(at)),
        "super" => [&above(at)[..], rest].concat(),
        name if CRATES.iter().chain(&BELOW).any(|(known, _)| *known == name) => path.to_vec(),
        _ => [&at[..], path].concat(),
    }
}

fn above(at: &Names) -> Names {
    at[..at.len() - 1].to_vec()
}

/// Returns where a name of a module was written, through all re-exports.
fn written(modules: &Modules, at: &[String], name: &str) -> Names {
    let here = || [at, &[name.to_owned()]].concat();
    let Some(module) = modules.get(at) else {
        // The module may be another crate's, under a name of its own here.
        let another = at.split_last().and_then(|(name, above)| modules.get(above)?.uses.get(name));
        return another.map_or_else(here, |another| written(modules, another, name));
    };
    if module.types.contains(name) {
        return here();
    }
    if let Some((name, at)) = module.uses.get(name).and_then(|path| path.split_last()) {
        return written(modules, at, name);
    }
    let there = module.globs.iter().find(|glob| names(modules, glob).contains(name));
    // What a macro wrote is of the module that calls it.
    there.map_or_else(here, |glob| written(modules, glob, name))
}

/// Returns the names of types that a module makes known.
fn names(modules: &Modules, at: &[String]) -> BTreeSet<String> {
    let Some(module) = modules.get(at) else { return BTreeSet::new() };
    let is_type = |name: &&String| {
        name.starts_with(|c: char| c.is_uppercase()) && name.contains(|c: char| c.is_lowercase())
    };
    let mut all: BTreeSet<String> = module.types.clone();
    all.extend(module.exported.iter().filter(is_type).cloned());
    all.extend(module.globs.iter().flat_map(|glob| names(modules, glob)));
    all
}

/// Returns the public types by their names, each with where those of this name were written.
fn public_types(modules: &Modules) -> BTreeMap<String, BTreeSet<Names>> {
    let mut types: BTreeMap<String, BTreeSet<Names>> = BTreeMap::new();
    for (path, _) in modules.iter().filter(|(_, module)| module.is_public) {
        for name in names(modules, path) {
            let place = written(modules, path, &name);
            types.entry(name).or_default().insert(place);
        }
    }
    types
}

#[test]
fn a_name_of_a_public_type_stands_for_one_type() {
    let types = public_types(&modules());
    assert!(types.len() > 500, "only {} were found", types.len());
    let places = |of: &BTreeSet<Names>| of.iter().map(|place| place.join("::")).collect::<Vec<_>>();
    let twice: BTreeMap<_, _> =
        types.iter().filter(|(_, of)| of.len() > 1).map(|(name, of)| (name, places(of))).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

#[test]
fn a_type_is_followed_through_its_re_exports_and_told_from_another_of_its_name() {
    let parsed = |text: &str| syn::parse_file(text).unwrap().items;
    let mut modules = Modules::new();
    let of_contract = "pub use inner::*; mod inner { pub struct Same; }";
    let of_core = "pub use samuel_contract::Same; pub mod a { pub use crate::Same; pub struct Other; }
        pub mod b { pub use super::hidden::Other; } mod hidden { pub enum Other {} pub struct Unseen; }
        pub use hidden::made::Made as Brought; struct Private;";
    for (name, text) in [("samuel_contract", of_contract), ("samuel_core", of_core)] {
        take(parsed(text), &PathBuf::new(), vec![name.to_owned()], true, &mut modules);
    }
    let types = public_types(&modules);
    let counts: Vec<_> = types.iter().map(|(name, of)| (name.as_str(), of.len())).collect();
    assert_eq!(counts, [("Brought", 1), ("Other", 2), ("Same", 1)]);
    let same = ["samuel_contract", "inner", "Same"].map(str::to_owned).to_vec();
    assert!(types["Same"].contains(&same));
}
