//! The socket by which other processes reach a run.
//!
//! A run that is given a private directory listens there on a Unix socket
//! ([`RunBuilder::socket_dir`](super::RunBuilder::socket_dir)) and speaks the protocol of
//! docs/run-socket.md: JSON Lines, one request, one answer, in order. What may be asked depends on
//! the token that a connection opens with: the run's own lies beside the socket and is for people;
//! each call of an agent has one of its own, by which the agent's hooks ask about its tool calls.
//!
//! Of the parts `verbs/` has what can be asked, a file a family, `protocol` how any of it is said,
//! `lines` how it is framed, `token` who may say it, `limits` how much of it. `server` lets
//! in, `connection` answers, and [`RunClient`] is what a short-lived process asks with. What an answer
//! means to the run is not here: whoever a token leads to names the `Routes`.

mod client;
mod connection;
mod directory;
mod error;
mod limits;
mod lines;
mod protocol;
mod routes;
mod server;
mod token;
mod verb;
mod verbs;

pub use client::{RunClient, RunClientError};
pub(super) use directory::{CallSocket, RunSocket, Way};
pub use error::SocketError;
pub use protocol::{MAX_MESSAGE, PROTOCOL, PlanOfRun, Refusal, SOCKET_VARIABLE, TOKEN_VARIABLE, Welcome};
pub(super) use routes::{Peer, Receipt, Replied, Routes, Serve};
pub use verbs::{
    AbilityAfter, AbilityBefore, EventBatch, PlanPage, ReadHistory, ReadPlan, ReadStatus, Verdict,
};
pub(super) use verbs::{
    AbilityAfterVerb, AbilityBeforeVerb, ApproveVerb, Ask, AskForEvents, CancelVerb, DenyVerb, EventsVerb,
    HistoryVerb, LearnVerb, LookVerb, MutateVerb, Nothing, PauseVerb, PlanVerb, ResumeVerb, StatusVerb,
    SteerVerb, StopVerb, checked_text,
};
