//! Embedding: the program of the crate's page, in a new crate with one dependency.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::newcomer::{
    page::block,
    scratch::{Scratch, copy, is_long, printed, root, target},
};

/// The program at the top of the crate's page.
fn program() -> String {
    let page = fs::read_to_string(root().join("samuel-core/src/lib.rs")).unwrap();
    let page = page
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    let block = page.skip_while(|line| *line != "```").skip(1).take_while(|line| *line != "```");
    block.map(|line| format!("{line}\n")).collect()
}

/// Copies what a clone has of the library: its crates, the contract they read, and the workspace they lean on.
fn clone_of_the_library(to: &Path) {
    let root = root();
    for part in ["samuel-core", "crates", "wit"] {
        copy(&root.join(part), &to.join(part));
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = |line: &str| match line.split_once(" = [") {
        Some(("members", _)) => Some("members = [\"samuel-core\", \"crates/*\"]\n".to_owned()),
        Some(("default-members", _)) => None,
        _ => Some(format!("{line}\n")),
    };
    fs::write(to.join("Cargo.toml"), manifest.lines().filter_map(members).collect::<String>()).unwrap();
}

#[test]
fn a_new_crate_runs_the_program_of_the_page_with_one_dependency() {
    if !is_long("a program that embeds the library, in a new crate") {
        return;
    }
    let scratch = Scratch::new();
    clone_of_the_library(&scratch.path().join("samuel"));
    let dependency = block("docs/embedding.md", "## A new program", "toml");
    let package = "[package]\nname = \"greeter\"\nedition = \"2024\"\n\n";
    scratch.write("greeter/Cargo.toml", &format!("{package}{dependency}"));
    scratch.write("greeter/src/main.rs", &program());
    // The versions that this workspace was tested with, which were fetched for it.
    fs::copy(root().join("Cargo.lock"), scratch.path().join("greeter/Cargo.lock")).unwrap();

    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline"]).current_dir(scratch.path().join("greeter"));
    cargo.env("CARGO_TARGET_DIR", target().join("newcomer")).env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo.env_remove("RUSTFLAGS").stdin(Stdio::null());
    assert_eq!(printed(&mut cargo), "");
}
