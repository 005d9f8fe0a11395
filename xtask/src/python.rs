//! The Python package: built, laid out below `target/`, and tested.
//!
//! The layout of the package is a separate directory with the sources and the native
//! module, so that tests need no installation. pytest, mypy and maturin are installed
//! from the package index into a virtual environment, which is reused.

use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::{LIMIT, cargo, finish, quietly, root, target};

/// The packages that the tests need in addition to Python.
const TOOLS: [&str; 5] =
    ["pytest>=8", "mypy>=1.15", "maturin>=1.9,<2", "pydantic>=2,<3", "opentelemetry-sdk>=1.20,<2"];

/// The paths of the built package, its interpreter and its test component.
pub(crate) struct Layout {
    /// The directory for PYTHONPATH.
    pub(crate) path: PathBuf,
    /// An interpreter with the tools.
    pub(crate) python: PathBuf,
    /// A component for the tests of plugins.
    component: PathBuf,
}

/// Creates the virtual environment and installs the packages in it.
///
/// # Errors
/// Fails if Python is not installed, or the package index cannot be reached.
pub(crate) fn environment(packages: &[&str]) -> Result<PathBuf> {
    let directory = target().join("python-env");
    let python = directory.join("bin/python");
    // An environment whose creation failed has an interpreter, but no pip.
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
/// Fails if the build fails.
pub(crate) fn lay_out(profile: &str) -> Result<PathBuf> {
    let mut build = cargo(&["build", "--locked", "--profile", profile]);
    match profile {
        // The tests need the same crates, so everything is built once.
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

/// Returns the layout for the tests of the package. Requires that [`lay_out`] has built the package.
///
/// # Errors
/// Fails if the component cannot be created. An inner `Err` names what this machine lacks for the tests.
pub(crate) fn layout() -> Result<Result<Layout>> {
    let path = target().join("python/dev");
    let component = component()?;
    Ok(environment(&TOOLS).map(|python| Layout { path, python, component }))
}

/// Creates the component that the tests use as a plugin. Its source is a text file, and it handles
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
    /// Returns the command that runs the package's tests.
    pub(crate) fn tests(&self) -> Command {
        let tests = root().join("bindings/python");
        let mut command = Command::new(&self.python);
        command.args(["-m", "pytest", "-p", "no:cacheprovider", "-rs", "tests"]).current_dir(tests);
        command.env("PYTHONPATH", &self.path).env("PYTHONPYCACHEPREFIX", target().join("python/cache"));
        // Tests start Python hundreds of times. If the variable is set, each start compiles the package.
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
        // The header of a component, not of a core module.
        assert_eq!(made.get(..8), Some(&b"\0asm\x0d\0\x01\0"[..]));
    }
}
