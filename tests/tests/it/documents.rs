//! Documents of the repository: links lead somewhere, the paths and tests they name exist, the
//! code they show is code that runs, and what they list of the core is what it has.

use std::{
    fs,
    path::{Path, PathBuf},
};

use samuel_core::{
    config::config_schema,
    dialect::{EventType, HookSchema},
    plugin::manifest_schema,
};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn documents() -> Vec<PathBuf> {
    let top =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    let pages = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    top.into_iter().chain(pages.filter(|path| path.extension().is_some_and(|end| end == "md"))).collect()
}

/// Returns the lines of a document that are not in a block of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Returns the targets of a document's links, without code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        for part in line.split("](").skip(1) {
            found.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// Returns the anchor of a heading, as it is on the web.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.starts_with("http")) {
            let (path, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { document.clone() } else { document.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link}", document.display());
            if !fragment.is_empty() {
                let headings = fs::read_to_string(&target).unwrap();
                let known = headings
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .any(|line| anchor(line) == fragment);
                assert!(known, "{}: there is no {link}", document.display());
            }
        }
    }
}

/// Returns the READMEs of packages, of plugins among the examples, and of `wit`.
fn readmes() -> Vec<PathBuf> {
    let groups = ["bindings", "crates", "examples/plugins"].map(|name| root().join(name));
    let packages = groups.into_iter().flat_map(|group| fs::read_dir(group).unwrap());
    let packages = packages.map(|entry| entry.unwrap().path()).chain([root().join("wit")]);
    packages.map(|package| package.join("README.md")).filter(|path| path.exists()).collect()
}

/// Returns a path for each name of its group `{a,b}`, or the path if it has none.
fn expanded(path: &str) -> Vec<String> {
    let Some((start, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (names, end) = rest.split_once('}').unwrap();
    names.split(',').map(|name| format!("{start}{name}{end}")).collect()
}

#[test]
fn the_paths_of_the_repository_that_documents_name_exist() {
    const DIRECTORIES: [&str; 10] =
        ["samuel-core", "crates", "cli", "tests", "xtask", "bench", "bindings", "examples", "docs", "wit"];
    const ENDS: [&str; 7] = [".rs", ".toml", ".md", ".wit", ".py", ".json", "/"];
    // What a project or a plugin has.
    const OF_OTHERS: [&str; 3] = ["cache/", "wit/deps/", "wit/plugin.wit"];
    let (mut named, mut missing) = (0, Vec::new());
    // The changelog also names what is gone; the sources page has a test of its own.
    let is_read = |page: &PathBuf| !page.ends_with("CHANGELOG.md") && !page.ends_with("docs/sources.md");
    for document in documents().into_iter().chain(readmes()).filter(is_read) {
        let text = fs::read_to_string(&document).unwrap();
        let text = prose(&text).collect::<Vec<_>>().join("\n");
        let (core, is_short) = (root().join("samuel-core/src"), document.ends_with("ARCHITECTURE.md"));
        let base = if is_short { core.as_path() } else { document.parent().unwrap() };
        let quoted = text.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
        let paths = quoted
            .filter(|name| name.contains('/') && ENDS.iter().any(|end| name.ends_with(*end)))
            .filter(|name| !name.starts_with('.') && !name.contains([' ', '\n', '*', '<']))
            .filter(|name| is_short || DIRECTORIES.iter().any(|first| name.split('/').next() == Some(*first)))
            .filter(|name| !OF_OTHERS.contains(name));
        for path in paths.flat_map(expanded) {
            named += 1;
            if !root().join(&path).exists() && !base.join(&path).exists() {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(named > 200, "only {named} paths were found");
}

#[test]
fn the_files_and_tests_that_the_sources_page_names_exist() {
    let text = fs::read_to_string(root().join("docs/sources.md")).unwrap();
    let mut named = 0;
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let mut file = None;
        for name in row.split('`').skip(1).step_by(2) {
            let starts = |with: &[&str]| with.iter().any(|start| name.starts_with(start));
            // Files below `.samuel/` are those of a project.
            if name.contains('/') && !name.starts_with(".samuel/") {
                let in_core = starts(&["src/", "tests/"]) && !starts(&["tests/tests/", "tests/parity"]);
                let path = root().join(if in_core { "samuel-core" } else { "" }).join(name);
                assert!(path.exists(), "{name} does not exist");
                file = Some(path);
            } else if name.matches('_').count() > 2 {
                let path = file.as_ref().unwrap_or_else(|| panic!("{name} stands without a file"));
                let source = fs::read_to_string(path).unwrap();
                assert!(source.contains(&format!("fn {name}(")), "{} has no {name}", path.display());
                named += 1;
            }
        }
    }
    assert!(named > 30, "only {named} tests were found");
}

#[test]
fn the_files_that_the_toon_page_names_exist() {
    let page = fs::read_to_string(root().join("docs/toon.md")).unwrap();
    let (_, section) = page.split_once("\n## Where the specification lives in the code\n").unwrap();
    let table = section.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with('|'));
    let named: Vec<&str> = table.flat_map(|row| row.split('`').skip(1).step_by(2)).collect();
    assert!(named.len() > 15, "only {named:?} were found");
    for name in named {
        assert!(root().join("crates/samuel-toon/src").join(name).exists(), "{name} does not exist");
    }
}

#[test]
fn the_code_of_the_readme_is_that_of_the_example() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let example: String = fs::read_dir(root().join("examples/embed-rust/src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let known: Vec<&str> = example.lines().map(str::trim).collect();
    let block = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    for line in block.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "// ...") {
        assert!(known.contains(&line), "not in examples/embed-rust: {line}");
    }
}

#[test]
fn the_programs_of_the_embedding_page_are_examples() {
    let page = fs::read_to_string(root().join("docs/embedding.md")).unwrap();
    for (heading, example) in [("## A sandbox", "own-sandbox.rs"), ("## An agent, a store", "own-parts.rs")] {
        let (_, section) = page.split_once(&format!("\n{heading}\n")).unwrap();
        let block = section.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let example = fs::read_to_string(root().join("examples/embed-rust/src/bin").join(example)).unwrap();
        assert!(example.contains(block.trim()), "{heading} has another program than its example");
    }
}

#[test]
fn what_exceptions_of_python_advise_names_no_command_of_samuel() {
    let words = fs::read_to_string(root().join("bindings/python/src/remedy.rs")).unwrap();
    let named: Vec<&str> = words.lines().filter(|line| line.contains("`samuel ")).collect();
    assert!(named.is_empty(), "{named:#?}");
}

#[test]
fn the_hooks_page_lists_every_point_in_order() {
    let page = fs::read_to_string(root().join("docs/hooks.md")).unwrap();
    let section = page.split("## The points").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    // The first table of the section; a second one lists the defaults.
    let table =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let listed: Vec<&str> = table.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let points: Vec<&str> = samuel_core::hook::HookPoint::ALL.iter().map(|point| point.as_str()).collect();
    assert_eq!(listed, points);
}

#[test]
fn the_plugin_page_lists_every_function_of_the_host() {
    let page = fs::read_to_string(root().join("docs/plugins.md")).unwrap();
    let section =
        page.split("## What the host offers").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let contract = ["host.wit", "prompt-context.wit"]
        .map(|file| fs::read_to_string(root().join("wit/v1").join(file)).unwrap());
    let host = contract.concat();
    let interfaces = host.split("\ninterface ").skip(1).filter_map(|text| text.split_once(" {\n"));
    let mut listed = 0;
    // What is reserved has no functions to use.
    for (interface, body) in interfaces.filter(|(interface, _)| *interface != "assistant") {
        let (body, _) = body.split_once("\n}").unwrap();
        let functions =
            body.lines().filter_map(|line| line.trim().split_once(": func(")).map(|(name, _)| name);
        let row =
            section.lines().find(|line| line.starts_with(&format!("| `{interface}` |"))).unwrap_or_default();
        for function in functions {
            assert!(
                row.contains(&format!("`{}", function.trim_start_matches('%'))),
                "{interface}: {function}"
            );
            listed += 1;
        }
    }
    assert!(listed > 25, "only {listed} functions were found");
}

#[test]
fn the_loop_page_lists_every_exit_reason_with_its_code() {
    let page = fs::read_to_string(root().join("docs/loop.md")).unwrap();
    for reason in samuel_core::model::ExitReason::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{reason}` |")));
        let code = row.and_then(|row| row.rsplit('|').nth(1)).unwrap_or_default().trim();
        assert!(code.starts_with(&reason.exit_code().to_string()), "{reason}: \"{code}\"");
    }
}

#[test]
fn the_page_on_lanes_has_each_phase_of_a_claim_each_reason_and_codes_that_there_are() {
    use samuel_core::model::{ClaimPhase, ErrorCode, ReleaseReason};
    let page = fs::read_to_string(root().join("docs/parallel.md")).unwrap();
    let life =
        page.split("## The life of a claim").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    // What is released is nobody's any more.
    for phase in ClaimPhase::ALL.iter().filter(|phase| **phase != ClaimPhase::Released) {
        assert!(life.lines().any(|line| line.starts_with(&format!("| {phase} |"))), "{phase}");
    }
    let back = page.split("## What comes back").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let conflict = ReleaseReason::Conflict { files: vec!["FILES".to_owned()] };
    let checks = ReleaseReason::Checks { failures: Vec::new() };
    let last = Box::new(checks.clone());
    let exhausted = ReleaseReason::Exhausted { attempts: 3, last };
    for (reason, until) in [(conflict, "FILES"), (checks, ":"), (exhausted, ";")] {
        let told = reason.to_string().replace("3 attempts", "N attempts");
        let told = told.split(until).next().unwrap();
        assert!(back.lines().any(|line| line.starts_with(&format!("| {told}"))), "{told}");
    }
    let named: Vec<&str> = page.split('`').filter(|word| word.starts_with("E_")).collect();
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.name).collect();
    assert!(named.iter().all(|name| codes.contains(name)), "{named:?}");
    let of_lanes = codes.iter().filter(|name| name.starts_with("E_LANES_") || **name == "E_WORKSPACE_SETUP");
    of_lanes.for_each(|name| assert!(named.contains(name), "{name}"));
}

#[test]
fn the_fleet_page_lists_every_code_and_shows_a_record_that_is_one() {
    let page = fs::read_to_string(root().join("docs/fleet.md")).unwrap();
    let named: Vec<&str> = page.split('`').filter(|word| word.starts_with("E_")).collect();
    let codes: Vec<&str> = samuel_core::model::ErrorCode::ALL.iter().map(|code| code.name).collect();
    assert!(named.iter().all(|name| codes.contains(name)), "{named:?}");
    let of_fleets = codes.iter().filter(|name| name.starts_with("E_FLEET_"));
    of_fleets.for_each(|name| assert!(named.contains(name), "{name}"));
    let record = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let record: samuel_core::state::LogRecord = serde_json::from_str(record).unwrap();
    assert_eq!((record.format, record.n), (samuel_core::state::LOG_FORMAT, 7));
}

#[test]
fn every_public_module_of_the_core_opens_with_code_that_runs() {
    let source = root().join("samuel-core/src");
    let crate_page = fs::read_to_string(source.join("lib.rs")).unwrap();
    let modules = crate_page.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let mut pages: Vec<PathBuf> = modules
        .map(|name| [format!("{name}.rs"), format!("{name}/mod.rs")].map(|file| source.join(file)))
        .filter_map(|files| files.into_iter().find(|file| file.exists()))
        .collect();
    assert!(pages.len() > 15, "only {pages:?} were found");
    pages.push(source.join("lib.rs"));
    for package in fs::read_dir(root().join("crates")).unwrap() {
        pages.push(package.unwrap().path().join("src/lib.rs"));
    }
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let mut opening = text.lines().take_while(|line| line.starts_with("//!"));
        assert!(opening.any(|line| line == "//! ```"), "{} opens without an example", page.display());
    }
}

/// With `SAMUEL_WRITE` set it writes them, as `cargo xtask contract` has it do.
#[test]
fn schemas_of_the_core_are_those_in_docs() {
    for (name, schema) in [("samuel", config_schema()), ("samuel-plugin", manifest_schema())] {
        let path = root().join(format!("docs/{name}.schema.json"));
        let text = format!("{schema:#}\n");
        if std::env::var_os("SAMUEL_WRITE").is_some() {
            fs::write(path, text).unwrap();
        } else {
            let is_same = fs::read_to_string(&path).unwrap() == text;
            assert!(is_same, "{} is stale: run cargo xtask contract", path.display());
        }
    }
}

#[test]
fn schemas_of_repository_hooks_have_every_event() {
    let hook = HookSchema::Hook.document();
    let listed = hook.pointer("/properties/event_type/enum").and_then(Value::as_array).unwrap();
    assert_eq!(*listed, EventType::ALL.map(|event| Value::from(event.as_str())));
    for event in EventType::ALL {
        let schema = HookSchema::Context(event).document();
        let description = schema.pointer("/description").and_then(Value::as_str).unwrap_or_default();
        assert!(description.starts_with(&format!("`{}`:", event.point())), "{event:?}: {description}");
    }
}
