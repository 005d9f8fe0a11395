//! Files that other programs may have placed, read and written safely: the crate `samuel-fs`.
//!
//! ```
//! use samuel_core::fs::Root;
//! use std::path::Path;
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("notes"), "hello")?;
//! std::os::unix::fs::symlink("/etc/hosts", directory.path().join("hosts"))?;
//!
//! let root = Root::new(directory.path());
//! assert_eq!(root.read_text(&directory.path().join("notes"), 100)?, "hello");
//! assert!(root.read_text(&directory.path().join("hosts"), 100).is_err(), "it leads out");
//! assert!(root.read_text(&directory.path().join("notes"), 4).is_err(), "it is longer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "wasm")]
pub(crate) use samuel_fs::kind_of;
pub(crate) use samuel_fs::{
    Durability, Entry, LastLink, Manner, PRIVATE_DIRECTORY, PRIVATE_FILE, PROJECT_DIRECTORY, Place,
    Replacement, found, leftovers, lexical, open_unlinked, private,
};
pub use samuel_fs::{
    FileError, PathKind, Root, open_anywhere, read_anywhere, read_text_anywhere, read_up_to,
};
