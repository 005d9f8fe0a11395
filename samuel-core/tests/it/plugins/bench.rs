//! Plugins and projects made for a test.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use samuel_core::{
    clock::SystemClock,
    config::Config,
    hook::{CallScope, Dispatched, HookPoint, Point, Registry, RegistryBuilder},
    plugin::{
        Capabilities, Catalog, FetchOptions, FetchedPlugin, InstallSource, Installed, LoadOptions,
        PluginError, Plugins,
    },
    process::Supervisor,
};
use tempfile::TempDir;

/// A project, and a place for the sources of plugins beside it.
pub(crate) struct Bench {
    dir: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        Self { dir }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn plugins(&self) -> Plugins {
        Plugins::of(self.root())
    }

    /// Writes the source of a plugin of scripts: bindings, each with its script.
    pub(crate) fn skill(&self, name: &str, more: &str, scripts: &[(&str, &str)]) -> PathBuf {
        let source = self.dir.path().canonicalize().unwrap().join("sources").join(name);
        let _ = fs::remove_dir_all(&source);
        let mut manifest = format!(
            "[plugin]\nname = \"{name}\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n{more}\n[hooks]\n"
        );
        for (place, (point, script)) in scripts.iter().enumerate() {
            manifest.push_str(&format!("\"{point}\" = \"hooks/{place}.sh\"\n"));
            write_script(&source.join(format!("hooks/{place}.sh")), script);
        }
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("samuel-plugin.toml"), manifest).unwrap();
        source
    }

    pub(crate) async fn fetch(&self, source: &Path) -> Result<FetchedPlugin, PluginError> {
        self.plugins()
            .fetch(&InstallSource::Directory { path: source.to_owned(), is_relative: false }, &options())
            .await
    }

    /// Installs a source with everything it asks for.
    pub(crate) async fn install(&self, source: &Path) -> Installed {
        let fetched = self.fetch(source).await.unwrap();
        let granted = fetched.manifest().capabilities.clone();
        self.plugins().install(fetched, &granted).unwrap()
    }

    pub(crate) fn config(&self) -> Config {
        Config::load(&self.root()).unwrap()
    }

    pub(crate) fn catalog(&self) -> Result<Catalog, PluginError> {
        Catalog::read(&self.root(), &self.config())
    }

    /// Loads the project's plugins and puts their handlers in order.
    pub(crate) fn registry(&self) -> Registry {
        let loaded = self.catalog().unwrap().load(&load_options()).unwrap();
        self.resolved(|registry| loaded.register(registry))
    }

    pub(crate) fn resolved(&self, register: impl FnOnce(&mut RegistryBuilder)) -> Registry {
        let mut builder = Registry::builder();
        register(&mut builder);
        let config = self.config();
        let chains: BTreeMap<_, _> =
            HookPoint::ALL.iter().map(|point| (*point, config.chain(*point, "ralph"))).collect();
        builder.build(&chains).unwrap()
    }

    /// Every file below the project with its content.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut directories = vec![self.root()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => directories.push(entry.path()),
                    false => drop(found.insert(entry.path(), fs::read(entry.path()).unwrap())),
                }
            }
        }
        found
    }
}

pub(crate) fn write_script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn env() -> Vec<(String, String)> {
    vec![("PATH".to_owned(), std::env::var("PATH").unwrap()), ("HOME".to_owned(), "/nonexistent".to_owned())]
}

pub(crate) fn options() -> FetchOptions {
    FetchOptions { env: env(), ..FetchOptions::default() }
}

pub(crate) fn load_options() -> LoadOptions {
    let mut env = env();
    env.extend(
        [("GIVEN", "given"), ("SECRET", "secret"), ("LC_ALL", "C")]
            .map(|(k, v)| (k.to_owned(), v.to_owned())),
    );
    let state_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins-state"));
    LoadOptions {
        env,
        supervisor: Supervisor::GroupOnly,
        cache_dir: None,
        state_dir,
        store: None,
        containers: None,
    }
}

pub(crate) fn scope() -> CallScope {
    CallScope {
        run_id: "run-7".into(),
        session: "session".into(),
        iteration: 3,
        ..CallScope::new(Arc::new(SystemClock::new()))
    }
}

pub(crate) async fn dispatch<P: Point>(registry: &Registry) -> Dispatched<P::Output>
where
    P::Input: Default,
{
    registry.dispatch::<P>(P::Input::default(), &scope()).await
}

pub(crate) fn nothing() -> Capabilities {
    Capabilities::default()
}
