//! The proxy: `CONNECT`, and requests of plain HTTP, to what a policy lists.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional, sink},
    net::{TcpStream, UnixListener, UnixStream, lookup_host},
    sync::Semaphore,
    time::timeout,
};

use super::{
    policy::{EgressPolicy, EgressVerdict},
    refusals::Refusals,
    request::Request,
};

/// How many connections are passed on at a time; others wait.
const MAX_TUNNELS: usize = 64;
/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 16 << 10;
/// How long a program may take to say what it wants.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long a name may take to be resolved, and each address to be reached.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a request was not carried out.
enum Refusal {
    Unreadable,
    NotListed,
    Inside,
    Unreachable(String),
}

/// Serves the programs that connect, for as long as it is awaited.
pub(crate) async fn serve(listener: UnixListener, policy: EgressPolicy, refusals: Arc<Refusals>) {
    let (policy, room) = (Arc::new(policy), Arc::new(Semaphore::new(MAX_TUNNELS)));
    let mut tunnels = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else { return };
        while tunnels.try_join_next().is_some() {}
        let (policy, refusals) = (Arc::clone(&policy), Arc::clone(&refusals));
        tunnels.spawn(async move {
            pass_on(stream, &policy, &refusals).await;
            drop(place);
        });
    }
}

/// Carries out one request.
async fn pass_on(mut inner: UnixStream, policy: &EgressPolicy, refusals: &Refusals) {
    let Ok(Some((head, rest))) = timeout(HEAD_PATIENCE, read_head(&mut inner)).await else { return };
    let Some(request) = Request::read(&head) else {
        return refuse(&mut inner, &Refusal::Unreadable, "").await;
    };
    let host = format!("{}:{}", request.host, request.port);
    let mut outer = match reach(&request, policy).await {
        Ok(outer) => outer,
        Err(refusal) => {
            refusals.note(&host, &refusal.words());
            return refuse(&mut inner, &refusal, &host).await;
        }
    };
    let told = match &request.head {
        Some(head) => outer.write_all(head).await,
        None => inner.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await,
    };
    if told.is_ok() && outer.write_all(&rest).await.is_ok() {
        let _ = copy_bidirectional(&mut inner, &mut outer).await;
    }
}

/// Reads the head of a request, and what came with it.
async fn read_head(stream: &mut UnixStream) -> Option<(String, Vec<u8>)> {
    let mut read = Vec::new();
    let mut room = [0; 4096];
    loop {
        let count = stream.read(&mut room).await.ok().filter(|count| *count > 0)?;
        read.extend(room.iter().take(count));
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return Some((String::from_utf8(read).ok()?, rest));
        }
        if read.len() > MAX_HEAD {
            return None;
        }
    }
}

/// Connects to a host that is listed, at an address that was looked at: a name is resolved once.
async fn reach(request: &Request, policy: &EgressPolicy) -> Result<TcpStream, Refusal> {
    let port = request.port;
    let addresses: Vec<SocketAddr> = match policy.judge(&request.host, port) {
        EgressVerdict::Refused => return Err(Refusal::NotListed),
        EgressVerdict::Address(address) => vec![(address, port).into()],
        EgressVerdict::Name => {
            let looked_up = timeout(PATIENCE, lookup_host((request.host.as_str(), port))).await;
            let found = match looked_up {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => return Err(Refusal::Unreachable(error.to_string())),
                Err(_) => return Err(Refusal::Unreachable("its name was not resolved in time".to_owned())),
            };
            let allowed: Vec<_> = found.filter(|found| policy.may_lead_to(found.ip(), port)).collect();
            if allowed.is_empty() { return Err(Refusal::Inside) } else { allowed }
        }
    };
    let mut why = "it has no address".to_owned();
    for address in addresses {
        match timeout(PATIENCE, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => "it did not answer in time".clone_into(&mut why),
        }
    }
    Err(Refusal::Unreachable(why))
}

async fn refuse(inner: &mut UnixStream, refusal: &Refusal, host: &str) {
    let status = match refusal {
        Refusal::Unreadable => "400 Bad Request",
        Refusal::NotListed | Refusal::Inside => "403 Forbidden",
        Refusal::Unreachable(_) => "502 Bad Gateway",
    };
    let body = format!("samuel: {host}: {}\n", refusal.words());
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let told = async {
        inner.write_all(answer.as_bytes()).await?;
        inner.shutdown().await?;
        // A connection that is closed with something unread takes the answer along.
        copy(inner, &mut sink()).await
    };
    let _ = timeout(PATIENCE, told).await;
}

impl Refusal {
    fn words(&self) -> String {
        match self {
            Self::Unreadable => "the request cannot be read".to_owned(),
            Self::NotListed => "it is not listed in egress below [sandbox] in samuel.toml".to_owned(),
            Self::Inside => {
                "its name leads to an address within this machine or its network, which is not listed"
                    .to_owned()
            }
            Self::Unreachable(why) => format!("no connection: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::indexing_slicing, reason = "tests")]

    use tokio::net::TcpListener;

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
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("egress.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let listed: Vec<String> =
            listed.iter().map(|entry| entry.replace("PORT", &port.to_string())).collect();
        let refusals = Arc::new(Refusals::default());
        let served = serve(listener, EgressPolicy::parse(listed).expect("hosts"), Arc::clone(&refusals));
        let served = tokio::spawn(served);
        let mut answers = Vec::new();
        for request in requests {
            let mut stream = UnixStream::connect(&path).await.expect("a connection");
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
        assert!(plain.starts_with("heard: GET /x HTTP/1.1\r\n") && !plain.contains("Proxy"), "{plain}");
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
