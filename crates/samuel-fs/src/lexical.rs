//! Paths without `.` and `..`.

use std::path::{Component, Path, PathBuf};

/// Leaves `.` and `..` out of a path, without looking at the disk.
pub fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}
