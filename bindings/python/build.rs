//! Lets the tests of the workspace find the library of Python, and tells the module which profile it is built with.

use std::{
    env,
    path::{Path, PathBuf},
};

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
    println!("cargo::rustc-env=SAMUEL_BUILD_PROFILE={}", profile().unwrap_or_default());
}

/// Returns the profile, whose directory cargo builds in: its variable `PROFILE` knows only debug and release.
fn profile() -> Option<String> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    let build = out.ancestors().find(|path| path.file_name().is_some_and(|name| name == "build"))?;
    build.parent().and_then(Path::file_name)?.to_str().map(str::to_owned)
}
