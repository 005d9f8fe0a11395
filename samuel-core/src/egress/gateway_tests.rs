//! Gateways at work, over TLS to a host on the loopback: what arrives there, what comes back, and what attackers get.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use super::{Gateway, GatewayParts, Room, gateway::tests::parts, refusals::Refusals, serve_gateway};

const AUTHORITY: &[u8] = include_bytes!("../../tests/data/tls/authority.pem");
const HOST: [&[u8]; 2] =
    [include_bytes!("../../tests/data/tls/host.pem"), include_bytes!("../../tests/data/tls/host.key")];
const OTHER: [&[u8]; 2] =
    [include_bytes!("../../tests/data/tls/other.pem"), include_bytes!("../../tests/data/tls/other.key")];
const KEY: &str = "sk-very-secret";
const PATIENCE: Duration = Duration::from_secs(20);

/// A host that answers each connection in the same way, and keeps what it was sent.
struct Host {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    goes_on: Arc<Notify>,
}

impl Host {
    /// Answers in pieces: the first at once, the others once the test says so.
    async fn answering(certificate: [&'static [u8]; 2], pieces: &[&str]) -> Self {
        let [certificate, key] = certificate;
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_slice(key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = Self {
            port: listener.local_addr().unwrap().port(),
            heard: Arc::default(),
            goes_on: Arc::default(),
        };
        let (heard, goes_on) = (Arc::clone(&host.heard), Arc::clone(&host.goes_on));
        let pieces: Vec<String> = pieces.iter().map(ToString::to_string).collect();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut room = vec![0; 64 << 10];
                let mut said = String::new();
                while !(said.contains("\r\n\r\n")
                    && (!said.contains("chunked") || said.ends_with("0\r\n\r\n")))
                {
                    match stream.read(&mut room).await {
                        Ok(count) if count > 0 => said.push_str(&String::from_utf8_lossy(&room[..count])),
                        _ => break,
                    }
                }
                heard.lock().unwrap().push(said);
                for (number, piece) in pieces.iter().enumerate() {
                    if number > 0 {
                        goes_on.notified().await;
                    }
                    let _ = stream.write_all(piece.as_bytes()).await;
                    let _ = stream.flush().await;
                }
                let _ = stream.shutdown().await;
            }
        });
        host
    }

    fn heard(&self) -> String {
        self.heard.lock().unwrap().join("\n---\n")
    }

    fn parts(&self) -> GatewayParts {
        let authority = Some(AUTHORITY.to_vec());
        GatewayParts { authority, ..parts(&format!("https://localhost:{}/v1", self.port)) }
    }
}

/// A gateway that is served.
struct Served {
    address: SocketAddr,
    refusals: Arc<Refusals>,
}

impl Served {
    async fn new(parts: GatewayParts) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (gateway, refusals) = (Arc::new(Gateway::new(parts).unwrap()), Arc::new(Refusals::default()));
        tokio::spawn(serve_gateway(listener, gateway, Arc::clone(&refusals), Room::default()));
        Self { address, refusals }
    }

    async fn connected(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Says something, and returns all that is answered.
    async fn asked(&self, said: &str) -> String {
        let mut stream = self.connected().await;
        let _ = stream.write_all(said.as_bytes()).await;
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("an end").unwrap();
        String::from_utf8(answer).unwrap()
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[tokio::test]
async fn the_host_gets_the_key_and_whoever_asks_does_not() {
    let host = Host::answering(HOST, &["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 23\r\nX-Echo: sk-very-secret\r\nSet-Cookie: a=b\r\n\r\nyou sent sk-very-secret"]).await;
    let served = Served::new(host.parts()).await;
    let answer = served
        .asked("POST /v1/messages?beta=true HTTP/1.1\r\nHost: evil.example\r\nX-API-Key: of-somebody-else\r\nAuthorization: Bearer of-somebody-else\r\nCookie: c=of-somebody-else\r\nAccept-Encoding: gzip\r\nRange: bytes=5-9\r\nContent-Length: 2\r\n\r\n{}GET /v1/second HTTP/1.1\r\n\r\n")
        .await;
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nx-echo: **************\r\ncontent-length: 23\r\nconnection: close\r\n\r\nyou sent **************"
    );
    let heard = host.heard();
    assert!(heard.starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n"), "{heard}");
    for field in [
        &format!("host: localhost:{}", host.port),
        "x-api-key: sk-very-secret",
        "accept-encoding: identity",
        "content-length: 2",
    ] {
        assert!(heard.contains(field), "{field}: {heard}");
    }
    for field in ["evil.example", "of-somebody-else", "gzip", "second", "bytes="] {
        assert!(!heard.contains(field), "{field}: {heard}");
    }
    assert!(served.refusals.take().is_empty());
}

#[tokio::test]
async fn an_answer_in_pieces_arrives_in_pieces() {
    let host = Host::answering(
        HOST,
        &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\nd\r\ndata: first\n\n\r\n", "6\r\nsecond\r\n0\r\n\r\n"],
    )
    .await;
    let served = Served::new(host.parts()).await;
    let mut stream = served.connected().await;
    let request = "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nmore\r\n0\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut told, mut room) = (String::new(), [0; 1024]);
    while !told.contains("data: first\n\n") {
        let count = timeout(PATIENCE, stream.read(&mut room)).await.expect("the first piece").unwrap();
        assert!(count > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&room[..count]));
    }
    assert!(!told.contains("second"), "the host has not said it yet");
    host.goes_on.notify_one();
    timeout(PATIENCE, stream.read_to_string(&mut told)).await.expect("the second piece").unwrap();
    assert!(told.ends_with("second\r\n0\r\n\r\n"), "{told}");
    assert!(host.heard().ends_with("4\r\nmore\r\n0\r\n\r\n"), "{}", host.heard());
}

#[tokio::test]
async fn a_request_that_is_not_for_the_host_reaches_it_never() {
    let host = Host::answering(HOST, &[OK]).await;
    let served = Served::new(host.parts()).await;
    let long = format!("GET /v1/x HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(40 << 10));
    for (said, status) in [
        ("CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "405"),
        ("TRACE /v1/x HTTP/1.1\r\n\r\n", "405"),
        ("GET http://evil.example/v1/x HTTP/1.1\r\nHost: evil.example\r\n\r\n", "400"),
        ("GET /v2/x HTTP/1.1\r\n\r\n", "403"),
        ("GET /v1/../v2 HTTP/1.1\r\n\r\n", "403"),
        ("GET /v1/x?key=mine HTTP/1.1\r\n\r\n", "403"),
        ("GET /v1/x?a=b&oauth_token=mine HTTP/1.1\r\n\r\n", "403"),
        ("GET /v1/x?Bearer%5Ftoken=mine HTTP/1.1\r\n\r\n", "403"),
        ("GET /v1/x?access_token=mine HTTP/1.1\r\n\r\n", "403"),
        ("GET /v1/x HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "426"),
        ("GET /v1/x HTTP/1.0\r\n\r\n", "400"),
        ("GET /v1/x HTTP/1.1\r\nX: y\nHost: evil.example\r\n\r\n", "400"),
        ("POST /v1/x HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
        ("POST /v1/x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"),
        (&long, "431"),
    ] {
        let answer = served.asked(said).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{said:.80}: {answer}");
    }
    assert_eq!(host.heard(), "");
    let told = served.refusals.take();
    assert!(
        !told.is_empty() && told.iter().all(|line| line.starts_with("gateway test (localhost:")),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_body_that_lies_about_its_length_has_no_answer_of_the_host() {
    let host = Host::answering(HOST, &[]).await;
    let served = Served::new(host.parts()).await;
    let answer = served
        .asked("POST /v1/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdGET /v1/y HTTP/1.1\r\n\r\n")
        .await;
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!host.heard().contains("/v1/y"), "{}", host.heard());
}

#[tokio::test]
async fn a_name_that_leads_to_somebody_else_gets_no_key() {
    let host = Host::answering(OTHER, &[OK]).await;
    for (upstream, authority) in
        [("localhost", Some(AUTHORITY)), ("127.0.0.1", Some(AUTHORITY)), ("localhost", None)]
    {
        let authority = authority.map(<[u8]>::to_vec);
        let served =
            Served::new(GatewayParts { authority, ..parts(&format!("https://{upstream}:{}", host.port)) })
                .await;
        let answer = served.asked("GET /v1/x HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("no TLS"), "{answer}");
        assert!(!answer.contains(KEY));
        assert_eq!(served.refusals.take().len(), 1);
    }
    assert_eq!(host.heard(), "");
}

#[tokio::test]
async fn what_a_host_answers_is_one_answer_without_the_key() {
    for (said, expected) in [
        // Whoever follows it asks the proxy, without the key.
        (
            "HTTP/1.1 302 Found\r\nLocation: https://evil.example/?k=sk-very-secret\r\nContent-Length: 0\r\n\r\n",
            "location: https://evil.example/?k=**************\r\n",
        ),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 502 "),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 502 "),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "HTTP/1.1 502 "),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", "HTTP/1.1 502 "),
        ("HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b\r\n\r\n", "HTTP/1.1 502 "),
        ("nonsense\r\n\r\n", "HTTP/1.1 502 "),
        ("", "HTTP/1.1 502 "),
        // What stands behind an answer is not passed on.
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nsmuggled", "\r\n\r\nok"),
        ("HTTP/1.1 401 Unauthorized\r\n\r\ninvalid key sk-very-secret", "invalid key **************"),
    ] {
        let host = Host::answering(HOST, &[said]).await;
        let served = Served::new(host.parts()).await;
        let answer = served.asked("GET /v1/x HTTP/1.1\r\n\r\n").await;
        assert!(
            answer.contains(expected) && !answer.contains("smuggled") && !answer.contains(KEY),
            "{said:?}: {answer}"
        );
        assert!(served.refusals.take().iter().all(|told| !told.contains(KEY)));
    }
}

#[tokio::test(start_paused = true)]
async fn who_speaks_slowly_is_not_waited_for() {
    let served = Served::new(parts("https://localhost:1")).await;
    let mut stream = served.connected().await;
    let begun = tokio::time::Instant::now();
    stream.write_all(b"GET /v1/x HTTP/1.1\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "");
    assert!(begun.elapsed() <= Duration::from_secs(40), "{:?}", begun.elapsed());
}
