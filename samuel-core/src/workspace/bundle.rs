//! Work as it comes out of a clone: a bundle, which is data.
//!
//! What is in it is written by somebody else. It is indexed into a quarantine beside the objects
//! of the user's repository, where git checks every object and every link between them, and held
//! against what must not arrive. Only then the objects move in and a reference names them: of
//! work that is refused the repository never has anything.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

use super::{
    RefusedWork, WorkspaceError,
    copied::OwnPaths,
    git::{Configured, Git},
    inspect::Names,
    record::remove,
};
use crate::{fs::open_unlinked, git::program::GitProgramError, process::CommandSpec};

/// The longest line of a bundle's header, and how many there are at most.
const MAX_LINE: u64 = 4 << 10;
const MAX_LINES: usize = 1_000;
/// How many commits come at once.
const MAX_COMMITS: usize = 10_000;
/// How many directories are looked at that may be repositories.
const MAX_CANDIDATES: usize = 1_000;
/// The mode of a link to another repository.
const GITLINK: &[u8] = b"160000";
/// The mode of a directory.
const DIRECTORY: &[u8] = b"040000";
/// The mode of a symbolic link.
const LINK: &[u8] = b"120000";
/// The mode of what is not there.
const ABSENT: &[u8] = b"000000";
/// How quarantines begin, below the objects of the user's repository. git removes such directories
/// once they are old.
const QUARANTINE: &str = "tmp_objdir-incoming-samuel";

/// The user's repository, as far as work comes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Door<'a> {
    pub(super) git: &'a Git,
    /// The top of the work tree.
    pub(super) top: &'a Path,
    /// The directory that its work trees share.
    pub(super) common_dir: &'a Path,
    /// The project within the work tree, with a slash at its end.
    pub(super) prefix: &'a str,
    /// The commit that the clone was made from.
    pub(super) base: &'a str,
    /// Tells workspaces of one repository apart.
    pub(super) key: &'a str,
    /// What Samuel put into the clone. No commit may have it.
    pub(super) own: &'a OwnPaths,
}

/// Writes a bundle of what a clone has beyond a commit.
pub(super) async fn make(git: &Git, tree: &Path, base: &str, file: &Path) -> Result<(), WorkspaceError> {
    remove(file)?;
    // A git that was killed leaves it.
    remove(&file.with_extension("bundle.lock"))?;
    let (name, not) = (file.display().to_string(), format!("^{base}"));
    git.run(tree, &["bundle", "create", "--quiet", &name, "HEAD", &not]).await?;
    Ok(())
}

/// Names the quarantine of a workspace.
fn quarantine(common_dir: &Path, key: &str) -> PathBuf {
    common_dir.join("objects").join(format!("{QUARANTINE}-{key}"))
}

/// Removes what is left of the quarantine of a workspace.
pub(super) fn clear(common_dir: &Path, key: &str) -> Result<(), WorkspaceError> {
    remove(&quarantine(common_dir, key))
}

impl Door<'_> {
    /// Takes the commit of a bundle in under a reference, and returns it, or why it must not arrive.
    /// `is_control` is asked of each file that it changes, by its path from the project's root.
    pub(super) async fn take_in(
        &self,
        bundle: &Path,
        limit: u64,
        reference: &str,
        is_control: impl Fn(&str) -> bool,
    ) -> Result<Result<String, RefusedWork>, WorkspaceError> {
        let pack = bundle.with_extension("pack");
        let tip = match split(bundle, &pack, limit)? {
            Ok(tip) => tip,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let taken = self.through_quarantine(&tip, &pack, limit, is_control).await;
        remove(&pack)?;
        if let Err(refusal) = taken? {
            clear(self.common_dir, self.key)?;
            return Ok(Err(refusal));
        }
        self.move_in()?;
        self.git.run(self.top, &["update-ref", reference, &tip]).await?;
        Ok(Ok(tip))
    }

    fn quarantine(&self) -> PathBuf {
        quarantine(self.common_dir, self.key)
    }

    /// Describes a call that sees the objects of the quarantine, and writes no others.
    fn inside(&self, args: &[&str]) -> CommandSpec {
        self.git.call(self.top, Configured::Alone, args).env("GIT_OBJECT_DIRECTORY", self.quarantine())
    }

    async fn through_quarantine(
        &self,
        tip: &str,
        pack: &Path,
        limit: u64,
        is_control: impl Fn(&str) -> bool,
    ) -> Result<Result<(), RefusedWork>, WorkspaceError> {
        clear(self.common_dir, self.key)?;
        let quarantine = self.quarantine();
        let made = |path: &Path| fs::create_dir_all(path).map_err(WorkspaceError::io("create", path));
        made(&quarantine.join("pack"))?;
        made(&quarantine.join("info"))?;
        let alternates = quarantine.join("info/alternates");
        let mut objects = self.common_dir.join("objects").into_os_string().into_encoded_bytes();
        objects.push(b'\n');
        fs::write(&alternates, objects).map_err(WorkspaceError::io("write", &alternates))?;
        let size = format!("--max-input-size={limit}");
        let spec = self.inside(&["index-pack", "--stdin", "--fix-thin", "--strict", &size]).stdin_file(pack);
        if let Some(complaint) = complaint(self.git.finish("index-pack", spec).await)? {
            return Ok(Err(RefusedWork::Damaged { complaint }));
        }
        let range = format!("{}..{tip}", self.base);
        match self.larger_than(limit, &range).await {
            Ok(None) => {}
            Ok(Some(object)) => {
                let what = format!("the file of the object {object} is longer than {limit} bytes");
                return Ok(Err(RefusedWork::TooMany { what }));
            }
            Err(GitProgramError::Failed { message, .. }) => {
                return Ok(Err(RefusedWork::Damaged { complaint: message }));
            }
            Err(error) => return Err(error.into()),
        }
        let spec = self.inside(&["merge-base", "--is-ancestor", self.base, tip]);
        if complaint(self.git.finish("merge-base", spec).await)?.is_some() {
            return Ok(Err(RefusedWork::Rewritten { base: self.base.to_owned() }));
        }
        self.examine(tip, &range, is_control).await
    }

    /// Returns the id of a file that is longer, in any of the commits. A few bytes of a pack can stand for any number, which
    /// each git that packs the repository anew would take memory for. Only heads of objects are read. git fails if one
    /// of them is not there.
    async fn larger_than(&self, limit: u64, range: &str) -> Result<Option<String>, GitProgramError> {
        // What is not longer is left out: git tells of those that have at least so many.
        let filter = format!("--filter=blob:limit={}", limit.saturating_add(1));
        let args = ["rev-list", "--objects", "--quiet", "--filter-print-omitted", &filter, range];
        let told = self.git.finish("rev-list", self.inside(&args)).await?.stdout.text();
        Ok(told.lines().find_map(|line| line.strip_prefix('~').map(str::to_owned)))
    }

    /// Holds what all commits change against what must not arrive.
    async fn examine(
        &self,
        tip: &str,
        range: &str,
        is_control: impl Fn(&str) -> bool,
    ) -> Result<Result<(), RefusedWork>, WorkspaceError> {
        let most = format!("--max-count={}", MAX_COMMITS + 1);
        let commits = self.git.finish("rev-list", self.inside(&["rev-list", &most, range])).await?;
        let commits = commits.stdout.head;
        if commits.split(|byte| *byte == b'\n').count() > MAX_COMMITS {
            return Ok(Err(RefusedWork::TooMany { what: format!("more than {MAX_COMMITS} commits") }));
        }
        let raw = ["-r", "-t", "-m", "-z", "--raw", "--root", "--no-renames", "--no-ext-diff", "--no-abbrev"];
        let args: Vec<&str> = ["diff-tree", "--stdin", "--no-commit-id"].into_iter().chain(raw).collect();
        let too_many =
            || RefusedWork::TooMany { what: "its list of changes is longer than 64 MiB".to_owned() };
        let Some(all) = self.changes(self.inside(&args).stdin(commits)).await? else {
            return Ok(Err(too_many()));
        };
        for change in all.iter().filter(|change| change.mode == GITLINK) {
            if !self.has(change).await? {
                return Ok(Err(RefusedWork::Gitlink { path: shown(&change.path) }));
            }
        }
        if let Some(refusal) = embedded(self.git, |args| self.inside(args), self.base, &all).await? {
            return Ok(Err(refusal));
        }
        let args: Vec<&str> = ["diff-tree"].into_iter().chain(raw).chain([self.base, tip]).collect();
        let Some(net) = self.changes(self.inside(&args)).await? else { return Ok(Err(too_many())) };
        let of_control = net.iter().filter_map(|change| change.control_file(self.prefix, &is_control));
        let mut files: Vec<String> = of_control.collect();
        files.sort();
        files.dedup();
        if !files.is_empty() {
            return Ok(Err(RefusedWork::ControlFiles { files }));
        }
        let of_own = all.iter().filter(|change| change.kind() != DIRECTORY && self.own.cover(&change.path));
        let mut files: Vec<String> = of_own.map(|change| shown(&change.path)).collect();
        files.sort();
        files.dedup();
        Ok(if files.is_empty() { Ok(()) } else { Err(RefusedWork::Own { files }) })
    }

    /// Says whether the commit that the clone was made from has the very same entry.
    async fn has(&self, change: &Change) -> Result<bool, WorkspaceError> {
        let Ok(path) = std::str::from_utf8(&change.path) else { return Ok(false) };
        let spec = self.inside(&["ls-tree", "-z", "--full-tree", self.base, "--", path]);
        let entries = self.git.list("ls-tree", spec).await?.unwrap_or_default();
        Ok(entries.iter().any(|entry| {
            let mut words = entry.split(|byte| matches!(byte, b' ' | b'\t'));
            words.next() == Some(GITLINK) && words.nth(1) == Some(change.id.as_slice())
        }))
    }

    async fn changes(&self, spec: CommandSpec) -> Result<Option<Vec<Change>>, WorkspaceError> {
        let Some(parts) = self.git.list("diff-tree", spec).await? else { return Ok(None) };
        Ok(Some(parts.chunks(2).filter_map(Change::read).collect()))
    }

    /// Moves the objects out of the quarantine. What was cut off is begun anew: a pack without its
    /// index is none.
    fn move_in(&self) -> Result<(), WorkspaceError> {
        let (from, to) = (self.quarantine().join("pack"), self.common_dir.join("objects/pack"));
        fs::create_dir_all(&to).map_err(WorkspaceError::io("create", &to))?;
        let entries = fs::read_dir(&from).map_err(WorkspaceError::io("read", &from))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // Whoever sees the index has to find the rest.
        files.sort_by_key(|file| file.extension().is_some_and(|extension| extension == "idx"));
        for file in files {
            let Some(name) = file.file_name() else { continue };
            File::open(&file).and_then(|open| open.sync_all()).map_err(WorkspaceError::io("write", &file))?;
            fs::rename(&file, to.join(name)).map_err(WorkspaceError::io("move", &file))?;
        }
        File::open(&to).and_then(|open| open.sync_all()).map_err(WorkspaceError::io("write", &to))?;
        clear(self.common_dir, self.key)
    }
}

/// Looks for directories that become repositories by what is changed in them since a commit. `call` describes a
/// call of git that sees all of it.
///
/// # Errors
/// Returns an error where git fails.
pub(crate) async fn embedded(
    git: &Git,
    call: impl Fn(&[&str]) -> CommandSpec,
    base: &str,
    changes: &[Change],
) -> Result<Option<RefusedWork>, WorkspaceError> {
    let mut candidates: BTreeMap<&[u8], Names> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.mode != ABSENT) {
        let (directory, name) = match change.path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (change.path.get(..=at), change.path.get(at + 1..)),
            None => (Some(&[][..]), Some(change.path.as_slice())),
        };
        let (Some(directory), Some(name)) = (directory, name) else { continue };
        if Names::matter(name) {
            candidates.entry(directory).or_default().note(name);
        }
    }
    if candidates.len() > MAX_CANDIDATES {
        let what = format!("more than {MAX_CANDIDATES} directories that may be repositories");
        return Ok(Some(RefusedWork::TooMany { what }));
    }
    for (directory, new) in candidates {
        let refusal = || Some(RefusedWork::Embedded { path: shown(directory) });
        let Ok(path) = std::str::from_utf8(directory) else { return Ok(refusal()) };
        let mut args = vec!["ls-tree", "-z", "--full-tree", "--name-only", base, "--"];
        args.extend((!path.is_empty()).then_some(path));
        let before = git.list("ls-tree", call(&args)).await?.unwrap_or_default();
        let (mut old, mut both) = (Names::default(), new);
        for entry in &before {
            let name = entry.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            old.note(name);
            both.note(name);
        }
        if both.are_of_repository() && !old.are_of_repository() {
            return Ok(refusal());
        }
    }
    Ok(None)
}

/// A change of one entry of a tree.
#[derive(Debug)]
pub(crate) struct Change {
    /// The mode that it has then, `000000` for none.
    pub(crate) mode: Vec<u8>,
    pub(crate) old_mode: Vec<u8>,
    pub(crate) old_id: Vec<u8>,
    pub(crate) id: Vec<u8>,
    /// From the top of the repository.
    pub(crate) path: Vec<u8>,
}

impl Change {
    /// Reads what `git diff-tree --raw -z` writes of one.
    pub(crate) fn read(parts: &[Vec<u8>]) -> Option<Self> {
        let [facts, path] = parts else { return None };
        let mut words = facts.strip_prefix(b":")?.split(|byte| *byte == b' ').map(<[u8]>::to_vec);
        let (old_mode, mode, old_id, id) = (words.next()?, words.next()?, words.next()?, words.next()?);
        Some(Self { mode, old_mode, old_id, id, path: path.clone() })
    }

    /// Returns its path from the project's root where it is that of a control file, or of a link in the place of a directory
    /// with some: what that leads to shows only where it arrives. `is_control` is asked of paths, as
    /// [`ControlLook::covers`](super::ControlLook::covers) is.
    pub(crate) fn control_file(&self, prefix: &str, is_control: impl Fn(&str) -> bool) -> Option<String> {
        let path = self.path.strip_prefix(prefix.as_bytes()).map(shown)?;
        let leads = || self.mode == LINK && is_control(&format!("{path}/"));
        (self.kind() != DIRECTORY && (is_control(&path) || leads())).then_some(path)
    }

    /// Returns the mode that it has then, or had before it was removed.
    fn kind(&self) -> &[u8] {
        if self.mode == ABSENT { &self.old_mode } else { &self.mode }
    }
}

/// Writes the pack of a bundle to a file of its own, and returns the commit that it brings.
fn split(bundle: &Path, pack: &Path, limit: u64) -> Result<Result<String, RefusedWork>, WorkspaceError> {
    let file = open_unlinked(bundle).map_err(WorkspaceError::file("read", bundle))?;
    let bytes = file.metadata().map_err(WorkspaceError::io("read", bundle))?.len();
    if bytes > limit {
        return Ok(Err(RefusedWork::TooLarge { bytes, limit }));
    }
    let mut reader = BufReader::new(file);
    let Some(tip) = header(&mut reader).map_err(WorkspaceError::io("read", bundle))? else {
        return Ok(Err(RefusedWork::Damaged { complaint: "it is no bundle of one commit".to_owned() }));
    };
    remove(pack)?;
    let mut out = File::create_new(pack).map_err(WorkspaceError::io("write", pack))?;
    io::copy(&mut reader.take(limit), &mut out).map_err(WorkspaceError::io("write", pack))?;
    Ok(Ok(tip))
}

/// Reads the header of a bundle, and returns the one commit that it names.
fn header(reader: &mut BufReader<File>) -> io::Result<Option<String>> {
    let mut tip = None;
    for number in 0..MAX_LINES {
        let mut line = Vec::new();
        reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        let Some(line) = line.strip_suffix(b"\n") else { return Ok(None) };
        match (number, line) {
            (0, line) if line.starts_with(b"# v") && line.ends_with(b" git bundle") => {}
            (0, _) => return Ok(None),
            (_, []) => return Ok(tip),
            (_, [b'-' | b'@', ..]) => {}
            (_, line) => {
                let id = line.split(|byte| *byte == b' ').next().unwrap_or_default();
                let is_id = matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit);
                if !is_id || tip.is_some() {
                    return Ok(None);
                }
                tip = std::str::from_utf8(id).ok().map(str::to_owned);
            }
        }
    }
    Ok(None)
}

/// Returns what git said against what it was given; that it could not be run is an error.
fn complaint<T>(done: Result<T, GitProgramError>) -> Result<Option<String>, WorkspaceError> {
    match done {
        Ok(_) => Ok(None),
        Err(GitProgramError::Failed { message, .. }) => Ok(Some(message)),
        Err(error) => Err(error.into()),
    }
}

/// Writes a path for people.
pub(crate) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
