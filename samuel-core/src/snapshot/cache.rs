//! Counts by blob id, kept between snapshots.
//!
//! [`CountCache`] is one compact file: a header line and records of 32 bytes
//! (key, lines, marks, flags, checksum). It is read at once and appended to;
//! when most of it is about blobs that are gone, it is written anew. Losing it
//! costs time and nothing else, so every problem with it reads as "nothing
//! known", and it is not synced to disk.

use std::{
    collections::{HashMap, HashSet},
    fs::DirBuilder,
    hash::{BuildHasherDefault, Hasher},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use super::counts::Counts;
use crate::fs::{Durability, FileError, Manner, PRIVATE_DIRECTORY, Root};

const FILE: &str = "counts.bin";
const HEADER: &[u8; 32] = b"samuel counts 1, 32 byte records";
const KEY: usize = 20;
const RECORD: usize = 32;
/// The largest cache that is read, in bytes: two million records.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Records about blobs that are gone, before the file is written anew.
const SPARE: usize = 10_000;

/// What counts are known by: the start of a blob id or of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key([u8; KEY]);

impl Key {
    /// Makes a key of an object id or a digest, of at least 20 bytes.
    pub(super) fn of_digest(digest: &[u8]) -> Option<Self> {
        digest.get(..KEY)?.try_into().ok().map(Self)
    }
}

/// Object ids are hashes already: their first bytes do.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*first);
        }
    }

    fn write_usize(&mut self, _length: usize) {}
}

/// Makes [`IdHasher`]s.
pub(super) type BuildIdHasher = BuildHasherDefault<IdHasher>;

type ByKey = HashMap<Key, Counts, BuildIdHasher>;

/// Counts by key, with the file they come from.
#[derive(Debug, Default)]
pub(super) struct CountCache {
    path: PathBuf,
    known: ByKey,
    fresh: Vec<(Key, Counts)>,
    /// Whether the file cannot simply be appended to.
    damaged: bool,
}

impl CountCache {
    /// Reads the cache in a directory; without one nothing is known.
    pub(super) fn load(directory: &Path) -> Self {
        let path = directory.join(FILE);
        let bytes = read(&path).unwrap_or_default();
        let records = bytes.strip_prefix(HEADER.as_slice()).unwrap_or_default();
        let mut known = ByKey::with_capacity_and_hasher(records.len() / RECORD, BuildIdHasher::default());
        let (records, torn) = records.as_chunks::<RECORD>();
        known.extend(records.iter().filter_map(decode));
        let damaged = records.is_empty() || !torn.is_empty();
        Self { path, known, fresh: Vec::new(), damaged }
    }

    /// Returns what is known of a blob.
    pub(super) fn get(&self, key: &Key) -> Option<Counts> {
        self.known.get(key).copied()
    }

    /// Remembers what was counted.
    pub(super) fn insert(&mut self, key: Key, counts: Counts) {
        if self.known.insert(key, counts) != Some(counts) {
            self.fresh.push((key, counts));
        }
    }

    /// Writes what is new. When most of the file is about blobs that are not
    /// in use any more, they are dropped: `live` then says which are.
    ///
    /// # Errors
    /// What the system says. The cache is only poorer then.
    pub(super) fn save(self, files: usize, live: impl Fn() -> HashSet<Key, BuildIdHasher>) -> io::Result<()> {
        let too_many_dead = self.known.len() > files.saturating_mul(2).saturating_add(SPARE);
        if too_many_dead {
            let live = live();
            return self.replace(|key| live.contains(key));
        }
        if self.damaged {
            return self.replace(|_| true);
        }
        if self.fresh.is_empty() {
            return Ok(());
        }
        let records: Vec<[u8; RECORD]> = self.fresh.iter().map(|(key, counts)| encode(key, counts)).collect();
        let mut file = self.root().open_own(&self.path, OFlags::WRONLY | OFlags::APPEND)?;
        file.write_all(records.as_flattened())
    }

    fn replace(&self, keep: impl Fn(&Key) -> bool) -> io::Result<()> {
        let kept = self.known.iter().filter(|(key, _)| keep(key));
        let records: Vec<[u8; RECORD]> = kept.map(|(key, counts)| encode(key, counts)).collect();
        let root = self.root();
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(root.path())?;
        // Two writers at once each rename a whole file. Losing it to a power failure costs time only.
        let manner = Manner::PRIVATE.with(Durability::Unsynced);
        Ok(root.write(&self.path, [&HEADER[..], records.as_flattened()], &manner)?)
    }

    fn root(&self) -> Root {
        Root::new(self.path.parent().unwrap_or(&self.path))
    }
}

/// Reads what was counted; a file too large for that is begun anew.
fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    Root::new(path.parent().unwrap_or(path)).read(path, MAX_BYTES)
}

fn encode(key: &Key, counts: &Counts) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let fields = [
        &key.0[..],
        &counts.lines.to_le_bytes(),
        &counts.todos.to_le_bytes(),
        &[u8::from(counts.inline_tests)],
    ];
    for (place, byte) in record.iter_mut().zip(fields.concat()) {
        *place = byte;
    }
    let sum = checksum(&record);
    if let Some(last) = record.last_mut() {
        *last = sum;
    }
    record
}

fn decode(record: &[u8; RECORD]) -> Option<(Key, Counts)> {
    let (key, rest) = record.split_first_chunk::<KEY>()?;
    let (lines, rest) = rest.split_first_chunk::<4>()?;
    let (todos, rest) = rest.split_first_chunk::<4>()?;
    let counts = Counts {
        lines: u32::from_le_bytes(*lines),
        todos: u32::from_le_bytes(*todos),
        inline_tests: *rest.first()? != 0,
    };
    (record.last() == Some(&checksum(record))).then_some((Key(*key), counts))
}

/// Sums all bytes but the last, so that a record of zeroes is no record.
fn checksum(record: &[u8; RECORD]) -> u8 {
    record.iter().take(RECORD - 1).fold(0x5a, |sum, byte| sum.rotate_left(1) ^ byte)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    fn key(byte: u8) -> Key {
        Key([byte; KEY])
    }

    fn counts(lines: u32) -> Counts {
        Counts { lines, todos: 2, inline_tests: true }
    }

    fn store(directory: &Path, entries: &[(Key, Counts)]) {
        let mut cache = CountCache::load(directory);
        entries.iter().for_each(|(key, counts)| cache.insert(*key, *counts));
        cache.save(entries.len() + 1, HashSet::default).unwrap();
    }

    #[test]
    fn counts_survive_and_more_are_appended() {
        let directory = tempfile::tempdir().unwrap();
        store(directory.path(), &[(key(1), counts(10))]);
        store(directory.path(), &[(key(2), counts(20))]);
        let cache = CountCache::load(directory.path());
        assert_eq!((cache.get(&key(1)), cache.get(&key(2))), (Some(counts(10)), Some(counts(20))));
        assert_eq!(cache.get(&key(3)), None);
        let length = fs::metadata(directory.path().join(FILE)).unwrap().len();
        assert_eq!(length as usize, HEADER.len() + 2 * RECORD);
    }

    #[test]
    fn a_torn_end_costs_one_record_and_is_repaired() {
        let directory = tempfile::tempdir().unwrap();
        store(directory.path(), &[(key(1), counts(10)), (key(2), counts(20))]);
        let path = directory.path().join(FILE);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
        store(directory.path(), &[(key(3), counts(30))]);
        let cache = CountCache::load(directory.path());
        assert_eq!((cache.known.len(), cache.damaged), (2, false));
        assert_eq!(cache.get(&key(3)), Some(counts(30)));
    }

    #[test]
    fn a_record_with_a_wrong_checksum_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        store(directory.path(), &[(key(1), counts(10))]);
        let path = directory.path().join(FILE);
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER.len() + KEY] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(CountCache::load(directory.path()).get(&key(1)), None);
    }

    #[test]
    fn blobs_that_are_gone_are_dropped_when_they_are_most_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let gone = |n: u32| {
            let mut key = [7; KEY];
            key[..4].copy_from_slice(&n.to_le_bytes());
            Key(key)
        };
        let many: Vec<(Key, Counts)> = (0..SPARE as u32 + 10).map(|n| (gone(n), counts(n))).collect();
        store(directory.path(), &many);
        let cache = CountCache::load(directory.path());
        cache.save(1, || HashSet::from_iter([gone(5)])).unwrap();
        let cache = CountCache::load(directory.path());
        assert_eq!((cache.known.len(), cache.get(&gone(5))), (1, Some(counts(5))));
    }

    #[test]
    fn a_key_is_the_start_of_an_object_id() {
        let sha256: Vec<u8> = (0..32).collect();
        assert_eq!(Key::of_digest(&sha256), Key::of_digest(&sha256[..20]));
        assert_eq!(Key::of_digest(&sha256[..19]), None);
    }
}
