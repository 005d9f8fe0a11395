//! Running the git program, where a repository is fetched or written.
//!
//! A [`GitProgram`] is a command like any other: under the supervisor, with a
//! deadline, and with an environment of which only what reaches remotes comes
//! through. Hooks, file system monitor, questions and the helpers of other
//! transports are off. Looking at a project never comes here; see
//! [`Repository`](super::Repository).

use std::{ffi::OsString, path::Path, time::Duration};

use tokio_util::sync::CancellationToken;

use samuel_model::{Coded, ErrorCode, environment::git_env, text::last_line};
use samuel_process::{
    self as process, CommandOutput, CommandSpec, End, OutputLimits, ProcessError, Supervisor,
};

/// The transports that git fetches over, as it reads them. All others are
/// programs of their own.
pub const TRANSPORTS: &[&str] = &["https", "http", "ssh", "git", "file"];

/// How many bytes of output are kept.
const MAX_OUTPUT: usize = 1 << 20;
/// How many bytes of the end of standard error are kept.
const MAX_STDERR: usize = 4 << 10;
/// How many characters of what it says are told.
const MAX_LINE: usize = 500;
/// How many lines of it.
const COMPLAINT_LINES: usize = 3;

/// How git is run.
#[derive(Debug)]
pub struct GitProgram<'a> {
    /// The caller's environment, of which git gets what it needs.
    pub env: &'a [(String, String)],
    /// Who watches over it.
    pub supervisor: &'a Supervisor,
    /// Ends it early.
    pub cancel: &'a CancellationToken,
    /// The time all calls have together.
    pub deadline: tokio::time::Instant,
}

/// A call of git that did not do what it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitProgramError {
    /// It could not be run.
    #[error("git could not be run")]
    Run(#[from] ProcessError),
    /// It failed, or did not end in time.
    #[error("git {subcommand} failed: {message}")]
    Failed {
        /// What it was called for.
        subcommand: String,
        /// What it wrote to standard error up to its verdict, `fatal: ...`, on one
        /// line, or how it ended.
        message: String,
    },
}

impl GitProgramError {
    /// Says of a call that did not succeed how it ended.
    #[doc(hidden)]
    pub fn of(subcommand: &str, output: &CommandOutput) -> Self {
        let message = match output.end {
            End::TimedOut => "git did not end in time".to_owned(),
            End::Cancelled => "it was cancelled".to_owned(),
            _ => complaint(&output.stderr.text()).unwrap_or_else(|| output.status.to_string()),
        };
        Self::Failed { subcommand: subcommand.to_owned(), message }
    }

    /// Says whether there is no git on the path.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Run(ProcessError::ProgramNotFound { .. }))
    }
}

impl Coded for GitProgramError {
    fn code(&self) -> ErrorCode {
        if self.is_not_found() { ErrorCode::GIT_NOT_FOUND } else { ErrorCode::PROCESS_FAILED }
    }
}

impl GitProgram<'_> {
    /// Runs git in a directory to its end and returns what it wrote.
    ///
    /// # Errors
    /// Returns a [`GitProgramError`] where it cannot be run or fails.
    pub async fn run(&self, directory: &Path, args: &[&str]) -> Result<CommandOutput, GitProgramError> {
        let subcommand = args.first().copied().unwrap_or_default();
        self.finish(subcommand, self.command("git", directory, args)).await
    }

    /// Describes a call of a git program, which [`finish`](Self::finish) carries out.
    #[doc(hidden)]
    pub fn command(&self, program: impl Into<OsString>, directory: &Path, args: &[&str]) -> CommandSpec {
        let left = self.deadline.saturating_duration_since(tokio::time::Instant::now());
        CommandSpec::new(program, directory)
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
            .args(args)
            .envs(git_env(self.env))
            .env("GIT_ALLOW_PROTOCOL", TRANSPORTS.join(":"))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "true")
            .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .timeout(left.max(Duration::from_millis(1)))
            .limits(OutputLimits { head: MAX_OUTPUT, tail: MAX_STDERR, ..OutputLimits::default() })
    }

    /// Runs a call to its end and returns what it wrote.
    ///
    /// # Errors
    /// Returns a [`GitProgramError`] where it cannot be run or fails.
    #[doc(hidden)]
    pub async fn finish(
        &self,
        subcommand: &str,
        spec: CommandSpec,
    ) -> Result<CommandOutput, GitProgramError> {
        let output = process::run(spec, self.supervisor, self.cancel).await?;
        if output.success() {
            return Ok(output);
        }
        Err(GitProgramError::of(subcommand, &output))
    }
}

/// Returns what git complains of: what programs that it ran said, and its verdict.
/// The advice that follows fits any failure.
fn complaint(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(verdict) = lines.iter().position(|line| line.starts_with("fatal:")) else {
        // Advice may come behind an error as well, as where a file of git's is locked.
        return last_line(lines.iter().rfind(|line| line.starts_with("error:")).unwrap_or(&stderr));
    };
    let said = lines.get(verdict.saturating_sub(COMPLAINT_LINES - 1)..=verdict).unwrap_or_default();
    Some(said.join("; ").chars().take(MAX_LINE).collect())
}

/// Says why git must not fetch from an address: it would run a program for it.
pub fn refused_transport(address: &str) -> Option<&'static str> {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let end = address.find(|c| !is_scheme(c)).unwrap_or(address.len());
    let (scheme, rest) = address.split_at(end);
    let is_helper = rest.starts_with("::");
    let is_other = rest.starts_with("://") && !TRANSPORTS.contains(&scheme);
    (is_helper || is_other || address.starts_with('-')).then_some(
        "only https, http, ssh, git and file URLs, user@host:path and local paths are fetched; \
         for anything else git would run another program",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_the_verdict_and_what_led_to_it_without_the_advice() {
        let advice = "\nPlease make sure you have the correct access rights\nand the repository exists.\n";
        let ssh = format!(
            "ssh: connect to host x port 22: refused\r\nfatal: Could not read from remote.\n{advice}"
        );
        let both = "ssh: connect to host x port 22: refused; fatal: Could not read from remote.";
        assert_eq!(complaint(&ssh).as_deref(), Some(both));
        let missing =
            format!("fatal: '/x' does not appear to be a git repository\nfatal: Could not read\n{advice}");
        assert_eq!(
            complaint(&missing).as_deref(),
            Some("fatal: '/x' does not appear to be a git repository")
        );
        assert_eq!(complaint("warning: a\nerror: b\n").as_deref(), Some("error: b"));
        let locked =
            "error: could not delete references: Unable to create '/r/.git/packed-refs.lock': File exists.";
        let advice = "Another git process seems to be running.\nremove the file manually to continue.";
        assert_eq!(complaint(&format!("{locked}\n\n{advice}\n")).as_deref(), Some(locked));
        assert_eq!(complaint(" \n"), None);
    }

    #[test]
    fn what_another_program_would_fetch_is_refused() {
        let fetched =
            "https://a/b http://a ssh://a/b git://a/b file:///a a@b:c /a/b::c ../a a@b::c".split(' ');
        for good in fetched {
            assert_eq!(refused_transport(good), None, "{good}");
        }
        let others = "fd::3 file::/x https::http://a hg+x::y foo://a HTTPS://a -u ::x".split(' ');
        for bad in others.chain(["ext::sh -c id"]) {
            assert!(refused_transport(bad).is_some(), "{bad}");
        }
    }
}
