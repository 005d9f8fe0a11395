//! What the commands of a project's hook files run in.

use std::path::PathBuf;

use crate::{
    fs::Root,
    hook::{Call, Point},
    process::Supervisor,
    script::{CommandLine, HookCommand, depth_of, hook_env},
};

/// What all commands of a project's hook files run in.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    pub(super) project_root: PathBuf,
    pub(super) env: Vec<(String, String)>,
    pub(super) supervisor: Supervisor,
    /// Where output goes that is too long to be told.
    pub(super) spill: Option<PathBuf>,
}

impl Surroundings {
    /// Describes a command of a hook for a call, with variables of its own.
    pub(super) fn script<P: Point>(
        &self,
        command: CommandLine,
        cwd: PathBuf,
        env: Vec<(String, String)>,
        call: &Call<P>,
    ) -> HookCommand {
        let methodology = &call.context().base().methodology.name;
        let told = hook_env(call.header(), &self.project_root, methodology, depth_of(&self.env));
        HookCommand::new(command, cwd).envs(self.env.iter().cloned()).envs(env).envs(told)
    }

    /// Keeps output whole that is too long to be told, where there is a place for it.
    pub(super) fn spilling(&self, script: HookCommand) -> HookCommand {
        match &self.spill {
            // Without the directory what is too long is left out.
            Some(directory) if Root::new(&self.project_root).create_directory(directory, 0o700).is_ok() => {
                script.spill(directory)
            }
            _ => script,
        }
    }
}
