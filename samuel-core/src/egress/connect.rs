//! Both ends of what passes through: taking connections from inside, and making those to hosts.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink},
    net::{TcpListener, TcpStream, lookup_host},
    task::JoinSet,
    time::timeout,
};

use super::{
    policy::EgressPolicy,
    room::{Room, accepted},
};

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
pub(super) async fn each<F>(listener: TcpListener, room: Room, serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut tunnels = JoinSet::new();
    loop {
        let (stream, _) = accepted(|| listener.accept()).await;
        // A port at which nobody asks keeps no place from the others.
        let place = room.place().await;
        // A piece of an answer does not wait until the one before was acknowledged.
        let _ = stream.set_nodelay(true);
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
                    .is_some_and(|policy| !policy.has_address(address.ip(), port) && leads_back(&stream)) =>
            {
                why = Refusal::Inside;
            }
            Ok(Ok(stream)) => {
                // A body does not wait until the head before it was acknowledged; one that is slow is one all the same.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
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
    if matches!(timeout(PATIENCE, to.write_all(answer.as_bytes())).await, Ok(Ok(()))) {
        take_leave(from, to).await;
    }
}

/// Ends what is said, and takes what is still heard: a connection that is closed with something unread takes the
/// answer along.
pub(super) async fn take_leave(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) {
    let left = async {
        to.shutdown().await?;
        copy(from, &mut sink()).await
    };
    let _ = timeout(PATIENCE, left).await;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::egress::room::MAX_TUNNELS;

    #[tokio::test]
    async fn one_more_than_there_is_room_for_waits_for_a_place_on_whichever_port() {
        let room = Room::default();
        let mut addresses = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            addresses.push(listener.local_addr().expect("an address"));
            let serve = |mut stream: TcpStream| async move {
                let told = stream.write_all(b"hello").await;
                // Until the other side ends.
                let _ = (told, stream.read(&mut [0]).await);
            };
            tokio::spawn(each(listener, room.clone(), serve));
        }
        let connect = async |port: usize| TcpStream::connect(addresses[port]).await.expect("a connection");
        let mut held = Vec::new();
        for number in 0..MAX_TUNNELS {
            let mut stream = connect(number % 2).await;
            stream.read_exact(&mut [0; 5]).await.expect("it is served");
            held.push(stream);
        }
        let mut one_more = connect(0).await;
        let mut said = [0; 5];
        let waits = timeout(Duration::from_millis(100), one_more.read_exact(&mut said)).await;
        assert!(waits.is_err(), "there is no room");
        held.pop();
        timeout(PATIENCE, one_more.read_exact(&mut said)).await.expect("a place").expect("it is served");
    }

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
