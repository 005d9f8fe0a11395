//! The object store: commits and trees by their ids.
//!
//! [`Objects`] finds an object loose or in a pack, in the repository's own store
//! or in one it borrows from. Contents of files are read from it only to count their lines. Each
//! object may have [`MAX_OBJECT`] bytes, and all that is decompressed together
//! [`MAX_WORK`], so that a few small files cannot become a great deal of work.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    GitError, ObjectId, Repository,
    id::HashKind,
    inflate::{apply_delta, compressed_bound, inflate},
    pack::{Form, Pack},
    read,
};

/// The largest commit or tree that is read, in bytes.
const MAX_OBJECT: usize = 8 << 20;
/// How many bytes are decompressed or copied altogether.
const MAX_WORK: usize = 256 << 20;
/// How many bytes of deltas are held for one object.
const MAX_HELD: usize = 32 << 20;
/// How many deltas an object may be made of. Git makes at most 50 by default.
const MAX_DELTAS: usize = 4_096;
/// How many stores may borrow from each other, and how many packs are opened.
const MAX_STORES: usize = 16;
const MAX_PACKS: usize = 2_000;
/// The largest list of stores that is read, in bytes.
const MAX_ALTERNATES: u64 = 64 << 10;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    Tree,
    Other,
}

/// The objects of a repository.
#[derive(Debug)]
pub(super) struct Objects {
    stores: Vec<PathBuf>,
    packs: Vec<Pack>,
    hash: HashKind,
    work: Cell<usize>,
    limit: Duration,
    deadline: Instant,
}

impl Repository {
    /// Opens the object store, for at most so long.
    pub(super) fn objects(&self, limit: Duration) -> Result<Objects, GitError> {
        let stores = stores(self.common_dir.join("objects"))?;
        let mut packs = Vec::new();
        for store in &stores {
            for path in indexes(&store.join("pack"))? {
                if packs.len() == MAX_PACKS {
                    return Err(GitError::damaged(store, "it has more than 2000 packs"));
                }
                // A pack may be replaced by another while they are listed.
                match Pack::open(&path, self.hash) {
                    Err(GitError::Read { source, .. }) if read::is_absent(&source) => {}
                    pack => packs.push(pack?),
                }
            }
        }
        let deadline = Instant::now() + limit;
        Ok(Objects { stores, packs, hash: self.hash, work: Cell::new(0), limit, deadline })
    }
}

impl Objects {
    /// Says how many objects the packs have.
    pub(super) fn packed(&self) -> u64 {
        self.packs.iter().map(|pack| u64::from(pack.count)).sum()
    }

    /// Reads an object; nothing where the repository does not have it.
    pub(super) fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>, GitError> {
        if Instant::now() > self.deadline {
            return Err(GitError::TimedOut { limit: self.limit });
        }
        for (number, pack) in self.packs.iter().enumerate() {
            if let Some(offset) = pack.find(id)? {
                return self.unpack(number, offset).map(Some);
            }
        }
        for store in &self.stores {
            if let Some(found) = self.loose(store, id)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn loose(&self, store: &Path, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>, GitError> {
        let hex = id.to_string();
        let (directory, name) = hex.split_at(2);
        let path = store.join(directory).join(name);
        let compressed = match read::read(&path, compressed_bound(MAX_OBJECT) as u64) {
            Err(error) if read::is_absent(&error) => return Ok(None),
            compressed => compressed.map_err(GitError::read(&path))?,
        };
        self.spend(MAX_OBJECT.min(compressed.len().saturating_mul(16)), &path)?;
        let object = inflate(&compressed, MAX_OBJECT).and_then(|data| {
            let end = memchr::memchr(0, &data)?;
            let header = std::str::from_utf8(data.get(..end)?).ok()?;
            let (kind, size) = header.split_once(' ')?;
            let kind = match kind {
                "commit" => Kind::Commit,
                "tree" => Kind::Tree,
                _ => Kind::Other,
            };
            let content = data.get(end + 1..)?.to_vec();
            (size.parse() == Ok(content.len())).then_some((kind, content))
        });
        object.map(Some).ok_or_else(|| GitError::damaged(&path, "the object is damaged or too large"))
    }

    /// Reads an object of a pack: what it was made from, and the deltas since.
    fn unpack(&self, pack: usize, offset: u64) -> Result<(Kind, Vec<u8>), GitError> {
        let damaged =
            || GitError::damaged(Path::new("objects/pack"), "an object in a pack is damaged or too large");
        let (mut number, mut offset) = (pack, offset);
        let (mut deltas, mut held) = (Vec::new(), 0);
        let (kind, mut object) = loop {
            let pack = self.packs.get(number).ok_or_else(damaged)?;
            let found = pack.header(offset)?;
            held += found.size.min(MAX_OBJECT);
            if found.size > MAX_OBJECT || held > MAX_HELD || deltas.len() > MAX_DELTAS {
                return Err(damaged());
            }
            self.spend(found.size, Path::new("objects/pack"))?;
            let data = pack.data(&found)?;
            match found.form {
                Form::Whole(kind) => {
                    let kind = match kind {
                        1 => Kind::Commit,
                        2 => Kind::Tree,
                        _ => Kind::Other,
                    };
                    break (kind, data);
                }
                Form::DeltaAt(base) => {
                    deltas.push(data);
                    offset = base;
                }
                Form::DeltaOf(id) => {
                    deltas.push(data);
                    (number, offset) = self.place(&id)?.ok_or_else(damaged)?;
                }
            }
        };
        for delta in deltas.iter().rev() {
            self.spend(object.len(), Path::new("objects/pack"))?;
            object = apply_delta(&object, delta, MAX_OBJECT).ok_or_else(damaged)?;
        }
        Ok((kind, object))
    }

    fn place(&self, id: &ObjectId) -> Result<Option<(usize, u64)>, GitError> {
        for (number, pack) in self.packs.iter().enumerate() {
            if let Some(offset) = pack.find(id)? {
                return Ok(Some((number, offset)));
            }
        }
        Ok(None)
    }

    /// Counts work, and refuses more than there may be.
    fn spend(&self, bytes: usize, path: &Path) -> Result<(), GitError> {
        let spent = self.work.get().saturating_add(bytes);
        self.work.set(spent);
        if spent > MAX_WORK {
            return Err(GitError::damaged(path, "its objects take too much work to read"));
        }
        match Instant::now() > self.deadline {
            true => Err(GitError::TimedOut { limit: self.limit }),
            false => Ok(()),
        }
    }

    /// Returns what ids are made with.
    pub(super) fn hash(&self) -> HashKind {
        self.hash
    }
}

/// Lists a store and those it borrows from.
pub(super) fn stores(own: PathBuf) -> Result<Vec<PathBuf>, GitError> {
    let mut stores = vec![own];
    let mut next = 0;
    while let Some(store) = stores.get(next).cloned() {
        next += 1;
        let path = store.join("info/alternates");
        let text = match read::read(&path, MAX_ALTERNATES) {
            Err(error) if read::is_absent(&error) => continue,
            text => text.map_err(GitError::read(&path))?,
        };
        for line in
            String::from_utf8_lossy(&text).lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let other = store.join(line);
            if !stores.contains(&other) {
                stores.push(other);
            }
            if stores.len() > MAX_STORES {
                return Err(GitError::damaged(&path, "too many stores borrow from each other"));
            }
        }
    }
    Ok(stores)
}

/// Lists the indexes of the packs in a directory, sorted.
fn indexes(directory: &Path) -> Result<Vec<PathBuf>, GitError> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if read::is_absent(&error) => return Ok(Vec::new()),
        entries => entries.map_err(GitError::read(directory))?,
    };
    let paths = entries.flatten().take(MAX_PACKS * 8).map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "idx")).collect();
    paths.sort();
    Ok(paths)
}
