//! Running the configured quality checks.
//!
//! [`run_checks`] is the default of `quality.check`: one command after the
//! other by `sh -c` where the agent works, each with its own deadline. That a
//! check fails, hangs or cannot be started are failures the agent is told of;
//! only a cancelled run is something else.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    config::CheckCommand,
    environment::Secrets,
    hook::hiding,
    methodology::WatchedFiles,
    model::{
        Coded,
        payload::{CheckFailure, QualityCheckOutput},
        redacted,
    },
    process::{
        self, CommandOutput, CommandSpec, End, ExitStatus, OutputLimits, ProcessError, Spill, Supervisor,
    },
    sandbox::Sandbox,
    state::RunDir,
    text::{described, limit},
};

/// The end of a check's output that is kept, in bytes.
pub const MAX_TAIL_BYTES: usize = 4 * 1024;

/// What is said where only a change of a control file would help: the agent reads it as well.
const WATCHED_HELP: &str = "It is a control file, which must not be made or changed while the run lasts. Whoever \
                            started the run has to correct it, or the check in samuel.toml, and start again.";

/// A command that checks the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The command line, for `sh -c`.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// The file that receives all output, in the log directory of the run. Default: none.
    pub log: Option<PathBuf>,
}

impl Check {
    /// Creates a check with the default timeout of 30 minutes.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), timeout: CheckCommand::TIMEOUT, log: None }
    }
}

/// Where and how checks run.
#[derive(Clone, Copy, Debug)]
pub struct CheckSetting<'a> {
    /// The project's root.
    pub project_root: &'a Path,
    /// The working directory of the commands: the root, or the project within a clone.
    pub work_dir: &'a Path,
    /// The run directory and the id of the run. Its log directory is created again if it is missing.
    pub logs: (&'a RunDir, &'a str),
    /// Their whole environment.
    pub env: &'a [(OsString, OsString)],
    /// The values that their logs do not have.
    pub secrets: &'a Arc<Secrets>,
    /// Who watches over their processes.
    pub supervisor: &'a Supervisor,
    /// What they run in.
    pub sandbox: &'a dyn Sandbox,
    /// Ends them all.
    pub cancel: &'a CancellationToken,
    /// What the checks before one must leave as it is.
    pub control_files: &'a WatchedFiles,
    /// Receives what is no failure, but worth a warning.
    pub warnings: &'a Mutex<Vec<String>>,
}

/// The checks were cancelled; how the work is, is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the quality checks were cancelled")]
pub struct ChecksCancelled;

/// Runs checks one after the other, all of them even when one fails. Where one has
/// changed a control file, such as the script of the next, the others are not run.
///
/// # Errors
/// [`ChecksCancelled`] if the token was cancelled before the last one ended.
pub async fn run_checks(
    checks: &[Check],
    setting: CheckSetting<'_>,
) -> Result<QualityCheckOutput, ChecksCancelled> {
    let mut failures = Vec::new();
    for (number, check) in checks.iter().enumerate() {
        if setting.cancel.is_cancelled() {
            return Err(ChecksCancelled);
        }
        if number > 0
            && let Some(changed) = setting.control_files.changed().await
        {
            failures.push(not_run(check, &changed));
            break;
        }
        failures.extend(run_check(check, setting).await?);
    }
    let reason = match failures.as_slice() {
        [] => None,
        [only] => Some(format!("{}: {}", only.command, only.message)),
        several => Some(format!("{} of {} quality checks failed", several.len(), checks.len())),
    };
    Ok(QualityCheckOutput { ok: failures.is_empty(), reason, failures, ..QualityCheckOutput::default() })
}

async fn run_check(
    check: &Check,
    setting: CheckSetting<'_>,
) -> Result<Option<CheckFailure>, ChecksCancelled> {
    let spec = CommandSpec::shell(&check.command, setting.work_dir)
        .envs(setting.env.iter().cloned())
        .timeout(check.timeout)
        .limits(OutputLimits { head: 0, tail: MAX_TAIL_BYTES, ..OutputLimits::default() })
        .merge_stderr(true);
    let spec = match &check.log {
        Some(log) => with_log(spec, log, setting),
        None => spec,
    };
    let spec = match setting.sandbox.wrap_check(spec) {
        Ok(spec) => spec,
        Err(error) => {
            let message = format!("could not be run: {error}. {}", error.help().prose());
            return Ok(Some(failed(check, message)));
        }
    };
    let ran = process::run(spec, setting.supervisor, setting.cancel).await;
    if let Ok(output) = &ran {
        if let Some(problem) = &output.stdout.spill_problem {
            warn(setting, not_kept(problem));
        }
        if let Some(left) = &output.left_running {
            warn(setting, format!("the check `{}` left {left}", check.command));
        }
    }
    let failure = match ran {
        Ok(output) if output.end == End::Cancelled => return Err(ChecksCancelled),
        Ok(output) if output.success() => return Ok(None),
        Ok(output) => failure(check, &output, setting),
        Err(error) => not_started(check, &error),
    };
    Ok(Some(failure))
}

/// Copies the output of a check to its log. A check without a log directory runs without a log.
fn with_log(spec: CommandSpec, log: &Path, setting: CheckSetting<'_>) -> CommandSpec {
    let (run_dir, run_id) = setting.logs;
    // `create` first, because `make_logs` closes each directory that it creates to other users.
    let made = run_dir.create().and_then(|()| run_dir.make_logs(run_id)).map_err(|error| described(&error));
    let open = |_| run_dir.root().parent_of(log).map_err(|error| described(&error));
    match made.and_then(open) {
        Ok(directory) => spec
            .spill(Spill::Always { stdout: log.to_owned(), stderr: log.with_extension("err") })
            .spill_directory(directory)
            .spill_filter(hiding(setting.secrets)),
        Err(problem) => {
            warn(setting, not_kept(&problem));
            spec
        }
    }
}

fn not_kept(problem: &str) -> String {
    format!("the output of a quality check is not kept: {problem}")
}

/// Adds a warning, unless it is there already.
fn warn(setting: CheckSetting<'_>, warning: String) {
    let mut warnings = setting.warnings.lock().unwrap_or_else(PoisonError::into_inner);
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}

fn failure(check: &Check, output: &CommandOutput, setting: CheckSetting<'_>) -> CheckFailure {
    let (message, exit_code) = match (output.end, output.status) {
        (End::TimedOut, _) => (format!("timed out after {}", limit(check.timeout)), None),
        (_, ExitStatus::Exited(code)) => (explain_code(code, check, setting), Some(code)),
        (_, ExitStatus::Signaled(signal)) => (format!("ended by signal {signal}"), None),
    };
    // It is told to the agent, shown and kept.
    let tail = redacted(&output.stdout.text()).into_owned();
    let log = output.stdout.spill().and_then(|log| place_of_log(log, setting.project_root));
    CheckFailure { command: check.command.clone(), message, exit_code, tail, log }
}

/// Explains the codes that a shell gives itself.
fn explain_code(code: i32, check: &Check, setting: CheckSetting<'_>) -> String {
    let problem = || process::problem_of_line(&check.command, setting.env, setting.work_dir);
    if let (126 | 127, Some(problem)) = (code, problem()) {
        let name = check.command.split_whitespace().next().unwrap_or_default();
        return match setting.control_files.has(name, setting.project_root) {
            // To change its mode is no change of what is in it.
            true if !matches!(problem, ProcessError::NotExecutable { .. }) => {
                format!("could not be run: {problem}. {WATCHED_HELP}")
            }
            _ => format!("could not be run: {}", problem.explained()),
        };
    }
    match code {
        126 => "exit code 126: a program of the command cannot be executed".to_owned(),
        127 => "exit code 127: a program of the command was not found".to_owned(),
        _ => format!("exit code {code}"),
    }
}

fn not_started(check: &Check, error: &ProcessError) -> CheckFailure {
    failed(check, format!("could not be run: {}", error.explained()))
}

fn not_run(check: &Check, changed: &str) -> CheckFailure {
    failed(check, format!("not run, since a control file was changed: {changed}"))
}

fn failed(check: &Check, message: String) -> CheckFailure {
    CheckFailure { command: check.command.clone(), message, ..CheckFailure::default() }
}

/// Returns where a log is as people are told; nothing for one that is empty, which
/// leaves nothing to read.
pub(super) fn place_of_log(path: &Path, project_root: &Path) -> Option<String> {
    std::fs::metadata(path).ok().filter(|log| log.is_file() && log.len() > 0)?;
    Some(path.strip_prefix(project_root).unwrap_or(path).display().to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::sandbox::Host;

    const RUN: &str = "run-1";

    /// What came of some checks, and the warnings.
    type Ran = (Result<QualityCheckOutput, ChecksCancelled>, Vec<String>);

    async fn run_in(
        project_root: &Path,
        control_files: &WatchedFiles,
        checks: &[Check],
        cancel: &CancellationToken,
    ) -> Ran {
        let env = &[("PATH".into(), std::env::var_os("PATH").unwrap())];
        let (supervisor, sandbox, warnings) = (&Supervisor::GroupOnly, &Host, &Mutex::default());
        let (work_dir, run_dir) = (project_root, RunDir::new(project_root));
        let secrets = &Arc::new(Secrets::of(&[("A_TOKEN".to_owned(), "made-up-1".to_owned())]));
        let setting = CheckSetting {
            project_root,
            work_dir,
            logs: (&run_dir, RUN),
            env,
            secrets,
            supervisor,
            sandbox,
            cancel,
            control_files,
            warnings,
        };
        let ran = run_checks(checks, setting).await;
        (ran, warnings.lock().unwrap().clone())
    }

    async fn run(checks: &[Check], cancel: &CancellationToken) -> Ran {
        let directory = tempfile::tempdir().unwrap();
        run_in(directory.path(), &WatchedFiles::default(), checks, cancel).await
    }

    async fn outcome(commands: &[&str]) -> QualityCheckOutput {
        let checks: Vec<Check> = commands.iter().map(|command| Check::new(*command)).collect();
        run(&checks, &CancellationToken::new()).await.0.unwrap()
    }

    #[tokio::test]
    async fn checks_that_pass_leave_nothing_to_say() {
        assert_eq!(outcome(&["true", "test -d ."]).await, QualityCheckOutput::default());
        assert_eq!(outcome(&[]).await, QualityCheckOutput::default());
    }

    #[tokio::test]
    async fn keeps_no_secret_in_a_check_log() {
        let directory = tempfile::tempdir().unwrap();
        let log = RunDir::new(directory.path()).check_log(RUN, 1, 1);
        let check =
            Check { log: Some(log.clone()), ..Check::new("echo it is made-up-1; printf %s made-up-") };
        let cancel = CancellationToken::new();
        let (ran, warnings) = run_in(directory.path(), &WatchedFiles::default(), &[check], &cancel).await;
        assert!(ran.unwrap().ok && warnings.is_empty(), "{warnings:?}");
        assert_eq!(std::fs::read_to_string(log).unwrap(), "it is ***\nmade-up-");
    }

    #[tokio::test]
    async fn every_check_runs_in_order_and_each_failure_is_told() {
        let output =
            outcome(&["echo first; echo aside >&2; exit 3", "touch seen", "test -f seen", "false"]).await;
        assert!(!output.ok);
        assert_eq!(output.reason.as_deref(), Some("2 of 4 quality checks failed"));
        let first = &output.failures[0];
        assert_eq!(
            (first.message.as_str(), first.exit_code, first.tail.as_str()),
            ("exit code 3", Some(3), "first\naside\n")
        );
        assert_eq!(output.failures[1].command, "false");
    }

    #[tokio::test]
    async fn recreates_removed_log_directory_but_follows_no_link() {
        let directory = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (directory.path().join("project"), directory.path().join("elsewhere"));
        let elsewhere = elsewhere.join("run/logs").join(RUN);
        for made in [&root, &elsewhere] {
            std::fs::create_dir_all(made).unwrap();
        }
        let precious = elsewhere.join("1-check-5.out");
        std::fs::write(&precious, "precious").unwrap();
        let run_dir = RunDir::new(&root);
        run_dir.make_logs(RUN).unwrap();
        let check = |number, command: &str| Check {
            log: Some(run_dir.check_log(RUN, 1, number)),
            ..Check::new(command)
        };
        let checks = [
            check(1, "rm -rf .samuel"),
            check(2, "echo kept"),
            check(3, "cat .samuel/run/logs/run-1/1-check-2.out; stat -c %a .samuel/run/logs/run-1; exit 1"),
            check(4, "rm -rf .samuel; ln -s ../elsewhere .samuel"),
            check(5, "true"),
        ];
        let (ran, warnings) =
            run_in(&root, &WatchedFiles::default(), &checks, &CancellationToken::new()).await;
        let failures = ran.unwrap().failures;
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert_eq!(failures[0].tail, "kept\n700\n");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("is not kept") && warnings[0].contains("leads out"), "{warnings:?}");
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn nobody_is_told_to_make_a_control_file() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::write(root.join("plain.sh"), "true").unwrap();
        let names = ["nothere.sh", "plain.sh", "ci/x"].map(str::to_owned).to_vec();
        let control_files = &WatchedFiles { names, ..WatchedFiles::default() };
        let absolute = root.join("nothere.sh").display().to_string();
        for (command, help) in [
            ("./nothere.sh", WATCHED_HELP),
            ("ci/x --all", WATCHED_HELP),
            (&absolute, WATCHED_HELP),
            ("./plain.sh", "chmod +x"),
            ("./other.sh", "create the file"),
        ] {
            let (ran, _) =
                run_in(root, control_files, &[Check::new(command)], &CancellationToken::new()).await;
            let message = &ran.unwrap().failures[0].message;
            assert!(message.contains(help), "{command}: {message}");
            assert_eq!(message.contains("create"), help == "create the file", "{command}: {message}");
        }
    }

    #[tokio::test]
    async fn a_check_that_hangs_is_a_failure_that_says_so() {
        let check = Check { timeout: Duration::from_millis(300), ..Check::new("echo started; sleep 100") };
        let output = run(&[check], &CancellationToken::new()).await.0.unwrap();
        let failure = &output.failures[0];
        assert_eq!((failure.message.as_str(), failure.exit_code), ("timed out after 0.3s", None));
        assert_eq!(failure.tail, "started\n");
    }

    #[tokio::test]
    async fn a_check_that_leaves_a_process_running_passes_with_a_warning() {
        let (ran, warnings) = run(&[Check::new("sleep 300 &")], &CancellationToken::new()).await;
        assert_eq!(ran.unwrap(), QualityCheckOutput::default());
        let told = warnings.join("\n");
        let expected = "the check `sleep 300 &` left 1 process running, which was ended: ";
        assert!(told.starts_with(expected) && told.ends_with(" (sleep)"), "{told}");
    }

    #[tokio::test]
    async fn a_check_that_needs_most_of_its_time_passes() {
        let check = Check { timeout: Duration::from_secs(1), ..Check::new("sleep 0.8") };
        let (ran, _) = run(&[check], &CancellationToken::new()).await;
        assert_eq!(ran.unwrap(), QualityCheckOutput::default());
    }

    #[tokio::test]
    async fn a_missing_program_and_a_signal_are_failures_that_say_so() {
        let output = outcome(&["no-such-program-anywhere", "kill -9 $$"]).await;
        let messages: Vec<&str> = output.failures.iter().map(|failure| failure.message.as_str()).collect();
        assert_eq!(messages, ["exit code 127: a program of the command was not found", "ended by signal 9"]);
        assert_eq!(output.failures[1].exit_code, None);
    }

    #[tokio::test]
    async fn a_check_that_cannot_start_says_which_file_and_why() {
        let output =
            outcome(&["printf '#!/bin/sh\\r\\n' > crlf; chmod +x crlf; touch plain", "./crlf", "./plain"])
                .await;
        let messages: Vec<&str> = output.failures.iter().map(|failure| failure.message.as_str()).collect();
        assert_eq!(messages.len(), 2);
        assert!(messages[0].starts_with("could not be run: the first line of `"), "{messages:?}");
        assert!(messages[0].contains("/./crlf` ends with a carriage return"), "{messages:?}");
        assert!(
            messages[1].contains("/./plain` is not executable: permission is denied. Run `chmod +x"),
            "{messages:?}"
        );
    }

    #[tokio::test]
    async fn a_project_that_is_gone_is_a_failure_of_every_check() {
        let root = Path::new("/nowhere/at/all");
        let checks = [Check::new("true")];
        let (ran, _) = run_in(root, &WatchedFiles::default(), &checks, &CancellationToken::new()).await;
        let output = ran.unwrap();
        assert!(output.failures[0].message.starts_with("could not be run: cannot run in the directory"));
    }

    #[tokio::test]
    async fn a_long_output_is_cut_to_its_end() {
        let output = outcome(&["yes line | head -n 100000; echo last; exit 1"]).await;
        let tail = &output.failures[0].tail;
        assert!(tail.ends_with("last\n") && tail.contains("bytes left out"), "{tail}");
        assert!(tail.len() < MAX_TAIL_BYTES + 200, "{}", tail.len());
    }

    #[tokio::test]
    async fn a_cancelled_run_is_no_failure_of_the_checks() {
        let cancel = CancellationToken::new();
        let checks = [Check::new("sleep 100")];
        let running = run(&checks, &cancel);
        let stop = async { cancel.cancel() };
        assert_eq!(tokio::join!(running, stop).0.0, Err(ChecksCancelled));
        assert_eq!(run(&[Check::new("true")], &cancel).await.0, Err(ChecksCancelled));
    }
}
