//! Why a program cannot be started, found out by a look at its file.
//!
//! The system has one number for many reasons: a script whose first line ends with a carriage
//! return, one whose interpreter is missing and a program that is missing itself are all "no such
//! file". [`check`] looks at a program before it is started, [`start_error`] reads the system's
//! refusal, and [`problem_of_line`] looks at a command line that a shell has refused. So agents, quality
//! checks, hooks and what components run say the same of the same file.

use super::{ProcessError, lookup};
use rustix::fs::{Mode, OFlags, open};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// How much of a first line the kernel reads.
const MAX_FIRST_LINE: u64 = 256;

/// What a command line holds if it is more than one program with plain words.
const SHELL_SYNTAX: &[char] = &[
    ';', '&', '|', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '{', '}', '~', '#',
    '!', '=', '\n',
];

/// Refuses a script that no interpreter would run. `path_var` is the `PATH` of the command.
///
/// What is no script, or cannot be read, is left to the system.
pub(super) fn check(program: &Path, path_var: Option<&OsStr>, cwd: &Path) -> Result<(), ProcessError> {
    let Some(line) = first_line(program) else { return Ok(()) };
    let Some(words) = line.strip_prefix(b"#!") else { return Ok(()) };
    if words.ends_with(b"\r") {
        return Err(ProcessError::CarriageReturn { path: program.to_owned() });
    }
    let mut words = words.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next().map(OsStr::from_bytes) else { return Ok(()) };
    let missing = |interpreter: &OsStr| ProcessError::MissingInterpreter {
        path: program.to_owned(),
        interpreter: Some(interpreter.to_owned()),
    };
    if !cwd.join(interpreter).exists() {
        return Err(missing(interpreter));
    }
    let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    let is_name = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    match words.next().filter(is_name).filter(|_| is_env).map(OsStr::from_bytes) {
        Some(named) if lookup::resolve(named, path_var, cwd).is_err() => Err(missing(named)),
        _ => Ok(()),
    }
}

/// Returns the first line of a file without its end; none of what is no file or cannot be read.
fn first_line(program: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    // It was a file when it was found. What has taken its place since is not waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    File::from(open(program, flags, Mode::empty()).ok()?)
        .take(MAX_FIRST_LINE)
        .read_to_end(&mut start)
        .ok()?;
    let end = start.iter().position(|byte| *byte == b'\n').unwrap_or(start.len());
    start.truncate(end);
    Some(start)
}

/// Says what the system's refusal to execute `program` means.
pub(super) fn start_error(program: PathBuf, source: io::Error) -> ProcessError {
    match source.kind() {
        io::ErrorKind::NotFound if program.exists() => {
            ProcessError::MissingInterpreter { path: program, interpreter: None }
        }
        io::ErrorKind::NotFound => not_found(program.into(), Path::new("/")),
        io::ErrorKind::PermissionDenied => refused(program, Some(source)),
        io::ErrorKind::ArgumentListTooLong => ProcessError::TooLong { program },
        io::ErrorKind::ExecutableFileBusy => ProcessError::Busy { path: program },
        _ if source.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            ProcessError::UnknownFormat { path: program }
        }
        _ => ProcessError::Start { program, source },
    }
}

/// Says what is wrong with a path that exists and may not be executed.
pub(super) fn refused(path: PathBuf, source: Option<io::Error>) -> ProcessError {
    match path.is_dir() {
        true => ProcessError::Directory { path },
        false => ProcessError::NotExecutable { path, source },
    }
}

/// Says that there is no such program, and which directory is missing or closed where it is that.
pub(super) fn not_found(program: OsString, cwd: &Path) -> ProcessError {
    let path = Path::new(&program);
    if program.as_bytes().contains(&b'/')
        && let Some(directory) = closed_directory(&cwd.join(path))
    {
        return ProcessError::ClosedDirectory { path: program.into(), directory };
    }
    let parent = path.parent().filter(|_| program.as_bytes().contains(&b'/'));
    let missing_directory = parent.map(|parent| cwd.join(parent)).filter(|parent| !parent.exists());
    ProcessError::ProgramNotFound { program: program.into(), missing_directory }
}

/// Returns the directory that may not be entered, where that is why a path is not found.
fn closed_directory(path: &Path) -> Option<PathBuf> {
    let error = path.symlink_metadata().err()?;
    let is_closed = |directory: &&Path| {
        directory.is_dir() && rustix::fs::access(*directory, rustix::fs::Access::EXEC_OK).is_err()
    };
    let mut above = path.ancestors().skip(1).filter(|_| error.kind() == io::ErrorKind::PermissionDenied);
    above.find(is_closed).map(Path::to_owned)
}

/// Says what is wrong with the program that a command line of plain words names, where a
/// shell has said no more than that it could not run it (126 or 127).
///
/// A name that is found nowhere is left to what the shell wrote: it may be one of its own words.
pub fn problem_of_line(line: &str, env: &[(OsString, OsString)], cwd: &Path) -> Option<ProcessError> {
    let name = line.split_whitespace().next().filter(|_| !line.trim().contains(SHELL_SYNTAX))?;
    let path_var = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    match problem_of_program(OsStr::new(name), path_var, cwd) {
        Some(ProcessError::ProgramNotFound { .. }) if !name.contains('/') => None,
        problem => problem,
    }
}

/// Says what would keep a program from being started.
pub fn problem_of_program(program: &OsStr, path_var: Option<&OsStr>, cwd: &Path) -> Option<ProcessError> {
    match lookup::resolve(program, path_var, cwd) {
        Ok(program) => check(&program, path_var, cwd).err(),
        Err(error) => Some(error),
    }
}

/// Returns text of a script as it is shown: without what cannot be printed.
pub(super) fn shown(text: &OsStr) -> String {
    OsString::from_vec(text.as_bytes().to_vec()).to_string_lossy().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

    fn problem(first_line: &[u8]) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("script");
        fs::write(&path, [first_line, b"\nexit 0\n"].concat()).unwrap();
        let error = check(&path, Some(OsStr::new(PATH)), dir.path()).err()?;
        Some(error.to_string().replace(&*dir.path().to_string_lossy(), "DIR"))
    }

    #[test]
    fn a_script_is_looked_at_as_the_kernel_does() {
        for good in [
            &b"#!/bin/sh"[..],
            b"#! /bin/sh -e",
            b"#!/usr/bin/env sh",
            b"#!/usr/bin/env -S sh -e",
            b"echo",
            b"#!",
            b"\x7fELF",
        ] {
            assert_eq!(problem(good), None, "{good:?}");
        }
        for crlf in [&b"#!/bin/sh\r"[..], b"#!/usr/bin/env bash\r"] {
            let expected = "the first line of `DIR/script` ends with a carriage return, which counts as part of its interpreter's name";
            assert_eq!(problem(crlf).as_deref(), Some(expected));
        }
        for (missing, name) in
            [(&b"#!/nowhere/sh"[..], "/nowhere/sh"), (b"#!/usr/bin/env no-such-program", "no-such-program")]
        {
            let expected = format!("`DIR/script` is a script for `{name}`, which was not found");
            assert_eq!(problem(missing), Some(expected));
        }
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "says why it is skipped")]
    fn a_directory_that_may_not_be_entered_is_named() {
        if rustix::process::geteuid().is_root() {
            println!("skipped: root may enter every directory");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("closed/inner")).unwrap();
        fs::write(dir.path().join("closed/inner/a.sh"), "#!/bin/sh\n").unwrap();
        let set = |mode| fs::set_permissions(dir.path().join("closed"), fs::Permissions::from_mode(mode));
        set(0o600).unwrap();
        let told = not_found("./closed/inner/a.sh".into(), dir.path());
        set(0o700).unwrap();
        let place = dir.path().join("./closed").display().to_string();
        let expected = format!(
            "`./closed/inner/a.sh` cannot be reached: the directory `{place}` may not be entered. Run `chmod +x {place}`."
        );
        assert_eq!(told.explained(), expected);
    }

    #[test]
    fn a_line_that_a_shell_refused_is_explained_where_it_names_one_program() {
        let dir = tempfile::tempdir().unwrap();
        let env = [("PATH".into(), PATH.into())];
        let problem = |line: &str| problem_of_line(line, &env, dir.path());
        fs::write(dir.path().join("plain"), "#!/bin/sh\n").unwrap();
        fs::write(dir.path().join("crlf"), "#!/bin/sh\r\n").unwrap();
        fs::set_permissions(dir.path().join("crlf"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(problem("./plain --all"), Some(ProcessError::NotExecutable { .. })));
        assert!(matches!(problem(" ./crlf"), Some(ProcessError::CarriageReturn { .. })));
        assert!(matches!(problem("./absent"), Some(ProcessError::ProgramNotFound { .. })));
        assert!(matches!(problem("."), Some(ProcessError::Directory { .. }) | None));
        for other in
            ["no-such-program-anywhere", "exit 127", "./plain || true", "X=1 ./plain", "", "sh plain"]
        {
            assert!(problem(other).is_none(), "{other}");
        }
    }
}
