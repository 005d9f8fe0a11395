//! What is on no registry is never shown as if it were.
//!
//! None of the project's packages is on crates.io, `PyPI` or npm, so whoever follows a page that says so gets what
//! a stranger has put there under the name. Held are the pages, what the sources say to users, and what `samuel`
//! writes into new plugins and projects.

use std::{fs, path::Path};

use crate::newcomer::{
    plugins::Desk,
    scratch::{Scratch, root},
};

/// Commands that take packages from a registry, by their words.
const INSTALLERS: [&[&str]; 18] = [
    &["pip", "install"],
    &["pip3", "install"],
    &["pipx", "install"],
    &["uv", "add"],
    &["uvx"],
    &["poetry", "add"],
    &["conda", "install"],
    &["cargo", "add"],
    &["cargo", "install"],
    &["cargo", "binstall"],
    &["npm", "install"],
    &["npm", "i"],
    &["npm", "add"],
    &["npx"],
    &["pnpm", "add"],
    &["yarn", "add"],
    &["bun", "add"],
    &["docker", "pull"],
];
/// With one of these a command takes them from elsewhere.
const ELSEWHERE: [&str; 5] = ["--path", "--git", "--no-index", "--find-links", "-f"];
/// Where registries show a package.
const SHOWN: [&str; 6] = [
    "crates.io/crates/",
    "docs.rs/",
    "pypi.org/project/",
    "npmjs.com/package/",
    "img.shields.io/crates/v/",
    "img.shields.io/pypi/v/",
];
/// What is read of the repository, by the ends of names.
const READ: [&str; 12] =
    [".md", ".rs", ".py", ".pyi", ".toml", ".json", ".js", ".mjs", ".tmpl", ".wit", ".html", "Containerfile"];
/// Directories of what is built or fetched, and of tests, which speak to nobody.
const LEFT_OUT: [&str; 4] = ["target", "node_modules", "tests", "__pycache__"];

/// Says whether a package of this name would be one of this project.
fn is_ours(name: &str) -> bool {
    let name = name.trim_start_matches('@').replace('_', "-");
    let name = name.split(|c: char| "=<>~![@;/".contains(c)).next().unwrap_or_default();
    name == "samuel" || name.starts_with("samuel-") && !name.ends_with(".whl") && !name.ends_with(".toml")
}

/// Returns what a line shows as if it were on a registry.
fn shown(line: &str) -> Option<String> {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || "`\"'(),".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    for at in 0..words.len() {
        let Some(installer) = INSTALLERS.iter().find(|installer| words[at..].starts_with(installer)) else {
            continue;
        };
        let args =
            words[at + installer.len()..].iter().take_while(|word| !["&&", "|", "#", ";"].contains(word));
        let args: Vec<&str> = args.copied().collect();
        if !args.iter().any(|arg| ELSEWHERE.contains(arg)) && args.iter().any(|arg| is_ours(arg)) {
            return Some(format!("{} {}", installer.join(" "), args.join(" ")));
        }
    }
    if let Some(address) = SHOWN.iter().find(|address| line.contains(&format!("{address}samuel"))) {
        return Some(format!("{address}samuel"));
    }
    requirement(line)
}

/// Returns a requirement in Cargo.toml, package.json or pyproject.toml that a registry would be asked for.
fn requirement(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches(['#', '/', '!', ' ']);
    let (name, value) = line.split_once(" = ").or_else(|| line.split_once(": "))?;
    let name = name.trim_matches('"');
    let value = value.trim();
    let is_crate = name != "samuel" && is_ours(name) && !name.contains([' ', '.', '{']);
    let is_version = |text: &str| {
        text.trim_start_matches(['"', '^', '=', '~', '>', '<']).starts_with(|c: char| c.is_ascii_digit())
    };
    let asks = match value.starts_with('{') {
        true => {
            value.contains("version") && !["path", "git", "workspace"].iter().any(|key| value.contains(key))
        }
        false => value.starts_with('"') && is_version(value),
    };
    (is_crate && asks).then(|| line.to_owned())
}

/// Reads the files below a directory, and collects what they show.
fn look(directory: &Path, read: &mut usize, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !LEFT_OUT.contains(&name.as_str()) && name != ".git" {
                look(&path, read, found);
            }
        } else if READ.iter().any(|end| name.ends_with(end)) {
            *read += 1;
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines = text.lines().zip(1..).filter_map(|(line, number)| Some((shown(line)?, number)));
            found.extend(lines.map(|(shown, number)| format!("{}:{number}: {shown}", path.display())));
        }
    }
}

#[test]
fn what_would_be_asked_of_a_registry_is_recognised() {
    for line in [
        "pip install samuel-sdk",
        "    python -m pip install 'samuel-sdk[otel]>=2'",
        "run `uv add samuel_sdk`",
        "cargo add samuel-core --features testing",
        "cargo install samuel-cli && samuel demo",
        "npm install @samuel-sdk/plugin",
        "[docs](https://docs.rs/samuel-core)",
        "samuel-plugin = \"2.0\"",
        "//! samuel-core = { version = \"2\", features = [\"wasm\"] }",
        "  \"samuel-plugin\": \"^2.0.0\",",
    ] {
        assert!(shown(line).is_some(), "{line}");
    }
    for line in [
        "python -m venv .venv && .venv/bin/pip install ./bindings/python",
        "cargo install --path cli              # once",
        "cargo add --path ../samuel/samuel-core samuel-core",
        "samuel install samuel-lint",
        "npm install @bytecodealliance/jco    # for `samuel plugin build`",
        "samuel-core = { path = \"samuel-core\", version = \"2.0.0\" }",
        "samuel-plugin = { path = \"sdk\" }",
        "samuel = \"^2.0\"                 # the versions of Samuel it works with",
        "pip install target/wheels/samuel_sdk-2.0.0-cp311-abi3-manylinux2014_x86_64.whl",
    ] {
        assert_eq!(shown(line), None, "{line}");
    }
}

#[test]
fn pages_and_sources_show_nothing_as_if_it_were_on_a_registry() {
    let (mut read, mut found) = (0, Vec::new());
    look(&root(), &mut read, &mut found);
    assert!(read > 500, "only {read} files were read");
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_samuel_writes_asks_no_registry_for_it() {
    let desk = Desk::new(Scratch::new());
    for (kind, languages) in [
        ("wasm", &["rust", "python", "javascript"][..]),
        ("skill", &["python", "javascript", "sh"]),
        ("oci", &["rust", "python"]),
    ] {
        for language in languages {
            desk.samuel(
                ".",
                &["plugin", "new", &format!("{kind}-{language}"), "--kind", kind, "--lang", language],
            );
        }
    }
    fs::create_dir(desk.path().join("project")).unwrap();
    desk.samuel("project", &["init", "--yes"]);
    desk.samuel("project", &["run", "init"]);
    let (mut read, mut found) = (0, Vec::new());
    look(desk.path(), &mut read, &mut found);
    assert!(read > 40, "only {read} files were read");
    assert!(found.is_empty(), "{found:#?}");
}
