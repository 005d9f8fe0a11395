//! New plugins: what `samuel plugin new` writes is built, tried and used by the
//! commands that its page names, and nothing else is done to it. One of them is
//! made to print, to see what becomes of that.
//!
//! In Rust that takes seconds. An interpreter takes minutes to be compiled by a
//! host that was built without optimisation, so Python, JavaScript and `cargo
//! component` are for `SAMUEL_LONG=1`.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use samuel_tests::{
    cache,
    example::{Example, TARGET, python_tools, target_is_installed},
};
use serde_json::Value;
use tempfile::TempDir;

const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");

/// A directory in which somebody makes a plugin.
struct Desk {
    dir: TempDir,
    /// The plugin's name. Each test has its own, since all build in one place.
    name: &'static str,
    path: OsString,
}

/// What a command said.
struct Said {
    succeeded: bool,
    stdout: String,
    all: String,
}

impl Desk {
    fn new(name: &'static str) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), name, path: env::var_os("PATH").unwrap() }
    }

    /// Puts programs in front of those that are there.
    fn with_tools(mut self, directory: PathBuf) -> Self {
        self.path = env::join_paths(std::iter::once(directory).chain(env::split_paths(&self.path))).unwrap();
        self
    }

    fn plugin(&self) -> PathBuf {
        self.dir.path().join(self.name)
    }

    /// Runs a program in a directory, with what a user has and no more.
    fn run(&self, directory: &Path, program: &str, args: &[&str]) -> Said {
        let kept = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
        let kept = kept.into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
        let output = Command::new(program)
            .args(args)
            .current_dir(directory)
            .env_clear()
            .envs(kept)
            .env("PATH", &self.path)
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .env("XDG_STATE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"))
            // What a plugin in Rust depends on was fetched for this workspace, and
            // built for other components.
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_BUILD_BUILD_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-target"))
            .env("RUSTUP_AUTO_INSTALL", "0")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let Output { status, stdout, stderr } = output;
        let stdout = String::from_utf8(stdout).unwrap();
        let all = format!("{stdout}{}", String::from_utf8_lossy(&stderr));
        Said { succeeded: status.success(), stdout, all }
    }

    /// Runs a command that must succeed.
    fn samuel(&self, directory: &Path, args: &[&str]) -> String {
        let said = self.run(directory, SAMUEL, args);
        assert!(said.succeeded, "samuel {}\n{}", args.join(" "), said.all);
        said.stdout
    }

    /// Makes a plugin in a language.
    fn make(&self, language: &str, more: &[&str]) {
        let args = ["plugin", "new", self.name, "--kind", "wasm", "--lang", language];
        self.samuel(self.dir.path(), &[&args[..], more].concat());
    }

    /// Makes a project with a task and installs the plugin in it.
    fn project_that_uses_it(&self) -> PathBuf {
        let project = self.dir.path().join("project");
        fs::create_dir(&project).unwrap();
        self.samuel(&project, &["run", "init"]);
        self.samuel(&project, &["run", "enqueue", "First"]);
        self.samuel(&project, &["install", &format!("../{}", self.name), "--yes"]);
        project
    }

    /// Does what the page of a new plugin says from its second line on, and
    /// looks into the prompt of a project that uses it.
    fn do_as_the_page_says(&self) {
        let page = fs::read_to_string(self.plugin().join("README.md")).unwrap();
        let commands = page.lines().filter_map(|line| line.strip_prefix("    samuel "));
        let commands: Vec<&str> = commands
            .map(|line| line.split(" #").next().unwrap().split("   ").next().unwrap().trim())
            .collect();
        let [build, validate, test, install] = &commands[..] else { panic!("{page}") };
        for command in [build, validate] {
            self.samuel(&self.plugin(), &command.split(' ').collect::<Vec<_>>());
        }
        let tried =
            self.samuel(&self.plugin(), &[&test.split(' ').collect::<Vec<_>>()[..], &["--json"]].concat());
        let tried: Value = serde_json::from_str(&tried).unwrap();
        assert_eq!(
            tried.pointer("/data/trials/0/output/extras/0/content"),
            Some(&Value::from(format!("Hello from {}, about the task 1.2.", self.name))),
            "{tried:#}"
        );

        assert_eq!(*install, "install <this directory>");
        let project = self.project_that_uses_it();
        let prompt = self.samuel(&project, &["run", "prompt", "--yes"]);
        assert!(prompt.contains(&format!("Hello from {}, about the task 1.", self.name)), "{prompt}");
    }
}

/// Says whether the long form is run, and else why the test is not.
fn is_long(what: &str) -> bool {
    let long = env::var_os("SAMUEL_LONG").is_some();
    if !long {
        println!("skipped: {what}, which takes minutes: see --long");
    }
    long
}

fn has_target() -> bool {
    let installed = target_is_installed(TARGET);
    if installed != Ok(true) {
        println!("skipped: a new plugin in Rust: the target {TARGET} is not installed");
    }
    installed == Ok(true)
}

/// Makes a plugin in Rust, as anybody does who has the command and nothing else of Samuel.
fn made_in_rust(name: &'static str) -> Desk {
    let desk = Desk::new(name);
    desk.make("rust", &[]);
    desk
}

#[test]
fn a_new_plugin_in_rust_does_what_its_page_says() {
    if has_target() {
        let desk = made_in_rust("rust-facts");
        desk.do_as_the_page_says();
        // What git has of it can be installed: nothing that it needs is ignored.
        let git = |args: &[&str]| {
            let said = desk.run(&desk.plugin(), "git", args);
            assert!(said.succeeded, "git {args:?}\n{}", said.all);
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "commit",
            "--quiet",
            "--message",
            "Add",
        ]);
        let clone = desk.dir.path().join("clone");
        git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
        desk.samuel(&clone, &["plugin", "validate"]);
        let project = desk.dir.path().join("project");
        desk.samuel(&project, &["uninstall", desk.name]);
        desk.samuel(&project, &["install", "../clone", "--yes"]);
        desk.samuel(&project, &["verify"]);
        // What makes bindings is no part of it.
        let args = ["tree", "--offline", "--target", "wasm32-wasip2", "--prefix", "none"];
        let built = desk.run(&desk.plugin(), "cargo", &args);
        assert!(built.succeeded && built.all.contains("serde_core v"), "{}", built.all);
        for generator in ["wit-bindgen-rust", "wit-parser", "syn", "serde_derive"] {
            assert!(!built.all.contains(&format!("{generator} v")), "{}", built.all);
        }
    }
}

#[test]
fn a_new_plugin_in_rust_can_handle_any_point() {
    if !has_target() {
        return;
    }
    let desk = Desk::new("gate-facts");
    // Its answer has a field that is a word of Rust.
    desk.make("rust", &["--point", "iteration.gate"]);
    desk.samuel(&desk.plugin(), &["plugin", "build"]);
    let tried = desk.samuel(&desk.plugin(), &["plugin", "test", "--json"]);
    let tried: Value = serde_json::from_str(&tried).unwrap();
    assert_eq!(tried.pointer("/data/trials/0/output/continue"), Some(&Value::Bool(true)), "{tried:#}");
    // A core module, and one that lacks what its manifest binds, are told of before anybody installs them.
    let manifest = desk.plugin().join("samuel-plugin.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(
        &manifest,
        text.replace("iteration.gate", "context.extra").replace("iteration-gate", "context-extra"),
    )
    .unwrap();
    let said = desk.run(&desk.plugin(), SAMUEL, &["plugin", "validate"]);
    assert!(!said.succeeded && said.all.contains("no handler `context-extra`"), "{}", said.all);
    fs::write(&manifest, text).unwrap();
    fs::write(desk.plugin().join("plugin.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let said = desk.run(&desk.plugin(), SAMUEL, &["plugin", "validate"]);
    assert!(!said.succeeded && said.all.contains("core WASM module"), "{}", said.all);
}

#[test]
fn what_a_component_prints_is_in_the_details_of_its_failure_and_nowhere_else() {
    if !has_target() {
        return;
    }
    let desk = made_in_rust("printing-facts");
    let code = desk.plugin().join("src/lib.rs");
    let text = fs::read_to_string(&code).unwrap();
    let (head, tail) = text.split_once("        let about").unwrap();
    let prints = "println!(\"on its output\"); eprintln!(\"on its errors\"); print_more();";
    let more = "fn print_more() { panic!(\"no facts\\nat all\") }\n";
    fs::write(&code, format!("{head}        {prints}\n        let about{tail}{more}")).unwrap();
    desk.samuel(&desk.plugin(), &["plugin", "build"]);

    // Who tries it out sees the end of its errors.
    let tried = desk.run(&desk.plugin(), SAMUEL, &["plugin", "test"]);
    for part in ["panicked: no facts\n", "stderr: on its errors\n", "stderr: at all\n"] {
        assert!(!tried.succeeded && tried.all.contains(part), "{part}: {}", tried.all);
    }
    assert!(!tried.all.contains("on its output"), "{}", tried.all);

    // In a run the message is a warning, and nothing gets among Samuel's output.
    let project = desk.project_that_uses_it();
    let agent = ["--agent", "command", "--agent-command", "true", "--max-iterations", "1"];
    let start = [&["run", "start", "--yes", "--json"][..], &agent].concat();
    let ran = desk.run(&project, SAMUEL, &start);
    for line in ran.stdout.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(!ran.all.contains("on its output"), "{}", ran.all);
    let progress = fs::read_to_string(project.join(".samuel/run/progress.md")).unwrap();
    let warning = "[hooks.warning] context.extra printing-facts:context-extra panicked: no facts\n";
    assert!(progress.contains(warning) && !progress.contains("on its"), "{progress}");
}

#[test]
fn a_new_plugin_in_python_does_what_its_page_says() {
    if !is_long("a new plugin in Python") {
        return;
    }
    // The version that the example is built with, wherever it comes from.
    let install = Example::Python.commands().swap_remove(1);
    match python_tools(&install) {
        Err(reason) => println!("skipped: a new plugin in Python: {reason}"),
        Ok(tools) => {
            let desk = Desk::new("python-facts").with_tools(tools.join("bin"));
            desk.make("python", &[]);
            desk.do_as_the_page_says();
        }
    }
}

#[test]
fn a_new_plugin_in_javascript_does_what_its_page_says() {
    if !is_long("a new plugin in JavaScript") {
        return;
    }
    match Example::JavaScript.npm_tools() {
        Err(reason) => println!("skipped: a new plugin in JavaScript: {reason}"),
        Ok(tools) => {
            let desk = Desk::new("javascript-facts").with_tools(tools.join("node_modules/.bin"));
            desk.make("javascript", &[]);
            desk.do_as_the_page_says();
        }
    }
}

#[test]
fn a_new_plugin_in_rust_is_built_by_cargo_component_too() {
    if !is_long("a new plugin built by cargo component") || !has_target() {
        return;
    }
    let version = "0.21.1";
    let tools = cache::once(&format!("cargo-component@{version}"), |home| {
        let mut install = Command::new("cargo");
        install.args(["install", "cargo-component", "--locked", "--version", version, "--root"]).arg(home);
        cache::run(install.env_remove("CARGO_TARGET_DIR"), "cargo install cargo-component")
    });
    let tools = match tools {
        Ok(tools) => tools,
        Err(reason) => return println!("skipped: cargo component: {reason}"),
    };
    let desk = made_in_rust("cargo-component-facts").with_tools(tools.join("bin"));
    let args = ["component", "build", "--release", "--target", TARGET];
    let said = desk.run(&desk.plugin(), "cargo", &args);
    assert!(said.succeeded, "{}", said.all);
    desk.samuel(&desk.plugin(), &["plugin", "validate"]);
    desk.samuel(&desk.plugin(), &["plugin", "test"]);
}
