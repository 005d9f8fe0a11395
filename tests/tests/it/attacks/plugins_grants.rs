//! A plugin makes more of its grants than was granted: arguments that start
//! other programs, variables that do, programs that lie in the project, ports
//! nobody named, and a disk that is full.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    net::TcpListener,
    path::Path,
    sync::{Arc, LazyLock},
};

use samuel_core::{
    clock::SystemClock,
    hook::{CallScope, HookPoint, PluginSource, Registry, points},
    model::{Location, payload::QualityCheckInput},
    plugin::{
        Binding, Capabilities, Capability, MANIFEST_FILE,
        wasm::{HostConfig, PluginSetup, WasmHost, Workspace, WriteLimits},
    },
};
use serde_json::Value;

use crate::attacks::{
    component::{Data, calls},
    kit::Target,
};

/// A small quota, so that a test reaches it; what is compiled is kept over runs.
static HOST: LazyLock<WasmHost> = LazyLock::new(|| {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm-cache");
    let write = WriteLimits { max_bytes: 40, max_files: 6 };
    WasmHost::new(HostConfig { cache_dir: Some(cache), write, ..HostConfig::default() }).unwrap()
});

/// How a component was answered.
#[derive(Debug, PartialEq, Eq)]
enum Answered {
    Done,
    /// The capability that is missing, and what for.
    Denied(String, String),
    /// The place of another error among the cases, and what it says first.
    Error(i32, String),
}

fn denied(capability: &str, target: &str) -> Answered {
    Answered::Denied(capability.to_owned(), target.to_owned())
}

/// A plugin in a project.
struct Plugin {
    registry: Registry,
}

impl Plugin {
    fn new(target: &Target, component: &[u8], granted: &Capabilities, path: &str) -> Self {
        let root = target.root();
        let env: Vec<(OsString, OsString)> =
            vec![("PATH".into(), path.into()), ("HOME".into(), target.home().into())];
        let workspace = Workspace::new(&root, root.join(".samuel/run/plugins")).command_env(env);
        let (asked, granted) = (granted.clone(), granted.clone());
        let setup = PluginSetup { name: "tested".to_owned(), asked, granted, config: Value::Null };
        let place = Location { file: MANIFEST_FILE.into(), line: None, column: None };
        let (point, handler) = (HookPoint::QualityCheck, "quality-check".to_owned());
        let bindings = [Binding { point, handler, order: None, interactive: false, place }];
        let plugin = HOST.load(component, setup, Arc::new(workspace), &bindings).unwrap();
        let mut registry = Registry::builder();
        plugin.register(&PluginSource { name: "tested", namespace: "tested", place: 0 }, &mut registry);
        Self { registry: registry.build(&BTreeMap::new()).unwrap() }
    }

    fn call(&self, run_id: &str) -> Answered {
        let scope = CallScope { run_id: run_id.into(), ..CallScope::new(Arc::new(SystemClock::new())) };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let input = QualityCheckInput::default();
        let done = runtime.block_on(self.registry.dispatch::<points::QualityCheck>(input, &scope));
        assert!(done.outcome.broken.is_empty(), "{:?}", done.outcome.broken);
        match &done.output.failures[..] {
            [] => Answered::Done,
            [failure] if failure.exit_code == Some(0) => denied(&failure.message, &failure.command),
            [failure] => Answered::Error(failure.exit_code.unwrap(), failure.message.clone()),
            more => panic!("{more:?}"),
        }
    }
}

const EXEC: &str = "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64";
const HOST_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Makes a component that runs a command with variables.
fn runs(command: &[&str], env: &[(&str, &str)]) -> Vec<u8> {
    let mut data = Data::default();
    let (program, args) = command.split_first().unwrap();
    let args: Vec<&[&str]> = args.iter().map(std::slice::from_ref).collect();
    let env: Vec<[&str; 2]> = env.iter().map(|(name, value)| [*name, *value]).collect();
    let env: Vec<&[&str]> = env.iter().map(|pair| &pair[..]).collect();
    let call = [
        data.text(program),
        data.list(&args),
        "(i32.const 0) (i32.const 0) (i32.const 0)".to_owned(),
        data.list(&env),
        "(i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)".to_owned(),
    ];
    calls("exec", "run", EXEC, &call.join(" "), &data)
}

fn exec(target: &str) -> Capabilities {
    Capabilities::default().with(Capability::Exec, [target])
}

#[test]
fn a_grant_of_arguments_is_none_of_options() {
    let target = Target::new();
    let mark = target.mark("alias").display().to_string();
    let alias = format!("alias.x=!touch {mark}");
    let over = format!("--output={mark}");
    for command in [
        &["git", "-c", &alias, "x"][..],
        &["git", "-c", &alias.replace("alias.x", "alias.log"), "log"],
        &["git", "log", &over],
        &["git", "log", "HEAD", &over],
        &["git", "--exec-path=/tmp", "log"],
        &["git", "log", "--ext-diff"],
        &["git"],
    ] {
        let plugin = Plugin::new(&target, &runs(command, &[]), &exec("git log *"), HOST_PATH);
        assert_eq!(plugin.call("r1"), denied("exec", &command.join(" ")), "{command:?}");
    }
    let plugin = Plugin::new(&target, &runs(&["git", "log", "HEAD"], &[]), &exec("git log *"), HOST_PATH);
    assert_eq!(plugin.call("r1"), Answered::Done);
    // What the grant of the program alone would do.
    let plugin = Plugin::new(&target, &runs(&["git", "-c", &alias, "x"], &[]), &exec("git"), HOST_PATH);
    assert_eq!(plugin.call("r1"), Answered::Done);
    assert_eq!(target.marks(), ["alias"]);
}

#[test]
fn no_variable_starts_another_program() {
    let target = Target::new();
    let mark = target.mark("ssh").display().to_string();
    let script = target.home().join("evil.sh");
    target.program("../home/evil.sh", &format!("#!/bin/sh\ntouch {mark}\n"));
    let script = script.display().to_string();
    let shell = format!("touch {mark}; false");
    for (name, value) in [
        ("GIT_SSH_COMMAND", &shell),
        ("GIT_SSH", &script),
        ("GIT_PROXY_COMMAND", &script),
        ("GIT_ALLOW_PROTOCOL", &"ext".to_owned()),
        ("PATH", &target.home().display().to_string()),
        ("HOME", &target.home().display().to_string()),
        ("LD_PRELOAD", &script),
    ] {
        for granted in [exec("git"), exec("git").with(Capability::Env, [name])] {
            let command = ["git", "ls-remote", "ssh://127.0.0.1:1/x"];
            let plugin = Plugin::new(&target, &runs(&command, &[(name, value)]), &granted, HOST_PATH);
            assert_eq!(plugin.call("r1"), denied("env", name));
        }
    }
    assert_eq!(target.marks(), [""; 0]);
    let granted = exec("env").with(Capability::Env, ["MY_FLAG"]);
    let plugin = Plugin::new(&target, &runs(&["env"], &[("MY_FLAG", "on")]), &granted, HOST_PATH);
    assert_eq!(plugin.call("r1"), Answered::Done);
}

#[test]
fn a_program_that_lies_in_the_project_never_stands_for_another() {
    let target = Target::new();
    let mark = target.mark("planted").display().to_string();
    for place in ["git", "bin/git"] {
        target.program(place, &format!("#!/bin/sh\ntouch {mark}\n"));
    }
    let root = target.root().display().to_string();
    for path in [format!(".:{HOST_PATH}"), format!("bin::{HOST_PATH}"), format!("{root}/bin:{HOST_PATH}")] {
        let plugin = Plugin::new(&target, &runs(&["git", "--version"], &[]), &exec("git --version"), &path);
        assert_eq!(plugin.call("r1"), Answered::Done, "{path}");
        assert_eq!(target.marks(), [""; 0], "{path}");
    }
    let plugin = Plugin::new(&target, &runs(&["./git"], &[]), &exec("git"), HOST_PATH);
    assert_eq!(plugin.call("r1"), denied("exec", "./git"));
}

#[test]
fn a_grant_of_a_host_is_for_one_port() {
    let target = Target::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let here = server.local_addr().unwrap().to_string();
    let mut data = Data::default();
    let call = [
        data.text("GET"),
        data.text(&format!("http://{here}/")),
        "(i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1) (i64.const 200)".to_owned(),
    ];
    let send = calls("http", "send", "i32 i32 i32 i32 i32 i32 i32 i32 i32 i64", &call.join(" "), &data);
    for granted in ["127.0.0.1", "127.0.0.1:443", "127.0.0.1:1"] {
        let granted = Capabilities::default().with(Capability::NetworkOutbound, [granted]);
        let plugin = Plugin::new(&target, &send, &granted, HOST_PATH);
        assert_eq!(plugin.call("r1"), denied("network.outbound", &here));
        assert!(server.accept().is_err(), "nobody may connect");
    }
    let granted = Capabilities::default().with(Capability::NetworkOutbound, [here]);
    // Nobody answers: that the time runs out shows that it was asked.
    assert!(matches!(Plugin::new(&target, &send, &granted, HOST_PATH).call("r1"), Answered::Error(6, _)));
    assert!(server.accept().is_ok());
}

#[test]
fn what_a_plugin_writes_in_a_run_has_an_end() {
    let target = Target::new();
    let granted = Capabilities::default().with(Capability::FilesystemWrite, ["/workspace/**"]);
    let mut data = Data::default();
    let call = format!("{} {}", data.text("out.txt"), data.text("ten bytes!"));
    let write = calls("files-write", "write", "i32 i32 i32 i32", &call, &data);
    let plugin = Plugin::new(&target, &write, &granted, HOST_PATH);
    let quota = |what: &str| Answered::Error(5, what.to_owned());
    for _ in 0..4 {
        assert_eq!(plugin.call("r1"), Answered::Done);
    }
    assert_eq!(plugin.call("r1"), quota("bytes written in a run"));
    assert_eq!(plugin.call("r2"), Answered::Done, "the next run has its own");

    let mut data = Data::default();
    let call = format!("{} {}", data.text("deep/out.txt"), data.text(""));
    let write = calls("files-write", "write", "i32 i32 i32 i32", &call, &data);
    let plugin = Plugin::new(&target, &write, &granted, HOST_PATH);
    for _ in 0..5 {
        assert_eq!(plugin.call("r1"), Answered::Done);
    }
    assert_eq!(plugin.call("r1"), quota("files written in a run"));
    assert!(fs::metadata(target.path("deep/out.txt")).is_ok());
}
