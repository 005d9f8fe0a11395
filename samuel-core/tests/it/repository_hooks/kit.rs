//! A project with repository hooks, and events that are fired for them.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use samuel_core::{
    clock::SystemClock,
    dialect::{HookFileOptions, HookFiles},
    hook::{CallScope, Dispatched, Point, Registry},
    process::Supervisor,
};

/// A project with files of hooks.
pub(crate) struct Repository {
    directory: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Repository {
    /// Makes one without any.
    pub(crate) fn new() -> Self {
        let env = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
        Self { directory: tempfile::tempdir().unwrap(), env: env.into() }
    }

    /// Makes one with a hook in `.system/hooks/<name>.yaml` each.
    pub(crate) fn with(hooks: &[(&str, &str)]) -> Self {
        let repository = Self::new();
        for (name, text) in hooks {
            repository.write(&format!(".system/hooks/{name}.yaml"), text);
        }
        repository
    }

    /// Sets a variable for the hooks.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a script that can be executed.
    pub(crate) fn script(&self, path: &str, text: &str) {
        let path = self.write(path, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_default()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    pub(crate) fn files(&self) -> HookFiles {
        HookFiles::read(&self.root()).unwrap()
    }

    /// Says what is wrong and what is to be known, each with its place.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.files().warnings()
    }

    /// Registers the hooks as a run does.
    pub(crate) fn registry(&self) -> Registry {
        let mut handlers = Registry::builder();
        let options = HookFileOptions {
            env: self.env.clone(),
            supervisor: Supervisor::GroupOnly,
            ..HookFileOptions::default()
        };
        self.files().register(&mut handlers, options);
        handlers.build(&BTreeMap::new()).unwrap()
    }

    /// Fires an event as a run does.
    pub(crate) async fn fire<P: Point>(&self, input: P::Input) -> Dispatched<P::Output> {
        let scope = CallScope { session: "tests".into(), ..CallScope::new(Arc::new(SystemClock::new())) };
        self.registry().dispatch::<P>(input, &scope).await
    }
}

/// Copies a directory of the examples.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Writes a hook whose script is a line of a shell.
pub(crate) fn hook(id: &str, event_type: &str, more: &str, command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!("id: {id}\nevent_type: {event_type}\n{more}\nhandler:\n  kind: script\n  command: {command}\n")
}
