//! Files that are products of the work: ignored by the repository, and not tracked.
//!
//! Unlike in a [`Walk`](super::Walk), a `.gitignore` counts only where it is tracked and
//! holds what is staged. Other rules (`.git/info/exclude`, the user's own, a `.gitignore`
//! that is new or edited) can be written where nobody who reads the project's history
//! sees it, by the agent of an earlier run as well. Where the rules on the way to a file
//! cannot be relied on, the file is no product.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs, io,
    ops::ControlFlow,
    path::{Component, Path, PathBuf},
};

use ignore::gitignore::Gitignore;

use super::{
    Caller, GitError, ObjectId, Repository,
    ignores::{MAX_IGNORE_FILE, MAX_PATTERNS, decide, is_repository, rules},
    read,
};

/// Returns those of some paths below a project's root, files or patterns, that its repository
/// ignores and does not track; none where there is no repository or it cannot be read. Blocks.
pub fn products_below(
    root: &Path,
    caller: &Caller,
    paths: impl IntoIterator<Item = PathBuf>,
) -> BTreeSet<PathBuf> {
    let within = paths.into_iter().filter_map(|path| path.strip_prefix(root).ok().map(Path::to_owned));
    let within: Vec<PathBuf> = within.collect();
    if within.is_empty() {
        return BTreeSet::new();
    }
    let opened = Repository::open(root, caller).ok().flatten();
    let products = opened.and_then(|repository| repository.products(&within).ok()).unwrap_or_default();
    products.into_iter().map(|path| root.join(path)).collect()
}

/// What the index has of some paths: the ids of files.
type Staged = HashMap<Vec<u8>, Option<ObjectId>>;

impl Repository {
    /// Returns those of some paths, relative to the project's root, where products of the
    /// work are or would be. What a repository within the project has is none, nor is what
    /// is behind a link.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the index cannot be read.
    #[doc(hidden)]
    pub fn products(&self, paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, GitError> {
        let inner = self.root.strip_prefix(&self.top).unwrap_or(Path::new(""));
        let is_plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let plain = paths.iter().filter(|path| is_plain(path)).map(|path| (path, inner.join(path)));
        let plain: Vec<(&PathBuf, PathBuf)> = plain.collect();
        let files: BTreeSet<&Path> = plain.iter().map(|(_, whole)| whole.as_path()).collect();
        let directories: BTreeSet<&Path> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
        let staged = self.staged(&files, &directories)?;
        let mut left = MAX_PATTERNS;
        let rules =
            directories.iter().map(|directory| (*directory, self.rules(directory, &staged, &mut left)));
        let rules: HashMap<&Path, Option<Gitignore>> = rules.collect();
        let above = inner.iter().count();
        let is_product = |whole: &Path| {
            let mut with_parents = whole.ancestors();
            !with_parents.any(|path| staged.contains_key(path.as_os_str().as_encoded_bytes()))
                && self.is_within(whole)
                // Where the project as a whole is ignored, that says nothing about its files.
                && self.ignored_at(whole, &rules).is_some_and(|depth| depth > above)
        };
        Ok(plain.iter().filter(|(_, whole)| is_product(whole)).map(|(path, _)| (*path).clone()).collect())
    }

    /// Looks up what is staged of files, of the directories that they are in, and of the
    /// rules there.
    fn staged(&self, files: &BTreeSet<&Path>, directories: &BTreeSet<&Path>) -> Result<Staged, GitError> {
        let rules = directories.iter().map(|directory| directory.join(".gitignore"));
        let paths = files.iter().chain(directories).map(|path| path.to_path_buf()).chain(rules);
        let paths: HashSet<Vec<u8>> = paths.map(|path| path.into_os_string().into_encoded_bytes()).collect();
        let mut staged = Staged::new();
        self.index()?.for_each(|entry| {
            if paths.contains(entry.path) {
                let id = (!entry.is_unmerged && !entry.is_link()).then(|| ObjectId::of(entry.id));
                staged.insert(entry.path.to_vec(), id);
            }
            ControlFlow::Continue(())
        })?;
        Ok(staged)
    }

    /// Reads the rules of a directory; nothing where they are not what is staged, or too many.
    fn rules(&self, directory: &Path, staged: &Staged, left: &mut usize) -> Option<Gitignore> {
        let file = directory.join(".gitignore");
        let staged = staged.get(file.as_os_str().as_encoded_bytes());
        let text = match read::read(&self.top.join(&file), MAX_IGNORE_FILE) {
            Err(error) if read::is_absent(&error) && staged.is_none() => return Some(Gitignore::empty()),
            text => text.ok()?,
        };
        let is_staged = *staged? == Some(self.hash.blob(&text));
        *left = left.checked_sub(memchr::memchr_iter(b'\n', &text).count() + 1).filter(|_| is_staged)?;
        if text.is_empty() {
            Some(Gitignore::empty())
        } else {
            rules(&self.top.join(directory), &text, MAX_PATTERNS)
        }
    }

    /// Says whether a path, from the top, leads through no link and no other repository.
    /// Directories that are not there yet may be on it.
    fn is_within(&self, path: &Path) -> bool {
        let mut inner = path.ancestors().skip(1).filter(|directory| !directory.as_os_str().is_empty());
        inner.all(|directory| {
            let directory = self.top.join(directory);
            match fs::symlink_metadata(&directory) {
                Ok(found) => found.is_dir() && !is_repository(&directory),
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            }
        })
    }

    /// Says how deep below the top the rules ignore a path or a directory it is in.
    fn ignored_at(&self, path: &Path, rules: &HashMap<&Path, Option<Gitignore>>) -> Option<usize> {
        let mut with_parents: Vec<&Path> = path.ancestors().collect();
        with_parents.reverse();
        let mut outer = Vec::new();
        for (depth, (directory, within)) in (1..).zip(with_parents.iter().zip(with_parents.iter().skip(1))) {
            outer.push(rules.get(directory)?.as_ref()?);
            if decide(outer.iter().rev().copied(), &self.top.join(within), *within != path) {
                return Some(depth);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::{Caller, testing::Repository as Made};

    /// Returns those of the paths that are products, as seen from a directory.
    fn products_in(made: &Made, directory: &str, paths: &[&str]) -> Vec<String> {
        let root = made.path().join(directory);
        let caller = Caller::of_process().with_global_config(&made.path().join("global"), &root, None);
        let repository = Repository::open(&root, &caller).unwrap().unwrap();
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let products = repository.products(&paths).unwrap();
        products.iter().map(|path| path.display().to_string()).collect()
    }

    fn products(made: &Made, paths: &[&str]) -> Vec<String> {
        products_in(made, "", paths)
    }

    #[test]
    fn what_is_ignored_and_not_tracked_is_a_product_also_before_it_is_there() {
        let made = Made::with(&[
            (".gitignore", "# made\n/build/\n*.bin\n!keep.bin\n/ci/out\n"),
            ("ci/.gitignore", "!again.bin\nmade\n"),
            ("ci/check.sh", ""),
        ]);
        for file in ["build/tests", "ci/made", "ci/again.bin", "a.bin", "new.sh", "ci/new.sh", "keep.bin"] {
            made.write(file, "");
        }
        made.write("tracked.bin", "");
        made.write("build/kept", "");
        // Rules in a directory that is ignored are not looked at, as by git.
        made.write("build/.gitignore", "!tests\n");
        made.run(&["add", "--force", "tracked.bin", "build/kept"]);
        let expected =
            ["a.bin", "build/deep/not-there", "build/tests", "ci/made", "ci/out/x", "not-there.bin"];
        let paths =
            ["build/kept", "tracked.bin", "ci/check.sh", "new.sh", "ci/new.sh", "keep.bin", "missing"];
        let others = ["build", "ci/again.bin", "../a.bin", "build/../a.bin", "/a.bin"];
        assert_eq!(products(&made, &[&expected[..], &paths, &others].concat()), expected);
        assert_eq!(products_in(&made, "ci", &["made", "x.bin", "again.bin", "check.sh"]), ["made", "x.bin"]);
    }

    #[test]
    fn only_rules_that_are_tracked_and_as_staged_count() {
        let made = Made::with(&[(".gitignore", "*.bin\n"), ("sub/.gitignore", "made\n")]);
        let paths = ["a.bin", "sub/a.bin", "sub/made", "other/a.bin", "b", "c"];
        fs::write(made.path().join(".git/info/exclude"), "b\n").unwrap();
        made.write("excludes", "c\n");
        made.write("global", &format!("[core]\n\texcludesFile = {}/excludes\n", made.path().display()));
        made.write("other/.gitignore", "!a.bin\n");
        assert_eq!(products(&made, &paths), ["a.bin", "sub/a.bin", "sub/made"]);
        made.write("sub/.gitignore", "made\n*\n");
        assert_eq!(products(&made, &paths), ["a.bin"]);
        made.run(&["add", "sub/.gitignore"]);
        assert_eq!(products(&made, &paths), ["a.bin", "sub/a.bin", "sub/made"]);
        fs::remove_file(made.path().join("sub/.gitignore")).unwrap();
        assert_eq!(products(&made, &paths), ["a.bin"]);
        made.write(".gitignore", "*.bin\nb\n");
        assert_eq!(products(&made, &paths), [""; 0]);
    }

    #[test]
    fn more_rules_than_are_heeded_make_no_products() {
        let many = "x\n".repeat(MAX_PATTERNS);
        let made = Made::with(&[(".gitignore", &format!("*.bin\n{many}!a.bin\n"))]);
        assert_eq!(products(&made, &["a.bin", "b.bin"]), [""; 0]);
    }

    #[test]
    fn what_is_behind_a_link_or_in_another_repository_is_no_product() {
        let made = Made::with(&[(".gitignore", "/build/\n/whole/\n/link\n"), ("ci/check.sh", "")]);
        for file in ["build/tests", "build/dep/.git/HEAD", "whole/project/check.sh"] {
            made.write(file, "");
        }
        for link in ["build/link", "link"] {
            std::os::unix::fs::symlink(made.path().join("ci"), made.path().join(link)).unwrap();
        }
        let paths = ["build/tests", "build/dep/x", "build/link/check.sh", "link/check.sh", "build/tests/x"];
        assert_eq!(products(&made, &paths), ["build/tests"]);
        assert_eq!(products_in(&made, "whole/project", &["check.sh"]), [""; 0], "all of it is ignored");
    }
}
