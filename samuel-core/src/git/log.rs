//! The last commits.

use std::{
    collections::{BinaryHeap, HashSet},
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
};

/// The least digits of an id that are shown.
const MIN_DIGITS: usize = 7;
/// How many parents of one commit are looked at.
const MAX_PARENTS: usize = 64;

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
        let Some(first) = self.head()?.commit() else { return Ok(Vec::new()) };
        let objects = self.objects(limit)?;
        let digits = short_digits(objects.packed(), self.hash);
        let mut seen = HashSet::from([first]);
        let mut heap = BinaryHeap::new();
        let mut turn = 0;
        let read = |id: ObjectId, turn: usize| -> Result<Option<Next>, GitError> {
            let data = read_commit(&objects, &id)?;
            Ok(data.map(|data| Next { seconds: committed(&data).0, turn: std::cmp::Reverse(turn), id, data }))
        };
        match read(first, turn)? {
            Some(next) => heap.push(next),
            None => return Err(GitError::damaged(&self.git_dir.join("HEAD"), "its commit is not there")),
        }
        let mut log = Vec::new();
        while log.len() < count
            && let Some(next) = heap.pop()
        {
            log.push(commit(&next, digits));
            for parent in parents(&next.data, objects.hash()) {
                turn += 1;
                if seen.insert(parent) {
                    heap.extend(read(parent, turn)?);
                }
            }
        }
        Ok(log)
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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use std::{fs, process::Command};

    use super::*;
    use crate::git::{Caller, testing::Repository as Made};

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
