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
    cgroup::Cgroup, client::Client, containment::Containment, guard::Guard, keeper::Keeper, mark::Mark,
    wire::Job,
};
use rustix::{
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{Pid, set_child_subreaper, setsid},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};
use std::{
    fs::{self, OpenOptions},
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
        unix::net::UnixStream as StdUnixStream,
    },
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
    pass_nothing_on()?;
    let stdio = receive_stdio(&control)?;
    let job = Job::read(&mut &control)?;
    // Fails for the leader of a group, which then has a group of its own already.
    let _ = setsid();
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let client = Client::open(job.client);
    let (link, to_supervisor) = StdUnixStream::pair()?;
    let mark = job.mark.to_str().and_then(Mark::parse).ok_or(io::ErrorKind::InvalidData)?;
    let for_keeper = client.try_clone()?;
    let (born, cgroup) = fork_contained(&job)?;
    match born {
        Some(keeper) => {
            drop((stdio, to_supervisor, for_keeper));
            Guard { control, link, keeper, cgroup, client, mark }.watch()
        }
        None => {
            drop((control, link, client));
            let containment = if cgroup.is_some() { Containment::Cgroup } else { Containment::Mark };
            let kept = Keeper { link: to_supervisor, job, stdio, containment, client: for_keeper }.keep();
            // What called the supervisor must not go on in the keeper.
            exit(i32::from(kept.is_err()))
        }
    }
}

/// Forks this process, the child in a control group of its own where one is wanted
/// and can be had.
fn fork_contained(job: &Job) -> io::Result<(Option<Pid>, Option<Cgroup>)> {
    let wanted = job.containment >= Containment::Cgroup;
    let group = wanted.then(|| Cgroup::create(job.mark.to_str()?).ok()).flatten();
    if let Some(group) = group {
        if has_other_threads() {
            let born = fork(None)?;
            let is_held = born.is_some() || group.enter().is_ok();
            return Ok((born, is_held.then_some(group)));
        }
        match group.open().and_then(|directory| fork(Some(directory.as_fd()))) {
            Ok(born) => return Ok((born, Some(group))),
            Err(_) => group.remove(),
        }
    }
    Ok((fork(None)?, None))
}

/// Tells whether a thread beside this one may hold a lock. Those of the C library its own fork
/// sees to; a child of the bare system call would wait for them for ever.
fn has_other_threads() -> bool {
    fs::read_dir("/proc/self/task").map_or(true, |threads| threads.count() > 1)
}

/// Forks this process; returns the child's pid in the parent. With the directory of a control
/// group the child is born in there: to move it later takes the kernel ten
/// milliseconds and more.
#[expect(
    unsafe_code,
    reason = "to start the program again instead would double what a command costs, and an interpreter takes long"
)]
fn fork(cgroup: Option<BorrowedFd<'_>>) -> io::Result<Option<Pid>> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let group = cgroup.map_or(0, |directory| u64::from(directory.as_raw_fd().cast_unsigned()));
    let flags = if cgroup.is_some() { CLONE_INTO_CGROUP } else { 0 };
    let exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    // `struct clone_args`: flags, pidfd, child_tid, parent_tid, exit_signal, stack,
    // stack_size, tls, set_tid, set_tid_size, cgroup.
    let args: [u64; 11] = [flags, 0, 0, 0, exit_signal, 0, 0, 0, 0, 0, group];
    // SAFETY: the child goes on with a copy of this thread and its stack, and may only do what needs
    // no other thread: `supervisor_main` asks for a program that does nothing else, and where it has
    // threads all the same, there is no control group here. The kernel reads `args`, which outlives the call.
    let pid = unsafe {
        match cgroup {
            Some(_) => libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)),
            None => libc::fork().into(),
        }
    };
    match i32::try_from(pid) {
        Ok(-1) | Err(_) => Err(io::Error::last_os_error()),
        Ok(pid) => Ok(Pid::from_raw(pid)),
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

/// Has the command inherit nothing that this process did, but for what it is given: a directory that whoever started
/// Samuel left open would lead out of any sandbox.
#[expect(unsafe_code, reason = "what was inherited is known by its number alone")]
fn pass_nothing_on() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        let Some(number) = number.filter(|number| *number > 2) else { continue };
        // SAFETY: it was open a moment ago, and is borrowed for one call, which fails where it is closed by now.
        let inherited = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = fcntl_setfd(inherited, FdFlags::CLOEXEC);
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_thread_of_a_test_is_not_the_only_one() {
        assert!(super::has_other_threads());
    }
}
