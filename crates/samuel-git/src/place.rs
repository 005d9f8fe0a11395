//! Where a repository is, and whether it may be read.
//!
//! The nearest `.git` above a project decides. It is a directory; or a file that
//! leads to one which leads back: the directory of a linked work tree, or of a
//! submodule of a repository around the project. Anything else, such as a link,
//! is refused: a project could make itself look like another repository with it.

use std::{
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Caller, GitError, ObjectId, config, id::HashKind, odb::stores, read};

/// The largest configuration of a repository that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// The largest file that names a directory, in bytes.
const MAX_POINTER: u64 = 16 << 10;

/// How long finding the last commit may take where a repository is checked.
const CHECK_TIME: Duration = Duration::from_secs(5);

/// Extensions of the format that change nothing about what is read here.
const KNOWN_EXTENSIONS: &str = "noop noop-v1 partialclone preciousobjects worktreeconfig relativeworktrees \
     objectformat compatobjectformat refstorage";

/// A repository that a project is in, opened to be read.
///
/// ```
/// # use samuel_git::{Caller, Repository};
/// let directory = tempfile::tempdir()?;
/// assert!(Repository::open(directory.path(), &Caller::of_process())?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Repository {
    /// The project's root.
    pub(super) root: PathBuf,
    /// The top of the work tree.
    pub(super) top: PathBuf,
    /// What belongs to this work tree alone: `HEAD`, the index.
    pub(super) git_dir: PathBuf,
    /// What all work trees share: objects, branches, configuration.
    pub(super) common_dir: PathBuf,
    pub(super) hash: HashKind,
    /// Whether the executable bit of files counts.
    pub(super) file_mode: bool,
    /// Whether branches are in files; else in tables that are not read here.
    pub(super) refs_in_files: bool,
    /// Whether objects may be missing until somebody asks where it was cloned from.
    is_partial: bool,
    /// The user's patterns of files that are ignored everywhere.
    pub(super) excludes: Vec<u8>,
}

impl Repository {
    /// Reads the id of an object from its hexadecimal digits; nothing where it can be none of this
    /// repository.
    #[doc(hidden)]
    pub fn id_of(&self, hex: &str) -> Option<ObjectId> {
        ObjectId::from_hex(hex.as_bytes(), self.hash)
    }

    /// Opens the repository that a directory is in; nothing outside of
    /// repositories. Starts no program.
    ///
    /// # Errors
    /// Returns [`GitError::Owner`] for one that belongs to another user than the
    /// caller, and other errors for one that cannot be read.
    pub fn open(root: &Path, caller: &Caller) -> Result<Option<Self>, GitError> {
        let root = root.canonicalize().map_err(GitError::read(root))?;
        let Some((top, is_dir)) = nearest(&root)? else { return Ok(None) };
        caller.check(&root, &[])?;
        let dot_git = top.join(".git");
        let (git_dir, common_dir) = match is_dir {
            true => (dot_git.clone(), dot_git),
            false => linked(&dot_git, &top)?,
        };
        caller.owns(&git_dir, &top)?;
        caller.owns(&common_dir, &top)?;
        let mut repository = Self {
            root,
            top,
            git_dir,
            common_dir,
            hash: HashKind::Sha1,
            file_mode: true,
            refs_in_files: true,
            is_partial: false,
            excludes: caller.excludes().to_vec(),
        };
        repository.configure()?;
        // A directory without it is no repository.
        repository.head_text()?;
        Ok(Some(repository))
    }

    /// Reads what git itself needs and what tells changes apart, to find out whether
    /// it can be read.
    ///
    /// # Errors
    /// Returns a [`GitError`] where `HEAD`, its commit or the index cannot be read,
    /// and where objects or references have no directory.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), GitError> {
        for directory in ["objects", "refs"].map(|name| self.common_dir.join(name)) {
            let metadata = directory.metadata().map_err(GitError::read(&directory))?;
            if !metadata.is_dir() {
                return Err(GitError::damaged(&directory, "it is not a directory"));
            }
        }
        self.log(1, CHECK_TIME)?;
        self.index()?.for_each(|_| ControlFlow::Continue(()))
    }

    /// Returns the same repository as a work tree has it whose own directory of git is known.
    #[doc(hidden)]
    pub fn with_git_dir(&self, git_dir: &Path) -> Self {
        Self { git_dir: git_dir.to_owned(), ..self.clone() }
    }

    /// Returns the project's root, links resolved.
    #[doc(hidden)]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the top of the work tree.
    #[doc(hidden)]
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Returns the directory that belongs to this work tree alone.
    #[doc(hidden)]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the directories with its objects: its own, and those that it borrows from, directly or not.
    ///
    /// # Errors
    /// Returns a [`GitError`] where one of the lists of them cannot be read.
    #[doc(hidden)]
    pub fn object_stores(&self) -> Result<Vec<PathBuf>, GitError> {
        stores(self.common_dir.join("objects"))
    }

    /// Returns the directory that all work trees share.
    #[doc(hidden)]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns where the project is within the work tree, with a slash at its
    /// end; empty at the top.
    #[doc(hidden)]
    pub fn prefix(&self) -> Vec<u8> {
        let mut prefix = match self.root.strip_prefix(&self.top) {
            Ok(inner) => inner.as_os_str().as_encoded_bytes().to_vec(),
            Err(_) => Vec::new(),
        };
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        prefix
    }

    /// Says whether it is a partial clone.
    #[doc(hidden)]
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Reads how the repository is stored.
    fn configure(&mut self) -> Result<(), GitError> {
        let path = self.common_dir.join("config");
        let text = match read::read(&path, MAX_CONFIG) {
            Err(error) if read::is_absent(&error) => Vec::new(),
            text => text.map_err(GitError::read(&path))?,
        };
        let unsupported = |format: String| GitError::Unsupported { path: path.clone(), format };
        let settings =
            config::checked(&text).map_err(|line| GitError::Config { path: path.clone(), line })?;
        let version = settings.iter().rfind(|one| one.is("core", "repositoryformatversion"));
        let version = version.map_or("0", |one| one.value.as_str());
        if !["0", "1"].contains(&version) {
            return Err(unsupported(format!("version {version} of the format")));
        }
        // Newer gits write of a remote that it promises the rest, older ones an extension.
        self.is_partial = settings.iter().any(|one| {
            one.is("extensions", "partialclone")
                || (one.section == "remote" && one.key == "promisor" && one.boolean() == Some(true))
        });
        for setting in settings.iter().filter(|one| one.subsection.is_none()) {
            match (setting.section.as_str(), setting.key.as_str()) {
                ("core", "filemode") => {
                    let damaged = || GitError::damaged(&path, "its core.fileMode is neither true nor false");
                    self.file_mode = setting.boolean().ok_or_else(damaged)?;
                }
                ("extensions", "objectformat") => {
                    self.hash = match setting.value.as_str() {
                        "sha1" => HashKind::Sha1,
                        "sha256" => HashKind::Sha256,
                        other => return Err(unsupported(format!("the object format {other:?}"))),
                    }
                }
                ("extensions", "refstorage") => self.refs_in_files = setting.value == "files",
                ("extensions", name)
                    if version == "1" && !KNOWN_EXTENSIONS.split(' ').any(|known| known == name) =>
                {
                    return Err(unsupported(format!("the extension {name:?}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Finds the nearest directory with a `.git`, and says whether that is a
/// directory.
fn nearest(root: &Path) -> Result<Option<(PathBuf, bool)>, GitError> {
    for top in root.ancestors() {
        let dot_git = top.join(".git");
        match fs::symlink_metadata(&dot_git) {
            Ok(metadata) if metadata.is_dir() => return Ok(Some((top.to_owned(), true))),
            Ok(metadata) if metadata.is_file() => return Ok(Some((top.to_owned(), false))),
            Ok(metadata) if metadata.is_symlink() => {
                return Err(GitError::Unsupported { path: dot_git, format: GitError::LINKED.to_owned() });
            }
            Ok(_) => return Err(GitError::damaged(&dot_git, "it is neither a directory nor a file")),
            Err(error) if read::is_absent(&error) => {}
            Err(error) => return Err(GitError::read(&dot_git)(error)),
        }
    }
    Ok(None)
}

/// Follows a `.git` that is a file: to the directory of this work tree and to
/// the one it shares.
fn linked(dot_git: &Path, top: &Path) -> Result<(PathBuf, PathBuf), GitError> {
    let text = pointer(dot_git)?;
    let Some(target) = text.strip_prefix("gitdir:") else {
        return Err(GitError::damaged(dot_git, "it names no directory"));
    };
    let target = top.join(target.trim());
    let git_dir = target.canonicalize().map_err(GitError::read(&target))?;
    let common_dir = match is_submodule(&git_dir, top) {
        true => git_dir.clone(),
        false => of_work_tree(&git_dir, dot_git)?,
    };
    Ok((git_dir, common_dir))
}

/// Says whether a directory is where a repository around `top` keeps its
/// submodule that is checked out there.
fn is_submodule(git_dir: &Path, top: &Path) -> bool {
    let above = top.ancestors().skip(1);
    let is_kept = above.map(|dir| dir.join(".git/modules")).any(|modules| {
        let is_real = modules.canonicalize().is_ok_and(|real| real == modules);
        is_real && git_dir.starts_with(modules)
    });
    let leads_back = || {
        let text = read::read(&git_dir.join("config"), MAX_CONFIG).unwrap_or_default();
        let settings = config::settings(&text);
        let work_tree = settings.iter().rfind(|one| one.is("core", "worktree"))?;
        git_dir.join(&work_tree.value).canonicalize().ok().filter(|real| real == top)
    };
    is_kept && leads_back().is_some()
}

/// Checks that a directory is that of a linked work tree which is at `dot_git`,
/// and returns the directory it shares.
fn of_work_tree(git_dir: &Path, dot_git: &Path) -> Result<PathBuf, GitError> {
    let format = || GitError::SEPARATE.to_owned();
    let stray = || GitError::Unsupported { path: dot_git.to_owned(), format: format() };
    let back = git_dir.join("gitdir");
    let common = git_dir.join("commondir");
    let (Ok(back), Ok(common)) = (pointer(&back), pointer(&common)) else { return Err(stray()) };
    let is_here = git_dir.join(back.trim()).canonicalize().is_ok_and(|real| real == dot_git);
    let common = git_dir.join(common.trim()).canonicalize().map_err(GitError::read(git_dir))?;
    let is_listed = git_dir.parent() == Some(&common.join("worktrees"));
    if is_here && is_listed { Ok(common) } else { Err(stray()) }
}

fn pointer(path: &Path) -> Result<String, GitError> {
    let bytes = read::read(path, MAX_POINTER).map_err(GitError::read(path))?;
    let text = String::from_utf8(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    text.map_err(GitError::read(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::{Head, testing::Repository as Made};

    fn open(root: &Path) -> Result<Option<Repository>, GitError> {
        Repository::open(root, &Caller::of_process())
    }

    fn branch(root: &Path) -> Option<String> {
        match open(root).unwrap().unwrap().head().unwrap() {
            Head::Branch { name, .. } => Some(name),
            Head::Detached(_) => None,
        }
    }

    #[test]
    fn the_nearest_repository_is_opened() {
        let made = Made::with(&[("inner/a.rs", "")]);
        let inner = open(&made.path().join("inner")).unwrap().unwrap();
        assert_eq!(inner.prefix(), b"inner/");
        assert_eq!(branch(made.path()).as_deref(), Some("main"));
        fs::create_dir(made.path().join("inner/.git")).unwrap();
        open(&made.path().join("inner")).unwrap_err();
    }

    #[test]
    fn a_linked_work_tree_is_followed_and_a_stray_file_is_not() {
        let made = Made::with(&[("a.rs", "")]);
        let other = tempfile::tempdir().unwrap();
        let linked = other.path().join("linked");
        made.run(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
        assert_eq!(branch(&linked).as_deref(), Some("side"));

        for (name, target) in [
            ("copied", fs::read_to_string(linked.join(".git")).unwrap()),
            ("whole", format!("gitdir: {}\n", made.path().join(".git").display())),
            ("nowhere", "gitdir: /nowhere\n".to_owned()),
            ("nothing", "x".to_owned()),
        ] {
            let stray = other.path().join(name);
            fs::create_dir(&stray).unwrap();
            fs::write(stray.join(".git"), target).unwrap();
            open(&stray).unwrap_err();
        }
    }

    #[test]
    fn a_submodule_is_followed_to_where_its_repository_keeps_it() {
        let (outer, inner) = (Made::with(&[("a.rs", "")]), Made::with(&[("b.rs", "")]));
        let path = inner.path().to_str().unwrap();
        outer.run(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "lib/sub"]);
        let submodule = outer.path().join("lib/sub");
        assert_eq!(branch(&submodule).as_deref(), Some("main"));
        let moved = outer.path().join("moved");
        fs::create_dir(&moved).unwrap();
        fs::copy(submodule.join(".git"), moved.join(".git")).unwrap();
        open(&moved).unwrap_err();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_a_repository_is_refused() {
        let made = Made::with(&[("a.rs", "")]);
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(made.path().join(".git"), other.path().join(".git")).unwrap();
        let error = open(other.path()).unwrap_err().to_string();
        assert!(error.ends_with(".git: a link in the place of this directory is not supported"), "{error}");
    }

    #[test]
    fn a_format_that_is_not_known_is_refused() {
        let made = Made::with(&[("a.rs", "")]);
        made.run(&["config", "core.repositoryFormatVersion", "1"]);
        open(made.path()).unwrap().unwrap();
        made.run(&["config", "extensions.future", "true"]);
        let error = open(made.path()).unwrap_err().to_string();
        assert!(error.ends_with("the extension \"future\" is not supported"), "{error}");
    }
}
