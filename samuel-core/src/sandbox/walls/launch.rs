//! What the first process of a sandbox is told of a command.

use std::path::Path;

use samuel_guest::Launch;

use super::{SandboxError, bwrap::command_of_samuel, outlet::Outlets};
use crate::process::CommandSpec;

/// Whose programs a command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Programs {
    /// Those of an image, and where they are it knows.
    OfImage,
    /// Those of this machine.
    OfMachine,
}

/// Describes a command of a sandbox with a name, and what leads out for it.
pub(super) fn launch_of(
    sandbox: &str,
    spec: &CommandSpec,
    programs: Programs,
    outlets: &Outlets,
) -> Result<Launch, SandboxError> {
    let text = |what: &str, text: &std::ffi::OsStr| {
        let problem = || SandboxError::Unusable {
            name: sandbox.to_owned(),
            problem: format!("{what} of a command is no text"),
        };
        text.to_str().map(str::to_owned).ok_or_else(problem)
    };
    let mut launch =
        Launch::new([text("the program", spec.program())?], text("the directory", spec.cwd().as_os_str())?);
    for argument in spec.arguments() {
        launch.argv.push(text("an argument", argument)?);
    }
    for (name, value) in spec.variables() {
        let (name, value) = (text("a variable", name)?, text("a variable", value)?);
        match name.as_str() {
            "PATH" if programs == Programs::OfImage => {}
            "TMPDIR" => launch = launch.env(name, "/tmp"),
            _ => launch = launch.env(name, value),
        }
    }
    outlets.open_in(&mut launch);
    // By its name alone Samuel is found in no directory of an image.
    if let (Programs::OfImage, Some((path, true))) = (programs, command_of_samuel(spec)) {
        launch.paths.extend(path.parent().and_then(Path::to_str).map(str::to_owned));
    }
    Ok(launch)
}
