//! Commands whose agents and checks run in containers, as a person meets them: a project, a samuel.toml, podman.
//!
//! The image holds busybox and what the program under test is linked with. Where there is no podman, or the guest is
//! not built (`cargo xtask guest`), the tests are skipped with the reason.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::{fs, sync::LazyLock};

use samuel_tests::engine::TestEngine;

use crate::bench::{Bench, Ran, SAMUEL, says};

/// The name of the image.
const IMAGE: &str = "localhost/samuel-test-agents";

/// podman, with the image that it has; or why that cannot be.
static PODMAN: LazyLock<Result<(TestEngine, String), String>> =
    LazyLock::new(|| with_image(TestEngine::podman()));

/// Returns the reference that pins the image for podman, which is made where it is missing; or why that cannot be.
pub(crate) fn image() -> Result<String, String> {
    PODMAN.as_ref().map(|(_, image)| image.clone()).map_err(Clone::clone)
}

fn with_image(engine: Result<TestEngine, String>) -> Result<(TestEngine, String), String> {
    let engine = engine?;
    let image = engine.image(IMAGE, || engine.import_shell(IMAGE, SAMUEL))?;
    Ok((engine, image))
}

/// A sandbox that can be tried out.
pub(crate) struct Wall {
    /// What runs commands: `bwrap`, or an engine.
    pub(crate) name: &'static str,
    /// Its name in samuel.toml.
    pub(crate) sandbox: &'static str,
    /// Its keys below `[sandbox]`.
    pub(crate) keys: String,
    /// docker's service, which ends with this.
    pub(crate) engine: Option<TestEngine>,
    env: Vec<(String, String)>,
}

impl Wall {
    /// Returns each that can be used here, and says of every other why it is skipped.
    pub(crate) fn all() -> Vec<Self> {
        let engines =
            [Self::engine("podman", TestEngine::podman), Self::engine("docker", TestEngine::docker)];
        [Self::bwrap()].into_iter().chain(engines.into_iter().flatten()).collect()
    }

    /// Returns the same without docker, whose service takes seconds to start; with `SAMUEL_LONG=1` with docker.
    pub(crate) fn usual() -> Vec<Self> {
        if std::env::var_os("SAMUEL_LONG").is_some() {
            return Self::all();
        }
        [Self::bwrap()].into_iter().chain(Self::engine("podman", TestEngine::podman)).collect()
    }

    /// Returns bubblewrap, which no engine is started for.
    pub(crate) fn bwrap() -> Self {
        Self {
            name: "bwrap",
            sandbox: "bwrap",
            keys: String::new(),
            engine: None,
            env: vec![("SAMUEL_GUEST".to_owned(), guest().display().to_string())],
        }
    }

    #[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
    fn engine(name: &'static str, find: fn() -> Result<TestEngine, String>) -> Option<Self> {
        let found = with_image(find()).inspect_err(|why| println!("skipped: {name}: {why}"));
        found.ok().map(|(engine, image)| Self::of_engine(name, engine, &image))
    }

    /// Returns podman with a storage of its own, in which nobody else has containers and images; or says why there is none.
    pub(crate) fn apart() -> Option<Self> {
        let (engine, image) = with_image(TestEngine::podman_apart())
            .inspect_err(|why| println!("skipped: podman: {why}"))
            .ok()?;
        Some(Self::of_engine("podman", engine, &image))
    }

    fn of_engine(name: &'static str, engine: TestEngine, image: &str) -> Self {
        let is_place = |name: &str| name.starts_with("DOCKER_") || name.starts_with("CONTAINERS_");
        let of_service = engine.env().iter().filter(|(name, _)| is_place(name)).cloned();
        let own = [
            ("SAMUEL_GUEST".to_owned(), engine.guest().display().to_string()),
            ("SAMUEL_RUNTIME".to_owned(), name.to_owned()),
        ];
        let (env, keys) =
            (of_service.chain(own).collect(), format!("image = \"{image}\"\nmemory = \"512m\"\npids = 256"));
        Self { name, sandbox: "oci", keys, engine: Some(engine), env }
    }

    /// Returns the variables by which a command finds it.
    pub(crate) fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Returns the containers that there are of a project, by their names.
    pub(crate) fn containers(&self, bench: &Bench) -> String {
        let label = samuel_tests::engine::label_of(&bench.root());
        self.engine.as_ref().map(|engine| engine.left(&label).trim().to_owned()).unwrap_or_default()
    }
}

/// Returns where the guest is, if it is built: it lies in the directory that this test was built in.
pub(crate) fn guest() -> std::path::PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(3).unwrap().join("x86_64-unknown-linux-gnu/guest/samuel-guest")
}

/// A project whose agents run in containers, in which nothing of it has run yet.
fn bench(titles: &[&str], keys: &str) -> Bench {
    let bench = Bench::with_tasks(titles);
    configure(&bench, keys);
    bench.make_repository(&["samuel.toml"]);
    bench
}

fn configure(bench: &Bench, keys: &str) {
    let text = format!("version = \"2\"\n[methodology.ralph]\nsandbox = \"oci\"\n\n[sandbox]\n{keys}\n");
    bench.write("samuel.toml", &text);
}

/// Runs the command with the guest that was built, and more variables.
fn ran(bench: &Bench, more: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = bench.command(args);
    command.env("SAMUEL_GUEST", guest()).envs(more.iter().copied());
    Ran::of(command)
}

/// Returns a project that can be worked on in containers, or says why there is none.
fn usable(titles: &[&str]) -> Option<Bench> {
    let image = image().inspect_err(|why| println!("skipped: {why}")).ok()?;
    let bench = bench(titles, &format!("image = \"{image}\""));
    let checked = ran(&bench, &[], &["run", "start", "--dry-run", "--agent-command", "true"]);
    if checked.stderr.contains("sandbox \"oci\" cannot be used") {
        println!("skipped: {}", checked.stderr.lines().next().unwrap_or_default());
        return None;
    }
    Some(bench)
}

#[test]
fn an_agent_in_a_container_records_its_tasks_and_asks() {
    // By its name it is called where it is on PATH, else by its path.
    for by_name in [false, true] {
        let Some(bench) = usable(&["One", "Two", "Three"]) else { return };
        let programs = bench.tmp().join("programs");
        fs::create_dir(&programs).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut more = Vec::new();
        if by_name {
            std::os::unix::fs::symlink(SAMUEL, programs.join("samuel")).unwrap();
            more.push(("PATH", path.as_str()));
        }
        let agent = "S=\"$SAMUEL_BINARY\"; echo \"$S\" > called; $S run tasks > tasks 2>&1; $S run show \"$SAMUEL_TASK_ID\" > shown 2>&1; \
                     $S run enqueue Four > added 2>&1; $S run ask 4 'Which one?' > asked 2>&1; \
                     $S run edit 2 --title Other > edited 2>&1; \
                     SAMUEL_TOKEN=00 $S run done 2 > forged 2>&1; \
                     read -r P < .git/objects/info/alternates; P=${P%/.git/objects}; \
                     { echo x >> \"$P/.samuel/run/prd.toon\"; } 2> /dev/null; \
                     $S run done \"$SAMUEL_TASK_ID\" > done 2>&1";
        let started =
            ran(&bench, &more, &[&bench.start_args(agent)[..], &["--max-iterations", "1"]].concat());
        let told =
            |name: &str| fs::read_to_string(bench.path(name)).unwrap_or_else(|_| format!("{started:?}"));
        assert_eq!(told("called").trim(), if by_name { "samuel" } else { SAMUEL });
        says(&told("tasks"), &["One", "Two", "Three"]);
        says(&told("shown"), &["One"]);
        says(&told("done"), &["1 is completed"]);
        says(&told("edited"), &["error: "]);
        says(&told("forged"), &["the token is none that is in use"]);
        let stands = ["1", "2", "3", "4"].map(|id| bench.status(id));
        assert_eq!(stands, ["completed", "pending", "pending", "blocked"], "{} {started:?}", told("asked"));
        assert!(!bench.read(".samuel/run/prd.toon").ends_with("x\n"), "the file itself is out of reach");
    }
}

#[test]
fn what_containers_cannot_be_made_of_is_refused_with_its_place_and_nothing_starts() {
    let Ok(image) = image().inspect_err(|why| println!("skipped: {why}")) else { return };
    let bench = bench(&["First"], "");
    let none = format!("image = \"localhost/none@sha256:{}\"", "0".repeat(64));
    let with = |keys: &str| format!("image = \"{image}\"\n{keys}");
    let socket = bench.tmp().join("engine.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let (socket, holder) = (socket.display().to_string(), bench.tmp().display().to_string());
    let home = bench.tmp().parent().unwrap().join("home");
    fs::create_dir_all(home.join(".local/state/samuel")).unwrap();
    let (home, state) = (home.display().to_string(), home.join(".local/state").display().to_string());
    let mounts = |path: &str| with(&format!("mounts = [\"{path}\"]"));
    for (keys, expected) in [
        (String::new(), "samuel.toml:3:1: methodology.ralph.sandbox: the sandbox oci needs an image"),
        (
            "image = \"agents:latest\"".to_owned(),
            "samuel.toml:6:1: sandbox.image: `agents:latest` is not pinned",
        ),
        (none, "samuel.toml:6:1: sandbox.image: podman "),
        (with("egress = [\"http://x\"]"), "samuel.toml:7:1: sandbox.egress: `http://x` is no host"),
        (with("check_egress = [\"a b\"]"), "samuel.toml:7:1: sandbox.check_egress: `a b` is no host"),
        (with("memory = \"lots\""), "samuel.toml:7:1: sandbox.memory: `lots` is no amount of memory"),
        (with("pids = 3"), "samuel.toml:7:8: sandbox.pids"),
        (with("imgae = \"x\""), "samuel.toml:7:1: sandbox.imgae"),
        (with("workspace = \"in-place\""), "samuel.toml:7:1: sandbox.workspace: a sandbox keeps agents out"),
        (
            with("pids = 4294967295"),
            "samuel.toml:7:1: sandbox.pids: 4294967295 is more than the 4194304 processes",
        ),
        (with("gateway.openai = {}"), "samuel.toml:7:1: sandbox.gateway: openai: its key is in no variable"),
        (mounts("/"), "samuel.toml:7:1: sandbox.mounts: `/` holds all of your files"),
        (mounts("/nowhere/x"), "samuel.toml:7:1: sandbox.mounts: `/nowhere/x` does not exist"),
        (mounts(&home), "holds all of your files"),
        (mounts(&socket), "is a socket"),
        (mounts(&holder), "holds the socket"),
        (mounts(&state), "leads to what Samuel keeps from agents"),
    ] {
        configure(&bench, &keys);
        let refused = ran(&bench, &[], &bench.start_args("touch ../ran"));
        assert!(refused.code != 0 && refused.stderr.contains(expected), "{keys}: {refused:?}");
        assert!(refused.stderr.contains("help: "), "{keys}: {refused:?}");
    }
    configure(&bench, &with(""));
    for (name, value, expected) in [
        ("SAMUEL_RUNTIME", "dokcer", "SAMUEL_RUNTIME is \"dokcer\", which is neither podman nor docker"),
        ("SAMUEL_GUEST", SAMUEL, "is linked dynamically"),
        ("SAMUEL_GUEST", "/no/such/guest", "cargo xtask guest"),
    ] {
        let refused = ran(&bench, &[(name, value)], &bench.start_args("touch ../ran"));
        assert!(refused.code != 0 && refused.stderr.contains(expected), "{name}={value}: {refused:?}");
        let document = ran(&bench, &[(name, value)], &["run", "sandbox", "check", "--json"]).json();
        assert_eq!(document["error"]["code"], "E_SANDBOX_UNAVAILABLE", "{document}");
    }
    assert!(!bench.path("../ran").exists() && !bench.path("ran").exists());
    assert_eq!(bench.status("1"), "pending");
}

#[test]
fn an_image_is_pinned_in_samuel_lock_and_a_start_holds_to_it() {
    let Some(bench) = usable(&["First"]) else { return };
    let pinned = image().unwrap();
    let lock =
        |image: &str| bench.write("samuel.lock", &format!("version = 1\n[sandbox]\nimage = \"{image}\"\n"));
    let start = || ran(&bench, &[], &bench.start_args("$SAMUEL_BINARY run done 1"));
    // samuel.toml has its digest, as it was before; pinning one by its name moves it.
    let told = ran(&bench, &[], &["run", "sandbox", "image", IMAGE, "--json"]).ends(0).json();
    assert_eq!(told["data"]["image"], pinned.as_str());
    assert!(bench.read("samuel.lock").contains(&format!("image = \"{pinned}\"")));
    assert!(!bench.read("samuel.toml").contains("image"), "{}", bench.read("samuel.toml"));
    // Another one is refused, in either file, and so is one that is not there.
    configure(&bench, "image = \"localhost/other\"");
    says(
        &start().stderr,
        &[
            "samuel.toml:6:1: sandbox.image: `localhost/other` is not the image that samuel.lock pins",
            "help: ",
        ],
    );
    configure(&bench, &format!("image = \"{IMAGE}\""));
    lock(&format!("{IMAGE}@sha256:{}", "0".repeat(64)));
    says(&start().stderr, &["does not have the image", "Samuel pulls none"]);
    lock("localhost/agents:latest");
    says(&start().stderr, &["sandbox.image: ", "`localhost/agents:latest` is not pinned by its digest"]);
    assert_eq!(bench.status("1"), "pending", "nothing was started");
    let unknown = ran(&bench, &[], &["run", "sandbox", "image", "localhost/there-is-none"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("Samuel pulls none"), "{unknown:?}");
    lock(&pinned);
    let started = start();
    assert_eq!((started.code, bench.status("1").as_str()), (0, "completed"), "{started:?}");
}

#[test]
fn doctor_says_which_engines_there_are_and_why_none_is_used() {
    let Some(bench) = usable(&["First"]) else { return };
    let doctor = |more: &[(&str, &str)]| ran(&bench, more, &["doctor"]).stdout;
    says(&doctor(&[]), &["containers are run by /", "podman ", ", storage ", "docker", "the guest is /"]);
    let refused = doctor(&[("SAMUEL_RUNTIME", "dokcer")]);
    says(&refused, &["SAMUEL_RUNTIME is \"dokcer\", which is neither podman nor docker", "podman "]);
}
