//! A project to run the command in, and what came of it.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{BufRead, BufReader, Lines, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use samuel_core::{
    history::{History, HistoryError},
    machine::Replay,
    project::Project,
    testing::differing_replays,
};
use serde_json::Value;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel");

/// A project in a directory of its own.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

/// Every run that a test made replays equal: nothing is decided but by what was recorded.
impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let Ok(project) = Project::at(self.dir.path().join("project")) else { return };
        let differing = differing_replays(&project);
        assert!(differing.is_empty(), "runs replay differently: {differing:#?}");
    }
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Ran {
    /// What was asked for, which a failed test shows.
    #[expect(dead_code, reason = "it is shown")]
    args: Vec<OsString>,
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    /// An empty directory.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["project", "home", "tmp"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// A project whose plan has these tasks, numbered from 1.
    pub(crate) fn with_tasks(titles: &[&str]) -> Self {
        let bench = Self::empty();
        bench.ok(&["run", "init"]);
        for title in titles {
            bench.ok(&["run", "enqueue", "--", title]);
        }
        bench
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("project").canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    pub(crate) fn prd(&self) -> PathBuf {
        self.path(".samuel/run/prd.toon")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a samuel.toml with these keys of the methodology.
    pub(crate) fn configure(&self, keys: &str) {
        self.write("samuel.toml", &format!("version = \"2\"\n[methodology.ralph]\n{keys}\n"));
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command with nothing of the tester's environment but `PATH`.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SAMUEL);
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path().join("home"))
            .env("TMPDIR", self.tmp())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn samuel(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args))
    }

    /// Runs a command with one more environment variable, or another value of one.
    pub(crate) fn samuel_where(&self, name: &str, value: &str, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        command.env(name, value);
        Ran::of(command)
    }

    /// Runs a command from a directory of the project.
    pub(crate) fn samuel_in(&self, directory: &str, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        command.current_dir(self.path(directory));
        Ran::of(command)
    }

    /// The command below a shell, which does something and then runs `"$0" "$@"`.
    pub(crate) fn command_below(&self, script: &str, args: &[&str]) -> Command {
        let samuel = self.command(args);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).arg(samuel.get_program()).args(samuel.get_args());
        let set = samuel.get_envs().filter_map(|(name, value)| Some((name, value?)));
        shell.current_dir(self.root()).env_clear().envs(set).stdin(Stdio::null());
        shell
    }

    /// Runs a command that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.samuel(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran
    }

    /// Replays the recorded inputs of a run.
    pub(crate) fn replay(&self, run: &str) -> Result<Replay, HistoryError> {
        History::of(&Project::at(self.root()).unwrap()).replay(run)
    }

    /// Starts a loop whose agent is a shell script.
    pub(crate) fn start(&self, agent: &str, more: &[&str]) -> Ran {
        self.samuel(&[&self.start_args(agent), more].concat())
    }

    /// Returns the arguments that start a loop whose agent is a shell script.
    pub(crate) fn start_args<'a>(&self, agent: &'a str) -> [&'a str; 13] {
        let one = "--agent-command";
        ["run", "start", "--yes", "--pause", "0", "--agent", "command", one, "/bin/sh", one, "-c", one, agent]
    }

    /// Makes a repository of the project, whose first commit has some of its files.
    pub(crate) fn make_repository(&self, files: &[&str]) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["config", "user.name", "Ada"]);
        self.git(&["config", "user.email", "ada@example.org"]);
        self.git(&[&["add"], files].concat());
        self.git(&["commit", "--quiet", "--message", "Start"]);
    }

    /// Runs git in the project, which must succeed, and returns what it said.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Every file below the project with its content, `.git` left out.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut directories = vec![self.root()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true if entry.file_name() == ".git" => {}
                    true => directories.push(entry.path()),
                    false => found.push((entry.path(), fs::read(entry.path()).unwrap())),
                }
            }
        }
        found.sort();
        found
    }

    /// Returns the tasks as `tasks --json` gives them.
    pub(crate) fn tasks(&self) -> Vec<Value> {
        self.ok(&["run", "tasks", "--json"]).json()["data"]["tasks"].as_array().unwrap().clone()
    }

    /// Returns where a task stands.
    pub(crate) fn status(&self, id: &str) -> String {
        let task = self.tasks().into_iter().find(|task| task["id"] == id).unwrap();
        task["status"].as_str().unwrap().to_owned()
    }

    /// Starts a command that goes on beside the test.
    pub(crate) fn spawn(&self, args: &[&str]) -> Beside {
        Beside::of(self.command(args).stderr(Stdio::null()))
    }

    /// Starts a command as `nohup` does, which goes on beside the test.
    pub(crate) fn spawn_ignoring_hang_up(&self, args: &[&str]) -> Beside {
        Beside::of(self.command_below("trap '' HUP; exec \"$0\" \"$@\"", args).stderr(Stdio::null()))
    }
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        let output = command.output().unwrap();
        Self::that_ended(&command, output)
    }

    /// What came of a command whose input somebody wrote.
    pub(crate) fn that_ended(command: &Command, output: Output) -> Self {
        Self {
            args: command.get_args().map(OsStr::to_owned).collect(),
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Makes sure that it failed with a code and put nothing on stdout.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> Self {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{self:?}");
        self
    }

    /// Makes sure that it ended with a code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// All that it said.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// The one JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        let document: Value = serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        for key in ["schema_version", "command", "ok", "data", "warnings", "error"] {
            assert!(document.get(key).is_some(), "{key} is missing: {document}");
        }
        document
    }

    /// The JSON Lines of a run: its events, and the document at the end.
    pub(crate) fn events(&self) -> (Vec<Value>, Value) {
        let mut lines: Vec<Value> =
            self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = lines.pop().unwrap();
        (lines, last)
    }
}

/// A command that goes on beside the test.
pub(crate) struct Beside {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Beside {
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads lines until one holds a text.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let found = self.lines.by_ref().map(Result::unwrap).find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("the command ended without saying {text:?}"))
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        send(&self.child, signal);
    }

    /// Waits for the end, within the test's patience.
    pub(crate) fn code(mut self) -> i32 {
        let reader = std::thread::spawn(move || self.lines.for_each(drop));
        let code = code_of(&mut self.child);
        reader.join().unwrap();
        code
    }
}

fn send(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

/// Waits for a process to end, within the test's patience.
fn code_of(child: &mut Child) -> i32 {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the command did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A command at a terminal.
pub(crate) struct AtTerminal {
    child: Child,
    terminal: File,
    shown: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl AtTerminal {
    /// Starts a command at a terminal of its own.
    pub(crate) fn spawn(bench: &Bench, args: &[&str]) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&main).unwrap();
        unlockpt(&main).unwrap();
        let name = ptsname(&main, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        let mut command = bench.command(args);
        command.stdin(open()).stdout(open()).stderr(open());
        let child = command.spawn().unwrap();
        drop(command);
        let terminal = File::from(main);
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut source, target) = (terminal.try_clone().unwrap(), Arc::clone(&shown));
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 1024];
            // The read fails once the command has closed its end.
            while let Ok(count @ 1..) = source.read(&mut piece) {
                target.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..count]));
            }
        });
        Self { child, terminal, shown, reader }
    }

    /// Waits until the terminal shows a text, or the command has ended.
    pub(crate) fn wait_for(&self, text: &str) -> bool {
        let shows = || self.shown.lock().unwrap().contains(text);
        wait_until(&format!("the terminal shows {text}"), || shows() || self.reader.is_finished());
        shows()
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        send(&self.child, signal);
    }

    /// Waits for the end; returns the exit code and what was shown.
    pub(crate) fn end(mut self) -> (i32, String) {
        let code = code_of(&mut self.child);
        self.reader.join().unwrap();
        let shown = self.shown.lock().unwrap().clone();
        (code, shown)
    }
}

/// Holds what was said against parts that must all be in it.
#[track_caller]
pub(crate) fn says(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} in {text}"));
}

/// Waits until a file exists.
pub(crate) fn wait_for_file(path: &Path) {
    wait_until(&format!("{} is there", path.display()), || path.exists());
}

/// Waits until something holds, within the test's patience.
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "not true in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
