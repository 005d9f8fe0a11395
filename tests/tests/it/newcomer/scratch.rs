//! The scratch directory of a story, and the commands in it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A directory outside of the workspace.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

/// The repository, from which stories copy what they need.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Where cargo builds into.
pub(crate) fn target() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_samuel-under-test"));
    built.ancestors().nth(2).unwrap().to_owned()
}

/// Says whether the long form is run, and else why the story is not.
pub(crate) fn is_long(what: &str) -> bool {
    let long = env::var_os("SAMUEL_LONG").is_some();
    if !long {
        println!("skipped: {what}, which takes minutes: see --long");
    }
    long
}

/// Runs a command that must end well; returns what it printed.
pub(crate) fn printed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    out.into_owned()
}

/// Copies a directory with what its links lead to, without what was built in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (name, path) = (entry.file_name(), entry.path());
        match path.is_dir() {
            true if name == "__pycache__" || name == "target" => {}
            true => copy(&path, &to.join(name)),
            false => _ = fs::copy(path, to.join(name)).unwrap(),
        }
    }
}
