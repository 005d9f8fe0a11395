//! Finding a program the way a shell does, without reading our own environment.

use super::{ProcessError, startable};
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Where programs are looked up when a command's environment has no `PATH`, as
/// POSIX shells do.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Finds the file that a command name stands for.
///
/// A name with a slash is a path, relative to `cwd`; any other is looked up in
/// the directories of `path_var`, a colon-separated `PATH` that the caller
/// gives. An empty entry and a relative one count from `cwd`. Returns only
/// regular files that we may execute.
pub fn find_program(name: impl AsRef<OsStr>, path_var: &str, cwd: &Path) -> Option<PathBuf> {
    resolve(name.as_ref(), Some(OsStr::new(path_var)), cwd).ok()
}

/// Finds a program by its name as [`find_program`] does, but in the absolute
/// directories of a `PATH` alone, and in none below `outside`: what lies in a
/// working directory is not the caller's.
pub fn find_on_path(name: &str, path_var: Option<&str>, outside: Option<&Path>) -> Option<PathBuf> {
    let found = |directory: &Path| {
        let path = directory.join(name);
        let is_inside = || outside.is_some_and(|root| is_below(directory, root));
        (directory.is_absolute() && is_executable(&path) && !is_inside()).then_some(path)
    };
    let path_var = OsStr::new(path_var.unwrap_or_default());
    let path_var = if path_var.is_empty() { OsStr::new(DEFAULT_PATH) } else { path_var };
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let mut entries = path_var.as_bytes().split(|byte| *byte == b':');
    entries.find_map(|entry| found(Path::new(OsStr::from_bytes(entry))))
}

/// Says whether a directory is another one or lies below it, by whatever links.
fn is_below(directory: &Path, root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    directory.starts_with(root) || real(directory).starts_with(real(root))
}

/// Does the same for an environment that may lack `PATH`, and says what is wrong.
pub(super) fn resolve(name: &OsStr, path_var: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, ProcessError> {
    let mut refused = None;
    for candidate in candidates(name, path_var, cwd) {
        if is_executable(&candidate) {
            return Ok(candidate);
        }
        if refused.is_none() && candidate.exists() {
            refused = Some(candidate);
        }
    }
    Err(match refused {
        Some(path) => startable::refused(path, None),
        None => startable::not_found(name.to_owned(), cwd),
    })
}

fn candidates(name: &OsStr, path_var: Option<&OsStr>, cwd: &Path) -> Vec<PathBuf> {
    if name.is_empty() {
        return Vec::new();
    }
    if name.as_bytes().contains(&b'/') {
        return vec![cwd.join(name)];
    }
    let path_var = path_var.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes();
    let entries = path_var.split(|byte| *byte == b':');
    entries.map(|entry| cwd.join(OsStr::from_bytes(entry)).join(name)).collect()
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    fn file(dir: &Path, name: &str, mode: u32) -> PathBuf {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_first_executable_in_the_given_path_wins() {
        let dir = tempfile::tempdir().unwrap();
        file(dir.path(), "a/tool", 0o644);
        let second = file(dir.path(), "b/tool", 0o755);
        file(dir.path(), "c/tool", 0o755);
        let path_var = format!("{0}/a:b:{0}/c", dir.path().display());
        assert_eq!(find_program("tool", &path_var, dir.path()), Some(second));
    }

    #[test]
    fn a_name_with_a_slash_is_relative_to_the_working_directory() {
        let dir = tempfile::tempdir().unwrap();
        let tool = file(dir.path(), "bin/tool", 0o755);
        assert_eq!(find_program("bin/tool", "", dir.path()), Some(tool));
        assert_eq!(find_program("./tool", "/usr/bin", dir.path()), None);
    }

    #[test]
    fn an_empty_path_entry_is_the_working_directory() {
        let dir = tempfile::tempdir().unwrap();
        let tool = file(dir.path(), "tool", 0o755);
        assert_eq!(find_program("tool", "/nowhere:", dir.path()), Some(tool));
    }

    #[test]
    fn only_absolute_directories_outside_of_the_project_are_on_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        file(&project, "bin/tool", 0o755);
        std::os::unix::fs::symlink(project.join("bin"), dir.path().join("link")).unwrap();
        let root = dir.path().display();
        let inside = format!(":.:bin:{root}/project/bin:{root}/link");
        assert_eq!(find_on_path("tool", Some(&inside), Some(&project)), None);
        assert_eq!(find_on_path("tool", Some(":.:bin"), None), None);
        let tool = file(dir.path(), "usr/tool", 0o755);
        let path = format!("{inside}:{root}/usr");
        assert_eq!(find_on_path("tool", Some(&path), Some(&project)), Some(tool));
        assert_eq!(find_on_path("bin/tool", Some(&path), None), None);
        assert!(find_on_path("sh", None, Some(&project)).is_some());
    }

    #[test]
    fn a_file_without_the_permission_and_a_missing_one_differ() {
        let dir = tempfile::tempdir().unwrap();
        let plain = file(dir.path(), "plain", 0o644);
        let path_var = dir.path().as_os_str();
        assert!(matches!(
            resolve(OsStr::new("plain"), Some(path_var), dir.path()),
            Err(ProcessError::NotExecutable { path, .. }) if path == plain
        ));
        assert!(matches!(
            resolve(OsStr::new("absent"), Some(path_var), dir.path()),
            Err(ProcessError::ProgramNotFound { program, .. }) if program == Path::new("absent")
        ));
        assert!(matches!(resolve(OsStr::new("/"), None, dir.path()), Err(ProcessError::Directory { .. })));
    }
}
