//! The rules in `deny.toml` for the dependencies, checked by `cargo deny`.
//!
//! Bans, licenses and sources need only the crates. Advisories need a database
//! that is fetched from GitHub, and are skipped if it is not available. If
//! `cargo-deny` is not installed, it is built once, in the target directory.

use std::{env, fs, path::PathBuf, process::Command, time::Duration};

use anyhow::Result;

use crate::{
    test::Tally,
    workspace::{cargo, quietly, root, target},
};

/// The version that is built if none is installed.
const VERSION: &str = "0.20.2";

/// The longest time to fetch the database, and to fetch the crates of other systems.
const FETCH: Duration = Duration::from_secs(60);

/// Checks the dependencies.
pub(crate) fn check(tally: &mut Tally) -> Result<()> {
    let program = match program() {
        Ok(program) => program,
        Err(error) => {
            tally.skip(&format!("cargo-deny cannot be installed: {error:#}"));
            return Ok(());
        }
    };
    let mut fetch = cargo(&["fetch", "--locked", "--quiet"]);
    if let Err(error) = quietly(FETCH, &mut fetch) {
        tally.skip(&format!("cargo deny: the crates of other systems cannot be fetched: {error:#}"));
        return Ok(());
    }
    let deny = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["--locked", "--log-level", "error"]).args(args).current_dir(root());
        command
    };
    let holds = |which: &[&str]| {
        deny(&[&["check", "--hide-inclusion-graph"], which].concat())
            .status()
            .is_ok_and(|status| status.success())
    };
    tally.check("cargo deny: bans, licences, sources", holds(&["bans", "licenses", "sources"]));
    match quietly(FETCH, &mut deny(&["fetch", "db"])) {
        Ok(()) => tally.check("cargo deny: advisories", holds(&["advisories"])),
        Err(error) => tally.skip(&format!("cargo deny: the database of advisories cannot be had: {error:#}")),
    }
    Ok(())
}

/// Finds the program, or builds it.
fn program() -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let tools = target().join("tools");
    let kept = tools.join("bin/cargo-deny");
    let installed = env::split_paths(&path).map(|directory| directory.join("cargo-deny"));
    if let Some(found) = installed.chain([kept.clone()]).find(|program| program.is_file()) {
        return Ok(found);
    }
    // Without optimization it takes a minute to build, and a second to check.
    let build = tools.join("build");
    let mut install = cargo(&["install", "cargo-deny", "--locked", "--debug", "--version", VERSION]);
    install.arg("--root").arg(&tools).env("CARGO_TARGET_DIR", &build).env("CARGO_PROFILE_DEV_DEBUG", "0");
    let built = quietly(Duration::from_secs(600), &mut install);
    // The build directory takes several times the size of the program.
    let _ = fs::remove_dir_all(&build);
    built.map(|()| kept)
}
