//! Files of plugins below the run directory.
//!
//! A plugin owns `plugins/<name>` and nothing else, so a path that it gives is
//! followed neither upwards nor through links.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use super::{RunDir, StateError, atomic};

impl RunDir {
    /// Writes a file below the directory of a plugin, over one that is there.
    /// After a power failure it may be gone: it is made anew.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] for a path that is absolute, leads upwards or
    /// through a link, and where the file system refuses.
    pub(crate) fn write_scratch(&self, owner: &str, path: &str, content: &str) -> Result<(), StateError> {
        let relative = Path::new("plugins").join(owner).join(path);
        let outside = Path::new(path).components().any(|part| !matches!(part, Component::Normal(_)));
        let target = self.path().join(&relative);
        if outside || path.is_empty() || path.ends_with('/') {
            let reason = io::Error::other("the path must name a file below the plugin's directory");
            return Err(StateError::io("write", &target)(reason));
        }
        let mut directory: PathBuf = self.path().to_owned();
        for part in relative.parent().into_iter().flat_map(Path::components) {
            directory.push(part);
            make_directory(&directory).map_err(StateError::io("create", &directory))?;
        }
        atomic::write_unsynced(&target, content.as_bytes())
    }
}

/// Makes sure that a directory is there, and that it is no link to one.
fn make_directory(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::other("it is no directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn run_dir() -> (tempfile::TempDir, RunDir) {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = RunDir::new(dir.path());
        run_dir.create().unwrap();
        (dir, run_dir)
    }

    #[test]
    fn a_file_is_written_and_replaced_below_its_plugin() {
        let (_dir, run_dir) = run_dir();
        run_dir.write_scratch("samuel-rust", "a/b/notes.md", "one").unwrap();
        run_dir.write_scratch("samuel-rust", "a/b/notes.md", "two").unwrap();
        let file = run_dir.plugin("samuel-rust").join("a/b/notes.md");
        assert_eq!(fs::read_to_string(file).unwrap(), "two");
    }

    #[test]
    fn no_path_leads_out_of_the_plugins_directory() {
        let (dir, run_dir) = run_dir();
        run_dir.write_scratch("p", "ours.md", "").unwrap();
        std::os::unix::fs::symlink(dir.path(), run_dir.plugin("p").join("link")).unwrap();
        for path in ["../q/x", "/tmp/x", "a/../../x", "./x", "", ".", "..", "a/", "link/x", "ours.md/x"] {
            assert!(run_dir.write_scratch("p", path, "x").is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only .samuel");
        assert_eq!(fs::read_dir(run_dir.plugin("p").parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_place_of_the_file_is_replaced_and_not_followed() {
        let (dir, run_dir) = run_dir();
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        run_dir.write_scratch("p", "x", "").unwrap();
        let file = run_dir.plugin("p").join("x");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&victim, &file).unwrap();
        run_dir.write_scratch("p", "x", "theirs").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    }
}
