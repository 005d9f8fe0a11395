//! A project to attack, and the command with a limit on what it may take.

use std::{
    fs,
    io::Read,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use samuel_core::process::{Containment, strongest_containment};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The program under test.
pub(crate) const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");

/// How long a command that has nothing to wait for may take; longer is a hang.
pub(crate) const HANG: Duration = Duration::from_secs(5);

/// How much output is kept.
const MAX_OUTPUT: u64 = 64 << 20;

/// A directory with a project, a home and a place for marks, all of it gone at
/// the end.
pub(crate) struct Target {
    dir: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code; nothing where it was killed, as it is when it hangs.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether it was still at work at its limit.
    pub(crate) hung: bool,
}

impl Ran {
    /// Returns both streams as text.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.stdout), String::from_utf8_lossy(&self.stderr))
    }
}

impl Target {
    /// Makes an empty project.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["project", "home", "marks"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// Makes a project with a plan of these tasks, numbered from 1.
    pub(crate) fn with_tasks(titles: &[&str]) -> Self {
        let target = Self::new();
        assert_eq!(target.run(&["run", "init"]).code, Some(0));
        for title in titles {
            assert_eq!(target.run(&["run", "enqueue", "--", title]).code, Some(0));
        }
        target
    }

    /// The directory of the project.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// A path in the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The directory that is the user's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A path outside the project where an attack that succeeds leaves a file.
    pub(crate) fn mark(&self, name: &str) -> PathBuf {
        self.dir.path().join("marks").join(name)
    }

    /// The names of the marks that attacks left.
    pub(crate) fn marks(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path().join("marks")).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Writes a file of the project, with its directories.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a program of the project.
    pub(crate) fn program(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Describes a command in the project, with a clean environment and nothing
    /// to read.
    pub(crate) fn samuel(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SAMUEL);
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, for [`HANG`] at most.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ran(self.samuel(args), HANG)
    }
}

/// Runs git in a directory, without the configuration of this machine.
pub(crate) fn git(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=T", "-c", "user.email=t@example.org"]).args(args).current_dir(directory);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a command to its end, or kills its process group at the limit.
pub(crate) fn ran(mut command: Command, limit: Duration) -> Ran {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn();
    let mut child = spawned.unwrap();
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (stdout, stderr) = (read(stdout), read(stderr));
    let deadline = Instant::now() + limit;
    let mut hung = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() >= deadline {
            hung = true;
            kill_group(&child);
            break child.wait().unwrap();
        }
        thread::sleep(Duration::from_millis(2));
    };
    // A process that escaped may hold a pipe for ever.
    wait_for("the end of the output", || stdout.is_finished() && stderr.is_finished());
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    Ran { code: status.code(), stdout, stderr, hung }
}

/// Kills a child with its process group.
pub(crate) fn kill_group(child: &Child) {
    // It may be gone already.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn read(stream: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.take(MAX_OUTPUT).read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Waits until something is so, and fails after a minute.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the processes whose environment holds a text.
pub(crate) fn marked(mark: &str) -> Vec<u32> {
    let carries = |pid: &u32| {
        let env = fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).unwrap_or_default();
        env.windows(mark.len()).any(|window| window == mark.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(carries).collect()
}

/// Returns the living processes whose command line holds a text, which no
/// cleaned environment hides.
pub(crate) fn named(text: &str) -> Vec<u32> {
    let carries = |pid: &u32| {
        let line = fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        line.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // The test itself may have been given the text.
    pids.filter(carries).filter(|pid| *pid != std::process::id()).collect()
}

/// Waits a moment for processes to be reaped, and returns those that stay.
pub(crate) fn survivors(text: &str) -> Vec<u32> {
    let deadline = Instant::now() + HANG;
    loop {
        let left = named(text);
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends processes that an attack has left, so that they do not outlive the test.
pub(crate) fn end(processes: &[u32]) {
    for pid in processes {
        // It may be gone already.
        let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL);
    }
}

/// What can hold a command's processes on this machine, each of which is attacked.
pub(crate) fn containments() -> Vec<Containment> {
    let (strongest, why) = strongest_containment();
    if let Some(why) = why {
        println!("skipped: attacks on a command in a control group, since none can be made: {why}");
    }
    [Containment::Mark, Containment::Cgroup].into_iter().filter(|known| *known <= strongest).collect()
}

/// How often an attack is repeated: few times, or in full with `SAMUEL_LONG=1`.
pub(crate) fn times(short: usize, long: usize) -> usize {
    if std::env::var_os("SAMUEL_LONG").is_some() { long } else { short }
}

/// A small generator, so that a failure can be repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Makes a component whose handler of `quality.check` passes and says why, in
/// one word.
pub(crate) fn component(word: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1")).unwrap();
    let world = "package test:attack; world plugin { export samuel:plugin/quality-check@1.0.0; }";
    let package = resolve.push_str("test.wit", world).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    // The answer lies at 1024: that it is one, that it is yes, and the word.
    let module = format!(
        r#"(module
            (memory (export "memory") 2)
            (global $top (mut i32) (i32.const 8192))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $top) (i32.const 15)) (i32.const -16)))
                (global.set $top (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (data (i32.const 512) "{word}")
            (func (export "samuel:plugin/quality-check@1.0.0#run") (param i32) (result i32)
                (i32.store8 (i32.const 1028) (i32.const 1))
                (i32.store8 (i32.const 1032) (i32.const 1))
                (i32.store (i32.const 1036) (i32.const 512))
                (i32.store (i32.const 1040) (i32.const {length}))
                (i32.const 1024)))"#,
        length = word.len()
    );
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}
