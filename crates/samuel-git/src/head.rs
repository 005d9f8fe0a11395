//! Where a repository is: its branch and its commit.

use std::path::Path;

use super::{GitError, ObjectId, Repository, read};

/// The largest file of one reference that is read, in bytes.
pub(super) const MAX_REF: u64 = 4 << 10;
/// The largest list of packed references that is read, in bytes.
const MAX_PACKED_REFS: u64 = 64 << 20;
/// How many references may lead to each other.
const MAX_STEPS: usize = 5;

/// What is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch.
    Branch {
        /// Its name.
        name: String,
        /// Its last commit; nothing before the first.
        commit: Option<ObjectId>,
    },
    /// A commit, on no branch.
    Detached(ObjectId),
}

impl Head {
    /// Returns the commit; nothing before the first.
    pub fn commit(&self) -> Option<ObjectId> {
        match self {
            Self::Branch { commit, .. } => *commit,
            Self::Detached(commit) => Some(*commit),
        }
    }

    /// Returns the branch; nothing where a commit is checked out.
    pub fn branch(&self) -> Option<&str> {
        match self {
            Self::Branch { name, .. } => Some(name),
            Self::Detached(_) => None,
        }
    }
}

/// What a reference says.
pub(super) enum Target {
    Name(String),
    Id(ObjectId),
}

impl Repository {
    /// Returns what is checked out.
    ///
    /// # Errors
    /// Returns a [`GitError`] where `HEAD` or what it names cannot be read.
    pub fn head(&self) -> Result<Head, GitError> {
        let path = self.git_dir.join("HEAD");
        self.require_files()?;
        match self.target(&self.head_text()?, &path)? {
            Target::Id(id) => Ok(Head::Detached(id)),
            Target::Name(name) => {
                let commit = self.resolve(&name)?;
                let name = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
                Ok(Head::Branch { name, commit })
            }
        }
    }

    /// Returns the commit that a reference is at; nothing where there is no such reference.
    ///
    /// # Errors
    /// Returns a [`GitError`] for a name that no reference can have, and where it cannot be read.
    #[doc(hidden)]
    pub fn reference(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        self.require_files()?;
        match is_ref(name) {
            true => self.resolve(name),
            false => Err(GitError::damaged(&self.common_dir.join(name), "no reference can have this name")),
        }
    }

    fn require_files(&self) -> Result<(), GitError> {
        if self.refs_in_files {
            return Ok(());
        }
        let path = self.common_dir.join("config");
        Err(GitError::Unsupported { path, format: GitError::REFTABLE.to_owned() })
    }

    /// Returns the branch that is checked out; nothing between branches, and
    /// where that cannot be told.
    pub fn branch(&self) -> Option<String> {
        match self.target(&self.head_text().ok()?, &self.git_dir).ok()? {
            Target::Name(name) => Some(name.strip_prefix("refs/heads/")?.to_owned()),
            Target::Id(_) => None,
        }
    }

    /// Reads `HEAD`, which every repository has.
    pub(super) fn head_text(&self) -> Result<Vec<u8>, GitError> {
        let path = self.git_dir.join("HEAD");
        read::read(&path, MAX_REF).map_err(GitError::read(&path))
    }

    /// Follows a reference to its commit; nothing where there is none yet.
    fn resolve(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let mut name = name.to_owned();
        for _ in 0..MAX_STEPS {
            let path = self.common_dir.join(&name);
            match read::read(&path, MAX_REF) {
                Ok(text) => match self.target(&text, &path)? {
                    Target::Id(id) => return Ok(Some(id)),
                    Target::Name(next) => name = next,
                },
                // A directory of that name holds other branches.
                Err(error) if read::is_absent(&error) || path.is_dir() => return self.packed(&name),
                Err(error) => return Err(GitError::read(&path)(error)),
            }
        }
        Err(GitError::damaged(&self.git_dir.join("HEAD"), "its references lead to no commit"))
    }

    /// Looks a reference up in the list of packed ones.
    fn packed(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let path = self.common_dir.join("packed-refs");
        let text = match read::read(&path, MAX_PACKED_REFS) {
            Err(error) if read::is_absent(&error) => return Ok(None),
            text => text.map_err(GitError::read(&path))?,
        };
        let line = text.split(|byte| *byte == b'\n').find_map(|line| {
            let (id, rest) = line.split_at_checked(self.hash.len() * 2)?;
            let found = rest.strip_prefix(b" ")?.trim_ascii_end() == name.as_bytes();
            found.then_some(id)
        });
        line.map(|id| {
            ObjectId::from_hex(id, self.hash).ok_or_else(|| GitError::damaged(&path, "it names no commit"))
        })
        .transpose()
    }

    pub(super) fn target(&self, text: &[u8], path: &Path) -> Result<Target, GitError> {
        let text = text.trim_ascii();
        if let Some(id) = ObjectId::from_hex(text, self.hash) {
            return Ok(Target::Id(id));
        }
        let name = text.strip_prefix(b"ref:").and_then(|name| std::str::from_utf8(name.trim_ascii()).ok());
        match name.filter(|name| is_ref(name)) {
            Some(name) => Ok(Target::Name(name.to_owned())),
            None => Err(GitError::damaged(path, "it names neither a branch nor a commit")),
        }
    }
}

/// Says whether a name may be that of a reference, which is a path below the
/// repository. The rules are those of `git check-ref-format`.
fn is_ref(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock")
    };
    let is_refused = |char: char| char.is_whitespace() || char.is_control() || "~^:?*[\\".contains(char);
    name.starts_with("refs/")
        && name.split('/').all(is_part)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(is_refused)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, process::Command};

    use super::*;
    use crate::{Caller, testing::Repository as Made};

    fn head(made: &Made) -> Result<Head, GitError> {
        Repository::open(made.path(), &Caller::of_process())?.unwrap().head()
    }

    fn asked(made: &Made) -> String {
        let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(made.path()).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn a_branch_is_found_loose_and_packed_and_a_commit_without_one() {
        let made = Made::with(&[("a.rs", "")]);
        made.run(&["checkout", "--quiet", "-b", "feature/x"]);
        for packed in [false, true] {
            if packed {
                made.run(&["pack-refs", "--all"]);
            }
            let found = head(&made).unwrap();
            assert_eq!(found.branch(), Some("feature/x"));
            assert_eq!(found.commit().unwrap().to_string(), asked(&made));
            let repository = Repository::open(made.path(), &Caller::of_process()).unwrap().unwrap();
            let at = |name: &str| repository.reference(name).map(|commit| commit.map(|id| id.to_string()));
            assert_eq!(at("refs/heads/feature/x").unwrap(), Some(asked(&made)));
            assert_eq!((at("refs/heads/feature").unwrap(), at("refs/heads/none").unwrap()), (None, None));
            assert!(at("refs/heads/../x").is_err() && at("refs/heads/a b").is_err());
        }
        made.run(&["checkout", "--quiet", "--detach"]);
        assert_eq!((head(&made).unwrap().branch(), head(&made).unwrap().commit().is_some()), (None, true));
        made.run(&["checkout", "--quiet", "--orphan", "new"]);
        assert_eq!(head(&made).unwrap(), Head::Branch { name: "new".into(), commit: None });
    }

    #[test]
    fn references_that_lead_out_of_the_repository_or_nowhere_are_errors() {
        let made = Made::with(&[("a.rs", "")]);
        for text in
            ["ref: ../../etc/passwd", "ref: refs/../../x", "ref: refs/heads/.x", "", "x", "ref: refs//x"]
                .into_iter()
                .chain([
                    "a b", "a\u{a0}b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a..b", "a@{b",
                    "a.lock", "a.",
                ])
        {
            let text = if text.contains("refs") || text.len() < 2 {
                text.to_owned()
            } else {
                format!("ref: refs/heads/{text}")
            };
            fs::write(made.path().join(".git/HEAD"), text).unwrap();
            head(&made).unwrap_err();
        }
        fs::write(made.path().join(".git/HEAD"), "ref: refs/heads/loop").unwrap();
        fs::write(made.path().join(".git/refs/heads/loop"), "ref: refs/heads/loop").unwrap();
        head(&made).unwrap_err();
    }
}
