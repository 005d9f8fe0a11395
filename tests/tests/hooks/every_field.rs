//! Nothing that a handler can answer is read and ignored: every field of every
//! output has an effect that is seen where it belongs.
//!
//! The fields are those of the contract's schema, so one that is added has to get a
//! row. A row is played twice, with and without its field.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest, Script, ScriptedCall},
    clock::SystemClock,
    hook::{Call, HookFailure, HookPoint, Point, PointVisitor, RegistryBuilder},
    lifecycle::{InitOptions, Lifecycle, SyncOptions},
    model::payload::AgentInvokeOutput,
    project::Project,
    testing::{Act, Bench, FakeHandler},
};
use serde_json::{Map, Value, json};

/// What a run shows of itself, part by part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// What the run and the command tell: events, the progress log, the report.
    Told,
    /// The prompts that the agent gets.
    Prompts,
    /// The environments that it gets.
    Env,
    /// The files of the project.
    Files,
}
use Part::{Env, Files, Prompts, Told};

/// A field, an answer that has it, and what it leads to.
type Row = (&'static str, &'static str, &'static str, Part, &'static str);

/// The field as `<point>.<field>` or `<record>.<field>`, the point, the answer, where its effect
/// is seen, and as what.
const ROWS: &[Row] = &[
    ("init.before.ok", "init.before", r#"{"ok": false}"#, Told, "no reason given"),
    ("init.before.reason", "init.before", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("init.after.ok", "init.after", r#"{"ok": false}"#, Told, "no reason given"),
    ("init.after.reason", "init.after", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("sync.before.ok", "sync.before", r#"{"ok": false}"#, Told, "no reason given"),
    ("sync.before.reason", "sync.before", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("sync.before.skip", "sync.before", r#"{"skip": true}"#, Told, "skipped: Some"),
    ("sync.after.ok", "sync.after", r#"{"ok": false}"#, Told, "no reason given"),
    ("sync.after.reason", "sync.after", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("session.start.ok", "session.start", r#"{"ok": false}"#, Told, "no reason given"),
    ("session.start.reason", "session.start", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("session.start.text", "session.start", r#"{"text": [{"content": "MARK"}]}"#, Prompts, "MARK"),
    ("session.start.results", "session.start", r#"{"results": {"logs": ["MARK"]}}"#, Told, "MARK"),
    ("before:loop.ok", "before:loop", r#"{"ok": false}"#, Told, "no reason given"),
    ("before:loop.reason", "before:loop", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("before:iteration.ok", "before:iteration", r#"{"ok": false}"#, Told, "no reason given"),
    ("before:iteration.reason", "before:iteration", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("before:iteration.text", "before:iteration", r#"{"text": [{"content": "MARK"}]}"#, Prompts, "MARK"),
    ("iteration.gate.continue", "iteration.gate", r#"{"continue": false}"#, Told, "gate-stop"),
    ("iteration.gate.mode", "iteration.gate", r#"{"mode": "discovery"}"#, Told, r#""mode":"discovery""#),
    ("iteration.gate.reason", "iteration.gate", r#"{"continue": false, "reason": "MARK"}"#, Told, "MARK"),
    ("prompt.submit.block", "prompt.submit", r#"{"block": true}"#, Told, "no reason given"),
    ("prompt.submit.reason", "prompt.submit", r#"{"block": true, "reason": "MARK"}"#, Told, "MARK"),
    ("prompt.submit.results", "prompt.submit", r#"{"results": {"logs": ["MARK"]}}"#, Told, "MARK"),
    (
        "context.snapshot.toon_blob",
        "context.snapshot",
        r#"{"toon_blob": "mark: MARK"}"#,
        Prompts,
        "mark: MARK",
    ),
    ("context.progress.md_blob", "context.progress", r#"{"md_blob": "MARK"}"#, Prompts, "MARK"),
    ("context.task.toon_blob", "context.task", r#"{"toon_blob": "mark: MARK"}"#, Prompts, "mark: MARK"),
    (
        "context.extra.extras",
        "context.extra",
        r#"{"extras": [{"name": "A", "content": "MARK"}]}"#,
        Prompts,
        "MARK",
    ),
    (
        "before:agent.invoke.agent",
        "before:agent.invoke",
        r#"{"agent": "MARK"}"#,
        Told,
        r#"unknown agent \"MARK\"; those that can be called are claude"#,
    ),
    ("before:agent.invoke.prompt", "before:agent.invoke", r#"{"prompt": "MARK"}"#, Prompts, "MARK"),
    ("before:agent.invoke.env", "before:agent.invoke", r#"{"env": [["MARK", "1"]]}"#, Env, "MARK=1"),
    (
        "before:agent.invoke.sandbox",
        "before:agent.invoke",
        r#"{"sandbox": "oci"}"#,
        Told,
        r#"sandbox \"oci\" is not available yet; agents can run in host"#,
    ),
    ("before:agent.invoke.ok", "before:agent.invoke", r#"{"ok": false}"#, Told, "no reason given"),
    ("before:agent.invoke.reason", "before:agent.invoke", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("agent.invoke.exit_code", "agent.invoke", r#"{"exit_code": 3}"#, Told, "ended with exit code 3"),
    (
        "agent.invoke.stdout",
        "agent.invoke",
        r#"{"exit_code": 3, "stdout": "MARK"}"#,
        Told,
        "exit code 3: MARK",
    ),
    (
        "agent.invoke.stderr",
        "agent.invoke",
        r#"{"exit_code": 3, "stderr": "MARK"}"#,
        Told,
        "exit code 3: MARK",
    ),
    ("agent.invoke.usage", "agent.invoke", r#"{"usage": {"cost_usd": 4.25}}"#, Told, "4.25"),
    (
        "agent.invoke.failure",
        "agent.invoke",
        r#"{"failure": {"class": "agent-exit", "message": "MARK"}}"#,
        Told,
        "MARK",
    ),
    (
        "agent.invoke.logs",
        "agent.invoke",
        r#"{"exit_code": 3, "logs": ["MARK.out"]}"#,
        Told,
        r#""logs":["MARK.out"]"#,
    ),
    ("after:agent.invoke.ok", "after:agent.invoke", r#"{"ok": false}"#, Told, "no reason given"),
    ("after:agent.invoke.reason", "after:agent.invoke", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("quality.check.ok", "quality.check", r#"{"ok": false}"#, Told, "no reason given"),
    ("quality.check.reason", "quality.check", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    (
        "quality.check.failures",
        "quality.check",
        r#"{"ok": false, "failures": [{"command": "c", "message": "MARK", "tail": ""}]}"#,
        Prompts,
        "MARK",
    ),
    ("after:iteration.ok", "after:iteration", r#"{"ok": false}"#, Told, "no reason given"),
    ("after:iteration.reason", "after:iteration", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("after:iteration.text", "after:iteration", r#"{"text": [{"content": "MARK"}]}"#, Prompts, "MARK"),
    ("iteration.error.text", "iteration.error", r#"{"text": [{"content": "MARK"}]}"#, Prompts, "MARK"),
    ("task.completed.text", "task.completed", r#"{"text": [{"content": "MARK"}]}"#, Prompts, "MARK"),
    ("ability.before.block", "ability.before", r#"{"block": true}"#, Told, "ability_blocked"),
    ("ability.before.reason", "ability.before", r#"{"block": true, "reason": "MARK"}"#, Told, "MARK"),
    ("ability.before.ask", "ability.before", r#"{"ask": true}"#, Told, "ability_blocked"),
    (
        "ability.before.updated_input",
        "ability.before",
        r#"{"updated_input": {"file_path": "MARK.txt", "content": ""}}"#,
        Files,
        "MARK.txt",
    ),
    ("ability.before.results", "ability.before", r#"{"results": {"logs": ["MARK"]}}"#, Told, "MARK"),
    ("ability.after.text", "ability.after", r#"{"text": [{"content": "MARK"}]}"#, Prompts, "MARK"),
    ("ability.after.results", "ability.after", r#"{"results": {"logs": ["MARK"]}}"#, Told, "MARK"),
    ("session.stop.block", "session.stop", r#"{"block": true}"#, Told, "stop-blocked"),
    ("session.stop.reason", "session.stop", r#"{"block": true, "reason": "MARK"}"#, Prompts, "MARK"),
    ("session.stop.results", "session.stop", r#"{"results": {"logs": ["MARK"]}}"#, Told, "MARK"),
    ("after:loop.ok", "after:loop", r#"{"ok": false}"#, Told, "no reason given"),
    ("after:loop.reason", "after:loop", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("session.end.ok", "session.end", r#"{"ok": false}"#, Told, "no reason given"),
    ("session.end.reason", "session.end", r#"{"ok": false, "reason": "MARK"}"#, Told, "MARK"),
    ("TextItem.content", "after:iteration", r#"{"text": [{"content": "MARK"}]}"#, Prompts, "MARK"),
    (
        "TextItem.deliver",
        "after:iteration",
        r#"{"text": [{"content": "x", "deliver": "now"}]}"#,
        Told,
        r#""turn":"immediate""#,
    ),
    ("Extra.name", "context.extra", r#"{"extras": [{"name": "MARK", "content": "x"}]}"#, Prompts, "MARK"),
    ("Extra.content", "context.extra", r#"{"extras": [{"name": "x", "content": "MARK"}]}"#, Prompts, "MARK"),
    (
        "Extra.path",
        "context.extra",
        r#"{"extras": [{"name": "x", "content": "x", "path": "MARK.md"}]}"#,
        Files,
        "MARK.md",
    ),
    (
        "CheckFailure.command",
        "quality.check",
        r#"{"ok": false, "failures": [{"command": "MARK", "message": "x", "tail": ""}]}"#,
        Prompts,
        "MARK",
    ),
    (
        "CheckFailure.message",
        "quality.check",
        r#"{"ok": false, "failures": [{"command": "x", "message": "MARK", "tail": ""}]}"#,
        Prompts,
        "MARK",
    ),
    (
        "CheckFailure.exit_code",
        "quality.check",
        r#"{"ok": false, "failures": [{"command": "x", "message": "x", "tail": "", "exit_code": 97}]}"#,
        Told,
        r#""exit_code":97"#,
    ),
    (
        "CheckFailure.tail",
        "quality.check",
        r#"{"ok": false, "failures": [{"command": "x", "message": "x", "tail": "MARK"}]}"#,
        Prompts,
        "MARK",
    ),
    (
        "CheckFailure.log",
        "quality.check",
        r#"{"ok": false, "failures": [{"command": "x", "message": "x", "tail": "", "log": "MARK.out"}]}"#,
        Told,
        "MARK.out",
    ),
    ("Usage.input_tokens", "agent.invoke", r#"{"usage": {"input_tokens": 7654321}}"#, Told, "7654321"),
    ("Usage.output_tokens", "agent.invoke", r#"{"usage": {"output_tokens": 7654321}}"#, Told, "7654321"),
    ("Usage.cached_tokens", "agent.invoke", r#"{"usage": {"cached_tokens": 7654321}}"#, Told, "7654321"),
    ("Usage.cost_usd", "agent.invoke", r#"{"usage": {"cost_usd": 4.25}}"#, Told, "4.25"),
    (
        "AgentFailure.class",
        "agent.invoke",
        r#"{"failure": {"class": "agent-timeout", "message": "x"}}"#,
        Told,
        "agent-timeout",
    ),
    (
        "AgentFailure.message",
        "agent.invoke",
        r#"{"failure": {"class": "agent-exit", "message": "MARK"}}"#,
        Told,
        "MARK",
    ),
    (
        "AgentFailure.resets_at",
        "agent.invoke",
        r#"{"failure": {"class": "rate-limit", "message": "x", "resets_at": "2099-01-01T00:00:00Z"}}"#,
        Told,
        "the agent's usage limit lasts until 2099-01-01",
    ),
    ("HookResults.logs", "session.start", r#"{"results": {"logs": ["MARK"]}}"#, Told, "MARK"),
    (
        "HookResults.messages_to_user",
        "session.start",
        r#"{"results": {"messages_to_user": ["MARK"]}}"#,
        Told,
        "MARK",
    ),
    (
        "HookResults.suggested_abilities",
        "prompt.submit",
        r#"{"results": {"suggested_abilities": [{"id": "MARK", "reason": "x"}]}}"#,
        Prompts,
        "MARK",
    ),
    (
        "HookResults.suggested_documents",
        "prompt.submit",
        r#"{"results": {"suggested_documents": [{"path": "MARK", "reason": "x"}]}}"#,
        Prompts,
        "MARK",
    ),
    (
        "HookResults.follow_up_actions",
        "session.start",
        r#"{"results": {"follow_up_actions": [{"type": "MARK"}]}}"#,
        Told,
        "MARK",
    ),
    (
        "HookResults.new_intent",
        "session.start",
        r#"{"results": {"new_intent": {"topic": "MARK"}}}"#,
        Told,
        "MARK",
    ),
    (
        "HookResults.usage_recorded",
        "session.start",
        r#"{"results": {"usage_recorded": true}}"#,
        Told,
        r#""usage_recorded":true"#,
    ),
    (
        "HookResults.block_execution",
        "session.start",
        r#"{"results": {"block_execution": true}}"#,
        Told,
        r#""block_execution":true"#,
    ),
    (
        "SuggestedAbility.id",
        "prompt.submit",
        r#"{"results": {"suggested_abilities": [{"id": "MARK", "reason": "x"}]}}"#,
        Prompts,
        "MARK",
    ),
    (
        "SuggestedAbility.reason",
        "prompt.submit",
        r#"{"results": {"suggested_abilities": [{"id": "x", "reason": "MARK"}]}}"#,
        Prompts,
        "MARK",
    ),
    (
        "SuggestedAbility.confidence",
        "prompt.submit",
        r#"{"results": {"suggested_abilities": [{"id": "x", "reason": "x", "confidence": 0.8125}]}}"#,
        Told,
        "0.8125",
    ),
    (
        "SuggestedDocument.path",
        "prompt.submit",
        r#"{"results": {"suggested_documents": [{"path": "MARK", "reason": "x"}]}}"#,
        Prompts,
        "MARK",
    ),
    (
        "SuggestedDocument.reason",
        "prompt.submit",
        r#"{"results": {"suggested_documents": [{"path": "x", "reason": "MARK"}]}}"#,
        Prompts,
        "MARK",
    ),
    (
        "SuggestedDocument.confidence",
        "prompt.submit",
        r#"{"results": {"suggested_documents": [{"path": "x", "reason": "x", "confidence": 0.8125}]}}"#,
        Told,
        "0.8125",
    ),
];

/// How long the two runs of a row may take, generously.
const LIMIT: Duration = Duration::from_secs(30);

/// Lists the fields of all outputs and of the records in them, as the schema has them.
/// `extensions` are room for later versions, and nothing of this one.
fn fields() -> BTreeSet<String> {
    let schema: Value = serde_json::from_str(include_str!("../../../wit/payloads.schema.json")).unwrap();
    let properties =
        |name: &str| schema["$defs"][name]["properties"].as_object().cloned().unwrap_or_default();
    let mut open: Vec<(String, String)> = HookPoint::ALL
        .iter()
        .map(|point| (point.to_string(), format!("{}Output", samuel_name(*point))))
        .collect();
    let (mut fields, mut known) = (BTreeSet::new(), BTreeSet::new());
    while let Some((shown, name)) = open.pop() {
        for (field, holds) in properties(&name).into_iter().filter(|(field, _)| field != "extensions") {
            fields.insert(format!("{shown}.{field}"));
            let holds = holds.to_string();
            for part in holds.split("#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
                if known.insert(part.to_owned()) {
                    open.push((part.to_owned(), part.to_owned()));
                }
            }
        }
    }
    fields
}

/// Returns a point's name in the names of its records, such as `BeforeAgentInvoke`.
fn samuel_name(point: HookPoint) -> String {
    let upper =
        |word: &str| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
    point.as_str().split([':', '.']).map(upper).collect::<Vec<String>>().concat()
}

/// Registers a handler that gives an answer.
struct Answering<'a>(&'a Value, &'a mut RegistryBuilder);

impl PointVisitor for Answering<'_> {
    type Out = ();

    fn visit<P: Point>(self) {
        let answer = self.0.clone();
        let act = Act::<P>::compute(move |_: &Call<P>| {
            let mut whole = serde_json::to_value(P::Output::default())?;
            if let (Value::Object(whole), Value::Object(fields)) = (&mut whole, &answer) {
                whole.extend(fields.clone());
            }
            Ok::<_, HookFailure>(serde_json::from_value(whole)?)
        });
        self.1.api::<P, _>("row", None, FakeHandler::always(act));
    }
}

/// The scripted agent, with a list of what it was called with.
#[derive(Debug)]
struct Listening(Arc<dyn Agent>, Arc<Mutex<Vec<AgentRequest>>>);

#[async_trait]
impl Agent for Listening {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        self.1.lock().unwrap().push(request.clone());
        self.0.invoke(request, port).await
    }
}

/// Plays a run, or the commands around it, and returns what a part shows.
async fn seen(point: HookPoint, answer: &Value, part: Part) -> String {
    let config = "[methodology.ralph]\nmax_iterations = 2\nrate_limit = \"stop\"\nrate_limit_wait = \"1s\"\n";
    let bench = Bench::builder()
        .task("1", "First")
        .task("2", "Second")
        .config(config)
        .clock(SystemClock::new())
        .build()
        .unwrap();
    let register = |registry: &mut RegistryBuilder| point.visit(Answering(answer, registry));
    if point.as_str().starts_with("init.") || point.as_str().starts_with("sync.") {
        let open = || Project::open(bench.path(), None, Arc::new(SystemClock::new())).unwrap();
        let made = Lifecycle::builder(open()).register(register).build().unwrap();
        let init = made.init(&InitOptions { force: true, ..InitOptions::default() }).await;
        let made = Lifecycle::builder(open()).register(register).build().unwrap();
        return format!("{init:?}\n{:?}", made.sync(&SyncOptions { dry_run: false }).await);
    }
    let call = ScriptedCall::any().repeated().write("made.txt", "{{task_id}}").done();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let agent = Listening(bench.agent(Script::default().call(call)), Arc::clone(&requests));
    let mut run = bench.run(Script::default()).agent(Arc::new(agent)).register(register);
    if point == HookPoint::IterationError {
        let refuses = json!({"ok": false});
        run = run.register(|registry| HookPoint::QualityCheck.visit(Answering(&refuses, registry)));
    }
    let played = bench.play(run).await.unwrap();
    let requests = requests.lock().unwrap();
    match part {
        Prompts => requests.iter().map(|request| request.prompt.clone()).collect(),
        Env => {
            requests.iter().flat_map(|request| &request.env).fold(String::new(), |mut all, (name, value)| {
                let _ = writeln!(all, "{name}={value}");
                all
            })
        }
        Files => files_below(bench.path()),
        Told => {
            let events: Vec<_> = played.events.iter().map(|record| json!(record.event).to_string()).collect();
            format!("{}\n{}", events.join("\n"), bench.progress().unwrap())
        }
    }
}

fn files_below(directory: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let _ = writeln!(all, "{}", entry.path().display());
        if entry.file_type().unwrap().is_dir() {
            all += &files_below(&entry.path());
        }
    }
    all
}

/// Takes a field out of an answer, however deep it is.
fn without(answer: &Value, field: &str) -> Value {
    let kept = |fields: &Map<String, Value>| {
        let rest = fields.iter().filter(|(name, _)| *name != field);
        Value::Object(rest.map(|(name, value)| (name.clone(), without(value, field))).collect())
    };
    match answer {
        Value::Object(fields) => kept(fields),
        Value::Array(items) => items.iter().map(|item| without(item, field)).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_field_of_an_output_has_a_row_of_its_effect() {
    let rows: BTreeSet<String> = ROWS.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(rows.len(), ROWS.len(), "a field has two rows");
    assert_eq!(rows, fields());
}

#[tokio::test]
async fn no_field_of_an_output_is_read_and_ignored() {
    let mut ignored = Vec::new();
    for (field, point, answer, part, effect) in ROWS {
        let point: HookPoint = point.parse().unwrap();
        let answer: Value = serde_json::from_str(answer).unwrap();
        let name = field.rsplit('.').next().unwrap();
        let runs =
            async { (seen(point, &answer, *part).await, seen(point, &without(&answer, name), *part).await) };
        let Ok((with, without)) = tokio::time::timeout(LIMIT, runs).await else {
            ignored.push(format!("{field}: the run does not end"));
            continue;
        };
        if !with.contains(effect) || without.contains(effect) {
            let (with, without) = (with.contains(effect), without.contains(effect));
            ignored.push(format!("{field}: seen with it: {with}, without it: {without}"));
        }
    }
    assert!(ignored.is_empty(), "{ignored:#?}");
}
