//! Files that somebody else may have put there, read and written safely.
//!
//! The agent works in the project, and a clone comes from anybody: what is
//! called samuel.lock may be a named pipe, a link to `/dev/zero`, a directory, or
//! lead to a file far away. [`Root`] is the directory that nothing leaves. It
//! resolves a path name by name, each opened below the directory before it, and
//! follows links while they stay inside; what it opens is a regular file, opened
//! without waiting, and read up to a limit. What it writes goes no further.
//!
//! Every file that Samuel did not just write itself is read through here. A path
//! that the user gives on the command line may lie anywhere: for these there are
//! [`open_anywhere`] and [`read_anywhere`], with the same rules but that one.
//!
//! ```
//! use samuel_fs::Root;
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

mod error;
mod kind;
pub mod leftovers;
mod lexical;
mod list;
mod open;
mod own;
pub mod private;
mod replace;
mod root;
mod walk;

pub use self::{
    error::FileError,
    kind::PathKind,
    open::{open_anywhere, read_anywhere, read_text_anywhere, read_up_to},
    root::Root,
};
pub use self::{
    lexical::lexical,
    list::Entry,
    open::{found, open_unlinked},
    own::{PRIVATE_DIRECTORY, PRIVATE_FILE, PROJECT_DIRECTORY, PROJECT_FILE},
    replace::{Durability, Manner, Replacement},
    walk::{LastLink, Place, kind_of},
};
