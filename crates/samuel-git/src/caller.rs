//! Who looks at a project, and whose projects they look at.
//!
//! A [`Caller`] is a user with what that user's own git configuration says:
//! which directories of others are trusted (`safe.directory`) and which files are
//! ignored everywhere (`core.excludesFile`). Configuration of the repository has
//! no say in either.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::config::{self, Setting};
use samuel_fs::read_anywhere;
use samuel_model::{Coded, ErrorCode, Location, Remedy};

/// The largest configuration or ignore file of the user that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The configuration of the system.
const SYSTEM_CONFIG: &str = "/etc/gitconfig";
/// How many files may include each other, as in git.
const MAX_INCLUDES: usize = 10;
/// How many files of the user's configuration are read altogether.
const MAX_CONFIG_FILES: usize = 100;

/// Who looks at a project: a user, and whose directories that user trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// User ids that are the caller's; with none, owners are not compared.
    uids: Vec<u32>,
    safe: Vec<Safe>,
    home: Option<PathBuf>,
    /// Where the configuration of the system and of the user is.
    config_files: Vec<PathBuf>,
    /// Patterns of files that the user ignores in every repository.
    excludes: Vec<u8>,
}

/// Directories of others that are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Safe {
    All,
    Directory(PathBuf),
    Below(PathBuf),
}

/// A project that belongs to another user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is owned by user {owner}, not by you", path.display())]
pub struct OwnerError {
    /// What is owned by another.
    pub path: PathBuf,
    /// The owner's user id.
    pub owner: u32,
    /// The directory to trust.
    pub directory: PathBuf,
}

impl Coded for OwnerError {
    fn code(&self) -> ErrorCode {
        ErrorCode::PROJECT_OWNER
    }

    fn help(&self) -> Remedy {
        self.advice().into()
    }

    fn location(&self) -> Option<Location> {
        Some(Location { file: self.path.clone(), line: None, column: None })
    }
}

impl OwnerError {
    /// Returns how to trust the owner.
    pub(super) fn advice(&self) -> String {
        let directory = self.directory.display().to_string();
        // Only a zero byte cannot be quoted, and no path has one.
        let quoted = shlex::try_quote(&directory).unwrap_or((&directory).into());
        format!("If you trust who owns it, run `git config --global --add safe.directory {quoted}`.")
    }
}

impl Caller {
    /// Describes the user this process runs as, who trusts no other and whose
    /// configuration is not known.
    pub fn of_process() -> Self {
        #[cfg(unix)]
        let uids = vec![rustix::process::geteuid().as_raw()];
        #[cfg(not(unix))]
        let uids = Vec::new();
        Self { uids, safe: Vec::new(), home: None, config_files: Vec::new(), excludes: Vec::new() }
    }

    /// Describes the user with an id, who trusts no other.
    pub fn of_user(uid: u32) -> Self {
        Self { uids: vec![uid], safe: Vec::new(), home: None, config_files: Vec::new(), excludes: Vec::new() }
    }

    /// Describes somebody who looks at what has been checked already.
    pub(super) fn of_anybody() -> Self {
        Self {
            uids: Vec::new(),
            safe: Vec::new(),
            home: None,
            config_files: Vec::new(),
            excludes: Vec::new(),
        }
    }

    /// Counts what the user with this id owns as the caller's too, where the
    /// caller is root: who called `sudo`.
    pub fn called_by(mut self, uid: u32) -> Self {
        if self.uids.contains(&0) {
            self.uids.push(uid);
        }
        self
    }

    /// Counts what root owns as the caller's too.
    fn or_root(mut self) -> Self {
        if !self.uids.is_empty() {
            self.uids.push(0);
        }
        self
    }

    /// Trusts a directory as `safe.directory` says it: a path, a path that ends
    /// in `/*` for all below it, `*` for every directory; an empty text takes
    /// back what was trusted before.
    pub fn trusting(mut self, directory: &str) -> Self {
        let path = |text: &str| match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        match directory {
            "" => self.safe.clear(),
            "*" => self.safe.push(Safe::All),
            text => {
                let safe = match text.strip_suffix("/*") {
                    Some(parent) => Safe::Below(real(&path(parent))),
                    None => Safe::Directory(real(&path(text))),
                };
                self.safe.push(safe);
            }
        }
        self
    }

    /// Reads the git configuration of the system and of the user with this
    /// home, and the files it says to ignore everywhere. `xdg_config` is where
    /// the user keeps configuration, by default `.config` in the home. What is
    /// not there or cannot be read says nothing.
    pub fn with_home(self, home: &Path, xdg_config: Option<&Path>) -> Self {
        let of_user = xdg_config.map_or_else(|| home.join(".config"), Path::to_owned).join("git");
        let files = [PathBuf::from(SYSTEM_CONFIG), of_user.join("config"), home.join(".gitconfig")];
        self.with_config(home, &of_user, &files)
    }

    /// Does the same with another file in the place of the user's own two, as
    /// `GIT_CONFIG_GLOBAL` names one.
    pub fn with_global_config(self, global: &Path, home: &Path, xdg_config: Option<&Path>) -> Self {
        let of_user = xdg_config.map_or_else(|| home.join(".config"), Path::to_owned).join("git");
        self.with_config(home, &of_user, &[PathBuf::from(SYSTEM_CONFIG), global.to_owned()])
    }

    fn with_config(mut self, home: &Path, of_user: &Path, files: &[PathBuf]) -> Self {
        self.home = Some(home.to_owned());
        self.config_files = files.to_vec();
        let mut excludes = of_user.join("ignore");
        let mut settings = Vec::new();
        let mut left = MAX_CONFIG_FILES;
        files.iter().for_each(|file| settings_of(file, home, MAX_INCLUDES, &mut left, &mut settings));
        for setting in settings {
            if setting.is("safe", "directory") {
                self = self.trusting(&setting.value);
            } else if setting.is("core", "excludesfile") {
                excludes = in_home(&setting.value, home, home);
            }
        }
        self.excludes = of_the_user(&excludes);
        self
    }

    /// Returns the home of the user, where it is known.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the files of configuration that are read first, whether they exist or not.
    pub(super) fn config_files(&self) -> &[PathBuf] {
        &self.config_files
    }

    /// Returns the patterns of files that are ignored everywhere.
    pub(super) fn excludes(&self) -> &[u8] {
        &self.excludes
    }

    /// Refuses a project directory of another user, one in a repository of another
    /// user, and one in which a file or directory of these names belongs to another
    /// user. One that root owns, as after a start with `sudo`, is not refused:
    /// root can change every file.
    ///
    /// # Errors
    /// Returns an [`OwnerError`] that names what belongs to somebody else.
    pub fn check(&self, root: &Path, names: &[&str]) -> Result<(), OwnerError> {
        let root = real(root);
        let repository = root.ancestors().find(|ancestor| exists(&ancestor.join(".git")));
        // Who trusts a repository trusts what is in it.
        let top = repository.unwrap_or(&root);
        self.owns(&root, top)?;
        if repository.is_some() {
            self.owns(top, top)?;
            self.owns(&top.join(".git"), top)?;
        }
        let with_root = self.clone().or_root();
        names.iter().try_for_each(|name| with_root.owns(&root.join(name), top))
    }

    /// Refuses a path of another user, unless its directory is trusted.
    pub(super) fn owns(&self, path: &Path, directory: &Path) -> Result<(), OwnerError> {
        // What is not there has no owner and is nothing to look at either.
        let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
        #[cfg(unix)]
        let owner = std::os::unix::fs::MetadataExt::uid(&metadata);
        #[cfg(not(unix))]
        let owner = {
            drop(metadata);
            0
        };
        let is_own = self.uids.is_empty() || self.uids.contains(&owner);
        if is_own || self.safe.iter().any(|safe| safe.covers(directory)) {
            return Ok(());
        }
        Err(OwnerError { path: path.to_owned(), owner, directory: directory.to_owned() })
    }
}

impl Safe {
    fn covers(&self, directory: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Directory(path) => path == directory,
            Self::Below(path) => directory.starts_with(path) && directory != path,
        }
    }
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Reads the settings of a file of the user, with those of the files it includes, each
/// in its place. What is included under a condition is not read: it is meant for some
/// repositories only.
fn settings_of(file: &Path, home: &Path, depth: usize, left: &mut usize, found: &mut Vec<Setting>) {
    *left = left.saturating_sub(1);
    for setting in config::settings(&of_the_user(file)) {
        if !setting.is("include", "path") {
            found.push(setting);
        } else if depth > 0 && *left > 0 {
            let directory = file.parent().unwrap_or(home);
            settings_of(&in_home(&setting.value, home, directory), home, depth - 1, left, found);
        }
    }
}

/// Returns the file that a path of the user's configuration means.
fn in_home(path: &str, home: &Path, directory: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => directory.join(path),
    }
}

/// Reads a file of the user, who may keep it behind a link.
fn of_the_user(path: &Path) -> Vec<u8> {
    read_anywhere(path, MAX_BYTES).unwrap_or_default()
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn stranger() -> Caller {
        Caller::of_user(rustix::process::geteuid().as_raw() + 1)
    }

    #[test]
    fn what_belongs_to_another_is_refused_until_it_is_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("a project");
        fs::create_dir_all(project.join(".git")).unwrap();
        let error = stranger().check(&project, &[]).unwrap_err();
        assert_eq!(error.path, project);
        let quoted = format!("safe.directory '{}'`", project.display());
        assert!(error.advice().contains(&quoted), "{}", error.advice());
        Caller::of_process().check(&project, &[]).unwrap();

        let (path, above) = (project.to_str().unwrap(), root.to_str().unwrap());
        let below = format!("{above}/*");
        for trusted in [path, &below, "*"] {
            stranger().trusting(trusted).check(&project, &[]).unwrap();
            stranger().trusting(trusted).trusting("").check(&project, &[]).unwrap_err();
        }
        stranger().trusting(above).check(&project, &[]).unwrap_err();
        stranger().trusting(&format!("{path}/*")).check(&project, &[]).unwrap_err();
    }

    #[test]
    fn who_called_sudo_counts_only_for_root() {
        let dir = tempfile::tempdir().unwrap();
        let me = rustix::process::geteuid().as_raw();
        Caller::of_user(0).called_by(me).check(dir.path(), &[]).unwrap();
        Caller::of_user(me + 1).called_by(me).check(dir.path(), &[]).unwrap_err();
    }

    #[test]
    fn the_users_own_configuration_is_read() {
        let home = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".gitconfig"), "[core]\nexcludesFile = ~/ignored\n").unwrap();
        fs::write(home.path().join("ignored"), "*.bak\n").unwrap();
        fs::create_dir_all(home.path().join(".config/git")).unwrap();
        let safe = format!("[safe]\n\tdirectory = {}\n", project.path().display());
        fs::write(home.path().join(".config/git/config"), safe).unwrap();
        let caller = stranger().with_home(home.path(), None);
        caller.check(project.path(), &[]).unwrap();
        caller.check(home.path(), &[]).unwrap_err();
        assert_eq!(caller.excludes(), b"*.bak\n");
    }

    #[test]
    fn files_that_the_configuration_includes_and_another_global_one_are_read() {
        let home = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        fs::create_dir(home.path().join("git")).unwrap();
        write(".gitconfig", "[include]\n\tpath = git/more\n");
        write("git/more", "[include]\n\tpath = ~/.gitconfig\n\tpath = trust\n");
        write("git/trust", &format!("[safe]\n\tdirectory = {}\n", project.path().display()));
        stranger().with_home(home.path(), None).check(project.path(), &[]).unwrap();

        write("other", "[safe]\n\tdirectory = /nowhere\n");
        let with_global =
            |name: &str| stranger().with_global_config(&home.path().join(name), home.path(), None);
        with_global("other").check(project.path(), &[]).unwrap_err();
        with_global("git/trust").check(project.path(), &[]).unwrap();
    }

    #[test]
    fn a_repository_that_is_trusted_is_trusted_with_what_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let inner = top.join("inner");
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::create_dir(&inner).unwrap();
        stranger().trusting(top.to_str().unwrap()).check(&inner, &[]).unwrap();
        stranger().trusting(inner.to_str().unwrap()).check(&inner, &[]).unwrap_err();
        assert_eq!(stranger().check(&inner, &[]).unwrap_err().directory, top);
    }
}
