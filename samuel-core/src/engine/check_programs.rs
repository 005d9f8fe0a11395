//! Looking for the programs of quality checks: before any is made, and after one that its shell could not start.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::services::Services;
use crate::{
    config::CheckCommand,
    environment::check_env,
    event::RunFault,
    machine::{EffectResult, HookReply, check_failures, refused_by},
    model::{Coded, ErrorCode, Remedy},
    process::{ProcessError, problem_of_program},
    script::named::programs_of_shell,
    text::one_line,
    workspace::plain_path,
};

/// The longest command that is shown, in characters.
const MAX_COMMAND_CHARS: usize = 80;
/// The exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// A quality check that cannot pass in this run: a program of it does not exist, and its agents may not make it.
#[derive(Debug, thiserror::Error)]
#[error("quality check `{command}` cannot pass: the program `{program}` was not found")]
struct MissingProgram {
    command: String,
    program: String,
}

impl Coded for MissingProgram {
    fn code(&self) -> ErrorCode {
        ErrorCode::RUN_STOPPED
    }

    fn help(&self) -> Remedy {
        "Correct quality_checks in samuel.toml, or install the program. Then start again.".into()
    }
}

impl Services {
    /// Returns the end of the run if its own checks failed and one of them cannot pass however often it is tried.
    pub(super) async fn look_for_programs(self: &Arc<Self>, reply: &HookReply) -> Option<EffectResult> {
        if reply.outcome.refused.is_none() || refused_by(reply).is_some() {
            return None;
        }
        let failures = check_failures(reply).iter();
        let commands = failures.filter(|failure| failure.exit_code == Some(NOT_FOUND));
        let commands: Vec<String> = commands.map(|failure| failure.command.clone()).collect();
        if commands.is_empty() {
            return None;
        }
        let look = move |services: &Self| commands.iter().find_map(|command| services.missing(command));
        match self.blocking(look).await {
            Ok(missing) => missing.map(|missing| EffectResult::Failed(RunFault::of(&missing))),
            Err(error) => Some(EffectResult::Failed(RunFault::of(&error))),
        }
    }

    /// Returns a program of a check that does not exist and that no agent may make. Blocks.
    fn missing(&self, command: &str) -> Option<MissingProgram> {
        let env = check_env(&self.env, Vec::new());
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        let is_missing = |program: &String| {
            let problem = problem_of_program(OsStr::new(program), path, &self.work_root);
            matches!(problem, Some(ProcessError::ProgramNotFound { .. })) && !self.may_be_made(program, path)
        };
        let program = programs_of_shell(command).into_iter().find(is_missing)?;
        Some(MissingProgram { command: one_line(command, MAX_COMMAND_CHARS), program })
    }

    /// Returns whether an agent may make a program, or may find it where Samuel does not see it.
    fn may_be_made(&self, program: &str, path: Option<&OsStr>) -> bool {
        let root = self.project.root();
        let is_in_project = |path: &Path| path.starts_with(root) || path.starts_with(&self.work_root);
        if !program.contains('/') {
            let mut places = path.into_iter().flat_map(std::env::split_paths);
            return self.is_sandboxed || places.any(|place: PathBuf| is_in_project(&place));
        }
        let program = Path::new(program);
        let of_project = program.strip_prefix(root).or_else(|_| program.strip_prefix(&self.work_root));
        let of_project = of_project.ok().or(program.is_relative().then_some(program));
        let name = of_project.and_then(Path::to_str).and_then(plain_path);
        match name {
            Some(name) => !self.control_files.covers(&name),
            None => is_in_project(program) || program.is_relative(),
        }
    }
}

/// Says of each check what keeps a program of it from being started, looked for as the check
/// does. A file of the project that is not there is left out: the control files tell of it. Blocks.
pub(super) fn unstartable(checks: &[CheckCommand], host: &[(String, String)], root: &Path) -> Vec<String> {
    let env = check_env(host, Vec::new());
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let of_check = |check: &CheckCommand| {
        let problems = programs_of_shell(&check.command).into_iter().filter_map(|program| {
            let problem = problem_of_program(OsStr::new(&program), path, root)?;
            told(&program, &problem, path, root)
        });
        let command = one_line(&check.command, MAX_COMMAND_CHARS);
        problems.map(|told| format!("quality check `{command}`: {told}")).collect::<Vec<_>>()
    };
    checks.iter().flat_map(of_check).collect()
}

fn told(program: &str, problem: &ProcessError, path: Option<&OsStr>, root: &Path) -> Option<String> {
    match problem {
        ProcessError::ProgramNotFound { .. } if !program.contains('/') => {
            let place = path.map(|path| format!(" in {}", path.display())).unwrap_or_default();
            Some(format!(
                "the program `{program}` was not found{place}. Install it, or add its directory to PATH."
            ))
        }
        ProcessError::ProgramNotFound { .. }
            if root.join(program).starts_with(root) && program.split('/').all(|part| part != "..") =>
        {
            None
        }
        problem => Some(problem.explained()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn what_a_check_could_not_start_is_told_with_where_it_was_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plain.sh"), "true").unwrap();
        let host = [("PATH".to_owned(), "/usr/bin:/bin:bin".to_owned())];
        let told = |command: &str| unstartable(&[CheckCommand::new(command)], &host, dir.path()).join("\n");
        let expected = "quality check `no-such-program x`: the program `no-such-program` was not found in /usr/bin:/bin. Install it, or add its directory to PATH.";
        assert_eq!(told("no-such-program x"), expected);
        assert!(told("ls && ./plain.sh").contains("chmod +x"), "{}", told("ls && ./plain.sh"));
        assert!(told("/nowhere/at/all").contains("/nowhere/at/all"), "{}", told("/nowhere/at/all"));
        for left_out in ["./missing.sh", "sh plain.sh", "ls; true"] {
            assert_eq!(told(left_out), "", "{left_out}");
        }
    }
}
