//! A sandbox whose command line is changed, so that it lacks a wall.

use std::ffi::OsString;

use crate::{
    process::CommandSpec,
    sandbox::{Sandbox, SandboxError},
};

/// A sandbox whose command line is changed: what gets out of it says which wall was there.
#[derive(Debug)]
pub struct Weakened<S> {
    sandbox: S,
    change: fn(&mut Vec<OsString>),
}

impl<S: Sandbox> Weakened<S> {
    /// Makes one of another, whose arguments `change` gets before each command.
    pub fn new(sandbox: S, change: fn(&mut Vec<OsString>)) -> Self {
        Self { sandbox, change }
    }
}

impl<S: Sandbox> Sandbox for Weakened<S> {
    fn name(&self) -> &str {
        "weakened"
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        let wrapped = self.sandbox.wrap(spec)?;
        let mut arguments = wrapped.arguments().to_vec();
        (self.change)(&mut arguments);
        let program = wrapped.program().to_owned();
        Ok(wrapped.command(program, arguments))
    }
}
