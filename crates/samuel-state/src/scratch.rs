//! Files of plugins below the run directory.
//!
//! A plugin owns `plugins/<name>` and nothing else, so a path that it gives is
//! followed neither upwards nor through links.

use std::{
    io,
    path::{Component, Path},
};

use super::{RunDir, StateError, files};
use samuel_fs::{Durability, LastLink, PRIVATE_DIRECTORY};

impl RunDir {
    /// Writes a file at a relative path below the directory of the plugin `owner`, and replaces an existing one. The file
    /// is not synced, so a power failure may lose it. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the path is absolute, leads upwards or through a link, or if the file cannot be
    /// written.
    #[doc(hidden)]
    pub fn write_scratch(&self, owner: &str, path: &str, content: &str) -> Result<(), StateError> {
        let relative = Path::new("plugins").join(owner).join(path);
        let outside = Path::new(path).components().any(|part| !matches!(part, Component::Normal(_)));
        let target = self.path().join(&relative);
        if outside || path.is_empty() || path.ends_with('/') {
            let reason = io::Error::other("the path must name a file below the plugin's directory");
            return Err(StateError::io("write", &target)(reason));
        }
        let refused = |error| StateError::file("write", &target)(error);
        let place = self.root().walk(&target, LastLink::Keep).map_err(refused)?;
        let below = self.root().relative(&target).unwrap_or_default();
        // A link that stays in the project may still leave the directory.
        if !place.names.iter().eq(below.iter()) {
            let reason = io::Error::other("the path leads through a link");
            return Err(StateError::io("write", &target)(reason));
        }
        let directory = target.parent().unwrap_or(&target);
        let made = self.root().create_directory(directory, PRIVATE_DIRECTORY);
        made.map_err(StateError::file("create", directory))?;
        files::write(self.root(), &target, content.as_bytes(), Durability::Unsynced)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

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
