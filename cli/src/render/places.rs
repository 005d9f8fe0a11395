//! Files of a project, named so that they can be opened from where the command is called.

use std::path::{Path, PathBuf};

use super::safe;
use crate::host::Host;

/// Names files of one project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The project, where the command is called from another directory.
    root: Option<PathBuf>,
}

impl Places {
    /// Names files of the project at a root. From there a name relative to it will do.
    pub(crate) fn of(host: &Host, root: &Path) -> Self {
        let is_here = host.absolute(Path::new("")).is_ok_and(|cwd| cwd == root);
        Self { root: (!is_here).then(|| root.to_owned()) }
    }

    /// Writes the name of a file that is given by its path in the project.
    pub(crate) fn shown(&self, path: impl AsRef<Path>) -> String {
        let path = path.as_ref();
        let whole = self.root.as_ref().map_or_else(|| path.to_owned(), |root| root.join(path));
        safe(&whole.display().to_string())
    }
}
