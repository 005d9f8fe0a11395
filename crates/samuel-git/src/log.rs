//! The last commits, and whether one is among them.

use std::{
    collections::{BinaryHeap, HashMap, HashSet},
    time::Duration,
};

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};

use super::{
    GitError, ObjectId, Repository,
    id::HashKind,
    odb::{Kind, Objects},
    read,
};

/// The least digits of an id that are shown.
const MIN_DIGITS: usize = 7;
/// How long one look at a commit may take.
const MAX_LOOK: Duration = Duration::from_secs(5);
/// How many commits are read to find out whether two histories part close to their ends.
const FEW: usize = 100;
/// How many parents of one commit are looked at.
const MAX_PARENTS: usize = 64;
/// The largest list of commits without parents that is read, in bytes.
const MAX_SHALLOW: u64 = 1 << 20;
/// How much later than its child a commit may say that it was made, in seconds: clocks differ.
const MAX_SKEW: i64 = 24 * 60 * 60;

/// A commit, as a log shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: ObjectId,
    /// The first digits of its id, as many as tell it from others here.
    pub short_id: String,
    /// When it was committed, as `YYYY-MM-DD` where that was.
    pub date: String,
    /// The first paragraph of its message, on one line.
    pub subject: String,
}

/// The relation of a commit to an earlier one.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// It is that commit or descends from it. These commits are new, the first is the commit itself.
    Ahead(Vec<ObjectId>),
    /// It does not descend from that commit.
    Elsewhere,
    /// Too many commits would have to be read.
    Unknown,
}

/// A commit that has been read, by when it was made and in which turn.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    seconds: i64,
    /// Of commits of the same second, the one that was found first comes first.
    turn: std::cmp::Reverse<usize>,
    id: ObjectId,
    data: Vec<u8>,
}

impl Repository {
    /// Returns the last commits before `HEAD`, the latest first, at most `count`,
    /// within a time. A repository without commits has none; where history is not
    /// there, as in a shallow clone, the log ends.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read.
    pub fn log(&self, count: usize, limit: Duration) -> Result<Vec<Commit>, GitError> {
        let Some(mut walk) = self.walk(limit)? else { return Ok(Vec::new()) };
        let digits = short_digits(walk.objects.packed(), self.hash);
        let mut log = Vec::new();
        while log.len() < count
            && let Some(next) = walk.step()?
        {
            log.push(commit(&next, digits));
        }
        Ok(log)
    }

    /// Says whether `HEAD` is a commit or has it among its ancestors; nothing where at most `count` commits do not
    /// tell, nor where history is not there.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read.
    #[doc(hidden)]
    pub fn is_checked_out(
        &self,
        commit: &ObjectId,
        count: usize,
        limit: Duration,
    ) -> Result<Option<bool>, GitError> {
        let Some(mut walk) = self.walk(limit)? else { return Ok(Some(false)) };
        let Some(data) = read_commit(&walk.objects, commit)? else { return Ok(None) };
        // No commit that is older has it among its ancestors.
        let oldest = committed(&data).0.saturating_sub(MAX_SKEW);
        for _ in 0..count {
            match walk.step()? {
                Some(next) if next.id == *commit => return Ok(Some(true)),
                Some(next) if next.seconds >= oldest => {}
                Some(_) | None => return Ok((!walk.has_gap).then_some(false)),
            }
        }
        Ok(None)
    }

    /// Returns those of some commits that `HEAD` is or has among its ancestors, as far as at most `count` commits tell.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read.
    #[doc(hidden)]
    pub fn checked_out(
        &self,
        commits: &[ObjectId],
        count: usize,
        limit: Duration,
    ) -> Result<HashSet<ObjectId>, GitError> {
        let (mut found, mut asked, mut oldest) = (HashSet::new(), HashSet::new(), i64::MAX);
        let Some(mut walk) = self.walk(limit)? else { return Ok(found) };
        for commit in commits {
            if let Some(data) = read_commit(&walk.objects, commit)? {
                oldest = oldest.min(committed(&data).0.saturating_sub(MAX_SKEW));
                asked.insert(*commit);
            }
        }
        for _ in 0..count {
            if asked.is_empty() {
                break;
            }
            let Some(next) = walk.step()?.filter(|next| next.seconds >= oldest) else { break };
            if asked.remove(&next.id) {
                found.insert(next.id);
            }
        }
        Ok(found)
    }

    /// Returns whether `HEAD`, or one of its ancestors that is not older than a commit, has the same files as that
    /// commit. Returns `false` if at most `count` commits do not tell.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read.
    #[doc(hidden)]
    pub fn has_files_of(&self, commit: &ObjectId, count: usize, limit: Duration) -> Result<bool, GitError> {
        let Some(mut walk) = self.walk(limit)? else { return Ok(false) };
        let Some(data) = read_commit(&walk.objects, commit)? else { return Ok(false) };
        let Some(tree) = tree_of(&data, self.hash) else { return Ok(false) };
        let oldest = committed(&data).0;
        for _ in 0..count {
            let Some(next) = walk.step()?.filter(|next| next.seconds >= oldest) else { break };
            if tree_of(&next.data, self.hash) == Some(tree) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the commits that `head` has and `start` does not have. Without a start these are all commits of `head`.
    /// If `head` has merges and more than `count` commits would have to be read, these are only the first parents.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read.
    #[doc(hidden)]
    pub fn commits_since(
        &self,
        start: Option<&ObjectId>,
        head: &ObjectId,
        count: usize,
        limit: Duration,
    ) -> Result<Since, GitError> {
        // Otherwise all first parents would be read before that is known.
        if count > FEW
            && start.is_some_and(|start| start != head)
            && matches!(self.walk_since(start, head, FEW, limit), Ok(Since::Elsewhere))
        {
            return Ok(Since::Elsewhere);
        }
        // No date misleads here, unlike in a walk.
        let line = self.first_parents(head, start, count)?;
        let is_whole = match (start, line.last()) {
            (Some(start), Some((_, parents))) => parents.first() == Some(start),
            (Some(start), None) => head == start,
            (None, last) => last.is_some_and(|(_, parents)| parents.is_empty()),
        };
        let is_linear = line.iter().all(|(_, parents)| parents.len() < 2);
        let line: Vec<ObjectId> = line.into_iter().map(|(id, _)| id).collect();
        if is_whole && is_linear {
            return Ok(Since::Ahead(line));
        }
        Ok(match self.walk_since(start, head, count, limit)? {
            Since::Unknown if is_whole => Since::Ahead(line),
            since => since,
        })
    }

    /// Does the same by a walk through all commits, the latest first.
    fn walk_since(
        &self,
        start: Option<&ObjectId>,
        head: &ObjectId,
        count: usize,
        limit: Duration,
    ) -> Result<Since, GitError> {
        let mut walk = self.walk_from(head, limit)?;
        let mut read = Vec::new();
        let mut parents_of: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        let mut old = HashSet::new();
        if let Some(start) = start {
            walk.add(*start)?;
            old.insert(*start);
        }
        while walk.heap.iter().any(|next| !old.contains(&next.id)) {
            if read.len() >= count {
                return Ok(Since::Unknown);
            }
            let Some(next) = walk.step()? else { break };
            let parents = parents(&next.data, self.hash);
            // Commits of the same second come in any order, so some of those before may have been read.
            let mut before = if old.contains(&next.id) { parents.clone() } else { Vec::new() };
            while let Some(id) = before.pop() {
                if old.insert(id) {
                    before.extend(parents_of.get(&id).into_iter().flatten());
                }
            }
            parents_of.insert(next.id, parents);
            read.push(next.id);
        }
        read.retain(|id| !old.contains(id));
        let descends = |start: &ObjectId| {
            let is_parent = |id: &ObjectId| parents_of.get(id).is_some_and(|parents| parents.contains(start));
            read.iter().any(is_parent)
        };
        let is_ahead = start.is_none_or(descends);
        Ok(if is_ahead { Since::Ahead(read) } else { Since::Elsewhere })
    }

    /// Begins to go through the commits before `HEAD`; nothing in a repository without any.
    fn walk(&self, limit: Duration) -> Result<Option<Walk>, GitError> {
        let Some(first) = self.head()?.commit() else { return Ok(None) };
        self.walk_from(&first, limit).map(Some)
    }

    fn walk_from(&self, first: &ObjectId, limit: Duration) -> Result<Walk, GitError> {
        let mut walk = Walk {
            objects: self.objects(limit)?,
            seen: HashSet::new(),
            heap: BinaryHeap::new(),
            turn: 0,
            ends: self.ends(),
            has_gap: false,
        };
        walk.add(*first)?;
        if walk.has_gap {
            return Err(GitError::damaged(&self.git_dir.join("HEAD"), "its commit is not there"));
        }
        Ok(walk)
    }
}

impl Repository {
    /// Returns the commits whose parents are not there, as a shallow clone lists them; none if the list cannot be read.
    fn ends(&self) -> HashSet<ObjectId> {
        let text = read::read(&self.common_dir.join("shallow"), MAX_SHALLOW).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter_map(|line| ObjectId::from_hex(line, self.hash)).collect()
    }
}

/// A way through commits and those before them, the latest first.
struct Walk {
    objects: Objects,
    seen: HashSet<ObjectId>,
    heap: BinaryHeap<Next>,
    turn: usize,
    /// The commits at which history is cut off in a shallow clone.
    ends: HashSet<ObjectId>,
    /// Whether a commit on the way is not there.
    has_gap: bool,
}

impl Walk {
    fn step(&mut self) -> Result<Option<Next>, GitError> {
        let Some(next) = self.heap.pop() else { return Ok(None) };
        if self.ends.contains(&next.id) {
            return Ok(Some(next));
        }
        for parent in parents(&next.data, self.objects.hash()) {
            self.add(parent)?;
        }
        Ok(Some(next))
    }

    fn add(&mut self, id: ObjectId) -> Result<(), GitError> {
        let turn = std::cmp::Reverse(self.turn);
        self.turn += 1;
        if self.seen.insert(id) {
            match read_commit(&self.objects, &id)? {
                Some(data) => self.heap.push(Next { seconds: committed(&data).0, turn, id, data }),
                None => self.has_gap = true,
            }
        }
        Ok(())
    }
}

impl Repository {
    /// Returns the tree of a commit; nothing where there is no such commit.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the objects cannot be read.
    #[doc(hidden)]
    pub fn tree_of(&self, commit: &ObjectId) -> Result<Option<ObjectId>, GitError> {
        let data = read_commit(&self.objects(MAX_LOOK)?, commit)?;
        Ok(data.and_then(|data| tree_of(&data, self.hash)))
    }
}

impl Repository {
    /// Returns a commit and those before it along first parents, each with all its parents: at most `count`, and none
    /// from `end` on. Where history is not there, or ends, fewer.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the objects cannot be read.
    #[doc(hidden)]
    pub fn first_parents(
        &self,
        from: &ObjectId,
        end: Option<&ObjectId>,
        count: usize,
    ) -> Result<Vec<(ObjectId, Vec<ObjectId>)>, GitError> {
        let objects = self.objects(MAX_LOOK)?;
        let (mut line, mut next) = (Vec::new(), Some(*from));
        while let Some(id) = next.filter(|id| line.len() < count && Some(id) != end) {
            let Some(data) = read_commit(&objects, &id)? else { break };
            let parents = parents(&data, self.hash);
            next = parents.first().copied();
            line.push((id, parents));
        }
        Ok(line)
    }
}

/// Reads a commit; nothing where it is not there.
pub(super) fn read_commit(objects: &Objects, id: &ObjectId) -> Result<Option<Vec<u8>>, GitError> {
    let found = objects.read(id)?;
    Ok(found.filter(|(kind, _)| *kind == Kind::Commit).map(|(_, data)| data))
}

/// Returns the id of a commit's tree.
pub(super) fn tree_of(commit: &[u8], hash: HashKind) -> Option<ObjectId> {
    let line = commit.split(|byte| *byte == b'\n').next()?;
    ObjectId::from_hex(line.strip_prefix(b"tree ")?, hash)
}

fn parents(commit: &[u8], hash: HashKind) -> Vec<ObjectId> {
    let lines = headers(commit).filter_map(|line| line.strip_prefix(b"parent "));
    lines.take(MAX_PARENTS).filter_map(|hex| ObjectId::from_hex(hex, hash)).collect()
}

fn headers(commit: &[u8]) -> impl Iterator<Item = &[u8]> {
    commit.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty())
}

/// Returns when a commit was made: seconds, and the offset of its time zone in
/// seconds.
fn committed(commit: &[u8]) -> (i64, i32) {
    let line = headers(commit).find_map(|line| line.strip_prefix(b"committer "));
    let text = line.map(|line| String::from_utf8_lossy(line).into_owned()).unwrap_or_default();
    let (_, time) = text.rsplit_once('>').unwrap_or_default();
    let mut parts = time.split_whitespace();
    let seconds = parts.next().and_then(|text| text.parse().ok()).unwrap_or(0);
    // Hours and minutes have two digits each; anything else says nothing.
    let zone = parts.next().and_then(|text| text.parse::<i32>().ok());
    let zone = zone.filter(|zone| (-9_999..=9_999).contains(zone)).unwrap_or(0);
    (seconds, zone / 100 * 3_600 + zone % 100 * 60)
}

fn commit(next: &Next, digits: usize) -> Commit {
    let (seconds, offset) = committed(&next.data);
    let zone = Offset::from_seconds(offset).map_or(TimeZone::UTC, TimeZone::fixed);
    let date = Timestamp::from_second(seconds).unwrap_or_default().to_zoned(zone).date();
    let short_id = next.id.to_string().chars().take(digits).collect();
    Commit { id: next.id, short_id, date: date.to_string(), subject: subject(&next.data) }
}

/// Returns the first paragraph of a commit's message, on one line.
fn subject(commit: &[u8]) -> String {
    let start = commit.windows(2).position(|pair| pair == b"\n\n").map_or(commit.len(), |end| end + 2);
    let message = String::from_utf8_lossy(commit.get(start..).unwrap_or_default()).into_owned();
    let lines = message.lines().map(str::trim).skip_while(|line| line.is_empty());
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Says how many digits tell objects apart, as git estimates it.
fn short_digits(objects: u64, hash: HashKind) -> usize {
    let bits = u64::BITS - objects.leading_zeros();
    usize::try_from(bits.div_ceil(2)).unwrap_or_default().clamp(MIN_DIGITS, hash.len() * 2)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "a failed set-up fails the test"
    )]

    use std::{fs, process::Command};

    use super::*;
    use crate::{Caller, testing::Repository as Made};

    const LONG: Duration = Duration::from_secs(60);

    fn log(made: &Made) -> Result<Vec<String>, GitError> {
        let repository = Repository::open(made.path(), &Caller::of_process())?.unwrap();
        let shown = |one: Commit| format!("{} {} {}", one.id, one.date, one.subject);
        Ok(repository.log(10, LONG)?.into_iter().map(shown).collect())
    }

    fn asked(made: &Made) -> Vec<String> {
        let args = ["log", "-n10", "--format=%H %cs %s"];
        let output = Command::new("git").args(args).current_dir(made.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_log_is_that_of_git_loose_and_packed() {
        let made = Made::with(&[("a.rs", "")]);
        let message =
            "Subject\nin two lines\n\nBody of some length, so that there is a delta to make. ".repeat(20);
        for n in 0..15 {
            made.commit(&format!("{n}{message}{n}"));
        }
        made.run(&["checkout", "--quiet", "-b", "side", "HEAD~3"]);
        made.commit("On the side");
        made.run(&["checkout", "--quiet", "main"]);
        made.run(&["merge", "--quiet", "--no-edit", "side"]);
        let expected = asked(&made);
        assert_eq!(expected.len(), 10);
        assert_eq!(log(&made).unwrap(), expected);
        made.run(&["gc", "--quiet", "--aggressive", "--prune=now"]);
        assert_eq!(log(&made).unwrap(), expected);
    }

    #[test]
    fn history_of_a_shallow_clone_ends_where_it_is_cut_off() {
        let made = Made::with(&[("a.rs", "")]);
        let id = |name: &str| {
            let output = Command::new("git").args(["rev-parse", name]).current_dir(made.path()).output();
            String::from_utf8(output.unwrap().stdout.trim_ascii().to_vec()).unwrap()
        };
        made.run(&["checkout", "--quiet", "-b", "side"]);
        made.commit("On the side");
        made.run(&["checkout", "--quiet", "main"]);
        made.commit("Two");
        made.commit("Three");
        let (first, second, side) = (id("HEAD~2"), id("HEAD~1"), id("side"));
        let (directory, file) = first.split_at(2);
        fs::remove_file(made.path().join(".git/objects").join(directory).join(file)).unwrap();
        let side = ObjectId::from_hex(side.as_bytes(), HashKind::Sha1).unwrap();
        let repository = Repository::open(made.path(), &Caller::of_process()).unwrap().unwrap();
        assert_eq!(repository.is_checked_out(&side, 10, LONG).unwrap(), None);
        fs::write(made.path().join(".git/shallow"), format!("{second}\n")).unwrap();
        assert_eq!(repository.is_checked_out(&side, 10, LONG).unwrap(), Some(false));
        assert_eq!(repository.log(10, LONG).unwrap().len(), 2);
    }

    #[test]
    fn what_is_checked_out_has_its_ancestors_and_nothing_is_said_where_too_few_are_looked_at() {
        let made = Made::with(&[("a.rs", "")]);
        let id = |name: &str| {
            let args = ["rev-parse", name];
            let output = Command::new("git").args(args).current_dir(made.path()).output().unwrap();
            ObjectId::from_hex(output.stdout.trim_ascii(), HashKind::Sha1).unwrap()
        };
        let first = id("HEAD");
        made.run(&["checkout", "--quiet", "-b", "side"]);
        made.commit("On the side");
        let side = id("HEAD");
        made.run(&["checkout", "--quiet", "main"]);
        (0..5).for_each(|n| made.commit(&n.to_string()));
        let repository = Repository::open(made.path(), &Caller::of_process()).unwrap().unwrap();
        let said = |commit: &ObjectId, count| repository.is_checked_out(commit, count, LONG).unwrap();
        assert_eq!((said(&first, 10), said(&side, 10)), (Some(true), Some(false)));
        assert_eq!((said(&first, 5), said(&side, 5)), (None, None));
        assert_eq!(said(&first, 6), Some(true));
        let later =
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x"];
        let mut commit = Command::new("git");
        commit.args(later).current_dir(made.path()).env("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z");
        assert!(commit.status().unwrap().success());
        let far = id("HEAD");
        made.run(&["reset", "--quiet", "--hard", "HEAD~1"]);
        assert_eq!(said(&far, 1), Some(false), "all that is older cannot have it");
        let missing =
            ObjectId::from_hex(b"0123456789012345678901234567890123456789", HashKind::Sha1).unwrap();
        let found = repository.checked_out(&[first, side, far, missing], 10, LONG).unwrap();
        assert_eq!(found, HashSet::from([first]));
        assert!(repository.checked_out(&[first], 5, LONG).unwrap().is_empty(), "it is not reached");
    }

    #[test]
    fn finds_files_of_a_squashed_branch() {
        let made = Made::with(&[("a.rs", "")]);
        let repository = Repository::open(made.path(), &Caller::of_process()).unwrap().unwrap();
        let has = |name: &str| {
            let tip = repository.reference(&format!("refs/heads/{name}")).unwrap().unwrap();
            repository.has_files_of(&tip, 10, LONG).unwrap()
        };
        made.run(&["checkout", "--quiet", "-b", "side"]);
        fs::write(made.path().join("b.rs"), "").unwrap();
        made.run(&["add", "b.rs"]);
        made.commit("On the side");
        made.run(&["checkout", "--quiet", "main"]);
        assert!(!has("side"));
        made.run(&["merge", "--quiet", "--squash", "side"]);
        made.commit("All of it");
        assert!(has("side"));
        made.commit("Later");
        assert!(has("side"));
    }

    #[test]
    fn lists_commits_since_a_start() {
        let made = Made::with(&[("a.rs", "")]);
        let repository = made.opened();
        let head = || repository.head().unwrap().commit().unwrap();
        let since = |start: Option<&ObjectId>| repository.commits_since(start, &head(), 10, LONG).unwrap();
        let first = head();
        made.run(&["checkout", "--quiet", "-b", "side"]);
        made.commit("On the side");
        let side = head();
        made.run(&["checkout", "--quiet", "main"]);
        made.commit("Second");
        let second = head();
        assert_eq!(since(Some(&second)), Since::Ahead(vec![]));
        assert_eq!(since(Some(&first)), Since::Ahead(vec![second]));
        assert_eq!(since(Some(&side)), Since::Elsewhere, "another branch");
        assert_eq!(since(None), Since::Ahead(vec![second, first]));
        made.run(&["merge", "--quiet", "--no-edit", "side"]);
        let Since::Ahead(merged) = since(Some(&second)) else { panic!("it descends") };
        assert_eq!((merged.len(), merged.contains(&side), merged.contains(&first)), (2, true, false));
        let few = |start, count| repository.commits_since(Some(start), &head(), count, LONG).unwrap();
        assert_eq!(few(&first, 2), Since::Ahead(vec![head(), second]), "too many to find the side");
        assert_eq!(few(&side, 1), Since::Unknown);
    }

    #[test]
    fn finds_diverged_history_by_few_reads() {
        let made = Made::with(&[("a.rs", "")]);
        let repository = made.opened();
        let head = || repository.head().unwrap().commit().unwrap();
        let first = head().to_string();
        made.commit("Second");
        made.run(&["checkout", "--quiet", "-b", "side"]);
        made.commit("On the side");
        let side = head();
        made.run(&["checkout", "--quiet", "main"]);
        made.commit("Third");
        // Reading on would fail.
        let (directory, file) = first.split_at(2);
        let object = made.path().join(".git/objects").join(directory).join(file);
        fs::remove_file(&object).unwrap();
        fs::write(&object, "damaged").unwrap();
        assert_eq!(repository.commits_since(Some(&side), &head(), 10_000, LONG).unwrap(), Since::Elsewhere);
    }

    #[test]
    fn finds_new_commits_with_old_dates() {
        let made = Made::with(&[("a.rs", "")]);
        (0..5).for_each(|n| made.commit(&n.to_string()));
        let repository = made.opened();
        let head = || repository.head().unwrap().commit().unwrap();
        let start = head();
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let mut commit = Command::new("git");
        commit.args(who).args(["commit", "--quiet", "--allow-empty", "-m", "x"]).current_dir(made.path());
        assert!(commit.env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z").status().unwrap().success());
        let since = repository.commits_since(Some(&start), &head(), 3, LONG).unwrap();
        assert_eq!(since, Since::Ahead(vec![head()]));
    }

    #[test]
    fn a_repository_with_the_longer_ids_is_read() {
        let made = Made::with_hash("sha256");
        made.commit("First");
        assert_eq!(log(&made).unwrap(), asked(&made));
        made.run(&["gc", "--quiet"]);
        assert_eq!(log(&made).unwrap(), asked(&made));
    }

    #[test]
    fn a_damaged_pack_is_an_error_or_read_and_never_more() {
        let made = Made::with(&[("a.rs", "")]);
        (0..5).for_each(|n| made.commit(&format!("{n} {}", "words ".repeat(30))));
        made.run(&["gc", "--quiet", "--aggressive", "--prune=now"]);
        let packs = made.path().join(".git/objects/pack");
        for extension in ["pack", "idx"] {
            let find =
                |entry: &fs::DirEntry| entry.path().extension().is_some_and(|found| found == extension);
            let path = fs::read_dir(&packs).unwrap().flatten().find(find).unwrap().path();
            let whole = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            for place in (0..whole.len()).step_by(whole.len() / 150 + 1) {
                let mut bytes = whole.clone();
                bytes[place] ^= 0x55;
                fs::write(&path, &bytes).unwrap();
                drop(log(&made));
                fs::write(&path, &whole[..place]).unwrap();
                drop(log(&made));
            }
            fs::write(&path, whole).unwrap();
        }
        assert_eq!(log(&made).unwrap(), asked(&made));
    }

    #[test]
    fn a_commit_says_when_and_what() {
        let commit =
            b"tree x\nauthor A <a> 1 +0000\ncommitter B <b> 1763770000 -0330\n\n\n One\n two \n\nthree\n";
        assert_eq!((committed(commit), subject(commit)), ((1_763_770_000, -12_600), "One two".to_owned()));
        for zone in ["+2147483647", "-2147483648", "+99999", "UTC", ""] {
            let commit = format!("tree x\ncommitter B <b> 1763770000 {zone}\n\nOne\n");
            assert_eq!(committed(commit.as_bytes()), (1_763_770_000, 0), "{zone}");
        }
        assert_eq!((committed(b""), subject(b"tree x\n\n")), ((0, 0), String::new()));
        assert_eq!(short_digits(0, HashKind::Sha1), 7);
        assert_eq!(short_digits(1 << 20, HashKind::Sha1), 11);
    }
}
