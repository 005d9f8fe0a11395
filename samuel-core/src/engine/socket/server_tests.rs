#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::{
    io::{BufRead as _, BufReader, Read as _},
    os::unix::net::UnixStream as Blocking,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncWriteExt as _, BufReader as AsyncReader, DuplexStream, Lines as AsyncLines, ReadHalf, WriteHalf,
        split,
    },
    sync::Notify,
};

use super::*;
use crate::{
    engine::socket::{
        AbilityAfter, AbilityAfterVerb, AbilityBefore, AbilityBeforeVerb, Receipt, Replied, Routes,
        RunClient, RunClientError, Verdict, Welcome,
    },
    model::Coded as _,
};

/// Who connects where there is no socket.
const PEER: Peer = Peer { uid: 0, pid: None };

/// Allows each call, but those of tools whose names say otherwise.
#[derive(Clone, Default)]
struct Decides {
    asked: Arc<AtomicU32>,
    lost: Arc<AtomicU32>,
    /// Told when somebody waits for an answer that does not come.
    holds: Arc<Notify>,
}

impl Serve for Decides {
    fn open(&self, _: Peer) -> (Welcome, Routes) {
        let welcome = Welcome {
            run: "r".to_owned(),
            iteration: Some(3),
            task: Some("1".to_owned()),
            ..Welcome::default()
        };
        let (before, after) = (self.clone(), self.clone());
        let routes = Routes::default()
            .with::<AbilityBeforeVerb, _>(move |call| before.clone().decide(call))
            .with::<AbilityAfterVerb, _>(move |call| {
            let answered = (Ok(vec![format!("{} ended", call.ability_id)]), after.receipt());
            std::future::ready(answered)
        });
        (welcome, routes)
    }
}

impl Decides {
    fn receipt(&self) -> Receipt {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let lost = Arc::clone(&self.lost);
        Receipt::new(move || _ = lost.fetch_add(1, Ordering::Relaxed))
    }

    async fn decide(self, call: AbilityBefore) -> Replied<Verdict> {
        let receipt = self.receipt();
        let verdict = match call.ability_id.as_str() {
            "Hangs" => {
                self.holds.notify_one();
                std::future::pending().await
            }
            "Blocked" => Verdict::Block { reason: "no".to_owned() },
            _ => Verdict::Allow { input: call.input, changed: false },
        };
        (Ok(verdict), receipt)
    }
}

impl Server {
    /// Serves a connection that somebody accepted.
    async fn let_in(&self, stream: DuplexStream) {
        let room = self.room().await.unwrap();
        self.serve(stream, PEER, room).await;
    }
}

/// Two connected ends, and what the server's side of one refused.
fn served(limits: Limits) -> (DuplexStream, Arc<Decides>, Grant, Arc<Mutex<Vec<String>>>) {
    let refused: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&refused);
    let server = Server::new(limits, move |refusal, _| noted.lock().unwrap().push(refusal.code.clone()));
    let decides = Arc::new(Decides::default());
    let grant = server.grant(Holder::AgentCall, Arc::clone(&decides) as _).unwrap();
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move { server.let_in(theirs).await });
    (ours, decides, grant, refused)
}

/// What talks to a server, a line at a time.
struct Talk(AsyncLines<AsyncReader<ReadHalf<DuplexStream>>>, WriteHalf<DuplexStream>);

impl Talk {
    fn new(stream: DuplexStream) -> Self {
        let (read, write) = split(stream);
        Self(tokio::io::AsyncBufReadExt::lines(AsyncReader::new(read)), write)
    }

    async fn introduced(stream: DuplexStream, token: &str) -> Self {
        let mut peer = Self::new(stream);
        let welcome = peer.ask(&json!({"samuel": "run/1", "token": token}).to_string()).await.unwrap();
        assert_eq!(welcome["ok"], true, "{welcome}");
        peer
    }

    async fn send(&mut self, text: &str) {
        // Who refuses early does not read the rest.
        let _ = self.1.write_all(format!("{text}\n").as_bytes()).await;
    }

    /// Sends a line, and returns the answer; nothing where the connection ends.
    async fn ask(&mut self, text: &str) -> Option<Value> {
        self.send(text).await;
        self.answer().await
    }

    async fn answer(&mut self) -> Option<Value> {
        let line = self.0.next_line().await.ok()??;
        Some(serde_json::from_str(&line).unwrap())
    }
}

fn code(answer: &Option<Value>) -> &str {
    answer.as_ref().and_then(|answer| answer["error"]["code"].as_str()).unwrap_or_default()
}

#[tokio::test]
async fn each_request_has_one_answer_in_order() {
    let (stream, _, grant, refused) = served(Limits::default());
    let mut peer = Talk::new(stream);
    let hello = json!({"samuel": "run/1", "token": grant.token()});
    let welcome = peer.ask(&hello.to_string()).await.unwrap();
    let expected = json!({
        "ok": true, "run": "r", "iteration": 3, "task": "1", "may": ["ability_before", "ability_after"]
    });
    assert_eq!(welcome, expected);
    for (id, tool) in [(1, "Bash"), (2, "Blocked")] {
        peer.send(&json!({"id": id, "ability_before": {"ability_id": tool, "input": {"a": 1}}}).to_string())
            .await;
    }
    peer.send(r#"{"ability_after":{"ability_id":"Bash","call_id":"c","status":"error"},"id":3}"#).await;
    let answers = [peer.answer().await, peer.answer().await, peer.answer().await].map(Option::unwrap);
    let allow = json!({"decision": "allow", "input": {"a": 1}, "changed": false});
    assert_eq!(answers[0], json!({"id": 1, "ok": true, "decision": allow}));
    let block = json!({"decision": "block", "reason": "no"});
    assert_eq!(answers[1], json!({"id": 2, "ok": true, "decision": block}));
    assert_eq!(answers[2], json!({"id": 3, "ok": true, "text": ["Bash ended"]}));
    assert!(refused.lock().unwrap().is_empty());
}

#[tokio::test]
async fn who_is_not_let_in_is_told_why_and_the_connection_ends() {
    let hello = |version: &str, token: &str| json!({"samuel": version, "token": token}).to_string();
    let foreign = "0".repeat(64);
    for (first, expected) in [
        (hello("run/2", "x"), "E_SOCKET_VERSION"),
        (hello("run/1", &foreign), "E_SOCKET_TOKEN"),
        (hello("run/1", ""), "E_SOCKET_TOKEN"),
        (r#"{"samuel":"run/1"}"#.to_owned(), "E_SOCKET_MESSAGE"),
        ("GET / HTTP/1.1".to_owned(), "E_SOCKET_MESSAGE"),
        (String::new(), "E_SOCKET_MESSAGE"),
        (" ".repeat(MAX_MESSAGE + 1), "E_SOCKET_TOO_LARGE"),
    ] {
        let (stream, decides, _grant, refused) = served(Limits::default());
        let mut peer = Talk::new(stream);
        let answer = peer.ask(&first).await;
        assert_eq!(code(&answer), expected);
        let error = &answer.unwrap()["error"];
        assert!(
            ["message", "help"].iter().all(|key| error[key].as_str().is_some_and(|text| !text.is_empty()))
        );
        assert_eq!(peer.answer().await, None, "the connection is closed");
        assert_eq!(*refused.lock().unwrap(), [expected]);
        assert_eq!(decides.asked.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn a_request_that_is_refused_by_its_id_leaves_the_connection_open() {
    let (stream, decides, grant, _) = served(Limits::default());
    let mut peer = Talk::introduced(stream, grant.token()).await;
    let long = "x".repeat(257);
    for (request, expected) in [
        (json!({"id": 1, "dance": {}}), "E_SOCKET_VERB"),
        (json!({"id": 0, "approve": {}}), "E_SOCKET_SCOPE"),
        (json!({"id": 2}), "E_SOCKET_MESSAGE"),
        (json!({"id": 3, "ability_before": {}, "ability_after": {}}), "E_SOCKET_MESSAGE"),
        (json!({"id": 4, "ability_before": {"input": {}}}), "E_SOCKET_MESSAGE"),
        (json!({"id": 5, "ability_before": {"ability_id": "", "input": {}}}), "E_SOCKET_MESSAGE"),
        (json!({"id": 6, "ability_before": {"ability_id": long, "input": {}}}), "E_SOCKET_MESSAGE"),
        (json!({"id": 7, "ability_after": {"ability_id": "Bash", "status": "lost"}}), "E_SOCKET_MESSAGE"),
    ] {
        let answer = peer.ask(&request.to_string()).await;
        assert_eq!((code(&answer), &answer.as_ref().unwrap()["id"]), (expected, &request["id"]));
    }
    assert_eq!(decides.asked.load(Ordering::Relaxed), 0);
    let fine = json!({"id": 8, "ability_before": {"ability_id": "Bash", "input": {}}});
    assert_eq!(peer.ask(&fine.to_string()).await.unwrap()["ok"], true);
}

#[tokio::test]
async fn the_token_of_an_agents_call_asks_for_nothing_that_people_ask_for() {
    let people = ["approve", "cancel", "deny", "events", "look", "pause", "resume", "steer", "stop"];
    let (stream, decides, grant, _) = served(Limits::default());
    let mut peer = Talk::introduced(stream, grant.token()).await;
    for (verb, id) in people.iter().zip(1_u64..) {
        let answer = peer.ask(&json!({"id": id, *verb: {}}).to_string()).await;
        assert_eq!(
            (code(&answer), &answer.as_ref().unwrap()["id"]),
            ("E_SOCKET_SCOPE", &id.into()),
            "{verb}"
        );
    }
    assert_eq!(decides.asked.load(Ordering::Relaxed), 0);
    assert_eq!(
        crate::engine::socket::verbs::of(Holder::Person),
        people,
        "a verb for people that nobody tries here"
    );
}

#[tokio::test]
async fn a_line_that_cannot_be_answered_ends_the_connection() {
    for (line, expected) in [
        ("{".to_owned(), "E_SOCKET_MESSAGE"),
        ("[]".to_owned(), "E_SOCKET_MESSAGE"),
        (r#"{"id":-1,"ability_before":{}}"#.to_owned(), "E_SOCKET_MESSAGE"),
        (r#"{"id":"6","ability_before":{}}"#.to_owned(), "E_SOCKET_MESSAGE"),
        ("x".repeat(20 << 20), "E_SOCKET_TOO_LARGE"),
    ] {
        let (stream, _, grant, _) = served(Limits::default());
        let mut peer = Talk::introduced(stream, grant.token()).await;
        assert_eq!(code(&peer.ask(&line).await), expected);
        assert_eq!(peer.answer().await, None);
    }
}

#[tokio::test]
async fn a_verb_that_the_token_does_not_allow_is_refused() {
    struct Nothing;
    impl Serve for Nothing {
        fn open(&self, _: Peer) -> (Welcome, Routes) {
            Default::default()
        }
    }
    let of_nobody: [(Holder, Arc<dyn Serve>); 2] = [
        (Holder::AgentCall, Arc::new(Nothing)),
        // What is an agent's is no person's, whoever would answer.
        (Holder::Person, Arc::new(Decides::default())),
    ];
    for (holder, serve) in of_nobody {
        let server = Server::new(Limits::default(), |_, _| {});
        let grant = server.grant(holder, serve).unwrap();
        let (ours, theirs) = tokio::io::duplex(1 << 10);
        tokio::spawn(async move { server.let_in(theirs).await });
        let mut peer = Talk::introduced(ours, grant.token()).await;
        let call = json!({"id": 1, "ability_before": {"ability_id": "Bash", "input": {}}});
        assert_eq!(code(&peer.ask(&call.to_string()).await), "E_SOCKET_SCOPE");
    }
}

#[tokio::test]
async fn who_says_nothing_or_half_a_message_is_let_go() {
    let limits =
        Limits { first: Duration::from_millis(50), idle: Duration::from_millis(50), ..Limits::default() };
    let (stream, ..) = served(limits);
    let mut silent = Talk::new(stream);
    assert_eq!(code(&silent.answer().await), "E_SOCKET_TIMEOUT");
    assert_eq!(silent.answer().await, None);
    let (stream, _, grant, _) = served(limits);
    let mut halting = Talk::introduced(stream, grant.token()).await;
    halting.1.write_all(b"{\"id\":1").await.unwrap();
    assert_eq!(code(&halting.answer().await), "E_SOCKET_TIMEOUT");
    assert_eq!(halting.answer().await, None);
}

#[tokio::test]
async fn an_answer_that_nobody_hears_is_known_as_lost() {
    let (stream, decides, grant, _) = served(Limits::default());
    let mut peer = Talk::introduced(stream, grant.token()).await;
    let call = |tool: &str| json!({"id": 1, "ability_before": {"ability_id": tool, "input": {}}}).to_string();
    peer.ask(&call("Bash")).await.unwrap();
    assert_eq!(decides.lost.load(Ordering::Relaxed), 0, "this one arrived");
    peer.send(&call("Hangs")).await;
    decides.holds.notified().await;
    drop(peer);
    while decides.lost.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_token_that_was_withdrawn_ends_its_connections_and_opens_no_other() {
    let (stream, decides, grant, _) = served(Limits::default());
    let mut peer = Talk::introduced(stream, grant.token()).await;
    peer.send(r#"{"id":1,"ability_before":{"ability_id":"Hangs","input":{}}}"#).await;
    decides.holds.notified().await;
    let (server, token) = (Arc::clone(&grant.server), grant.token().to_owned());
    drop(grant);
    assert_eq!(code(&peer.answer().await), "E_SOCKET_TOKEN");
    assert_eq!(decides.lost.load(Ordering::Relaxed), 1);
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    tokio::spawn(async move { server.let_in(theirs).await });
    let hello = json!({"samuel": "run/1", "token": token});
    assert_eq!(code(&Talk::new(ours).ask(&hello.to_string()).await), "E_SOCKET_TOKEN");
}

/// A server on a real socket.
fn listening(limits: Limits) -> (tempfile::TempDir, PathBuf, Arc<Decides>, Grant) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let server = Server::new(limits, |_, _| {});
    let decides = Arc::new(Decides::default());
    let grant = server.grant(Holder::AgentCall, Arc::clone(&decides) as _).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(server.listen(listener, None));
    (dir, path, decides, grant)
}

const TIME: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_client_asks_and_tells() {
    let (_dir, path, _, grant) = listening(Limits::default());
    let token = grant.token().to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let mut run = RunClient::connect(&path, &token, TIME).unwrap();
        assert_eq!(run.welcome().iteration, Some(3));
        let call = |tool: &str| AbilityBefore {
            ability_id: tool.to_owned(),
            input: r#"{"a":1}"#.to_owned(),
            ..AbilityBefore::default()
        };
        let allowed = Verdict::Allow { input: r#"{"a":1}"#.to_owned(), changed: false };
        assert_eq!(run.ability_before(call("Bash")).unwrap(), allowed);
        assert_eq!(run.ability_before(call("Blocked")).unwrap(), Verdict::Block { reason: "no".to_owned() });
        let ended = AbilityAfter { ability_id: "Bash".to_owned(), ..AbilityAfter::default() };
        assert_eq!(run.ability_after(ended).unwrap(), ["Bash ended"]);
        let large = AbilityBefore { input: json!("x".repeat(20 << 20)).to_string(), ..call("Bash") };
        assert!(matches!(run.ability_before(large), Err(RunClientError::TooLarge)));
        let foreign = RunClient::connect(&path, &"0".repeat(64), TIME).unwrap_err();
        assert_eq!(foreign.code().name, "E_SOCKET_TOKEN");
        let nobody = RunClient::connect(&path.with_extension("x"), &token, TIME).unwrap_err();
        assert_eq!(nobody.code().name, "E_SOCKET_UNAVAILABLE");
    });
    asked.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gives_up_at_its_deadline_and_when_the_run_is_gone() {
    let (_dir, path, decides, grant) = listening(Limits::default());
    let (token, server) = (grant.token().to_owned(), Arc::clone(&grant.server));
    let hangs =
        AbilityBefore { ability_id: "Hangs".to_owned(), input: "{}".to_owned(), ..Default::default() };
    let (at, with, call) = (path.clone(), token.clone(), hangs.clone());
    let late = tokio::task::spawn_blocking(move || {
        RunClient::connect(&at, &with, Duration::from_millis(300)).unwrap().ability_before(call).unwrap_err()
    });
    let late = late.await.unwrap();
    assert_eq!(late.code().name, "E_SOCKET_TIMEOUT");
    assert!(format!("{:?}", late.help()).contains("may still heed what was asked"), "{:?}", late.help());
    decides.holds.notified().await;
    let lost = tokio::task::spawn_blocking(move || {
        RunClient::connect(&path, &token, TIME).unwrap().ability_before(hangs).unwrap_err()
    });
    decides.holds.notified().await;
    server.close();
    assert!(matches!(lost.await.unwrap(), RunClientError::Lost { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_have_no_time_or_all_of_it() {
    let (_dir, path, _, grant) = listening(Limits::default());
    let token = grant.token().to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let none = RunClient::connect(&path, &token, Duration::ZERO).unwrap_err();
        assert_eq!(none.code().name, "E_SOCKET_TIMEOUT");
        let mut run = RunClient::connect(&path, &token, Duration::MAX).unwrap();
        let call =
            AbilityBefore { ability_id: "Blocked".to_owned(), input: "{}".to_owned(), ..Default::default() };
        assert_eq!(run.ability_before(call).unwrap(), Verdict::Block { reason: "no".to_owned() });
    });
    asked.await.unwrap();
}

#[test]
fn a_client_does_not_wait_for_who_does_not_accept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let time = Duration::from_millis(200);
    // Until nobody is let in any more; those before wait for an answer that does not come.
    let all: Vec<_> = (0..200)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || RunClient::connect(&path, "x", time).map(drop).unwrap_err())
        })
        .collect();
    assert!(all.into_iter().all(|one| matches!(one.join().unwrap(), RunClientError::TimedOut)));
    drop(listener);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_refused_and_the_next_is_not_once_one_is_free() {
    let (_dir, path, decides, grant) = listening(Limits::default());
    let people = grant.server.grant(Holder::Person, decides).unwrap();
    let (of_call, of_people) = (grant.token().to_owned(), people.token().to_owned());
    let tried = tokio::task::spawn_blocking(move || {
        let connect = |token: &str| RunClient::connect(&path, token, TIME);
        // One that was refused may not have ended yet.
        let connected = |token: &str| {
            loop {
                if let Ok(client) = connect(token) {
                    return client;
                }
                thread::yield_now();
            }
        };
        let is_busy = |token: &str| {
            let refused = connect(token).unwrap_err();
            assert_eq!(refused.code().name, "E_SOCKET_BUSY");
            assert!(refused.code().retryable);
        };
        let mut agents: Vec<RunClient> = (0..56).map(|_| connected(&of_call)).collect();
        is_busy(&of_call);
        // Whatever a call of an agent holds, people reach the run.
        let people: Vec<RunClient> = (0..8).map(|_| connected(&of_people)).collect();
        is_busy(&of_people);
        agents.pop();
        drop(connected(&of_call));
        drop(people);
    });
    tried.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_connects_and_says_nothing_keeps_nobody_out() {
    // They would hold their places for the whole test.
    let (_dir, path, _, grant) = listening(Limits { first: 100 * TIME, ..Limits::default() });
    let token = grant.token().to_owned();
    let tried = tokio::task::spawn_blocking(move || {
        let silent: Vec<Blocking> = (0..200).map(|_| Blocking::connect(&path).unwrap()).collect();
        // What half of them say is no message.
        silent.iter().step_by(2).for_each(|mut peer| peer.write_all(b"{").unwrap());
        let run = RunClient::connect(&path, &token, TIME).unwrap();
        assert_eq!(run.welcome().iteration, Some(3));
        let mut told = String::new();
        BufReader::new(&silent[0]).read_line(&mut told).unwrap();
        assert!(told.contains("E_SOCKET_TIMEOUT") && told.contains("others wait to connect"), "{told}");
    });
    tried.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_all_agents_together_leave_places_for_people() {
    let (_dir, path, decides, grant) = listening(Limits { connections: 4, of_calls: 3, ..Limits::default() });
    let other = grant.server.grant(Holder::AgentCall, Arc::clone(&decides) as _).unwrap();
    let person = grant.server.grant(Holder::Person, decides).unwrap();
    let tokens = [&grant, &other, &person].map(|grant| grant.token().to_owned());
    let tried = tokio::task::spawn_blocking(move || {
        let [one, other, person] = tokens;
        let connect = |token: &str| RunClient::connect(&path, token, TIME);
        let _agents = [&one, &one, &other].map(|token| connect(token).unwrap());
        for token in [&one, &other] {
            assert_eq!(connect(token).unwrap_err().code().name, "E_SOCKET_BUSY");
        }
        connect(&person).unwrap();
    });
    tried.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_20_mib_costs_the_run_one() {
    let (_dir, path, _, grant) = listening(Limits::default());
    let token = grant.token().to_owned();
    let tried = tokio::task::spawn_blocking(move || {
        let mut stream = Blocking::connect(&path).unwrap();
        stream.write_all(format!("{}\n", json!({"samuel": "run/1", "token": token})).as_bytes()).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut welcome = String::new();
        lines.read_line(&mut welcome).unwrap();
        // It is refused before its end, so that not all of it is taken.
        let block = vec![b'x'; 1 << 20];
        let sent = (0..20).take_while(|_| stream.write_all(&block).is_ok()).count();
        let mut answer = String::new();
        let _ = lines.read_to_string(&mut answer);
        assert!(sent < 20 && answer.contains("E_SOCKET_TOO_LARGE"), "{sent} {answer}");
    });
    tried.await.unwrap();
}

#[tokio::test]
async fn another_user_is_refused() {
    let server = Server::new(Limits::default(), |_, _| {});
    let own = rustix::process::geteuid().as_raw();
    for (user, expected) in [(own, ""), (own + 1, "E_SOCKET_PEER")] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let room = server.room().await.unwrap();
        server.admit(theirs, user, room);
        let mut told = String::new();
        let mut ours = tokio::io::BufReader::new(ours);
        if !expected.is_empty() {
            tokio::io::AsyncBufReadExt::read_line(&mut ours, &mut told).await.unwrap();
        }
        assert!(told.contains(expected));
    }
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let call = (any::<u64>(), "[a-z_]{0,20}", any::<i64>()).prop_map(|(id, verb, value)| {
        json!({"id": id, verb: {"ability_id": "Bash", "input": {"n": value}}}).to_string().into_bytes()
    });
    let known = prop_oneof![Just("ability_before"), Just("ability_after")];
    let known = (any::<u64>(), known, any::<bool>()).prop_map(|(id, verb, is_whole)| {
        let mut line = json!({"id": id, verb: {"ability_id": "Bash", "input": {}}}).to_string();
        line.truncate(if is_whole { line.len() } else { line.len() / 2 });
        line.into_bytes()
    });
    prop_oneof![call, known, proptest::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    /// Whatever comes after the first message, each answer is one of the protocol's, a request
    /// that was read has one, and the connection ends.
    #[test]
    fn anything_is_answered_or_ends_the_connection(lines in proptest::collection::vec(any_line(), 0..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (answers, asked) = runtime.block_on(async {
            let (stream, decides, grant, _) = served(Limits::default());
            let mut peer = Talk::introduced(stream, grant.token()).await;
            for line in &lines {
                let _ = peer.1.write_all(line).await;
                let _ = peer.1.write_all(b"\n").await;
            }
            let mut answers = Vec::new();
            // What is answered is read before the connection is left.
            let expected: usize = lines.iter().map(|line| line.split(|byte| *byte == b'\n').count()).sum();
            while answers.len() < expected && let Some(answer) = peer.answer().await {
                answers.push(answer);
            }
            (answers, decides.asked.load(Ordering::Relaxed))
        });
        let is_answer = |answer: &Value| match answer["ok"].as_bool() {
            Some(true) => answer["id"].is_u64() && (answer["decision"].is_object() || answer["text"].is_array()),
            Some(false) => answer["error"]["code"].as_str().is_some_and(|code| code.starts_with("E_SOCKET_")),
            None => false,
        };
        prop_assert!(answers.iter().all(is_answer), "{answers:?}");
        prop_assert_eq!(answers.iter().filter(|answer| answer["ok"] == true).count(), asked as usize);
        // One without an id was the last.
        let without_id = answers.iter().position(|answer| answer.get("id").is_none());
        prop_assert!(without_id.is_none_or(|place| place + 1 == answers.len()));
    }
}
