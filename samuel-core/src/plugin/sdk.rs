//! What a plugin is built against, carried along: the crate samuel-plugin, and the contract.
//!
//! No registry is needed to build a plugin: the files of a [`PluginLanguage`] are written into its
//! directory, where they are committed with it. [`update_sdk`] replaces them by those of this
//! Samuel. Which lines of the plugin's own files name them, [`scaffold`](super::scaffold()) knows.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{PluginError, PluginLanguage};
use crate::fs::{Durability, Manner, Root};

/// A file of it: its path below the plugin's directory, and its text.
pub(super) type SdkFile = (&'static str, &'static str);

/// How they are written: a power failure leaves what a new update mends.
const MANNER: Manner = Manner::PROJECT.with(Durability::Whole);

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
        r#"# The crate samuel-plugin of the Samuel that made this plugin. Its command `plugin update-sdk` renews it.
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

/// What became of the files that a plugin is built against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UpdatedSdk {
    /// The version of Samuel that they are of now.
    pub version: String,
    /// Those that were written, relative to the plugin's directory, in order.
    pub written: Vec<String>,
    /// Those that were removed, since this version does without them.
    pub removed: Vec<String>,
}

/// Replaces what a plugin carries of the crate samuel-plugin or of the contract by what this Samuel
/// has. Other files are left alone.
///
/// # Errors
/// Returns [`PluginError::Request`] for a plugin that carries neither, and [`PluginError::Io`] where
/// a file cannot be written or removed.
pub fn update_sdk(directory: &Path) -> Result<UpdatedSdk, PluginError> {
    let languages =
        [(PluginLanguage::Rust, "sdk/Cargo.toml"), (PluginLanguage::Python, "wit/deps/samuel-plugin")];
    let carried = languages.iter().find(|(_, sign)| directory.join(sign).exists());
    let Some((language, _)) = carried else {
        let problem = format!(
            "{} carries no copy of the crate samuel-plugin (sdk/) or of the contract (wit/deps/samuel-plugin/)",
            directory.display()
        );
        return Err(PluginError::Request { problem });
    };
    let files = sdk_files(*language);
    let root = Root::new(directory);
    let mut updated = UpdatedSdk {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        written: Vec::new(),
        removed: Vec::new(),
    };
    for (path, text) in &files {
        let target = directory.join(path);
        if fs::read(&target).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        root.write(&target, [text.as_bytes()], &MANNER).map_err(PluginError::file("write", &target))?;
        updated.written.push((*path).to_owned());
    }
    let known: BTreeSet<&str> = files.iter().map(|(path, _)| *path).collect();
    let folders: BTreeSet<&str> =
        files.iter().filter_map(|(path, _)| Some(path.rsplit_once('/')?.0)).collect();
    for folder in folders.into_iter().filter(|folder| *folder != "sdk") {
        let target = directory.join(folder);
        for name in names(&target).map_err(PluginError::io("read", &target))? {
            let path = format!("{folder}/{name}");
            if !known.contains(path.as_str()) {
                fs::remove_file(directory.join(&path))
                    .map_err(PluginError::io("remove", directory.join(&path)))?;
                updated.removed.push(path);
            }
        }
    }
    Ok(updated)
}

/// Returns the names of the sources in a directory, sorted.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        let is_source = name.extension().is_some_and(|ending| ending == "rs" || ending == "wit");
        if is_source && entry.file_type()?.is_file() {
            names.extend(name.into_os_string().into_string());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

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

    #[test]
    fn an_update_writes_what_differs_removes_what_is_gone_and_leaves_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let refused = update_sdk(dir.path()).unwrap_err().to_string();
        assert!(refused.contains("carries no copy"), "{refused}");
        for (path, text) in sdk_files(PluginLanguage::Rust) {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let current = update_sdk(dir.path()).unwrap();
        assert_eq!((current.written.len(), current.removed.len()), (0, 0));
        fs::write(dir.path().join("sdk/src/kv.rs"), "older").unwrap();
        fs::remove_file(dir.path().join("sdk/wit/loop.wit")).unwrap();
        fs::write(dir.path().join("sdk/src/gone.rs"), "").unwrap();
        fs::write(dir.path().join("sdk/src/notes.txt"), "mine").unwrap();
        fs::write(dir.path().join("sdk/Cargo.lock"), "mine").unwrap();
        let updated = update_sdk(dir.path()).unwrap();
        assert_eq!(updated.written, ["sdk/src/kv.rs", "sdk/wit/loop.wit"]);
        assert_eq!(updated.removed, ["sdk/src/gone.rs"]);
        assert!(dir.path().join("sdk/src/notes.txt").exists() && dir.path().join("sdk/Cargo.lock").exists());
        for (path, text) in sdk_files(PluginLanguage::Rust) {
            assert_eq!(fs::read_to_string(dir.path().join(path)).unwrap(), text);
        }
    }
}
