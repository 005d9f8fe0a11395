//! `cargo xtask contract`: everything that follows from the contract.
//!
//! `wit/v1` and `wit/points.toml` are read into a [`model::Contract`]; each
//! generator writes some files from it. What Python and documents of commands have of
//! samuel-core's types is written from their sources, what follows from the settings from
//! their schema. Two schemas the core makes itself: a test of samuel-tests writes them, and
//! without `SAMUEL_WRITE` checks them. `--check` writes nothing, builds no core, and fails
//! if a file is not what would be written.

mod abilities;
mod bindings;
mod docs;
mod documents;
mod guest;
mod model;
mod parity;
mod python;
mod read;
mod repository;
mod rules;
mod rust_outputs;
mod rust_points;
mod rust_records;
mod samples;
mod schema;
mod settings;
mod table;
mod text;
mod worlds;

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace::{cargo, root};
use model::Contract;

/// What the generated files in Rust begin with.
const GENERATED: &str = "// Written by `cargo xtask contract`; change `wit/` instead.\n\n";

/// A file to write: where, below the root, and what.
type Output = (String, String);

/// Writes the files, or checks them with `--check`. Those that need no core are written first, since the core may not
/// build without them.
///
/// # Errors
/// Fails where the contract is not well-formed, or with `--check` where a file is
/// not what would be written.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let check = match args {
        [] => false,
        [arg] if arg == "--check" => true,
        _ => bail!("usage: cargo xtask contract [--check]"),
    };
    own(check)?;
    if check {
        return Ok(());
    }
    schemas_of_core()?;
    settle(&settings::files()?, check)
}

/// Writes or checks everything but the schemas that the core makes.
///
/// # Errors
/// Fails as [`run`] does.
pub(crate) fn own(check: bool) -> Result<()> {
    settle(&outputs(&read::contract()?)?, check)
}

fn settle(outputs: &[Output], check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in outputs {
        let file = root().join(path);
        let found = fs::read_to_string(&file).unwrap_or_default();
        if found == *text {
            continue;
        }
        match check {
            true => stale.push(difference(path, &found, text)),
            false => write(&file, text)?,
        }
    }
    ensure!(stale.is_empty(), "not what `cargo xtask contract` writes:\n{}", stale.join("\n"));
    Ok(())
}

/// Writes the schemas that the core makes.
fn schemas_of_core() -> Result<()> {
    // With the workspace, so that the core is the one that its tests have.
    let test = ["test", "--quiet", "--locked", "--workspace", "--test", "it", "--", "schemas_of_the_core"];
    let status = cargo(&test).env("SAMUEL_WRITE", "1").status()?;
    ensure!(status.success(), "the core could not write its schemas");
    Ok(())
}

fn outputs(contract: &Contract) -> Result<Vec<Output>> {
    let payload = "crates/samuel-contract/src/payload/generated";
    let mut outputs = Vec::new();
    for file in &contract.files {
        let text = text::formatted(&rust_records::payload(contract, file))?;
        outputs.push((format!("{payload}/{}.rs", rust_module(&file.name)), text));
    }
    outputs.push((format!("{payload}/mod.rs"), modules(contract)));
    outputs.push((
        "crates/samuel-contract/src/context/groups.rs".to_owned(),
        text::formatted(&rust_records::groups(contract))?,
    ));
    let hook = "crates/samuel-contract/src/generated";
    outputs.push((format!("{hook}/point.rs"), text::formatted(&rust_points::points(contract))?));
    outputs.push((format!("{hook}/output.rs"), text::formatted(&rust_outputs::outputs(contract)?)?));
    outputs.push((format!("{hook}/answer.rs"), text::formatted(&abilities::core(contract)?)?));
    outputs.extend(python::files(contract)?);
    outputs.extend(bindings::files(contract)?);
    outputs.push(("bindings/rust/src/table.rs".to_owned(), text::formatted(&guest::table(contract))?));
    outputs.push((parity::PATH.to_owned(), parity::table(contract)));
    outputs.push((format!("{}/{}", read::PACKAGE, read::WORLDS), worlds::worlds(contract)));
    outputs.push((schema::PATH.to_owned(), schema::schemas(contract)));
    outputs.push((documents::PATH.to_owned(), documents::schemas(contract)?));
    outputs.push(docs::page(contract)?);
    outputs.push(repository::file(contract)?);
    outputs.extend(settings::files()?);
    Ok(outputs)
}

/// Declares the modules of the records, in alphabetical order.
fn modules(contract: &Contract) -> String {
    let mut names: Vec<&str> = contract.files.iter().map(|file| rust_module(&file.name)).collect();
    names.sort_unstable();
    let declared: String = names.iter().map(|name| format!("mod {name};\n")).collect();
    let exported: String = names.iter().map(|name| format!("pub use {name}::*;\n")).collect();
    format!(
        "//! The records of `wit/v1`, a module for each of its files.\n\n{GENERATED}{declared}\n{exported}"
    )
}

/// The module of a file of the package.
fn rust_module(file: &str) -> &str {
    if file == "loop" { "looping" } else { file }
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(root()))?;
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

/// Says where a file first differs from what would be written.
fn difference(path: &str, found: &str, wanted: &str) -> String {
    let mut lines = found.lines().zip(wanted.lines()).enumerate();
    match lines.find(|(_, (found, wanted))| found != wanted) {
        Some((place, (found, wanted))) => {
            format!("{path}:{}: \"{found}\" instead of \"{wanted}\"", place + 1)
        }
        None if found.is_empty() => format!("{path}: there is no such file"),
        None => format!("{path}: {} lines instead of {}", found.lines().count(), wanted.lines().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_with_its_line() {
        assert_eq!(difference("a.rs", "one\ntwo\n", "one\n2\n"), "a.rs:2: \"two\" instead of \"2\"");
        assert_eq!(difference("a.rs", "", "one\n"), "a.rs: there is no such file");
        assert_eq!(difference("a.rs", "one\n", "one\ntwo\n"), "a.rs: 1 lines instead of 2");
    }

    #[test]
    fn everything_that_follows_from_the_contract_is_as_it_would_be_written() {
        run(&["--check".to_owned()]).expect("run cargo xtask contract");
    }
}
