//! `bindings/rust/src/bindings`: what wit-bindgen makes of the contract, a file for each point and
//! one for the functions of the host.
//!
//! It is written here once, and not by a macro in every build of every plugin: the generator takes
//! longer to compile than a plugin does. How the crate wraps it is its own affair
//! (`bindings/rust/src/points.rs`, `host.rs`).

use anyhow::{Context as _, Result};
use wit_bindgen_core::{Files, WorldGenerator as _, wit_parser::Resolve};
use wit_bindgen_rust::{Opts, WithOption};

use super::{GENERATED, Output, model::Contract, read, worlds::worlds};
use crate::workspace::root;

/// Where the files are.
const DIRECTORY: &str = "bindings/rust/src/bindings";

/// The world of what the host offers.
const HOST_WORLD: &str = "imports";

/// The interface whose types all points share.
const TYPES: &str = "samuel:plugin/types@1.0.0";

/// Words of it that are the usual ones, which the records of a call take for granted.
const DEFAULT_WORDS: [&str; 2] = ["mode.implementation", "turn.main"];

/// Types of it that have a default.
const DEFAULT_TYPES: [&str; 4] = ["mode", "turn", "call-header", "hook-results"];

/// Writes all of them, and the list of them.
///
/// # Errors
/// Fails where the contract is not well-formed.
pub(super) fn files(contract: &Contract) -> Result<Vec<Output>> {
    let mut files = vec![(format!("{DIRECTORY}/host.rs"), bindings(contract, HOST_WORLD, host_options())?)];
    let mut modules = vec!["host".to_owned()];
    for point in &contract.points {
        let module = point.interface.replace('-', "_");
        let text = bindings(contract, &format!("{}-hook", point.interface), point_options())?;
        files.push((format!("{DIRECTORY}/{module}.rs"), text));
        modules.push(module);
    }
    modules.sort_unstable();
    let declared: String = modules.iter().map(|name| format!("pub mod {name};\n")).collect();
    let text = format!(
        "//! What wit-bindgen makes of the contract: the functions of the host, and a module for each point.\n\n\
         {GENERATED}{declared}"
    );
    files.push((format!("{DIRECTORY}/mod.rs"), text));
    Ok(files)
}

/// Has one world written.
fn bindings(contract: &Contract, world: &str, options: Opts) -> Result<String> {
    let mut resolve = package(contract)?;
    let packages: Vec<_> = resolve.packages.iter().map(|(id, _)| id).collect();
    let world = resolve.select_world(&packages, Some(world))?;
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files)?;
    let (_, bytes) = files.iter().next().context("nothing was generated")?;
    let text = std::str::from_utf8(bytes)?;
    // Every plugin carries a copy that nobody reads, so it is not laid out: that would double its length.
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.fold(GENERATED.to_owned(), |text, line| text + line + "\n"))
}

/// Reads the package, with the worlds as they will be.
fn package(contract: &Contract) -> Result<Resolve> {
    let directory = tempfile::tempdir()?;
    for file in std::fs::read_dir(root().join(read::PACKAGE))? {
        let file = file?;
        std::fs::copy(file.path(), directory.path().join(file.file_name()))?;
    }
    std::fs::write(directory.path().join(read::WORLDS), worlds(contract))?;
    let mut resolve = Resolve::default();
    resolve.push_dir(directory.path())?;
    Ok(resolve)
}

fn point_options() -> Opts {
    let types = "crate::bindings::host::samuel::plugin::types".to_owned();
    Opts { with: vec![(TYPES.to_owned(), WithOption::Path(types))], ..shared_options() }
}

fn host_options() -> Opts {
    let words = DEFAULT_WORDS.map(|word| (format!("{TYPES}/{word}"), "#[default]".to_owned()));
    let types = DEFAULT_TYPES.map(|name| (format!("{TYPES}/{name}"), "#[derive(Default)]".to_owned()));
    Opts {
        generate_unused_types: true,
        additional_type_attributes: types.to_vec(),
        additional_member_attributes: words.to_vec(),
        ..shared_options()
    }
}

fn shared_options() -> Opts {
    Opts {
        runtime_path: Some("::samuel_plugin::rt".to_owned()),
        pub_export_macro: true,
        additional_derive_attributes: vec!["PartialEq".to_owned()],
        ..Opts::default()
    }
}
