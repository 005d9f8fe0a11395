//! Compiled components, kept on disk.
//!
//! Compiling takes up to half a second, loading what was compiled a
//! millisecond. An entry is native code that is run as it is, and reading one
//! that was damaged is no safer: so each is signed with a [`Key`] that lies
//! elsewhere, over the component and the engine it is of, and only the bytes whose
//! signature was checked are read. Whatever else is found under its name is
//! removed, and the component compiled anew. Without a key nothing is kept.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use super::{
    WasmError,
    key::{Key, TAG_BYTES},
};
use crate::{
    fs::{
        Manner, Root,
        private::{self, Reach},
    },
    model::hex,
};

/// The most entries that are kept, and the most bytes; the oldest go first.
const MAX_ENTRIES: usize = 128;
const MAX_BYTES: u64 = 2 << 30;
/// The largest entry that is kept or read, in bytes.
const MAX_ENTRY_BYTES: u64 = 512 << 20;
/// How many entries are looked at when room is made.
const MAX_LOOKED_AT: usize = 10_000;

/// A directory of compiled components.
#[derive(Debug)]
pub(super) struct Cache {
    dir: PathBuf,
    key: Key,
    /// Tells entries of this engine from those of others.
    engine: u64,
}

impl Cache {
    /// Opens a directory that is nobody else's, and makes it if need be.
    pub(super) fn open(dir: &Path, key: Key, engine: &Engine) -> Result<Self, WasmError> {
        match private::make(dir) {
            Ok(Reach::Private) => Ok(Self { dir: dir.to_owned(), key, engine: hash(engine) }),
            Ok(Reach::Open) => Err(WasmError::CacheOpen { path: dir.to_owned() }),
            Err(source) => Err(WasmError::CacheDir { path: dir.to_owned(), source }),
        }
    }

    /// Returns what was compiled from these bytes before.
    pub(super) fn get(&self, engine: &Engine, bytes: &[u8]) -> Option<Component> {
        let component = digest_of(bytes);
        let path = self.entry(&component);
        let found = match private::read(&path, MAX_ENTRY_BYTES) {
            Ok(found) => found?,
            Err(error) => {
                self.discard(&path, &error);
                return None;
            }
        };
        let loaded = match found.split_at_checked(TAG_BYTES) {
            Some((tag, code)) if self.key.verify(tag, self.engine, &component, code) => load(engine, code),
            _ => Err(wasmtime::Error::msg("its signature is not right")),
        };
        loaded.map_err(|error| self.discard(&path, &error)).ok()
    }

    /// Keeps what was compiled from these bytes. The cache only saves time, so
    /// what cannot be kept is compiled again.
    pub(super) fn put(&self, bytes: &[u8], component: &Component) {
        let kept = component.serialize().map_err(io::Error::other).and_then(|code| {
            let size = (TAG_BYTES + code.len()) as u64;
            if size > MAX_ENTRY_BYTES {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large to be kept"));
            }
            self.make_room(size)?;
            let digest = digest_of(bytes);
            let tag = self.key.sign(self.engine, &digest, &code);
            Ok(Root::new(&self.dir).write(&self.entry(&digest), [&tag[..], &code], &Manner::PRIVATE)?)
        });
        if let Err(error) = kept {
            tracing::warn!(dir = %self.dir.display(), %error, "a compiled component is not kept");
        }
    }

    /// Removes what cannot be an entry of this cache.
    fn discard(&self, path: &Path, reason: &dyn std::fmt::Display) {
        let path_shown = path.display();
        tracing::warn!(path = %path_shown, %reason, "a compiled component is not used, and is compiled anew");
        if let Err(error) = fs::remove_file(path) {
            tracing::debug!(path = %path_shown, %error, "it cannot be removed");
        }
    }

    fn entry(&self, component: &[u8; 32]) -> PathBuf {
        self.dir.join(format!("{}-{:016x}.cwasm", hex(component), self.engine))
    }

    /// Removes the oldest files until one more of some bytes fits in.
    fn make_room(&self, size: u64) -> io::Result<()> {
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(&self.dir)?
            .take(MAX_LOOKED_AT)
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((found.modified().ok()?, found.len(), entry.path()))
            })
            .collect();
        entries.sort();
        let (mut count, mut bytes) = (entries.len() + 1, size);
        bytes += entries.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, path) in entries {
            if count <= MAX_ENTRIES && bytes <= MAX_BYTES {
                break;
            }
            fs::remove_file(path)?;
            (count, bytes) = (count - 1, bytes - size);
        }
        Ok(())
    }
}

fn digest_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns what tells engines apart whose compiled code differs.
fn hash(engine: &Engine) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

#[expect(unsafe_code, reason = "compiled code can only be loaded on trust, see below")]
fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: these very bytes were signed with a key that only this user can
    // read, by `put`, which had them from an engine of the same hash. They are in
    // memory that nobody else writes to.
    unsafe { Component::deserialize(engine, code) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const EMPTY: &str = "(component)";

    fn open(dir: &Path, engine: &Engine) -> Result<Cache, WasmError> {
        Cache::open(&dir.join("cache"), Key::open(&dir.join("state")).unwrap(), engine)
    }

    #[test]
    fn a_component_is_found_by_its_bytes_and_its_engine() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = open(dir.path(), &engine).unwrap();
        let bytes = wat::parse_str(EMPTY).unwrap();
        assert!(cache.get(&engine, &bytes).is_none());
        cache.put(&bytes, &Component::new(&engine, &bytes).unwrap());
        assert!(cache.get(&engine, &bytes).is_some());
        assert!(cache.get(&engine, b"other").is_none());

        let mut config = wasmtime::Config::new();
        config.epoch_interruption(true);
        let other = Engine::new(&config).unwrap();
        let others = open(dir.path(), &other).unwrap();
        assert!(others.get(&other, &bytes).is_none());
    }

    #[test]
    fn an_entry_that_is_damaged_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = open(dir.path(), &engine).unwrap();
        let path = cache.entry(&digest_of(b"x"));
        fs::write(&path, b"no code at all").unwrap();
        assert!(cache.get(&engine, b"x").is_none());
        assert!(!path.exists());
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let key = Key::open(&dir.path().join("state")).unwrap();
        let refused = Cache::open(&open, key.clone(), &Engine::default());
        assert!(matches!(refused, Err(WasmError::CacheOpen { .. })), "{refused:?}");

        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&open, &link).unwrap();
        assert!(matches!(Cache::open(&link, key, &Engine::default()), Err(WasmError::CacheOpen { .. })));
    }

    #[test]
    fn the_oldest_entries_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = open(dir.path(), &engine).unwrap();
        for number in 0..MAX_ENTRIES {
            fs::write(cache.dir.join(format!("{number:04}")), b"").unwrap();
        }
        let bytes = wat::parse_str(EMPTY).unwrap();
        cache.put(&bytes, &Component::new(&engine, &bytes).unwrap());
        assert_eq!(fs::read_dir(&cache.dir).unwrap().count(), MAX_ENTRIES);
        assert!(cache.get(&engine, &bytes).is_some());
    }
}
