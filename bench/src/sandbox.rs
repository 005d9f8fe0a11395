//! `cargo xtask bench sandbox`: what it costs to keep an agent, a check or a plugin apart.
//!
//! Everything runs really: bubblewrap, podman, a container that serves, a loop that is asked, the proxy. What is not
//! installed cannot be measured, and fails.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
    thread,
};

use anyhow::{Context as _, Result, ensure};
use samuel_core::{
    clock::SystemClock,
    egress::EgressPolicy,
    hook::{CallScope, PluginSource, Registry, points},
    plugin::{Capabilities, Capability, ImageMode, ImagePlugin, ImageSetup, LoadOptions},
    process::{self, CommandSpec, Supervisor},
    sandbox::{Bwrap, Containers, Contents, Engine, EngineKind, Guest, Image, Memory, Oci, Sandbox, View},
};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{
    built, done,
    gate::{self, Gate, milliseconds},
    measure::{in_turns, spawn},
};
use crate::guest;

/// How often what takes microseconds is measured, and how often what takes a container.
const ROUNDS: usize = 501;
const CONTAINERS: usize = 21;
/// How much of the call to a program is settings, so that the whole is about 4 KB.
const PADDING: usize = 3_000;
/// The name of the image.
const IMAGE: &str = "localhost/samuel-bench";
/// What the image runs.
const PROGRAM: &str = include_str!("sandbox/program.rs");

/// Measures and prints everything; arguments name a part of it: `bwrap`, `podman`, `serve`, `broker` or `proxy`.
///
/// # Errors
/// Fails where something takes too long, or cannot be measured.
pub(super) fn run(args: &[String]) -> Result<()> {
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    let ground = Ground::new()?;
    let mut gates = Vec::new();
    if wanted("bwrap") {
        gates.push(ground.in_bwrap()?);
    }
    if wanted("podman") {
        gates.push(ground.in_podman()?);
    }
    if wanted("serve") {
        gates.push(ground.served()?);
    }
    if wanted("broker") {
        gates.push(done::measure_through_a_loop()?);
    }
    if wanted("proxy") {
        gates.push(ground.over_the_proxy()?);
    }
    gate::report(&gates)
}

/// What is measured with: a directory, a program and its image.
struct Ground {
    directory: TempDir,
    work: PathBuf,
    program: PathBuf,
    image: Image,
    containers: Containers,
    supervisor: Supervisor,
    runtime: Runtime,
}

impl Ground {
    fn new() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("sb-").tempdir_in("/tmp")?;
        let root = directory.path().join("root");
        let work = directory.path().join("work");
        for path in [&work, &root, &root.join("bin"), &root.join("tmp"), &root.join("run"), &root.join("dev")]
        {
            fs::create_dir(path)?;
        }
        for path in ["proc", "sys", "etc"] {
            fs::create_dir(root.join(path))?;
        }
        let source = directory.path().join("program.rs");
        fs::write(&source, PROGRAM)?;
        let program = root.join("program");
        let mut rustc = Command::new("rustc");
        rustc
            .args(["--edition=2024", "-O", "-C", "target-feature=+crt-static", "-o"])
            .arg(&program)
            .arg(&source);
        spawn(&mut rustc)?;
        let busybox = ["/usr/bin/busybox", "/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
        fs::copy(busybox.context("busybox-static is not installed")?, root.join("bin/true"))?;
        let line = "tar -C \"$1\" -c . | podman import --change 'ENTRYPOINT [\"/program\"]' - \"$2\"";
        spawn(Command::new("sh").args(["-c", line, "sh"]).arg(&root).arg(IMAGE))?;
        let format = ["image", "inspect", "--format", "{{.Digest}}", IMAGE];
        let digest = String::from_utf8(super::measure::output(Command::new("podman").args(format))?)?;
        let image = Image::parse(&format!("{IMAGE}@{}", digest.trim())).map_err(anyhow::Error::msg)?;
        let engine = Engine::find(Some(EngineKind::Podman), &std::env::vars().collect::<Vec<_>>());
        let containers = Containers::new(engine, guest::build()?, directory.path().join("s"));
        Ok(Self {
            work,
            program,
            image,
            containers,
            supervisor: Supervisor::Helper(built("samuel")?),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            directory,
        })
    }

    /// Runs a command to its end, as an agent is run.
    fn agent(&self, spec: CommandSpec) -> Result<()> {
        let ended = self.runtime.block_on(process::run(spec, &self.supervisor, &CancellationToken::new()))?;
        ensure!(ended.success(), "it ended with {}: {}", ended.status, ended.stderr.text());
        Ok(())
    }

    fn in_bwrap(&self) -> Result<Gate> {
        let guest = Guest::new(self.containers.guest(), self.directory.path().join("s"));
        let bwrap = Bwrap::new(View::new(&self.work)).guest(guest);
        let spec = || CommandSpec::new("/usr/bin/true", &self.work);
        let mut inside = || self.agent(bwrap.wrap(spec())?);
        let mut outside = || self.agent(spec());
        let [took, probe_took] = in_turns(CONTAINERS, [&mut inside, &mut outside])?;
        Ok(Gate {
            name: "a call of an agent in bwrap",
            took,
            probe: "true behind the supervisor".to_owned(),
            probe_took,
            limit: 25.0,
            notes: Vec::new(),
        })
    }

    fn in_podman(&self) -> Result<Gate> {
        let contents = Contents {
            view: View::new(&self.work),
            image: self.image.clone(),
            memory: Memory::parse("512m").map_err(anyhow::Error::msg)?,
            pids: 256,
            egress: EgressPolicy::default(),
            check_egress: EgressPolicy::default(),
            gateways: Vec::new(),
        };
        let oci = Oci::new(self.containers.clone(), contents, self.directory.path());
        let spec = || CommandSpec::new("/bin/true", &self.work);
        let mut inside = || self.agent(oci.wrap(spec())?);
        let flags = flags_of(&oci.wrap(spec())?);
        let mut bare = || {
            let mut podman = Command::new("podman");
            spawn(podman.args(&flags).args(["--entrypoint", "/bin/true"]).arg(self.image.as_str()))
        };
        let [took, probe_took] = in_turns(CONTAINERS, [&mut inside, &mut bare])?;
        Ok(Gate {
            name: "a call of an agent in podman",
            took,
            probe: "podman run of true, same flags".to_owned(),
            probe_took,
            limit: 2.0,
            notes: Vec::new(),
        })
    }

    fn served(&self) -> Result<Gate> {
        let called = Called::new(self, "check", Capabilities::default(), Vec::new())?;
        let bytes = called.call()?;
        let mut bare = Bare::start(&self.program, "")?;
        let mut inside = || called.call().map(drop);
        let mut outside = || bare.ask(&line_of("check", bytes));
        let [took, probe_took] = in_turns(ROUNDS, [&mut inside, &mut outside])?;
        Ok(Gate {
            name: "a warm call of an image that serves",
            took,
            probe: format!("pipe round trip of {bytes} bytes to a bare process"),
            probe_took,
            limit: 4.0,
            notes: Vec::new(),
        })
    }

    fn over_the_proxy(&self) -> Result<Gate> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let target = listener.local_addr()?.to_string();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request);
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
            }
        });
        let granted = Capabilities::default()
            .with(Capability::NetworkOutbound, [target.clone()])
            .with(Capability::Env, ["TARGET"]);
        let called = Called::new(self, "get", granted, vec![("TARGET".to_owned(), target.clone())])?;
        let bytes = called.call()?;
        let mut bare = Bare::start(&self.program, &target)?;
        let mut inside = || called.call().map(drop);
        let mut outside = || bare.ask(&line_of("get", bytes));
        let [took, probe_took] = in_turns(ROUNDS, [&mut inside, &mut outside])?;
        Ok(Gate {
            name: "a request over the proxy",
            took,
            probe: "the same, direct".to_owned(),
            probe_took,
            limit: 3.0,
            notes: vec![format!("each with the call that asks for it; direct {}", milliseconds(probe_took))],
        })
    }
}

/// Returns the flags that a container was to be run with, without what belongs to its one call.
fn flags_of(spec: &CommandSpec) -> Vec<OsString> {
    let mut flags = Vec::new();
    let mut words = spec.arguments().iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        match &*text {
            "--entrypoint" => break,
            "--name" => drop(words.next()),
            "--mount" => {
                let mount = words.next().cloned().unwrap_or_default();
                if !mount.to_string_lossy().contains("target=/run/samuel") {
                    flags.extend([word.clone(), mount]);
                }
            }
            _ => flags.push(word.clone()),
        }
    }
    flags
}

/// Words a call for a program that is no plugin, of a length.
fn line_of(handler: &str, bytes: usize) -> String {
    let head = format!("{{\"n\":1,\"handler\":\"{handler}\",\"x\":\"");
    let padding = "x".repeat(bytes.saturating_sub(head.len() + 2));
    format!("{head}{padding}\"}}\n")
}

/// A handler of a plugin that serves, as a run has it.
struct Called<'a> {
    ground: &'a Ground,
    registry: Registry,
}

impl<'a> Called<'a> {
    fn new(
        ground: &'a Ground,
        handler: &str,
        granted: Capabilities,
        env: Vec<(String, String)>,
    ) -> Result<Self> {
        let config = json!({ "padding": "x".repeat(PADDING) });
        let setup = ImageSetup {
            name: "bench".to_owned(),
            image: ground.image.clone(),
            mode: ImageMode::Serve,
            granted,
            config: config.as_object().cloned().unwrap_or_default(),
        };
        let options = LoadOptions {
            env,
            supervisor: ground.supervisor.clone(),
            cache_dir: None,
            state_dir: None,
            store: None,
            containers: Some(ground.containers.clone()),
        };
        let plugin = ImagePlugin::new(setup, &ground.work, &options)?;
        let mut builder = Registry::builder();
        let source = PluginSource { name: "bench", namespace: "bench", place: 0 };
        builder.plugin::<points::ContextExtra, _>(&source, handler, None, plugin.handler(handler));
        Ok(Self { ground, registry: builder.build(&BTreeMap::new())? })
    }

    /// Calls it, and returns how long the call was, in bytes.
    fn call(&self) -> Result<usize> {
        let scope = CallScope::new(Arc::new(SystemClock::new()));
        let done = self.registry.dispatch::<points::ContextExtra>(Default::default(), &scope);
        let done = self.ground.runtime.block_on(done);
        ensure!(done.outcome.broken.is_empty(), "{:?}", done.outcome.broken);
        Ok(done.output.extras.first().context("there is no answer")?.name.parse()?)
    }
}

/// The same program as a process of this machine, behind a pipe.
struct Bare {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bare {
    fn start(program: &Path, target: &str) -> Result<Self> {
        let mut command = Command::new(program);
        command.env_clear().env("TARGET", target).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let input = process.stdin.take().context("no input")?;
        let output = BufReader::new(process.stdout.take().context("no output")?);
        Ok(Self { process, input, output })
    }

    fn ask(&mut self, line: &str) -> Result<()> {
        self.input.write_all(line.as_bytes())?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        ensure!(answer.starts_with("{\"n\":1,"), "it answered {answer}");
        Ok(())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
