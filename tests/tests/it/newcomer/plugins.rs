//! Plugins: made, built, tried out and used as their pages say, by the command alone.
//!
//! In Rust, C and shell that takes seconds. An interpreter takes minutes to be compiled by a host that was built without
//! optimisation, so Python and JavaScript are for `SAMUEL_LONG=1`.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use samuel_tests::{
    engine::TestEngine,
    example::{Example, TARGET, python_tools, target_is_installed},
};
use serde_json::Value;

use crate::newcomer::{
    page::{block, blocks},
    scratch::{Scratch, is_long, printed},
};

const PAGE: &str = "docs/plugins.md";

/// A scratch directory with `samuel` among its programs, and with what a user has of an environment.
pub(crate) struct Desk {
    scratch: Scratch,
    path: OsString,
}

impl Desk {
    pub(crate) fn new(scratch: Scratch) -> Self {
        let bin = scratch.path().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_samuel-under-test"), bin.join("samuel")).unwrap();
        let path = env::var_os("PATH").unwrap();
        let path = env::join_paths(std::iter::once(bin).chain(env::split_paths(&path))).unwrap();
        Self { scratch, path }
    }

    /// Puts the programs of a directory behind those that are there.
    fn with_tools(mut self, tools: PathBuf) -> Self {
        let mut all: Vec<PathBuf> = env::split_paths(&self.path).collect();
        all.insert(1, tools);
        self.path = env::join_paths(all).unwrap();
        self
    }

    /// Puts the first process of containers beside `samuel`, where it is installed.
    fn with_guest(self, guest: &Path) -> Self {
        let bin = self.path().join("bin");
        fs::remove_file(bin.join("samuel")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_samuel-under-test"), bin.join("samuel")).unwrap();
        fs::copy(guest, bin.join("samuel-guest")).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Runs a command in a directory here; returns what it printed.
    fn run(&self, directory: &str, program: &str, args: &[&str]) -> String {
        let kept = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
        let kept = kept.into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.path().join(directory))
            .env_clear()
            .envs(kept)
            .env("PATH", &self.path);
        command.env("XDG_CACHE_HOME", shared.join("cache")).env("XDG_STATE_HOME", self.path().join("state"));
        // What plugins in Rust depend on was fetched for this workspace, and built for other components.
        command.env("CARGO_NET_OFFLINE", "true").env("CARGO_BUILD_BUILD_DIR", shared.join("rust-target"));
        command.env("RUSTUP_AUTO_INSTALL", "0");
        printed(&mut command)
    }

    pub(crate) fn samuel(&self, directory: &str, args: &[&str]) -> String {
        self.run(directory, "samuel", args)
    }

    /// Makes a project with a task that uses a plugin beside it.
    fn project_with(&self, plugin: &str) {
        fs::create_dir(self.path().join("project")).unwrap();
        self.samuel("project", &["run", "init"]);
        self.samuel("project", &["run", "enqueue", "First"]);
        self.samuel("project", &["install", &format!("../{plugin}"), "--yes"]);
    }

    /// Follows the page of plugins in a language, and sees the plugin in the prompt of a project.
    fn follow_the_page(&self, language: &str) {
        let steps = block(PAGE, "## A first plugin", "sh");
        assert!(steps.contains("--lang rust"), "{steps}");
        self.run(".", "sh", &["-euc", &steps.replace("--lang rust", &format!("--lang {language}"))]);
        self.project_with("my-checks");
        let prompt = self.samuel("project", &["run", "prompt", "--yes"]);
        let about = if language == "sh" { "." } else { ", about the task 1." };
        assert!(prompt.contains(&format!("Hello from my-checks{about}")), "{prompt}");
    }
}

#[test]
fn a_plugin_in_rust_is_built_and_used_as_the_page_says() {
    match target_is_installed(TARGET) {
        Ok(true) => Desk::new(Scratch::new()).follow_the_page("rust"),
        Ok(false) => println!("skipped: a plugin in Rust: the target {TARGET} is not installed"),
        Err(reason) => println!("skipped: a plugin in Rust: {reason}"),
    }
}

#[test]
fn a_plugin_in_python_is_built_and_used_as_the_page_says() {
    if !is_long("a plugin in Python") {
        return;
    }
    // The version that the example is built with, wherever it comes from.
    match python_tools(&Example::Python.commands().swap_remove(1)) {
        Ok(tools) => Desk::new(Scratch::new()).with_tools(tools.join("bin")).follow_the_page("python"),
        Err(reason) => println!("skipped: a plugin in Python: {reason}"),
    }
}

#[test]
fn a_plugin_in_javascript_is_built_and_used_as_the_page_says() {
    if !is_long("a plugin in JavaScript") {
        return;
    }
    match Example::JavaScript.npm_tools() {
        Ok(tools) => {
            Desk::new(Scratch::new())
                .with_tools(tools.join("node_modules/.bin"))
                .follow_the_page("javascript");
        }
        Err(reason) => println!("skipped: a plugin in JavaScript: {reason}"),
    }
}

#[test]
fn a_plugin_in_c_is_built_and_used_as_the_page_says() {
    let engine = TestEngine::podman();
    let engine = match engine {
        _ if Command::new("cc").arg("--version").output().is_err() => Err("there is no cc".to_owned()),
        engine => engine,
    };
    let Ok(engine) = engine.inspect_err(|reason| println!("skipped: a plugin in C: {reason}")) else {
        return;
    };
    let desk = Desk::new(Scratch::new()).with_guest(engine.guest());
    let section = "## Images";
    let of = |language: &str, start: &str| {
        let found = blocks(PAGE, section, language).into_iter().find(|text| text.starts_with(start));
        found.unwrap_or_else(|| panic!("{PAGE} has no {language} that starts with {start}"))
    };
    desk.scratch.write("greeter/samuel-plugin.toml", &of("toml", "[plugin]"));
    desk.scratch.write("greeter/main.c", &of("c", ""));
    desk.scratch.write("greeter/Containerfile", &of("dockerfile", ""));
    desk.run("greeter", "sh", &["-euc", &of("sh", "cc ")]);
    desk.project_with("greeter");
    let prompt = desk.samuel("project", &["run", "prompt", "--yes"]);
    assert!(prompt.contains("Hello from C."), "{prompt}");
}

#[test]
fn a_plugin_in_shell_is_made_and_used_as_the_page_says() {
    Desk::new(Scratch::new()).follow_the_page("sh");
}

#[test]
fn a_plugin_of_shell_scripts_says_no_where_the_page_says_so() {
    const SCRIPTS: &str = "docs/plugin-management.md";
    let desk = Desk::new(Scratch::new());
    desk.scratch.write("lint/samuel-plugin.toml", &block(SCRIPTS, "## Scripts", "toml"));
    let script = desk.scratch.write("lint/hooks/check.sh", &block(SCRIPTS, "## Scripts", "sh"));
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    // What the page shows of a call and of an answer is JSON.
    for json in blocks(SCRIPTS, "## Scripts", "json") {
        serde_json::from_str::<Value>(&json).unwrap();
    }
    desk.samuel("lint", &["plugin", "validate"]);
    desk.samuel("lint", &["plugin", "test"]);
    desk.project_with("lint");
    let fired = |desk: &Desk| {
        let told = desk.samuel("project", &["hooks", "fire", "quality.check", "--yes", "--json"]);
        serde_json::from_str::<Value>(told.lines().last().unwrap()).unwrap().to_string()
    };
    let passed = fired(&desk);
    assert!(!passed.contains("FIXME"), "{passed}");
    desk.scratch.write("project/src/parser.c", "/* FIXME: overflows */\n");
    let refused = fired(&desk);
    assert!(refused.contains("./src/parser.c says FIXME"), "{refused}");
}
