//! What is said over a lifeline.
//!
//! The guest says a [`Greeting`], Samuel answers with a [`Launch`], and the connection stays open for as long as
//! the command may live. Where the launch has ports, the guest hands over what listens on them, and Samuel says why
//! it did not take that, or an empty line. Nothing more is said but how the command [`Ended`], where the launch asks
//! for it.

use std::{error, fmt};

use serde::{Deserialize, Serialize};

/// What a greeting begins with: the protocol and its version.
pub const PROTOCOL: &str = "guest/2";
/// The name of the socket in the directory that the guest is given.
pub const LIFELINE: &str = "life.sock";
/// The name of the file with the token in it.
pub const TOKEN: &str = "token";
/// The exit code where the command was never started for a reason of the container: that of engines.
pub const NOT_STARTED: u8 = 125;
/// The exit code of a guest that has told its limits: not 0, so that an engine shows that it passes codes on.
pub const LIMITS_TOLD: u8 = 17;
/// The longest greeting, in bytes. What a guest says of the end of a command is no longer.
pub const GREETING_LIMIT: usize = 1024;
/// The longest launch, in bytes: no kernel takes more arguments and environment than this.
pub const LAUNCH_LIMIT: usize = 16 << 20;

/// What a guest says first.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// [`PROTOCOL`].
    pub samuel: String,
    /// The token that lies beside the socket.
    pub token: String,
}

/// What a guest is to start, and how.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The program and its arguments. A name without a slash is looked up in `PATH`.
    pub argv: Vec<String>,
    /// The environment, by name and value; the last value of a name counts. It comes over that of the image.
    pub env: Vec<(String, String)>,
    /// The working directory.
    pub cwd: String,
    /// Directories in which programs are looked up after those of the image's `PATH`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Ports of the loopback, on 127.0.0.1, that lead out. The guest listens on them, and hands what listens over before
    /// it starts the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Where the command's standard streams lead; those of the guest where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
    /// The limit of memory in words, to be named where it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The limit of processes, to be named where it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u32>,
    /// How many processes and threads its user may have, which counts those within the user namespace of the guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_processes: Option<u32>,
}

/// The sockets that a command has in place of its standard streams. A guest that connects to them says how the
/// command [`Ended`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streams {
    /// The path of the socket that is its standard input and output.
    pub words: String,
    /// The path of the socket that is its standard error.
    pub errors: String,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit code; 128 and the number of the signal that ended it.
    pub exited: u8,
}

/// A line that is no message of the protocol.
#[derive(Debug)]
#[non_exhaustive]
pub enum LaunchError {
    /// It is longer than may be.
    TooLong {
        /// How long it may be, in bytes.
        limit: usize,
    },
    /// It is no such record.
    Malformed {
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It speaks another version of the protocol.
    OtherProtocol {
        /// The one it speaks.
        protocol: String,
    },
}

impl Greeting {
    /// Makes the greeting with a token.
    pub fn new(token: impl Into<String>) -> Self {
        Self { samuel: PROTOCOL.to_owned(), token: token.into() }
    }

    /// Returns it as a line.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] where it is too long.
    pub fn to_line(&self) -> Result<String, LaunchError> {
        line_of(self, GREETING_LIMIT)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] where it is no greeting of this protocol.
    pub fn from_line(line: &str) -> Result<Self, LaunchError> {
        let greeting: Self = record_of(line, GREETING_LIMIT)?;
        if greeting.samuel == PROTOCOL {
            return Ok(greeting);
        }
        Err(LaunchError::OtherProtocol { protocol: greeting.samuel })
    }
}

impl Ended {
    /// Returns it as a line.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] where it cannot be written.
    pub fn to_line(&self) -> Result<String, LaunchError> {
        line_of(self, GREETING_LIMIT)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] where it says nothing of an end.
    pub fn from_line(line: &str) -> Result<Self, LaunchError> {
        record_of(line, GREETING_LIMIT)
    }
}

impl Launch {
    /// Describes a command in a working directory.
    pub fn new<A: Into<String>>(argv: impl IntoIterator<Item = A>, cwd: impl Into<String>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { argv, cwd: cwd.into(), ..Self::default() }
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Returns it as a line.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] where it is too long.
    pub fn to_line(&self) -> Result<String, LaunchError> {
        line_of(self, LAUNCH_LIMIT)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] where it is no launch.
    pub fn from_line(line: &str) -> Result<Self, LaunchError> {
        record_of(line, LAUNCH_LIMIT)
    }
}

fn line_of(record: &impl Serialize, limit: usize) -> Result<String, LaunchError> {
    let mut line = serde_json::to_string(record).map_err(|source| LaunchError::Malformed { source })?;
    line.push('\n');
    if line.len() > limit { Err(LaunchError::TooLong { limit }) } else { Ok(line) }
}

fn record_of<'a, R: Deserialize<'a>>(line: &'a str, limit: usize) -> Result<R, LaunchError> {
    if line.len() > limit {
        return Err(LaunchError::TooLong { limit });
    }
    serde_json::from_str(line).map_err(|source| LaunchError::Malformed { source })
}

/// Shows no token.
impl fmt::Debug for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Greeting").field("samuel", &self.samuel).finish_non_exhaustive()
    }
}

/// Shows the names of variables, and no values: those may be secrets.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("Launch");
        shown.field("argv", &self.argv).field("env", &names).field("cwd", &self.cwd);
        shown.field("ports", &self.ports).finish_non_exhaustive()
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { limit } => write!(f, "a message of the lifeline is longer than {limit} bytes"),
            Self::Malformed { .. } => f.write_str("a message of the lifeline cannot be read"),
            Self::OtherProtocol { protocol } => {
                write!(f, "the guest speaks \"{protocol}\" in place of \"{PROTOCOL}\"")
            }
        }
    }
}

impl error::Error for LaunchError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Malformed { source } => Some(source),
            Self::TooLong { .. } | Self::OtherProtocol { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_of_another_protocol_is_refused() {
        let line = Greeting { samuel: "guest/1".to_owned(), token: String::new() }.to_line().expect("short");
        let told = Greeting::from_line(&line).expect_err("another version").to_string();
        assert_eq!(told, "the guest speaks \"guest/1\" in place of \"guest/2\"");
        assert!(Greeting::from_line("{}").is_err());
        assert!(Greeting::from_line(&" ".repeat(GREETING_LIMIT + 1)).is_err());
    }

    #[test]
    fn neither_token_nor_values_are_shown() {
        let launch = Launch::new(["true"], "/").env("KEY", "very-secret");
        let shown = format!("{launch:?} {:?}", Greeting::new("very-secret"));
        assert!(shown.contains("KEY") && !shown.contains("very-secret"), "{shown}");
    }

    #[test]
    fn a_launch_that_no_kernel_would_take_is_refused() {
        let launch = Launch::new(["true"], "/").env("LONG", "x".repeat(LAUNCH_LIMIT));
        assert!(matches!(launch.to_line(), Err(LaunchError::TooLong { .. })));
    }
}
