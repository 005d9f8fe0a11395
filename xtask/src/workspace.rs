//! Where the workspace is, and how its cargo is called.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory of the workspace")
}

/// Returns the directory cargo builds into.
pub(crate) fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(path) => root().join(path),
        None => root().join("target"),
    }
}

/// Returns a call of the cargo that runs this task, in the root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    // What cargo sets for this program is not meant for the calls it makes.
    for (name, _) in env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}
