//! What a plugin is built against, carried along: the crate samuel-plugin, and the contract.
//!
//! No registry is needed to build a plugin: the files of a [`PluginLanguage`] are written into its
//! directory, where they are committed with it. Which lines of the plugin's own files name them,
//! [`scaffold`](super::scaffold()) knows.

use super::PluginLanguage;

/// A file of it: its path below the plugin's directory, and its text.
pub(super) type SdkFile = (&'static str, &'static str);

/// Files below a directory, from another one.
macro_rules! files {
    ($at:literal from $from:literal: $($name:literal)+) => {
        [$((concat!($at, "/", $name), include_str!(concat!("../../", $from, "/", $name)))),+]
    };
}

/// The contract in a plugin that is not in Rust.
const CONTRACT: &[SdkFile] = &files!("wit/deps/samuel-plugin" from "wit":
    "agent.wit" "context.wit" "host.wit" "lifecycle.wit" "loop.wit" "prompt-context.wit" "session.wit" "types.wit"
    "worlds.wit");

/// The contract in the crate.
const CRATE_CONTRACT: &[SdkFile] = &files!("sdk/wit" from "wit":
    "agent.wit" "context.wit" "host.wit" "lifecycle.wit" "loop.wit" "prompt-context.wit" "session.wit" "types.wit"
    "worlds.wit");

/// The sources of the crate.
const CRATE: &[SdkFile] = &files!("sdk/src" from "sdk":
    "agent.rs" "config.rs" "context.rs" "env.rs" "exec.rs" "export.rs" "failure.rs" "files.rs" "host.rs" "http.rs"
    "kv.rs" "lib.rs" "log.rs" "output.rs" "plugins.rs" "points.rs" "table.rs" "tasks.rs");

/// What the crate has of the contract, written by `cargo xtask contract`: no plugin builds its generator.
const CRATE_BINDINGS: &[SdkFile] = &files!("sdk/src/bindings" from "sdk/bindings":
    "ability_after.rs" "ability_before.rs" "after_agent_invoke.rs" "after_iteration.rs" "after_loop.rs"
    "agent_invoke.rs" "before_agent_invoke.rs" "before_iteration.rs" "before_loop.rs" "context_extra.rs"
    "context_progress.rs" "context_snapshot.rs" "context_task.rs" "host.rs" "init_after.rs" "init_before.rs"
    "iteration_error.rs" "iteration_gate.rs" "mod.rs" "prompt_submit.rs" "quality_check.rs" "session_end.rs"
    "session_start.rs" "session_stop.rs" "sync_after.rs" "sync_before.rs" "task_completed.rs");

/// The crate's manifest, which in this repository leans on the workspace.
const CRATE_MANIFEST: SdkFile = (
    "sdk/Cargo.toml",
    concat!(
        r#"# The crate samuel-plugin of the Samuel that made this plugin.
[package]
name = "samuel-plugin"
version = ""#,
        env!("CARGO_PKG_VERSION"),
        r#""
edition = "2024"
license = "MIT OR Apache-2.0"
publish = false

[dependencies]
serde_core = "1"
serde_json = { version = "1", features = ["float_roundtrip", "preserve_order", "raw_value"] }
wit-bindgen = { version = "0.61", default-features = false, features = ["realloc", "std"] }
"#
    ),
);

/// Returns the files that plugins in a language are built against.
pub(super) fn sdk_files(language: PluginLanguage) -> Vec<SdkFile> {
    match language {
        PluginLanguage::Rust => [&[CRATE_MANIFEST], CRATE, CRATE_BINDINGS, CRATE_CONTRACT].concat(),
        PluginLanguage::Python | PluginLanguage::JavaScript => CONTRACT.to_vec(),
        PluginLanguage::Shell => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::{fs, path::Path};

    use super::*;

    fn below(directory: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![directory.to_owned()];
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(&next).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false => found.push(path.strip_prefix(directory).unwrap().display().to_string()),
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn whole_directories_are_carried() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (at, from, language) in [
            ("sdk/src/", "sdk", PluginLanguage::Rust),
            ("sdk/wit/", "wit", PluginLanguage::Rust),
            ("wit/deps/samuel-plugin/", "wit", PluginLanguage::Python),
            ("wit/deps/samuel-plugin/", "wit", PluginLanguage::JavaScript),
        ] {
            let files = sdk_files(language);
            let mut carried: Vec<&str> = files.iter().filter_map(|(path, _)| path.strip_prefix(at)).collect();
            carried.sort_unstable();
            assert_eq!(carried, below(&here.join(from)), "{language} {at}");
        }
    }

    #[test]
    fn the_crate_depends_on_what_it_depends_on_here() {
        let workspace = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"));
        let Ok(workspace) = workspace else { return };
        let workspace: toml::Table = workspace.parse().unwrap();
        let known = workspace["workspace"]["dependencies"].as_table().unwrap();
        let carried: toml::Table = CRATE_MANIFEST.1.parse().unwrap();
        for (name, dependency) in carried["dependencies"].as_table().unwrap() {
            assert_eq!(known.get(name), Some(dependency), "{name}");
        }
        assert_eq!(carried["package"]["version"], workspace["workspace"]["package"]["version"]);
    }
}
