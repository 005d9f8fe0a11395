//! `cargo xtask wheel`: the wheel of the Python package, for every `CPython` from 3.11 on.
//!
//! maturin builds it, with the host of components, and where zig can be had links it against an old glibc
//! (manylinux), so that it runs on other machines than this one. Without zig the wheel is for Linux as it is here.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, bail, ensure};

use crate::{
    python,
    workspace::{root, target},
};

const MATURIN: &str = "maturin>=1.9,<2";
const ZIG: &str = "ziglang>=0.13,<0.16";
/// Needs the glibc 2.17 of 2012, which is the oldest that Rust supports.
const MANYLINUX: &str = "manylinux2014";

/// Builds the wheel and says where it is.
///
/// # Errors
/// Fails for arguments, where maturin cannot be had, or the package does not build.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [] = args else { bail!("usage: cargo xtask wheel") };
    let (python, compatibility) = match python::environment(&[MATURIN, ZIG]) {
        Ok(python) => (python, &["--zig", "--compatibility", MANYLINUX][..]),
        Err(error) => {
            println!("skipped: {MANYLINUX}: {error:#}");
            (python::environment(&[MATURIN])?, &["--compatibility", "linux"][..])
        }
    };
    let wheels = target().join("wheels");
    let mut build = maturin(&python, env::var_os("PATH").as_deref())?;
    build.args(["build", "--locked", "--profile", "wheel", "--features", "wasm"]).args(compatibility);
    build.arg("--manifest-path").arg(root().join("bindings/python/Cargo.toml")).arg("--out").arg(&wheels);
    ensure!(build.status()?.success(), "the wheel does not build");
    println!("the wheel is in {}", wheels.display());
    Ok(())
}

/// Returns a call of maturin, which asks the first `python3` that it finds for zig.
fn maturin(python: &Path, path: Option<&OsStr>) -> Result<Command> {
    let own = python.parent().map(PathBuf::from);
    let path = own.into_iter().chain(path.map(env::split_paths).into_iter().flatten());
    let mut command = Command::new(python);
    command.args(["-m", "maturin"]).env("PATH", env::join_paths(path)?);
    Ok(command)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_python_that_has_zig_is_the_first_that_maturin_finds() {
        let command = maturin(Path::new("/env/bin/python"), Some(OsStr::new("/usr/bin:/bin"))).unwrap();
        let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
        assert_eq!(path, "/env/bin:/usr/bin:/bin");
    }
}
