//! Commands of hooks: how they are run, and that they run the bytes that were read.

mod pinned;
mod runner;
mod starts;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use samuel_core::{
    hook::HookFailure,
    script::{CommandLine, HookCommand, ScriptOutput},
};
use tokio_util::sync::CancellationToken;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A text for the shell, as a line and as words.
fn both_forms(text: &str) -> [CommandLine; 2] {
    [CommandLine::Shell(text.to_owned()), CommandLine::words(["/bin/sh", "-c", text])]
}

async fn run(script: HookCommand) -> Result<ScriptOutput, HookFailure> {
    let supervisor = crate::process_support::supervisor();
    script.env("PATH", PATH).run(&supervisor, &CancellationToken::new()).await
}

fn write_script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
