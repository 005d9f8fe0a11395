//! The key that compiled components are signed with.
//!
//! It is made once for a user and lies in the private directory that the caller
//! names. Whoever cannot read it cannot make an entry of the cache that is run.

use std::{fmt, fs, io, path::Path};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::fs::{Manner, Root, private};

/// The name of the key's file.
const KEY_FILE: &str = "component-cache.key";
/// How many bytes the key has.
const KEY_BYTES: usize = 32;
/// How much is read of a file in its place, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 10;
/// How many bytes a signature has.
pub(super) const TAG_BYTES: usize = 32;
/// What is signed is for nothing else.
const PURPOSE: &[u8] = b"samuel compiled component 1\0";

/// A key that signs.
#[derive(Clone)]
pub(super) struct Key(Hmac<Sha256>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Reads the key in a private directory, and makes both if need be.
    ///
    /// # Errors
    /// Returns an error where the directory or the key is not this user's
    /// alone, or cannot be made.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        private::require(directory)?;
        let path = directory.join(KEY_FILE);
        if let Some(key) = read(&path)? {
            return Ok(Self::of(&key));
        }
        let made = make(directory, &path);
        match made {
            // Another process was quicker, and its key is the one.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let key = read(&path)?.ok_or_else(|| io::Error::other("the key was removed at once"))?;
        Ok(Self::of(&key))
    }

    fn of(key: &[u8; KEY_BYTES]) -> Self {
        Self(Hmac::new_from_slice(key).expect("a key of HMAC may have any length"))
    }

    /// Signs what was compiled of a component by an engine.
    pub(super) fn sign(&self, engine: u64, component: &[u8; 32], code: &[u8]) -> [u8; TAG_BYTES] {
        self.over(engine, component, code).finalize().into_bytes().into()
    }

    /// Says whether a signature is of this key, in constant time.
    pub(super) fn verify(&self, tag: &[u8], engine: u64, component: &[u8; 32], code: &[u8]) -> bool {
        self.over(engine, component, code).verify_slice(tag).is_ok()
    }

    /// All but the last part has a fixed length, so that no two of them read
    /// alike.
    fn over(&self, engine: u64, component: &[u8; 32], code: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for part in [PURPOSE, &engine.to_le_bytes(), component, code] {
            mac.update(part);
        }
        mac
    }
}

/// Reads a key; nothing where there is none. One of another length is removed,
/// to be made anew.
fn read(path: &Path) -> io::Result<Option<[u8; KEY_BYTES]>> {
    let Some(bytes) = private::read(path, MAX_FILE_BYTES)? else { return Ok(None) };
    match bytes.try_into() {
        Ok(key) => Ok(Some(key)),
        Err(_) => fs::remove_file(path).map(|()| None),
    }
}

/// Makes a key, which is there as a whole or not at all.
fn make(directory: &Path, path: &Path) -> io::Result<()> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key)?;
    Ok(Root::new(directory).write_new(path, &key, &Manner::PRIVATE)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        os::unix::fs::{MetadataExt as _, PermissionsExt as _},
        thread,
    };

    use super::*;

    #[test]
    fn a_key_is_made_once_and_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let signed = Key::open(&state).unwrap().sign(1, &[2; 32], b"code");
        let again = Key::open(&state).unwrap();
        assert!(again.verify(&signed, 1, &[2; 32], b"code"));
        let found = fs::metadata(state.join(KEY_FILE)).unwrap();
        assert_eq!((found.mode() & 0o777, found.len()), (0o600, 32));
        for (engine, component, code) in [(2, [2; 32], "code"), (1, [3; 32], "code"), (1, [2; 32], "codes")] {
            assert!(!again.verify(&signed, engine, &component, code.as_bytes()));
        }
        assert!(!again.verify(&[], 1, &[2; 32], b"code"));
        let other = Key::open(&dir.path().join("other")).unwrap();
        assert!(!other.verify(&signed, 1, &[2; 32], b"code"));
    }

    #[test]
    fn processes_that_start_together_have_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let tags: Vec<_> = thread::scope(|scope| {
            let open = || Key::open(dir.path()).unwrap().sign(1, &[2; 32], b"code");
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(tags.windows(2).all(|two| two.first() == two.last()));
    }

    #[test]
    fn a_key_that_others_could_read_is_refused_and_a_short_one_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(KEY_FILE);
        Key::open(dir.path()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Key::open(dir.path()).unwrap_err().to_string().contains("this user's alone"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "short").unwrap();
        Key::open(dir.path()).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().len(), 32);
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        assert!(Key::open(dir.path()).is_err());
    }
}
