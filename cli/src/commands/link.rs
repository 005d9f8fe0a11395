//! `plugin link`: a project that follows the directory a plugin is made in.
//!
//! The plugin is built and installed again whenever one of its files changes, until a signal ends that. A run still uses
//! what was installed, to the byte, and a change that asks for more than was granted is asked about.

use std::{collections::BTreeMap, path::Path, time::Duration};

use samuel_core::plugin::{InstallSource, Manifest, PluginError, PluginTree, Plugins, Selection};

use super::{
    block_on_or_leave,
    plugin::build_again,
    plugins::{agreed, fetch_options, installed_text, plugins},
};
use crate::{
    args::{ConsentArgs, Global, LinkArgs},
    failure::Failure,
    host::Host,
    render::safe,
    reply::{Reply, described},
    terminal::{Stream, remark, show},
};

/// How often a plugin's files are looked at.
const LOOK: Duration = Duration::from_millis(400);

/// Keeps a plugin of the project as its directory has it.
pub(crate) fn link(args: &LinkArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let plugins = plugins(global, host)?;
    let directory = host.absolute(&args.plugin.plugin)?;
    block_on_or_leave(async {
        let mut was_installed = false;
        loop {
            let before = state_of(&directory);
            match install(&plugins, &directory, args.yes, host).await {
                Ok(text) => {
                    was_installed = true;
                    show(Stream::Out, &text).unwrap_or_default();
                }
                // What cannot be installed at first is no link; a mistake later on is mended in a moment.
                Err(failure) if !was_installed => return Err(failure),
                Err(failure) => remark(&described(&failure)),
            }
            until_changed(&directory, before.ok()).await;
        }
    })?
}

/// Builds a plugin where there is something to build, and installs it.
async fn install(plugins: &Plugins, directory: &Path, yes: bool, host: &Host) -> Result<String, Failure> {
    build_again(directory, host).await?;
    let path = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let source = InstallSource::Directory { path, is_relative: true };
    let fetched = plugins.fetch(&source, &fetch_options(host)?).await?;
    agreed(&fetched, ConsentArgs { yes, accept_moved: false }, host).await?;
    let granted = fetched.manifest().capabilities.clone();
    Ok(installed_text(&plugins.install(fetched, &granted)?))
}

/// The files of a plugin that somebody writes, by their paths, each with its digest.
pub(super) type State = BTreeMap<String, String>;

/// Returns what stays the same as long as nobody changes a plugin. It has to be looked at before a build, so that what is
/// written meanwhile counts.
pub(super) fn state_of(directory: &Path) -> Result<State, PluginError> {
    let manifest = Manifest::load(directory).ok();
    let selection = manifest.as_ref().map_or(Selection::Source, |it| Selection::Plugin(it.name.clone()));
    let mut files = PluginTree::of(directory, &selection)?.digests();
    // A build writes the component, which is no reason for another one.
    if let Some(module) = manifest.and_then(|manifest| manifest.module) {
        files.remove(module.trim_start_matches("./"));
    }
    Ok(files)
}

/// Waits until the files of a plugin are others. Why they cannot be looked at is said once.
pub(super) async fn until_changed(directory: &Path, before: Option<State>) {
    let mut in_vain = 0_u32;
    loop {
        match state_of(directory) {
            Ok(now) if before.as_ref() == Some(&now) => in_vain = 0,
            Ok(_) => return,
            Err(error) => {
                in_vain = in_vain.saturating_add(1);
                // A file that is just being replaced is there again at the next look.
                if in_vain == 2 {
                    remark(&described(&Failure::from(error).reword(format!(
                        "changes in {} are not seen until it can be read",
                        safe(&directory.display().to_string())
                    ))));
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    #[test]
    fn what_a_build_writes_is_no_change_and_what_somebody_writes_meanwhile_is() {
        let plugin = tempfile::tempdir().unwrap();
        let manifest = "[plugin]\nname = \"lint\"\nkind = \"wasm\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\
                        [hooks]\n\"quality.check\" = \"check\"\n[wasm]\nmodule = \"plugin.wasm\"\n";
        fs::write(plugin.path().join("samuel-plugin.toml"), manifest).unwrap();
        fs::write(plugin.path().join("app.py"), "1\n").unwrap();
        let before = state_of(plugin.path()).unwrap();
        fs::write(plugin.path().join("plugin.wasm"), "built").unwrap();
        fs::write(plugin.path().join("lint-1.0.0.tar.gz"), "packed").unwrap();
        assert_eq!(state_of(plugin.path()).unwrap(), before);
        fs::write(plugin.path().join("app.py"), "2\n").unwrap();
        assert_ne!(state_of(plugin.path()).unwrap(), before);
        std::os::unix::fs::symlink("/etc/hostname", plugin.path().join("out")).unwrap();
        assert!(state_of(plugin.path()).is_err());
    }
}
