//! What validating a plugin finds is what trying it out and installing it find, in the same words.

use std::{fs, path::Path, sync::Arc};

use samuel_core::{
    clock::SystemClock,
    model::Coded as _,
    plugin::{
        FetchOptions, InstallSource, LoadOptions, PluginError, Plugins, TrialOptions, TrialProgress, try_out,
        validate,
    },
    process::Supervisor,
    text::described,
};
use tempfile::TempDir;
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve};

const MANIFEST: &str = "[plugin]\nname = \"lint\"\nkind = \"wasm\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\n\
                        [hooks]\n\"quality.check\" = \"quality-check\"\n\n[wasm]\nmodule = \"plugin.wasm\"\n";

/// Makes a component of a world, whose functions do nothing but trap.
fn component_of(items: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1")).unwrap();
    let world = format!("package test:lint; world plugin {{ {items} }}");
    let package = resolve.push_str("test.wit", &world).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// A component of another time, which is kept as text.
fn kept(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/components/{name}.wat"));
    wat::parse_file(path).unwrap()
}

/// A plugin, and a project beside it.
struct Desk(TempDir);

impl Desk {
    fn with(manifest: &str, component: &[u8]) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for directory in ["lint", "project"] {
            fs::create_dir(desk.0.path().join(directory)).unwrap();
        }
        fs::write(desk.0.path().join("lint/samuel-plugin.toml"), manifest).unwrap();
        fs::write(desk.0.path().join("lint/plugin.wasm"), component).unwrap();
        desk
    }

    async fn validated(&self) -> Result<(), PluginError> {
        validate(&self.0.path().join("lint"), &FetchOptions::default()).await.map(drop)
    }

    async fn tried_out(&self) -> Result<(), PluginError> {
        let load = LoadOptions {
            env: Vec::new(),
            supervisor: Supervisor::GroupOnly,
            cache_dir: None,
            state_dir: None,
            store: None,
            containers: None,
        };
        let options = TrialOptions {
            project_root: self.0.path().join("project"),
            load,
            clock: Arc::new(SystemClock::new()),
            point: None,
            config: Default::default(),
            input: None,
            timeout: None,
            progress: TrialProgress::default(),
        };
        try_out(&self.0.path().join("lint"), &options).await.map(drop)
    }

    async fn installed(&self) -> Result<(), PluginError> {
        let plugins = Plugins::of(self.0.path().join("project"));
        let source = InstallSource::Directory { path: self.0.path().join("lint"), is_relative: false };
        let fetched = plugins.fetch(&source, &FetchOptions::default()).await?;
        let granted = fetched.manifest().capabilities.clone();
        plugins.install(fetched, &granted).map(drop)
    }
}

#[tokio::test]
async fn what_a_trial_and_an_installation_refuse_is_refused_before_in_the_same_words() {
    const CHECK: &str = "export samuel:plugin/quality-check@1.0.0;";
    let (manifest, later) = (MANIFEST.to_owned(), MANIFEST.replace("^2.0", "^99.0"));
    for (what, manifest, component, code, says) in [
        (
            "a capability that its manifest does not ask for",
            &manifest,
            component_of(&format!("import samuel:plugin/files-read@1.0.0; {CHECK}")),
            "E_PLUGIN_UNDECLARED",
            "filesystem.read",
        ),
        (
            "another point than its manifest binds",
            &manifest,
            component_of("export samuel:plugin/session-end@1.0.0;"),
            "E_PLUGIN_COMPONENT",
            "no handler `quality-check`",
        ),
        (
            "a world of its own",
            &manifest,
            component_of("export run: func() -> string;"),
            "E_PLUGIN_COMPONENT",
            "no handler `quality-check`",
        ),
        ("a core module", &manifest, b"\0asm\x01\0\0\0".to_vec(), "E_PLUGIN_COMPONENT", "core WASM module"),
        (
            "a later protocol",
            &MANIFEST.replace("quality.check", "session.end").replace("quality-check", "session-end"),
            kept("beyond"),
            "E_PLUGIN_VERSION",
            "needs Samuel >= 2.1",
        ),
        ("a later Samuel", &later, component_of(CHECK), "E_PLUGIN_INVALID", "^99.0"),
    ] {
        let desk = Desk::with(manifest, &component);
        let found = desk.validated().await.err().unwrap_or_else(|| panic!("{what} is found valid"));
        let said = described(&found);
        assert!(found.code().name == code && said.contains(says), "{what}: {} {said}", found.code().name);
        for (step, outcome) in [("trial", desk.tried_out().await), ("installation", desk.installed().await)] {
            let refused = outcome.err().unwrap_or_else(|| panic!("{what} passes the {step}"));
            assert_eq!((refused.code(), described(&refused)), (found.code(), said.clone()), "{what}: {step}");
        }
    }
}

#[tokio::test]
async fn what_is_valid_is_installed_and_tried_out() {
    let manifest = MANIFEST.replace("[hooks]\n", "[hooks]\n\"session.end\" = \"session-end\"\n");
    let desk = Desk::with(&manifest, &kept("earlier"));
    for outcome in [desk.validated().await, desk.tried_out().await, desk.installed().await] {
        outcome.unwrap();
    }
}
