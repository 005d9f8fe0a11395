//! Where templates are looked for.

use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc};

use crate::fs::Root;

/// A directory of templates.
#[derive(Clone, Debug)]
pub enum TemplatePlace {
    /// One whose files are read when they are wanted.
    Directory {
        /// What no link leads out of.
        root: Root,
        /// The directory in it.
        directory: PathBuf,
    },
    /// One of an installed plugin, as its files were when they were checked:
    /// what is in the directory by now makes no difference.
    Checked {
        /// Where the files were, for messages.
        directory: PathBuf,
        /// Their bytes, by their paths in the directory.
        files: Arc<BTreeMap<String, Vec<u8>>>,
    },
}

impl TemplatePlace {
    /// Returns the path that a template of a name has here.
    pub fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Directory { directory, .. } | Self::Checked { directory, .. } => directory.join(name),
        }
    }

    /// Reads a template of at most `max_bytes`; nothing where there is none.
    ///
    /// # Errors
    /// Returns an error where it cannot be read, is too long or no UTF-8.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<String>> {
        match self {
            Self::Directory { root, .. } => match root.read_text(&self.path(name), max_bytes) {
                Err(error) if error.is_not_found() => Ok(None),
                read => Ok(Some(read?)),
            },
            Self::Checked { files, .. } => {
                let text = files.get(name).map(|bytes| String::from_utf8(bytes.clone()));
                text.transpose().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
            }
        }
    }
}
