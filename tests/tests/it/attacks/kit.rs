//! A project to attack, and the command with a limit on what it may take.

use std::{
    fs,
    io::Read,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process, kill_process_group},
};
use samuel_core::{
    clock::SystemClock,
    process::{Containment, strongest_containment},
    project::{Project, ProjectError},
};
use serde_json::Value;

/// The program under test.
pub(crate) const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");

/// What an agent that is played does in its first call, and the settings by which it is
/// played from `script.toml`.
pub(crate) const SCRIPT: &str =
    "[[calls]]\nsteps = [{ write = { path = \"made\", content = \"x\" } }, { done = {} }]\n";
pub(crate) const SCRIPTED: &str = "agent = \"scripted\"\nagent_command = [\"script.toml\"]\npause = \"0s\"\n";

/// A script for `quality.check` that passes.
pub(crate) const PASSES: &str = "#!/bin/sh\necho '{\"ok\": true}'\n";

/// Longest time for a command. One that hangs never ends, so this is far above what a busy machine needs.
pub(crate) const HANG: Duration = Duration::from_secs(30);

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
    /// Makes sure that it ended with a code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text());
        self
    }

    /// Returns both streams as text.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.stdout), String::from_utf8_lossy(&self.stderr))
    }

    /// Returns the document that it answered.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
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
        target.ok(&["run", "init"]);
        titles.iter().for_each(|title| drop(target.ok(&["run", "enqueue", "--", title])));
        target
    }

    /// The directory of the project.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// Opens the project as a program does.
    pub(crate) fn project(&self) -> Result<Project, ProjectError> {
        Project::open(self.root(), None, Arc::new(SystemClock::new()))
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
        program(&self.path(name), text);
    }

    /// Writes samuel.toml with these settings of the methodology.
    pub(crate) fn configure(&self, settings: &str) {
        self.write("samuel.toml", format!("version = \"2\"\n[methodology.ralph]\n{settings}\n"));
    }

    /// Replaces a part of samuel.toml, which must be there.
    pub(crate) fn reconfigure(&self, from: &str, to: &str) {
        let config = self.read("samuel.toml");
        assert!(config.contains(from), "{from} in {config}");
        self.write("samuel.toml", config.replacen(from, to, 1));
    }

    /// Reads a file of the project.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes the source of a plugin that is a script, `hook.sh`, and handles one point.
    pub(crate) fn plugin(&self, directory: &str, name: &str, point: &str, script: &str) {
        let hooks = format!("[hooks]\n\"{point}\" = \"hook.sh\"\n");
        self.write(&format!("{directory}/samuel-plugin.toml"), manifest("skill", name, &hooks));
        self.program(&format!("{directory}/hook.sh"), script);
    }

    /// Runs a command that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.text());
        ran
    }

    /// Where each task stands, in the order of the plan.
    pub(crate) fn statuses(&self) -> Vec<String> {
        let ran = self.run(&["run", "tasks", "--json"]);
        let tasks =
            ran.json()["data"]["tasks"].as_array().unwrap_or_else(|| panic!("{}", ran.text())).clone();
        tasks.iter().map(|task| task["status"].as_str().unwrap().to_owned()).collect()
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

    /// Describes the same where `samuel` is on the path.
    pub(crate) fn samuel_by_name(&self, args: &[&str]) -> Command {
        let bin = self.home().join("bin");
        fs::create_dir_all(&bin).unwrap();
        if !bin.join("samuel").exists() {
            symlink(SAMUEL, bin.join("samuel")).unwrap();
        }
        let mut command = self.samuel(args);
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        command
    }

    /// Describes the same below another program, which is given its command line.
    pub(crate) fn samuel_below(&self, program: &[&str], args: &[&str]) -> Command {
        let mut command = Command::new(program[0]);
        let plain = self.samuel(&[]);
        let env = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.args(&program[1..]).arg(SAMUEL).args(args).env_clear().envs(env);
        command.current_dir(self.root()).stdin(Stdio::null());
        command
    }

    /// Describes the same after a line of a shell, such as a limit.
    pub(crate) fn samuel_after(&self, line: &str, args: &[&str]) -> Command {
        self.samuel_below(&["sh", "-c", &format!("{line} && exec \"$0\" \"$@\"")], args)
    }

    /// Runs a command to its end, for [`HANG`] at most.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ran(self.samuel(args), HANG)
    }
}

/// Writes a program, with its directories.
pub(crate) fn program(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the manifest of a plugin of a kind, with the tables that say more.
pub(crate) fn manifest(kind: &str, name: &str, tables: &str) -> String {
    format!(
        "[plugin]\nname = \"{name}\"\nkind = \"{kind}\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n{tables}"
    )
}

/// Copies a directory with all in it; every file looks changed.
pub(crate) fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-R").args([from, to]).status().unwrap().success());
}

/// Lists everything below a directory, of which some may be gone meanwhile.
pub(crate) fn all_below(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

/// Puts a named pipe where nothing is.
pub(crate) fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// Makes every attack, a few at a time.
pub(crate) fn at_once<T: Sync>(attacks: &[T], attack: impl Fn(usize, &T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(one) = attacks.get(number)
                {
                    attack(number, one);
                }
            });
        }
    });
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
pub(crate) fn wait_for(what: &str, is_so: impl FnMut() -> bool) {
    wait_within(Duration::from_secs(60), what, is_so);
}

/// Does the same with another limit.
pub(crate) fn wait_within(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the processes of which a file in `/proc` holds a text.
fn processes(file: &str, text: &str) -> Vec<u32> {
    let carries = |pid: &u32| {
        let bytes = fs::read(Path::new("/proc").join(pid.to_string()).join(file)).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(carries).collect()
}

/// Returns the processes whose environment holds a text.
pub(crate) fn marked(mark: &str) -> Vec<u32> {
    processes("environ", mark)
}

/// Returns the living processes whose command line holds a text, which no
/// cleaned environment hides.
pub(crate) fn named(text: &str) -> Vec<u32> {
    // The test itself may have been given the text.
    processes("cmdline", text).into_iter().filter(|pid| *pid != std::process::id()).collect()
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
