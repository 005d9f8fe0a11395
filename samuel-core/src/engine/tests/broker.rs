#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::{fmt, path::PathBuf};

use tokio::runtime::Handle;

use super::*;
use crate::{
    broker::{BrokerAddress, BrokerStore},
    engine::socket::{RunSocket, Serve, Way, Welcome},
    model::{Complexity, ProgressStatus, Question},
    state::{
        CaughtUp, Existing, Imported, JournalPart, LastWritten, LearnedKind, MemoryStore, PlanStore,
        ProgressEntry, ProgressKind, ProgressLog, Watch,
    },
    testing::{Bench, store_suite},
};

const PEER: Peer = Peer { uid: 0, pid: None };

fn without_plan() -> Bench {
    Bench::builder().build().unwrap().over(|project| {
        let store = MemoryStore::new(project.clock());
        project.with_plan_store(Arc::new(store))
    })
}

/// Whom the run's own token leads to, which nobody uses here.
struct Nobody;

impl Serve for Nobody {
    fn open(&self, _: Peer) -> (Welcome, Routes) {
        Default::default()
    }
}

/// Whom a token leads to that is for the plan alone.
struct OfBroker(Broker);

impl Serve for OfBroker {
    fn open(&self, peer: Peer) -> (Welcome, Routes) {
        (Welcome { plan: Some(self.0.plan()), ..Welcome::default() }, self.0.clone().routes(peer))
    }
}

/// A store of which everything that an agent may do goes over a socket, by a token for each time.
struct OverSocket {
    bench: Bench,
    _dir: tempfile::TempDir,
    socket: RunSocket,
    /// The suite asks from threads of its own.
    runtime: Handle,
}

impl OverSocket {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = RunSocket::open(&dir.path().join("s"), Arc::new(Nobody), |_, _| {}).unwrap();
        let bench = without_plan();
        Self { bench, _dir: dir, socket, runtime: Handle::current() }
    }

    fn files(&self) -> Arc<dyn PlanStore> {
        self.bench.store()
    }

    fn ask<R>(&self, ask: impl FnOnce(&BrokerStore) -> Result<R, StateError>) -> Result<R, StateError> {
        let plan = self.files().load().map(|loaded| loaded.plan).unwrap_or_default();
        let broker = Broker::new(self.bench.project().clone(), &plan, None, 0, Completes::Plan);
        let _entered = self.runtime.enter();
        let call = self.socket.admit(Arc::new(OfBroker(broker)), Way::Own { uid: None }).unwrap();
        let access = call.access();
        let address = BrokerAddress { socket: access.socket, token: access.token, has_files: false };
        ask(&BrokerStore::connect(address)?)
    }
}

impl fmt::Debug for OverSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OverSocket")
    }
}

impl PlanStore for OverSocket {
    fn exists(&self) -> Result<bool, StateError> {
        self.ask(BrokerStore::exists)
    }

    fn load(&self) -> Result<LoadedPlan, StateError> {
        self.ask(BrokerStore::load)
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        self.files().import(plan, actor, existing)
    }

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        // Over the socket everybody is an agent, which may not settle what somebody has claimed.
        let is_persons = asker.actor != Actor::Agent && !self.files().load()?.plan.claims.is_empty();
        match is_for_agents(&mutation) && !is_persons {
            true => self.ask(|store| store.mutate_as(made_at, mutation, asker)),
            false => self.files().mutate_as(made_at, mutation, asker),
        }
    }

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        self.files().journal_since(seq)
    }

    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        self.files().catch_up(seq)
    }

    fn last_written(&self) -> Result<LastWritten, StateError> {
        self.files().last_written()
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        self.files().append_progress(entries)
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        self.files().progress()
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        self.files().rotate_progress(max_lines)
    }

    fn watch(&self) -> Watch {
        self.files().watch()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_may_do_keeps_the_contract_of_a_store() {
    let suite = || store_suite::plan_store(|| Arc::new(OverSocket::new()));
    tokio::task::spawn_blocking(suite).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_any_size_is_read_page_by_page() {
    let read = || {
        let store = OverSocket::new();
        let task = |n: usize| Task {
            description: "x".repeat(4_000),
            ..Task::new(TaskId::new(n.to_string()), format!("Task {n}"))
        };
        let plan = Plan { tasks: (1..=700).map(task).collect(), ..Plan::default() };
        store.import(plan, Actor::User, Existing::Refuse).unwrap();
        let (whole, read) = (store.files().load().unwrap(), store.load().unwrap());
        assert_eq!(*read.plan, Plan { baseline: String::new(), ..(*whole.plan).clone() });
        assert_eq!(read.revision, whole.revision);
    };
    tokio::task::spawn_blocking(read).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_with_more_questions_than_an_answer_holds_has_the_first_and_counts_the_others() {
    let store = OverSocket::new();
    let read = move || {
        let task = |n: usize| Task {
            status: Status::Blocked,
            question: Some(Question { text: "𝄞".repeat(2_000), ..Question::default() }),
            ..Task::new(TaskId::new(n.to_string()), format!("Task {n}"))
        };
        let plan = Plan { tasks: (1..=300).map(task).collect(), ..Plan::default() };
        store.import(plan, Actor::User, Existing::Refuse).unwrap();
        let whole = store.bench.project().status().unwrap();
        assert_eq!((whole.questions.len(), whole.more_questions), (300, 0));
        let read = store.ask(BrokerStore::status).unwrap();
        assert_eq!(read.questions.len() + read.more_questions, 300);
        assert!(read.questions.len() > 10 && read.questions == whole.questions[..read.questions.len()]);
    };
    tokio::task::spawn_blocking(read).await.unwrap();
}

/// A plan of tasks 1 to 3, of which 2 is a part of the group 1, and a broker of a call for task 2.
fn broker(completes: Completes) -> (Bench, Broker) {
    let task = |id: &str, parent: Option<&str>| Task {
        parent_id: parent.map(TaskId::new),
        ..Task::new(TaskId::new(id), format!("Task {id}"))
    };
    let bench = without_plan();
    let tasks = vec![task("1", None), task("2", Some("1")), task("3", None)];
    let plan = Plan { tasks, ..Plan::default() };
    bench.store().import(plan, Actor::User, Existing::Refuse).unwrap();
    let plan = bench.store().load().unwrap().plan;
    let broker = Broker::new(bench.project().clone(), &plan, Some(TaskId::new("2")), 3, completes);
    (bench, broker)
}

fn code(answer: Result<Applied, Refusal>) -> String {
    answer.map_or_else(|refusal| refusal.code, |_| String::new())
}

fn done(id: &str) -> Mutation {
    Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None }
}

fn ask(id: &str) -> Mutation {
    Mutation::Ask { id: TaskId::new(id), question: "Which one?".to_owned(), options: Vec::new() }
}

fn enqueue(parent: Option<&str>) -> Mutation {
    Mutation::Enqueue { task: NewTask { parent_id: parent.map(TaskId::new), ..NewTask::new("New") } }
}

fn add(id: &str) -> Task {
    Task { complexity: Complexity::Simple, ..Task::new(TaskId::new(id), "Added") }
}

#[test]
fn what_is_the_runtimes_or_a_persons_is_refused_and_changes_nothing() {
    let (bench, broker) = broker(Completes::Plan);
    let id = || TaskId::new("3");
    let settled = |task: Task| Mutation::Add { task: Box::new(task) };
    for mutation in [
        Mutation::StartTask { id: id(), owner: None },
        Mutation::ReturnToPending { id: id() },
        Mutation::TakeBack { ids: vec![id()], failures: Vec::new() },
        Mutation::BeginDiscovery { room: 9 },
        Mutation::SetProgressStatus { status: ProgressStatus::Completed },
        Mutation::AddUsage { usage: crate::model::Usage::default() },
        Mutation::Undo { change: None, back: None },
        Mutation::Remove { ids: vec![id()], parts: crate::state::Parts::default() },
        settled(Task { status: Status::Completed, ..add("4") }),
        settled(Task { completed_at: Some(Timestamp::UNIX_EPOCH), ..add("4") }),
        settled(Task { owner: Some("somebody".to_owned()), ..add("4") }),
    ] {
        let told = format!("{mutation:?}");
        assert_eq!(code(broker.mutate(mutation, PEER)), "E_BROKER_VERB", "{told}");
    }
    assert_eq!(bench.store().load().unwrap().revision, 1);
    assert_eq!(code(broker.mutate(settled(add("4")), PEER)), "");
}

#[test]
fn hides_secrets_in_what_an_agent_changes() {
    let (bench, broker) = broker(Completes::Plan);
    let secrets = Secrets::of(&[("A_TOKEN".to_owned(), "made-up-1".to_owned())]);
    let reason = Some("it needs made-up-1".to_owned());
    let skip = Mutation::Skip { id: TaskId::new("3"), reason };
    assert_eq!(code(broker.hiding(Arc::new(secrets)).mutate(skip, PEER)), "");
    let plan = bench.store().load().unwrap().plan;
    let told = format!("{:?}", plan.task(&TaskId::new("3")).unwrap());
    assert!(told.contains("it needs ***") && !told.contains("made-up-1"), "{told}");
}

#[test]
fn under_the_scope_of_a_task_no_other_is_settled_and_none_is_made_a_group() {
    let (bench, broker) = broker(Completes::OwnTask);
    let id = || TaskId::new("3");
    for mutation in [
        done("3"),
        done("1"),
        done("02"),
        Mutation::Skip { id: id(), reason: None },
        Mutation::Reset { id: id() },
        Mutation::Block { id: id(), reason: None },
        ask("3"),
        enqueue(Some("3")),
        Mutation::Add { task: Box::new(add("3.1")) },
        Mutation::Add { task: Box::new(Task { parent_id: Some(id()), ..add("9") }) },
    ] {
        let told = format!("{mutation:?}");
        let refused = broker.mutate(mutation, PEER).unwrap_err();
        assert_eq!(refused.code, "E_BROKER_SCOPE", "{told}");
        assert!(refused.message.ends_with("; its own is 2"), "{}", refused.message);
    }
    assert_eq!(bench.store().load().unwrap().revision, 1);
    for mutation in [
        Mutation::Block { id: TaskId::new("2"), reason: None },
        enqueue(None),
        enqueue(Some("1")),
        enqueue(Some("2")),
        Mutation::Add { task: Box::new(add("7.1")) },
    ] {
        let told = format!("{mutation:?}");
        assert_eq!(code(broker.mutate(mutation, PEER)), "", "{told}");
    }
    // It may ask about what it has added, as the prompt of a discovery says, and do no more with it.
    assert_eq!(code(broker.mutate(ask("7.1"), PEER)), "");
    assert_eq!(code(broker.mutate(done("7.1"), PEER)), "E_BROKER_SCOPE");
    let nobodys = Broker { task: None, ..broker };
    let refused = nobodys.mutate(done("3"), PEER).unwrap_err();
    assert!(refused.message.ends_with("; it has none of its own"), "{}", refused.message);
}

#[test]
fn learnings_name_the_call_and_are_at_most_100() {
    let (bench, broker) = broker(Completes::OwnTask);
    let learned = Learned::new(LearnedKind::Learning, "Indent with tabs").unwrap();
    for _ in 0..MAX_LEARNED {
        // A connection has a broker of its own.
        broker.clone().learn(learned.clone()).unwrap();
    }
    let refused = broker.clone().learn(learned).unwrap_err();
    assert_eq!((refused.code.as_str(), refused.retryable), ("E_BROKER_RATE", false));
    let log = bench.store().progress().unwrap();
    let notes: Vec<_> = log.notes(ProgressKind::Learning).collect();
    assert_eq!(notes.len(), MAX_LEARNED);
    let (entry, text) = notes[0];
    assert_eq!(
        (entry.iteration, entry.task.clone(), text),
        (Some(3), Some(TaskId::new("2")), "Indent with tabs")
    );
}

#[test]
fn a_call_that_has_outlived_its_plan_changes_no_other() {
    let (bench, broker) = broker(Completes::Plan);
    let earlier = Broker { made_at: Some(Timestamp::MIN), ..broker.clone() };
    assert_eq!(code(earlier.mutate(done("3"), PEER)), "E_STATE_REPLACED");
    assert_eq!(bench.store().load().unwrap().revision, 1);
    assert_eq!(code(broker.mutate(done("3"), PEER)), "");
}

#[test]
fn who_connects_is_named_as_a_command_names_itself() {
    let pid = i32::try_from(std::process::id()).unwrap();
    assert_eq!(name_of(PEER), "0");
    let session = session_of(pid);
    if !PathBuf::from("/proc/self/stat").exists() {
        return assert_eq!(session, None);
    }
    assert_eq!(name_of(Peer { uid: 7, pid: Some(pid) }), format!("7/{}", session.unwrap()));
}
