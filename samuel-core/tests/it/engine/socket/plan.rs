//! What calls of agents reach of the plan, and what they are refused.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use samuel_core::{
    agent::{AgentPort, AgentRequest},
    broker::{BrokerAddress, BrokerStore},
    engine::RunBuilder,
    event::Event,
    model::{Coded as _, ErrorCode, Status, TaskId},
    process::CommandSpec,
    sandbox::{Sandbox, SandboxError},
    state::{Actor, JournalEntry, Mutation, NewTask, PlanStore as _},
    testing::{Bench, Played},
};
use serde_json::{Value, json};

use super::kit::*;

/// A sandbox that changes nothing.
#[derive(Debug)]
struct Passes;

impl Sandbox for Passes {
    fn name(&self) -> &str {
        "passes"
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        Ok(spec)
    }
}

/// Does something that blocks in each call, with the address that the call was given.
struct Does<F>(F);

#[async_trait]
impl<F: Fn(BrokerAddress, AgentRequest) + Clone + Send + Sync + 'static> AsyncWork for Does<F> {
    async fn work(&self, request: AgentRequest, _: &dyn AgentPort) {
        let work = self.0.clone();
        let address = address(&request).expect("each call is given one");
        tokio::task::spawn_blocking(move || work(address, request)).await.unwrap();
    }
}

fn address(request: &AgentRequest) -> Option<BrokerAddress> {
    BrokerAddress::of_env(|name| {
        request.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    })
}

async fn played(
    bench: &Bench,
    sockets: &Path,
    change: impl FnOnce(RunBuilder) -> RunBuilder,
    work: impl Fn(BrokerAddress, AgentRequest) + Clone + Send + Sync + 'static,
) -> Played {
    bench.play(change(run(bench, sockets, Does(work)))).await.unwrap()
}

fn done(id: &str) -> Mutation {
    Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None }
}

/// Talks to a run line by line.
struct Talk(BufReader<UnixStream>);

impl Talk {
    /// Opens with a token, and says what was answered.
    fn open(address: &BrokerAddress, token: &str) -> (Self, Value) {
        let mut talk = Self(BufReader::new(UnixStream::connect(&address.socket).unwrap()));
        let welcome = talk.ask(&json!({"samuel": "run/1", "token": token}));
        (talk, welcome)
    }

    fn ask(&mut self, request: &Value) -> Value {
        // Who refuses early does not read the rest.
        let _ = self.0.get_mut().write_all(format!("{request}\n").as_bytes());
        self.answer()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        let _ = self.0.read_line(&mut line);
        serde_json::from_str(&line).unwrap_or_default()
    }
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_default()
}

/// A code, the verb and the count of its refusals.
type Told = (String, Option<String>, u64);

/// What was refused, as events tell it, and as the journal does.
fn refusals(bench: &Bench, played: &Played) -> (Vec<Told>, Vec<String>) {
    let told = played.events.iter().filter_map(|record| match &record.event {
        Event::RequestRefused { code, verb, count, .. } => Some((code.clone(), verb.clone(), *count)),
        _ => None,
    });
    let noted =
        bench.store().journal_since(0).unwrap().records.into_iter().filter_map(|record| match record.entry {
            JournalEntry::Event(event) if event.name == "request_refused" => {
                Some(event.data["code"].as_str().unwrap().to_owned())
            }
            _ => None,
        });
    (told.collect(), noted.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_an_agent_reaches_the_plan_also_where_no_handler_asks_about_its_tool_calls() {
    let (bench, _outside, sockets) = bench();
    let kept: Arc<Mutex<Option<BrokerAddress>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let played = played(
        &bench,
        &sockets,
        |run| run,
        move |address, request| {
            assert!(request.bridge.is_none() && address.has_files);
            let store = BrokerStore::connect(address.clone()).unwrap();
            let welcome = store.welcome();
            assert_eq!((welcome.task.as_deref(), welcome.iteration), (Some("1"), Some(1)));
            assert_eq!(welcome.may, ["mutate", "plan", "status", "history", "learn"]);
            assert_eq!(store.load().unwrap().plan.tasks[0].status, Status::InProgress);
            let applied = store.mutate(done("1"), Actor::Agent).unwrap();
            assert_eq!(applied.task.unwrap().status, Status::Completed);
            assert!(store.status().unwrap().running);
            let history = store.task_history(&TaskId::new("1")).unwrap();
            assert_eq!(history.changes.last().unwrap().actor, Actor::Agent);
            let missing = store.mutate(done("11"), Actor::Agent).unwrap_err();
            assert_eq!(missing.code(), ErrorCode::TASK_NOT_FOUND);
            *keep.lock().unwrap() = Some(address);
        },
    );
    let played = played.await;
    assert_eq!(bench.status("1"), Some(Status::Completed), "{}", played.transcript());
    assert_eq!(refusals(&bench, &played), (Vec::new(), Vec::new()), "what the store refuses is an answer");
    let address = kept.lock().unwrap().take().unwrap();
    assert_eq!(BrokerStore::connect(address).unwrap_err().code(), ErrorCode::BROKER_GONE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_has_a_path_of_its_own_that_no_other_token_opens() {
    let (bench, _outside, sockets) = bench();
    let tried: Arc<Mutex<Option<BrokerAddress>>> = Arc::default();
    let (keep, parent) = (Arc::clone(&tried), sockets.clone());
    let work = move |address: BrokerAddress, _| {
        let run_dir = fs::read_dir(&parent).unwrap().next().unwrap().unwrap().path();
        let of_run = BrokerAddress { socket: run_dir.join("socket"), ..address.clone() };
        let people = fs::read_to_string(run_dir.join("token")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_ne!(address.socket, of_run.socket);
        assert_eq!((mode(&address.socket), mode(address.socket.parent().unwrap())), (0o600, 0o700));
        assert!(!address.has_files && address.socket.as_os_str().len() <= 107);
        // The token is of this path, and this path of the token.
        assert_eq!(BrokerStore::connect(of_run).unwrap_err().code(), ErrorCode::SOCKET_TOKEN);
        let other = BrokerAddress { token: people, ..address.clone() };
        assert_eq!(BrokerStore::connect(other).unwrap_err().code(), ErrorCode::SOCKET_TOKEN);
        BrokerStore::connect(address.clone()).unwrap().mutate(done("1"), Actor::Agent).unwrap();
        *keep.lock().unwrap() = Some(address);
    };
    let played = played(&bench, &sockets, |run| run.sandbox(Arc::new(Passes)), work).await;
    assert_eq!(bench.status("1"), Some(Status::Completed), "{}", played.transcript());
    let address = tried.lock().unwrap().take().unwrap();
    assert!(!address.socket.exists(), "it goes with the call");
    let (told, _) = refusals(&bench, &played);
    let token = |count| ("E_SOCKET_TOKEN".to_owned(), None, count);
    assert_eq!(told, [token(1), token(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_has_its_own_code_and_is_told_and_written_down() {
    let outside = tempfile::tempdir().unwrap();
    let sockets = outside.path().join("sockets");
    let config = "[methodology.ralph]\ncompletes = \"own-task\"\n";
    let bench =
        Bench::builder().config(config).task("1", "First").task("2", "Second").on_disk().build().unwrap();
    let work = |address: BrokerAddress, _| {
        let (_, refused) = Talk::open(&address, "");
        assert_eq!(code(&refused), "E_SOCKET_TOKEN");
        let (_, refused) = Talk::open(&address, &"0".repeat(64));
        assert_eq!(code(&refused), "E_SOCKET_TOKEN");
        let (mut talk, welcome) = Talk::open(&address, &address.token);
        assert_eq!((&welcome["ok"], &welcome["task"]), (&json!(true), &json!("1")));
        let mutate = |mutation: Value| json!({"id": 1, "mutate": mutation});
        for (request, expected) in [
            (mutate(json!({"type": "start_task", "id": "2"})), "E_BROKER_VERB"),
            (mutate(json!({"type": "edit", "id": "1", "edit": {}})), "E_BROKER_VERB"),
            (mutate(json!({"type": "done", "id": "2"})), "E_BROKER_SCOPE"),
            (mutate(json!({"type": "approve", "id": "2"})), "E_SOCKET_MESSAGE"),
            (mutate(json!({"type": "done"})), "E_SOCKET_MESSAGE"),
            (json!({"id": 1, "dance": {}}), "E_SOCKET_VERB"),
            (json!({"id": 1, "approve": {}}), "E_SOCKET_SCOPE"),
            (json!({"id": 1, "ability_before": {"ability_id": "Bash", "input": {}}}), "E_SOCKET_SCOPE"),
            (mutate(json!({"type": "done", "id": "9"})), "E_BROKER_SCOPE"),
        ] {
            let answer = talk.ask(&request);
            assert_eq!(code(&answer), expected, "{request}: {answer}");
            let error = &answer["error"];
            assert!(error["help"].as_str().is_some_and(|help| !help.is_empty()), "{error}");
            let exit =
                if expected.ends_with("MESSAGE") || expected.ends_with("SOCKET_VERB") { 1 } else { 78 };
            assert_eq!(error["exit_code"], exit, "{error}");
        }
        let long = mutate(json!({"type": "skip", "id": "1", "reason": "x".repeat(70 << 10)}));
        assert_eq!(code(&talk.ask(&long)), "E_SOCKET_TOO_LARGE", "more than 64 KiB");
        let (mut talk, _) = Talk::open(&address, &address.token);
        assert_eq!(code(&talk.ask(&json!("x".repeat(1 << 20)))), "E_SOCKET_TOO_LARGE");
        let (mut talk, _) = Talk::open(&address, &address.token);
        let fine = talk.ask(&mutate(json!({"type": "done", "id": "1"})));
        assert_eq!((&fine["ok"], &fine["applied"]["task"]["status"]), (&json!(true), &json!("completed")));
    };
    let played = played(&bench, &sockets, |run| run.sandbox(Arc::new(Passes)), work).await;
    assert_eq!((bench.status("1"), bench.status("2")), (Some(Status::Completed), Some(Status::Pending)));
    let (told, noted) = refusals(&bench, &played);
    let of = |wanted: &str| told.iter().filter(|(code, ..)| code == wanted).count();
    assert_eq!((of("E_BROKER_VERB"), of("E_BROKER_SCOPE"), of("E_SOCKET_TOKEN")), (2, 2, 2), "{told:?}");
    assert_eq!((of("E_SOCKET_VERB"), of("E_SOCKET_SCOPE"), of("E_SOCKET_MESSAGE")), (1, 2, 2), "{told:?}");
    assert_eq!(of("E_SOCKET_TOO_LARGE"), 2, "{told:?}");
    assert!(told.contains(&("E_BROKER_SCOPE".to_owned(), Some("mutate".to_owned()), 1)), "{told:?}");
    let (mut told, mut noted): (Vec<String>, _) = (told.into_iter().map(|(code, ..)| code).collect(), noted);
    told.sort();
    noted.sort();
    assert_eq!(noted, told, "the journal says the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_refused_request_no_more_than_an_excerpt_is_told_and_one_by_the_runs_own_token_is_told_too() {
    let outside = tempfile::tempdir().unwrap();
    let sockets = outside.path().join("sockets");
    let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
    let parent = sockets.clone();
    let work = move |address: BrokerAddress, _| {
        let (mut talk, _) = Talk::open(&address, &address.token);
        let long = "y".repeat(60 << 10);
        assert_eq!(code(&talk.ask(&json!({"id": 1, (long.as_str()): {}}))), "E_SOCKET_VERB");
        assert_eq!(code(&talk.ask(&json!({"id": 2, "mutate": {"type": long}}))), "E_SOCKET_MESSAGE");
        assert_eq!(code(&talk.ask(&json!(long))), "E_SOCKET_MESSAGE");
        let run_dir = fs::read_dir(&parent).unwrap().next().unwrap().unwrap().path();
        let people = fs::read_to_string(run_dir.join("token")).unwrap();
        let (mut talk, welcome) = Talk::open(&address, &people);
        assert_eq!(welcome["ok"], true);
        let done = json!({"id": 1, "mutate": {"type": "done", "id": "1"}});
        assert_eq!(code(&talk.ask(&done)), "E_SOCKET_SCOPE");
        assert_eq!(code(&talk.ask(&json!({"id": 2, "deny": {"call": 9}}))), "E_CONTROL_NOTHING_WAITS");
    };
    let played = played(&bench, &sockets, |run| run, work).await;
    let told: Vec<(u32, &str, usize)> = played
        .events
        .iter()
        .filter_map(|record| match &record.event {
            Event::RequestRefused { iteration, verb, code, message, .. } => {
                let bytes = verb.as_deref().unwrap_or_default().len().max(message.len());
                Some((*iteration, code.as_str(), bytes))
            }
            _ => None,
        })
        .collect();
    let codes: Vec<(u32, &str)> = told.iter().map(|(iteration, code, _)| (*iteration, *code)).collect();
    let message = (1, "E_SOCKET_MESSAGE");
    assert_eq!(codes, [(1, "E_SOCKET_VERB"), message, message, (0, "E_SOCKET_SCOPE")]);
    assert!(told.iter().all(|(.., bytes)| *bytes < 2 << 10), "{told:?}");
    assert_eq!(refusals(&bench, &played).1.len(), told.len(), "the journal says the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_many_pages_is_read_whole_with_the_lines_of_it_that_could_not_be_understood() {
    let (_, _outside, sockets) = bench();
    // Lines that cannot be understood are those of a file.
    let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
    for n in 0..60 {
        let task = NewTask { description: "word ".repeat(3_000), ..NewTask::new(format!("Task {n}")) };
        bench.store().mutate(Mutation::Enqueue { task }, Actor::User).unwrap();
    }
    let file = bench.path().join(".samuel/run/prd.toon");
    let lines: Vec<String> = (0..9_000).map(|n| format!("\"  x{n},no task\"")).collect();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}unparsed[9000]: {}\n", lines.join(","))).unwrap();
    assert_eq!(bench.store().load().unwrap().unread_lines(), 9_000);
    let read: Arc<Mutex<Option<(usize, usize)>>> = Arc::default();
    let keep = Arc::clone(&read);
    let work = move |address: BrokerAddress, _| {
        let loaded = BrokerStore::connect(address).unwrap().load().unwrap();
        assert_eq!(loaded.unparsed.last().unwrap(), "  x8999,no task");
        *keep.lock().unwrap() = Some((loaded.plan.tasks.len(), loaded.unread_lines()));
    };
    let played = played(&bench, &sockets, |run| run, work).await;
    assert_eq!(*read.lock().unwrap(), Some((61, 9_000)), "{}", played.transcript());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_no_request_holds_is_refused_as_with_the_files() {
    let (bench, _outside, sockets) = bench();
    let work = |address: BrokerAddress, _| {
        let question = "x".repeat(100_000);
        let ask = Mutation::Ask { id: TaskId::new("1"), question, options: Vec::new() };
        let refused = BrokerStore::connect(address).unwrap().mutate(ask, Actor::Agent).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::QUESTION_INVALID, "{refused}");
    };
    let played = played(&bench, &sockets, |run| run, work).await;
    assert_eq!(bench.status("1"), Some(Status::Pending), "{}", played.transcript());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_a_thousand_times_in_a_second_is_refused_and_fills_no_journal() {
    let (bench, _outside, sockets) = bench();
    let refused: Arc<Mutex<usize>> = Arc::default();
    let counted = Arc::clone(&refused);
    let work = move |address: BrokerAddress, _| {
        let (mut talk, _) = Talk::open(&address, &address.token);
        let answers: Vec<Value> =
            (0..1_000).map(|id| talk.ask(&json!({"id": id, "plan": {"from": 9}}))).collect();
        assert!(answers.iter().enumerate().all(|(id, answer)| answer["id"] == id));
        let limited = answers.iter().filter(|answer| code(answer) == "E_BROKER_RATE").count();
        let fine = answers.iter().filter(|answer| answer["ok"] == true).count();
        assert_eq!(limited + fine, 1_000);
        assert!(answers[..200].iter().all(|answer| answer["ok"] == true), "a burst is let through");
        let last = answers.iter().find(|answer| code(answer) == "E_BROKER_RATE");
        assert!(last.is_none_or(|answer| answer["error"]["retryable"] == true));
        *counted.lock().unwrap() = limited;
    };
    let played = played(&bench, &sockets, |run| run, work).await;
    let (told, _) = refusals(&bench, &played);
    let refused = *refused.lock().unwrap();
    // A machine that takes 16 s for a thousand of them refuses none.
    assert!(refused == 0 || !told.is_empty());
    assert!(told.len() <= 20, "{told:?}");
    assert!(told.last().is_none_or(|(_, _, count)| *count as usize <= refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_wait_for_each_other_and_all_of_them_are_served() {
    let (bench, _outside, sockets) = bench();
    let work = |address: BrokerAddress, _| {
        let add = |n: usize| {
            let store = BrokerStore::connect(address.clone()).unwrap();
            store.mutate(Mutation::Enqueue { task: NewTask::new(format!("Task {n}")) }, Actor::Agent).unwrap()
        };
        let add = &add;
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..40).map(|n| scope.spawn(move || add(n))).collect();
            all.into_iter().for_each(|one| drop(one.join().unwrap()));
        });
    };
    let played = played(&bench, &sockets, |run| run.sandbox(Arc::new(Passes)), work).await;
    assert_eq!(bench.store().load().unwrap().plan.tasks.len(), 41, "{}", played.transcript());
}
