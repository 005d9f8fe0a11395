//! Reading regular files, up to a limit.

use std::{fs::File, io::Read, path::Path};

use rustix::fs::{Mode, OFlags};

use super::{FileError, PathKind, walk::regular};

/// Opens a regular file that may lie anywhere, links followed, without waiting
/// for anything: one that the user named.
///
/// # Errors
/// Returns [`FileError::NotAFile`] for what is something else, and
/// [`FileError::Io`] where the system refuses, also because there is nothing.
pub fn open_anywhere(path: &Path) -> Result<File, FileError> {
    // What opening a device does is its own affair, so it is not tried.
    match PathKind::from(std::fs::metadata(path)?.file_type()) {
        PathKind::File => {}
        kind => return Err(FileError::NotAFile { kind }),
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    regular(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens a regular file that is no link itself, without waiting for anything. Links
/// among the directories above are followed.
///
/// # Errors
/// As [`open_anywhere`]; a link is [`FileError::NotAFile`] too.
pub fn open_unlinked(path: &Path) -> Result<File, FileError> {
    match PathKind::from(std::fs::symlink_metadata(path)?.file_type()) {
        PathKind::File => {}
        kind => return Err(FileError::NotAFile { kind }),
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // What was looked at is not always what is opened.
    regular(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Reads a whole file of at most `limit` bytes that may lie anywhere.
///
/// # Errors
/// As [`open_anywhere`], and [`FileError::TooLarge`] for a longer file.
pub fn read_anywhere(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    read_up_to(open_anywhere(path)?, limit)
}

/// Reads a whole text of at most `limit` bytes that may lie anywhere.
///
/// # Errors
/// As [`read_anywhere`], and [`FileError::NotUtf8`].
pub fn read_text_anywhere(path: &Path, limit: u64) -> Result<String, FileError> {
    read_text(open_anywhere(path)?, limit)
}

/// Reads an open file to its end, if that is not further than `limit` bytes. A
/// file that says itself that it is longer is not read at all.
///
/// # Errors
/// Returns [`FileError::TooLarge`] for a longer file, and [`FileError::Io`]
/// where it cannot be read.
pub fn read_up_to(file: File, limit: u64) -> Result<Vec<u8>, FileError> {
    let length = file.metadata()?.len();
    if length > limit {
        return Err(FileError::TooLarge { limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // A file may grow meanwhile, and some in /proc have no length at all.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= limit) {
        true => Ok(bytes),
        false => Err(FileError::TooLarge { limit }),
    }
}

/// Takes what is not there for nothing.
///
/// # Errors
/// Returns every error but the one that nothing is there.
pub fn found<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Err(error) if error.is_not_found() => Ok(None),
        result => result.map(Some),
    }
}

/// Reads an open file as text.
pub(super) fn read_text(file: File, limit: u64) -> Result<String, FileError> {
    String::from_utf8(read_up_to(file, limit)?).map_err(|_| FileError::NotUtf8)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        fs,
        os::unix::{fs::symlink, net::UnixListener},
    };

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;
    use crate::Root;

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _socket = UnixListener::bind(root.join("socket")).unwrap();
        fs::create_dir(root.join("directory")).unwrap();
        for (name, what) in [("pipe", "a named pipe"), ("socket", "a socket"), ("directory", "a directory")] {
            let expected = format!("it is {what}, not a file");
            let path = root.join(name);
            assert_eq!(Root::new(root).read(&path, 10).unwrap_err().to_string(), expected);
            assert_eq!(read_anywhere(&path, 10).unwrap_err().to_string(), expected);
        }
        let error = read_anywhere(Path::new("/dev/zero"), 10).unwrap_err();
        assert_eq!(error.to_string(), "it is a character device, not a file");
        symlink("/dev/zero", root.join("zero")).unwrap();
        let error = Root::new(root).read(&root.join("zero"), 10).unwrap_err();
        assert!(matches!(error, FileError::Outside { .. }), "{error}");
        assert!(Root::new(root).read(&root.join("none"), 10).unwrap_err().is_not_found());
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (Root::new(dir.path()), dir.path().join("file"));
        fs::write(&path, "ten bytes!").unwrap();
        assert_eq!(root.read(&path, 10).unwrap(), b"ten bytes!");
        assert_eq!(root.read_text(&path, u64::MAX).unwrap(), "ten bytes!");
        assert!(matches!(root.read(&path, 9), Err(FileError::TooLarge { limit: 9 })));
        fs::write(&path, b"\xff").unwrap();
        assert!(matches!(root.read_text(&path, 10), Err(FileError::NotUtf8)));
        // A file of holes takes no space.
        File::create(&path).unwrap().set_len(100 << 30).unwrap();
        assert!(matches!(root.read(&path, 10), Err(FileError::TooLarge { .. })));
    }

    #[test]
    fn a_link_is_not_followed_where_none_may_be() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, other] = ["file", "link", "directory"].map(|name| dir.path().join(name));
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::fs::create_dir(&other).unwrap();
        open_unlinked(&file).unwrap();
        for path in [&link, &other] {
            assert!(matches!(open_unlinked(path), Err(FileError::NotAFile { .. })), "{}", path.display());
        }
        assert!(open_unlinked(&dir.path().join("nothing")).unwrap_err().is_not_found());
    }
}
