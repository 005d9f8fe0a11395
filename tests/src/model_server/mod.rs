//! A language model that plays a script, for real agents on loopback.
//!
//! A [`ModelServer`] listens on a free port of 127.0.0.1 and speaks the
//! streaming protocols of three providers: Anthropic Messages, OpenAI Responses
//! and Gemini `streamGenerateContent`. An agent that is pointed at it calls its
//! tools, writes its files and reports usage as it would with a real model, but
//! what the model says comes from a [`Script`].
//!
//! Agents also ask their model for small things on the side, such as a title.
//! Those requests offer no tools; they are answered with a word and use up no
//! turn of the script.

mod anthropic;
mod gemini;
mod http;
mod request;
mod responses;
mod script;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

pub use request::{ModelRequest, Protocol};
pub use script::{Block, Reply, Script, Tokens};

/// A model server; dropping it ends it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    task: JoinHandle<()>,
}

impl ModelServer {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Errors
    /// Returns the system's error where no port can be had.
    pub async fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(serve(listener, Arc::new(script), Arc::clone(&requests)));
        Ok(Self { address, requests, task })
    }

    /// Returns the address without a path, such as `http://127.0.0.1:4000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests that offered tools, oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves each connection in a task of its own; they end with the server.
async fn serve(listener: TcpListener, script: Arc<Script>, requests: Arc<Mutex<Vec<ModelRequest>>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(answer(stream, Arc::clone(&script), Arc::clone(&requests)));
    }
}

/// Answers the one request of a connection.
async fn answer(mut stream: TcpStream, script: Arc<Script>, requests: Arc<Mutex<Vec<ModelRequest>>>) {
    let Ok(Some(call)) = http::read(&mut stream).await else { return };
    let response = match ModelRequest::of(&call) {
        Some(request) if request.offers_tools() => {
            let number = remember(&requests, request.clone());
            match script.reply(&request) {
                Reply::Silence => std::future::pending().await,
                reply => render(&request, &reply, number),
            }
        }
        Some(request) => render(&request, &Reply::text("ok"), 0),
        None => http::Response::json(200, &other(&call.path)),
    };
    // An agent that has gone away is no concern of the server.
    let _ = response.write(&mut stream).await;
}

fn remember(requests: &Mutex<Vec<ModelRequest>>, request: ModelRequest) -> usize {
    let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    requests.push(request);
    requests.len()
}

fn render(request: &ModelRequest, reply: &Reply, number: usize) -> http::Response {
    let (blocks, tokens) = match reply {
        Reply::Message { blocks, tokens } => (blocks.as_slice(), *tokens),
        Reply::Refusal { status, headers, body } => {
            return http::Response::json(*status, body).with_headers(headers);
        }
        Reply::Silence => (&[][..], Tokens::default()),
    };
    match request.protocol {
        Protocol::AnthropicMessages => anthropic::render(request, blocks, tokens, number),
        Protocol::OpenAiResponses => responses::render(request, blocks, tokens, number),
        Protocol::GeminiContent => gemini::render(request, blocks, tokens),
    }
}

/// Answers what agents ask beside the model itself.
fn other(path: &str) -> serde_json::Value {
    match path {
        _ if path.contains("count_tokens") => serde_json::json!({"input_tokens": 100}),
        _ if path.contains("countTokens") => serde_json::json!({"totalTokens": 100}),
        _ => serde_json::json!({"data": [], "models": []}),
    }
}
