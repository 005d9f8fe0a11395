//! What Samuel and a supervisor say to each other over the control socket.
//!
//! ```text
//! Samuel      one byte that carries the command's descriptors 0, 1 and 2
//!             MAGIC, length, Job
//! supervisor  Report::Ready, before anything of the command runs,
//!             then Report::Started or Report::StartFailed
//! Samuel      Order, any number
//! supervisor  Report::Exited, after the last order Report::Swept
//! ```
//! The end of the stream on the supervisor's side means that Samuel is gone.
//! The supervisor and its keeper (see `shim`) talk in the same words, without
//! the job. An order to answer is for the supervisor alone.
//! Both sides are the same version, as the program is Samuel's own, but
//! a wrong one must be noticed: that is what `MAGIC` is for.

use super::{Containment, ExitStatus};
use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::{
            ffi::{OsStrExt, OsStringExt},
            process::CommandExt,
        },
    },
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

/// Opens a job and names the version of this protocol.
const MAGIC: [u8; 4] = *b"sup4";

/// The most that arguments and environment may take, above what Linux accepts.
const MAX_JOB_BYTES: u32 = 16 * 1024 * 1024;

/// How long a sweep tries while Samuel waits for its result. Only a process
/// stuck in the kernel, or one of another user, outlives it.
pub(super) const SWEEP_LIMIT: Duration = Duration::from_millis(500);

/// How long a supervisor takes at most from the last order to its last report, with
/// all that it does meanwhile: the keeper's sweep, and as long for what the keeper leaves.
pub(super) const REPORT_LIMIT: Duration = SWEEP_LIMIT.saturating_mul(2);

/// A command as the supervisor starts it: everything is resolved already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// An absolute path.
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    /// The pid of the process that embeds Samuel.
    pub(super) client: u32,
    /// The text of the command's mark, which `env` carries too.
    pub(super) mark: OsString,
    /// The strongest containment that may be used.
    pub(super) containment: Containment,
}

impl Job {
    /// Returns the command as it is started: in a process group of its own, with these as its
    /// standard input, output and error.
    pub(super) fn command(&self, [stdin, stdout, stderr]: [OwnedFd; 3]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(Stdio::from(stdin))
            .stdout(Stdio::from(stdout))
            .stderr(Stdio::from(stderr));
        command
    }

    /// Encodes the job with its header.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_u32(&mut body, self.client);
        put_string(&mut body, &self.mark);
        put_u32(&mut body, self.containment.code());
        put_string(&mut body, self.program.as_os_str());
        put_string(&mut body, self.cwd.as_os_str());
        put_u32(&mut body, length(self.args.len()));
        for arg in &self.args {
            put_string(&mut body, arg);
        }
        put_u32(&mut body, length(self.env.len()));
        for (name, value) in &self.env {
            put_string(&mut body, name);
            put_string(&mut body, value);
        }
        let mut message = MAGIC.to_vec();
        put_u32(&mut message, length(body.len()));
        message.append(&mut body);
        message
    }

    /// Reads a job with its header.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut magic = [0; 4];
        from.read_exact(&mut magic)?;
        let size = get_u32(from)?;
        if magic != MAGIC || size > MAX_JOB_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let body = &mut from.take(u64::from(size));
        let client = get_u32(body)?;
        let mark = get_string(body)?;
        let containment = Containment::from_code(get_u32(body)?).ok_or(io::ErrorKind::InvalidData)?;
        let program = get_string(body)?.into();
        let cwd = get_string(body)?.into();
        let args = (0..get_u32(body)?).map(|_| get_string(body)).collect::<io::Result<_>>()?;
        let env = (0..get_u32(body)?)
            .map(|_| Ok((get_string(body)?, get_string(body)?)))
            .collect::<io::Result<_>>()?;
        Ok(Self { program, args, cwd, env, client, mark, containment })
    }
}

/// What Samuel wants from a supervisor at work: one byte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Order {
    /// Ask the command to end: SIGTERM, then SIGCONT in case it is stopped.
    Terminate = b'T',
    /// Interrupt the command: SIGINT.
    Interrupt = b'I',
    /// Kill the command and everything below it, report, exit.
    Kill = b'K',
    /// The command has exited: kill what it left, report, exit.
    Sweep = b'S',
    /// The command has exited: leave alone what it left, report, exit.
    Release = b'R',
    /// Answer with [`Report::Alive`], so that Samuel sees that nobody has
    /// stopped the supervisor.
    Answer = b'A',
}

impl Order {
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Terminate, Self::Interrupt, Self::Kill, Self::Sweep, Self::Release, Self::Answer]
            .into_iter()
            .find(|order| *order as u8 == byte)
    }
}

/// What a supervisor tells Samuel: frames of [`Report::SIZE`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// This is a supervisor that has understood the job, with this keeper, and
    /// this holds what the command starts.
    Ready { keeper: u32, containment: Containment },
    /// The command runs with this pid, which is its process group too.
    Started { pid: u32 },
    /// The command could not be started, for the reason of this error number.
    StartFailed { errno: i32 },
    /// The command has ended; what it left may still run.
    Exited(ExitStatus),
    /// This process was left, under this name.
    Leaked { pid: u32, name: Name },
    /// All is done: so many processes were left, so many still are.
    Swept { leaked: u32, survivors: u32 },
    /// The answer to [`Order::Answer`].
    Alive,
    /// The keeper was killed, and what it kept was killed for that: so many
    /// processes still are.
    KeeperLost { survivors: u32 },
}

/// The name of a process as Linux keeps it: at most 15 bytes, then zeros.
pub(super) type Name = [u8; 15];

impl Report {
    /// A tag byte, two numbers and a name.
    pub(super) const SIZE: usize = 9 + size_of::<Name>();

    pub(super) fn encode(self) -> [u8; Self::SIZE] {
        let name = match self {
            Self::Leaked { name, .. } => name,
            _ => Name::default(),
        };
        let (tag, first, second) = match self {
            Self::Ready { keeper, containment } => (b'r', keeper, containment.code()),
            Self::Started { pid } => (b's', pid, 0),
            Self::StartFailed { errno } => (b'f', errno.cast_unsigned(), 0),
            Self::Exited(ExitStatus::Exited(code)) => (b'e', code.cast_unsigned(), 0),
            Self::Exited(ExitStatus::Signaled(signal)) => (b'k', signal.cast_unsigned(), 0),
            Self::Leaked { pid, .. } => (b'n', pid, 0),
            Self::Swept { leaked, survivors } => (b'w', leaked, survivors),
            Self::Alive => (b'a', 0, 0),
            Self::KeeperLost { survivors } => (b'l', survivors, 0),
        };
        let mut frame = [0; Self::SIZE];
        let bytes = [tag].into_iter().chain(first.to_le_bytes()).chain(second.to_le_bytes()).chain(name);
        frame.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        frame
    }

    pub(super) fn decode(frame: [u8; Self::SIZE]) -> Option<Self> {
        let [tag, a, b, c, d, e, f, g, h, name @ ..] = frame;
        let first = u32::from_le_bytes([a, b, c, d]);
        let second = u32::from_le_bytes([e, f, g, h]);
        Some(match tag {
            b'r' => Self::Ready { keeper: first, containment: Containment::from_code(second)? },
            b's' => Self::Started { pid: first },
            b'f' => Self::StartFailed { errno: first.cast_signed() },
            b'e' => Self::Exited(ExitStatus::Exited(first.cast_signed())),
            b'k' => Self::Exited(ExitStatus::Signaled(first.cast_signed())),
            b'n' => Self::Leaked { pid: first, name },
            b'w' => Self::Swept { leaked: first, survivors: second },
            b'a' => Self::Alive,
            b'l' => Self::KeeperLost { survivors: first },
            _ => return None,
        })
    }
}

/// Lengths above 4 GiB cannot be sent; the reader refuses far shorter ones.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn put_u32(to: &mut Vec<u8>, number: u32) {
    to.extend(number.to_le_bytes());
}

fn put_string(to: &mut Vec<u8>, string: &OsStr) {
    put_u32(to, length(string.len()));
    to.extend(string.as_bytes());
}

fn get_u32(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn get_string(from: &mut impl Read) -> io::Result<OsString> {
    let size = get_u32(from)?;
    let mut bytes = Vec::new();
    let read = from.take(u64::from(size)).read_to_end(&mut bytes)?;
    if read as u64 != u64::from(size) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

    use super::*;
    use proptest::prelude::*;

    fn job() -> Job {
        Job {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), OsString::from_vec(b"a\xff\nb".to_vec())],
            cwd: "/tmp".into(),
            env: vec![("A".into(), "1=2".into()), ("B".into(), "".into())],
            client: 7,
            mark: "1.2.3".into(),
            containment: Containment::Cgroup,
        }
    }

    #[test]
    fn a_job_comes_back_as_it_was_sent() {
        assert_eq!(Job::read(&mut job().encode().as_slice()).unwrap(), job());
    }

    #[test]
    fn reports_come_back_as_they_were_sent() {
        for report in [
            Report::Ready { keeper: 17, containment: Containment::Mark },
            Report::Started { pid: 70_000 },
            Report::StartFailed { errno: 13 },
            Report::Exited(ExitStatus::Exited(44)),
            Report::Exited(ExitStatus::Signaled(9)),
            Report::Leaked { pid: 70_000, name: *b"a name (of 15) " },
            Report::Swept { leaked: 3, survivors: 1 },
            Report::Alive,
            Report::KeeperLost { survivors: 2 },
        ] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_job_are_an_error(mut bytes in proptest::collection::vec(any::<u8>(), 0..64), cut in 0_usize..60) {
            let job = job().encode();
            prop_assert!(Job::read(&mut &job[..cut.min(job.len() - 1)]).is_err());
            bytes.splice(0..0, MAGIC);
            let _ = Job::read(&mut bytes.as_slice());
            prop_assert!(Job::read(&mut &bytes[1..]).is_err());
        }
    }
}
