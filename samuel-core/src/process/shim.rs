//! The supervisor process: one command, and the promise that it leaves nothing.
//!
//! It becomes a subreaper in a session of its own, receives a [`Job`] and the
//! command's three descriptors over the control socket, starts the command in
//! its own process group, and then does what it is told until Samuel asks for
//! the sweep or goes away. See `wire` for the conversation and `sweep` for the end.

use super::{
    proc_table::watch_end,
    sweep::{ABANDONED_SWEEP_LIMIT, Family, SWEEP_LIMIT, Swept},
    wire::{Job, Order, Report},
};
use rustix::{
    io::fcntl_dupfd_cloexec,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send},
    process::{Pid, PidfdFlags, getppid, pidfd_open, set_child_subreaper, setsid},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};
use std::{
    fs::OpenOptions,
    future::pending,
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream as StdUnixStream, process::CommandExt},
    },
    process::{Command, ExitCode, Stdio},
};
use tokio::{
    io::unix::AsyncFd,
    net::UnixStream,
    signal::unix::{Signal as SignalStream, SignalKind, signal},
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        control.set_nonblocking(true)?;
        let mut shim = Shim::new(UnixStream::from_std(control)?, job.client)?;
        shim.report(Report::Ready);
        match start(job, stdio) {
            Ok(leader) => shim.watch(leader).await,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or_default();
                shim.report(Report::StartFailed { errno });
            }
        }
        Ok(())
    })
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

/// Starts the command. The descriptors are closed here on return, so that
/// only the command holds them.
fn start(job: Job, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<Pid> {
    let child = Command::new(&job.program)
        .args(&job.args)
        .current_dir(&job.cwd)
        .env_clear()
        .envs(job.env)
        .process_group(0)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// The supervisor at work.
struct Shim {
    control: UnixStream,
    /// SIGCHLD. Taking it also undoes an inherited setting to ignore it, with
    /// which the kernel would throw exit codes away.
    deaths: SignalStream,
    endings: [SignalStream; 3],
    client: Option<AsyncFd<OwnedFd>>,
}

/// Why the supervisor stops watching.
enum Reason {
    Ordered(Order),
    /// Samuel is gone, or we are being ended ourselves.
    Abandoned,
}

impl Shim {
    fn new(control: UnixStream, client: u32) -> io::Result<Self> {
        Ok(Self {
            control,
            deaths: signal(SignalKind::child())?,
            endings: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            ],
            client: watch_client(client),
        })
    }

    async fn watch(&mut self, leader: Pid) {
        let mut family = Family::new(leader);
        self.report(Report::Started { pid: leader.as_raw_nonzero().get().cast_unsigned() });
        let reason = self.attend(&mut family).await;
        let told = family.status().is_some();
        let swept = match reason {
            Reason::Ordered(Order::Release) => Swept::default(),
            Reason::Ordered(_) => family.sweep(&mut self.deaths, SWEEP_LIMIT).await,
            Reason::Abandoned => family.sweep(&mut self.deaths, ABANDONED_SWEEP_LIMIT).await,
        };
        if let (false, Some(status)) = (told, family.status()) {
            self.report(Report::Exited(status));
        }
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        self.report(Report::Swept { leaked: count(swept.leaked), survivors: count(swept.survivors) });
        if swept.survivors > 0 {
            // Samuel knows and goes on; nobody waits for the rest.
            family.sweep(&mut self.deaths, ABANDONED_SWEEP_LIMIT).await;
        }
    }

    /// Reaps and passes on SIGTERM until it is time for the end.
    async fn attend(&mut self, family: &mut Family) -> Reason {
        let [term, int, hup] = &mut self.endings;
        loop {
            tokio::select! {
                _ = self.deaths.recv() => {
                    let known = family.status().is_some();
                    family.reap();
                    if let (false, Some(status)) = (known, family.status()) {
                        report(&self.control, Report::Exited(status));
                    }
                }
                order = next_order(&self.control) => match order {
                    Some(Order::Terminate) => family.terminate(),
                    Some(order) => return Reason::Ordered(order),
                    None => return Reason::Abandoned,
                },
                () = client_gone(self.client.as_ref()) => return Reason::Abandoned,
                _ = term.recv() => return Reason::Abandoned,
                _ = int.recv() => return Reason::Abandoned,
                _ = hup.recv() => return Reason::Abandoned,
            }
        }
    }

    fn report(&self, message: Report) {
        report(&self.control, message);
    }
}

/// Sends a report. A few bytes always fit, and if Samuel is gone nobody needs it.
fn report(control: &UnixStream, message: Report) {
    let _ = send(control, &message.encode(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// Waits for an order; `None` when Samuel's end is closed.
async fn next_order(control: &UnixStream) -> Option<Order> {
    loop {
        control.readable().await.ok()?;
        let mut byte = [0];
        match control.try_read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => return Order::from_byte(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

/// Watches the process that embeds Samuel, beside the socket: a child that it
/// forked without exec would keep the socket open after its death.
fn watch_client(client: u32) -> Option<AsyncFd<OwnedFd>> {
    let parent = getppid()?;
    if parent.as_raw_nonzero().get().cast_unsigned() != client {
        // Started through a wrapper: the socket has to do.
        return None;
    }
    watch_end(pidfd_open(parent, PidfdFlags::empty()).ok()?).ok()
}

async fn client_gone(client: Option<&AsyncFd<OwnedFd>>) {
    match client {
        Some(client) => {
            let _ = client.readable().await;
        }
        None => pending().await,
    }
}
