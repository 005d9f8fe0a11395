//! The proxy: `CONNECT`, and requests of plain HTTP, to what a policy lists.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::ReadHalf},
    time::{Instant, timeout},
};

use super::{
    at_once::{There, read_at_once},
    body::Incoming,
    connect::{self, HEAD_PATIENCE, Refusal},
    head::{Framing, Unfit, read_head},
    policy::{EgressPolicy, EgressVerdict},
    refusals::Refusals,
    request::{Plain, Request},
    room::Room,
    secret::Mask,
};

/// How long what is passed on may be silent: one that says nothing for longer keeps others from a place.
const SILENCE: Duration = Duration::from_secs(15 * 60);
/// How much is passed on at once, in bytes.
const PIECE: usize = 16 << 10;
/// How much of a request is read with the connection itself, in bytes.
const FIRST: usize = 4 << 10;

/// Serves the programs that connect, for as long as it is awaited.
pub(crate) async fn serve(listener: TcpListener, policy: EgressPolicy, refusals: Arc<Refusals>, room: Room) {
    let policy = Arc::new(policy);
    let serve = |stream| {
        let (policy, refusals) = (Arc::clone(&policy), Arc::clone(&refusals));
        async move { pass_on(stream, &policy, &refusals).await }
    };
    connect::each(listener, room, serve).await;
}

/// Carries out one request.
async fn pass_on(mut inner: TcpStream, policy: &EgressPolicy, refusals: &Refusals) {
    let mut there = Vec::with_capacity(FIRST);
    read_at_once(&inner, &mut there);
    let Ok(read) = timeout(HEAD_PATIENCE, read_head(&mut inner, there)).await else { return };
    let (head, rest) = match read {
        Ok(read) => read,
        Err(Unfit::CutOff) => return,
        Err(Unfit::TooLong) => {
            return refuse(
                inner,
                "431 Request Header Fields Too Large",
                "the head of the request is too long",
            )
            .await;
        }
    };
    let Some(request) = Request::read(&head) else {
        return refuse(inner, "400 Bad Request", "the request cannot be read in one way").await;
    };
    let host = format!("{}:{}", request.host, request.port);
    let outer = match reach(&request, policy).await {
        Ok(outer) => outer,
        Err(refusal) => {
            refusals.note(&host, &refusal.words());
            let status = match refusal {
                Refusal::NotListed | Refusal::Inside => "403 Forbidden",
                Refusal::Unreachable(_) => "502 Bad Gateway",
            };
            return refuse(inner, status, &format!("{host}: {}", refusal.words())).await;
        }
    };
    match request.plain {
        None => tunnel(inner, outer, &rest).await,
        Some(plain) => pass_on_plain(inner, outer, plain, rest).await,
    }
}

/// Passes on whatever both sides say.
async fn tunnel(mut inner: TcpStream, mut outer: TcpStream, rest: &[u8]) {
    let told = inner.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
    if told.is_err() || outer.write_all(rest).await.is_err() {
        return;
    }
    let (begun, moved) = (Instant::now(), AtomicU64::new(0));
    let (inner_from, inner_to) = inner.split();
    let (outer_from, outer_to) = outer.split();
    tokio::join!(one_way(inner_from, outer_to, begun, &moved), one_way(outer_from, inner_to, begun, &moved));
    drop(outer);
    let (mut inner_from, mut inner_to) = inner.split();
    connect::take_leave(&mut inner_from, &mut inner_to).await;
}

/// Passes on what one side says, until it ends or neither has said anything for long. What was said last either way
/// is noted, in milliseconds from the beginning.
async fn one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    begun: Instant,
    moved: &AtomicU64,
) {
    let mut room = vec![0; PIECE];
    loop {
        let silent = begun.elapsed().saturating_sub(Duration::from_millis(moved.load(Ordering::Relaxed)));
        let Some(left) = SILENCE.checked_sub(silent).filter(|left| !left.is_zero()) else { break };
        let Ok(read) = timeout(left, from.read(&mut room)).await else { continue };
        let Some(piece) = read.ok().filter(|count| *count > 0).and_then(|count| room.get(..count)) else {
            break;
        };
        moved.store(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if !matches!(timeout(SILENCE, to.write_all(piece)).await, Ok(Ok(()))) {
            break;
        }
    }
    let _ = to.shutdown().await;
}

/// Passes on one request and no more, and its answer: a second one could name another host.
async fn pass_on_plain(mut inner: TcpStream, mut outer: TcpStream, plain: Plain, rest: Vec<u8>) {
    let (mut inner_from, mut inner_to) = inner.split();
    let (outer_from, mut outer_to) = outer.split();
    let upload = async {
        if outer_to.write_all(&plain.head).await.is_ok() && plain.framing != Framing::Length(0) {
            let mut body = Incoming::new(rest, &mut inner_from, SILENCE);
            let _ = body.pass_on(&mut outer_to, plain.framing, &mut Mask::of_nothing()).await;
        }
        // What the host answers is waited for, however much of the request it took.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = upload => {}
        () = answer(outer_from, &mut inner_to) => {}
    }
    drop(outer);
    connect::take_leave(&mut inner_from, &mut inner_to).await;
}

/// Passes on what a host answers, until it ends or the host says nothing for long.
async fn answer(mut from: ReadHalf<'_>, to: &mut (impl AsyncWrite + Unpin)) {
    let mut piece = Vec::with_capacity(PIECE);
    let mut is_over = false;
    while !is_over {
        piece.clear();
        if !matches!(timeout(SILENCE, from.read_buf(&mut piece)).await, Ok(Ok(1..))) {
            return;
        }
        // A short answer has mostly ended by now.
        is_over = read_at_once(from.as_ref(), &mut piece) == There::End;
        if !matches!(timeout(SILENCE, to.write_all(&piece)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// Connects to a host that is listed.
async fn reach(request: &Request, policy: &EgressPolicy) -> Result<TcpStream, Refusal> {
    match policy.judge(&request.host, request.port) {
        EgressVerdict::Refused => Err(Refusal::NotListed),
        EgressVerdict::Address(address) => {
            connect::to_host(&IpAddr::to_string(&address), request.port, Some(policy)).await
        }
        EgressVerdict::Name => connect::to_host(&request.host, request.port, Some(policy)).await,
    }
}

async fn refuse(mut inner: TcpStream, status: &str, words: &str) {
    let (mut from, mut to) = inner.split();
    connect::answer_refused(&mut from, &mut to, status, words).await;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::indexing_slicing, reason = "tests")]

    use super::*;

    /// Serves one connection after the other with what it was told, and a word of its own.
    async fn echo(listener: TcpListener) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut room = [0; 1024];
            let count = stream.read(&mut room).await.unwrap_or_default();
            let _ = stream.write_all(b"heard: ").await;
            let _ = stream.write_all(&room[..count]).await;
        }
    }

    /// Asks a proxy with a list, and returns its answer and what was noted.
    async fn asked(listed: &[&str], port: u16, requests: &[&str]) -> (Vec<String>, Vec<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let listed: Vec<String> =
            listed.iter().map(|entry| entry.replace("PORT", &port.to_string())).collect();
        let refusals = Arc::new(Refusals::default());
        let policy = EgressPolicy::parse(listed).expect("hosts");
        let served = serve(listener, policy, Arc::clone(&refusals), Room::default());
        let served = tokio::spawn(served);
        let mut answers = Vec::new();
        for request in requests {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let request = request.replace("PORT", &port.to_string());
            stream.write_all(request.as_bytes()).await.expect("room");
            let mut answer = String::new();
            let read = timeout(Duration::from_secs(20), stream.read_to_string(&mut answer));
            read.await.expect("an end").expect("text");
            answers.push(answer);
        }
        served.abort();
        (answers, refusals.take())
    }

    #[tokio::test]
    async fn what_is_listed_is_reached_and_nothing_else() {
        let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = host.local_addr().expect("an address").port();
        tokio::spawn(echo(host));
        let (answers, noted) = asked(
            &["127.0.0.1:PORT"],
            port,
            &[
                "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\nhello",
                "GET http://127.0.0.1:PORT/x HTTP/1.1\r\nProxy-Connection: keep-alive\r\n\r\n",
                "CONNECT other.example:443 HTTP/1.1\r\n\r\n",
                "CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n",
                "CONNECT localhost:PORT HTTP/1.1\r\n\r\n",
                "nonsense\r\n\r\n",
            ],
        )
        .await;
        let [tunnel, plain, other, ssh, name, nonsense] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(tunnel, "HTTP/1.1 200 Connection established\r\n\r\nheard: hello");
        assert!(plain.starts_with("heard: GET /x HTTP/1.1\r\n") && !plain.contains("proxy"), "{plain}");
        assert!([other, ssh, name].iter().all(|answer| answer.starts_with("HTTP/1.1 403 ")), "{answers:?}");
        assert!(nonsense.starts_with("HTTP/1.1 400 "), "{nonsense}");
        assert_eq!(noted.len(), 3, "{noted:?}");
    }

    #[tokio::test]
    async fn a_listed_name_that_leads_inside_is_refused() {
        let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = host.local_addr().expect("an address").port();
        tokio::spawn(echo(host));
        let request = ["CONNECT localhost:PORT HTTP/1.1\r\n\r\nhello"];
        let (answers, noted) = asked(&["localhost:PORT"], port, &request).await;
        assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 403 ")), "{answers:?}");
        assert!(noted.iter().all(|told| told.contains("within this machine")), "{noted:?}");
        let (answers, _) = asked(&["localhost:PORT", "127.0.0.1:PORT"], port, &request).await;
        assert!(answers.iter().all(|answer| answer.ends_with("heard: hello")), "{answers:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_in_which_nobody_speaks_gives_its_place_back() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let program = TcpStream::connect(proxy.local_addr().expect("an address")).await;
        let (mut program, (inner, _)) =
            (program.expect("a connection"), proxy.accept().await.expect("a connection"));
        let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let outer = TcpStream::connect(host.local_addr().expect("an address")).await.expect("a connection");
        let (mut heard, _) = host.accept().await.expect("a connection");
        let passing = tokio::spawn(async move { tunnel(inner, outer, b"hello").await });
        let mut said = [0; 5];
        heard.read_exact(&mut said).await.expect("what came with the request");
        // One side has ended, and the other says nothing.
        program.shutdown().await.expect("an end");
        timeout(SILENCE * 3, passing).await.expect("it ends").expect("without a panic");
    }

    #[tokio::test]
    async fn one_request_of_plain_http_is_passed_on_and_none_behind_it() {
        let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = host.local_addr().expect("an address").port();
        tokio::spawn(echo(host));
        let (answers, _) = asked(
            &["127.0.0.1:PORT"],
            port,
            &[
                "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nokGET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n",
                "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nX: y\nHost: other.example\r\n\r\n",
                "GET http://127.0.0.1:PORT/\x01 HTTP/1.1\r\n\r\n",
                &format!("GET http://{}:PORT/ HTTP/1.1\r\n\r\n", "a".repeat(300)),
                &format!("GET http://127.0.0.1:PORT/ HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(40_000)),
            ],
        )
        .await;
        let [one, smuggled, control, long, huge] = answers.as_slice() else { panic!("{answers:?}") };
        assert!(one.starts_with("heard: POST / HTTP/1.1\r\n") && !one.contains("other.example"), "{one}");
        assert!([smuggled, control].iter().all(|answer| answer.starts_with("HTTP/1.1 400 ")), "{answers:?}");
        assert!(long.starts_with("HTTP/1.1 403 ") && huge.starts_with("HTTP/1.1 431 "), "{answers:?}");
    }

    #[tokio::test]
    async fn much_is_passed_on_both_ways_and_the_end_of_one_is_not_that_of_the_other() {
        let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let target = host.local_addr().expect("an address");
        tokio::spawn(async move {
            let (mut stream, _) = host.accept().await.expect("a connection");
            let mut said = Vec::new();
            stream.read_to_end(&mut said).await.expect("all that is said");
            said.reverse();
            stream.write_all(&said).await.expect("room");
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let policy = EgressPolicy::parse([target.to_string()]).expect("a host");
        tokio::spawn(serve(listener, policy, Arc::default(), Room::default()));
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).await.expect("room");
        let (answer, mut head) = ("HTTP/1.1 200 Connection established\r\n\r\n", [0; 39]);
        stream.read_exact(&mut head).await.expect("an answer");
        assert_eq!(&head, answer.as_bytes());
        let text: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        stream.write_all(&text).await.expect("room");
        stream.shutdown().await.expect("an end");
        let mut heard = Vec::new();
        let read = timeout(Duration::from_secs(60), stream.read_to_end(&mut heard)).await;
        read.expect("in time").expect("an end");
        heard.reverse();
        assert!(heard == text, "{} of {} bytes", heard.len(), text.len());
    }

    #[tokio::test]
    async fn an_answer_that_comes_before_the_end_of_a_request_arrives() {
        let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = host.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = host.accept().await {
                let _ = stream.read(&mut [0; 64]).await;
                let _ = stream.write_all(b"HTTP/1.1 413 Content Too Large\r\n\r\n").await;
            }
        });
        let head = "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 8000000\r\n\r\n";
        let request = format!("{head}{}", "x".repeat(8_000_000));
        let (answers, _) = asked(&["127.0.0.1:PORT"], port, &[&request]).await;
        assert_eq!(answers, ["HTTP/1.1 413 Content Too Large\r\n\r\n"]);
    }

    #[tokio::test]
    async fn a_host_that_is_down_is_a_bad_gateway() {
        let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = host.local_addr().expect("an address").port();
        drop(host);
        let (answers, noted) =
            asked(&["127.0.0.1:PORT"], port, &["CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n"; 2]).await;
        assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 502 ")), "{answers:?}");
        assert_eq!(noted.len(), 1, "{noted:?}");
    }
}
