//! What plugins keep: values that outlive a call, by their keys.
//!
//! A [`KvStore`] keeps each value in a file of its own, named by the digest of
//! the key, so that a crash between two calls loses nothing and keys may be
//! any text.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use sha2::{Digest, Sha256};

use super::host_error::HostError;
use crate::{
    fs::{FileError, Manner, Root, found},
    model::hex,
};

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 256;
/// The longest value, in bytes.
const MAX_VALUE_BYTES: usize = 256 * 1024;
/// All values of a plugin, in bytes.
const MAX_TOTAL_BYTES: usize = 4 * 1024 * 1024;
/// The keys of a plugin.
const MAX_KEYS: usize = 1_024;

/// The values of one plugin.
///
/// A file holds the length of the key in two bytes, the key and the value.
#[derive(Clone, Debug)]
pub(super) struct KvStore {
    /// What no path leads out of.
    root: Root,
    dir: Arc<Path>,
    /// One at a time: a plugin may be called twice at once.
    lock: Arc<Mutex<()>>,
}

/// An entry as it is on disk.
struct Entry {
    key: String,
    value: Vec<u8>,
    path: PathBuf,
}

impl KvStore {
    /// Keeps values below a plugin's own directory, which lies in the root.
    pub(super) fn new(root: Root, scratch: PathBuf) -> Self {
        Self { root, dir: scratch.join("kv").into(), lock: Arc::default() }
    }

    pub(super) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, HostError> {
        check_key(key)?;
        let _one = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.read(&self.path(key)).map_err(failed)?.map(|entry| entry.value))
    }

    pub(super) fn set(&self, key: &str, value: &[u8]) -> Result<(), HostError> {
        check_key(key)?;
        HostError::at_most("value", value.len(), MAX_VALUE_BYTES)?;
        let _one = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path(key);
        let others: Vec<Entry> = self.entries()?.into_iter().filter(|entry| entry.path != path).collect();
        HostError::at_most("keys (a number)", others.len() + 1, MAX_KEYS)?;
        let bytes: usize = others.iter().map(|entry| entry.value.len()).sum();
        HostError::at_most("values", bytes.saturating_add(value.len()), MAX_TOTAL_BYTES)?;
        self.write(&path, key, value).map_err(failed)
    }

    pub(super) fn delete(&self, key: &str) -> Result<bool, HostError> {
        check_key(key)?;
        let _one = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(found(self.root.remove_own(&self.path(key))).map_err(failed)?.is_some())
    }

    pub(super) fn keys(&self, prefix: &str) -> Result<Vec<String>, HostError> {
        let _one = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = self.entries()?.into_iter();
        let mut keys: Vec<String> =
            entries.map(|entry| entry.key).filter(|key| key.starts_with(prefix)).collect();
        keys.sort();
        Ok(keys)
    }

    fn entries(&self) -> Result<Vec<Entry>, HostError> {
        // Somebody else's files count as little as torn ones.
        let files = found(self.root.list(&self.dir, 4 * MAX_KEYS)).map_err(failed)?.unwrap_or_default();
        // What was left behind under a temporary name is no entry.
        let files = files.iter().filter(|file| !file.name.as_encoded_bytes().starts_with(b"."));
        Ok(files.filter_map(|file| self.read(&self.dir.join(&file.name)).ok().flatten()).collect())
    }

    /// Reads an entry; nothing where there is none or where it is no entry.
    fn read(&self, path: &Path) -> Result<Option<Entry>, FileError> {
        let bytes = match self.root.read(path, (MAX_VALUE_BYTES + MAX_KEY_BYTES + 2) as u64) {
            Ok(bytes) => bytes,
            Err(FileError::Io(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Err(_) => return Ok(None),
        };
        Ok(parse(&bytes).map(|(key, value)| Entry { key, value, path: path.to_owned() }))
    }

    fn write(&self, path: &Path, key: &str, value: &[u8]) -> Result<(), FileError> {
        let length = u16::try_from(key.len()).map_err(io::Error::other)?;
        self.root.write(path, [&length.to_le_bytes(), key.as_bytes(), value], &Manner::PRIVATE)
    }

    fn path(&self, key: &str) -> PathBuf {
        let digest = Sha256::digest(key.as_bytes());
        self.dir.join(hex(&digest))
    }
}

fn check_key(key: &str) -> Result<(), HostError> {
    if key.is_empty() {
        return Err(HostError::invalid("the key is empty"));
    }
    HostError::at_most("key", key.len(), MAX_KEY_BYTES)
}

fn parse(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (key, value) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((String::from_utf8(key.to_vec()).ok()?, value.to_vec()))
}

fn failed(error: FileError) -> HostError {
    HostError::Other(format!("the values of the plugin: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    fn store() -> (tempfile::TempDir, KvStore) {
        let dir = tempfile::tempdir().unwrap();
        let kv = KvStore::new(Root::new(dir.path()), dir.path().join("samuel-lint"));
        (dir, kv)
    }

    #[test]
    fn values_are_kept_replaced_listed_and_removed() {
        let (dir, kv) = store();
        assert_eq!(kv.get("a"), Ok(None));
        assert_eq!(kv.keys(""), Ok(vec![]));
        for (key, value) in [("b/2", "two"), ("b/1", "one"), ("b/1", "uno"), ("../../é", "")] {
            assert_eq!(kv.set(key, value.as_bytes()), Ok(()));
        }
        let again = KvStore::new(Root::new(dir.path()), dir.path().join("samuel-lint"));
        assert_eq!(again.get("b/1"), Ok(Some(b"uno".to_vec())));
        assert_eq!(again.get("../../é"), Ok(Some(vec![])));
        assert_eq!(again.keys("b/"), Ok(vec!["b/1".to_owned(), "b/2".to_owned()]));
        assert_eq!((again.delete("b/1"), again.delete("b/1")), (Ok(true), Ok(false)));
        assert_eq!(kv.keys("").map(|keys| keys.len()), Ok(2));
    }

    #[test]
    fn keys_and_values_have_their_limits() {
        let (_dir, kv) = store();
        assert!(matches!(kv.set("", b""), Err(HostError::Invalid(_))));
        assert!(matches!(kv.set(&"k".repeat(257), b""), Err(HostError::TooLarge(_))));
        let full = vec![0; MAX_VALUE_BYTES];
        assert!(matches!(kv.set("k", &[&full[..], b"x"].concat()), Err(HostError::TooLarge(_))));
        for number in 0..16 {
            assert_eq!(kv.set(&format!("k{number}"), &full), Ok(()));
        }
        assert!(matches!(kv.set("more", b"x"), Err(HostError::TooLarge(_))));
        // What replaces a value counts in its place.
        assert_eq!(kv.set("k3", &full), Ok(()));
        assert_eq!(kv.set("k3", b""), Ok(()));
        assert_eq!(kv.set("more", b"x"), Ok(()));
    }

    #[test]
    fn a_torn_or_foreign_file_is_no_value() {
        let (_dir, kv) = store();
        kv.set("a", b"1").unwrap();
        fs::write(kv.path("b"), b"\xff\xffshort").unwrap();
        fs::write(kv.dir.join("notes.txt"), b"x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", kv.path("c")).unwrap();
        assert_eq!((kv.get("b"), kv.get("c")), (Ok(None), Ok(None)));
        assert_eq!(kv.keys(""), Ok(vec!["a".to_owned()]));
    }
}
