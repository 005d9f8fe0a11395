//! What a path leads to, where it is no file.

use std::{fmt, fs::FileType as StdFileType, os::unix::fs::FileTypeExt};

use rustix::fs::FileType;

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe: opening one waits for the other side.
    Pipe,
    /// A socket.
    Socket,
    /// A device that is read as a stream, such as `/dev/zero` or a terminal.
    CharacterDevice,
    /// A device that is read in blocks, such as a disk.
    BlockDevice,
    /// Something the system has no name for.
    Unknown,
}

impl fmt::Display for PathKind {
    /// Writes what it is, with its article: `a named pipe`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::CharacterDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::Unknown => "neither a file nor a directory",
        })
    }
}

impl From<FileType> for PathKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::BlockDevice => Self::BlockDevice,
            _ => Self::Unknown,
        }
    }
}

impl From<StdFileType> for PathKind {
    fn from(kind: StdFileType) -> Self {
        match kind {
            kind if kind.is_file() => Self::File,
            kind if kind.is_dir() => Self::Directory,
            kind if kind.is_symlink() => Self::Link,
            kind if kind.is_fifo() => Self::Pipe,
            kind if kind.is_socket() => Self::Socket,
            kind if kind.is_char_device() => Self::CharacterDevice,
            kind if kind.is_block_device() => Self::BlockDevice,
            _ => Self::Unknown,
        }
    }
}
