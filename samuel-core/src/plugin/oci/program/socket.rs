//! The socket on which a program asks Samuel, as `docs/plugins.md` describes it: JSON lines, the token first, then one
//! answer a request, in order.
//!
//! It is served on a thread of its own, whatever runs the handlers, and ends with the [`HostSocket`].

use std::{io, os::unix::net::UnixListener as StdListener, sync::Arc, thread, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream, unix::OwnedWriteHalf},
    sync::Semaphore,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::host::{HostCalls, Request};
use crate::{egress::accepted, model::run_blocking, plugin::host_error::HostError, sandbox::is_same};

/// What the first line names.
const PROTOCOL: &str = "plugin/1";
/// The longest request, in bytes.
const MAX_REQUEST: u64 = 512 << 10;
/// How many connections a program may have at a time.
const MAX_CONNECTIONS: usize = 16;
/// How long the first line may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What serves the socket of a container.
#[derive(Debug)]
pub(super) struct HostSocket(CancellationToken);

#[derive(Deserialize)]
struct Hello {
    samuel: String,
    token: String,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    id: Value,
    #[serde(flatten)]
    request: Request,
}

#[derive(Serialize)]
struct Refusal<'a> {
    code: &'a str,
    message: &'a str,
}

impl HostSocket {
    /// Serves a listener that does not block, to whoever knows the token.
    ///
    /// # Errors
    /// Returns what the system says where no thread can be started.
    pub(super) fn serve(listener: StdListener, token: String, calls: Arc<HostCalls>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let serving = async move {
            let Ok(listener) = UnixListener::from_std(listener) else { return };
            let token: Arc<str> = token.into();
            let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
            loop {
                let (stream, _) = accepted(|| listener.accept()).await;
                // One that is too many is closed.
                let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
                let (token, calls) = (Arc::clone(&token), Arc::clone(&calls));
                tokio::spawn(async move {
                    let _ = converse(stream, &token, &calls).await;
                    drop(place);
                });
            }
        };
        thread::Builder::new().name("samuel-plugin".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = stopped.cancelled() => {}
                    () = serving => {}
                }
            });
            // What waits for a lock ends by itself.
            runtime.shutdown_background();
        })?;
        Ok(Self(stop))
    }
}

impl Drop for HostSocket {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn converse(stream: UnixStream, token: &str, calls: &Arc<HostCalls>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read);
    let mut line = String::new();
    let first = timeout(PATIENCE, (&mut lines).take(MAX_REQUEST).read_line(&mut line)).await;
    let knows = |hello: Hello| hello.samuel == PROTOCOL && is_same(hello.token.as_bytes(), token.as_bytes());
    if !matches!(first, Ok(Ok(1..))) || !serde_json::from_str(&line).is_ok_and(knows) {
        return refuse(&mut write, Value::Null, "E_RUN_TOKEN", "the first line has no token of this plugin")
            .await;
    }
    say(&mut write, &json!({ "ok": true, "samuel": PROTOCOL })).await?;
    loop {
        line.clear();
        if (&mut lines).take(MAX_REQUEST).read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if !line.ends_with('\n') {
            return refuse(&mut write, Value::Null, "too-large", "a request is longer than 512 KiB").await;
        }
        let asked: Asked = match serde_json::from_str(&line) {
            Ok(asked) => asked,
            Err(error) => {
                refuse(&mut write, Value::Null, "invalid", &error.to_string()).await?;
                continue;
            }
        };
        let calls = Arc::clone(calls);
        let answered = run_blocking(move || calls.answer(asked.request)).await;
        let answered = answered.unwrap_or_else(|error| Err(HostError::Other(error.to_string())));
        match answered {
            Ok(result) => say(&mut write, &json!({ "id": asked.id, "ok": true, "result": result })).await?,
            Err(error) => refuse(&mut write, asked.id, error.code(), &error.to_string()).await?,
        }
    }
}

async fn refuse(write: &mut OwnedWriteHalf, id: Value, code: &str, message: &str) -> io::Result<()> {
    say(write, &json!({ "id": id, "ok": false, "error": Refusal { code, message } })).await
}

async fn say(write: &mut OwnedWriteHalf, message: &Value) -> io::Result<()> {
    let mut line = message.to_string();
    line.push('\n');
    write.write_all(line.as_bytes()).await
}
