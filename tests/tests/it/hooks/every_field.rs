//! Nothing that a handler can answer is read and ignored: every field of every
//! output has an effect that is seen where it belongs.
//!
//! The fields are those of the contract's schema, so one that is added has to get a
//! row. A row is played twice, with and without its field; an answer that several rows have is played once. By default
//! an answer without the text that is looked for is not played, with `SAMUEL_LONG=1` it is.

use std::{
    collections::{BTreeMap, BTreeSet},
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
struct Row {
    /// The field as `<point>.<field>` or `<record>.<field>`.
    field: String,
    point: HookPoint,
    answer: Value,
    part: Part,
    /// How the effect is seen there.
    effect: &'static str,
}

/// The points that take a verdict with a reason.
const VERDICTS: &str = "init.before init.after sync.before sync.after session.start before:loop before:iteration \
     before:agent.invoke after:agent.invoke quality.check after:iteration after:loop session.end";

/// The points, or a record and the point that is played, the field, the answer, where its effect
/// is seen, and as what.
const ROWS: &str = r#"
VERDICTS | ok | {"ok": false} | told | no reason given
VERDICTS | reason | {"ok": false, "reason": "MARK"} | told | MARK
sync.before | skip | {"skip": true} | told | skipped: Some
session.start before:iteration after:iteration iteration.error task.completed ability.after | text | {"text": [{"content": "MARK"}]} | prompts | MARK
session.start prompt.submit ability.before ability.after session.stop | results | {"results": {"logs": ["MARK"]}} | told | MARK
iteration.gate | continue | {"continue": false} | told | gate-stop
iteration.gate | mode | {"mode": "discovery"} | told | "mode":"discovery"
iteration.gate | reason | {"continue": false, "reason": "MARK"} | told | MARK
prompt.submit | block | {"block": true} | told | no reason given
prompt.submit ability.before | reason | {"block": true, "reason": "MARK"} | told | MARK
context.snapshot context.task | toon_blob | {"toon_blob": "mark: MARK"} | prompts | mark: MARK
context.progress | md_blob | {"md_blob": "MARK"} | prompts | MARK
context.extra | extras | {"extras": [{"name": "A", "content": "MARK"}]} | prompts | MARK
before:agent.invoke | agent | {"agent": "MARK"} | told | unknown agent \"MARK\"; those that can be called are claude
before:agent.invoke | prompt | {"prompt": "MARK"} | prompts | MARK
before:agent.invoke | env | {"env": [["MARK", "1"]]} | env | MARK=1
before:agent.invoke | sandbox | {"sandbox": "oci"} | told | sandbox \"oci\" cannot be used
agent.invoke | exit_code | {"exit_code": 3} | told | ended with exit code 3
agent.invoke | stdout | {"exit_code": 3, "stdout": "MARK"} | told | exit code 3: MARK
agent.invoke | stderr | {"exit_code": 3, "stderr": "MARK"} | told | exit code 3: MARK
agent.invoke | usage | {"usage": {"cost_usd": 4.25}} | told | 4.25
agent.invoke | failure | {"failure": {"class": "agent-exit", "message": "MARK"}} | told | MARK
agent.invoke | logs | {"exit_code": 3, "logs": ["MARK.out"]} | told | "logs":["MARK.out"]
quality.check | failures | {"ok": false, "failures": [{"command": "c", "message": "MARK", "tail": ""}]} | prompts | MARK
ability.before | block | {"block": true} | told | ability_blocked
ability.before | ask | {"ask": true} | told | ability_blocked
ability.before | updated_input | {"updated_input": {"file_path": "MARK.txt", "content": ""}} | files | MARK.txt
session.stop | block | {"block": true} | told | stop-blocked
session.stop | reason | {"block": true, "reason": "MARK"} | prompts | MARK
TextItem at after:iteration | content | {"text": [{"content": "MARK"}]} | prompts | MARK
TextItem at after:iteration | deliver | {"text": [{"content": "x", "deliver": "now"}]} | told | "turn":"immediate"
Extra at context.extra | name | {"extras": [{"name": "MARK", "content": "x"}]} | prompts | MARK
Extra at context.extra | content | {"extras": [{"name": "x", "content": "MARK"}]} | prompts | MARK
Extra at context.extra | path | {"extras": [{"name": "x", "content": "x", "path": "MARK.md"}]} | files | MARK.md
CheckFailure at quality.check | command | {"ok": false, "failures": [{"command": "MARK", "message": "x", "tail": ""}]} | prompts | MARK
CheckFailure at quality.check | message | {"ok": false, "failures": [{"command": "x", "message": "MARK", "tail": ""}]} | prompts | MARK
CheckFailure at quality.check | exit_code | {"ok": false, "failures": [{"command": "x", "message": "x", "tail": "", "exit_code": 97}]} | told | "exit_code":97
CheckFailure at quality.check | tail | {"ok": false, "failures": [{"command": "x", "message": "x", "tail": "MARK"}]} | prompts | MARK
CheckFailure at quality.check | log | {"ok": false, "failures": [{"command": "x", "message": "x", "tail": "", "log": "MARK.out"}]} | told | MARK.out
Usage at agent.invoke | input_tokens | {"usage": {"input_tokens": 7654321}} | told | 7654321
Usage at agent.invoke | output_tokens | {"usage": {"output_tokens": 7654321}} | told | 7654321
Usage at agent.invoke | cached_tokens | {"usage": {"cached_tokens": 7654321}} | told | 7654321
Usage at agent.invoke | cost_usd | {"usage": {"cost_usd": 4.25}} | told | 4.25
AgentFailure at agent.invoke | class | {"failure": {"class": "agent-timeout", "message": "x"}} | told | agent-timeout
AgentFailure at agent.invoke | message | {"failure": {"class": "agent-exit", "message": "MARK"}} | told | MARK
AgentFailure at agent.invoke | resets_at | {"failure": {"class": "rate-limit", "message": "x", "resets_at": "2099-01-01T00:00:00Z"}} | told | the agent's usage limit lasts until 2099-01-01
HookResults at session.start | logs | {"results": {"logs": ["MARK"]}} | told | MARK
HookResults at session.start | messages_to_user | {"results": {"messages_to_user": ["MARK"]}} | told | MARK
HookResults at prompt.submit | suggested_abilities | {"results": {"suggested_abilities": [{"id": "MARK", "reason": "x"}]}} | prompts | MARK
HookResults at prompt.submit | suggested_documents | {"results": {"suggested_documents": [{"path": "MARK", "reason": "x"}]}} | prompts | MARK
HookResults at session.start | follow_up_actions | {"results": {"follow_up_actions": [{"type": "MARK"}]}} | told | MARK
HookResults at session.start | new_intent | {"results": {"new_intent": {"topic": "MARK"}}} | told | MARK
HookResults at session.start | usage_recorded | {"results": {"usage_recorded": true}} | told | "usage_recorded":true
HookResults at session.start | block_execution | {"results": {"block_execution": true}} | told | "block_execution":true
SuggestedAbility at prompt.submit | id | {"results": {"suggested_abilities": [{"id": "MARK", "reason": "x"}]}} | prompts | MARK
SuggestedAbility at prompt.submit | reason | {"results": {"suggested_abilities": [{"id": "x", "reason": "MARK"}]}} | prompts | MARK
SuggestedAbility at prompt.submit | confidence | {"results": {"suggested_abilities": [{"id": "x", "reason": "x", "confidence": 0.8125}]}} | told | 0.8125
SuggestedDocument at prompt.submit | path | {"results": {"suggested_documents": [{"path": "MARK", "reason": "x"}]}} | prompts | MARK
SuggestedDocument at prompt.submit | reason | {"results": {"suggested_documents": [{"path": "x", "reason": "MARK"}]}} | prompts | MARK
SuggestedDocument at prompt.submit | confidence | {"results": {"suggested_documents": [{"path": "x", "reason": "x", "confidence": 0.8125}]}} | told | 0.8125
"#;

/// Reads the rows: one for each point of a line.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for line in ROWS.trim().lines() {
        let [places, field, answer, part, effect] =
            line.split(" | ").collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{line}"));
        let places = if places == "VERDICTS" { VERDICTS } else { places };
        let places: Vec<(&str, &str)> = match places.split_once(" at ") {
            Some(record_and_point) => vec![record_and_point],
            None => places.split(' ').map(|point| (point, point)).collect(),
        };
        let part = match part {
            "told" => Told,
            "prompts" => Prompts,
            "env" => Env,
            "files" => Files,
            other => panic!("{other}: {line}"),
        };
        rows.extend(places.into_iter().map(|(owner, point)| Row {
            field: format!("{owner}.{field}"),
            point: point.parse().unwrap(),
            answer: serde_json::from_str(answer).unwrap(),
            part,
            effect,
        }));
    }
    rows
}

/// A text that is in an answer of a row, and nowhere else.
const MARK: &str = "MARK";

/// How long a run may take, generously.
const LIMIT: Duration = Duration::from_secs(30);

/// Lists the fields of all outputs and of the records in them, as the schema has them.
/// `extensions` are room for later versions, and nothing of this one.
fn fields() -> BTreeSet<String> {
    let schema: Value = serde_json::from_str(include_str!("../../../../wit/payloads.schema.json")).unwrap();
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

/// What a run shows, part by part.
#[derive(Default)]
struct Seen {
    told: String,
    prompts: String,
    env: String,
    files: String,
}

impl Seen {
    fn part(&self, part: Part) -> &str {
        match part {
            Told => &self.told,
            Prompts => &self.prompts,
            Env => &self.env,
            Files => &self.files,
        }
    }
}

/// Plays a run, or the commands around it, and returns what it shows.
async fn seen(point: HookPoint, answer: &Value) -> Seen {
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
        let told = format!("{init:?}\n{:?}", made.sync(&SyncOptions { dry_run: false }).await);
        return Seen { told, ..Seen::default() };
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
    let prompts = requests.iter().map(|request| request.prompt.clone()).collect();
    let env =
        requests.iter().flat_map(|request| &request.env).fold(String::new(), |mut all, (name, value)| {
            let _ = writeln!(all, "{name}={value}");
            all
        });
    let files = files_below(bench.path());
    let events: Vec<_> = played.events.iter().map(|record| json!(record.event).to_string()).collect();
    let told = format!("{}\n{}", events.join("\n"), bench.progress().unwrap());
    Seen { told, prompts, env, files }
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
    let rows: Vec<String> = rows().into_iter().map(|row| row.field).collect();
    let named: BTreeSet<String> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), named.len(), "a field has two rows");
    assert_eq!(named, fields());
}

// Takes about 25 s: 115 answers are played, each in a run of its own.
#[tokio::test]
async fn no_field_of_an_output_is_read_and_ignored() {
    let is_long = std::env::var_os("SAMUEL_LONG").is_some();
    let (mut ignored, mut known) = (Vec::new(), BTreeMap::<String, Option<Seen>>::new());
    for Row { field, point, answer, part, effect } in rows() {
        let without = without(&answer, field.rsplit('.').next().unwrap());
        let mut shows = Vec::new();
        for answer in [answer, without] {
            let text = answer.to_string();
            if !is_long && effect.contains(MARK) && !text.contains(MARK) {
                shows.push(Some(false));
                continue;
            }
            let key = format!("{point} {text}");
            let run = match known.remove(&key) {
                Some(run) => run,
                None => tokio::time::timeout(LIMIT, seen(point, &answer)).await.ok(),
            };
            shows.push(run.as_ref().map(|run| run.part(part).contains(effect)));
            known.insert(key, run);
        }
        let [Some(with), Some(without)] = shows[..] else {
            ignored.push(format!("{field}: the run does not end"));
            continue;
        };
        if !with || without {
            ignored.push(format!("{field}: seen with it: {with}, without it: {without}"));
        }
    }
    assert!(ignored.is_empty(), "{ignored:#?}");
}
