//! A program of an image that Samuel speaks with, as plugins are.
//!
//! A [`Program`] is started any number of times, each time in a container of its own, which is a [`Spoken`]. Its
//! standard streams are sockets in the directory of the container rather than those of the engine's command, which
//! ends once the container has started: what is said goes from one process to the other, and no third one passes it
//! on. A container that is dropped ends at once, and is removed on a thread of its own; whoever drops the program
//! waits for those.

use std::{
    fmt,
    io::{Read, Write},
    os::unix::net::{UnixListener as StdListener, UnixStream as StdStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, Timespec, poll},
};
use samuel_guest::{Ended, Launch, Streams};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::watch,
    time::timeout,
};

use super::{
    Containers, Image, Memory, SandboxError,
    arguments::{self, Contained, Manner, Most, Mount},
    container::Container,
    label_of,
    tried::{Trial, Tried},
    unusable,
};
use crate::{
    egress::{EgressPolicy, Refusals, accepted},
    model::run_blocking,
    sandbox::walls::{
        ask::{last_words, output_of},
        outlet::Outlets,
        sockets::{path_inside, random},
    },
};

/// The name of the socket that is a program's standard input and output.
const WORDS: &str = "words";
/// The name of the socket that is its standard error.
const ERRORS: &str = "errors";
/// The name of the socket on which a program asks Samuel.
const HOST: &str = "host";
/// How long an engine may take to start a container.
const START: Duration = Duration::from_secs(60);
/// How long a container that has started may take to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// How long one that says nothing more may take to say how it ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long whoever says something waits for the answer itself, before the runtime does: less than others notice.
const AT_ONCE: Duration = Duration::from_micros(300);
/// How much is read at once, in bytes.
const PIECE: usize = 16 << 10;
/// How much is kept of what a program says beside its answers, in bytes.
const MAX_ERRORS: usize = 16 << 10;
/// The size of `/tmp`, in bytes.
const TMP_BYTES: u64 = 64 << 20;

/// What a program is made of.
#[derive(Clone, Debug)]
pub(crate) struct ProgramParts {
    pub(crate) containers: Containers,
    pub(crate) image: Image,
    /// What it sees of the machine.
    pub(crate) mounts: Vec<Mount>,
    /// What it reaches of the network.
    pub(crate) egress: EgressPolicy,
    pub(crate) memory: Memory,
    /// How many processes and threads it has, the guest's among them.
    pub(crate) pids: u32,
}

/// A program of an image.
pub(crate) struct Program {
    parts: ProgramParts,
    label: String,
    found: OnceLock<Result<Found, SandboxError>>,
    refusals: Arc<Refusals>,
    removals: Arc<Removals>,
}

/// What was found out about an image and its engine.
#[derive(Clone, Debug)]
struct Found {
    tried: Tried,
    /// What the image starts, before the arguments.
    entrypoint: Vec<String>,
}

/// What is said to a program as it starts.
pub(crate) struct Start {
    /// The arguments behind the entry point of the image.
    pub(crate) arguments: Vec<String>,
    /// Variables over those of the image.
    pub(crate) env: Vec<(String, String)>,
}

impl Program {
    /// Describes one for the project at a root, by which its containers are found again.
    pub(crate) fn new(parts: ProgramParts, root: &Path) -> Self {
        let label = label_of(root);
        Self { parts, label, found: OnceLock::new(), refusals: Arc::default(), removals: Arc::default() }
    }

    /// Finds out whether it can be started: engine, guest and image are there, and containers have their limits. Removes
    /// what a Samuel of this project left that was killed. Blocks, at the first time.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] that says why not.
    pub(crate) fn check(&self) -> Result<(), SandboxError> {
        self.found().map(drop)
    }

    fn found(&self) -> Result<&Found, SandboxError> {
        let found = self.found.get_or_init(|| {
            let ProgramParts { containers, image, memory, pids, .. } = &self.parts;
            let engine = containers.engine()?;
            let name = engine.kind().name();
            let entrypoint = engine.entrypoint(image.as_str()).map_err(|told| {
                unusable(format!("{name} does not have the image {image}, and Samuel pulls none: {told}"))
            })?;
            let (label, tmp_bytes) = (self.label.as_str(), TMP_BYTES);
            let trial = Trial { containers, image, memory, pids: *pids, tmp_bytes, label };
            let tried = trial.tried()?;
            engine.sweep(label)?;
            Ok(Found { tried, entrypoint })
        });
        found.as_ref().map_err(Clone::clone)
    }

    /// Returns what somebody should know since it was asked last, such as a host that was refused.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.refusals.take()
    }

    /// Starts it.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] where it cannot be started, or does not connect.
    pub(crate) async fn start(self: &Arc<Self>, start: Start) -> Result<Spoken, SandboxError> {
        let program = Arc::clone(self);
        let started = run_blocking(move || program.start_container(start)).await;
        let Waiting { held, words, errors, host } =
            started.map_err(|error| unusable(error.to_string())).flatten()?;
        let ended = held.container().map(Container::ended).unwrap_or_else(|| watch::channel(None).1);
        let mut over = ended.clone();
        let connected =
            async { Ok((connected(errors, &mut over).await?, connected(words, &mut over).await?)) };
        let (errors, words) = match timeout(CONNECT, connected).await {
            Ok(Ok(both)) => both,
            Ok(Err(Gone)) => return Err(unusable("a container has started, and ended before it answered")),
            Err(_) => return Err(unusable("a container has started, and does not answer")),
        };
        let errors = Errors::read(errors).map_err(|error| unusable(error.to_string()))?;
        Ok(Spoken { words: Some(words), host: Some(host), errors, ended, held })
    }

    fn start_container(&self, start: Start) -> Result<Waiting, SandboxError> {
        let Found { tried, entrypoint } = self.found()?;
        let ProgramParts { containers, image, mounts, egress, memory, pids } = &self.parts;
        if let Some(container) = &*containers.stuck.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(SandboxError::Stuck { container: container.clone() });
        }
        let engine = containers.engine()?;
        // Where it works is the image's to say.
        let mut launch = Launch::new(entrypoint.iter().cloned().chain(start.arguments), ".");
        launch.env = start.env;
        launch.streams = Some(Streams { words: path_inside(WORDS), errors: path_inside(ERRORS) });
        let outlets = Outlets::new(egress, &[], &self.refusals);
        outlets.open_in(&mut launch);
        let container = Container::prepare(containers, &launch, &outlets)?;
        let listen = |name| {
            let listener = StdListener::bind(container.directory().join(name));
            let listener = listener.and_then(|one| one.set_nonblocking(true).map(|()| one));
            listener.map_err(|error| unusable(format!("no socket can be made: {error}")))
        };
        let (words, errors, host) = (listen(WORDS)?, listen(ERRORS)?, listen(HOST)?);
        let arguments = arguments::of(&Contained {
            kind: engine.kind(),
            runtime: tried.runtime,
            name: container.name(),
            label: &self.label,
            user: (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
            manner: Manner::Detached,
            image,
            memory,
            pids: *pids,
            home: None,
            tmp_bytes: TMP_BYTES,
            mounts,
            guest: containers.guest(),
            directory: container.directory(),
            most: Most::of_process(),
        });
        let mut command = Command::new(engine.program());
        command.env_clear().envs(engine.env().iter().map(|(name, value)| (name, value)));
        command.args(arguments.map_err(unusable)?);
        let held = Held { container: Some(container), removals: Arc::clone(&self.removals) };
        let output = output_of(&mut command, START).map_err(unusable)?;
        match output.status.success() {
            true => Ok(Waiting { held, words, errors, host }),
            false => Err(unusable(format!("a container cannot be started: {}", last_words(&output)))),
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("image", &self.parts.image).finish_non_exhaustive()
    }
}

/// Where a program asks Samuel, as it sees it.
pub(crate) fn host_socket() -> String {
    path_inside(HOST)
}

/// Makes a token that nobody guesses.
///
/// # Errors
/// Returns a [`SandboxError`] where the system has no random bytes.
pub(crate) fn new_token() -> Result<String, SandboxError> {
    random(32).map_err(|error| unusable(error.to_string()))
}

/// A container that ended before it connected, or cannot.
struct Gone;

impl From<std::io::Error> for Gone {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

/// Takes the connection of a container, which does not block; there is none once it is over.
async fn connected(
    listener: StdListener,
    over: &mut watch::Receiver<Option<Ended>>,
) -> Result<StdStream, Gone> {
    let listener = UnixListener::from_std(listener)?;
    tokio::select! {
        (stream, _) = accepted(|| listener.accept()) => return Ok(stream.into_std()?),
        // It is closed once the guest is gone.
        _ = over.wait_for(|_| false) => {}
    }
    // One that was short may have connected before.
    let (stream, _) = listener.into_std()?.accept()?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// A container that has started, before it connects.
struct Waiting {
    held: Held,
    words: StdListener,
    errors: StdListener,
    host: StdListener,
}

/// A program at work in its container, which ends once this is dropped.
#[derive(Debug)]
pub(crate) struct Spoken {
    /// Its standard input and output, which does not block, while nobody has it.
    words: Option<StdStream>,
    host: Option<StdListener>,
    errors: Errors,
    ended: watch::Receiver<Option<Ended>>,
    held: Held,
}

impl Spoken {
    /// Says whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.borrow().is_some() || self.ended.has_changed().is_err()
    }

    /// Ends it, where it has not ended by itself; then nothing more is said.
    pub(crate) fn end(&self) {
        self.held.end();
    }

    /// Says a line, and hears what is answered within a moment, up to the end of a line. Returns how much of the line was
    /// said: what is not, and whatever else there is to hear, is for whoever takes the [`stream`](Self::stream).
    pub(crate) fn say_at_once(&mut self, line: &[u8], heard: &mut Vec<u8>) -> usize {
        self.words.as_mut().map_or(0, |words| said_at_once(words, line, heard))
    }

    /// Takes its standard input and output, for as long as the runtime lasts that asks.
    ///
    /// # Errors
    /// Returns what the system says, also where somebody has them.
    pub(crate) fn stream(&mut self) -> std::io::Result<UnixStream> {
        let words = self.words.take().ok_or(std::io::ErrorKind::NotConnected)?;
        UnixStream::from_std(words)
    }

    /// Keeps them, for the next one to ask.
    ///
    /// # Errors
    /// Returns what the system says.
    pub(crate) fn keep(&mut self, stream: UnixStream) -> std::io::Result<()> {
        self.words = Some(stream.into_std()?);
        Ok(())
    }

    /// Takes where it asks Samuel, for whoever answers. It does not block.
    pub(crate) fn take_host(&mut self) -> Option<StdListener> {
        self.host.take()
    }

    /// Returns the exit code of one that says nothing more: 128 and a number of a signal that ended it; `None` where it
    /// was ended from outside, or does not end.
    pub(crate) async fn exit_code(&mut self) -> Option<u8> {
        let told = async { self.ended.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone()) };
        timeout(LAST_WORDS, told).await.ok().flatten().map(|ended| ended.exited)
    }

    /// Returns the end of what it said beside its answers, once it is over.
    pub(crate) async fn errors(&mut self) -> String {
        self.errors.whole().await
    }
}

/// A container that is removed once this is dropped.
#[derive(Debug)]
struct Held {
    container: Option<Container>,
    removals: Arc<Removals>,
}

impl Held {
    fn container(&self) -> Option<&Container> {
        self.container.as_ref()
    }

    fn end(&self) {
        if let Some(container) = &self.container {
            container.end();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(container) = self.container.take() else { return };
        container.end();
        self.removals.begin(container);
    }
}

/// Containers that are being removed. Whoever drops it waits for them, 10 seconds each at most.
#[derive(Debug, Default)]
struct Removals(Mutex<Vec<JoinHandle<()>>>);

impl Removals {
    fn begin(&self, container: Container) {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|removal| !removal.is_finished());
        under_way.push(thread::spawn(move || container.remove()));
    }
}

impl Drop for Removals {
    fn drop(&mut self) {
        let under_way = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for removal in under_way {
            let _ = removal.join();
        }
    }
}

/// The end of what a program says beside its answers.
#[derive(Debug)]
struct Errors {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Closed once there is no more.
    more: watch::Receiver<()>,
}

impl Errors {
    /// Reads to the end of a stream, on a thread of its own.
    fn read(mut stream: StdStream) -> std::io::Result<Self> {
        stream.set_nonblocking(false)?;
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (reading, more) = watch::channel(());
        let into = Arc::clone(&kept);
        let read = move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(piece.get(..count).unwrap_or_default());
                let beyond = kept.len().saturating_sub(MAX_ERRORS);
                kept.drain(..beyond);
            }
            drop(reading);
        };
        thread::Builder::new().name("samuel-errors".to_owned()).spawn(read)?;
        Ok(Self { kept, more })
    }

    async fn whole(&mut self) -> String {
        let _ = timeout(LAST_WORDS, self.more.changed()).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// Says a line on a stream that does not block, and hears what is answered as [`Spoken::say_at_once`] does.
fn said_at_once(words: &mut StdStream, line: &[u8], heard: &mut Vec<u8>) -> usize {
    // What is wrong with it shows once it is waited for.
    let said = words.write(line).unwrap_or(0);
    if said < line.len() {
        return said;
    }
    let until = Instant::now() + AT_ONCE;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now()));
        let is_there = poll(&mut [PollFd::new(words, PollFlags::IN)], left.ok().as_ref());
        if !is_there.is_ok_and(|count| count > 0) {
            break;
        }
        heard.reserve(PIECE);
        let before = heard.len();
        let read = rustix::io::read(&*words, spare_capacity(heard));
        let new = heard.get(before..).unwrap_or_default();
        // A line without end is for whoever waits for it, with a limit.
        let is_over = heard.len() >= PIECE || Instant::now() >= until;
        if is_over || !read.is_ok_and(|count| count > 0) || new.contains(&b'\n') {
            break;
        }
    }
    said
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
    use super::*;

    #[test]
    fn of_a_line_without_end_no_more_than_two_pieces_are_heard_at_once() {
        let (mut words, mut other) = StdStream::pair().unwrap();
        words.set_nonblocking(true).unwrap();
        let talks = std::thread::spawn(move || {
            // It ends once nobody listens.
            while other.write_all(&[b'x'; PIECE]).is_ok() {}
        });
        let mut heard = Vec::new();
        for _ in 0..100 {
            heard.clear();
            assert_eq!(said_at_once(&mut words, b"", &mut heard), 0);
            assert!(heard.len() <= 2 * PIECE, "{} bytes", heard.len());
        }
        drop(words);
        talks.join().unwrap();
    }

    #[tokio::test]
    async fn a_container_that_is_gone_is_not_waited_for_and_what_it_said_before_is_heard() {
        let directory = tempfile::tempdir().unwrap();
        for has_connected in [false, true] {
            let path = directory.path().join(has_connected.to_string());
            let listener = StdListener::bind(&path).unwrap();
            listener.set_nonblocking(true).unwrap();
            let (guest, mut over) = watch::channel(None);
            let inside = has_connected.then(|| StdStream::connect(&path).unwrap());
            drop((guest, inside));
            let connected = timeout(CONNECT, connected(listener, &mut over)).await;
            assert_eq!(connected.expect("at once").is_ok(), has_connected);
        }
    }
}
