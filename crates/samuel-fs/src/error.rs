//! Why a file is not read or written.

use std::{ffi::OsString, fmt, io, path::PathBuf};

use super::PathKind;

/// Why a file is not read or written. The texts follow the file's name, which
/// the caller knows: "cannot read samuel.lock: it is a named pipe, not a file".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is something else than a regular file.
    #[error("it is {kind}, not a file")]
    NotAFile {
        /// What it is.
        kind: PathKind,
    },
    /// On the way to it, or in its place, is something else than a directory.
    #[error("\"{}\" is {kind}, not a directory", path.display())]
    NotADirectory {
        /// What stands in the way.
        path: PathBuf,
        /// What that is.
        kind: PathKind,
    },
    /// It is longer than what is read of such a file.
    #[error("it is larger than {}, and no more is read", Size(*limit))]
    TooLarge {
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// A link on the way to it leads out of the project.
    #[error("the link \"{}\" leads out of the project, to \"{}\"", link.display(), target.display())]
    Outside {
        /// The link.
        link: PathBuf,
        /// Where it points, as it stands in the link.
        target: PathBuf,
    },
    /// A link on the way to it leads back to itself, or through too many links.
    #[error("the link \"{}\" leads to itself or through too many links", link.display())]
    LinkLoop {
        /// The link.
        link: PathBuf,
    },
    /// It is a link, and there is nothing where that leads.
    #[error("it is a link to \"{}\", which does not exist", target.display())]
    Dangling {
        /// Where it points, as it stands in the link.
        target: PathBuf,
    },
    /// The path itself is none of the project's.
    #[error("\"{}\" is not in \"{}\"", path.display(), root.display())]
    Elsewhere {
        /// The path.
        path: PathBuf,
        /// The directory it should be in.
        root: PathBuf,
    },
    /// Another directory is in the place of the directory that the path is resolved beneath.
    #[error("another directory is in the place of \"{}\"", root.display())]
    OtherRoot {
        /// The path of the directory.
        root: PathBuf,
    },
    /// What a crash left behind beside it cannot be removed.
    #[error("\"{}\" is in the way", name.display())]
    Leftover {
        /// Its name, in the directory of the file.
        name: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// What stands in its place cannot be renamed, since names for that are taken by what was renamed before.
    #[error("what stands in its place cannot be moved aside: all names up to \"{}\" are taken", last.display())]
    NoNameLeft {
        /// The last name that was tried, in the directory of the file.
        last: OsString,
    },
    /// It is no UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileError {
    /// Returns the kind of the error in the system's terms.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotAFile { .. } => io::ErrorKind::InvalidInput,
            Self::NotADirectory { .. } => io::ErrorKind::NotADirectory,
            Self::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            Self::Outside { .. } | Self::Elsewhere { .. } => io::ErrorKind::PermissionDenied,
            Self::LinkLoop { .. } => io::Error::from(rustix::io::Errno::LOOP).kind(),
            Self::Dangling { .. } => io::ErrorKind::InvalidInput,
            Self::NoNameLeft { .. } => io::ErrorKind::AlreadyExists,
            Self::NotUtf8 => io::ErrorKind::InvalidData,
            Self::OtherRoot { .. } => io::ErrorKind::Other,
            Self::Io(error) | Self::Leftover { source: error, .. } => error.kind(),
        }
    }

    /// Returns what to do next, one line; nothing where the system refused.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NotAFile { .. } | Self::NotADirectory { .. } => {
                Some("Remove it, or restore what belongs there.")
            }
            Self::TooLarge { .. } => Some("Remove it, or make it smaller."),
            Self::Outside { .. } | Self::Elsewhere { .. } => {
                Some("Put what it leads to into the project, or remove the link.")
            }
            Self::LinkLoop { .. } => Some("Remove the link."),
            Self::Dangling { .. } => Some("Restore what the link leads to, or remove the link."),
            Self::NoNameLeft { .. } => Some("Remove what was moved aside there before."),
            Self::NotUtf8 => Some("Save it as UTF-8."),
            Self::OtherRoot { .. } => Some("Move the original directory back to this path."),
            Self::Io(_) | Self::Leftover { .. } => None,
        }
    }

    /// Returns what to do next about an error of the system that was such an
    /// error, or that says of itself what helps.
    pub fn help_of(error: &io::Error) -> Option<&'static str> {
        if error.raw_os_error() == Some(rustix::io::Errno::FBIG.raw_os_error()) {
            return Some(
                "Raise the limit of file sizes, which `ulimit -f` shows, and run the command again.",
            );
        }
        error.get_ref()?.downcast_ref::<Self>()?.help()
    }

    /// Says whether there is nothing at the path.
    pub fn is_not_found(&self) -> bool {
        self.kind() == io::ErrorKind::NotFound
    }
}

impl From<rustix::io::Errno> for FileError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => error,
            error => io::Error::new(error.kind(), error),
        }
    }
}

/// A size in the largest unit that it is a multiple of.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|(shift, _)| self.0 > 0 && self.0.trailing_zeros() >= *shift) {
            Some((shift, unit)) => write!(f, "{} {unit}", self.0 >> shift),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_in_the_unit_it_was_chosen_in() {
        let told = |limit| FileError::TooLarge { limit }.to_string();
        assert_eq!(told(4 << 20), "it is larger than 4 MiB, and no more is read");
        assert_eq!(told(1536), "it is larger than 1536 bytes, and no more is read");
        assert_eq!(told(0), "it is larger than 0 bytes, and no more is read");
    }

    #[test]
    fn an_error_keeps_its_kind_and_its_text_as_an_error_of_the_system() {
        let error = io::Error::from(FileError::NotAFile { kind: PathKind::Pipe });
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "it is a named pipe, not a file");
    }
}
