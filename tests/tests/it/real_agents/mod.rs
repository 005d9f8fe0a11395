//! The adapters with the real command lines, against a scripted model.
//!
//! Each agent is installed from npm on the first run; where that is not possible
//! its tests print `skipped:` and the reason. Gemini CLI and Copilot are started with `SAMUEL_LONG=1` only.

use std::{
    env, fs,
    num::NonZero,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use samuel_core::{
    agent::{
        self, AbilityCall, AbilityDecision, AbilityResult, Agent, AgentClocks, AgentConfig, AgentError,
        AgentEvent, AgentPort, AgentRequest, ConversationId,
    },
    environment::compose_env,
    fs::Root,
    hook::{CallLogs, points},
    model::{
        Usage,
        payload::{AbilityStatus, AgentInvokeOutput, IterationErrorOutput, TextItem, Turn},
    },
    process::{Supervisor, supervisor_main},
    sandbox::Host,
    testing::{Bench, FakeHandler},
};
use samuel_tests::{
    model_server::{Block, ModelServer, Protocol, Reply, Script, Tokens},
    real_agent::{RealAgent, installed},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

mod hooks;
mod repository_hooks;

const ROLE: &str = "as-supervisor";
const PROMPT: &str = "Write hi into made.txt. Ωμέγα \"quoted\" $HOME";

/// Not a test of its own: the supervisor of all others. The harness takes the
/// role for one more filter, which matches nothing.
#[test]
fn supervisor_entry() {
    if env::args().any(|arg| arg == ROLE) {
        supervisor_main();
    }
}

fn supervisor() -> Supervisor {
    let args = ["real_agents::supervisor_entry", "--exact", "--nocapture", ROLE].map(Into::into).to_vec();
    Supervisor::SelfExec { program: env::current_exe().unwrap(), args }
}

#[derive(Default)]
struct Recorder(Mutex<Vec<AgentEvent>>);

#[async_trait]
impl AgentPort for Recorder {
    fn emit(&self, event: AgentEvent) {
        self.0.lock().unwrap().push(event);
    }

    async fn supervised_by(&self, _: u32, _: u64) {}

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        AbilityDecision::Allow { input: call.input }
    }

    async fn after_ability(&self, _: AbilityResult) -> Vec<String> {
        Vec::new()
    }
}

/// What a call came to.
struct Called {
    outcome: Result<AgentInvokeOutput, AgentError>,
    events: Vec<AgentEvent>,
    server: ModelServer,
    project: tempfile::TempDir,
    raw: String,
}

/// Runs a real agent with an empty home against a script; `None` where it
/// cannot be installed.
async fn call(real: RealAgent, script: Script) -> Option<Called> {
    call_within(AgentClocks { wall: Some(Duration::from_secs(120)), ..AgentClocks::default() }, real, script)
        .await
}

/// Does the same with clocks of the caller's.
async fn call_within(clocks: AgentClocks, real: RealAgent, script: Script) -> Option<Called> {
    let Bed { agent, host, server, home, project, .. } = Bed::new(clocks, real, script).await?;
    let [out, err] = ["agent.out", "agent.err"].map(|name| home.path().join(name));
    let logs = CallLogs { out, err, root: Root::new(home.path()), secrets: Arc::default() };
    let request =
        AgentRequest { logs: Some(logs.clone()), ..request(&*agent, &host, project.path(), PROMPT) };
    let port = Recorder::default();
    let outcome = agent.invoke(request, &port).await;
    assert_eq!(fs::metadata(&logs.out).unwrap().mode() & 0o777, 0o600);
    let raw = fs::read_to_string(&logs.out).unwrap() + &fs::read_to_string(&logs.err).unwrap();
    let events = port.0.into_inner().unwrap();
    Some(Called { outcome, events, server, project, raw })
}

/// A real agent with an empty home, and the model that it asks.
struct Bed {
    agent: Arc<dyn Agent>,
    command: Vec<String>,
    args: Vec<String>,
    host: Vec<(String, String)>,
    server: ModelServer,
    home: tempfile::TempDir,
    project: tempfile::TempDir,
}

impl Bed {
    async fn new(clocks: AgentClocks, real: RealAgent, script: Script) -> Option<Self> {
        Self::with_model(clocks, real, script, None).await
    }

    /// Does the same with a model that the configuration names.
    async fn with_model(
        clocks: AgentClocks,
        real: RealAgent,
        script: Script,
        model: Option<&str>,
    ) -> Option<Self> {
        let program = installed(real).await?;
        let server = ModelServer::start(script).await.unwrap();
        let (home, project) =
            (tempfile::tempdir_in("/var/tmp").unwrap(), tempfile::tempdir_in("/var/tmp").unwrap());
        let host = real.env(home.path(), &server.url());
        let config = AgentConfig {
            command: vec![program.display().to_string()],
            args: match model {
                Some(_) => real.server_args(&server.url()),
                None => real.model_args(&server.url()),
            },
            model: model.map(str::to_owned),
            clocks,
            ..AgentConfig::new(real.name())
        };
        let agent = agent::build(&config, supervisor()).unwrap();
        agent.check(&host, project.path()).unwrap();
        let AgentConfig { command, args, .. } = config;
        Some(Self { agent, command, args, host, server, home, project })
    }
}

fn request(agent: &dyn Agent, host: &[(String, String)], project: &Path, prompt: &str) -> AgentRequest {
    AgentRequest {
        program: None,
        prompt: prompt.to_owned(),
        // The variables reach the agent only because its adapter declares them.
        env: compose_env(host.iter().cloned(), agent.declared_env(), &[], &[]),
        project_root: project.to_owned(),
        sandbox: Arc::new(Host),
        logs: None,
        iteration: 1,
        turn: Turn::Main,
        task: None,
        conversation: None,
        bridge: None,
        cancel: CancellationToken::new(),
    }
}

/// Says something and calls the agent's own shell to write a file, then ends.
fn writing(tool: &str, input: Value) -> Script {
    let tokens = Tokens { fresh: 100, cached: 20, output: 10 };
    let first = Reply::blocks([Block::Text("I write the file.".into()), Block::tool(tool, input)]);
    Script::replies([first.with_tokens(tokens), Reply::text("All done.").with_tokens(tokens)])
}

/// Checks what every agent must give for [`writing`]; returns its output.
fn assert_wrote(called: &Called, protocol: Protocol, tool: &str) -> AgentInvokeOutput {
    let output = called.outcome.as_ref().unwrap_or_else(|error| panic!("{error:?}\n{}", called.raw)).clone();
    assert_eq!(output.exit_code, 0);
    assert_eq!(fs::read_to_string(called.project.path().join("made.txt")).unwrap(), "hi\n");
    assert!(output.stdout.contains("All done."), "{}", output.stdout);

    let events = &called.events;
    assert!(matches!(events.first(), Some(AgentEvent::Ready { .. })), "{events:?}");
    let said = |text: &str| events.contains(&AgentEvent::Text { text: text.to_owned() });
    assert!(said("I write the file.") && said("All done."), "{events:?}");
    let is_call =
        |event: &&AgentEvent| matches!(event, AgentEvent::ToolCall(call) if call.ability_id == tool);
    let is_result = |event: &&AgentEvent| matches!(event, AgentEvent::ToolResult(end) if end.ability_id == tool && end.status == AbilityStatus::Success);
    assert_eq!(events.iter().filter(is_call).count(), 1, "{events:?}");
    assert_eq!(events.iter().filter(is_result).count(), 1, "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, AgentEvent::Unreadable { .. })), "{events:?}");

    let requests = called.server.requests();
    assert!(requests.len() >= 2 && requests.iter().all(|request| request.protocol == protocol));
    assert!(requests.iter().any(|request| request.mentions(PROMPT)), "the prompt arrives as it is");
    output
}

const TWO_REQUESTS: Usage = Usage { input_tokens: 240, output_tokens: 20, cached_tokens: 40, cost_usd: None };

#[tokio::test]
async fn claude_uses_a_tool_and_reports_usage_and_cost() {
    let script = writing("Bash", json!({"command": "echo hi > made.txt", "description": "writes"}));
    let Some(called) = call(RealAgent::Claude, script).await else { return };
    let usage = assert_wrote(&called, Protocol::AnthropicMessages, "Bash").usage.unwrap();
    assert!(usage.cost_usd.is_some_and(|cost| cost > 0.0), "{usage:?}");
    assert_eq!(Usage { cost_usd: None, ..usage }, TWO_REQUESTS);
}

#[tokio::test]
async fn codex_uses_a_tool_and_reports_usage() {
    let script = writing("exec_command", json!({"cmd": "echo hi > made.txt"}));
    let Some(called) = call(RealAgent::Codex, script).await else { return };
    let output = assert_wrote(&called, Protocol::OpenAiResponses, "command_execution");
    assert_eq!(output.usage, Some(TWO_REQUESTS));
}

#[tokio::test]
async fn gemini_uses_a_tool_and_reports_usage() {
    let script =
        writing("run_shell_command", json!({"command": "echo hi > made.txt", "description": "writes"}));
    let Some(called) = call(RealAgent::Gemini, script).await else { return };
    let output = assert_wrote(&called, Protocol::GeminiContent, "run_shell_command");
    assert_eq!(output.usage, Some(TWO_REQUESTS));
}

#[tokio::test]
async fn copilot_uses_a_tool() {
    let script = writing("bash", json!({"command": "echo hi > made.txt", "description": "writes"}));
    let Some(called) = call(RealAgent::Copilot, script).await else { return };
    assert_wrote(&called, Protocol::OpenAiResponses, "bash");
}

#[tokio::test]
async fn the_model_that_is_configured_is_the_one_that_is_asked() {
    for (real, model) in [
        (RealAgent::Claude, "claude-opus-4-5"),
        (RealAgent::Codex, "gpt-5.1-codex"),
        (RealAgent::Gemini, "gemini-2.5-pro"),
        (RealAgent::Copilot, "gpt-5.1"),
    ] {
        let script = Script::function(|_| Reply::text("Heard."));
        let Some(bed) = Bed::with_model(WALL, real, script, Some(model)).await else { continue };
        let request = request(&*bed.agent, &bed.host, bed.project.path(), PROMPT);
        bed.agent.invoke(request, &Recorder::default()).await.unwrap();
        let requests = bed.server.requests();
        let asked: Vec<&str> = requests.iter().map(|request| request.model.as_str()).collect();
        assert!(!asked.is_empty() && asked.iter().all(|asked| *asked == model), "{real:?}: {asked:?}");
    }
}

#[tokio::test]
async fn a_refusal_for_too_many_requests_is_a_rate_limit() {
    for real in [RealAgent::Claude, RealAgent::Codex] {
        let script = Script::function(|_| Reply::refusal(429, "rate_limit_error", "too many requests"));
        let Some(called) = call(real, script).await else { continue };
        let error = called.outcome.unwrap_err();
        assert!(matches!(error, AgentError::RateLimited { .. }), "{error:?}\n{}", called.raw);
        assert!(called.events.iter().any(|event| matches!(event, AgentEvent::RateLimited { .. })));
    }
}

#[tokio::test]
async fn a_refusal_for_another_reason_is_a_failure_the_agent_reports() {
    for real in [RealAgent::Claude, RealAgent::Codex, RealAgent::Gemini, RealAgent::Copilot] {
        let script = Script::function(|_| Reply::refusal(400, "invalid_request_error", "no such thing"));
        let Some(called) = call(real, script).await else { continue };
        let error = called.outcome.unwrap_err();
        assert!(
            matches!(&error, AgentError::Reported { message, .. } if message.contains("no such thing")),
            "{error:?}\n{}",
            called.raw
        );
    }
}

#[tokio::test]
async fn a_model_that_never_answers_ends_at_the_idle_clock() {
    let clocks = AgentClocks { idle: Some(Duration::from_secs(2)), ..AgentClocks::default() };
    let script = Script::function(|_| Reply::Silence);
    let Some(called) = call_within(clocks, RealAgent::Codex, script).await else { return };
    let error = called.outcome.unwrap_err();
    assert!(matches!(error, AgentError::Clock { clock: "idle", .. }), "{error:?}");
}

const WALL: AgentClocks =
    AgentClocks { wall: Some(Duration::from_secs(120)), first_byte: None, idle: None, linger: None };
const SECOND: &str = "The checks failed: look at them.";

/// Holds that an agent goes on in its conversation, and reports what the second call consumed.
async fn goes_on(real: RealAgent) {
    let tokens = Tokens { fresh: 100, cached: 20, output: 10 };
    let script = Script::function(move |_| Reply::text("Heard.").with_tokens(tokens));
    let Some(bed) = Bed::new(WALL, real, script).await else { return };
    let mut conversation = None;
    for prompt in [PROMPT, SECOND] {
        let port = Recorder::default();
        let request = request(&*bed.agent, &bed.host, bed.project.path(), prompt);
        let outcome =
            bed.agent.invoke(AgentRequest { conversation: conversation.clone(), ..request }, &port).await;
        let output = outcome.unwrap_or_else(|error| panic!("{real:?}: {prompt}: {error:?}"));
        let one = Usage { input_tokens: 120, output_tokens: 10, cached_tokens: 20, cost_usd: None };
        if real != RealAgent::Copilot {
            let usage = output.usage.unwrap();
            assert_eq!(Usage { cost_usd: None, ..usage }, one, "{real:?}: {prompt}");
        }
        let events = port.0.into_inner().unwrap();
        let named = events.iter().rev().find_map(|event| match event {
            AgentEvent::Ready { session_id: Some(id), .. } => Some(ConversationId::new(id.clone()).unwrap()),
            _ => None,
        });
        conversation = Some(named.unwrap_or_else(|| panic!("{real:?}: {events:?}")));
    }
    let requests = bed.server.requests();
    let second: Vec<_> = requests.iter().filter(|request| request.mentions(SECOND)).collect();
    assert!(!second.is_empty() && second.iter().all(|request| request.mentions(PROMPT)), "{real:?}");
}

#[tokio::test]
async fn claude_goes_on_in_its_conversation() {
    goes_on(RealAgent::Claude).await;
}

#[tokio::test]
async fn codex_goes_on_in_its_conversation() {
    goes_on(RealAgent::Codex).await;
}

#[tokio::test]
async fn gemini_goes_on_in_its_conversation() {
    goes_on(RealAgent::Gemini).await;
}

#[tokio::test]
async fn copilot_goes_on_in_its_conversation() {
    goes_on(RealAgent::Copilot).await;
}

#[tokio::test]
async fn a_conversation_that_is_not_there_is_lost_before_the_model_is_asked() {
    for real in [RealAgent::Claude, RealAgent::Codex, RealAgent::Gemini, RealAgent::Copilot] {
        let script = Script::function(|_| Reply::text("Heard."));
        let Some(bed) = Bed::new(WALL, real, script).await else { continue };
        let conversation = ConversationId::new("01999999-2222-7333-8444-555555555555");
        let request = request(&*bed.agent, &bed.host, bed.project.path(), PROMPT);
        let outcome = bed.agent.invoke(AgentRequest { conversation, ..request }, &Recorder::default()).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error, AgentError::ConversationLost { .. }), "{real:?}: {error:?}");
        assert!(!bed.server.requests().iter().any(|request| request.mentions(PROMPT)), "{real:?}");
    }
}

#[tokio::test]
async fn the_recovery_turn_of_a_run_remembers_what_was_said_in_the_main_turn() {
    let script = Script::function(|request| match request.mentions("look at the diff") {
        true => Reply::text("I look at it."),
        false => Reply::text("The greeting is written."),
    });
    let Some(bed) = Bed::new(WALL, RealAgent::Claude, script).await else { return };
    let bench = Bench::with_tasks(&[("1", "Write the greeting")]).unwrap();
    let text = vec![TextItem { content: "look at the diff".to_owned(), ..TextItem::default() }];
    let advice = IterationErrorOutput { text, ..IterationErrorOutput::default() };
    let run = bench.run(agent::Script::default()).agent(Arc::clone(&bed.agent)).env(bed.host.clone());
    let run = run
        .hook("red", FakeHandler::<points::QualityCheck>::refuses("the tests fail"))
        .hook("advice", FakeHandler::<points::IterationError>::answers(advice))
        .settings(|settings| {
            settings.agent = "claude".to_owned();
            settings.max_iterations = NonZero::new(1);
        });
    bench.play(run).await.unwrap();
    let requests = bed.server.requests();
    let recovery: Vec<_> = requests.iter().filter(|request| request.mentions("look at the diff")).collect();
    assert!(!recovery.is_empty(), "{requests:?}");
    assert!(recovery.iter().all(|request| request.mentions("The greeting is written.")), "{recovery:?}");
    assert!(
        recovery.iter().all(|request| request.mentions("This is another turn of iteration 1, about task 1"))
    );
}
