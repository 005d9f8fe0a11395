//! The git program, as workspaces run it.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::WorkspaceError;
use crate::{
    git::program::{GitProgram, GitProgramError},
    process::{
        self, CommandOutput, CommandSpec, End, ExitStatus, OutputLimits, ProcessError, Supervisor,
        find_on_path,
    },
};

/// How long one call may take.
pub(super) const MAX_TIME: Duration = Duration::from_secs(10 * 60);
/// How much of a list is read, in bytes.
const MAX_LIST: usize = 64 << 20;

/// How much memory a git takes at once, such as for an object: a few bytes of a pack can stand for any number.
const MAX_OBJECT: &str = "1g";

/// The oldest git that workers work with: it merges without a work tree.
pub(crate) const LEAST_GIT_OF_LANES: (u32, u32) = (2, 38);
/// Lists the names of all settings, of which [`Git::without_filters`] takes those of filters.
pub(super) const LIST_SETTINGS: &[&str] = &["config", "--list", "-z", "--name-only"];
/// The settings of a filter by which git runs a program, or fails if the program does not run.
const OF_FILTER: [&[u8]; 4] = [b".clean", b".smudge", b".process", b".required"];

/// What every call has beside the guards of [`GitProgram`].
const SETTINGS: &[&str] = &[
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "log.showSignature=false",
];

/// The git program of a caller.
#[derive(Debug)]
pub(crate) struct Git {
    program: PathBuf,
    env: Vec<(String, String)>,
    supervisor: Supervisor,
    /// A directory without a configuration, which is the home of calls that have none.
    home: PathBuf,
    cancel: CancellationToken,
}

/// Whose configuration a call reads beside that of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configured {
    /// Nobody's.
    Alone,
    /// The user's.
    ByUser,
}

impl Git {
    /// Finds the program in the absolute directories of the caller's path, outside of the project.
    pub(crate) fn of(
        env: &[(String, String)],
        supervisor: Supervisor,
        home: &Path,
        project: &Path,
    ) -> Result<Self, WorkspaceError> {
        let path = env.iter().rfind(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let path = path.or(Some("/usr/bin:/bin"));
        let program = find_on_path("git", path, Some(project)).ok_or_else(|| {
            let missing_directory = None;
            GitProgramError::Run(ProcessError::ProgramNotFound { program: "git".into(), missing_directory })
        })?;
        let (env, home) = (env.to_vec(), home.to_owned());
        Ok(Self { program, env, supervisor, home, cancel: CancellationToken::new() })
    }

    /// Describes a call in a directory.
    pub(crate) fn call(&self, directory: &Path, configured: Configured, args: &[&str]) -> CommandSpec {
        // Whose the project is was looked at before.
        let safe = format!("safe.directory={}", directory.display());
        let mut all: Vec<&str> = SETTINGS.to_vec();
        all.extend(["-c", &safe]);
        all.extend(args);
        let spec = self.program().command(&self.program, directory, &all);
        let spec = spec
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_REFLOG_ACTION", "samuel")
            .env("GIT_EDITOR", "false");
        let spec = spec
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", "/dev/null")
            .env("GIT_ALLOC_LIMIT", MAX_OBJECT)
            .env("GIT_NO_LAZY_FETCH", "1");
        // If the directory is no repository any more, git must not use one around it.
        let spec = match directory.parent() {
            Some(parent) => spec.env("GIT_CEILING_DIRECTORIES", parent),
            None => spec,
        };
        match configured {
            Configured::ByUser => spec,
            Configured::Alone => spec
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_ATTR_NOSYSTEM", "1")
                .env("HOME", &self.home)
                .env("XDG_CONFIG_HOME", &self.home),
        }
    }

    /// Returns the file with the patterns of what the user has git ignore everywhere, if there may be one.
    pub(super) async fn users_excludes(&self, top: &Path) -> Option<String> {
        let args = ["config", "--type=path", "--get", "core.excludesFile"];
        // Git fails where there is none.
        let named = self.finish("config", self.call(top, Configured::ByUser, &args)).await.ok();
        let named =
            named.map(|said| said.stdout.text().trim_end().to_owned()).filter(|named| !named.is_empty());
        named.or_else(|| self.default_excludes())
    }

    /// Returns where git looks for those by itself.
    fn default_excludes(&self) -> Option<String> {
        let var = |name: &str| self.env.iter().rfind(|(known, _)| known == name).map(|(_, value)| value);
        let config = var("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| Some(Path::new(var("HOME")?).join(".config")))?;
        let file = config.join("git/ignore");
        file.is_file().then(|| file.display().to_string())
    }

    fn program(&self) -> GitProgram<'_> {
        let deadline = tokio::time::Instant::now() + MAX_TIME;
        GitProgram { env: &self.env, supervisor: &self.supervisor, cancel: &self.cancel, deadline }
    }

    /// Carries out a call that is named for what it is.
    pub(crate) async fn finish(
        &self,
        name: &str,
        spec: CommandSpec,
    ) -> Result<CommandOutput, GitProgramError> {
        self.program().finish(name, spec).await
    }

    /// Returns a call without filters, which are programs that git runs for the content of files. `settings` is a call
    /// of the same configuration that [lists its settings](LIST_SETTINGS). If it fails, no filter is known, and so the
    /// call is not made.
    pub(super) async fn without_filters(
        &self,
        settings: CommandSpec,
        mut spec: CommandSpec,
    ) -> Result<CommandSpec, GitProgramError> {
        let too_long = || GitProgramError::Failed {
            subcommand: "config".to_owned(),
            message: "the configuration is too long".to_owned(),
        };
        let names = self.list("config", settings).await?.ok_or_else(too_long)?.into_iter();
        let is_of_filter =
            |name: &Vec<u8>| name.starts_with(b"filter.") && OF_FILTER.iter().any(|end| name.ends_with(end));
        for (number, name) in names.filter(is_of_filter).enumerate() {
            let value = if name.ends_with(b".required") { "false" } else { "" };
            spec = spec
                .env("GIT_CONFIG_COUNT", (number + 1).to_string())
                .env(format!("GIT_CONFIG_KEY_{number}"), OsString::from_vec(name))
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        Ok(spec)
    }

    /// Carries out a call whose failure is an answer.
    pub(crate) async fn answer(&self, spec: CommandSpec) -> Result<CommandOutput, GitProgramError> {
        Ok(process::run(spec, &self.supervisor, &self.cancel).await?)
    }

    /// Carries out a call that asks something: git says yes by the exit code 0, and no by 1. Returns what it
    /// wrote with a yes, and nothing for a no; whatever else comes of it is no answer.
    pub(crate) async fn ask(
        &self,
        name: &str,
        spec: CommandSpec,
    ) -> Result<Option<CommandOutput>, GitProgramError> {
        let output = self.answer(spec).await?;
        match (output.end, output.status) {
            _ if output.success() => Ok(Some(output)),
            (End::Exited, ExitStatus::Exited(1)) => Ok(None),
            _ => Err(GitProgramError::of(name, &output)),
        }
    }

    /// Runs git without anybody's configuration.
    pub(crate) async fn run(
        &self,
        directory: &Path,
        args: &[&str],
    ) -> Result<CommandOutput, GitProgramError> {
        let name = args.first().copied().unwrap_or_default();
        self.finish(name, self.call(directory, Configured::Alone, args)).await
    }

    /// Does the same and returns the line that it wrote.
    pub(crate) async fn line(&self, directory: &Path, args: &[&str]) -> Result<String, GitProgramError> {
        Ok(self.run(directory, args).await?.stdout.text().trim().to_owned())
    }

    /// Says whether git does as it is asked; it fails alike where it cannot.
    pub(crate) async fn says_yes(&self, directory: &Path, args: &[&str]) -> bool {
        self.run(directory, args).await.is_ok()
    }

    /// Carries out a call that writes a list, and returns its parts, which end with a NUL each; nothing
    /// where it is longer than what is read.
    pub(crate) async fn list(
        &self,
        name: &str,
        spec: CommandSpec,
    ) -> Result<Option<Vec<Vec<u8>>>, GitProgramError> {
        let limits = OutputLimits { head: MAX_LIST, ..OutputLimits::default() };
        let output = self.finish(name, spec.limits(limits)).await?;
        if output.stdout.is_truncated() || !output.stdout.tail.is_empty() {
            return Ok(None);
        }
        let parts = output.stdout.head.split(|byte| *byte == 0).map(<[u8]>::to_vec);
        let mut parts: Vec<Vec<u8>> = parts.collect();
        parts.pop_if(|last| last.is_empty());
        Ok(Some(parts))
    }
}
