//! Putting the directory of a plugin in place, or taking it away, as a whole or not at all.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{
    PluginError,
    catalog::{plugin_directory, plugins_directory},
    install::STAGING,
};
use crate::{
    config::{CONFIG_FILE, Config},
    fs::{Manner, Root, found},
};

/// A plugin's directory that is being replaced or removed.
pub(super) struct Swap {
    root: Root,
    target: PathBuf,
    /// Where the old one waits.
    aside: Option<TempDir>,
    /// samuel.toml as it was.
    config: (PathBuf, Option<Vec<u8>>),
}

impl Swap {
    /// Puts the new directory in place, or nothing.
    pub(super) fn begin(root: &Path, name: &str, new: Option<&Path>) -> Result<Self, PluginError> {
        let (target, directory) = (plugin_directory(root, name), plugins_directory(root));
        let config = root.join(CONFIG_FILE);
        let root = Root::new(root);
        let text = found(root.read(&config, Config::MAX_BYTES as u64))
            .map_err(PluginError::file("read", &config))?;
        let mut swap = Self { root, target, aside: None, config: (config, text) };
        if swap.target.symlink_metadata().is_ok() {
            let aside = tempfile::Builder::new().prefix(STAGING).tempdir_in(&directory);
            let aside = aside.map_err(PluginError::io("write to", &directory))?;
            fs::rename(&swap.target, aside.path().join("old"))
                .map_err(PluginError::io("move", &swap.target))?;
            swap.aside = Some(aside);
        }
        if let Some(new) = new
            && let Err(source) = fs::rename(new, &swap.target)
        {
            swap.put_back();
            return Err(PluginError::Io { action: "install to", path: swap.target, source });
        }
        Ok(swap)
    }

    /// Keeps the new directory where all went well, else the old one.
    pub(super) fn settle(
        self,
        result: Result<(), PluginError>,
        restore: impl FnOnce() -> Result<(), PluginError>,
    ) -> Result<(), PluginError> {
        if result.is_err() {
            self.put_back();
            // The first error is the one that counts; loading refuses whatever
            // does not fit together.
            let _ = restore();
            let (path, text) = &self.config;
            if let Some(text) = text {
                let _ = self.root.write(path, [&text[..]], &Manner::PROJECT);
            }
            return result;
        }
        // A temporary directory is the owner's alone, a plugin is everybody's.
        if self.target.is_dir() {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&self.target, mode).map_err(PluginError::io("write to", &self.target))?;
        }
        self.root.sync_parent(&self.target).map_err(PluginError::file("sync", &self.target))?;
        Ok(())
    }

    fn put_back(&self) {
        let _ = fs::remove_dir_all(&self.target);
        if let Some(aside) = &self.aside {
            let _ = fs::rename(aside.path().join("old"), &self.target);
        }
    }
}
