//! What a worker keeps of a log, for the day on which the log is lost.
//!
//! A [`LogMirror`] has every record that counted, one JSON object a line, each with a hash over itself and
//! all before it. A file that was changed in any byte is refused; a last line without an end is what a crash
//! leaves, and no record.

use std::{
    fs::{DirBuilder, File},
    io::{self, BufRead, BufReader, Cursor, Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{LogError, MAX_LOG_RECORD_BYTES};
use crate::{file::digest_of, locked::locked};
use samuel_fs::{PRIVATE_DIRECTORY, Root, found};

/// The version of the form of a mirror.
const MIRROR_VERSION: u32 = 1;
/// The longest line: a record, whose quotation marks and backslashes are escaped, and what is beside it.
const MAX_LINE_BYTES: u64 = 2 * MAX_LOG_RECORD_BYTES as u64 + 1_024;

/// Where a worker keeps the records that it has folded. One store has it at a time, and another one is refused
/// ([`LogError::MirrorHeld`]); clones are the same mirror.
#[derive(Clone, Debug)]
pub struct LogMirror(Kind);

#[derive(Clone, Debug)]
enum Kind {
    File { root: Root, path: PathBuf },
    Memory(Arc<Mutex<Vec<u8>>>),
}

/// A record as a mirror has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredRecord {
    /// Its number in the log that it was read from.
    pub number: u64,
    /// The record.
    pub record: String,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    mirror: u32,
    plan: String,
}

/// Every other line.
#[derive(Serialize, Deserialize)]
struct Line {
    number: u64,
    hash: String,
    record: String,
}

/// How a mirror ends.
pub(super) struct MirrorEnd {
    /// Where its last whole line ends, in bytes.
    good: u64,
    /// The hash of that line; nothing where there is none.
    chain: Option<String>,
    /// Whether something comes after it.
    is_torn: bool,
}

impl LogMirror {
    /// Names the mirror in a file. It is made, with its directory, when there is something to keep.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        Self(Kind::File { root: Root::new(directory), path })
    }

    /// Makes one in memory, which ends with its last clone: for tests, and for whoever only looks on.
    pub fn in_memory() -> Self {
        Self(Kind::Memory(Arc::default()))
    }

    /// Returns the records, oldest first, of a mirror of this plan.
    ///
    /// # Errors
    /// Returns [`LogError::Mirror`] for one that was changed, or is of another plan, and
    /// [`LogError::MirrorIo`] for one that cannot be read.
    pub fn records(&self, plan: &str) -> Result<Vec<MirroredRecord>, LogError> {
        let mut records = Vec::new();
        self.each(plan, |record| {
            records.push(record);
            Ok(())
        })?;
        Ok(records)
    }

    /// Gives each record to somebody, and returns how the mirror ends.
    pub(super) fn each(
        &self,
        plan: &str,
        mut take: impl FnMut(MirroredRecord) -> Result<(), LogError>,
    ) -> Result<MirrorEnd, LogError> {
        let mut end = MirrorEnd { good: 0, chain: None, is_torn: false };
        let Some(mut lines) = self.lines()? else { return Ok(end) };
        for line in 1.. {
            let mut bytes = Vec::new();
            let read = (&mut lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
            let length = read.map_err(|error| self.io("read", &error))?;
            if length == 0 {
                break;
            }
            let refuse = |reason: String| LogError::Mirror { path: self.path(), line, reason };
            let Some((b'\n', content)) = bytes.split_last() else {
                // A crash tears a line; it adds nothing to one, and changes nothing in it.
                is_torn_line(&bytes, plan, end.chain.as_deref()).map_err(refuse)?;
                end.is_torn = true;
                break;
            };
            let chain = match &end.chain {
                None => read_head(content, plan).map_err(refuse)?,
                Some(chain) => {
                    let (record, chain) = read_line(content, chain).map_err(refuse)?;
                    take(record)?;
                    chain
                }
            };
            end.chain = Some(chain);
            end.good += length as u64;
        }
        Ok(end)
    }

    fn lines(&self) -> Result<Option<Box<dyn BufRead>>, LogError> {
        Ok(match &self.0 {
            Kind::Memory(bytes) => Some(Box::new(Cursor::new(locked(bytes).clone()))),
            Kind::File { root, path } => {
                let file =
                    found(root.open(path)).map_err(|error| self.io("read", &io::Error::from(error)))?;
                file.map(|file| Box::new(BufReader::new(file)) as _)
            }
        })
    }

    /// Returns the file; a name for one that is in memory.
    pub(super) fn path(&self) -> PathBuf {
        match &self.0 {
            Kind::File { path, .. } => path.clone(),
            Kind::Memory(_) => PathBuf::from("(in memory)"),
        }
    }

    /// Returns what tells the mirror from others.
    pub(super) fn place(&self) -> PathBuf {
        match &self.0 {
            Kind::File { path, .. } => path.canonicalize().unwrap_or_else(|_| path.clone()),
            Kind::Memory(bytes) => PathBuf::from(format!("{:p}", Arc::as_ptr(bytes))),
        }
    }

    /// Returns the file, and the directory that it is in; nothing of one that is in memory.
    pub(super) fn file(&self) -> Option<(&Root, &Path)> {
        match &self.0 {
            Kind::File { root, path } => Some((root, path)),
            Kind::Memory(_) => None,
        }
    }

    pub(super) fn io(&self, action: &'static str, error: &io::Error) -> LogError {
        LogError::MirrorIo { action, path: self.path(), reason: error.to_string() }
    }
}

/// Reads the first line, and returns its hash.
fn read_head(content: &[u8], plan: &str) -> Result<String, String> {
    let head: Head = serde_json::from_slice(content).map_err(|error| error.to_string())?;
    if head.mirror != MIRROR_VERSION {
        return Err(format!(
            "it has the version {}, and this version of Samuel reads {MIRROR_VERSION}",
            head.mirror
        ));
    }
    if head.plan != plan {
        return Err(format!("it is of the plan {:?}", head.plan));
    }
    is_as_written(content, &head)?;
    Ok(digest_of([content]))
}

/// Reads another line, which comes after one with a hash, and returns its own.
fn read_line(content: &[u8], before: &str) -> Result<(MirroredRecord, String), String> {
    let line: Line = serde_json::from_slice(content).map_err(|error| error.to_string())?;
    if line.hash != hash(before, line.number, &line.record) {
        return Err("its hash is another one".to_owned());
    }
    is_as_written(content, &line)?;
    Ok((MirroredRecord { number: line.number, record: line.record }, line.hash))
}

/// Refuses a last line without an end that is not the beginning of one.
fn is_torn_line(content: &[u8], plan: &str, before: Option<&str>) -> Result<(), String> {
    match serde_json::from_slice::<serde_json::Value>(content) {
        Err(error) if error.is_eof() => Ok(()),
        Err(error) => Err(error.to_string()),
        Ok(_) => match before {
            None => read_head(content, plan).map(drop),
            Some(before) => read_line(content, before).map(drop),
        },
    }
}

/// Refuses a line that says the same in other bytes.
fn is_as_written(content: &[u8], line: &impl Serialize) -> Result<(), String> {
    let written = serde_json::to_vec(line).map_err(|error| error.to_string())?;
    if written == content { Ok(()) } else { Err("it is written otherwise".to_owned()) }
}

fn hash(before: &str, number: u64, record: &str) -> String {
    digest_of([before.as_bytes(), &number.to_le_bytes(), record.as_bytes()])
}

/// Appends to a mirror.
#[derive(Debug)]
pub(super) struct MirrorWriter {
    mirror: LogMirror,
    file: Option<File>,
    /// How much of the mirror stands.
    good: u64,
    /// Whether something else may come after that.
    is_torn: bool,
    chain: String,
    /// What is still to be written.
    waiting: Vec<u8>,
    is_synced: bool,
    /// Whether the file's name is durable.
    has_name: bool,
    /// Whether it could not be synced once: the system may say the next time that it was, and have forgotten it.
    is_doubtful: bool,
    #[cfg(test)]
    pub(super) fault: Option<SyncFault>,
}

/// What fails where a mirror is to be made durable.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncFault {
    /// The directory cannot be opened.
    Open,
    /// The system could not write.
    Write,
}

impl MirrorWriter {
    /// Goes on with a mirror that was read to its end.
    pub(super) fn after(mirror: LogMirror, plan: &str, end: MirrorEnd) -> Self {
        let mut waiting = Vec::new();
        let chain = end.chain.unwrap_or_else(|| {
            let head = Head { mirror: MIRROR_VERSION, plan: plan.to_owned() };
            waiting = serde_json::to_vec(&head).unwrap_or_default();
            let chain = digest_of([&*waiting]);
            waiting.push(b'\n');
            chain
        });
        let MirrorEnd { good, is_torn, .. } = end;
        Self {
            mirror,
            file: None,
            good,
            is_torn,
            chain,
            waiting,
            is_synced: true,
            has_name: false,
            is_doubtful: false,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Begins anew in the place of what a mirror has. What is there stays until the first record is written.
    pub(super) fn anew(mirror: LogMirror, plan: &str) -> Self {
        Self::after(mirror, plan, MirrorEnd { good: 0, chain: None, is_torn: true })
    }

    /// Returns the mirror.
    pub(super) fn mirror(&self) -> &LogMirror {
        &self.mirror
    }

    /// Adds a record, which [`flush`](Self::flush) writes.
    pub(super) fn push(&mut self, number: u64, record: &str) {
        let line = Line { number, hash: hash(&self.chain, number, record), record: record.to_owned() };
        self.waiting.extend(serde_json::to_vec(&line).unwrap_or_default());
        self.waiting.push(b'\n');
        self.chain = line.hash;
    }

    /// Says whether it is not known any more what of the mirror is durable.
    pub(super) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Writes what was added; durably where somebody is told of it. What could not be written is written by the next call; what
    /// could not be synced makes the mirror [doubtful](Self::is_doubtful).
    ///
    /// # Errors
    /// Returns [`LogError::MirrorIo`].
    pub(super) fn flush(&mut self, is_told: bool) -> Result<(), LogError> {
        if let Kind::Memory(bytes) = &self.mirror.0 {
            let mut bytes = locked(bytes);
            bytes.truncate(usize::try_from(self.good).unwrap_or(usize::MAX));
            bytes.append(&mut self.waiting);
            self.good = bytes.len() as u64;
            return Ok(());
        }
        if self.waiting.is_empty() && (self.is_synced || !is_told) {
            return Ok(());
        }
        let written = self.write();
        self.is_torn |= written.is_err();
        written.map_err(|error| self.mirror.io("write", &error))?;
        if is_told {
            self.sync().map_err(|error| self.mirror.io("sync", &error))?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let Some((root, path)) = self.mirror.file() else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(root.path())?;
                let file = root.open_own(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
                self.file.insert(file)
            }
        };
        if self.is_torn {
            file.set_len(self.good)?;
            self.is_torn = false;
        }
        if !self.waiting.is_empty() {
            self.is_synced = false;
            file.write_all(&self.waiting)?;
            self.good += self.waiting.len() as u64;
            self.waiting.clear();
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let (Some((root, path)), Some(file)) = (self.mirror.file(), &self.file) else { return Ok(()) };
        // Only what the system was asked to write can it have forgotten; a directory that cannot be opened can later.
        if !self.has_name {
            #[cfg(test)]
            fails(self.fault, SyncFault::Open)?;
            let directory = root.parent_of(path)?;
            let synced = rustix::fs::fsync(&directory);
            self.is_doubtful |= synced.is_err();
            synced?;
            self.has_name = true;
        }
        let synced = file.sync_data();
        #[cfg(test)]
        let synced = synced.and_then(|()| fails(self.fault, SyncFault::Write));
        self.is_doubtful |= synced.is_err();
        synced?;
        self.is_synced = true;
        Ok(())
    }
}

#[cfg(test)]
fn fails(fault: Option<SyncFault>, at: SyncFault) -> io::Result<()> {
    if fault == Some(at) { Err(io::Error::other("input/output error")) } else { Ok(()) }
}
