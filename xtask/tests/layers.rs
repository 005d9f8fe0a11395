//! Modules of `samuel-core` use each other according to the table in ARCHITECTURE.md: a
//! module uses only modules above it, and only those that its row names.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the rows of the table: each module with the modules that it may use.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| module |")).skip(2);
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            let [_, module, _, uses, _] = cells[..] else { panic!("not a row of three cells: {line}") };
            (names(module).remove(0), names(uses).into_iter().collect())
        })
        .collect()
}

/// Returns the code of a file, without comments and without its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let (code, _tests) = text.split_once("mod tests {").unwrap_or((&text, ""));
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Returns the modules of the crate that the code names, as `crate::a::B` or in
/// `use crate::{a::B, c}`.
fn used(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let Some(group) = after.strip_prefix('{') else {
            found.insert(first_name(after));
            continue;
        };
        let mut depth = 0;
        let mut is_first = true;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => is_first = true,
                c if is_first && !c.is_whitespace() => {
                    found.insert(first_name(&group[at..]));
                    is_first = false;
                }
                _ => {}
            }
        }
    }
    found
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Returns the files of a directory that contain code and are not tests.
fn files_of(source: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![source.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                directories.extend((name != "tests").then_some(path));
            } else if name.ends_with(".rs") && name != "tests.rs" {
                files.push(path);
            }
        }
    }
    files
}

/// Returns the files of the core, grouped by module.
fn files() -> BTreeMap<String, Vec<PathBuf>> {
    let source = root().join("samuel-core/src");
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in files_of(&source).into_iter().filter(|path| !path.ends_with("lib.rs")) {
        let inner = path.strip_prefix(&source).unwrap().iter().next().unwrap();
        let module = inner.to_str().unwrap().trim_end_matches(".rs").to_owned();
        files.entry(module).or_default().push(path);
    }
    files
}

#[test]
fn the_names_that_code_uses_are_found() {
    let code = "use crate::{a::{B, c::D}, e,\n    f::G};\nfn x() -> crate::h::I { crate::J }";
    let expected = ["J", "a", "e", "f", "h"].map(str::to_owned);
    assert_eq!(used(code), BTreeSet::from(expected));
}

#[test]
fn each_module_uses_what_its_row_names_and_that_stands_above_it() {
    let table = table();
    let files = files();
    let rows: BTreeSet<&String> = table.iter().map(|(module, _)| module).collect();
    assert_eq!(rows, files.keys().collect(), "the modules in the table and in the source directory");
    let mut above = BTreeSet::new();
    for (module, named) in &table {
        let unknown: Vec<_> = named.difference(&above).collect();
        assert!(unknown.is_empty(), "`{module}` may not use {unknown:?}, which are not above it");
        let mut uses: BTreeMap<String, &PathBuf> = BTreeMap::new();
        for path in &files[module] {
            uses.extend(used(&code(path)).into_iter().map(|name| (name, path)));
        }
        for (name, path) in uses.iter().filter(|(name, _)| files.contains_key(*name) && *name != module) {
            assert!(named.contains(name), "{} uses `{name}`, which its row does not name", path.display());
        }
        let idle: Vec<_> = named.iter().filter(|name| !uses.contains_key(*name)).collect();
        assert!(idle.is_empty(), "the row of `{module}` names {idle:?}, which the module does not use");
        above.insert(module.clone());
    }
}

/// The crates below the core, each with the crates of Samuel that it may use. Each crate comes after those that it uses.
const CRATES: [(&str, &[&str]); 14] = [
    ("samuel-fs", &[]),
    ("samuel-process", &[]),
    ("samuel-template", &[]),
    ("samuel-toon", &[]),
    ("samuel-guest", &[]),
    ("samuel-contract", &[]),
    ("samuel-model", &["samuel-contract"]),
    ("samuel-git", &["samuel-fs", "samuel-model", "samuel-process"]),
    ("samuel-prd", &["samuel-fs", "samuel-model"]),
    ("samuel-state", &["samuel-fs", "samuel-model", "samuel-toon"]),
    (
        "samuel-hook",
        &["samuel-contract", "samuel-fs", "samuel-model", "samuel-process", "samuel-template", "samuel-toon"],
    ),
    ("samuel-config", &["samuel-contract", "samuel-fs", "samuel-hook", "samuel-model"]),
    (
        "samuel-agent",
        &["samuel-config", "samuel-fs", "samuel-hook", "samuel-model", "samuel-process", "samuel-state"],
    ),
    (
        "samuel-machine",
        &["samuel-agent", "samuel-config", "samuel-hook", "samuel-model", "samuel-process", "samuel-state"],
    ),
];

#[test]
fn crates_use_only_those_below_them() {
    let used = |directory: &Path| -> BTreeSet<String> {
        let text = fs::read_to_string(directory.join("Cargo.toml")).unwrap();
        let names = text.lines().filter(|line| line.starts_with("samuel-"));
        names.map(|line| line.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect()).collect()
    };
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let directory = entry.unwrap().path();
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        let (_, may) =
            CRATES.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name} has no row"));
        let mut used = used(&directory);
        // Tests of a crate may enable a feature of it.
        used.remove(&name);
        assert_eq!(used, may.iter().map(|name| (*name).to_owned()).collect(), "{name}");
        found.insert(name);
    }
    assert_eq!(found, CRATES.iter().map(|(name, _)| (*name).to_owned()).collect());
    // `cargo xtask` starts in seconds, because it builds no crate of Samuel.
    assert_eq!(used(&root().join("xtask")), BTreeSet::new());
}

/// Returns the directories with the code of the crates below the core.
fn crate_sources() -> impl Iterator<Item = PathBuf> {
    fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"))
}

/// The files of a run directory that only a store may access, and the name of that store.
const OF_STATE: [&str; 11] = [
    "prd.toon\"",
    "journal.jsonl\"",
    "journal.1.jsonl\"",
    "loop.lock\"",
    "progress.md\"",
    "progress-archive.md\"",
    "progress-context.md\"",
    "task-context.toon\"",
    "project-snapshot.toon\"",
    ".samuel/run",
    "FileStore",
];

#[test]
fn nothing_outside_of_the_state_names_its_files_or_the_store_in_them() {
    let own = root().join("crates/samuel-state/src");
    let pure = ["plan", "sched"].map(|module| own.join(module));
    // This module exports the items of the crate.
    let facade = root().join("samuel-core/src/state.rs");
    let is_own = |path: &Path| {
        path == facade || path.starts_with(&own) && !pure.iter().any(|module| path.starts_with(module))
    };
    let sources = [
        "samuel-core/src",
        "cli/src",
        "bindings/python/src",
        "xtask/src",
        "bench/src",
        "examples/embed-rust/src",
    ];
    let mut sources: Vec<PathBuf> = sources.iter().map(|source| root().join(source)).collect();
    sources.extend(crate_sources());
    let files: Vec<PathBuf> = sources.iter().flat_map(|source| files_of(source)).collect();
    assert!(files.iter().any(|path| is_own(path)));
    for path in files.iter().filter(|path| !is_own(path)) {
        for line in code(path).lines() {
            // A message may name these files. A path has no space between its quotes.
            let words = line.split('"').skip(1).step_by(2).any(|text| text.contains(' '));
            let named = OF_STATE.iter().find(|name| line.contains(*name) && !words);
            assert_eq!(named, None, "{}: {line}", path.display());
        }
    }
}

/// Returns the commands of the command line, as its arguments name them.
fn commands() -> BTreeSet<String> {
    let text = code(&root().join("cli/src/args.rs"));
    let (_, variants) = text.split_once("enum Command {").unwrap();
    let (variants, _) = variants.split_once("\n}").unwrap();
    let name = |line: &str| line.trim().split_once('(').map(|(name, _)| name.to_lowercase());
    variants.lines().filter(|line| !line.trim().starts_with('#')).filter_map(name).collect()
}

/// Returns the long options of the command line, as its arguments name them.
fn options() -> BTreeSet<String> {
    let texts = files_of(&root().join("cli/src")).into_iter().map(|path| code(&path));
    let of_text = |text: String| text.split("#[arg(").skip(1).filter_map(option).collect::<Vec<_>>();
    texts.flat_map(of_text).collect()
}

/// Returns the long option of an argument if it has one. The text starts inside the argument's attribute.
fn option(attribute: &str) -> Option<String> {
    let (attribute, field) =
        attribute.split_once(")]\n").filter(|(attribute, _)| attribute.contains("long"))?;
    if let Some((_, named)) = attribute.split_once("long = \"") {
        return named.split_once('"').map(|(name, _)| name.to_owned());
    }
    let name = field.trim_start().trim_start_matches("pub(crate) ").split_once(':')?.0;
    Some(name.trim_start_matches("r#").replace('_', "-"))
}

/// Returns the option that a line advises its reader to pass, as in "pass --force".
fn advised(line: &str, options: &BTreeSet<String>) -> Option<String> {
    let told = ["`--", "pass --", "give --", "use --", "with --", "by --", "without --"];
    let after = told.iter().flat_map(|told| line.split(told).skip(1));
    let mut names = after
        .map(|after| after.split(|c: char| c != '-' && !c.is_ascii_lowercase()).next().unwrap_or_default());
    names.find(|name| options.contains(*name)).map(str::to_owned)
}

/// Returns the files of the libraries, except for tests.
fn library_files() -> Vec<PathBuf> {
    let mut sources = vec![root().join("samuel-core/src")];
    sources.extend(crate_sources());
    let files: Vec<PathBuf> = sources.iter().flat_map(|source| files_of(source)).collect();
    assert!(files.len() > 100);
    files.into_iter().filter(|path| !path.components().any(|part| part.as_os_str() == "tests")).collect()
}

#[test]
fn nothing_but_the_command_line_tells_people_to_give_its_options() {
    let options = options();
    for known in ["format", "allow-empty", "max-iterations", "directory"] {
        assert!(options.contains(known), "{known}: {options:?}");
    }
    assert_eq!(advised("or pass --force", &options).as_deref(), Some("force"));
    let mut files = library_files();
    files.extend(files_of(&root().join("bindings/python/src")));
    for path in files {
        for line in code(&path).lines() {
            assert_eq!(advised(line, &options), None, "{}: {line}", path.display());
        }
    }
}

#[test]
fn nothing_but_the_command_line_names_its_commands() {
    let commands = commands();
    assert!(commands.contains("run") && commands.contains("install"), "{commands:?}");
    for path in library_files() {
        for line in code(&path).lines() {
            let word = |after: &str| after.split(|c: char| !c.is_ascii_lowercase()).next().map(str::to_owned);
            let named = line.split("samuel ").skip(1).filter_map(word).find(|word| commands.contains(word));
            assert_eq!(named, None, "{}: {line}", path.display());
        }
    }
}
