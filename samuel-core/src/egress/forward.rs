//! One request through a gateway: out with the key, back without it.
//!
//! Each connection carries one request and its answer, and ends with it: nothing that stands behind the body of a
//! request is passed on, nor what stands behind that of an answer. So there is no second request that one side sees
//! and the other does not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, split},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::client::TlsStream;

use super::{
    body::{Broken, Incoming},
    connect::{self, HEAD_PATIENCE, PATIENCE, Refusal},
    gateway::{Forbidden, Gateway, OF_KEYS},
    head::{Framing, RequestHead, ResponseHead, Unfit, read_head},
    refusals::Refusals,
    room::Room,
    secret::Mask,
};

/// How long the host may be silent: a model may think for long before it says anything.
const SILENCE: Duration = Duration::from_secs(15 * 60);
/// Answers in between that are not passed on, at most so many.
const MAX_INTERIM: usize = 8;

/// Why a request has no answer of the host.
enum Failed {
    Head(Unfit),
    /// It could be read in two ways.
    Unclear,
    Forbidden(Forbidden),
    Unreachable(String),
    /// The host answers what is not passed on.
    Answer(&'static str),
    /// Whoever asked is gone, or has his answer in part.
    Over,
}

/// Serves the programs that connect, for as long as it is awaited.
pub(crate) async fn serve(listener: TcpListener, gateway: Arc<Gateway>, refusals: Arc<Refusals>, room: Room) {
    let serve = |stream| {
        let (gateway, refusals) = (Arc::clone(&gateway), Arc::clone(&refusals));
        async move { pass_on(stream, &gateway, &refusals).await }
    };
    connect::each(listener, room, serve).await;
}

async fn pass_on(stream: TcpStream, gateway: &Gateway, refusals: &Refusals) {
    let (mut from, mut to) = stream.into_split();
    let answered = answer(&mut from, &mut to, gateway).await;
    let (status, words) = match answered {
        Ok(()) | Err(Failed::Over | Failed::Head(Unfit::CutOff)) => {
            return connect::take_leave(&mut from, &mut to).await;
        }
        Err(Failed::Head(Unfit::TooLong)) => {
            ("431 Request Header Fields Too Large", "the head of the request is too long".to_owned())
        }
        Err(Failed::Unclear) => ("400 Bad Request", "the request cannot be read in one way".to_owned()),
        Err(Failed::Forbidden(why)) => (why.status(), why.words().to_owned()),
        Err(Failed::Unreachable(why)) => ("502 Bad Gateway", why),
        Err(Failed::Answer(why)) => ("502 Bad Gateway", why.to_owned()),
    };
    let named = format!("gateway {} ({})", gateway.name(), gateway.host());
    // Programs ask for a better protocol before they make do with this one.
    if !status.starts_with("426 ") {
        refusals.note(&named, &words);
    }
    connect::answer_refused(&mut from, &mut to, status, &format!("{named}: {words}")).await;
}

async fn answer(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    gateway: &Gateway,
) -> Result<(), Failed> {
    let read = timeout(HEAD_PATIENCE, read_head(from, Vec::new())).await.map_err(|_| Failed::Over)?;
    let (head, rest) = read.map_err(Failed::Head)?;
    let request = RequestHead::read(&head).ok_or(Failed::Unclear)?;
    gateway.judge(&request).map_err(Failed::Forbidden)?;
    let framing = request.framing().ok_or(Failed::Unclear)?;
    let outer = reach(gateway).await?;
    if request.fields.values("expect").any(|value| value.eq_ignore_ascii_case(b"100-continue")) {
        to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.map_err(|_| Failed::Over)?;
    }
    let sent = head_for_host(gateway, &request, framing);
    let (outer_from, mut outer_to) = split(outer);
    let upload = async {
        outer_to.write_all(&sent).await.map_err(|_| Broken::To)?;
        outer_to.flush().await.map_err(|_| Broken::To)?;
        Incoming::new(rest, from, SILENCE).pass_on(&mut outer_to, framing, &mut Mask::of_nothing()).await
    };
    let begun = AtomicBool::new(false);
    let download = pass_back(outer_from, to, gateway, &request.method, &begun);
    tokio::pin!(upload, download);
    // The host may answer before it has all of a request.
    let mut is_sent = false;
    loop {
        tokio::select! {
            answered = &mut download => return answered,
            uploaded = &mut upload, if !is_sent => match uploaded {
                // What does not take more may have answered why.
                Ok(()) | Err(Broken::To) => is_sent = true,
                // An answer that has begun is not gone on with in other words.
                Err(Broken::From) if begun.load(Ordering::Relaxed) => return Err(Failed::Over),
                Err(Broken::From) => return Err(Failed::Unclear),
            },
        }
    }
}

/// Connects to the host, which shows by its certificate that it is the one that is named.
async fn reach(gateway: &Gateway) -> Result<TlsStream<TcpStream>, Failed> {
    // Who the host is, its certificate says: it matters less where its name leads.
    let stream = connect::to_host(&gateway.host, gateway.port, None).await;
    let stream = stream.map_err(|refusal| Failed::Unreachable(Refusal::words(&refusal)))?;
    let name =
        ServerName::try_from(gateway.host.clone()).map_err(|error| Failed::Unreachable(error.to_string()))?;
    match timeout(PATIENCE, gateway.tls.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(Failed::Unreachable(format!("no TLS: {error}"))),
        Err(_) => Err(Failed::Unreachable("it did not greet in time".to_owned())),
    }
}

/// Makes the head of a request as the host gets it.
fn head_for_host(gateway: &Gateway, request: &RequestHead, framing: Framing) -> Vec<u8> {
    let (name, value) = gateway.field();
    let fields = request.fields.clone().without_connection().without(&OF_KEYS);
    // In an answer that is compressed or a part, nothing could be hidden.
    let fields = fields.without(&[name, "accept-encoding", "expect", "range", "if-range"]);
    let fields =
        fields.with("host", gateway.host()).with("connection", "close").with("accept-encoding", "identity");
    let has_body = framing != Framing::Length(0) || request.fields.has("content-length");
    let fields = if has_body { fields.framed(framing) } else { fields };
    fields.with(name, value).head(&format!("{} {} HTTP/1.1", request.method, gateway.target(request)))
}

/// Passes the answer of the host back, and notes once it has begun to.
async fn pass_back(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    gateway: &Gateway,
    method: &str,
    begun: &AtomicBool,
) -> Result<(), Failed> {
    let (response, rest) = final_head(&mut from).await?;
    if response.status == 101 {
        return Err(Failed::Answer("the host changes to another protocol"));
    }
    let mut encodings = response.fields.values("content-encoding");
    if encodings.any(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        return Err(Failed::Answer("the host compresses its answer, which it was not asked for"));
    }
    let framing =
        response.framing().ok_or(Failed::Answer("the answer of the host cannot be read in one way"))?;
    let has_body = method != "HEAD" && !matches!(response.status, 204 | 304);
    let fields =
        response.fields.clone().without_connection().without(&["alt-svc", "set-cookie", "content-encoding"]);
    let fields = match (has_body, response.fields.values("content-length").next()) {
        (true, _) => fields.framed(framing),
        (false, Some(length)) => fields.with("content-length", length),
        (false, None) => fields,
    };
    let head =
        fields.with("connection", "close").head(&format!("HTTP/1.1 {} {}", response.status, response.reason));
    let over = |_| Failed::Over;
    begun.store(true, Ordering::Relaxed);
    to.write_all(&gateway.key.hide(&head)).await.map_err(over)?;
    if has_body {
        let passed = Incoming::new(rest, from, SILENCE).pass_on(to, framing, &mut gateway.key.mask()).await;
        passed.map_err(|_| Failed::Over)?;
    }
    to.flush().await.map_err(over)
}

/// Returns the head of the answer, past those that only say that one is to come.
async fn final_head(from: &mut (impl AsyncRead + Unpin)) -> Result<(ResponseHead, Vec<u8>), Failed> {
    let mut before = Vec::new();
    for _ in 0..MAX_INTERIM {
        let read = timeout(SILENCE, read_head(from, before)).await;
        let read = read.map_err(|_| Failed::Answer("the host gives no answer"))?;
        let (head, rest) = read.map_err(|_| Failed::Answer("the host gives no answer that can be read"))?;
        let response = ResponseHead::read(&head);
        let response = response.ok_or(Failed::Answer("the answer of the host cannot be read in one way"))?;
        if response.status >= 200 || response.status == 101 {
            return Ok((response, rest));
        }
        before = rest;
    }
    Err(Failed::Answer("the host gives no end of answers in between"))
}
