//! What stands in the place of `bwrap` and `oci` where this crate is built without the feature `sandbox`.
//!
//! They have their names, and nothing runs in them: a start that chooses one is refused, as where its engine is
//! missing. [`Containers`] and [`Guest`] can be named as ever, so that a program reads the same.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{BWRAP, Image, OCI, Sandbox, SandboxError};
use crate::process::CommandSpec;

/// The exit code of a program that starts nothing.
const NOT_STARTED: u8 = 125;

/// Returns the sandboxes `bwrap` and `oci`, in this order, as they are before a run describes them: each one refuses
/// every command, and its [`check`](Sandbox::check) returns the reason.
pub fn built_in() -> [Arc<dyn Sandbox>; 2] {
    [Arc::new(Absent(BWRAP)), Arc::new(Absent(OCI))]
}

/// A sandbox that was left out, by its name.
#[derive(Debug)]
struct Absent(&'static str);

impl Sandbox for Absent {
    fn name(&self) -> &str {
        self.0
    }

    fn check(&self) -> Result<(), SandboxError> {
        Err(left_out(self.0))
    }

    fn wrap(&self, _spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        Err(left_out(self.0))
    }
}

fn left_out(name: &str) -> SandboxError {
    SandboxError::Unusable {
        name: name.to_owned(),
        problem: "this program was built without the feature `sandbox`".to_owned(),
    }
}

/// Where containers would come from.
#[derive(Clone, Debug)]
pub struct Containers {
    guest: PathBuf,
}

impl Containers {
    /// Takes what it takes with the feature `sandbox`.
    pub fn of_env(
        _env: &[(String, String)],
        guest: impl Into<PathBuf>,
        _directory: impl Into<PathBuf>,
    ) -> Self {
        Self { guest: guest.into() }
    }

    /// Returns the path of the guest.
    pub fn guest(&self) -> &Path {
        &self.guest
    }

    /// Builds no image.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`].
    pub fn build_image(&self, _root: &Path) -> Result<Image, SandboxError> {
        Err(left_out(OCI))
    }

    /// Finds no image.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`].
    pub fn find_image(&self, _name: &str) -> Result<Image, SandboxError> {
        Err(left_out(OCI))
    }

    /// Removes no container.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`].
    pub fn sweep(&self, _root: &Path) -> Result<Vec<String>, SandboxError> {
        Err(left_out(OCI))
    }

    pub(crate) fn pinned(&self, _image: &str) -> Result<Image, SandboxError> {
        Err(left_out(OCI))
    }

    pub(crate) fn described(
        &self,
        _env: &[(String, String)],
    ) -> (Result<PathBuf, SandboxError>, Vec<String>) {
        (Err(left_out(OCI)), Vec::new())
    }
}

/// The first process of a sandbox that there is not.
#[derive(Clone, Debug)]
pub struct Guest {
    program: PathBuf,
}

impl Guest {
    /// The argument that makes the command `samuel` such a program.
    pub const SUBCOMMAND: &str = "__guest";

    /// Takes what it takes with the feature `sandbox`.
    pub fn new(program: impl Into<PathBuf>, _directory: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Takes arguments, which nobody is given.
    #[must_use]
    pub fn with_arguments<A: Into<String>>(self, _arguments: impl IntoIterator<Item = A>) -> Self {
        self
    }

    /// Starts nothing, and returns the exit code that says so.
    pub fn main(_arguments: &[OsString]) -> u8 {
        NOT_STARTED
    }

    /// Returns the program.
    pub fn program(&self) -> &Path {
        &self.program
    }
}
