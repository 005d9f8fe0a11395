//! The socket by which other processes reach a run.
//!
//! A run that is given a private directory listens there on a Unix socket
//! ([`RunBuilder::socket_dir`](super::RunBuilder::socket_dir)) and speaks the protocol of
//! docs/run-socket.md: JSON Lines, one request, one answer, in order. What may be asked depends on
//! the token that a connection opens with: the run's own lies beside the socket and is for people;
//! each call of an agent has one of its own, by which the agent's hooks ask about its tool calls.
//!
//! Of the parts `protocol` has what is said, `lines` how it is framed, `token` who may say it,
//! `server` listens, and [`RunClient`] is what a short-lived process asks with. What an answer
//! means to the run is not here.

mod client;
mod directory;
mod error;
mod lines;
mod protocol;
mod server;
mod token;

pub use client::{RunClient, RunClientError};
pub(super) use directory::RunSocket;
pub use error::SocketError;
pub use protocol::{
    AbilityAfter, AbilityBefore, MAX_MESSAGE, PROTOCOL, Refusal, SOCKET_VARIABLE, TOKEN_VARIABLE, Verdict,
    Welcome,
};
pub(super) use protocol::{Reply, Verb};
pub(super) use server::{Grant, Receipt, Serve};
