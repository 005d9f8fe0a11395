//! Engines of containers for tests, with images made of files of this machine: nothing is fetched.
//!
//! podman is used as it is installed. docker's service is one of the test's own, with a storage of its own, which ends
//! with the [`TestEngine`].

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use samuel_core::sandbox::{Containers, Engine, EngineKind};
use tempfile::TempDir;

use crate::cache;

/// How long docker's service may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The variable in which podman looks for what says where its storage is.
const STORAGE: &str = "CONTAINERS_STORAGE_CONF";
/// Where docker's service is looked for.
const DOCKERD: [&str; 2] = ["/usr/sbin/dockerd", "/usr/bin/dockerd"];
/// Fills a directory, `$1`, with the Python of this machine and what it is linked with.
const PYTHON: &str = r#"set -e
python=/usr/bin/python3; test -x $python || python=$(command -v python3)
real=$(readlink -f "$python")
stdlib=$("$real" -Ic 'import sysconfig; print(sysconfig.get_path("stdlib"))')
mkdir -p "$1/usr/bin" "$1/etc" "$1/tmp" "$1/run" "$1/proc" "$1/sys" "$1/dev"
cp "$real" "$1/usr/bin/python3"
ldd "$real" "$stdlib"/lib-dynload/*.so | grep -o '/[^ :]*\.so[^ :]*' | sort -u | while read -r library; do
  case "$library" in "$stdlib"*) continue ;; esac
  mkdir -p "$1${library%/*}"; cp -L "$library" "$1$library"
done
mkdir -p "$1$stdlib"
tar -C "$stdlib" -c --exclude=test --exclude=tests --exclude=idlelib --exclude=tkinter --exclude=ensurepip \
  --exclude=lib2to3 --exclude=pydoc_data --exclude=site-packages --exclude=dist-packages --exclude=__pycache__ \
  --exclude='config-*' . | tar -C "$1$stdlib" -x
echo root:x:0:0::/root:/bin/sh > "$1/etc/passwd"
"#;
/// Fills a directory, `$1`, with places for the programs of this machine, and with none.
const EMPTY: &str = r#"set -e
cd "$1"; mkdir usr etc tmp run proc sys dev
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
echo root:x:0:0::/root:/bin/sh > etc/passwd
"#;
/// Fills a directory, `$1`, with a shell, `$2`, and what the program `$3` is linked with.
const SHELL: &str = r#"set -e
mkdir -p "$1/bin" "$1/etc" "$1/tmp" "$1/usr" "$1/run" "$1/proc" "$1/sys" "$1/dev"
cp "$2" "$1/bin/busybox"
for name in $("$2" --list); do test "$name" = busybox || ln -s busybox "$1/bin/$name"; done
ldd "$3" | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p "$1${library%/*}"; cp -L "$library" "$1$library"
done
echo root:x:0:0::/root:/bin/sh > "$1/etc/passwd"
"#;

/// An engine that works here.
#[derive(Debug)]
pub struct TestEngine {
    kind: EngineKind,
    program: PathBuf,
    env: Vec<(String, String)>,
    guest: PathBuf,
    /// docker's service, which ends first.
    _service: Option<Service>,
    /// podman's storage, where it is not the one of this user.
    _storage: Option<TempDir>,
}

impl TestEngine {
    /// Finds podman.
    ///
    /// # Errors
    /// Returns why it cannot be used, for the `skipped:` line.
    pub fn podman() -> Result<Self, String> {
        let env: Vec<(String, String)> = env::vars().collect();
        let engine = Engine::find(Some(EngineKind::Podman), &env)?;
        engine.version()?;
        let (kind, program) = (engine.kind(), engine.program().to_owned());
        Ok(Self { kind, program, env, guest: guest()?, _service: None, _storage: None })
    }

    /// Finds podman, and gives it a storage of its own, in which nobody else has containers and images.
    ///
    /// # Errors
    /// Returns why it cannot be used, for the `skipped:` line.
    pub fn podman_apart() -> Result<Self, String> {
        let mut engine = Self::podman()?;
        let storage = tempfile::Builder::new().prefix("sp-").tempdir_in("/var/tmp");
        let storage = storage.map_err(|error| error.to_string())?;
        let place = |name: &str| storage.path().join(name);
        let text = format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = {:?}\nrunroot = {:?}\n",
            place("graph"),
            place("run")
        );
        fs::write(place("storage.conf"), text).map_err(|error| error.to_string())?;
        engine.env.retain(|(name, _)| name != STORAGE);
        engine.env.push((STORAGE.to_owned(), place("storage.conf").display().to_string()));
        engine._storage = Some(storage);
        Ok(engine)
    }

    /// Starts docker's service.
    ///
    /// # Errors
    /// Returns why it cannot be used, for the `skipped:` line.
    pub fn docker() -> Result<Self, String> {
        let guest = guest()?;
        let service = Service::start()?;
        let own = [
            ("DOCKER_HOST".to_owned(), format!("unix://{}", service.socket().display())),
            ("DOCKER_CONFIG".to_owned(), service.directory.path().display().to_string()),
        ];
        let others = env::vars().filter(|(name, _)| !name.starts_with("DOCKER_"));
        let env: Vec<(String, String)> = others.chain(own).collect();
        let engine = Engine::find(Some(EngineKind::Docker), &env)?;
        let (kind, program) = (engine.kind(), engine.program().to_owned());
        Ok(Self { kind, program, env, guest, _service: Some(service), _storage: None })
    }

    /// Runs a test with each engine that works here, and says of every other why it is skipped.
    ///
    /// # Panics
    /// Panics where none works and `SAMUEL_NEEDS_SANDBOX` is set.
    #[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
    pub fn each(test: impl Fn(&Self)) {
        let mut tested = 0;
        for (name, engine) in [("podman", Self::podman()), ("docker", Self::docker())] {
            match engine {
                Ok(engine) => {
                    test(&engine);
                    tested += 1;
                }
                Err(why) => println!("skipped: {name}: {why}"),
            }
        }
        if tested == 0 {
            Self::may_be_left_out("podman, docker");
        }
    }

    /// Lets a test be skipped for want of an engine, which is named.
    ///
    /// # Panics
    /// Panics where `SAMUEL_NEEDS_SANDBOX` is set.
    pub fn may_be_left_out(engine: &str) {
        let is_needed = env::var_os("SAMUEL_NEEDS_SANDBOX").is_some();
        assert!(!is_needed, "no engine could be tried out: {engine}");
    }

    /// Returns which engine it is.
    pub fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Returns the environment in which it is found: that of this process, and where its service is.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Returns where the guest is.
    pub fn guest(&self) -> &Path {
        &self.guest
    }

    /// Returns containers whose sockets are in a directory.
    pub fn containers(&self, sockets: &Path) -> Containers {
        Containers::new(Ok(Engine::at(self.kind, &self.program, &self.env)), &self.guest, sockets)
    }

    /// Runs its command to the end.
    ///
    /// # Errors
    /// Returns what it said was wrong.
    pub fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        told(command.args(arguments).stdin(Stdio::null()).output())
    }

    /// Makes an image of what lies in a directory, and returns the reference that pins it.
    ///
    /// # Errors
    /// Returns what went wrong.
    pub fn import(&self, name: &str, root: &Path, entrypoint: &[&str]) -> Result<String, String> {
        let entrypoint = format!("ENTRYPOINT {}", serde_json::json!(entrypoint));
        let mut command = Command::new("sh");
        let line = "tar -C \"$1\" -c . | \"$2\" import --change \"$3\" - \"$4\"";
        command.args(["-c", line, "sh"]).arg(root).arg(&self.program).args([&entrypoint, name]);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        told(command.output())?;
        match self.kind {
            EngineKind::Podman => {
                let digest = self.run(&["image", "inspect", "--format", "{{.Digest}}", name])?;
                Ok(format!("{}@{}", name.split(':').next().unwrap_or(name), digest.trim()))
            }
            EngineKind::Docker => {
                Ok(self.run(&["image", "inspect", "--format", "{{.Id}}", name])?.trim().to_owned())
            }
        }
    }

    /// Returns the reference that pins an image, which is made if the engine does not have it.
    ///
    /// In a shared storage a lock lets several test processes ask for the same image: of two that are made at once, one
    /// would lose its name.
    ///
    /// # Errors
    /// Returns why it cannot be made.
    pub fn image(&self, name: &str, make: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
        let is_shared = self._service.is_none() && self._storage.is_none();
        let _lock = is_shared.then(|| cache::lock("images.lock")).transpose()?;
        let format = match self.kind {
            EngineKind::Podman => "{{.Digest}}",
            EngineKind::Docker => "{{.Id}}",
        };
        match (self.run(&["image", "inspect", "--format", format, name]), self.kind) {
            (Ok(digest), EngineKind::Podman) => Ok(format!("{name}@{}", digest.trim())),
            (Ok(id), EngineKind::Docker) => Ok(id.trim().to_owned()),
            (Err(_), _) => make(),
        }
    }

    /// Makes an image that holds nothing: the programs of this machine have their places in it, for whoever mounts them.
    ///
    /// # Errors
    /// Returns what went wrong.
    pub fn import_empty(&self, name: &str) -> Result<String, String> {
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        fill(EMPTY, root.path(), &[])?;
        self.import(name, root.path(), &[])
    }

    /// Makes an image of a program in Python, with this machine's.
    ///
    /// # Errors
    /// Returns what went wrong, such as that there is no Python.
    pub fn import_python(&self, name: &str, program: &str) -> Result<String, String> {
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        fill_with_python(root.path())?;
        fs::write(root.path().join("program.py"), program).map_err(|error| error.to_string())?;
        self.import(name, root.path(), &["/usr/bin/python3", "-u", "/program.py"])
    }

    /// Makes an image with a shell and what a program of this machine is linked with.
    ///
    /// # Errors
    /// Returns what went wrong, such as that there is no busybox.
    pub fn import_shell(&self, name: &str, program: &str) -> Result<String, String> {
        let busybox = ["/usr/bin/busybox", "/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
        let busybox = busybox.ok_or("busybox-static is not installed")?;
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        fill(SHELL, root.path(), &[busybox, program])?;
        self.import(name, root.path(), &[])
    }

    /// Returns the ids of all images, those without a name among them, in order.
    ///
    /// # Panics
    /// Panics where it cannot be asked.
    pub fn images(&self) -> Vec<String> {
        let listed = self.run(&["images", "--all", "--quiet", "--no-trunc"]).expect("a list of images");
        let mut ids: Vec<String> = listed.lines().map(str::to_owned).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Returns the ids of all containers, those among them that images are built in.
    ///
    /// # Panics
    /// Panics where it cannot be asked.
    pub fn all_containers(&self) -> String {
        let external: &[&str] = if self.kind == EngineKind::Podman { &["--external"] } else { &[] };
        self.run(&[&["ps", "--all", "--quiet"], external].concat()).expect("a list of containers")
    }

    /// Returns the names of the containers that there are of a project.
    pub fn left(&self, label: &str) -> String {
        let filter = format!("label=samuel.dir={label}");
        self.run(&["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"]).unwrap_or_default()
    }
}

/// Returns the label of the containers of the project at a root.
///
/// # Panics
/// Panics where there is no such directory.
pub fn label_of(root: &Path) -> String {
    let root = root.canonicalize().expect("a project");
    let line = "printf %s \"$1\" | sha256sum | cut -c1-16";
    let summed = told(Command::new("sh").args(["-c", line, "sh"]).arg(root).output());
    summed.expect("there is sha256sum").trim().to_owned()
}

/// Fills a directory with the Python of this machine.
///
/// # Errors
/// Returns what went wrong, such as that there is none.
pub fn fill_with_python(root: &Path) -> Result<(), String> {
    fill(PYTHON, root, &[])
}

fn fill(script: &str, root: &Path, arguments: &[&str]) -> Result<(), String> {
    told(Command::new("sh").args(["-c", script, "sh"]).arg(root).args(arguments).output()).map(drop)
}

fn told(ran: std::io::Result<Output>) -> Result<String, String> {
    let output = ran.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Returns the guest, where it is built: it lies in the directory that the test was built in.
fn guest() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let target = program.ancestors().nth(3).unwrap_or(Path::new("/"));
    let guest = target.join("x86_64-unknown-linux-gnu/guest/samuel-guest");
    match guest.is_file() {
        true => Ok(guest),
        false => Err(format!("{} is not there: cargo xtask guest", guest.display())),
    }
}

/// docker's service with roots of its own, which ends with this.
#[derive(Debug)]
struct Service {
    process: Child,
    directory: TempDir,
}

impl Service {
    fn start() -> Result<Self, String> {
        let program = DOCKERD.into_iter().find(|path| Path::new(path).is_file());
        let program = program.ok_or("docker's service is not installed (docker.io)")?;
        if !rustix::process::geteuid().is_root() {
            return Err("docker's service needs root".to_owned());
        }
        let directory = tempfile::Builder::new().prefix("sd-").tempdir_in("/tmp");
        let directory = directory.map_err(|error| error.to_string())?;
        let place = |name: &str| directory.path().join(name).display().to_string();
        let process = Command::new(program)
            .args(["--iptables=false", "--bridge=none", "--storage-driver=vfs", "--log-level=warn"])
            .args(["--data-root", &place("data"), "--exec-root", &place("exec"), "--pidfile", &place("pid")])
            .args(["--host", &format!("unix://{}", place("sock"))])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut service = Self { process: process.map_err(|error| error.to_string())?, directory };
        let words = service.process.stderr.take();
        // Read to the end, so that it never waits for room.
        let words = thread::spawn(move || {
            let lines = words.map(|words| BufReader::new(words).lines().map_while(Result::ok));
            lines.into_iter().flatten().last().unwrap_or_default()
        });
        let end = Instant::now() + PATIENCE;
        while UnixStream::connect(service.socket()).is_err() {
            let has_ended = service.process.try_wait().map_err(|error| error.to_string())?.is_some();
            if has_ended || Instant::now() > end {
                drop(service);
                let said = words.join().unwrap_or_default();
                return Err(format!("docker's service does not start: {said}"));
            }
            thread::yield_now();
        }
        Ok(service)
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("sock")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        // It takes what it has started along.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.process.wait();
    }
}
