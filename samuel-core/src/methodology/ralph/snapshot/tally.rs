//! Counting in all files of an inventory, each text once.
//!
//! [`tally`] looks counts up by blob id, fetches the blobs it does not know
//! from git in one go, and reads changed and untracked files from disk. All of
//! it stays within a time box: what was counted is remembered, so the next
//! snapshot goes on from there.

use std::{
    collections::HashMap,
    fs,
    io::Read,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use sha2::{Digest, Sha256};

use super::{
    cache::{CountCache, Key},
    counts::{Counts, MAX_BYTES},
    inventory::{Inventory, Origin},
};
use crate::git::{Flow, Git};

/// A file that was written this recently may be written again without its
/// stamp telling.
const SETTLED: Duration = Duration::from_secs(2);

/// Counts in every file that is text, and returns how many had to be left out
/// because the time was up.
pub(super) fn tally(
    inventory: &mut Inventory,
    cache: &mut CountCache,
    root: &Path,
    git: Option<&Git>,
    deadline: Instant,
) -> usize {
    let (unknown, on_disk) = look_up(inventory, cache);
    let mut left_out = 0;
    for position in on_disk {
        if Instant::now() > deadline {
            left_out += 1;
            continue;
        }
        let Some(file) = inventory.files.get(position).copied() else { continue };
        let counts = count_on_disk(&root.join(inventory.path(&file)), cache);
        if let Some(file) = inventory.files.get_mut(position) {
            file.counts = counts;
        }
    }
    if let (Some(git), false) = (git, unknown.is_empty()) {
        let blobs: Vec<Key> = unknown.keys().copied().collect();
        fetch(git, blobs, deadline, |key, counts| {
            cache.insert(key, counts);
            for position in unknown.get(&key).into_iter().flatten() {
                if let Some(file) = inventory.files.get_mut(*position) {
                    file.counts = Some(counts);
                }
            }
        });
        let all = unknown.values().flatten();
        left_out += all
            .filter(|position| inventory.files.get(**position).is_some_and(|file| file.counts.is_none()))
            .count();
    }
    left_out
}

/// Fills in what is known. Returns the positions of the files for each unknown
/// blob, and of those that are read from disk.
fn look_up(inventory: &mut Inventory, cache: &CountCache) -> (HashMap<Key, Vec<usize>>, Vec<usize>) {
    let mut unknown: HashMap<Key, Vec<usize>> = HashMap::new();
    let mut on_disk = Vec::new();
    for (position, file) in inventory.files.iter_mut().enumerate() {
        if !file.class.kind.is_counted() {
            continue;
        }
        match file.origin {
            Origin::Blob(key) => match cache.get(&key) {
                Some(counts) => file.counts = Some(counts),
                None => unknown.entry(key).or_default().push(position),
            },
            Origin::Disk => on_disk.push(position),
            Origin::Nowhere => {}
        }
    }
    (unknown, on_disk)
}

/// Counts in a file of the work tree; nothing if it is not there.
pub(super) fn count_on_disk(path: &Path, cache: &mut CountCache) -> Option<Counts> {
    let metadata = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    if metadata.len() > MAX_BYTES {
        return Some(Counts::default());
    }
    let stamp = stamp(path, &metadata);
    if let Some(known) = stamp.and_then(|stamp| cache.get(&stamp)) {
        return Some(known);
    }
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    let counts = Counts::of(&text);
    if let Some(stamp) = stamp {
        cache.insert(stamp, counts);
    }
    Some(counts)
}

/// Makes a key of what changes when a file is written; none for a file so new
/// that it might change without.
fn stamp(path: &Path, metadata: &fs::Metadata) -> Option<Key> {
    let modified = metadata.modified().ok()?;
    // File times are the system's, so they are compared with its clock.
    let age = SystemTime::now().duration_since(modified).ok()?;
    if age < SETTLED {
        return None;
    }
    let since_epoch = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let mut digest = Sha256::new();
    digest.update(path.as_os_str().as_encoded_bytes());
    digest.update(metadata.len().to_le_bytes());
    digest.update(since_epoch.as_nanos().to_le_bytes());
    Key::of_digest(&digest.finalize())
}

/// Fetches blobs from git and counts in each. What git does not have, or not
/// in time, is not reported.
fn fetch(git: &Git, mut blobs: Vec<Key>, deadline: Instant, mut report: impl FnMut(Key, Counts)) {
    // Hash maps are in no order; object ids spread the work evenly over the
    // project, so a time box that ends early leaves no directory out.
    blobs.sort_unstable();
    let ids: Vec<String> = blobs.iter().map(|key| key.to_hex()).collect();
    let mut asked = blobs.into_iter();
    let mut reader = BatchReader::default();
    let answer =
        git.stream(&["cat-file", "--batch", "--buffer"], (ids.join("\n") + "\n").into_bytes(), |piece| {
            reader.read(piece, |counts| {
                if let (Some(key), Some(counts)) = (asked.next(), counts) {
                    report(key, counts);
                }
            });
            if Instant::now() > deadline { Flow::Enough } else { Flow::More }
        });
    // Whatever was not reported is left out, and the caller says so.
    drop(answer);
}

/// Reads the output of `git cat-file --batch`: for each object a line with its
/// id, type and size, then its content and a line end.
#[derive(Default)]
struct BatchReader {
    pending: Vec<u8>,
    /// Bytes still to come of a blob too large to look at.
    skip: u64,
}

impl BatchReader {
    /// Calls `found` for each object that is complete, in the order they were
    /// asked for; without counts for one that git does not have.
    fn read(&mut self, mut piece: &[u8], mut found: impl FnMut(Option<Counts>)) {
        if self.skip > 0 {
            let skipped = piece.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            self.skip -= skipped as u64;
            piece = piece.get(skipped..).unwrap_or_default();
        }
        self.pending.extend_from_slice(piece);
        let mut done = 0;
        while let Some(rest) = self.pending.get(done..) {
            let Some(end) = memchr::memchr(b'\n', rest) else { break };
            let (line, body) = rest.split_at(end + 1);
            let Some(size) = size_of(line) else {
                found(None);
                done += line.len();
                continue;
            };
            if size > MAX_BYTES {
                found(Some(Counts::default()));
                self.skip = (size + 1).saturating_sub(body.len() as u64);
                done += line.len() + body.len().min(usize::try_from(size + 1).unwrap_or(usize::MAX));
                continue;
            }
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let Some(content) = body.get(..size).filter(|_| body.len() > size) else { break };
            found(Some(Counts::of(content)));
            done += line.len() + size + 1;
        }
        self.pending.drain(..done.min(self.pending.len()));
    }
}

/// Reads the size from `<id> blob <size>`; other lines say what is missing.
fn size_of(line: &[u8]) -> Option<u64> {
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    let (_, kind, size) = (words.next()?, words.next()?, words.next()?);
    (kind == "blob").then(|| size.parse().ok())?
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::methodology::ralph::testing::Repository;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn lines(repository: &Repository, cache: &mut CountCache, deadline: Instant) -> (u64, usize) {
        let git = repository.git();
        let mut inventory = Inventory::from_git(&git).unwrap();
        let left_out = tally(&mut inventory, cache, repository.path(), Some(&git), deadline);
        (inventory.lines(), left_out)
    }

    #[test]
    fn blobs_changed_and_untracked_files_are_counted() {
        let repository =
            Repository::with(&[("a.rs", "1\n2\n"), ("b.rs", "1\n"), ("same.rs", "1\n2\n"), ("x.png", "1\n")]);
        repository.write("b.rs", "1\n2\n3\n");
        repository.write("new.rs", "1\n");
        let directory = tempfile::tempdir().unwrap();
        let mut cache = CountCache::load(directory.path());
        assert_eq!(lines(&repository, &mut cache, later()), (2 + 3 + 2 + 1, 0));
    }

    #[test]
    fn what_the_cache_knows_is_not_counted_again() {
        let repository = Repository::with(&[("a.rs", "1\n2\n")]);
        let directory = tempfile::tempdir().unwrap();
        let mut cache = CountCache::load(directory.path());
        let mut inventory = Inventory::from_git(&repository.git()).unwrap();
        let Origin::Blob(key) = inventory.files.first().unwrap().origin else {
            unreachable!("it is tracked")
        };
        cache.insert(key, Counts { lines: 77, ..Counts::default() });
        tally(&mut inventory, &mut cache, repository.path(), None, later());
        assert_eq!(inventory.lines(), 77);
    }

    #[test]
    fn time_that_is_up_leaves_files_out_and_says_how_many() {
        let repository = Repository::with(&[("a.rs", "1\n")]);
        repository.write("new.rs", "1\n");
        let directory = tempfile::tempdir().unwrap();
        let mut cache = CountCache::load(directory.path());
        let past = Instant::now();
        std::thread::yield_now();
        let (counted, left_out) = lines(&repository, &mut cache, past);
        assert!(left_out >= 1 && counted <= 1, "{counted} lines, {left_out} left out");
        assert_eq!(lines(&repository, &mut cache, later()), (2, 0));
    }

    #[test]
    fn objects_may_come_in_any_pieces_and_be_missing() {
        let output = b"aaaa blob 4\n1\n2\n\nbbbb missing\ncccc blob 0\n\ndddd blob 1\nx\n";
        for size in 1..output.len() {
            let (mut reader, mut found) = (BatchReader::default(), Vec::new());
            for piece in output.chunks(size) {
                reader.read(piece, |counts| found.push(counts.map(|counts| counts.lines)));
            }
            assert_eq!(found, [Some(2), None, Some(0), Some(1)], "pieces of {size}");
        }
    }

    #[test]
    fn a_blob_too_large_to_look_at_is_skipped() {
        let size = MAX_BYTES as usize + 1;
        let mut output = format!("aaaa blob {size}\n").into_bytes();
        output.extend(std::iter::repeat_n(b'\n', size));
        output.extend(b"\nbbbb blob 2\nx\n\n");
        for pieces in [size / 3, output.len()] {
            let (mut reader, mut found) = (BatchReader::default(), Vec::new());
            for piece in output.chunks(pieces) {
                reader.read(piece, |counts| found.push(counts.map(|counts| counts.lines)));
            }
            assert_eq!(found, [Some(0), Some(1)], "pieces of {pieces}");
        }
    }
}
