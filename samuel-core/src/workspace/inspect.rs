//! What an agent left in its clone, looked at before any git runs there.
//!
//! git reads its own directory and asks of each directory whether it is a repository. What
//! makes it start a program then is found by names and bytes alone: a plain walk, which follows
//! no link, starts nothing and ends at its limits.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::fs::open_unlinked;
use crate::fs::read_up_to;

/// The largest configuration that is compared, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// How many findings are told.
const MAX_FINDINGS: usize = 100;
/// How long the paths of directories that wait to be looked at are together, in bytes.
const MAX_WAITING: usize = 64 << 20;

/// How far a look goes.
#[derive(Clone, Copy, Debug)]
pub struct InspectLimits {
    /// How many entries of directories are looked at. Default 2,000,000.
    pub entries: usize,
    /// How deep directories lie in each other. Default 256.
    pub depth: usize,
    /// How long it may take. Default 60 s.
    pub time: Duration,
}

impl Default for InspectLimits {
    fn default() -> Self {
        Self { entries: 2_000_000, depth: 256, time: Duration::from_secs(60) }
    }
}

/// Something that keeps git from being run in a clone. Paths are relative to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloneProblem {
    /// The clone's `.git` is no directory.
    NoDirectory,
    /// A part of `.git` is missing, or is no directory, so that git would look for a repository around the clone.
    NoRepository(PathBuf),
    /// `.git/commondir`, which takes configuration and hooks from elsewhere.
    CommonDir,
    /// `.git/config.worktree`, which is read beside the configuration.
    WorktreeConfig,
    /// `.git/info/attributes`, by which a file is another in a commit.
    Attributes,
    /// `.git/config` is not what Samuel wrote.
    Config,
    /// `.git/objects/info/alternates` is not what Samuel wrote.
    Alternates,
    /// A hook.
    Hook(PathBuf),
    /// A link or a special file in `.git`, by which git would write elsewhere.
    Link(PathBuf),
    /// A `.git` below the top.
    Nested(PathBuf),
    /// A directory that is a repository without a `.git`.
    Embedded(PathBuf),
    /// There is more than is looked at, or a directory cannot be read.
    Unseen(PathBuf),
}

impl fmt::Display for CloneProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirectory => write!(f, "a .git that is no directory"),
            Self::NoRepository(path) => write!(f, "a .git without {}", path.display()),
            Self::CommonDir => write!(f, ".git/commondir"),
            Self::WorktreeConfig => write!(f, ".git/config.worktree"),
            Self::Attributes => write!(f, ".git/info/attributes"),
            Self::Config => write!(f, "a changed .git/config"),
            Self::Alternates => write!(f, "a changed .git/objects/info/alternates"),
            Self::Hook(path) => write!(f, "the hook {}", path.display()),
            Self::Link(path) => write!(f, "{}, which is neither file nor directory", path.display()),
            Self::Nested(path) => write!(f, "the repository of {}", path.display()),
            Self::Embedded(path) => write!(f, "the bare repository {}", path.display()),
            Self::Unseen(path) => write!(f, "more than could be looked at, from {} on", path.display()),
        }
    }
}

/// What Samuel wrote into the `.git` of a clone, where git reads what to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'a> {
    pub(super) config: &'a [u8],
    pub(super) alternates: &'a [u8],
}

/// Looks at a tree in which an agent worked, and returns what keeps git from being run there:
/// nothing of a tree as an agent should leave it. `config` and `alternates` are what Samuel
/// wrote to `.git/config` and `.git/objects/info/alternates`. Blocks; starts nothing.
pub fn inspect(tree: &Path, config: &[u8], alternates: &[u8], limits: InspectLimits) -> Vec<CloneProblem> {
    let written = Written { config, alternates };
    let mut look = Look {
        found: Vec::new(),
        left: limits.entries,
        waiting: 0,
        limits,
        deadline: Instant::now() + limits.time,
    };
    look.git_directory(tree, written);
    look.walk(tree, Part::Work);
    look.found
}

/// What is walked over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Work,
    Git,
}

struct Look {
    found: Vec<CloneProblem>,
    left: usize,
    /// How long the paths of directories are together that wait to be looked at, in bytes.
    waiting: usize,
    limits: InspectLimits,
    deadline: Instant,
}

impl Look {
    fn find(&mut self, finding: CloneProblem) {
        if self.found.len() < MAX_FINDINGS {
            self.found.push(finding);
        }
    }

    fn git_directory(&mut self, tree: &Path, written: Written<'_>) {
        let git = tree.join(".git");
        if !fs::symlink_metadata(&git).is_ok_and(|found| found.is_dir()) {
            return self.find(CloneProblem::NoDirectory);
        }
        let is_there = |name: &str| fs::symlink_metadata(git.join(name)).is_ok();
        let is_directory =
            |name: &&str| fs::symlink_metadata(git.join(name)).is_ok_and(|found| found.is_dir());
        let missing = ["objects", "refs"].into_iter().filter(|name| !is_directory(name));
        let missing =
            missing.chain(["info"].into_iter().filter(|name| is_there(name) && !is_directory(name)));
        for name in missing.chain(["HEAD"].into_iter().filter(|name| !is_there(name))) {
            self.find(CloneProblem::NoRepository(name.into()));
        }
        if is_there("commondir") {
            self.find(CloneProblem::CommonDir);
        }
        if is_there("config.worktree") {
            self.find(CloneProblem::WorktreeConfig);
        }
        if is_there("info/attributes") {
            self.find(CloneProblem::Attributes);
        }
        if !holds(&git.join("config"), written.config) {
            self.find(CloneProblem::Config);
        }
        if !holds(&git.join("objects/info/alternates"), written.alternates) {
            self.find(CloneProblem::Alternates);
        }
        for entry in fs::read_dir(git.join("hooks")).into_iter().flatten().flatten().take(MAX_FINDINGS) {
            self.find(CloneProblem::Hook(Path::new(".git/hooks").join(entry.file_name())));
        }
        self.walk(&git, Part::Git);
    }

    /// Walks over a tree, and stops where there is more than is looked at.
    fn walk(&mut self, top: &Path, part: Part) {
        let mut ahead = vec![(top.to_owned(), 0)];
        while let Some((directory, depth)) = ahead.pop() {
            self.waiting = self.waiting.saturating_sub(directory.as_os_str().len());
            if let Err(unseen) = self.directory(top, &directory, depth, part, &mut ahead) {
                let unseen = unseen.strip_prefix(top).unwrap_or(&unseen).to_owned();
                return self.find(CloneProblem::Unseen(unseen));
            }
        }
    }

    fn directory(
        &mut self,
        top: &Path,
        directory: &Path,
        depth: usize,
        part: Part,
        ahead: &mut Vec<(PathBuf, usize)>,
    ) -> Result<(), PathBuf> {
        let unseen = |_: io::Error| directory.to_owned();
        let relative = directory.strip_prefix(top).unwrap_or(directory).to_owned();
        let mut names = Names::default();
        for entry in fs::read_dir(directory).map_err(unseen)? {
            let entry = entry.map_err(unseen)?;
            let (name, kind) = (entry.file_name(), entry.file_type().map_err(unseen)?);
            self.left = self.left.checked_sub(1).ok_or_else(|| directory.to_owned())?;
            if self.left.is_multiple_of(1024) && Instant::now() > self.deadline {
                return Err(directory.to_owned());
            }
            if part == Part::Git && !kind.is_dir() && !kind.is_file() {
                self.find(CloneProblem::Link(Path::new(".git").join(relative.join(&name))));
            }
            if part == Part::Work {
                // Other systems know it by other letters.
                if name.eq_ignore_ascii_case(".git") {
                    if depth > 0 || name != ".git" {
                        self.find(CloneProblem::Nested(relative.join(&name)));
                    }
                    continue;
                }
                names.note(name.as_encoded_bytes());
            }
            if kind.is_dir() {
                if depth >= self.limits.depth {
                    return Err(entry.path());
                }
                let path = entry.path();
                self.waiting = self.waiting.saturating_add(path.as_os_str().len());
                if self.waiting > MAX_WAITING {
                    return Err(path);
                }
                ahead.push((path, depth + 1));
            }
        }
        if names.are_of_repository() {
            self.find(CloneProblem::Embedded(relative));
        }
        Ok(())
    }
}

/// Which of the names that make a directory a repository are in it, whatever they stand for: git
/// follows links there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Names {
    head: bool,
    objects: bool,
    refs: bool,
    common_dir: bool,
}

impl Names {
    /// Says whether a name is one of them.
    pub(super) fn matter(name: &[u8]) -> bool {
        let mut names = Self::default();
        names.note(name);
        names.head || names.objects || names.refs || names.common_dir
    }

    pub(super) fn note(&mut self, name: &[u8]) {
        self.head |= name.eq_ignore_ascii_case(b"HEAD");
        self.objects |= name.eq_ignore_ascii_case(b"objects");
        self.refs |= name.eq_ignore_ascii_case(b"refs");
        self.common_dir |= name.eq_ignore_ascii_case(b"commondir");
    }

    pub(super) fn are_of_repository(self) -> bool {
        self.head && (self.common_dir || self.objects && self.refs)
    }
}

/// Says whether a regular file holds these bytes. One that is not there holds none.
fn holds(path: &Path, expected: &[u8]) -> bool {
    let read = open_unlinked(path).and_then(|file| read_up_to(file, MAX_CONFIG));
    match read {
        Ok(bytes) => bytes == expected,
        Err(error) => error.is_not_found() && expected.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::symlink;

    use super::*;

    fn made() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for path in [".git/objects/info", ".git/refs/heads", "src/objects"] {
            fs::create_dir_all(directory.path().join(path)).unwrap();
        }
        for (path, text) in
            [(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "mine"), ("src/HEAD", ""), ("a.rs", "")]
        {
            fs::write(directory.path().join(path), text).unwrap();
        }
        directory
    }

    fn told(tree: &Path) -> Vec<String> {
        inspect(tree, b"mine", b"", InspectLimits::default()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tree_as_an_agent_should_leave_it_has_nothing_to_be_found() {
        assert_eq!(told(made().path()), [""; 0]);
    }

    #[test]
    fn each_trap_is_found_by_its_name() {
        let file = |path: &'static str| {
            move |tree: &Path| {
                fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
                fs::write(tree.join(path), "x").unwrap();
            }
        };
        type Plant = Box<dyn Fn(&Path)>;
        let traps: Vec<(Plant, &str)> = vec![
            (Box::new(file(".git/commondir")), ".git/commondir"),
            (Box::new(file(".git/config.worktree")), ".git/config.worktree"),
            (Box::new(file(".git/info/attributes")), ".git/info/attributes"),
            (Box::new(file(".git/config")), "a changed .git/config"),
            (Box::new(file(".git/objects/info/alternates")), "a changed .git/objects/info/alternates"),
            (Box::new(file(".git/hooks/post-checkout")), "the hook .git/hooks/post-checkout"),
            (Box::new(file("vendor/x/.git/config")), "the repository of vendor/x/.git"),
            (Box::new(file("vendor/.git")), "the repository of vendor/.git"),
            (Box::new(file("a/.GIT")), "the repository of a/.GIT"),
            (Box::new(file("src/refs/x")), "the bare repository src"),
            (Box::new(file("src/commondir")), "the bare repository src"),
            (
                Box::new(|tree| symlink("/tmp/elsewhere", tree.join(".git/index")).unwrap()),
                ".git/index, which is neither file nor directory",
            ),
            (Box::new(|tree| symlink("objects", tree.join("src/refs")).unwrap()), "the bare repository src"),
            (
                Box::new(|tree| {
                    fs::remove_dir_all(tree.join(".git")).unwrap();
                    fs::write(tree.join(".git"), "gitdir: /tmp/elsewhere\n").unwrap();
                }),
                "a .git that is no directory",
            ),
        ];
        for (plant, expected) in traps {
            let tree = made();
            plant(tree.path());
            assert_eq!(told(tree.path()), [expected]);
        }
    }

    #[test]
    fn more_than_is_looked_at_is_a_finding_too() {
        let tree = made();
        let limits = |entries, depth| InspectLimits { entries, depth, ..InspectLimits::default() };
        for limits in [limits(6, 256), limits(1_000, 0)] {
            let found = inspect(tree.path(), b"mine", b"", limits);
            assert!(found.iter().any(|finding| matches!(finding, CloneProblem::Unseen(_))), "{found:?}");
        }
    }

    #[test]
    fn directories_whose_paths_take_more_memory_than_there_is_for_them_are_a_finding() {
        let tree = made();
        // Each waits with its whole path, of about 3,800 bytes.
        let deep = (0..15).fold(tree.path().to_owned(), |path, _| path.join("d".repeat(250)));
        fs::create_dir_all(&deep).unwrap();
        for number in 0..=MAX_WAITING / deep.as_os_str().len() {
            fs::create_dir(deep.join(number.to_string())).unwrap();
        }
        let found = inspect(tree.path(), b"mine", b"", InspectLimits::default());
        assert!(matches!(found.as_slice(), [CloneProblem::Unseen(_)]), "{found:?}");
    }

    #[test]
    fn links_are_not_followed() {
        let tree = made();
        let outside = made();
        fs::create_dir_all(outside.path().join("x/.git")).unwrap();
        symlink(outside.path(), tree.path().join("link")).unwrap();
        assert_eq!(told(tree.path()), [""; 0]);
    }
}
