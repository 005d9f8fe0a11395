//! Compiled components, kept on disk.
//!
//! Compiling takes up to half a second, loading what was compiled a
//! millisecond. An entry is native code that is run as it is, so the directory
//! must be nobody else's: it is made with mode 0700, and one that is not is
//! refused. An entry's name holds the digest of the component and the hash of
//! the engine, so that another component or another engine never finds it.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use super::WasmError;

/// The most entries that are kept; the oldest go first.
const MAX_ENTRIES: usize = 128;

/// A directory of compiled components.
#[derive(Debug)]
pub(super) struct Cache {
    dir: PathBuf,
    /// Tells entries of this engine from those of others.
    engine: u64,
}

impl Cache {
    /// Opens a directory that is nobody else's, and makes it if need be.
    pub(super) fn open(dir: &Path, engine: &Engine) -> Result<Self, WasmError> {
        let failed = |source| WasmError::CacheDir { path: dir.to_owned(), source };
        if let Some(parent) = dir.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
        }
        match fs::DirBuilder::new().mode(0o700).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        let found = fs::symlink_metadata(dir).map_err(failed)?;
        let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || found.mode() & 0o077 != 0 {
            return Err(WasmError::CacheOpen { path: dir.to_owned() });
        }
        Ok(Self { dir: dir.to_owned(), engine: hash(engine) })
    }

    /// Returns what was compiled from these bytes before.
    pub(super) fn get(&self, engine: &Engine, bytes: &[u8]) -> Option<Component> {
        let path = self.entry(bytes);
        let entry = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        if entry.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
        match load(engine, &path) {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a compiled component is left out");
                None
            }
        }
    }

    /// Keeps what was compiled from these bytes. The cache only saves time, so
    /// what cannot be kept is compiled again.
    pub(super) fn put(&self, bytes: &[u8], component: &Component) {
        let kept = component.serialize().map_err(io::Error::other).and_then(|code| {
            self.drop_oldest()?;
            let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
            io::Write::write_all(&mut file, &code)?;
            file.as_file().sync_all()?;
            file.persist(self.entry(bytes)).map_err(io::Error::from)
        });
        if let Err(error) = kept {
            tracing::warn!(dir = %self.dir.display(), %error, "a compiled component is not kept");
        }
    }

    fn entry(&self, bytes: &[u8]) -> PathBuf {
        let digest = Sha256::digest(bytes);
        let mut name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        name.push_str(&format!("-{:016x}.cwasm", self.engine));
        self.dir.join(name)
    }

    fn drop_oldest(&self) -> io::Result<()> {
        let mut entries: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.dir)?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        entries.sort();
        let excess = (entries.len() + 1).saturating_sub(MAX_ENTRIES);
        entries.iter().take(excess).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

/// Returns what tells engines apart whose compiled code differs.
fn hash(engine: &Engine) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

#[expect(unsafe_code, reason = "compiled code can only be loaded on trust, see below")]
fn load(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written by this program's user into a directory
    // that nobody else can write to, by an engine of the same hash, whole and
    // under another name first. It is never changed afterwards.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const EMPTY: &str = "(component)";

    #[test]
    fn a_component_is_found_by_its_bytes_and_its_engine() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = Cache::open(&dir.path().join("cache"), &engine).unwrap();
        let bytes = wat::parse_str(EMPTY).unwrap();
        assert!(cache.get(&engine, &bytes).is_none());
        cache.put(&bytes, &Component::new(&engine, &bytes).unwrap());
        assert!(cache.get(&engine, &bytes).is_some());
        assert!(cache.get(&engine, b"other").is_none());

        let mut config = wasmtime::Config::new();
        config.epoch_interruption(true);
        let other = Engine::new(&config).unwrap();
        let others = Cache::open(&dir.path().join("cache"), &other).unwrap();
        assert!(others.get(&other, &bytes).is_none());
    }

    #[test]
    fn an_entry_that_is_damaged_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = Cache::open(&dir.path().join("cache"), &engine).unwrap();
        fs::write(cache.entry(b"x"), b"no code at all").unwrap();
        assert!(cache.get(&engine, b"x").is_none());
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = Cache::open(&open, &Engine::default());
        assert!(matches!(refused, Err(WasmError::CacheOpen { .. })), "{refused:?}");

        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&open, &link).unwrap();
        assert!(matches!(Cache::open(&link, &Engine::default()), Err(WasmError::CacheOpen { .. })));
    }

    #[test]
    fn the_oldest_entries_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = Cache::open(&dir.path().join("cache"), &engine).unwrap();
        for number in 0..MAX_ENTRIES {
            fs::write(cache.dir.join(format!("{number:04}")), b"").unwrap();
        }
        let bytes = wat::parse_str(EMPTY).unwrap();
        cache.put(&bytes, &Component::new(&engine, &bytes).unwrap());
        assert_eq!(fs::read_dir(&cache.dir).unwrap().count(), MAX_ENTRIES);
        assert!(cache.get(&engine, &bytes).is_some());
    }
}
