//! The sandbox `bwrap`: commands under bubblewrap.
//!
//! A [`Bwrap`] shows a command the system's programs, a few files of `/etc`, what its [`View`] names,
//! and nothing else: no network device, no process of the host, no file of the user. It needs no daemon and no
//! image. Where bubblewrap is missing, too old (before 0.8) or refused by the kernel, nothing runs.
//!
//! With a [`Guest`] a command begins with that, as in a container: it has a filter of system calls, and reaches
//! what its [`Reach`] lists. Without one there is neither.
//!
//! The environment of a command goes in by the lifeline of the guest or as it is, and never as an argument, which
//! every user could read. What is composed for agents and checks, [`environment`](crate::environment) says.

use std::{
    ffi::OsString,
    fs::{self, FileType},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
    time::Duration,
};

use samuel_guest::LIMITS_TOLD;

use super::{
    BWRAP, Guest, Sandbox, SandboxError, UnheldLimit, View,
    ask::{asked, last_words, output_of},
    launch::{Programs, launch_of},
    outlet::{self, Outlets},
    process_limit,
    sockets::{self, DIRECTORY, GUEST, Sockets, path_inside},
};
use crate::{
    egress::{EgressPolicy, Gateway, Refusals},
    process::{CommandOutput, CommandSpec, Companion, ProcessError, find_on_path},
};

/// Where the program is looked for: not in `PATH`, which may lead into the project.
const PROGRAMS: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];
/// How long bubblewrap may take to say whether it works.
const PATIENCE: Duration = Duration::from_secs(10);
/// The size of `/dev/shm`, in bytes.
const SHARED_BYTES: u64 = 64 << 20;
/// Directories of the system that a command sees, read-only.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"];
/// Files and directories of `/etc` that programs need, and that hold no secret.
const ETC: [&str; 12] = [
    "alternatives",
    "ca-certificates",
    "group",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "passwd",
    "pki/tls/certs",
    "ssl/certs",
    "ssl/openssl.cnf",
];
/// What is the kernel's beside `/proc/sys`, and can be written by root.
const KERNEL: [&str; 4] = ["/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];
/// Every right and namespace is taken away, and no more can be had.
const WALLS: [&str; 8] = [
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--dir",
];

/// What commands reach of the network. By default nothing.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// What agents reach.
    pub egress: EgressPolicy,
    /// What quality checks reach.
    pub check_egress: EgressPolicy,
    /// Hosts that agents reach without their keys.
    pub gateways: Vec<Gateway>,
}

/// Commands under bubblewrap.
#[derive(Clone, Debug)]
pub struct Bwrap {
    view: Result<View, SandboxError>,
    guest: Option<Guest>,
    reach: Reach,
    /// How many processes and threads a command has.
    pids: Option<u32>,
    refusals: Arc<Refusals>,
    works: Arc<OnceLock<Result<String, String>>>,
}

impl Default for Bwrap {
    /// Makes one in which no command can run, since it shows no directory to work in.
    fn default() -> Self {
        Self::refusing(not_in_place())
    }
}

impl Bwrap {
    /// Makes one with what its commands see; they reach nothing.
    pub fn new(view: View) -> Self {
        Self::of(Ok(view))
    }

    /// Makes one in which no command can run, with the reason.
    pub(crate) fn refusing(why: SandboxError) -> Self {
        Self::of(Err(why))
    }

    fn of(view: Result<View, SandboxError>) -> Self {
        Self {
            view,
            guest: None,
            reach: Reach::default(),
            pids: None,
            refusals: Arc::default(),
            works: Arc::default(),
        }
    }

    /// Has commands begin with a guest.
    #[must_use]
    pub fn guest(self, guest: Guest) -> Self {
        Self { guest: Some(guest), works: Arc::default(), ..self }
    }

    /// Says what commands reach of the network, for which it takes a guest.
    #[must_use]
    pub fn reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Says how many processes and threads a command has, those of the guest among them, for which it takes a guest. By
    /// default as many as the user. Where that cannot be held, [`Sandbox::unheld`] says so.
    #[must_use]
    pub fn pids(self, most: u32) -> Self {
        Self { pids: Some(most), ..self }
    }

    /// Returns the version of bubblewrap, once it has shown that it works here.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`] where it is missing or does not.
    pub fn version(&self) -> Result<String, SandboxError> {
        let tried = self.works.get_or_init(|| try_out(self.guest.as_ref()));
        tried.clone().map_err(|problem| unusable(&problem))
    }

    fn wrap_with(&self, spec: CommandSpec, outlets: &Outlets) -> Result<CommandSpec, SandboxError> {
        self.check()?;
        let (view, program) = (self.view.clone()?, program().ok_or_else(|| unusable(MISSING))?);
        let mut args = Arguments::of_walls();
        args.size(view.tmp_bytes, "/tmp");
        if let Some(home) = view.home.as_deref().filter(|home| hides_nothing(home)) {
            args.size(view.tmp_bytes, home);
        }
        for path in &view.read_only {
            args.show("--ro-bind-try", path);
        }
        for path in used(&spec).into_iter().filter(|path| !view.shows(path)) {
            args.show("--ro-bind-try", &path);
        }
        args.show("--bind", &view.workspace);
        let Some(guest) = &self.guest else {
            args.words(["--remount-ro", "/", "--chdir"]);
            args.0.extend([spec.cwd().into(), "--".into()]);
            let has_tmpdir = spec.variables().any(|(name, _)| name == "TMPDIR");
            let spec = if has_tmpdir { spec.env("TMPDIR", "/tmp") } else { spec };
            return Ok(spec.within(program, args.0));
        };
        let mut launch = launch_of(BWRAP, &spec, Programs::OfMachine, outlets)?;
        launch.most_processes = self.pids.filter(|_| process_limit::obstacle().is_none());
        let sockets =
            Sockets::prepare(guest.directory(), &launch, outlets).map_err(|told| unusable(&told))?;
        args.show_at(sockets.directory(), DIRECTORY);
        args.begin_with(guest);
        args.words([DIRECTORY]);
        Ok(spec.env_clear().command(program, args.0).companion(Arc::new(Inside(sockets))))
    }
}

/// What lies ready for a command, until it has ended.
#[derive(Debug)]
struct Inside(Sockets);

impl Companion for Inside {
    fn release(&self, _ended: &Result<CommandOutput, ProcessError>) {
        self.0.end();
    }
}

impl Sandbox for Bwrap {
    fn name(&self) -> &str {
        BWRAP
    }

    fn check(&self) -> Result<(), SandboxError> {
        self.view.as_ref().map_err(Clone::clone)?;
        let Reach { egress, check_egress, gateways } = &self.reach;
        let reaches = !(egress.is_empty() && check_egress.is_empty() && gateways.is_empty());
        if reaches && self.guest.is_none() {
            return Err(unusable("what leaves it goes through a guest, and this program names none"));
        }
        if let Some(guest) = &self.guest {
            sockets::check_length(guest.directory()).map_err(|told| unusable(&told))?;
        }
        self.version().map(drop)
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        self.wrap_with(spec, &Outlets::new(&self.reach.egress, &self.reach.gateways, &self.refusals))
    }

    fn wrap_check(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        self.wrap_with(spec, &Outlets::new(&self.reach.check_egress, &[], &self.refusals))
    }

    fn begin(&self) -> Result<(), SandboxError> {
        if let Some(guest) = &self.guest {
            sockets::sweep(guest.directory());
        }
        Ok(())
    }

    fn notices(&self) -> Vec<String> {
        self.refusals.take()
    }

    fn unheld(&self) -> Vec<UnheldLimit> {
        let processes = match (self.pids, &self.guest) {
            (Some(_), Some(_)) => process_limit::obstacle(),
            (None, _) => Some("nobody sets a limit"),
            (_, None) => Some("it takes a guest, and this program names none"),
        };
        let unheld = |key, why: &str| UnheldLimit { key, why: why.to_owned() };
        let memory = unheld("memory", "bubblewrap limits none");
        [memory].into_iter().chain(processes.map(|why| unheld("pids", why))).collect()
    }

    fn base_url(&self, gateway: &str) -> Option<String> {
        outlet::base_url(&self.reach.gateways, gateway)
    }

    fn version(&self) -> Option<String> {
        Self::version(self).ok()
    }

    fn in_workspace(&self, workspace: &Path) -> Option<Arc<dyn Sandbox>> {
        let view = self.view.clone().map(|view| View { workspace: workspace.to_owned(), ..view });
        Some(Arc::new(Self { view, refusals: Arc::default(), ..self.clone() }))
    }
}

/// Says what is wrong with a path that is to be shown, if anything is.
pub(crate) fn problem_of_mount(path: &str, home: Option<&Path>) -> Option<String> {
    let named = Path::new(path);
    if !named.is_absolute() {
        return Some(format!("`{path}` is not an absolute path"));
    }
    let Ok(real) = named.canonicalize() else {
        return Some(format!("`{path}` does not exist"));
    };
    let holds_home =
        home.and_then(|home| home.canonicalize().ok()).is_some_and(|home| home.starts_with(&real));
    if holds_home || real == Path::new("/") {
        return Some(format!("`{path}` holds all of your files"));
    }
    let of_system = ["/proc", "/sys", "/dev", "/run", "/tmp", "/var", "/var/run"].map(Path::new);
    if of_system.contains(&real.as_path()) {
        return Some(format!("`{path}` holds what the programs of this machine are reached by"));
    }
    let is_socket = fs::metadata(&real).is_ok_and(|found| found.file_type().is_socket());
    if is_socket {
        return Some(format!("`{path}` is a socket, {ACTS}"));
    }
    socket_in(&real).map(|socket| format!("`{path}` holds the socket {}, {ACTS}", socket.display()))
}

/// Returns a socket in a directory, or in one of its directories: there engines and agents of keys have theirs.
fn socket_in(directory: &Path) -> Option<PathBuf> {
    let entries =
        |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_LOOKED_AT);
    let is = |entry: &fs::DirEntry, kind: fn(&fs::FileType) -> bool| {
        entry.file_type().is_ok_and(|found| kind(&found))
    };
    let socket = |directory: &Path| {
        let found = entries(directory).find(|entry| is(entry, FileType::is_socket));
        found.map(|entry| entry.path())
    };
    let below = || {
        entries(directory).filter(|entry| is(entry, FileType::is_dir)).find_map(|entry| socket(&entry.path()))
    };
    socket(directory).or_else(below)
}

/// What is wrong with a socket.
const ACTS: &str = "behind which a program acts for whoever asks";
/// How many entries of a directory are looked at for sockets.
const MAX_LOOKED_AT: usize = 1000;
/// Says that the workspace is no clone.
pub(super) fn not_in_place() -> SandboxError {
    let problem = "a sandbox keeps agents out of the project's work tree, so the workspace has to be a clone";
    SandboxError::Setting { key: "workspace", problem: problem.to_owned() }
}

/// What is said where there is no bubblewrap.
const MISSING: &str = "bubblewrap is not installed; on Debian and Ubuntu: apt-get install bubblewrap";

/// The arguments of bubblewrap.
struct Arguments(Vec<OsString>);

impl Arguments {
    /// Takes everything away but the system's programs.
    fn of_walls() -> Self {
        let mut args = Self(Vec::new());
        args.words(WALLS);
        args.words(["/etc", "--proc", "/proc", "--dev", "/dev"]);
        // The kernel lets whoever is root outside write its settings there, whatever the namespace.
        args.show("--ro-bind", Path::new("/proc/sys"));
        for of_kernel in KERNEL {
            args.show("--ro-bind-try", Path::new(of_kernel));
        }
        args.size(SHARED_BYTES, "/dev/shm");
        args.words(["--remount-ro", "/dev"]);
        for directory in SYSTEM.map(Path::new) {
            match fs::read_link(directory) {
                Ok(target) => {
                    args.words(["--symlink"]);
                    args.0.extend([target.into(), directory.into()]);
                }
                Err(_) => args.show("--ro-bind-try", directory),
            }
        }
        for name in ETC {
            args.show("--ro-bind-try", &Path::new("/etc").join(name));
        }
        args
    }

    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    /// Shows a path where it is.
    fn show(&mut self, how: &str, path: &Path) {
        self.0.extend([how.into(), path.into(), path.into()]);
    }

    /// Shows a path at another place, to be read.
    fn show_at(&mut self, path: &Path, place: &str) {
        self.0.extend(["--ro-bind".into(), path.into(), place.into()]);
    }

    /// Begins with a guest as the first process.
    fn begin_with(&mut self, guest: &Guest) {
        let place = path_inside(GUEST);
        self.show_at(guest.program(), &place);
        self.words(["--as-pid-1", "--remount-ro", "/", "--", &place]);
        self.0.extend(guest.arguments().iter().map(OsString::from));
    }

    /// Makes an empty directory of a size.
    fn size(&mut self, bytes: u64, path: impl AsRef<Path>) {
        self.0.extend(["--size".into(), bytes.to_string().into(), "--tmpfs".into(), path.as_ref().into()]);
    }
}

/// Says whether an empty directory in place of a home covers nothing of the system.
pub(super) fn hides_nothing(home: &Path) -> bool {
    let system = SYSTEM.iter().chain(&["/etc", "/proc", "/dev"]).map(Path::new);
    home.is_absolute()
        && home != Path::new("/tmp")
        && !system.clone().any(|one| home.starts_with(one) || one.starts_with(home))
}

impl View {
    /// Says whether a path is within what is shown.
    fn shows(&self, path: &Path) -> bool {
        let shown = SYSTEM.iter().map(Path::new).chain([self.workspace.as_path()]);
        shown.chain(self.read_only.iter().map(PathBuf::as_path)).any(|shown| path.starts_with(shown))
    }
}

/// Returns files outside of the view that a command needs: its program, and what leads to Samuel.
fn used(spec: &CommandSpec) -> Vec<PathBuf> {
    let program = Some(PathBuf::from(spec.program()));
    let program = program.filter(|path| path.is_absolute() && !path.is_dir());
    program.into_iter().chain(ways_to_samuel(spec)).collect()
}

/// Returns the command by which agents call Samuel, and the socket by which they do, as far as they are files.
pub(super) fn ways_to_samuel(spec: &CommandSpec) -> Vec<PathBuf> {
    let command = command_of_samuel(spec).map(|(path, _)| path);
    // Where that is a link, some call what it leads to.
    let real = command.as_deref().and_then(|path| path.canonicalize().ok());
    let socket = variable(spec, "SAMUEL_SOCKET").map(PathBuf::from);
    let named = [command, real, socket].into_iter().flatten();
    let mut files: Vec<PathBuf> = named.filter(|path| path.is_absolute() && !path.is_dir()).collect();
    files.dedup();
    files
}

/// Returns the program by which agents call Samuel, and whether they do so by its name alone.
pub(super) fn command_of_samuel(spec: &CommandSpec) -> Option<(PathBuf, bool)> {
    let name = shlex::split(&variable(spec, "SAMUEL_BINARY")?)?.into_iter().next()?;
    if name.contains('/') {
        return Some((name.into(), false));
    }
    find_on_path(&name, variable(spec, "PATH").as_deref(), None).map(|path| (path, true))
}

/// Returns the value that a variable of a command has.
fn variable(spec: &CommandSpec, wanted: &str) -> Option<String> {
    let found = spec.variables().filter(|(name, _)| *name == wanted).last();
    found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
}

fn program() -> Option<PathBuf> {
    PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// Runs a command behind the same walls that does nothing, and returns the version.
fn try_out(guest: Option<&Guest>) -> Result<String, String> {
    if !cfg!(target_os = "linux") {
        return Err("it needs Linux".to_owned());
    }
    let program = program().ok_or(MISSING)?;
    let version = asked(Command::new(&program).arg("--version").env_clear(), PATIENCE)?;
    let version = version.trim();
    let mut args = Arguments::of_walls();
    args.size(1 << 20, "/tmp");
    let output_of = |args: &Arguments| {
        let output = output_of(Command::new(&program).args(&args.0).env_clear(), PATIENCE);
        output.map_err(|told| format!("{version} cannot set it up here: {told}"))
    };
    let mut bare = Arguments(args.0.clone());
    bare.words(["--remount-ro", "/", "--", "true"]);
    let output = output_of(&bare)?;
    if !output.status.success() {
        return Err(format!("{version} cannot set it up here: {}", last_words(&output)));
    }
    if let Some(guest) = guest {
        args.begin_with(guest);
        args.words(["--limits"]);
        let output = output_of(&args)?;
        if output.status.code() != Some(LIMITS_TOLD.into()) {
            let place = guest.program().display();
            return Err(format!("the guest, {place}, cannot be run in it: {}", last_words(&output)));
        }
    }
    Ok(version.to_owned())
}

fn unusable(problem: &str) -> SandboxError {
    SandboxError::Unusable { name: BWRAP.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stdout, reason = "a test says why it is skipped")]

    use super::*;

    #[test]
    fn what_leaves_it_takes_a_guest() {
        let view = tempfile::tempdir().expect("a directory");
        let egress = EgressPolicy::parse(["a.example"]).expect("a host");
        let reach = Reach { egress, ..Reach::default() };
        let told = Bwrap::new(View::new(view.path())).reach(reach).check().expect_err("no guest").to_string();
        assert!(told.contains("goes through a guest"), "{told}");
    }

    #[test]
    fn a_directory_whose_sockets_have_no_room_is_refused_before_anything_runs() {
        let view = tempfile::tempdir().expect("a directory");
        let long = Guest::new("/no/such/guest", view.path().join("x".repeat(100)));
        let told = Bwrap::new(View::new(view.path())).guest(long).check().expect_err("too long").to_string();
        assert!(
            told.contains("is longer than the 107 bytes of a socket's; name a shorter directory"),
            "{told}"
        );
        assert_eq!(fs::read_dir(view.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn what_must_not_be_shown_is_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let socket = home.path().join("docker.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        let told = |path: &str| problem_of_mount(path, Some(home.path())).unwrap_or_default();
        assert!(told("/").ends_with("holds all of your files"));
        assert!(told(&home.path().display().to_string()).ends_with("holds all of your files"));
        assert!(told(&socket.display().to_string()).contains("is a socket"));
        let tools = tempfile::tempdir().expect("a directory");
        let of_engine = tools.path().join("podman");
        fs::create_dir(&of_engine).expect("a directory");
        assert_eq!(told(&tools.path().display().to_string()), "");
        let _listener =
            std::os::unix::net::UnixListener::bind(of_engine.join("podman.sock")).expect("a socket");
        for directory in [tools.path(), of_engine.as_path()] {
            let told = told(&directory.display().to_string());
            assert!(told.contains("holds the socket") && told.contains("podman.sock"), "{told}");
        }
        assert!(problem_of_mount("/tmp", None).is_some_and(|told| told.contains("are reached by")));
        assert!(
            told("tools").contains("is not an absolute path")
                && told("/nowhere/x").contains("does not exist")
        );
        assert_eq!(told("/usr"), "");
    }

    #[test]
    fn no_value_of_a_variable_is_in_the_arguments() {
        let view = tempfile::tempdir().expect("a directory");
        let bwrap = Bwrap::new(View::new(view.path()));
        if let Err(error) = bwrap.check() {
            println!("skipped: {error}");
            return;
        }
        let spec = CommandSpec::shell("true", view.path()).env("TOKEN", "very-secret");
        let wrapped = bwrap.wrap(spec).expect("it is usable");
        assert!(!format!("{:?}", wrapped.arguments()).contains("very-secret"));
        assert!(wrapped.variables().any(|(name, value)| name == "TOKEN" && value == "very-secret"));
    }

    #[test]
    fn samuel_is_shown_whether_it_is_called_by_its_path_or_its_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let program = directory.path().canonicalize().expect("a path").join("samuel");
        fs::write(&program, "#!/bin/sh\n").expect("a file");
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        let link = directory.path().canonicalize().expect("a path").join("link");
        std::os::unix::fs::symlink(&program, &link).expect("a link");
        let ways = |command: &str| {
            let path = format!("/no/such/directory:{}", program.parent().expect("a parent").display());
            let spec = CommandSpec::shell("true", "/").env("PATH", path).env("SAMUEL_SOCKET", "/run/1/s");
            ways_to_samuel(&spec.env("SAMUEL_BINARY", command))
        };
        let socket = PathBuf::from("/run/1/s");
        assert_eq!(ways("samuel"), [program.clone(), socket.clone()]);
        assert_eq!(ways(&program.display().to_string()), [program.clone(), socket.clone()]);
        assert_eq!(ways("link"), [link, program.clone(), socket.clone()]);
        assert_eq!(ways("other"), [socket]);
    }

    #[test]
    fn without_a_clone_it_is_refused() {
        let told = Bwrap::default().check().expect_err("nothing is shown").to_string();
        assert!(told.contains("the workspace has to be a clone"), "{told}");
    }
}
