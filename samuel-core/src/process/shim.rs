//! The supervisor process: two of them, so that a command can kill or stop one.
//!
//! ```text
//! Samuel ── control socket ──► supervisor ── link ──► keeper ──► command ──► descendants
//! ```
//!
//! The supervisor becomes a subreaper in a session of its own, receives a [`Job`]
//! and the command's three descriptors over the control socket, and forks. The
//! child is the *keeper* (`keeper`), the command's parent, a subreaper in another session, which
//! starts the command and sweeps what it leaves. The parent (`guard`) passes on what both
//! sides say, lets a stopped keeper go on, and does its work if it is killed.
//! A keeper whose supervisor is killed sweeps at once. So a command that kills its
//! parent, its session or its group has won nothing, and one that kills both finds Samuel
//! (`remains`), which knows the control group or the mark of the command.

use super::{
    cgroup::Cgroup, client::Client, containment::Containment, guard::Guard, keeper::Keeper, wire::Job,
};
use rustix::{
    io::fcntl_dupfd_cloexec,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{Pid, set_child_subreaper, setsid},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};
use std::{
    fs::OpenOptions,
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::net::UnixStream as StdUnixStream},
    process::{ExitCode, exit},
};

/// Runs the supervisor; see [`supervisor_main`](super::supervisor_main).
pub(super) fn main() -> ExitCode {
    // Nobody reads an error text: Samuel notices the closed socket.
    match supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise() -> io::Result<()> {
    let control = take_control_socket()?;
    let stdio = receive_stdio(&control)?;
    let job = Job::read(&mut &control)?;
    // Fails for the leader of a group, which then has a group of its own already.
    let _ = setsid();
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let client = Client::open(job.client);
    let cgroup = make_cgroup(&job);
    let (link, to_supervisor) = StdUnixStream::pair()?;
    let mark = job.mark.to_string_lossy().into_owned();
    let for_keeper = (cgroup.as_ref().map(Cgroup::again), client.try_clone()?);
    match fork()? {
        Some(keeper) => {
            drop((stdio, to_supervisor, for_keeper));
            Guard { control, link, keeper, cgroup, client, mark }.watch()
        }
        None => {
            drop((control, link, client));
            let (cgroup, client) = for_keeper;
            let kept = Keeper { link: to_supervisor, job, stdio, cgroup, client }.keep();
            // What called the supervisor must not go on in the keeper.
            exit(i32::from(kept.is_err()))
        }
    }
}

/// Makes the control group where one is wanted and can be had.
fn make_cgroup(job: &Job) -> Option<Cgroup> {
    let wanted = job.containment >= Containment::Cgroup;
    wanted.then(|| Cgroup::create(job.mark.to_str()?).ok()).flatten()
}

/// Forks this process; returns the child's pid in the parent.
#[expect(
    unsafe_code,
    reason = "to start the program again instead would double what a command costs, and an interpreter takes long"
)]
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the child may only do what needs no other thread. `supervisor_main` asks
    // for a program that does nothing else, so no thread of it holds a lock, and the C library
    // keeps its own locks usable in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Moves standard input to a descriptor that the command does not inherit, and
/// standard input, output and error to `/dev/null`, so that the supervisor
/// holds no pipe open.
fn take_control_socket() -> io::Result<StdUnixStream> {
    let control = fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(control.into())
}

/// Receives the descriptors 0, 1 and 2 of the command. They come as a
/// message, not by inheritance: so no other process that is started at the same
/// moment can get hold of them.
fn receive_stdio(control: &StdUnixStream) -> io::Result<[OwnedFd; 3]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut buffer = [IoSliceMut::new(&mut byte)];
    recvmsg(control, &mut buffer, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut received = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            received.extend(descriptors);
        }
    }
    received.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}
