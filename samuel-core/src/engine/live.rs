//! The run of a project that is under way in another process, and what people ask of it.
//!
//! [`LiveRun::find`] reads where the loop listens from its lock, and the run's own token from the private
//! directory beside the socket. Each call is one question with an answer within seconds; [`Attached`] reads
//! events for as long as somebody watches, and leaves the run as it is when it is dropped.
//!
//! ```no_run
//! use samuel_core::{engine::{LiveError, LiveRun}, project::{ChangeOrigin, Project}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let project = Project::at("/srv/app")?;
//! match LiveRun::find(&project, &ChangeOrigin::default(), "a service") {
//!     Ok(run) => println!("{:?}", run.pause()?.doing),
//!     Err(LiveError::NoLoop { .. }) => println!("no loop runs"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(())
//! # }
//! ```

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::socket::{EventBatch, RunClient, RunClientError, checked_text};
use crate::{
    fs::private,
    model::{Coded, ErrorCode, LiveState, Remedy},
    project::{ChangeOrigin, Project},
    state::{Actor, Holder, StateError},
};

/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// The name of the file that holds the run's own token, beside the socket.
const TOKEN: &str = "token";
/// How long a token may be, in bytes.
const MAX_TOKEN_BYTES: u64 = 256;

/// A run that is under way in another process.
#[derive(Clone, Debug)]
pub struct LiveRun {
    socket: PathBuf,
    token: String,
    by: String,
}

impl LiveRun {
    /// Finds the run of a project, whichever methodology it is for. `origin` says where the caller
    /// comes from: within a run nothing is found. `by` is what the journal calls who asks.
    ///
    /// # Errors
    /// Returns [`LiveError::Inside`] within a run, [`LiveError::NoLoop`] where no loop runs,
    /// [`LiveError::NotListening`] and [`LiveError::NotPrivate`] where it cannot be reached, and
    /// [`LiveError::State`] where that cannot be found out.
    pub fn find(project: &Project, origin: &ChangeOrigin, by: impl Into<String>) -> Result<Self, LiveError> {
        if origin.actor() == Actor::Agent {
            return Err(LiveError::Inside);
        }
        let root = project.root();
        let holder = project.lane_store().loop_holder()?;
        let holder = holder.ok_or_else(|| LiveError::NoLoop { root: root.to_owned() })?;
        let socket = holder.as_ref().and_then(|holder| holder.socket.clone());
        let socket = socket.ok_or(LiveError::NotListening { holder })?;
        let token = token_beside(&socket, root)
            .map_err(|source| LiveError::NotPrivate { path: socket.clone(), source })?;
        Ok(Self { socket, token, by: by.into() })
    }

    /// Returns the path of the run's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns what the run does now.
    ///
    /// # Errors
    /// Returns [`LiveError::Client`] where the run refuses, does not answer in time or is gone.
    pub fn look(&self) -> Result<LiveState, LiveError> {
        Ok(self.connect()?.look()?)
    }

    /// Has it hold before its next iteration.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn pause(&self) -> Result<LiveState, LiveError> {
        Ok(self.connect()?.pause(&self.by)?)
    }

    /// Lets it go on if it holds, and has the agent told something with the next prompt, where a text is
    /// given.
    ///
    /// # Errors
    /// As [`look`](Self::look), and [`LiveError::Text`] for a text that is none.
    pub fn resume(&self, text: Option<&str>) -> Result<LiveState, LiveError> {
        text.map_or(Ok(()), check)?;
        Ok(self.connect()?.resume(&self.by, text)?)
    }

    /// Has the agent told something with the next prompt: not blank, at most 8,000 characters, without
    /// control characters but tabs and line feeds.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn steer(&self, text: &str) -> Result<LiveState, LiveError> {
        check(text)?;
        Ok(self.connect()?.steer(&self.by, text)?)
    }

    /// Ends it after the iteration that is under way.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn cancel(&self) -> Result<LiveState, LiveError> {
        Ok(self.connect()?.cancel(&self.by)?)
    }

    /// Ends it now: the agent and its processes are stopped.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn stop(&self) -> Result<LiveState, LiveError> {
        Ok(self.connect()?.stop(&self.by)?)
    }

    /// Lets a tool call be made that waits for approval; where none is named, lets a run that holds go on. The
    /// agent is told the text with the next prompt, where one is given.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); the run also refuses where nothing waits, and where calls wait and none is named.
    pub fn approve(&self, call: Option<u64>, text: Option<&str>) -> Result<LiveState, LiveError> {
        text.map_or(Ok(()), check)?;
        Ok(self.connect()?.approve(&self.by, call, text)?)
    }

    /// Keeps a tool call back that waits for approval. The agent reads the text, where one is given.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub fn deny(&self, call: Option<u64>, text: Option<&str>) -> Result<LiveState, LiveError> {
        text.map_or(Ok(()), check)?;
        Ok(self.connect()?.deny(&self.by, call, text)?)
    }

    /// Begins to watch it.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn attach(&self) -> Result<Attached, LiveError> {
        let mut client = self.connect()?;
        // From here on nothing is missed.
        let first = client.events(Duration::ZERO)?;
        let state = client.look()?;
        Ok(Attached { client, first: Some(first), state })
    }

    fn connect(&self) -> Result<RunClient, LiveError> {
        Ok(RunClient::connect(&self.socket, &self.token, ANSWER_TIME)?)
    }
}

/// Watches a run; dropping it leaves the run as it is.
#[derive(Debug)]
pub struct Attached {
    client: RunClient,
    first: Option<EventBatch>,
    state: LiveState,
}

impl Attached {
    /// Returns what the run did when it was attached to.
    pub fn state(&self) -> &LiveState {
        &self.state
    }

    /// Waits so long for events, at most 20 seconds, and returns those since the last time; none where
    /// nothing happened. Whoever asks too rarely loses what the agent says, and nothing else.
    ///
    /// # Errors
    /// As [`LiveRun::look`].
    pub fn next(&mut self, wait: Duration) -> Result<EventBatch, LiveError> {
        match self.first.take().filter(|first| first.ended || !first.events.is_empty()) {
            Some(first) => Ok(first),
            None => Ok(self.client.events(wait)?),
        }
    }
}

fn check(text: &str) -> Result<(), LiveError> {
    checked_text(text).map_err(|problem| LiveError::Text { problem })
}

/// Reads the token beside a socket, whose directory is this user's alone and no part of the project:
/// an agent writes there.
fn token_beside(socket: &Path, root: &Path) -> io::Result<String> {
    let refused = |problem: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    let directory = socket.parent().filter(|_| socket.is_absolute()).unwrap_or(Path::new(""));
    let found = fs::symlink_metadata(directory)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || found.mode() & 0o077 != 0 {
        return refused("its directory must be this user's, with mode 0700");
    }
    if directory.canonicalize()?.starts_with(root.canonicalize()?) {
        return refused("no run listens within its project");
    }
    let token = private::read(&directory.join(TOKEN), MAX_TOKEN_BYTES)?;
    let token = token.and_then(|token| String::from_utf8(token).ok());
    token.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no token beside it"))
}

/// A run that cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The caller is a part of a run.
    #[error("what is a part of a run does not command it")]
    Inside,
    /// No loop runs.
    #[error("no loop runs in {}", root.display())]
    NoLoop {
        /// The root directory of the project.
        root: PathBuf,
    },
    /// A loop runs and does not say where it listens.
    #[error("the loop that runs listens for nobody{}", by(holder.as_ref()))]
    NotListening {
        /// Who runs it, where that is known.
        holder: Option<Holder>,
    },
    /// What is to be the run's socket may be somebody else's.
    #[error("what is said to be the run's socket is not trusted: {}", path.display())]
    NotPrivate {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What the agent is to be told is none.
    #[error("{problem}")]
    Text {
        /// What is wrong with it.
        problem: String,
    },
    /// The run could not be asked, or refused.
    #[error(transparent)]
    Client(#[from] RunClientError),
    /// Whether a loop runs cannot be found out.
    #[error(transparent)]
    State(#[from] StateError),
}

fn by(holder: Option<&Holder>) -> String {
    holder.map(|holder| format!(": {holder}")).unwrap_or_default()
}

impl Coded for LiveError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Inside => ErrorCode::CONTROL_DENIED,
            Self::NoLoop { .. } => ErrorCode::CONTROL_NO_LOOP,
            Self::NotListening { .. } | Self::NotPrivate { .. } => ErrorCode::CONTROL_UNREACHABLE,
            Self::Text { .. } => ErrorCode::CONTROL_INVALID,
            Self::Client(error) => error.code(),
            Self::State(error) => error.code(),
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Client(error) => error.help(),
            Self::State(error) => error.help(),
            _ => self.code().help.clone(),
        }
    }
}
