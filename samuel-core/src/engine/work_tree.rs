//! What changed in the project, as git sees it.
//!
//! Samuel's own directory is left out: it changes with every iteration.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use sha2::{Digest, Sha256};

use crate::git::Git;

/// How much of a diff or a list is read.
const MAX_BYTES: usize = 64 << 20;
/// How much of an untracked file goes into a fingerprint.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// How many files without git go into a fingerprint.
const MAX_FILES: usize = 200_000;
/// Everything but Samuel's own directory.
const PATHS: [&str; 3] = ["--", ".", ":(exclude).samuel"];

/// The work tree of a project.
#[derive(Debug)]
pub(super) struct WorkTree {
    root: PathBuf,
    /// Nothing where the project is in no repository.
    git: Option<Git>,
    /// The commit the iteration started from.
    start: Mutex<Option<String>>,
}

impl WorkTree {
    pub(super) fn new(root: PathBuf, git: Option<Git>) -> Self {
        Self { root, git, start: Mutex::default() }
    }

    /// Remembers where an iteration starts.
    pub(super) fn begin(&self) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = self.head();
    }

    fn head(&self) -> Option<String> {
        let output = self.git.as_ref()?.output(&["rev-parse", "--verify", "--quiet", "HEAD"], 256).ok()?;
        Some(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Returns the files that were changed since the start of the iteration,
    /// committed or not, sorted; nothing where that is unknown.
    pub(super) fn changed_files(&self) -> Option<Vec<String>> {
        let git = self.git.as_ref()?;
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let diff = [&["diff", "--name-only", "--no-renames", "-z", &start], PATHS.as_slice()].concat();
        let mut files = names(&git.output(&diff, MAX_BYTES).ok()?);
        files.extend(names(&self.untracked(git)?));
        files.sort_unstable();
        files.dedup();
        Some(files)
    }

    fn untracked(&self, git: &Git) -> Option<Vec<u8>> {
        let args = [&["ls-files", "--others", "--exclude-standard", "-z"], PATHS.as_slice()].concat();
        git.output(&args, MAX_BYTES).ok()
    }

    /// Returns a text that stays the same as long as nothing in the project
    /// changes: the commit, and a hash over what is not committed.
    pub(super) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let head = match &self.git {
            Some(git) => {
                let diff =
                    [&["diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD"], PATHS.as_slice()]
                        .concat();
                hash.update(git.output(&diff, MAX_BYTES).unwrap_or_default());
                for name in names(&self.untracked(git).unwrap_or_default()) {
                    hash_file(&mut hash, &self.root, &name);
                }
                self.head().unwrap_or_default()
            }
            None => {
                self.hash_listing(&mut hash);
                String::new()
            }
        };
        let digest = hash.finalize();
        let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{head} {hex}")
    }

    /// Without git: names, sizes and times of all files that are not ignored.
    fn hash_listing(&self, hash: &mut Sha256) {
        let walk = ignore::WalkBuilder::new(&self.root)
            .hidden(false)
            .filter_entry(|entry| entry.file_name() != ".samuel" && entry.file_name() != ".git")
            .sort_by_file_name(|left, right| left.cmp(right))
            .build();
        for entry in walk.flatten().take(MAX_FILES) {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_file() {
                hash.update(entry.path().as_os_str().as_encoded_bytes());
                hash.update(meta.len().to_le_bytes());
                let changed =
                    meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
                hash.update(changed.unwrap_or_default().as_nanos().to_le_bytes());
            }
        }
    }
}

fn names(listing: &[u8]) -> Vec<String> {
    let parts = listing.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

fn hash_file(hash: &mut Sha256, root: &Path, name: &str) {
    use std::io::Read;
    hash.update(name.as_bytes());
    let path = root.join(name);
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let Some(file) = is_file.then(|| std::fs::File::open(&path).ok()).flatten() else { return };
    let mut content = Vec::new();
    // What cannot be read counts with what could be.
    let _ = file.take(MAX_FILE_BYTES).read_to_end(&mut content);
    hash.update(content);
}
