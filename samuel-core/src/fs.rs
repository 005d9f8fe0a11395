//! Files that other programs may have placed, read and written safely: the crate `samuel-fs`.

#[cfg(feature = "wasm")]
pub(crate) use samuel_fs::kind_of;
pub(crate) use samuel_fs::{
    Durability, Entry, LastLink, Manner, PRIVATE_DIRECTORY, PRIVATE_FILE, PROJECT_DIRECTORY, Place,
    Replacement, found, leftovers, lexical, open_unlinked, private,
};
pub use samuel_fs::{
    FileError, PathKind, Root, open_anywhere, read_anywhere, read_text_anywhere, read_up_to,
};
