//! What the commands of a project's hook files run in.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    environment::Secrets,
    fs::Root,
    hook::{Call, Point, hiding},
    process::Supervisor,
    script::{CommandLine, HookCommand, depth_of, env_in, hook_env},
};

/// What all commands of a project's hook files run in.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    pub(super) project_root: PathBuf,
    pub(super) env: Vec<(String, String)>,
    /// The values that files with long output do not have.
    pub(super) secrets: Arc<Secrets>,
    pub(super) supervisor: Supervisor,
    /// Where output goes that is too long to be told.
    pub(super) spill: Option<PathBuf>,
}

impl Surroundings {
    /// Returns the directory in which the turn of a call works: its workspace, or else the project.
    pub(super) fn root_of<'c, P: Point>(&'c self, call: &'c Call<P>) -> &'c Path {
        call.workspace().unwrap_or(&self.project_root)
    }

    /// Describes a command of a hook for a call, with variables of its own.
    pub(super) fn script<P: Point>(
        &self,
        command: CommandLine,
        cwd: PathBuf,
        env: Vec<(String, String)>,
        call: &Call<P>,
    ) -> HookCommand {
        let (root, methodology) = (self.root_of(call), &call.context().base().methodology.name);
        let told = hook_env(call.header(), root, methodology, depth_of(&self.env));
        let script = HookCommand::new(command, cwd.clone())
            .envs(env_in(&self.env, &self.project_root, root))
            .env("PWD", cwd)
            .envs(env)
            .envs(told);
        match call.workspace() {
            Some(workspace) => script.in_workspace(workspace),
            None => script,
        }
    }

    /// Keeps output whole that is too long to be told, where there is a place for it: below the root of the turn, whose
    /// agent is told of the file.
    pub(super) fn spilling(&self, script: HookCommand, root: &Path) -> HookCommand {
        let Some(directory) = &self.spill else { return script };
        let (root, directory) = match directory.strip_prefix(&self.project_root) {
            Ok(below) => (Root::new(root), root.join(below)),
            Err(_) => (Root::new(&self.project_root), directory.clone()),
        };
        let made = root.create_directory(&directory, 0o700);
        match made.and_then(|()| root.parent_of(&directory.join("file"))) {
            Ok(opened) => {
                script.spill(&directory).spill_directory(opened).spill_filter(hiding(&self.secrets))
            }
            // Without the directory what is too long is left out.
            Err(_) => script,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn keeps_long_output_although_directory_becomes_link() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("project"), dir.path().join("outside"));
        for made in [&root, &outside] {
            fs::create_dir(made).unwrap();
        }
        let around = Surroundings {
            project_root: root.clone(),
            env: Vec::new(),
            secrets: Arc::default(),
            supervisor: Supervisor::GroupOnly,
            spill: Some(root.join("logs")),
        };
        let line = "mv logs moved; ln -s ../outside logs; head -c 100000 /dev/zero | tr '\\0' x";
        let script =
            HookCommand::new(CommandLine::Shell(line.to_owned()), &root).env("PATH", "/usr/bin:/bin");
        let script = around.spilling(script, &root);
        let output = script.run(&around.supervisor, &CancellationToken::new()).await.unwrap();
        assert!(output.stdout.spill().is_some());
        assert_eq!(fs::read_dir(root.join("moved")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
    }
}
