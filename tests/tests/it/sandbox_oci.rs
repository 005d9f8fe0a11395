//! Commands in containers, really: what they see, what they are kept from, and that nothing of them stays.
//!
//! The image is made of a root file system that holds nothing; the programs are this machine's, mounted
//! read-only. It is podman that runs them; what holds every probe is held under docker as well. Where there is no
//! engine, or the guest is not built (`cargo xtask guest`), the tests are skipped with the reason.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use samuel_core::{
    egress::EgressPolicy,
    model::Coded as _,
    process::{CommandOutput, CommandSpec, End, ExitStatus, Supervisor, run},
    sandbox::{
        Bwrap, Containers, Contents, Engine, EngineKind, Image, Memory, Oci, ProbeFinding, ProbeGround,
        ProbeOutcome, Sandbox, View, probe,
    },
    testing::Weakened,
};
use samuel_tests::{
    engine::{TestEngine, label_of},
    processes::{has_process, within},
};
use tokio_util::sync::CancellationToken;

/// The name of the image.
const IMAGE: &str = "localhost/samuel-test-empty";
/// What a test that is started a second time finds its directory by.
const CHILD: &str = "SAMUEL_TEST_CHILD";

/// What a test has: an engine, a project, a workspace, and a directory for sockets.
struct Ground {
    directory: tempfile::TempDir,
    image: String,
    engine: TestEngine,
}

impl Ground {
    /// Makes it with podman, or says why the test is skipped.
    fn create() -> Option<Self> {
        Self::of(TestEngine::podman())
    }

    /// Makes it with an engine, or says why the test is skipped.
    fn of(engine: Result<TestEngine, String>) -> Option<Self> {
        let ready =
            engine.and_then(|engine| Ok((engine.image(IMAGE, || engine.import_empty(IMAGE))?, engine)));
        let (image, engine) = ready.inspect_err(|why| println!("skipped: {why}")).ok()?;
        let directory = tempfile::Builder::new().prefix("samuel-oci-").tempdir_in("/tmp").unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        let ground = Self { directory, image, engine };
        match ground.oci(|_| {}).check() {
            Ok(()) => Some(ground),
            Err(error) => {
                println!("skipped: {error}");
                None
            }
        }
    }

    fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    fn containers(&self) -> Containers {
        self.engine.containers(&self.directory.path().join("s"))
    }

    /// Asks the engine, whatever comes of it.
    fn engine(&self, arguments: &[&str]) -> String {
        self.engine.run(arguments).unwrap_or_default().trim().to_owned()
    }

    fn contents(&self, view: View) -> Contents {
        let view = View { read_only: [vec!["/usr".into()], view.read_only].concat(), ..view };
        Contents {
            view,
            image: Image::parse(&self.image).unwrap(),
            memory: Memory::parse("256m").unwrap(),
            pids: 200,
            egress: EgressPolicy::default(),
            check_egress: EgressPolicy::default(),
            gateways: Vec::new(),
        }
    }

    fn oci(&self, change: impl FnOnce(&mut Contents)) -> Oci {
        let mut contents = self.contents(View::new(self.work()));
        change(&mut contents);
        Oci::new(self.containers(), contents, self.directory.path())
    }

    fn spec(&self, line: &str) -> CommandSpec {
        CommandSpec::shell(line, self.work()).env("LC_ALL", "C").merge_stderr(true)
    }

    /// Runs a command line in a container, as an agent's is.
    async fn ran(&self, oci: &Oci, line: &str) -> CommandOutput {
        ran(oci.wrap(self.spec(line)).unwrap()).await
    }

    /// Returns the names of the containers that are there of the project.
    fn left(&self) -> String {
        self.engine.left(&label_of(self.directory.path())).trim().to_owned()
    }
}

async fn ran(spec: CommandSpec) -> CommandOutput {
    run(spec.timeout(Duration::from_secs(60)), &Supervisor::GroupOnly, &CancellationToken::new())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_first_process_is_shut_to_its_command() {
    let Some(ground) = Ground::create() else { return };
    let output = ground
        .ran(&ground.oci(|_| {}), "cat /proc/1/environ; readlink /proc/1/exe; cat /proc/self/comm")
        .await;
    let said = output.stdout.text();
    assert!(said.contains("Permission denied") && said.ends_with("cat\n"), "{said}");
}

#[tokio::test]
async fn one_trial_says_nothing_of_another_image_and_a_failure_nothing_of_the_next_try() {
    let Some(ground) = Ground::create() else { return };
    let containers = ground.containers();
    let oci = |image: &str| {
        let contents =
            Contents { image: Image::parse(image).unwrap(), ..ground.contents(View::new(ground.work())) };
        Oci::new(containers.clone(), contents, ground.directory.path())
    };
    let none = format!("localhost/none@sha256:{}", "0".repeat(64));
    assert!(oci(&none).check().is_err());
    oci(&ground.image).check().unwrap();
    assert!(oci(&none).check().is_err());
}

#[test]
fn an_image_that_would_be_fetched_is_not_built() {
    let Some(ground) = Ground::create() else { return };
    let place = ground.directory.path().join(".samuel/sandbox");
    fs::create_dir_all(&place).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    for (text, told) in [
        (format!("FROM scratch\nADD {url} /f\n"), "line 2 adds what would be fetched"),
        (
            "FROM localhost/there-is-none\n".to_owned(),
            "localhost/there-is-none, of which it is made, is not there",
        ),
    ] {
        fs::write(place.join("Containerfile"), text).unwrap();
        let error = ground.containers().build_image(ground.directory.path()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody asked");
}

// Takes about 13 s: podman and docker, each with a storage of its own, build an image twice.
#[test]
fn of_an_image_that_is_built_nothing_else_stays_and_nothing_at_all_of_one_that_cannot_be() {
    // docker keeps the images of steps, of which it makes the next one.
    let steps_stay = |engine: &TestEngine| engine.kind() == EngineKind::Docker;
    for engine in [TestEngine::podman_apart(), TestEngine::docker()] {
        let engine = match engine.and_then(|engine| Ok((engine.import_shell(IMAGE, "/bin/true")?, engine))) {
            Ok((_, engine)) => engine,
            Err(why) => {
                println!("skipped: {why}");
                continue;
            }
        };
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join(".samuel/sandbox");
        fs::create_dir_all(&place).unwrap();
        let containers = engine.containers(&directory.path().join("s"));
        let built = |steps: &str| {
            fs::write(place.join("Containerfile"), format!("FROM {IMAGE}:latest\n{steps}\n")).unwrap();
            containers.build_image(directory.path())
        };
        let kind = engine.kind();
        let before = engine.images();
        built("RUN echo one > /one\nCOPY Containerfile /two\nRUN echo three > /three").unwrap();
        let after = engine.images();
        assert!(before.len() == 1 && (after.len() == 2 || steps_stay(&engine)), "{kind:?}: {after:?}");
        let error = built("RUN echo four > /four\nRUN false").unwrap_err();
        assert!(error.to_string().contains("cannot be built"), "{kind:?}: {error}");
        assert!(engine.images() == after || steps_stay(&engine), "{kind:?}: {:?}", engine.images());
        assert_eq!(engine.all_containers(), "", "{kind:?}");
    }
}

#[tokio::test]
async fn what_is_written_in_the_workspace_is_there_and_nothing_else_stays() {
    let Some(ground) = Ground::create() else { return };
    let oci = ground.oci(|_| {});
    let output = ground.ran(&oci, "echo made > file; echo lost > /tmp/file; pwd; exit 7").await;
    assert_eq!((output.status, output.end), (ExitStatus::Exited(7), End::Exited), "{}", output.stdout.text());
    assert_eq!(output.stdout.text(), format!("{}\n", ground.work().display()));
    assert_eq!(fs::read_to_string(ground.work().join("file")).unwrap(), "made\n");
    assert_eq!(output.left_running, None);
    let fed = ran(oci.wrap(ground.spec("cat").stdin("the prompt")).unwrap()).await;
    assert_eq!(fed.stdout.text(), "the prompt");
    assert_eq!(ground.left(), "");
    assert_eq!(fs::read_dir(ground.directory.path().join("s")).unwrap().count(), 0, "sockets are left");
    let missing =
        ran(oci.wrap(CommandSpec::new("no-such-agent", ground.work()).merge_stderr(true)).unwrap()).await;
    assert_eq!(missing.status, ExitStatus::Exited(127));
    assert!(
        missing.stdout.text().contains("\"no-such-agent\" was not found in the image"),
        "{}",
        missing.stdout.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_in_no_argument_in_no_inspection_and_in_no_log() {
    let Some(ground) = Ground::create() else { return };
    let oci = ground.oci(|_| {});
    let secret = format!("secret-{}", std::process::id());
    let spec = ground.spec("echo $KEY > seen; while ! test -e go; do sleep 0.05; done").env("KEY", &secret);
    let running = tokio::spawn(ran(oci.wrap(spec).unwrap()));
    let seen = ground.work().join("seen");
    let is_seen = || fs::read_to_string(&seen).is_ok_and(|text| text.trim() == secret);
    assert!(tokio::task::block_in_place(|| within(Duration::from_secs(20), is_seen)));
    let name = ground.left();
    assert!(!name.is_empty());
    let inspected = ground.engine(&["inspect", &name]);
    assert!(inspected.contains("samuel.dir") && !inspected.contains(&secret), "{inspected}");
    let arguments = Command::new("sh")
        .args(["-c", "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' '"])
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&arguments.stdout).contains(&secret));
    assert!(!ground.engine(&["logs", &name]).contains(&secret));
    fs::write(ground.work().join("go"), "").unwrap();
    assert_eq!(running.await.unwrap().status, ExitStatus::Exited(0));
}

#[tokio::test]
async fn a_limit_that_is_reached_is_named() {
    let Some(ground) = Ground::create() else { return };
    let oci = ground.oci(|contents| {
        contents.memory = Memory::parse("64m").unwrap();
        contents.pids = 20;
    });
    let output = ground.ran(&oci, "perl -e '$x = \"a\" x (200 << 20); print length $x'; exit 3").await;
    let told = output.stdout.text();
    assert!(told.contains("the sandbox has 64m (memory below [sandbox]"), "{told}");
    let output = ground.ran(&oci, "for n in $(seq 60); do sleep 2 & done; exit 3").await;
    let told = output.stdout.text();
    assert!(told.contains("the sandbox has room for 20 (pids below [sandbox]"), "{told}");
    assert_eq!(ground.left(), "");
}

#[tokio::test]
async fn a_command_that_is_ended_takes_its_container_along() {
    let Some(ground) = Ground::create() else { return };
    let oci = ground.oci(|_| {});
    let unique = format!("7{}", std::process::id());
    let spec =
        oci.wrap(ground.spec(&format!("trap 'echo told > told; exit' TERM; sleep {unique} & wait"))).unwrap();
    let spec = spec.timeout(Duration::from_secs(3)).grace(Duration::from_secs(5));
    let output = run(spec, &Supervisor::GroupOnly, &CancellationToken::new()).await.unwrap();
    assert_eq!(output.end, End::TimedOut);
    assert_eq!(
        fs::read_to_string(ground.work().join("told")).unwrap_or_default(),
        "told\n",
        "SIGTERM is passed on"
    );
    assert_eq!((ground.left().as_str(), has_process(&unique)), ("", false));
    let unique = format!("8{}", std::process::id());
    let spec = oci.wrap(ground.spec(&format!("trap '' TERM; sleep {unique}; sleep {unique}"))).unwrap();
    let spec = spec.timeout(Duration::from_secs(3)).grace(Duration::ZERO);
    run(spec, &Supervisor::GroupOnly, &CancellationToken::new()).await.unwrap();
    assert_eq!((ground.left().as_str(), has_process(&unique)), ("", false));
}

#[test]
fn nothing_of_a_container_outlives_samuel_by_a_second() {
    let Some(ground) = Ground::create() else { return };
    let unique = format!("6{}", std::process::id());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sandbox_oci::the_other_samuel", "--nocapture"])
        .env(CHILD, format!("{} {unique}", ground.directory.path().display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(printed.any(|line| line.unwrap().contains("begins")), "the other one ended too early");
    assert!(within(Duration::from_secs(30), || has_process(&unique)), "it runs");
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    assert!(within(Duration::from_secs(1), || !has_process(&unique)), "after {:?}", killed.elapsed());
    ground.containers().sweep(ground.directory.path()).unwrap();
    assert!(within(Duration::from_secs(5), || ground.left().is_empty()), "{}", ground.left());
}

/// Not a test of its own: what is killed by the one above.
#[tokio::test]
async fn the_other_samuel() {
    let Ok(given) = std::env::var(CHILD) else { return };
    let (directory, unique) = given.split_once(' ').unwrap();
    let (engine, directory) = (TestEngine::podman().unwrap(), Path::new(directory));
    let view = View { read_only: vec!["/usr".into()], ..View::new(directory.join("work")) };
    let contents = Contents {
        view,
        image: Image::parse(&engine.image(IMAGE, || engine.import_empty(IMAGE)).unwrap()).unwrap(),
        memory: Memory::parse("256m").unwrap(),
        pids: 100,
        egress: EgressPolicy::default(),
        check_egress: EgressPolicy::default(),
        gateways: Vec::new(),
    };
    let oci = Oci::new(engine.containers(&directory.join("s")), contents, directory);
    let spec = oci
        .wrap(CommandSpec::shell(format!("setsid sleep {unique} & sleep {unique}"), directory.join("work")));
    println!("begins");
    ran(spec.unwrap()).await;
}

#[test]
fn a_sweep_takes_what_a_dead_samuel_left_and_nothing_of_others() {
    let (Some(ground), Some(other)) = (Ground::create(), Ground::create()) else { return };
    let create = |ground: &Ground, name: &str| {
        let label = format!("samuel.dir={}", label_of(ground.directory.path()));
        ground.engine(&[
            "create",
            "--network",
            "none",
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=1024:1024",
            "--label",
            &label,
            "--name",
            name,
            &ground.image,
            "true",
        ]);
    };
    let unique = std::process::id();
    let (dead, alive, others) = (
        format!("samuel-4999999-1-{unique}a"),
        format!("samuel-{unique}-{}-{unique}b", start_of(unique)),
        format!("samuel-4999999-1-{unique}c"),
    );
    create(&ground, &dead);
    create(&ground, &alive);
    create(&other, &others);
    assert_eq!(ground.containers().sweep(ground.directory.path()).unwrap(), std::slice::from_ref(&dead));
    let left = (ground.left(), other.left());
    ground.engine(&["rm", "--force", "--ignore", &dead, &alive, &others]);
    assert_eq!(left, (alive, others));
}

fn start_of(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_command_reaches_what_is_listed_and_a_check_what_is_listed_for_checks() {
    let Some(ground) = Ground::create() else { return };
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in host.incoming() {
            let mut stream = stream.unwrap();
            let mut said = [0; 5];
            let _ = stream.read_exact(&mut said);
            let _ = stream.write_all(b"from the host");
        }
    });
    let oci =
        ground.oci(|contents| contents.egress = EgressPolicy::parse([format!("127.0.0.1:{port}")]).unwrap());
    let asked = |host: &str| {
        format!(
            "exec bash -c 'exec 3<> /dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}} || exit 9; printf \"CONNECT {host} HTTP/1.1\\r\\n\\r\\nhello\" >&3; cat <&3'"
        )
    };
    let reached = ground.ran(&oci, &asked(&format!("127.0.0.1:{port}"))).await.stdout.text();
    assert!(reached.ends_with("from the host"), "{reached}");
    assert_eq!(oci.notices(), [""; 0]);
    for refused in ["other.example:443", "127.0.0.1:22", "localhost:443"] {
        let told = ground.ran(&oci, &asked(refused)).await.stdout.text();
        assert!(told.starts_with("HTTP/1.1 403 "), "{refused}: {told}");
    }
    assert_eq!(oci.notices().len(), 3);
    let direct = format!("exec bash -c 'exec 3<> /dev/tcp/127.0.0.1/{port}'");
    assert_ne!(ground.ran(&oci, &direct).await.status, ExitStatus::Exited(0));
    let check = ran(oci.wrap_check(ground.spec(&format!("env; {}", asked("127.0.0.1:1")))).unwrap()).await;
    assert!(!check.stdout.text().contains("HTTPS_PROXY"), "{}", check.stdout.text());
    assert_ne!(check.status, ExitStatus::Exited(0));
    let listed = format!("127.0.0.1:{port}");
    let oci = ground.oci(|contents| contents.check_egress = EgressPolicy::parse([listed.as_str()]).unwrap());
    for (host, expected) in [(listed.as_str(), "from the host"), ("other.example:443", "is not listed")] {
        let check = ran(oci.wrap_check(ground.spec(&asked(host))).unwrap()).await.stdout.text();
        assert!(check.contains(expected), "{host}: {check}");
    }
}

async fn findings(
    ground: &Ground,
    view: impl FnOnce(&ProbeGround) -> View,
    change: fn(&mut Vec<OsString>),
) -> Vec<ProbeFinding> {
    let probes = ProbeGround::create().unwrap();
    let contents = ground.contents(view(&probes));
    let oci = Oci::new(ground.containers(), contents, ground.directory.path());
    probe(&probes, &Weakened::new(oci, change), &Supervisor::GroupOnly).await.unwrap()
}

fn names(findings: &[ProbeFinding], outcome: ProbeOutcome) -> Vec<&str> {
    findings.iter().filter(|finding| finding.outcome == outcome).map(|finding| finding.name).collect()
}

async fn nothing_gets_out(engine: Result<TestEngine, String>) {
    let Some(ground) = Ground::of(engine) else { return };
    let found = findings(&ground, ProbeGround::view, |_| {}).await;
    assert_eq!(names(&found, ProbeOutcome::Broken), [""; 0], "{found:#?}");
    assert!(found.len() >= 44 && names(&found, ProbeOutcome::Untried).len() <= 2, "{found:#?}");
}

// Takes about 15 s: each of the probes starts a container.
#[tokio::test]
async fn nothing_gets_out_of_a_container() {
    nothing_gets_out(TestEngine::podman()).await;
}

// Takes about 20 s: each of the probes starts a container, after docker's service was started.
#[tokio::test]
async fn nothing_gets_out_of_a_container_of_docker() {
    nothing_gets_out(TestEngine::docker()).await;
}

// Takes about 16 s: each of the probes starts a container.
#[tokio::test]
async fn a_wall_that_is_missing_is_seen() {
    let Some(ground) = Ground::create() else { return };
    let found = findings(&ground, ProbeGround::view, |arguments| {
        for argument in arguments {
            let text = argument.to_string_lossy().into_owned();
            if text == "--network=none" {
                *argument = "--network=host".into();
            } else if text.contains("/.samuel") {
                // The whole directory in place of one file, and to be written.
                let text = text.replace("/.samuel/shown", "/.samuel");
                *argument = text.replace(",readonly", "").into();
            }
        }
    })
    .await;
    let broken = names(&found, ProbeOutcome::Broken);
    for name in [
        "tcp",
        "udp",
        "network-devices",
        "plan-read",
        "records-read",
        "plan-write",
        "plan-create",
        "plan-replace",
        "plan-remove",
        "plan-mode",
        "plan-symlink",
        "plan-proc-root",
    ] {
        assert!(broken.contains(&name), "{name}: {found:#?}");
    }
}

// Takes about 18 s: each of the probes starts a container.
#[tokio::test]
async fn a_work_tree_in_place_of_the_clone_is_seen() {
    let Some(ground) = Ground::create() else { return };
    let whole = |probes: &ProbeGround| {
        let workspace = probes.origin().parent().unwrap().to_owned();
        View { workspace, read_only: Vec::new(), ..probes.view() }
    };
    let found = findings(&ground, whole, |_| {}).await;
    let broken = names(&found, ProbeOutcome::Broken);
    for name in [
        "plan-write",
        "plan-rename",
        "plan-parent",
        "git-refs",
        "git-hooks",
        "git-config",
        "git-commondir",
        "git-nested",
        "tree-read",
    ] {
        assert!(broken.contains(&name), "{name}: {found:#?}");
    }
}

#[test]
fn what_cannot_be_used_is_refused_in_words_before_anything_runs() {
    let Some(ground) = Ground::create() else { return };
    let told = |containers: Containers, change: fn(&mut Contents)| {
        let mut contents = ground.contents(View::new(ground.work()));
        change(&mut contents);
        let error = Oci::new(containers, contents, ground.directory.path()).check().unwrap_err();
        assert_eq!(error.code().name, "E_SANDBOX_UNAVAILABLE");
        error.to_string()
    };
    let sockets = ground.directory.path().join("s");
    let guest = || ground.engine.guest().to_owned();
    let engine = || Engine::find(Some(EngineKind::Podman), ground.engine.env());
    let none = told(Containers::new(Err("podman is not installed".to_owned()), guest(), &sockets), |_| {});
    assert!(none.contains("podman is not installed"), "{none}");
    let dynamic = told(Containers::new(engine(), std::env::current_exe().unwrap(), &sockets), |_| {});
    assert!(dynamic.contains("is linked dynamically"), "{dynamic}");
    let missing = told(Containers::new(engine(), "/no/such/guest", &sockets), |_| {});
    assert!(missing.contains("cargo xtask guest"), "{missing}");
    let long = told(Containers::new(engine(), guest(), ground.directory.path().join("x".repeat(90))), |_| {});
    assert!(long.contains("is longer than the 107 bytes"), "{long}");
    let image = told(ground.containers(), |contents| {
        contents.image = Image::parse(&format!("localhost/none@sha256:{}", "0".repeat(64))).unwrap();
    });
    assert!(image.starts_with("sandbox.image: podman ") && image.contains("Samuel pulls none"), "{image}");
    assert_eq!(ground.left(), "");
}

/// Tests that are skipped say nothing of sandboxes, so that a run of CI has to have tried out one.
#[test]
fn where_a_sandbox_is_called_for_one_can_be_tried_out() {
    if std::env::var_os("SAMUEL_NEEDS_SANDBOX").is_none() {
        return;
    }
    let bwrap = Bwrap::new(View::new("/")).check();
    assert!(
        Ground::create().is_some() || bwrap.is_ok(),
        "neither podman nor bubblewrap can be used, and a run of CI must try out one: {bwrap:?}"
    );
}
