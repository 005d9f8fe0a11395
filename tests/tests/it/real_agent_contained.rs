//! A real Claude Code in a container without a network: its model is behind a gateway, and so is the key.
//!
//! The model is scripted, and speaks TLS on the loopback under a test authority. Where Claude Code cannot be installed, or
//! there is no podman, the test is skipped with the reason.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use samuel_tests::{
    engine::{TestEngine, label_of},
    model_server::{ModelRequest, ModelServer, Reply, Script},
    processes::process_with,
    real_agent::{RealAgent, installed},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

/// The command.
const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");
/// Certificates of the test authority and of `localhost`.
const TLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../samuel-core/tests/data/tls");
/// The name of the image, which holds nothing.
const IMAGE: &str = "localhost/samuel-test-of-agents";
/// What the agent does about each task: it shows which key it has, commits, and tells the loop.
const WORK: &str = "printf %s \"$ANTHROPIC_API_KEY\" > key-$SAMUEL_TASK_ID.txt && git add -A && git commit -qm \"Part $SAMUEL_TASK_ID\" \
                    && $SAMUEL_BINARY run done $SAMUEL_TASK_ID && echo work-is-done";

/// TLS in front of a server: what it is told is kept.
struct Front {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Front {
    async fn of(server: &ModelServer) -> Self {
        let tls = Path::new(TLS);
        let chain =
            CertificateDer::pem_file_iter(tls.join("host.pem")).unwrap().map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(tls.join("host.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let front = Self { port: listener.local_addr().unwrap().port(), heard: Arc::default() };
        let (behind, heard) =
            (server.url().trim_start_matches("http://").to_owned(), Arc::clone(&front.heard));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, behind, heard) = (acceptor.clone(), behind.clone(), Arc::clone(&heard));
                tokio::spawn(async move { pass_on(acceptor, stream, &behind, &heard).await });
            }
        });
        front
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned()
    }
}

async fn pass_on(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    behind: &str,
    heard: &Mutex<Vec<u8>>,
) -> std::io::Result<()> {
    let (mut from, mut to) = tokio::io::split(acceptor.accept(stream).await?);
    let (mut answers, mut server) = TcpStream::connect(behind).await?.into_split();
    let asking = async {
        let mut room = vec![0; 64 << 10];
        loop {
            let count = from.read(&mut room).await?;
            let said = room.get(..count).unwrap_or_default();
            if said.is_empty() {
                return std::future::pending::<std::io::Result<u64>>().await;
            }
            heard.lock().unwrap().extend_from_slice(said);
            server.write_all(said).await?;
        }
    };
    tokio::select! {
        failed = asking => failed?,
        answered = tokio::io::copy(&mut answers, &mut to) => answered?,
    };
    to.shutdown().await
}

/// A project whose agent is Claude Code in a container.
struct Project {
    home: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Project {
    fn new(engine: &TestEngine, program: &Path, front: &Front, key: &str) -> Self {
        let home = tempfile::Builder::new().prefix("sr-").tempdir_in("/var/tmp").unwrap();
        let place = |name: &str| home.path().join(name);
        for name in ["home", "project"] {
            fs::create_dir(place(name)).unwrap();
        }
        let mut env = RealAgent::Claude.env(&place("home"), "");
        env.retain(|(name, _)| !name.starts_with("ANTHROPIC_"));
        let own = [
            ("ANTHROPIC_API_KEY", key.to_owned()),
            ("SAMUEL_GUEST", engine.guest().display().to_string()),
            ("SAMUEL_RUNTIME", "podman".to_owned()),
            ("SAMUEL_STATE_DIR", place("state").display().to_string()),
            ("XDG_RUNTIME_DIR", home.path().display().to_string()),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let project = Self { home, env };
        let image = engine.image(IMAGE, || engine.import_empty(IMAGE)).unwrap();
        let installed = program.ancestors().nth(3).unwrap();
        let text = format!(
            "version = \"2\"\n[methodology.ralph]\nagent = \"claude\"\nagent_command = [{program:?}]\npause = 0\nsandbox = \"oci\"\n\
             [sandbox]\nimage = \"{image}\"\nmounts = [\"/usr\", {installed:?}]\n\
             [sandbox.gateway.anthropic]\nupstream = \"https://localhost:{}\"\nauthority = \"{TLS}/authority.pem\"\n",
            front.port
        );
        fs::write(project.root().join("samuel.toml"), text).unwrap();
        fs::write(project.root().join(".gitignore"), ".samuel/\n").unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "Tester"],
            &["config", "user.email", "tester@example.invalid"],
            &["add", "-A"],
            &["commit", "-qm", "Start"],
        ] {
            project.git(args);
        }
        for args in [&["init"][..], &["enqueue", "One"], &["enqueue", "Two"], &["enqueue", "Three"]] {
            let ran = project.samuel(args);
            assert!(ran.status.success(), "{ran:?}");
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn samuel(&self, args: &[&str]) -> Output {
        let mut command = Command::new(SAMUEL);
        command.arg("run").args(args).current_dir(self.root()).stdin(Stdio::null());
        command.env_clear().envs(self.env.iter().cloned()).output().unwrap()
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").args(args).current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns a file of the project, the private directory or the home that holds a text.
    fn file_with(&self, text: &str) -> Option<PathBuf> {
        let mut waiting = vec![self.home.path().to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    waiting.push(entry.path());
                } else if kind.is_file() && holds(&fs::read(entry.path()).unwrap_or_default(), text) {
                    return Some(entry.path());
                }
            }
        }
        None
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// What was seen from outside while the run was at work.
#[derive(Default)]
struct Seen {
    inspected: usize,
    /// Where the key was.
    leaks: Vec<String>,
}

/// Looks at arguments and, less often, at containers until it is told to stop.
fn watch(engine: &TestEngine, label: &str, key: &str, is_over: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    for round in 0_u32.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(Duration::from_millis(20));
        if process_with(|arguments| arguments.iter().any(|argument| argument.contains(key))).is_some() {
            seen.leaks.push("an argument".to_owned());
        }
        // Each look starts podman several times, and a container lives for seconds.
        if !round.is_multiple_of(20) {
            continue;
        }
        for name in engine.left(label).lines() {
            for asked in ["inspect", "logs"] {
                // It may be gone by then.
                let Ok(told) = engine.run(&[asked, name]) else { continue };
                seen.inspected += 1;
                if told.contains(key) {
                    seen.leaks.push(format!("{asked} of {name}"));
                }
            }
        }
    }
    seen
}

// Takes about 15 s: Claude Code is started three times, each in a container of its own.
#[tokio::test(flavor = "multi_thread")]
async fn claude_code_does_three_tasks_in_a_container_without_network_and_never_has_the_key() {
    let engine = match TestEngine::podman() {
        Ok(engine) => engine,
        Err(why) => return println!("skipped: podman: {why}"),
    };
    let Some(program) = installed(RealAgent::Claude).await else { return };
    let server = ModelServer::start(Script::function(|request: &ModelRequest| {
        match request.mentions("work-is-done") {
            true => Reply::text("The task is done."),
            false => Reply::tool("Bash", json!({ "command": WORK, "description": "Work" })),
        }
    }));
    let server = server.await.unwrap();
    let front = Front::of(&server).await;
    let key = format!("sk-ant-real-{}-of-nobody", std::process::id());
    let project = Project::new(&engine, &program, &front, &key);
    let is_over = AtomicBool::new(false);
    let label = label_of(&project.root());
    let (ran, seen) = tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            let watching = scope.spawn(|| watch(&engine, &label, &key, &is_over));
            let ran = project.samuel(&["start", "--yes", "--json"]);
            is_over.store(true, Ordering::Relaxed);
            (ran, watching.join().unwrap())
        })
    });
    let printed = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{printed}");
    let told: Value = serde_json::from_slice(&project.samuel(&["tasks", "--json"]).stdout).unwrap();
    let tasks = told.pointer("/data/tasks").and_then(Value::as_array).unwrap();
    assert!(
        tasks.len() == 3 && tasks.iter().all(|task| task.get("status") == Some(&"completed".into())),
        "{told}"
    );
    assert_eq!(project.git(&["log", "--format=%s"]), "Part 3\nPart 2\nPart 1\nStart\n");
    // The host had the key, and nobody else.
    assert!(front.heard().to_lowercase().contains(&format!("x-api-key: {key}")), "{}", front.heard().len());
    for number in 1..=3 {
        let had = fs::read_to_string(project.root().join(format!("key-{number}.txt"))).unwrap();
        assert!(!had.is_empty() && had != key, "{had}");
    }
    assert!(seen.inspected > 0 && seen.leaks.is_empty(), "{} {:?}", seen.inspected, seen.leaks);
    assert!(!printed.contains(&key), "it is printed");
    assert_eq!(project.file_with(&key), None);
    assert!(!project.git(&["log", "--all", "-p"]).contains(&key));
    assert_eq!(engine.left(&label), "");
}
