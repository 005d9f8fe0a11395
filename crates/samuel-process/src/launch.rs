//! From a specification to a process with its pipes.

use super::{
    CommandSpec, Containment, ProcessError, Stdin, Supervisor,
    control::Control,
    group::Group,
    lookup,
    mark::{self, Mark},
    startable::{self, start_error},
    supervised::Supervised,
    supervisor::identify,
    wire::Job,
};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream as StdUnixStream},
    },
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::{
    net::{UnixStream, unix::pipe},
    process::Command,
};

/// A launched command: its control and our ends of its pipes.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) control: Control,
    pub(super) stdin: Option<pipe::Sender>,
    pub(super) stdout: pipe::Receiver,
    /// None when it was merged into standard output.
    pub(super) stderr: Option<pipe::Receiver>,
    /// The program as it was resolved, for errors.
    pub(super) program: PathBuf,
}

/// Starts a command, or the supervisor that will start it.
pub(super) fn launch(spec: &CommandSpec, supervisor: &Supervisor) -> Result<Launched, ProcessError> {
    let job = prepare(spec)?;
    let (stdin, feed) = open_stdin(&spec.stdin)?;
    let (stdout_reader, stdout) = io::pipe()?;
    let (stderr_reader, stderr) = match spec.merge_stderr {
        true => (None, OwnedFd::from(stdout.try_clone()?)),
        false => {
            let (reader, writer) = io::pipe()?;
            (Some(reader), OwnedFd::from(writer))
        }
    };
    let stdio = [stdin, stdout.into(), stderr];
    let program = job.program.clone();
    let control = match supervisor.command_line() {
        Some(command_line) => start_supervised(command_line, job, stdio, spec.background)?,
        None => start_group(job, stdio)?,
    };
    Ok(Launched {
        control,
        stdin: feed.map(pipe::Sender::from_owned_fd).transpose()?,
        stdout: pipe::Receiver::from_owned_fd(stdout_reader.into())?,
        stderr: stderr_reader.map(|reader| pipe::Receiver::from_owned_fd(reader.into())).transpose()?,
        program,
    })
}

/// Checks what can be checked before anything runs, so that an error says
/// which part is wrong.
fn prepare(spec: &CommandSpec) -> Result<Job, ProcessError> {
    check_cwd(&spec.cwd)?;
    let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
    if has_nul(&spec.program) {
        return Err(startable::not_found(spec.program.clone(), &spec.cwd));
    }
    if let Some(index) = spec.args.iter().position(|arg| has_nul(arg)) {
        return Err(ProcessError::BadArgument { program: spec.program.clone().into(), position: index + 1 });
    }
    for (name, value) in &spec.env.0 {
        if name.is_empty() || name.as_bytes().contains(&b'=') || has_nul(name) || has_nul(value) {
            return Err(ProcessError::BadVariable { name: name.to_string_lossy().into_owned() });
        }
    }
    let path_var =
        spec.env.0.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let program = lookup::resolve(&spec.program, path_var, &spec.cwd)?;
    startable::check(&program, path_var, &spec.cwd)?;
    Ok(Job {
        program,
        args: spec.args.clone(),
        cwd: spec.cwd.clone(),
        env: spec.env.0.clone(),
        client: std::process::id(),
        mark: std::ffi::OsString::new(),
        // What a background command leaves stays: no group may hold it.
        containment: if spec.background { Containment::Mark } else { spec.containment },
    })
}

fn check_cwd(cwd: &Path) -> Result<(), ProcessError> {
    let bad = |source| ProcessError::BadWorkingDirectory { path: cwd.to_path_buf(), source };
    if !fs::metadata(cwd).map_err(bad)?.is_dir() {
        return Err(bad(io::ErrorKind::NotADirectory.into()));
    }
    rustix::fs::access(cwd, rustix::fs::Access::EXEC_OK).map_err(|errno| bad(errno.into()))
}

/// Returns the command's end and the end to write to, where there is something to write.
fn open_stdin(stdin: &Stdin) -> Result<(OwnedFd, Option<OwnedFd>), ProcessError> {
    let open = |path: &Path| {
        let file = File::open(path);
        file.map_err(|source| ProcessError::StdinFile { path: path.to_path_buf(), source })
    };
    Ok(match stdin {
        Stdin::Null => (open(Path::new("/dev/null"))?.into(), None),
        Stdin::File(path) => (open(path)?.into(), None),
        Stdin::Bytes(_) | Stdin::Piped => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some(writer.into()))
        }
    })
}

/// Starts the supervisor with the control socket as its standard input and
/// hands it the command's descriptors. Our copies are closed on return. What is to
/// stay when the command exits gets no mark.
fn start_supervised(
    (program, args): (PathBuf, Vec<std::ffi::OsString>),
    mut job: Job,
    stdio: [OwnedFd; 3],
    stays: bool,
) -> Result<Control, ProcessError> {
    // A mark that named nobody who lives would have the command swept by others.
    let unread = |program| ProcessError::SupervisorStart {
        program,
        source: io::Error::other("the table of processes in /proc cannot be read"),
    };
    let client = identify(job.client).ok_or_else(|| unread(program.clone()))?;
    let mark = Mark::new(client);
    job.mark = mark.to_string().into();
    if !stays {
        job.env.push((mark::VARIABLE.into(), job.mark.clone()));
    }
    let (ours, theirs) = StdUnixStream::pair()?;
    send_stdio(&ours, &stdio)?;
    ours.set_nonblocking(true)?;
    let control = UnixStream::from_std(ours)?;
    let child = Command::new(&program)
        .args(args)
        .env_clear()
        .env(mark::VARIABLE, &job.mark)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| ProcessError::SupervisorStart { program: program.clone(), source })?;
    let id = child.id().and_then(identify).ok_or_else(|| unread(program))?;
    Ok(Control::Supervised(Supervised::new(control, child, id, mark, &job)))
}

fn send_stdio(socket: &StdUnixStream, stdio: &[OwnedFd; 3]) -> io::Result<()> {
    let descriptors = stdio.each_ref().map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

fn start_group(job: Job, stdio: [OwnedFd; 3]) -> Result<Control, ProcessError> {
    let child = Command::from(job.command(stdio)).spawn();
    Ok(Control::Group(Group::new(child.map_err(|source| start_error(job.program, source))?)))
}
