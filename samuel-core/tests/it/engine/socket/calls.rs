//! What becomes of the calls that hooks ask about, tell of, or know nothing of.

use std::{
    fs,
    future::poll_fn,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use samuel_core::{
    agent::{AbilityCall, AbilityResult, AgentEvent, AgentPort, AgentRequest, Bridge},
    engine::{RunBuilder, socket::Verdict},
    event::Event,
    hook::{HookPoint, points},
    model::{
        Coded as _,
        payload::{AbilityBeforeInput, AbilityBeforeOutput, AbilityStatus, BeforeAgentInvokeOutput},
    },
    testing::{Act, FakeHandler, Played},
};

use serde_json::{Value, json};

use super::kit::*;

/// Asks about one call, makes it where it may, and tells of it.
struct AsksAndTells {
    verdict: Arc<Mutex<Option<Verdict>>>,
    text: Arc<Mutex<Vec<String>>>,
    bridge: Arc<Mutex<Option<Bridge>>>,
}

#[async_trait]
impl AsyncWork for AsksAndTells {
    async fn work(&self, request: AgentRequest, port: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((bridge.command.as_slice(), mode(&bridge.dir)), (&COMMAND.map(str::to_owned)[..], 0o700));
        fs::create_dir(bridge.dir.join("plugin")).unwrap();
        let socket = PathBuf::from(variable(&bridge, "SAMUEL_SOCKET"));
        assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
        assert_eq!(mode(&socket.with_file_name("token")), 0o600);
        port.emit(AgentEvent::ToolCall(bash("1")));
        let verdict = asks(&bridge, &bash("1")).await.unwrap();
        let status = match &verdict {
            Verdict::Allow { .. } => {
                *self.text.lock().unwrap() = tells(&bridge, "1", Some(AbilityStatus::Success)).await;
                AbilityStatus::Success
            }
            Verdict::Block { .. } => AbilityStatus::Error,
        };
        port.emit(AgentEvent::ToolResult(result("1", status)));
        port.emit(AgentEvent::Text { text: "done".to_owned() });
        *self.verdict.lock().unwrap() = Some(verdict);
        *self.bridge.lock().unwrap() = Some(bridge);
    }
}

async fn asked_and_told(
    handlers: impl FnOnce(RunBuilder) -> RunBuilder,
) -> (Played, Verdict, Vec<String>, PathBuf, tempfile::TempDir) {
    let (bench, outside, sockets) = bench();
    let (verdict, text, bridge) = (Arc::default(), Arc::default(), Arc::default());
    let work =
        AsksAndTells { verdict: Arc::clone(&verdict), text: Arc::clone(&text), bridge: Arc::clone(&bridge) };
    let played = bench.play(handlers(run(&bench, &sockets, work))).await.unwrap();
    let verdict = verdict.lock().unwrap().take().unwrap_or_else(|| panic!("{:?}", failure(&played)));
    let bridge = bridge.lock().unwrap().take().unwrap();
    assert!(!bridge.dir.exists(), "the directory goes with the call");
    assert_eq!(fs::read_dir(&sockets).unwrap().count(), 0, "and that of the run with the run");
    let late = connect_within(&bridge, TIME).unwrap_err();
    assert_eq!(late.code().name, "E_SOCKET_UNAVAILABLE");
    let text = std::mem::take(&mut *text.lock().unwrap());
    (played, verdict, text, sockets, outside)
}

fn inputs(gate: &FakeHandler<points::AbilityBefore>) -> Vec<AbilityBeforeInput> {
    gate.last_input().into_iter().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_rewrites_a_call_of_the_agents_own_and_tells_the_model_something_at_once() {
    let gate = gate(AbilityBeforeOutput {
        updated_input: Some(r#"{"command":"ls -l"}"#.to_owned()),
        ..Default::default()
    });
    let after = says("that was slow");
    let (played, verdict, text, ..) =
        asked_and_told(|run| run.hook("gate", gate.clone()).hook("after", after.clone())).await;
    let expected = Verdict::Allow { input: r#"{"command":"ls -l"}"#.to_owned(), changed: true };
    assert_eq!(verdict, expected);
    assert!(
        text.len() == 1 && text[0].contains("that was slow") && text[0].contains("api:after"),
        "{text:?}"
    );
    let asked = &inputs(&gate)[0];
    assert!(asked.enforced && asked.caller == "mine" && asked.call_id.as_deref() == Some("1"), "{asked:?}");
    let told = after.last_input().unwrap();
    assert_eq!(told.input_summary.as_deref(), Some(r#"{"command":"ls -l"}"#), "as it was made");
    // The stream showed the same call, for which nothing fires again.
    assert_eq!((gate.count(), after.count()), (1, 1));
    assert_eq!((warnings(&played), failure(&played)), (Vec::<&str>::new(), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_blocks_a_call_of_the_agents_own_and_the_turn_goes_on() {
    let (gate, after) = (gate(blocks("not on a Friday")), says("never"));
    let (played, verdict, ..) =
        asked_and_told(|run| run.hook("gate", gate.clone()).hook("after", after.clone())).await;
    assert_eq!(verdict, Verdict::Block { reason: "not on a Friday".to_owned() });
    assert_eq!((gate.count(), after.count()), (1, 0));
    assert_eq!((warnings(&played), failure(&played)), (Vec::<&str>::new(), None));
    let prevented = |event: &Event| matches!(event, Event::AbilityBlocked { prevented: true, .. });
    assert!(played.events.iter().any(|record| prevented(&record.event)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_asking_is_told_of_and_a_block_ends_the_turn() {
    let (bench, _outside, sockets) = bench();
    let (gate, after) = (gate(blocks("no")), says("x"));
    let run = run(&bench, &sockets, DoesNotAsk).hook("gate", gate.clone()).hook("after", after.clone());
    let played = bench.play(run).await.unwrap();
    assert_eq!((gate.count(), after.count()), (2, 2));
    assert!(!inputs(&gate)[0].enforced);
    let expected = "mine called Bash without asking, so that no handler could prevent it; one that blocks such a call \
                    ends the turn";
    assert_eq!(warnings(&played), [expected], "once in a run");
    assert_eq!(failure(&played).as_deref(), Some("Bash was blocked: no"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_wired_where_nobody_asks_nor_for_an_agent_without_hooks() {
    type Change = fn(RunBuilder) -> RunBuilder;
    let with_gate: Change = |run| run.hook("gate", gate(blocks("no")));
    let disabled: Change = |run| run.hook("gate", gate(blocks("no"))).bridge([]);
    let as_it_is: Change = |run| run;
    let only_after: Change = |run| run.hook("after", says("x"));
    let with_a_person: Change = |run| {
        let run = run.hook("gate", gate(blocks("no")));
        run.settings(|settings| settings.ask_timeout = Duration::from_secs(480))
    };
    let changes = [
        (with_gate, true, Some((true, false)), 542),
        (with_a_person, true, Some((true, false)), 542 + 480),
        (only_after, true, Some((false, true)), 542),
        (as_it_is, true, None, 0),
        (disabled, true, None, 0),
        (with_gate, false, None, 0),
    ];
    for (change, has_hooks, expected, time) in changes {
        let (bench, _outside, sockets) = bench();
        let seen = Arc::default();
        let agent = Hooked { work: Box::new(Looks(Arc::clone(&seen))), has_hooks };
        let run = run(&bench, &sockets, DoesNotAsk).agent(Arc::new(agent));
        bench.play(change(run)).await.unwrap();
        let request = seen.lock().unwrap().take().unwrap();
        let wanted = request.bridge.as_ref().map(|bridge| (bridge.before, bridge.after));
        assert_eq!(wanted, expected);
        let of_plan = |wanted: &str| {
            let mut found = request.env.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value);
            (found.next().unwrap().clone(), found.next().is_none())
        };
        for name in ["SAMUEL_SOCKET", "SAMUEL_TOKEN"] {
            let (value, is_alone) = of_plan(name);
            assert!(is_alone && request.bridge.as_ref().is_none_or(|bridge| variable(bridge, name) == value));
        }
        let deadline = request.bridge.map(|bridge| bridge.deadline);
        assert_eq!(deadline, expected.map(|_| Duration::from_secs(time)), "calls wait for each other");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_handler_leads_the_hooks_of_an_agent_elsewhere() {
    let (bench, _outside, sockets) = bench();
    let seen = Arc::default();
    let set = ["SAMUEL_SOCKET", "SAMUEL_TOKEN"].map(|name| (name.to_owned(), Some("mine".to_owned())));
    let steer = BeforeAgentInvokeOutput { env: set.into(), ..Default::default() };
    let run = run(&bench, &sockets, Looks(Arc::clone(&seen)))
        .hook("steer", FakeHandler::<points::BeforeAgentInvoke>::answers(steer));
    let played = bench.play(run).await.unwrap();
    let request = seen.lock().unwrap().take().unwrap();
    assert!(request.env.iter().all(|(_, value)| value != "mine"), "{:?}", request.env);
    let expected = "no agent gets these variables that handlers set: SAMUEL_SOCKET, SAMUEL_TOKEN";
    assert_eq!(warnings(&played), [expected]);
}

/// Asks, with too little time for the handlers.
struct Hurries(Arc<Mutex<Option<String>>>);

#[async_trait]
impl AsyncWork for Hurries {
    async fn work(&self, request: AgentRequest, port: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        let late = asks_within(&bridge, &bash("1"), Duration::from_millis(800)).await.unwrap_err();
        *self.0.lock().unwrap() = Some(late.to_string());
        // The bridge has denied it by itself.
        port.emit(AgentEvent::ToolCall(bash("1")));
        port.emit(AgentEvent::ToolResult(result("1", AbilityStatus::Error)));
        request.cancel.cancelled().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_hangs_is_refused_for_before_the_hook_runs_out_of_time() {
    let (bench, _outside, sockets) = bench();
    let (late, hangs) = (Arc::default(), FakeHandler::<points::AbilityBefore>::script([Act::Hang]));
    let run = run(&bench, &sockets, Hurries(Arc::clone(&late))).hook("gate", hangs.clone());
    let mut handle = run.build().unwrap().start().await.unwrap();
    assert!(handle.socket().is_some_and(Path::exists));
    let mut events = handle.events();
    while let Some(record) = events.next().await {
        let is_shown = matches!(&record.event, Event::Agent { report: AgentEvent::ToolResult(_), .. });
        if is_shown {
            handle.stop();
        }
        let warned = matches!(&record.event, Event::Warning { message } if !is_of_start(message));
        assert!(!warned, "{:?}", record.event);
    }
    let told = late.lock().unwrap().take();
    assert_eq!(told.as_deref(), Some("E_SOCKET_TIMEOUT: the handlers did not answer in time"));
    assert_eq!(hangs.count(), 1, "it was asked once");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_call_that_is_over_is_told_so() {
    let (bench, _outside, sockets) = bench();
    let (told, hangs) = (Arc::default(), FakeHandler::<points::AbilityBefore>::script([Act::Hang]));
    let run = run(&bench, &sockets, Waits(Arc::clone(&told))).hook("gate", hangs.clone());
    let handle = run.build().unwrap().start().await.unwrap();
    while hangs.count() == 0 {
        tokio::task::yield_now().await;
    }
    handle.stop();
    handle.wait().await.unwrap();
    while told.lock().unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let told = told.lock().unwrap().take().unwrap();
    assert!(["E_SOCKET_TOKEN", "E_SOCKET_UNAVAILABLE"].contains(&told.code().name), "{told}");
}

/// Tells of calls as hooks do that do not say how they ended.
struct SaysLittle(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl AsyncWork for SaysLittle {
    async fn work(&self, request: AgentRequest, port: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        asks(&bridge, &bash("call_1")).await.unwrap();
        let shown = AbilityCall { ability_id: "command_execution".to_owned(), ..bash("item_0") };
        port.emit(AgentEvent::ToolCall(shown));
        *self.0.lock().unwrap() = tells(&bridge, "call_1", None).await;
        port.emit(AgentEvent::ToolResult(AbilityResult {
            ability_id: "command_execution".to_owned(),
            ..result("item_0", AbilityStatus::Error)
        }));
        port.emit(AgentEvent::Text { text: "on".to_owned() });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hooks_do_not_say_of_a_call_the_stream_does() {
    let (bench, _outside, sockets) = bench();
    let (said, gate, after) = (Arc::default(), gate(AbilityBeforeOutput::default()), says("later"));
    let run = run(&bench, &sockets, SaysLittle(Arc::clone(&said)))
        .hook("gate", gate.clone())
        .hook("after", after.clone());
    let played = bench.play(run).await.unwrap();
    assert!(said.lock().unwrap().is_empty());
    assert_eq!((gate.count(), after.count()), (1, 1));
    let told = after.last_input().unwrap();
    assert_eq!((told.status, told.ability_id.as_str()), (AbilityStatus::Error, "Bash"));
    assert_eq!(told.call_id.as_deref(), Some("call_1"));
    assert_eq!(told.input_summary.as_deref(), Some(r#"{"command":"ls"}"#));
    assert!(warnings(&played).is_empty() && played.outcomes(HookPoint::AbilityBefore).len() == 1);
}

/// Has a bridge that is killed while its question is open, and makes the call all the same.
struct IsKilled(FakeHandler<points::AbilityBefore>, mpsc::Sender<()>);

#[async_trait]
impl AsyncWork for IsKilled {
    async fn work(&self, request: AgentRequest, port: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        port.emit(AgentEvent::ToolCall(bash("1")));
        let mut killed = UnixStream::connect(variable(&bridge, "SAMUEL_SOCKET")).unwrap();
        let hello = format!("{{\"samuel\":\"run/1\",\"token\":\"{}\"}}\n", variable(&bridge, "SAMUEL_TOKEN"));
        let asks =
            r#"{"id":1,"ability_before":{"ability_id":"Bash","call_id":"1","input":{"command":"ls"}}}"#;
        killed.write_all(format!("{hello}{asks}\n").as_bytes()).unwrap();
        while self.0.count() == 0 {
            tokio::task::yield_now().await;
        }
        drop(killed);
        port.emit(AgentEvent::ToolResult(result("1", AbilityStatus::Success)));
        self.1.send(()).unwrap();
        port.emit(AgentEvent::Text { text: "done".to_owned() });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_bridge_was_killed_counts_as_not_asked_about() {
    let (bench, _outside, sockets) = bench();
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let waits = Act::compute(move |_| {
        released.lock().unwrap().recv().unwrap();
        Ok(AbilityBeforeOutput::default())
    });
    let gate = FakeHandler::<points::AbilityBefore>::script([waits, Act::pass()]).blocking();
    let after = says("x");
    let run = run(&bench, &sockets, IsKilled(gate.clone(), release))
        .hook("gate", gate.clone())
        .hook("after", after.clone());
    let played = bench.play(run).await.unwrap();
    assert_eq!((gate.count(), after.count()), (2, 1));
    assert!(!inputs(&gate)[0].enforced, "the second time it is only told");
    let told = warnings(&played);
    assert!(told.len() == 1 && told[0].starts_with("mine called Bash without asking"), "{told:?}");
}

/// Asks with deadlines of all kinds, in its own words.
struct NamesDeadlines(Arc<Mutex<Vec<Value>>>);

#[async_trait]
impl AsyncWork for NamesDeadlines {
    async fn work(&self, request: AgentRequest, _: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        let hello = json!({"samuel": "run/1", "token": variable(&bridge, "SAMUEL_TOKEN")});
        let socket = variable(&bridge, "SAMUEL_SOCKET").to_owned();
        let asked = tokio::task::spawn_blocking(move || {
            let mut run = UnixStream::connect(socket).unwrap();
            run.set_read_timeout(Some(TIME)).unwrap();
            let mut lines = BufReader::new(run.try_clone().unwrap()).lines();
            let mut ask = |line: String| {
                run.write_all(format!("{line}\n").as_bytes()).unwrap();
                serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()
            };
            ask(hello.to_string());
            let deadlines = ["", r#","deadline_ms":0"#, r#","deadline_ms":18446744073709551615"#];
            let no_deadlines =
                [r#","deadline_ms":-1"#, r#","deadline_ms":18446744073709551616"#, r#","deadline_ms":"1""#];
            let each = deadlines.into_iter().chain(no_deadlines);
            let call = |deadline| {
                format!(r#"{{"id":1,"ability_before":{{"ability_id":"Bash","input":{{}}{deadline}}}}}"#)
            };
            each.map(|deadline| ask(call(deadline))).collect()
        });
        *self.0.lock().unwrap() = asked.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_of_zero_and_one_beyond_all_time_wait_for_the_handlers_too() {
    let (bench, _outside, sockets) = bench();
    let (told, gate) = (Arc::default(), gate(blocks("not on a Friday")));
    let run = run(&bench, &sockets, NamesDeadlines(Arc::clone(&told))).hook("gate", gate.clone());
    bench.play(run).await.unwrap();
    let told = std::mem::take(&mut *told.lock().unwrap());
    assert_eq!(told.len(), 6);
    for answer in &told[..3] {
        assert_eq!(answer["decision"], json!({"decision": "block", "reason": "not on a Friday"}), "{answer}");
    }
    for answer in &told[3..] {
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(1), &json!("E_SOCKET_MESSAGE")),
            "{answer}"
        );
    }
    assert_eq!(gate.count(), 3);
}

/// Has as many calls open as may wait, and asks about one more; then again, with one of them gone.
struct AsksTooMuch(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl AsyncWork for AsksTooMuch {
    async fn work(&self, request: AgentRequest, port: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        let mut open: Vec<_> = (0..64).map(|n| port.before_ability(bash(&n.to_string()))).collect();
        poll_fn(|context| {
            for call in &mut open {
                assert!(call.as_mut().poll(context).is_pending());
            }
            Poll::Ready(())
        })
        .await;
        let more = bash("more");
        let refused =
            async || asks_within(&bridge, &more, Duration::from_millis(800)).await.unwrap_err().to_string();
        let busy = refused().await;
        open.pop();
        // There is room once the machine has heard that nobody waits for that one any more.
        let mut late = refused().await;
        for _ in 0..100 {
            if late == busy {
                late = refused().await;
            }
        }
        *self.0.lock().unwrap() = vec![busy, late];
        request.cancel.cancelled().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_refused_while_64_others_wait_for_handlers() {
    let (bench, _outside, sockets) = bench();
    let (told, hangs) = (Arc::default(), FakeHandler::<points::AbilityBefore>::script([Act::Hang]));
    let run = run(&bench, &sockets, AsksTooMuch(Arc::clone(&told))).hook("gate", hangs);
    let handle = run.build().unwrap().start().await.unwrap();
    while told.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    handle.stop();
    handle.wait().await.unwrap();
    let expected = [
        "E_SOCKET_BUSY: too many tool calls wait for the handlers",
        "E_SOCKET_TIMEOUT: the handlers did not answer in time",
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}
