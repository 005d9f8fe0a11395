//! Files of integration tests: each one is a test program or a module of one.
//!
//! A file that no `mod` declares is not compiled, and its tests do not run.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn manifest(directory: &Path) -> Table {
    fs::read_to_string(directory.join("Cargo.toml")).unwrap().parse().unwrap()
}

/// Returns the directories of the workspace's packages.
fn packages() -> Vec<PathBuf> {
    let workspace = manifest(root());
    let members = workspace["workspace"]["members"].as_array().unwrap();
    members.iter().map(|member| root().join(member.as_str().unwrap())).collect()
}

/// Returns the `.rs` files in a directory; those of other packages in it are not included.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let (mut files, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.join("Cargo.toml").exists() {
                directories.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// Returns the main files of a package's test programs: those that the manifest lists, and those that cargo finds.
fn programs(directory: &Path, manifest: &Table) -> Vec<PathBuf> {
    let listed = manifest.get("test").and_then(Value::as_array).into_iter().flatten();
    let paths = listed.filter_map(|test| test.get("path")).map(|path| directory.join(path.as_str().unwrap()));
    let mut programs: Vec<PathBuf> = paths.collect();
    if manifest["package"].get("autotests").and_then(Value::as_bool) != Some(false) {
        let entries = fs::read_dir(directory.join("tests")).into_iter().flatten();
        let found = entries.map(|entry| entry.unwrap().path());
        let main = |path: PathBuf| if path.is_dir() { path.join("main.rs") } else { path };
        programs.extend(
            found.map(main).filter(|path| path.extension().is_some_and(|end| end == "rs") && path.exists()),
        );
    }
    programs
}

/// Returns the files that a file declares as modules. Their places follow from `children`, the directory of its modules.
fn modules(file: &Path, children: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap();
    let mut path = None;
    let mut modules = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(named) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            path = Some(file.parent().unwrap().join(named));
            continue;
        }
        let declared = line.strip_prefix("pub(crate) ").unwrap_or(line);
        if let Some(name) = declared.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            let places = [children.join(format!("{name}.rs")), children.join(name).join("mod.rs")];
            let found = path.take().or_else(|| places.into_iter().find(|place| place.exists()));
            modules.push(found.unwrap_or_else(|| panic!("{}: no file of `mod {name}`", file.display())));
        } else if !line.starts_with("#[") {
            path = None;
        }
    }
    modules
}

/// Adds a file and its modules to those that are compiled.
fn add(file: &Path, is_program: bool, compiled: &mut BTreeSet<PathBuf>) {
    let parent = file.parent().unwrap();
    let is_directory = is_program || file.ends_with("mod.rs");
    let children = if is_directory { parent.to_owned() } else { file.with_extension("") };
    if compiled.insert(file.canonicalize().unwrap()) {
        modules(file, &children).iter().for_each(|module| add(module, false, compiled));
    }
}

#[test]
fn no_file_is_forgotten() {
    let (mut compiled, mut present) = (BTreeSet::new(), BTreeSet::new());
    for package in packages() {
        let programs = programs(&package, &manifest(&package));
        programs.iter().for_each(|program| add(program, true, &mut compiled));
        present.extend(files_below(&package.join("tests")));
        // A program elsewhere has its modules next to it.
        let elsewhere = programs.iter().filter(|program| !program.starts_with(package.join("tests")));
        let next_to = elsewhere.flat_map(|program| fs::read_dir(program.parent().unwrap()).unwrap());
        let files = next_to.map(|entry| entry.unwrap().path());
        present.extend(files.filter(|path| path.extension().is_some_and(|end| end == "rs")));
    }
    assert!(present.len() > 200, "only {} files were found", present.len());
    let forgotten: Vec<_> =
        present.iter().filter(|path| !compiled.contains(&path.canonicalize().unwrap())).collect();
    assert!(forgotten.is_empty(), "add `mod` declarations for {forgotten:#?}");
}
