//! The guest at work: from the lifeline to the exit code of the command.

use std::{
    env, fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use rustix::{
    process::{
        DumpableBehavior, Pid, Resource, Signal, WaitOptions, getpid, getrlimit, kill_process_group,
        set_dumpable_behavior, wait,
    },
    stdio::dup2_stderr,
};

use crate::{
    launch::{
        Ended, GREETING_LIMIT, Greeting, LAUNCH_LIMIT, LIFELINE, LIMITS_TOLD, Launch, LaunchError,
        NOT_STARTED, Streams, TOKEN,
    },
    limits::{self, Limit},
    ports, seccomp,
    signals::Arrived,
};

/// The exit code where the program cannot be executed, as shells have it.
const NOT_EXECUTABLE: u8 = 126;
/// The exit code where there is no such program.
const NOT_FOUND: u8 = 127;
/// What is added to the number of a signal that ended the command.
const BY_SIGNAL: i32 = 128;
/// How long Samuel may take to say what is to be started.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs the command that the lifeline in a directory tells of, and returns its exit code.
///
/// It is [`NOT_STARTED`] where there is none, with the reason on standard error. As process 1 of a container it
/// ends all others with itself; elsewhere it ends the group of its command once the lifeline ends.
pub fn guest_main(directory: &Path) -> u8 {
    let mut asks = None;
    let code = run(directory, &mut asks).unwrap_or_else(|failure| {
        eprintln!("samuel: {failure}");
        failure.exit_code()
    });
    if let Some((lifeline, line)) = asks.as_mut().zip(Ended { exited: code }.to_line().ok()) {
        // Whoever is gone need not know.
        let _ = lifeline.write_all(line.as_bytes());
    }
    code
}

/// Does what the program `samuel-guest` is asked to do by its arguments, and returns its exit code; nothing where
/// they are none of its own.
pub fn program_main(arguments: &[std::ffi::OsString]) -> Option<u8> {
    match arguments {
        [word] if word == "--limits" => {
            // There may be nobody who reads it.
            let _ = io::stdout().write_all(limits::limits_that_are_set().as_bytes());
            Some(LIMITS_TOLD)
        }
        [directory] if !directory.to_string_lossy().starts_with('-') => Some(guest_main(directory.as_ref())),
        _ => None,
    }
}

/// Runs the command; `asks` becomes the lifeline where Samuel asks how it ends.
fn run(directory: &Path, asks: &mut Option<UnixStream>) -> Result<u8, Failure> {
    let (launch, lifeline) = connect(directory).map_err(Failure::Lifeline)?;
    let words = match &launch.streams {
        None => None,
        Some(streams) => {
            *asks = Some(lifeline.try_clone().map_err(|error| Failure::Lifeline(error.into()))?);
            let failed = |source| Failure::Streams { path: streams.words.clone(), source };
            Some(connect_streams(streams).map_err(failed)?)
        }
    };
    // No command looks into this process, or holds it up, so that it always sees the end of the lifeline.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|errno| Failure::Shut(errno.into()))?;
    // Before there are other threads.
    seccomp::deny_escapes().map_err(Failure::Filter)?;
    let files = getrlimit(Resource::Nofile);
    limits::take_all_files();
    lead_out(&lifeline, &launch.ports)?;
    limits::leave_half_of_the_files(files).map_err(Failure::Shut)?;
    let signals = Arrived::note().map_err(Failure::Signals)?;
    if let Some(most) = launch.most_processes {
        limits::allow_processes(most).map_err(Failure::Shut)?;
    }
    let command = start(&launch, words)?;
    signals.pass_on(command);
    thread::spawn(move || {
        hold(lifeline);
        // The end of a process 1 is that of all others.
        if getpid() != Pid::INIT {
            let _ = kill_process_group(command, Signal::KILL);
        }
        std::process::exit(BY_SIGNAL + Signal::KILL.as_raw());
    });
    let code = reap_until_end_of(command)?;
    tell_of_limits(&launch);
    Ok(code)
}

/// Greets Samuel, and receives what is to be done.
fn connect(directory: &Path) -> Result<(Launch, UnixStream), LifelineError> {
    let mut token = String::new();
    let limit = u64::try_from(GREETING_LIMIT).unwrap_or(u64::MAX);
    File::open(directory.join(TOKEN))?.take(limit).read_to_string(&mut token)?;
    let mut stream = UnixStream::connect(directory.join(LIFELINE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(Greeting::new(token.trim()).to_line()?.as_bytes())?;
    let mut line = String::new();
    let limit = u64::try_from(LAUNCH_LIMIT).unwrap_or(u64::MAX);
    BufReader::new(stream.try_clone()?.take(limit)).read_line(&mut line)?;
    if line.is_empty() {
        return Err(LifelineError::Refused);
    }
    stream.set_read_timeout(None)?;
    Ok((Launch::from_line(&line)?, stream))
}

/// Listens on the ports that lead out, and leaves to Samuel what connects to them; no command starts before it may.
fn lead_out(lifeline: &UnixStream, ports: &[u16]) -> Result<(), Failure> {
    if ports.is_empty() {
        return Ok(());
    }
    let listening = |port: &u16| ports::listen(*port).map_err(|source| Failure::Port { port: *port, source });
    let listeners = ports.iter().map(listening).collect::<Result<Vec<_>, _>>();
    let listeners = listeners.inspect_err(|_| ports::hand_over_nothing(lifeline))?;
    let handed_over = lifeline
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| ports::hand_over(lifeline, &listeners))
        .and_then(|()| lifeline.set_read_timeout(None));
    handed_over.map_err(Failure::Ports)
}

/// Waits for the end of the lifeline.
fn hold(mut lifeline: UnixStream) {
    let mut said = [0; 64];
    loop {
        match lifeline.read(&mut said) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            // Nothing more is to be said; what is, has no meaning.
            Ok(_) | Err(_) => {}
        }
    }
}

/// Starts the command in a group of processes of its own, over the environment of the image; `words` is its standard
/// input and output, where it has none of the guest.
fn start(launch: &Launch, words: Option<UnixStream>) -> Result<Pid, Failure> {
    let [program, arguments @ ..] = launch.argv.as_slice() else { return Err(Failure::Nothing) };
    if !Path::new(&launch.cwd).is_dir() {
        return Err(Failure::Directory { path: launch.cwd.clone() });
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&launch.cwd).process_group(0);
    command.envs(launch.env.iter().map(|(name, value)| (name, value)));
    if let Some(words) = words {
        let input =
            words.try_clone().map_err(|source| Failure::Program { program: program.clone(), source })?;
        command.stdin(Stdio::from(OwnedFd::from(input))).stdout(Stdio::from(OwnedFd::from(words)));
    }
    if !launch.paths.is_empty() {
        command.env("PATH", with_paths(env::var("PATH").ok(), &launch.paths));
    }
    let child = command.spawn().map_err(|source| Failure::Program { program: program.clone(), source })?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or(Failure::Nothing)
}

/// Connects what stands in for the streams of the guest: standard error is its own from now on, the other is returned.
fn connect_streams(streams: &Streams) -> io::Result<UnixStream> {
    dup2_stderr(UnixStream::connect(&streams.errors)?)?;
    UnixStream::connect(&streams.words)
}

/// Returns the directories of the image's programs, with more behind them.
fn with_paths(of_image: Option<String>, paths: &[String]) -> String {
    let of_image = of_image.filter(|path| !path.is_empty());
    let all: Vec<&str> = of_image.iter().chain(paths).map(String::as_str).collect();
    all.join(":")
}

/// Waits for all that end, until the command does.
fn reap_until_end_of(command: Pid) -> Result<u8, Failure> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => {
                let by_signal = status.terminating_signal().map(|signal| BY_SIGNAL + signal);
                let code = status.exit_status().or(by_signal).unwrap_or(1);
                return Ok(u8::try_from(code).unwrap_or(u8::MAX));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Failure::Wait(errno.into())),
        }
    }
}

/// Says which limits the command has run into.
fn tell_of_limits(launch: &Launch) {
    for limit in limits::reached() {
        match (limit, &launch.memory, launch.pids) {
            (Limit::Memory, Some(memory), _) => eprintln!(
                "samuel: a process was ended for want of memory: the sandbox has {memory} (memory below [sandbox] in samuel.toml)"
            ),
            (Limit::Processes, _, Some(pids)) => eprintln!(
                "samuel: a process could not be started: the sandbox has room for {pids} (pids below [sandbox] in samuel.toml)"
            ),
            _ => {}
        }
    }
}

/// Why no command was run to its end.
#[derive(Debug)]
enum Failure {
    Lifeline(LifelineError),
    Port { port: u16, source: io::Error },
    Ports(io::Error),
    Shut(io::Error),
    Filter(io::Error),
    Signals(io::Error),
    Nothing,
    Streams { path: String, source: io::Error },
    Directory { path: String },
    Program { program: String, source: io::Error },
    Wait(io::Error),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Program { source, .. } if source.kind() == io::ErrorKind::NotFound => NOT_FOUND,
            Self::Program { .. } => NOT_EXECUTABLE,
            _ => NOT_STARTED,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lifeline(error) => write!(f, "the lifeline cannot be used: {error}"),
            Self::Port { port, source } => write!(f, "port {port} cannot be listened on: {source}"),
            Self::Ports(error) if error.raw_os_error() == Some(libc::ETOOMANYREFS) => f.write_str(
                "the ports that lead out cannot be handed over: too many files of this user are on their way between processes",
            ),
            Self::Ports(error) => write!(f, "the ports that lead out cannot be handed over: {error}"),
            Self::Shut(error) => write!(f, "this process cannot be shut to its command: {error}"),
            Self::Filter(error) => write!(f, "system calls cannot be filtered: {error}"),
            Self::Signals(error) => write!(f, "signals cannot be passed on: {error}"),
            Self::Nothing => f.write_str("there is no command to run"),
            Self::Streams { path, source } => {
                write!(f, "the command cannot be spoken with over {path}: {source}")
            }
            Self::Directory { path } => write!(f, "{path} is no directory in the sandbox"),
            Self::Program { program, source } if lacks_its_interpreter(program, source) => {
                write!(f, "\"{program}\" cannot be started: the image lacks what it is linked with or run by")
            }
            Self::Program { program, source } if source.kind() == io::ErrorKind::NotFound => {
                let path = env::var("PATH").unwrap_or_default();
                write!(f, "\"{program}\" was not found in the image (PATH of the image: {path})")
            }
            Self::Program { program, source } => write!(f, "\"{program}\" cannot be executed: {source}"),
            Self::Wait(error) => write!(f, "the command cannot be waited for: {error}"),
        }
    }
}

/// Says whether a program is there, and what the system would start it by is not: the kernel has one error for both.
fn lacks_its_interpreter(program: &str, source: &io::Error) -> bool {
    source.kind() == io::ErrorKind::NotFound && program.contains('/') && Path::new(program).is_file()
}

/// Why the lifeline cannot be used.
#[derive(Debug)]
enum LifelineError {
    Refused,
    Io(io::Error),
    Launch(LaunchError),
}

impl From<io::Error> for LifelineError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<LaunchError> for LifelineError {
    fn from(error: LaunchError) -> Self {
        Self::Launch(error)
    }
}

impl fmt::Display for LifelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => {
                f.write_str("it was closed without a command, as for a guest of another version")
            }
            Self::Io(error) => error.fmt(f),
            Self::Launch(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_image_come_first() {
        let more = ["/opt/samuel".to_owned(), "/opt/other".to_owned()];
        assert_eq!(
            with_paths(Some("/usr/bin:/bin".to_owned()), &more),
            "/usr/bin:/bin:/opt/samuel:/opt/other"
        );
        for none in [None, Some(String::new())] {
            assert_eq!(
                with_paths(none, &more[..1]),
                "/opt/samuel",
                "no empty entry, which is the working directory"
            );
        }
    }

    #[test]
    fn no_command_starts_where_a_port_is_taken_and_samuel_is_told() {
        let taken = ports::listen(0).expect("a port");
        let port = taken.local_addr().expect("an address").port();
        let (inside, mut outside) = UnixStream::pair().expect("a pair");
        let failure = lead_out(&inside, &[port]).expect_err("the port is taken");
        assert_eq!(failure.exit_code(), NOT_STARTED);
        assert!(
            failure.to_string().starts_with(&format!("port {port} cannot be listened on: ")),
            "{failure}"
        );
        drop(inside);
        let mut said = String::new();
        outside.read_to_string(&mut said).expect("an end");
        assert_eq!(said, "\n");
    }

    #[test]
    fn a_program_that_is_there_is_not_called_missing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("program").display().to_string();
        let told = || {
            let source = io::Error::from(io::ErrorKind::NotFound);
            Failure::Program { program: path.clone(), source }.to_string()
        };
        assert!(told().contains("was not found in the image"), "{}", told());
        std::fs::write(&path, "#!/no/such/interpreter\n").expect("a file");
        assert!(told().contains("lacks what it is linked with"), "{}", told());
    }
}
