//! Containers of podman and docker, both really run: plugins that are images, and a whole run in docker.
//!
//! An engine that does not work here is skipped with the reason. Images are made of files of this machine.

use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::PathBuf,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use samuel_core::{
    clock::SystemClock,
    egress::EgressPolicy,
    hook::{BreakClass, CallScope, ChainSpec, Dispatched, HookPoint, PluginSource, Registry, points},
    model::payload::{ContextExtraInput, ContextExtraOutput},
    plugin::{
        BuildOptions, Capabilities, Capability, ImageMode, ImagePlugin, ImageSetup, LoadOptions, NewPlugin,
        PluginKind, PluginLanguage, SdkSource, TrialOptions, TrialProgress, build, scaffold, try_out,
    },
    process::{CommandSpec, ExitStatus, Supervisor, run},
    sandbox::{Contents, Image, Memory, Oci, Sandbox as _, View},
    testing::Bench,
};
use samuel_tests::engine::{TestEngine, fill_with_python, label_of};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The command.
const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");
/// What the image of plugins runs: the name of a handler says what it does.
const PROGRAM: &str = r#"
import json, os, socket, sys, time

def host(*requests):
    run = socket.socket(socket.AF_UNIX)
    run.settimeout(20)
    run.connect(os.environ["SAMUEL_SOCKET"])
    lines = run.makefile("rw")
    def ask(message):
        print(json.dumps(message), file=lines, flush=True)
        return json.loads(lines.readline())
    ask({"samuel": "plugin/1", "token": os.environ["SAMUEL_TOKEN"]})
    return [ask({"id": n, **request}) for n, request in enumerate(requests)]

def refused(what):
    try:
        what()
        return "allowed"
    except OSError as error:
        return type(error).__name__

def does(handler):
    if handler == "hangs":
        time.sleep(1000)
    if handler == "floods":
        while True:
            os.write(1, b"x" * 65536)
    if handler == "exits":
        sys.stderr.write("I am gone\n")
        sys.stderr.flush()
        os._exit(3)
    if handler == "forks":
        while True:
            try:
                os.fork()
            except OSError:
                time.sleep(1000)
    if handler == "garbage":
        print("hello", flush=True)
        time.sleep(1000)
    if handler == "fails":
        return {"error": {"message": "not today"}}
    if handler == "asks":
        return host(
            {"kv.set": {"key": "a", "value": "1"}}, {"kv.get": {"key": "a"}}, {"config.get": {"key": "level"}},
            {"log.write": {"level": "warn", "message": "look here"}}, {"tasks.list": {}},
            {"tasks.enqueue": {"title": "Found"}}, {"tasks.eat": {}})
    if handler == "sees":
        return {
            "listed": sorted(os.listdir("/workspace")), "read": open("/workspace/a.toml").read(),
            "write": refused(lambda: open("/workspace/a.toml", "w")),
            "out": refused(lambda: open("/workspace/out/b", "w").write("made")),
            "root": refused(lambda: open("/etc/x", "w")), "env": os.environ.get("MINE"), "other": os.environ.get("OTHER"),
            "net": refused(lambda: socket.create_connection(("127.0.0.1", 9), 2)), "uid": os.getuid(),
        }
    return {}

def answer(handler):
    told = does(handler)
    if isinstance(told, dict) and "error" in told:
        return told
    return {"extras": [{"name": "Told", "content": json.dumps(told)}]}

if sys.argv[1] != "serve":
    sys.stdin.readline()
    told = answer(sys.argv[1])
    if "error" in told:
        sys.exit(told["error"]["message"])
    print(json.dumps(told), flush=True)
    sys.exit(0)
for line in sys.stdin:
    call = json.loads(line)
    print(json.dumps({"n": call["n"], **answer(call["handler"])}), flush=True)
"#;

/// A project with a plugin that is an image.
struct Ground<'a> {
    engine: &'a TestEngine,
    bench: Bench,
    sockets: TempDir,
    image: Image,
    runtime: tokio::runtime::Runtime,
}

impl<'a> Ground<'a> {
    fn new(engine: &'a TestEngine) -> Self {
        // Named by what it holds, so that it is made once for all tests.
        let mut hasher = DefaultHasher::new();
        PROGRAM.hash(&mut hasher);
        let name = format!("localhost/samuel-test-plugin-{:016x}", hasher.finish());
        let image = engine.image(&name, || engine.import_python(&name, PROGRAM)).unwrap();
        Self {
            engine,
            bench: Bench::with_tasks(&[("1", "Look around")]).unwrap(),
            sockets: tempfile::Builder::new().prefix("sc-").tempdir_in("/tmp").unwrap(),
            image: Image::parse(&image).unwrap(),
            runtime: tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap(),
        }
    }

    fn options(&self) -> LoadOptions {
        LoadOptions {
            env: [("MINE", "yes"), ("OTHER", "no")].map(|(name, value)| (name.into(), value.into())).into(),
            supervisor: Supervisor::GroupOnly,
            cache_dir: None,
            state_dir: None,
            store: Some(self.bench.project().plan_store()),
            containers: Some(self.engine.containers(&self.sockets.path().join("s"))),
        }
    }

    fn plugin(&self, mode: ImageMode, granted: Capabilities) -> ImagePlugin {
        let setup = ImageSetup {
            name: "looker".to_owned(),
            image: self.image.clone(),
            mode,
            granted,
            config: json!({ "level": 3 }).as_object().unwrap().clone(),
        };
        ImagePlugin::new(setup, self.bench.path(), &self.options()).unwrap()
    }

    /// Calls a handler with a deadline.
    fn call(&self, plugin: &ImagePlugin, handler: &str, limit: Duration) -> Dispatched<ContextExtraOutput> {
        let mut builder = Registry::builder();
        let source = PluginSource { name: "looker", namespace: "looker", place: 0 };
        builder.plugin::<points::ContextExtra, _>(&source, handler, None, plugin.handler(handler));
        let spec = ChainSpec { timeout: Some(limit), ..ChainSpec::default() };
        let registry = builder.build(&BTreeMap::from([(HookPoint::ContextExtra, spec)])).unwrap();
        let scope = CallScope::new(Arc::new(SystemClock::new()));
        let input = ContextExtraInput::default();
        self.runtime.block_on(registry.dispatch::<points::ContextExtra>(input, &scope))
    }

    /// Calls a handler, and returns what it told.
    fn told(&self, plugin: &ImagePlugin, handler: &str) -> (serde_json::Value, Vec<String>) {
        let done = self.call(plugin, handler, Duration::from_secs(60));
        assert!(done.outcome.broken.is_empty(), "{:?}", done.outcome.broken);
        let warnings = done.outcome.warnings.iter().map(|warning| warning.message.clone()).collect();
        (serde_json::from_str(&done.output.extras[0].content).unwrap(), warnings)
    }

    /// Returns the names of the containers that are there of the project.
    fn left(&self) -> String {
        self.engine.left(&label_of(self.bench.path()))
    }
}

/// Returns podman, which is not left out where a sandbox is called for.
fn podman() -> Result<TestEngine, String> {
    TestEngine::podman().inspect_err(|why| TestEngine::may_be_left_out(&format!("podman: {why}")))
}

/// Returns docker with `SAMUEL_LONG=1`: what podman is tested with shows the same of Samuel in less time.
fn docker_in_full() -> Result<TestEngine, String> {
    match std::env::var_os("SAMUEL_LONG") {
        Some(_) => TestEngine::docker(),
        None => Err("docker, whose service takes seconds to start: see --long".to_owned()),
    }
}

/// Holds what becomes of handlers that break. In short a plugin is not asked whether it still answers after each of them,
/// but by the next one and at the end.
fn breaks(engine: Result<TestEngine, String>, mode: ImageMode) {
    let Ok(engine) = engine.inspect_err(|why| println!("skipped: {why}")) else { return };
    let is_long = std::env::var_os("SAMUEL_LONG").is_some();
    let ground = Ground::new(&engine);
    let plugin = ground.plugin(mode, Capabilities::default());
    let limit = Duration::from_secs(if mode == ImageMode::Serve { 2 } else { 4 });
    // Of one that serves, the start is no part of what is measured.
    ground.told(&plugin, "ok");
    for (handler, class) in [
        ("hangs", BreakClass::Timeout),
        ("forks", BreakClass::Timeout),
        ("exits", BreakClass::Failed),
        ("fails", BreakClass::Failed),
    ] {
        // In a container of one call, the garbage below is known for bad no sooner than what hangs.
        if handler == "hangs" && mode == ImageMode::Call && !is_long {
            continue;
        }
        // A container is started anew behind each that broke, which takes a while where much is going on.
        let limit = if class == BreakClass::Timeout { limit } else { Duration::from_secs(60) };
        let started = Instant::now();
        let done = ground.call(&plugin, handler, limit);
        let took = started.elapsed();
        let failure = &done.outcome.broken[0].failure;
        assert_eq!(failure.class, class, "{mode:?} {handler}: {failure}");
        assert!(took < limit + Duration::from_millis(100), "{mode:?} {handler}: {took:?}");
        let message = match handler {
            "exits" => "I am gone",
            "fails" => "not today",
            _ => continue,
        };
        assert_eq!(failure.message, message, "{mode:?}");
        if is_long {
            ground.told(&plugin, "ok");
        }
    }
    // The rest is known for bad before the deadline, but for what is no line yet.
    for handler in ["floods", "garbage"] {
        let waits = mode == ImageMode::Call && handler == "garbage";
        let done = ground.call(&plugin, handler, if waits { limit } else { Duration::from_secs(30) });
        let class = done.outcome.broken[0].failure.class;
        let expected = if waits { BreakClass::Timeout } else { BreakClass::BadOutput };
        assert_eq!(class, expected, "{mode:?} {handler}");
    }
    ground.told(&plugin, "ok");
    drop(plugin);
    assert_eq!(ground.left(), "", "{mode:?}");
    assert_eq!(fs::read_dir(ground.sockets.path().join("s")).unwrap().count(), 0, "sockets are left");
}

// Takes about 15 s: a container is started after each handler that broke, and two are waited for until their limit of 2 s.
#[test]
fn what_breaks_in_a_container_ends_in_its_class_at_its_deadline_and_nothing_stays() {
    breaks(podman(), ImageMode::Serve);
}

// Takes about 15 s: each handler has a container, and two are waited for until their limit of 4 s.
#[test]
fn what_breaks_in_a_container_of_one_call_ends_the_same() {
    breaks(podman(), ImageMode::Call);
}

#[test]
fn what_breaks_in_a_container_of_docker_ends_the_same() {
    breaks(docker_in_full(), ImageMode::Serve);
}

#[test]
fn what_breaks_in_dockers_container_of_one_call_ends_the_same() {
    breaks(docker_in_full(), ImageMode::Call);
}

// Takes about 8 s: two containers of podman, after their image was made; docker is tried with `SAMUEL_LONG=1`.
#[test]
fn an_image_has_what_it_was_granted_and_nothing_else() {
    for engine in [podman(), docker_in_full()] {
        let Ok(engine) = engine.inspect_err(|why| println!("skipped: {why}")) else { continue };
        let ground = Ground::new(&engine);
        let root = ground.bench.path();
        fs::write(root.join("a.toml"), "x = 1").unwrap();
        fs::write(root.join("secret"), "").unwrap();
        fs::create_dir(root.join("out")).unwrap();
        let granted = Capabilities::default()
            .with(Capability::FilesystemRead, ["/workspace/a.toml"])
            .with(Capability::FilesystemWrite, ["/workspace/out/**"])
            .with(Capability::Env, ["MINE"])
            .with(Capability::SamuelApi, ["read"]);
        let plugin = ground.plugin(ImageMode::Serve, granted);
        let (seen, _) = ground.told(&plugin, "sees");
        let expected = json!({
            "listed": ["a.toml", "out"], "read": "x = 1", "write": "OSError", "out": "allowed", "root": "OSError",
            "env": "yes", "other": null, "net": "ConnectionRefusedError", "uid": rustix::process::getuid().as_raw(),
        });
        assert_eq!(seen, expected);
        assert_eq!(fs::read_to_string(root.join("out/b")).unwrap(), "made");

        let (asked, warnings) = ground.told(&plugin, "asks");
        let results: Vec<_> = asked.as_array().unwrap().iter().map(|one| &one["result"]).collect();
        assert_eq!((results[1], results[2]), (&json!("1"), &json!(3)), "{asked}");
        assert_eq!(results[4][0]["title"], "Look around");
        assert_eq!(asked[5]["error"]["code"], "denied", "it may only read");
        assert_eq!(asked[6]["error"]["code"], "invalid", "there is no such function");
        assert_eq!(warnings, ["look here"]);
        let writes =
            ground.plugin(ImageMode::Call, Capabilities::default().with(Capability::SamuelApi, ["write"]));
        let (asked, _) = ground.told(&writes, "asks");
        assert_eq!(asked[4]["error"]["code"], "denied");
        assert_eq!(asked[5]["result"], "2", "{asked}");
        assert_eq!(ground.bench.project().plan_store().load().unwrap().plan.tasks.len(), 2);
    }
}

/// Holds that a new plugin in a language is built, and answers.
fn is_built(engine: &TestEngine, language: PluginLanguage) {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("greeter");
    let plugin = NewPlugin {
        point: HookPoint::ContextExtra,
        name: "greeter".to_owned(),
        kind: PluginKind::Oci,
        language: Some(language),
        sdk: SdkSource::Carried,
    };
    scaffold(&place, &plugin).unwrap();
    if language == PluginLanguage::Python {
        let root = directory.path().join("rootfs");
        fs::create_dir(&root).unwrap();
        fill_with_python(&root).unwrap();
        let archive = place.join("rootfs.tar");
        assert!(
            Command::new("tar")
                .arg("-C")
                .arg(&root)
                .arg("-cf")
                .arg(archive)
                .arg(".")
                .status()
                .unwrap()
                .success()
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let own = [("SAMUEL_RUNTIME", engine.kind().name()), ("CARGO_NET_OFFLINE", "true")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let env = engine.env().iter().filter(|(name, _)| name != "RUSTFLAGS").cloned().chain(own).collect();
    let options = BuildOptions {
        env,
        supervisor: Supervisor::GroupOnly,
        timeout: Duration::from_secs(300),
        cancel: CancellationToken::new(),
    };
    match runtime.block_on(build(&place, &options)) {
        Ok(_) => {}
        Err(error) if language == PluginLanguage::Rust && error.to_string().contains("offline") => {
            println!("skipped: a new image in Rust: serde_json is not in cargo's cache");
            return;
        }
        Err(error) => panic!("{language}: {error}"),
    }
    let sockets = tempfile::Builder::new().prefix("sc-").tempdir_in("/tmp").unwrap();
    let load = LoadOptions {
        env: Vec::new(),
        supervisor: Supervisor::GroupOnly,
        cache_dir: None,
        state_dir: None,
        store: None,
        containers: Some(engine.containers(&sockets.path().join("s"))),
    };
    let options = TrialOptions {
        project_root: directory.path().to_owned(),
        load,
        clock: Arc::new(SystemClock::new()),
        point: None,
        config: serde_json::Map::new(),
        input: None,
        timeout: None,
        progress: TrialProgress::default(),
    };
    let trials = runtime.block_on(try_out(&place, &options)).unwrap();
    assert_eq!(trials[0].failure, None, "{language}");
    let content = trials[0].output.as_ref().unwrap()["extras"][0]["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("Hello from greeter, about "), "{language}: {content}");
}

/// Checks that of a new plugin in each language.
fn are_built(engine: Result<TestEngine, String>) {
    let Ok(engine) = engine.inspect_err(|why| println!("skipped: {why}")) else { return };
    for language in [PluginLanguage::Python, PluginLanguage::Rust] {
        is_built(&engine, language);
    }
}

// Takes about 25 s: cargo builds one of the plugins.
#[test]
fn a_new_plugin_is_built_without_a_network_and_answers() {
    are_built(podman());
}

#[test]
fn a_new_plugin_is_built_by_docker_and_answers() {
    are_built(docker_in_full());
}

// Docker's short form, with `sandbox_oci::nothing_gets_out_of_a_container_of_docker`.
#[test]
fn commands_run_in_containers_of_docker_as_in_those_of_podman() {
    let engine = TestEngine::docker().inspect_err(|why| println!("skipped: docker: {why}"));
    let Ok(engine) = engine else { return };
    let image = engine.import_shell("samuel-test-shell", SAMUEL).unwrap();
    let directory = tempfile::Builder::new().prefix("sc-").tempdir_in("/tmp").unwrap();
    let work = directory.path().join("work");
    fs::create_dir(&work).unwrap();
    let contents = Contents {
        view: View::new(&work),
        image: Image::parse(&image).unwrap(),
        memory: Memory::parse("64m").unwrap(),
        pids: 100,
        egress: EgressPolicy::default(),
        check_egress: EgressPolicy::default(),
        gateways: Vec::new(),
    };
    let oci = Oci::new(engine.containers(&directory.path().join("s")), contents, directory.path());
    oci.check().unwrap();
    assert!(oci.version().unwrap().starts_with("docker "), "{:?}", oci.version());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let ran = |line: &str| {
        let spec = CommandSpec::shell(line, &work).merge_stderr(true).timeout(Duration::from_secs(60));
        let spec = oci.wrap(spec.env("SECRET", "x")).unwrap();
        let arguments: Vec<_> =
            spec.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert!(!arguments.iter().any(|word| word.contains("SECRET")), "{arguments:?}");
        runtime.block_on(run(spec, &Supervisor::GroupOnly, &CancellationToken::new())).unwrap()
    };
    let output = ran("echo made > file; echo $SECRET; pwd; touch /etc/x; exit 7");
    assert_eq!(output.status, ExitStatus::Exited(7), "{}", output.stdout.text());
    // Docker hands stdout and stderr over apart, so a line of one may come between two of the other.
    let printed = output.stdout.text();
    let (refused, others): (Vec<&str>, Vec<&str>) =
        printed.lines().partition(|line| line.ends_with("Read-only file system"));
    assert_eq!((refused.len(), others), (1, vec!["x", &work.display().to_string()]), "{printed}");
    assert_eq!(fs::read_to_string(work.join("file")).unwrap(), "made\n");
    let output = ran("x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}");
    assert!(output.stdout.text().contains("memory below [sandbox]"), "{}", output.stdout.text());
    assert_eq!(engine.left(&label_of(directory.path())), "");
}

#[test]
fn the_demonstration_in_containers_of_docker_does_the_same() {
    let Ok(engine) = docker_in_full().inspect_err(|why| println!("skipped: {why}")) else { return };
    let image = engine.import_shell("samuel-test-demo", SAMUEL).unwrap();
    let home = tempfile::Builder::new().prefix("sc-").tempdir_in("/tmp").unwrap();
    let place = |name: &str| -> PathBuf { home.path().join(name) };
    let output = Command::new(SAMUEL)
        .args(["demo", "--sandbox", "oci", "--image", &image, "--json"])
        .envs(engine.env().iter().map(|(name, value)| (name, value)))
        .env("SAMUEL_RUNTIME", "docker")
        .env("SAMUEL_GUEST", engine.guest())
        .env("SAMUEL_STATE_DIR", place("state"))
        .env("XDG_RUNTIME_DIR", home.path())
        .current_dir(home.path())
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = &document["data"];
    assert_eq!(
        told["report"]["exit_reason"],
        "completed",
        "{document} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (tasks, commits) = (told["tasks"].as_array().unwrap(), told["commits"].as_array().unwrap());
    assert_eq!((tasks.len(), commits.len()), (3, 4), "its commits are on the branch");
    assert!(tasks.iter().all(|task| task["status"] == "completed"), "{document}");
}
