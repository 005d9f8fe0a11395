//! Files of a project, named so that they can be opened from where the command is called.

use std::path::{Path, PathBuf};

use super::safe;
use crate::host::Host;

/// Names files of one project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The project.
    project: PathBuf,
    /// The project too, where the command is called from another directory.
    root: Option<PathBuf>,
}

impl Places {
    /// Names files of the project at a root. From there a name relative to it will do.
    pub(crate) fn of(host: &Host, root: &Path) -> Self {
        let is_here = host.absolute(Path::new("")).is_ok_and(|cwd| cwd == root);
        Self { project: root.to_owned(), root: (!is_here).then(|| root.to_owned()) }
    }

    /// Returns the path in the project of a file of which the whole path is known; that path
    /// where it lies elsewhere.
    pub(crate) fn below<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.project).unwrap_or(path)
    }

    /// Writes the name of a file that is given by its path in the project.
    pub(crate) fn shown(&self, path: impl AsRef<Path>) -> String {
        let path = path.as_ref();
        let whole = self.root.as_ref().map_or_else(|| path.to_owned(), |root| root.join(path));
        safe(&whole.display().to_string())
    }
}
