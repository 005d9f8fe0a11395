//! Safe access to files that the agent or a stranger may have created.
//!
//! The agent works in the project, and a clone can come from anyone. A file called
//! samuel.lock may be a named pipe, a link to `/dev/zero`, a directory, or a link
//! to a distant file. [`Root`] is the directory that no access leaves. It
//! resolves a path name by name and opens each name below the directory before it.
//! It follows links while they stay inside. It opens only regular files, without
//! blocking, and reads them up to a limit. Writes stay inside the root, too.
//!
//! Samuel reads every file through this module, except files that it has just written
//! itself. A path that the user gives on the command line may be anywhere. For such
//! paths there are [`open_anywhere`] and [`read_anywhere`], with all of these rules
//! except the root.
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
