//! What the model says.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};

use super::ModelRequest;

/// What a model answers, request by request.
pub struct Script(Source);

enum Source {
    Replies(Mutex<VecDeque<Reply>>),
    Function(Box<dyn Fn(&ModelRequest) -> Reply + Send + Sync>),
}

impl Script {
    /// Answers with these replies in order, and says `done` when they are used up.
    pub fn replies(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self(Source::Replies(Mutex::new(replies.into_iter().collect())))
    }

    /// Asks a function for each answer, which may look at the request.
    pub fn function(reply: impl Fn(&ModelRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self(Source::Function(Box::new(reply)))
    }

    pub(super) fn reply(&self, request: &ModelRequest) -> Reply {
        match &self.0 {
            Source::Replies(replies) => {
                let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                next.unwrap_or_else(|| Reply::text("done"))
            }
            Source::Function(reply) => reply(request),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Replies(_) => "Script::Replies",
            Source::Function(_) => "Script::Function",
        })
    }
}

/// One answer of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// It says something or calls tools.
    Message {
        /// The parts, in order.
        blocks: Vec<Block>,
        /// What the provider counts for the request.
        tokens: Tokens,
    },
    /// The provider refuses.
    Refusal {
        /// The HTTP status.
        status: u16,
        /// Further headers, such as `retry-after`.
        headers: Vec<(String, String)>,
        /// The body.
        body: Value,
    },
    /// Nothing ever comes.
    Silence,
}

impl Reply {
    /// Says a text and ends the agent's turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::blocks([Block::Text(text.into())])
    }

    /// Calls a tool.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::blocks([Block::tool(name, input)])
    }

    /// Says and calls several things at once.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::Message { blocks: blocks.into_iter().collect(), tokens: Tokens::default() }
    }

    /// Refuses with the error form that Anthropic and OpenAI share well enough
    /// for their agents to show the message.
    pub fn refusal(status: u16, kind: &str, message: &str) -> Self {
        let error = json!({"type": kind, "code": kind, "message": message});
        Self::Refusal { status, headers: Vec::new(), body: json!({"type": "error", "error": error}) }
    }

    /// Sets what the provider counts for the request.
    #[must_use]
    pub fn with_tokens(mut self, counted: Tokens) -> Self {
        if let Self::Message { tokens, .. } = &mut self {
            *tokens = counted;
        }
        self
    }
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A call of one of the agent's tools.
    Tool {
        /// The tool as the agent names it, such as `Bash`.
        name: String,
        /// The arguments.
        input: Value,
    },
}

impl Block {
    /// Calls a tool.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::Tool { name: name.into(), input }
    }
}

/// What a provider counts for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens read that were in no cache.
    pub fresh: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { fresh: 100, cached: 0, output: 10 }
    }
}
