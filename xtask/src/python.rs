//! The Python package: built, laid out below `target/`, and tested.
//!
//! The package is the sources beside the native module, in a directory of its
//! own, so that tests need no installation. pytest, mypy and maturin come from the
//! package index into a virtual environment that is kept.

use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::{LIMIT, cargo, finish, quietly, root, target};

/// What the tests need beside Python.
const TOOLS: [&str; 5] =
    ["pytest>=8", "mypy>=1.15", "maturin>=1.9,<2", "pydantic>=2,<3", "opentelemetry-sdk>=1.20,<2"];

/// Where the package is laid out, and the interpreter it works with.
pub(crate) struct Layout {
    /// The directory for PYTHONPATH.
    pub(crate) path: PathBuf,
    /// An interpreter with the tools.
    pub(crate) python: PathBuf,
    /// A component for the tests of plugins.
    component: PathBuf,
}

/// Makes the virtual environment with what is to be installed in it.
///
/// # Errors
/// Fails where there is no Python, or the package index cannot be reached.
pub(crate) fn environment(packages: &[&str]) -> Result<PathBuf> {
    let directory = target().join("python-env");
    let python = directory.join("bin/python");
    // One that could not be made has an interpreter and no pip.
    if !directory.join("bin/pip").exists() {
        quietly(LIMIT, Command::new("python3").args(["-m", "venv"]).arg(&directory))
            .context("python3 cannot make an environment")?;
    }
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    quietly(LIMIT, Command::new(&python).args(quiet).args(packages))
        .context("pip cannot install what is needed")?;
    Ok(python)
}

/// Builds the native module and lays the package out.
///
/// # Errors
/// Fails where the build does.
pub(crate) fn lay_out(profile: &str) -> Result<PathBuf> {
    let mut build = cargo(&["build", "--locked", "--profile", profile]);
    match profile {
        // What tests need is built of the same crates, once.
        "dev" => build.args(["--workspace", "--all-targets"]),
        _ => build.args(["--package", "samuel-python", "--features", "samuel-python/wasm"]),
    };
    ensure!(finish("cargo build", &mut build)?.success(), "the native module does not build");
    let built = if profile == "dev" { "debug" } else { profile };
    let path = target().join("python").join(profile);
    let package = path.join("samuel");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    copy(&root().join("bindings/python/python/samuel"), &package)?;
    let module = target().join(built).join(format!("{DLL_PREFIX}_samuel{DLL_SUFFIX}"));
    fs::copy(module, package.join("_samuel.abi3.so")).context("the native module was not built")?;
    Ok(path)
}

/// Returns what the package is tested with, once [`lay_out`] has built it.
///
/// # Errors
/// Fails if the component cannot be made; an `Err` inside names what this machine lacks for the tests.
pub(crate) fn layout() -> Result<Result<Layout>> {
    let path = target().join("python/dev");
    let component = component()?;
    Ok(environment(&TOOLS).map(|python| Layout { path, python, component }))
}

/// Makes the component that plugins of tests are: kept as text, it handles
/// `quality.check` and `session.end`.
fn component() -> Result<PathBuf> {
    let text = root().join("tests/data/components/earlier.wat");
    let directory = target().join("python");
    fs::create_dir_all(&directory)?;
    let path = directory.join("earlier.wasm");
    fs::write(&path, wat::parse_file(&text)?)?;
    Ok(path)
}

impl Layout {
    /// Returns the call of the package's tests.
    pub(crate) fn tests(&self) -> Command {
        let tests = root().join("bindings/python");
        let mut command = Command::new(&self.python);
        command.args(["-m", "pytest", "-p", "no:cacheprovider", "-rs", "tests"]).current_dir(tests);
        command.env("PYTHONPATH", &self.path).env("PYTHONPYCACHEPREFIX", target().join("python/cache"));
        // Tests start Python hundreds of times, which compiles the package each time where the variable is set.
        command.env_remove("PYTHONDONTWRITEBYTECODE");
        command.env("SAMUEL_TEST_COMPONENT", &self.component).env("CARGO_TARGET_DIR", target());
        command
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, copied) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "__pycache__" {
                copy(&source, &copied)?;
            }
        } else if source.extension().is_none_or(|ending| ending != "so") {
            fs::copy(&source, &copied)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_component_that_the_tests_install_is_made() {
        let made = fs::read(component().unwrap()).unwrap();
        // The layer of components, not that of core modules.
        assert_eq!(made.get(..8), Some(&b"\0asm\x0d\0\x01\0"[..]));
    }
}
