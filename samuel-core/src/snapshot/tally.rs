//! Counting in all files of an inventory, each text once.
//!
//! [`tally`] looks counts up by blob id, and reads the files whose blobs it does
//! not know from disk. A file that is as it was staged is counted for its blob,
//! so that a copy or a later checkout needs no second look. All of it stays
//! within a time box: what was counted is remembered, so the next snapshot goes
//! on from there.

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
use crate::git::{Parents, Repository, Stat, blob_id};

/// A file that was written this recently may be written again without its
/// stamp telling.
const SETTLED: Duration = Duration::from_secs(2);

/// Counts in every file that is text, and returns how many had to be left out
/// because the time was up.
pub(super) fn tally(
    inventory: &mut Inventory,
    cache: &mut CountCache,
    root: &Path,
    repository: Option<&Repository>,
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
    let Some(repository) = repository else { return left_out };
    // Object ids spread the work evenly over the project, so a time box that ends
    // early leaves no directory out.
    let mut blobs: Vec<Key> = unknown.keys().copied().collect();
    blobs.sort_unstable();
    let mut parents = Parents::of(root);
    for key in blobs {
        let positions = unknown.get(&key).map(Vec::as_slice).unwrap_or_default();
        for position in positions {
            let Some(file) = inventory.files.get(*position).copied() else { continue };
            let known = cache.get(&key);
            if known.is_none() && Instant::now() > deadline {
                left_out += 1;
                continue;
            }
            let count = || {
                let path = parents.file(inventory.path(&file).as_bytes())?;
                count_staged(&path, file.staged, key, repository, cache)
            };
            let counts = known.or_else(count);
            if let Some(file) = inventory.files.get_mut(*position) {
                file.counts = counts;
            }
        }
    }
    left_out
}

/// Counts in a tracked file, for its blob where it is as it was staged.
fn count_staged(
    path: &Path,
    staged: Option<Stat>,
    key: Key,
    repository: &Repository,
    cache: &mut CountCache,
) -> Option<Counts> {
    let metadata = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let is_as_staged = staged.is_some_and(|then| then.is_of(&Stat::of(&metadata)));
    if metadata.len() > MAX_BYTES {
        return Some(Counts::default());
    }
    if !is_as_staged && let Some(known) = stamp(path, &metadata).and_then(|stamp| cache.get(&stamp)) {
        return Some(known);
    }
    let text = read_text(path)?;
    let counts = Counts::of(&text);
    let is_blob = is_as_staged || Key::of_digest(blob_id(repository, &text).as_bytes()) == Some(key);
    let key = if is_blob { Some(key) } else { stamp(path, &metadata) };
    if let Some(key) = key {
        cache.insert(key, counts);
    }
    Some(counts)
}

fn read_text(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    open(path)?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Opens a file that was a regular one a moment ago.
fn open(path: &Path) -> Option<fs::File> {
    crate::git::open_regular(path).ok()
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
    let counts = Counts::of(&read_text(path)?);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::git::testing::Repository;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn lines(repository: &Repository, cache: &mut CountCache, deadline: Instant) -> (u64, usize) {
        let opened = repository.opened();
        let mut inventory = Inventory::from_repository(&opened, Duration::from_secs(60)).unwrap();
        let left_out = tally(&mut inventory, cache, repository.path(), Some(&opened), deadline);
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
        let mut inventory =
            Inventory::from_repository(&repository.opened(), Duration::from_secs(60)).unwrap();
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
    fn a_large_repository_is_counted_by_blobs_and_changed_files_as_they_are() {
        let repository = Repository::with(&[("a.rs", "1\n2\n"), ("b.rs", "1\n"), ("gone.rs", "1\n")]);
        repository.write("b.rs", "1\n2\n3\n");
        fs::remove_file(repository.path().join("gone.rs")).unwrap();
        let opened = repository.opened();
        let directory = tempfile::tempdir().unwrap();
        let mut cache = CountCache::load(directory.path());
        // What a listing of the index alone says of all three.
        let staged = [("a.rs", "1\n2\n"), ("b.rs", "1\n"), ("gone.rs", "1\n")].map(|(path, text)| {
            (path, Key::of_digest(blob_id(&opened, text.as_bytes()).as_bytes()).unwrap())
        });
        let mut inventory = Inventory::of_blobs(staged);
        tally(&mut inventory, &mut cache, repository.path(), Some(&opened), later());
        assert_eq!(inventory.lines(), 2 + 3);
        let [(_, a), (_, b), _] = staged;
        assert_eq!((cache.get(&a).map(|counts| counts.lines), cache.get(&b)), (Some(2), None));
    }
}
