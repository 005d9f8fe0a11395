//! Signals that the engine's client sends to the first process, passed on to the command.
//!
//! A process 1 without handlers is not reached by them. A handler writes the number of the signal into a pipe,
//! which is all that may be done in one; a thread reads it.

use std::{
    fs::File,
    io::{self, PipeReader, Read},
    os::fd::{AsRawFd, IntoRawFd, OwnedFd},
    sync::atomic::{AtomicI32, Ordering},
    thread,
};

use rustix::process::{Pid, Signal, kill_process_group};

/// What is passed on.
const PASSED_ON: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The end of the pipe that handlers write to.
static WRITER: AtomicI32 = AtomicI32::new(-1);

/// Signals that have arrived, and that nobody has been told of yet.
#[derive(Debug)]
pub(crate) struct Arrived(PipeReader);

impl Arrived {
    /// Begins to note signals.
    pub(crate) fn note() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let writer = OwnedFd::from(writer);
        // A pipe that is full already holds one of each.
        rustix::io::ioctl_fionbio(&writer, true)?;
        // It stays open as long as the process lives.
        WRITER.store(File::from(writer).into_raw_fd(), Ordering::Relaxed);
        for signal in PASSED_ON {
            handle(signal)?;
        }
        debug_assert!(reader.as_raw_fd() >= 0);
        Ok(Self(reader))
    }

    /// Passes those that arrived, and all that do, on to a group of processes.
    pub(crate) fn pass_on(self, group: Pid) {
        let Self(mut reader) = self;
        thread::spawn(move || {
            let mut number = [0];
            while reader.read_exact(&mut number).is_ok() {
                let [number] = number;
                if let Some(signal) = Signal::from_named_raw(number.into()) {
                    let _ = kill_process_group(group, signal);
                }
            }
        });
    }
}

/// Notes the number of a signal.
extern "C" fn note(signal: libc::c_int) {
    let number = signal.to_le_bytes();
    #[expect(unsafe_code, reason = "`write` of libc is what a handler may call")]
    // SAFETY: the call reads one byte of a local, and a descriptor that is not open makes it fail. It sets
    // `errno` only where it fails: the pipe is full then, of signals that are still to be passed on.
    unsafe {
        libc::write(WRITER.load(Ordering::Relaxed), number.as_ptr().cast(), 1);
    }
}

#[expect(unsafe_code, reason = "neither std nor rustix takes handlers of signals")]
fn handle(signal: libc::c_int) -> io::Result<()> {
    let handler = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler calls nothing but `write`, on a descriptor that stays open.
    let before = unsafe { libc::signal(signal, handler) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}
