//! Both ends of what passes through: taking connections from inside, and making those to hosts.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink},
    net::{TcpStream, UnixListener, UnixStream, lookup_host},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::policy::EgressPolicy;

/// How many connections are passed on at a time; others wait.
const MAX_TUNNELS: usize = 64;
/// How long is waited where no connection can be taken.
const BREATH: Duration = Duration::from_millis(100);
/// How long a program may take to say what it wants.
pub(super) const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long a name may take to be resolved, each address to be reached, and an answer of ours to be taken.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Why a host is not reached.
pub(super) enum Refusal {
    NotListed,
    Inside,
    Unreachable(String),
}

impl Refusal {
    pub(super) fn words(&self) -> String {
        match self {
            Self::NotListed => "it is not listed in egress below [sandbox] in samuel.toml".to_owned(),
            Self::Inside => {
                "its name leads to an address within this machine or its network, which is not listed"
                    .to_owned()
            }
            Self::Unreachable(why) => format!("no connection: {why}"),
        }
    }
}

/// Takes connections, each of which is seen to by a task of its own, for as long as it is awaited.
pub(super) async fn each<F>(listener: UnixListener, serve: impl Fn(UnixStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(MAX_TUNNELS));
    let mut tunnels = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // There may be too many open files for a moment.
            sleep(BREATH).await;
            continue;
        };
        while tunnels.try_join_next().is_some() {}
        let served = serve(stream);
        tunnels.spawn(async move {
            served.await;
            drop(place);
        });
    }
}

/// Connects to a host at an address that was looked at: a name is resolved once, and where a policy is given, it
/// leads to no address within this machine or its network but one that is listed.
pub(super) async fn to_host(
    host: &str,
    port: u16,
    within: Option<&EgressPolicy>,
) -> Result<TcpStream, Refusal> {
    let found: Vec<SocketAddr> = match timeout(PATIENCE, lookup_host((host, port))).await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => return Err(Refusal::Unreachable(error.to_string())),
        Err(_) => return Err(Refusal::Unreachable("its name was not resolved in time".to_owned())),
    };
    let may_lead_to = |found: &SocketAddr| within.is_none_or(|policy| policy.may_lead_to(found.ip(), port));
    let (allowed, inside): (Vec<_>, Vec<_>) = found.into_iter().partition(may_lead_to);
    let mut why = match inside.as_slice() {
        [] => Refusal::Unreachable("it has no address".to_owned()),
        _ => Refusal::Inside,
    };
    for address in allowed {
        match timeout(PATIENCE, TcpStream::connect(address)).await {
            Ok(Ok(stream))
                if within
                    .is_some_and(|policy| leads_back(&stream) && !policy.has_address(address.ip(), port)) =>
            {
                why = Refusal::Inside;
            }
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => why = Refusal::Unreachable(error.to_string()),
            Err(_) => why = Refusal::Unreachable("it did not answer in time".to_owned()),
        }
    }
    Err(why)
}

/// Says whether both ends of a connection have one address: then it is this machine's, however public it looks.
fn leads_back(stream: &TcpStream) -> bool {
    let ends = stream.local_addr().and_then(|local| Ok((local.ip(), stream.peer_addr()?.ip())));
    ends.is_ok_and(|(local, peer)| local.to_canonical() == peer.to_canonical())
}

/// Answers a request that is not carried out, and takes what is still said, so that the answer arrives.
pub(super) async fn answer_refused(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    status: &str,
    words: &str,
) {
    let body = format!("samuel: {words}\n");
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let told = async {
        to.write_all(answer.as_bytes()).await?;
        to.shutdown().await?;
        // A connection that is closed with something unread takes the answer along.
        copy(from, &mut sink()).await
    };
    let _ = timeout(PATIENCE, told).await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_address_of_this_machine_is_known_by_its_own_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(address).await.expect("a connection");
        assert!(leads_back(&stream));
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 2], 0).into()).expect("an address");
        let stream = socket.connect(address).await.expect("a connection");
        assert!(!leads_back(&stream));
    }
}
