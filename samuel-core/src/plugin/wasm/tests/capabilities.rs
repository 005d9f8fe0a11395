//! What a component may do, capability by capability.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use wit_parser::Resolve;

use super::kit::{Bench, Probed, denied, get, probe, probed, value};
use crate::{
    clock::SystemClock,
    model::Plan,
    plugin::{Capabilities, Capability},
    state::{Actor, Existing, MemoryStore, Mutation, NewTask, PlanStore},
};

/// Probes a host function without the grant, then with it.
async fn refused_then(
    bytes: &[u8],
    capability: Capability,
    target: &str,
    prepare: impl Fn(&mut Bench),
) -> (Probed, Probed) {
    let mut ungranted = Bench::new();
    ungranted.setup.asked = Capabilities::default().with(capability, [target]);
    prepare(&mut ungranted);
    let mut granted = Bench::new();
    granted.setup.asked = ungranted.setup.asked.clone();
    granted.setup.granted = ungranted.setup.asked.clone();
    prepare(&mut granted);
    (probed(&mut ungranted, bytes).await, probed(&mut granted, bytes).await)
}

#[tokio::test]
async fn files_are_read_with_filesystem_read() {
    let read = probe("files-read.read", "i32 i32", "(i32.const 512) (i32.const 5)", "a.txt", 8);
    let prepare = |bench: &mut Bench| fs::write(bench.dir.path().join("a.txt"), "contents").unwrap();
    let answers = refused_then(&read, Capability::FilesystemRead, "/workspace/**", prepare).await;
    assert_eq!(answers, (denied("filesystem.read", "a.txt"), value("contents")));
}

#[tokio::test]
async fn files_are_written_with_filesystem_write() {
    let args = "(i32.const 512) (i32.const 5) (i32.const 517) (i32.const 3)";
    let write = probe("files-write.write", "i32 i32 i32 i32", args, "a.txtnew", 8);
    let answers = refused_then(&write, Capability::FilesystemWrite, "/workspace/**", |_| {}).await;
    assert_eq!(answers, (denied("filesystem.write", "a.txt"), value("")));

    // The grant of everything is none of what decides what runs.
    let args = "(i32.const 512) (i32.const 11) (i32.const 523) (i32.const 3)";
    let write = probe("files-write.write", "i32 i32 i32 i32", args, "samuel.tomlnew", 8);
    let answers = refused_then(&write, Capability::FilesystemWrite, "/workspace/**", |_| {}).await;
    let no = denied("filesystem.write", "samuel.toml");
    assert_eq!(answers, (no.clone(), no));
}

#[tokio::test]
async fn commands_are_run_with_exec() {
    // The program `cat`, no arguments, no directory, no variables, input.
    let args = "(i32.const 512) (i32.const 3) (i32.const 0) (i32.const 0)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
        (i32.const 515) (i32.const 4) (i32.const 0) (i64.const 0)";
    let run = probe("exec.run", "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64", args, "catmeow", 12);
    let prepare = |bench: &mut Bench| {
        let workspace = bench.new_workspace().command_env([("PATH".into(), "/usr/bin:/bin".into())]);
        bench.workspace = Some(workspace);
    };
    let answers = refused_then(&run, Capability::Exec, "cat", prepare).await;
    assert_eq!(answers, (denied("exec", "cat"), value("meow")));
}

#[tokio::test]
async fn variables_are_read_with_env() {
    let get = probe("env.get", "i32 i32", "(i32.const 512) (i32.const 4)", "LANG", 12);
    let prepare = |bench: &mut Bench| {
        bench.workspace = Some(bench.new_workspace().env([("LANG".to_owned(), "C".to_owned())]));
    };
    let answers = refused_then(&get, Capability::Env, "LANG", prepare).await;
    assert_eq!(answers, (denied("env", "LANG"), value("C")));
}

#[tokio::test]
async fn requests_are_sent_with_network_outbound() {
    // To a port where nobody listens: what is granted gets as far as that.
    let url = "http://127.0.0.1:1/";
    let send = get(url);
    let (refused, sent) = refused_then(&send, Capability::NetworkOutbound, "127.0.0.1:1", |_| {}).await;
    assert_eq!(refused, denied("network.outbound", "127.0.0.1:1"));
    assert!(matches!(sent, Probed::Error(8, _)), "{sent:?}");
}

#[tokio::test]
async fn the_plan_is_changed_with_samuel_api() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
    store.mutate(Mutation::Enqueue { task: NewTask::new("First") }, Actor::User).unwrap();
    let prepare = |bench: &mut Bench| {
        let store: Arc<dyn PlanStore> = Arc::clone(&store) as _;
        bench.workspace = Some(bench.new_workspace().store(store));
    };
    // The title `Second`, medium priority and complexity, waits for nothing.
    let args = "(i32.const 512) (i32.const 6) (i32.const 2) (i32.const 1)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)";
    let enqueue = probe("tasks.enqueue", "i32 i32 i32 i32 i32 i32 i32 i32", args, "Second", 8);
    let answers = refused_then(&enqueue, Capability::SamuelApi, "write", prepare).await;
    assert_eq!(answers, (denied("samuel.api", "write"), value("2")));
    let (_, reads) = refused_then(&enqueue, Capability::SamuelApi, "read", prepare).await;
    assert_eq!(reads, denied("samuel.api", "write"));
    assert_eq!(store.load().unwrap().plan.tasks.len(), 2);

    let done = probe(
        "tasks.done",
        "i32 i32 i32 i32 i32",
        "(i32.const 512) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)",
        "9",
        8,
    );
    let (_, unknown) = refused_then(&done, Capability::SamuelApi, "write", prepare).await;
    assert_eq!(unknown, Probed::Error(2, "9".to_owned()));
}

#[tokio::test]
async fn asking_a_model_is_never_supported() {
    let invoke = probe("assistant.invoke", "i32 i32", "(i32.const 512) (i32.const 2)", "hi", 8);
    let (_, granted) = refused_then(&invoke, Capability::AssistantInvoke, "any", |_| {}).await;
    assert!(matches!(granted, Probed::Error(1, _)), "{granted:?}");
}

/// A text of five bytes as an argument, and the text.
const TEXT: &str = "(i32.const 512) (i32.const 5)";
const A_TEXT: &str = "a.txt";
const ONE: &str = "i32 i32";
const TWO: &str = "i32 i32 i32 i32";
const TWO_TEXTS: &str = "(i32.const 512) (i32.const 5) (i32.const 512) (i32.const 5)";

/// Every function behind a capability: how it is lowered, its arguments, the
/// text from address 512 on, and what is named when it is denied.
const GATED: [(&str, &str, &str, &str, &str); 15] = [
    ("files-read.read", ONE, TEXT, A_TEXT, "a.txt"),
    ("files-read.list-dir", ONE, TEXT, A_TEXT, "a.txt"),
    ("files-read.stat", ONE, TEXT, A_TEXT, "a.txt"),
    ("files-write.write", TWO, TWO_TEXTS, A_TEXT, "a.txt"),
    ("files-write.remove", ONE, TEXT, A_TEXT, "a.txt"),
    ("files-write.create-dir", ONE, TEXT, A_TEXT, "a.txt"),
    (
        "exec.run",
        "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64",
        "(i32.const 512) (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
         (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)",
        "cargo",
        "cargo",
    ),
    ("env.get", ONE, TEXT, "TOKEN", "TOKEN"),
    (
        "http.send",
        "i32 i32 i32 i32 i32 i32 i32 i32 i32 i64",
        "(i32.const 512) (i32.const 3) (i32.const 515) (i32.const 14) (i32.const 0) (i32.const 0)
         (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)",
        "GEThttp://a.test/",
        "a.test:80",
    ),
    ("tasks.list", "", "", "", "read"),
    (
        "tasks.enqueue",
        "i32 i32 i32 i32 i32 i32 i32 i32",
        "(i32.const 512) (i32.const 5) (i32.const 0) (i32.const 0)
         (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)",
        "Title",
        "write",
    ),
    (
        "tasks.done",
        "i32 i32 i32 i32 i32",
        "(i32.const 512) (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 0)",
        "1.2.3",
        "write",
    ),
    ("tasks.skip", TWO, TWO_TEXTS, "1.2.3", "write"),
    ("tasks.reset", ONE, TEXT, "1.2.3", "write"),
    // Reserved: whatever was granted, it is not offered.
    ("assistant.invoke", ONE, TEXT, "hello", ""),
];

#[tokio::test]
async fn no_function_behind_a_capability_works_without_its_grant() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
    for (import, signature, args, data, target) in GATED {
        let interface = import.split_once('.').unwrap().0;
        let capability = Capability::ALL.into_iter().find(|one| one.interface() == Some(interface)).unwrap();
        let bytes = probe(import, signature, args, data, 8);
        let mut bench = Bench::new();
        fs::write(bench.dir.path().join("a.txt"), "contents").unwrap();
        // All of it is asked for, and everything but this is granted.
        for one in Capability::ALL {
            bench.setup.asked = bench.setup.asked.with(one, EVERYTHING);
            if one != capability {
                bench.setup.granted = bench.setup.granted.with(one, EVERYTHING);
            }
        }
        let handed: Arc<dyn PlanStore> = Arc::clone(&store) as _;
        bench.workspace =
            Some(bench.new_workspace().store(handed).env([("TOKEN".to_owned(), "secret".to_owned())]));
        let answer = probed(&mut bench, &bytes).await;
        match capability {
            Capability::AssistantInvoke => assert!(matches!(answer, Probed::Error(1, _)), "{answer:?}"),
            _ => assert_eq!(answer, denied(capability.as_str(), target), "{import}"),
        }
        assert_eq!(fs::read_to_string(bench.dir.path().join("a.txt")).unwrap(), "contents", "{import}");
    }
    assert!(store.load().unwrap().plan.tasks.is_empty());
}

/// Targets that cover whatever the calls of [`GATED`] want.
const EVERYTHING: [&str; 6] = ["/workspace/**", "cargo", "TOKEN", "a.test:80", "read", "write"];

#[test]
fn every_function_behind_a_capability_is_in_the_table() {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1")).unwrap();
    let declared = Capability::ALL.into_iter().filter_map(Capability::interface).flat_map(|interface| {
        let functions = &resolve.interfaces[resolve.packages[package].interfaces[interface]].functions;
        functions.keys().map(|name| format!("{interface}.{name}")).collect::<Vec<_>>()
    });
    let declared: BTreeSet<String> = declared.collect();
    let listed: BTreeSet<String> = GATED.iter().map(|(import, ..)| (*import).to_owned()).collect();
    assert_eq!(declared, listed, "left the contract, right the table");
}

#[tokio::test]
async fn only_a_handler_in_the_agents_place_reports() {
    let say = probe("agent-port.say", "i32 i32", "(i32.const 512) (i32.const 5)", "hello", 8);
    let answer = probed(&mut Bench::new(), &say).await;
    assert_eq!(answer, Probed::Error(1, "agent-port at quality.check".to_owned()));
}
