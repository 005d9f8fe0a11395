//! A pack: many objects in one file, with an index beside it.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use super::{
    GitError, ObjectId,
    id::HashKind,
    inflate::{compressed_bound, inflate},
    read,
};

/// The start of an index of version 2, the only one that is written today.
const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
/// Where the first table of object ids begins: after 256 counts.
const IDS: u64 = 8 + 256 * 4;
/// The longest header of an object: a size, and where its base is.
const MAX_HEADER: usize = 64;

/// A pack that is open.
#[derive(Debug)]
pub(super) struct Pack {
    path: PathBuf,
    index: File,
    data: File,
    hash: HashKind,
    /// How many objects it has.
    pub(super) count: u32,
    data_len: u64,
}

/// An object as a pack has it.
pub(super) struct Packed {
    pub(super) form: Form,
    /// How large its own data is, in bytes: the delta's, where it is one.
    pub(super) size: usize,
    /// Where its compressed data begins.
    data: u64,
}

/// How an object is given.
pub(super) enum Form {
    /// In full: the number of its type.
    Whole(u8),
    /// As a delta of the object at a place in the same pack.
    DeltaAt(u64),
    /// As a delta of an object.
    DeltaOf(ObjectId),
}

impl Pack {
    /// Opens a pack by the path of its index.
    pub(super) fn open(path: &Path, hash: HashKind) -> Result<Self, GitError> {
        let (index, _) = read::open(path).map_err(GitError::read(path))?;
        let data_path = path.with_extension("pack");
        let (data, metadata) = read::open(&data_path).map_err(GitError::read(&data_path))?;
        let path = path.to_owned();
        let mut pack = Self { path, index, data, hash, count: 0, data_len: metadata.len() };
        let mut magic = [0; 8];
        pack.read_index(0, &mut magic)?;
        if magic != MAGIC {
            let format = "an index of packs other than version 2".to_owned();
            return Err(GitError::Unsupported { path: pack.path, format });
        }
        pack.count = pack.number(IDS - 4)?;
        Ok(pack)
    }

    /// Finds where an object is; nothing where it is not in this pack.
    pub(super) fn find(&self, id: &ObjectId) -> Result<Option<u64>, GitError> {
        let first = u64::from(id.as_bytes().first().copied().unwrap_or_default());
        let mut low = if first == 0 { 0 } else { self.number(8 + (first - 1) * 4)? };
        let mut high = self.number(8 + first * 4)?.min(self.count);
        let length = self.hash.len() as u64;
        let mut found = [0; 32];
        let found = found.get_mut(..self.hash.len()).unwrap_or_default();
        while low < high {
            let middle = low + (high - low) / 2;
            self.read_index(IDS + u64::from(middle) * length, found)?;
            match (*found).cmp(id.as_bytes()) {
                std::cmp::Ordering::Equal => return self.offset(middle).map(Some),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// Returns where the object of a place in the index is.
    fn offset(&self, place: u32) -> Result<u64, GitError> {
        let count = u64::from(self.count);
        // After the ids come a checksum and an offset for each.
        let offsets = IDS + count * (self.hash.len() as u64 + 4);
        let offset = self.number(offsets + u64::from(place) * 4)?;
        if offset & 1 << 31 == 0 {
            return Ok(u64::from(offset));
        }
        // Large ones are in a table behind.
        let large = offsets + count * 4 + u64::from(offset & !(1 << 31)) * 8;
        Ok(u64::from(self.number(large)?) << 32 | u64::from(self.number(large + 4)?))
    }

    /// Reads what stands before the data of the object at a place.
    pub(super) fn header(&self, offset: u64) -> Result<Packed, GitError> {
        let bytes = self.read_data(offset, MAX_HEADER)?;
        let mut left = bytes.iter().copied();
        let parsed = (|| {
            let first = left.next()?;
            let (kind, mut size, mut shift) = (first >> 4 & 7, u64::from(first & 15), 4);
            let mut byte = first;
            while byte & 0x80 != 0 {
                byte = left.next()?;
                size |= u64::from(byte & 0x7f).checked_shl(shift)?;
                shift += 7;
            }
            let form = match kind {
                1..=4 => Form::Whole(kind),
                6 => {
                    let distance = distance(&mut left)?;
                    Form::DeltaAt(offset.checked_sub(distance).filter(|_| distance > 0)?)
                }
                7 => {
                    let id: Vec<u8> = left.by_ref().take(self.hash.len()).collect();
                    Form::DeltaOf(ObjectId::of(&id))
                }
                _ => return None,
            };
            let read = bytes.len() - left.len();
            Some(Packed { form, size: usize::try_from(size).ok()?, data: offset + read as u64 })
        })();
        parsed.ok_or_else(|| self.damaged("an object in the pack has no header"))
    }

    /// Decompresses the data of an object, whose size the caller has checked.
    pub(super) fn data(&self, object: &Packed) -> Result<Vec<u8>, GitError> {
        let compressed = self.read_data(object.data, compressed_bound(object.size))?;
        let data = inflate(&compressed, object.size).filter(|data| data.len() == object.size);
        data.ok_or_else(|| self.damaged("an object in the pack is damaged"))
    }

    /// Reads at most so many bytes of the pack.
    fn read_data(&self, offset: u64, length: usize) -> Result<Vec<u8>, GitError> {
        let left = usize::try_from(self.data_len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(left)];
        read_exact_at(&self.data, &mut bytes, offset)
            .map_err(GitError::read(&self.path.with_extension("pack")))?;
        Ok(bytes)
    }

    fn read_index(&self, offset: u64, bytes: &mut [u8]) -> Result<(), GitError> {
        read_exact_at(&self.index, bytes, offset).map_err(GitError::read(&self.path))
    }

    fn number(&self, offset: u64) -> Result<u32, GitError> {
        let mut bytes = [0; 4];
        self.read_index(offset, &mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn damaged(&self, problem: &'static str) -> GitError {
        GitError::damaged(&self.path.with_extension("pack"), problem)
    }
}

/// Reads how far before an object its base is.
fn distance(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut byte = bytes.next()?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = bytes.next()?;
        distance = distance.checked_add(1)?.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
    }
    Some(distance)
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}
