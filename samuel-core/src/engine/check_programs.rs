//! Looking for the programs of quality checks before any is made.

use std::{ffi::OsStr, path::Path};

use crate::{
    config::CheckCommand,
    environment::check_env,
    process::{ProcessError, problem_of_program},
    script::named::programs_of_shell,
    text::one_line,
};

/// The longest command that is shown, in characters.
const MAX_COMMAND_CHARS: usize = 80;

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
