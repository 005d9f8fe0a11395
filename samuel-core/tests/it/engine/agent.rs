//! What whoever answers at `agent.invoke` tells and asks, and which agent is called.

use std::{
    fs,
    num::NonZero,
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use samuel_core::{
    agent::{
        AbilityCall, AbilityDecision, Agent, AgentConfig, AgentError, AgentEvent, AgentPort, AgentRequest,
        Script,
    },
    event::{Event, EventRecord},
    history::History,
    hook::{Call, HookPoint, points},
    model::{
        TaskId,
        payload::{
            AbilityBeforeOutput, AgentInvokeOutput, BeforeAgentInvokeOutput, IterationErrorOutput, TextItem,
            Turn,
        },
    },
    process::Supervisor,
    state::JournalEntry,
    testing::{Act, Bench, FakeHandler, Played},
};

fn failures(played: &Played) -> Vec<String> {
    let failure = |event: &Event| match event {
        Event::IterationFinished { failure, .. } => failure.as_ref().map(|failure| failure.message.clone()),
        _ => None,
    };
    played.events.iter().filter_map(|record| failure(&record.event)).collect()
}

#[tokio::test]
async fn a_handler_in_the_agents_place_tells_of_its_work_and_has_its_tool_calls_gated() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let agent = async |call: Call<points::AgentInvoke>| {
        call.emit(AgentEvent::Text { text: "I begin".to_owned() });
        let (call_id, ability_id, input) = ("1".to_owned(), "Bash".to_owned(), "{}".to_owned());
        let asked = AbilityCall { call_id, ability_id, input, ..AbilityCall::default() };
        let decision = call.before_ability(asked).await;
        let AbilityDecision::Block { reason } = decision else { return Ok(AgentInvokeOutput::default()) };
        call.warn("no shell for me");
        Ok(AgentInvokeOutput { exit_code: 3, stdout: reason, ..AgentInvokeOutput::default() })
    };
    let gate = FakeHandler::<points::AbilityBefore>::answers(AbilityBeforeOutput {
        block: true,
        reason: Some("not today".to_owned()),
        ..Default::default()
    });
    let run = bench.run(Script::default()).hook("agent", agent).hook("gate", gate.clone());
    let played =
        bench.play(run.settings(|settings| settings.max_iterations = NonZero::new(1))).await.unwrap();

    assert_eq!(failures(&played), ["scripted ended with exit code 3: not today"]);
    let input = gate.last_input().unwrap();
    assert!(input.enforced && input.caller == "scripted" && input.ability_id == "Bash", "{input:?}");
    let said = |record: &EventRecord| matches!(&record.event, Event::Agent { report: AgentEvent::Text { text }, .. } if text == "I begin");
    assert!(played.events.iter().any(said));
    let warnings = &played.outcomes(HookPoint::AgentInvoke)[0].warnings;
    assert_eq!((&*warnings[0].handler, &*warnings[0].message), ("api:agent", "no shell for me"));
}

#[tokio::test]
async fn hides_values_that_an_agent_prints() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let agent = async |call: Call<points::AgentInvoke>| {
        call.emit(AgentEvent::Text { text: "I have zq9xk7v2m4tq8w1c".to_owned() });
        let stdout = "it is zq9xk7v2m4tq8w1c".to_owned();
        Ok(AgentInvokeOutput { exit_code: 3, stdout, ..AgentInvokeOutput::default() })
    };
    let run = bench.run(Script::default()).env([("MY_FLAG".to_owned(), "zq9xk7v2m4tq8w1c".to_owned())]);
    let run = run.hook("agent", agent).settings(|settings| settings.max_iterations = NonZero::new(1));
    let played = bench.play(run).await.unwrap();
    assert_eq!(failures(&played), ["scripted ended with exit code 3: it is ***"]);
    let events = serde_json::to_string(&played.events).unwrap();
    assert!(events.contains("I have ***") && !events.contains("zq9xk7v2m4tq8w1c"), "{events}");
    assert!(!bench.progress().unwrap().contains("zq9xk7v2m4tq8w1c"));
}

#[tokio::test]
async fn the_agent_that_a_handler_names_is_called_and_gets_its_own_variables_alone() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let programs = bench.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let claude = programs.join("claude");
    fs::write(&claude, "#!/bin/sh\nset > called\n").unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    let named = BeforeAgentInvokeOutput { agent: Some("claude".to_owned()), ..Default::default() };
    let env = [("PATH", programs.to_str().unwrap()), ("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "o")];
    let run = bench
        .run(Script::default())
        .env(env.map(|(name, value)| (name.to_owned(), value.to_owned())))
        .hook("choice", FakeHandler::<points::BeforeAgentInvoke>::answers(named))
        .settings(|settings| settings.max_iterations = NonZero::new(1));
    let played = bench.play(run).await.unwrap();
    let called = fs::read_to_string(bench.path().join("called"));
    let called = called.unwrap_or_else(|_| format!("{:?}", failures(&played)));
    assert!(called.contains("ANTHROPIC_API_KEY='a'") && !called.contains("OPENAI_API_KEY"), "{called}");
}

#[tokio::test]
async fn the_agent_of_each_call_is_in_the_journal_and_in_the_attempts_whoever_chose_it() {
    let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
    let named = BeforeAgentInvokeOutput { agent: Some("kiro".to_owned()), ..Default::default() };
    let run =
        |script: Script| bench.run(script).settings(|settings| settings.max_iterations = NonZero::new(1));
    bench.play(run(Script::default())).await.unwrap();
    let choice = FakeHandler::<points::BeforeAgentInvoke>::answers(named);
    bench.play(run(Script::default()).hook("choice", choice)).await.unwrap();
    let records = bench.project().plan_store().journal_since(0).unwrap().records;
    let called = records.into_iter().filter_map(|record| match record.entry {
        JournalEntry::Called(called) => Some((called.iteration, called.turn, called.agent, called.why)),
        _ => None,
    });
    let of = |agent: &str, why: &str| (1, Turn::Main, agent.to_owned(), why.to_owned());
    let chosen = of("kiro", "a handler of before:agent.invoke chose it");
    assert_eq!(called.collect::<Vec<_>>(), [of("scripted", "the configured agent"), chosen]);
    let attempts = History::of(bench.project()).task(&TaskId::new("1")).unwrap().attempts;
    let mut agents: Vec<Vec<String>> = attempts.into_iter().map(|attempt| attempt.agents).collect();
    // Two runs of one moment have no order.
    agents.sort();
    assert_eq!(agents, [["kiro"], ["scripted"]]);
    assert!(bench.project().status().unwrap().calls.is_empty(), "no call is under way");
}

#[tokio::test]
async fn an_agent_or_sandbox_that_there_is_not_fails_the_iteration_and_nothing_runs() {
    let agent = BeforeAgentInvokeOutput { agent: Some("cluade".to_owned()), ..Default::default() };
    let sandbox = BeforeAgentInvokeOutput { sandbox: Some("oci".to_owned()), ..Default::default() };
    for (answer, expected) in [
        (agent, "unknown agent \"cluade\"; those that can be called are claude, codex"),
        (sandbox, "sandbox \"oci\" cannot be used: it needs an engine"),
    ] {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let handler = FakeHandler::<points::BeforeAgentInvoke>::answers(answer);
        let run = bench.run(samuel_core::testing::completes_each_task()).hook("choice", handler);
        let played =
            bench.play(run.settings(|settings| settings.max_iterations = NonZero::new(1))).await.unwrap();
        let failures = failures(&played);
        assert!(failures[0].starts_with(expected), "{failures:?}");
        assert!(!bench.path().join("made.txt").exists());
    }
}

#[derive(Debug)]
struct Panics;

#[async_trait]
impl Agent for Panics {
    fn name(&self) -> &str {
        "mine"
    }

    async fn invoke(&self, _: AgentRequest, _: &dyn AgentPort) -> Result<AgentInvokeOutput, AgentError> {
        None::<AgentInvokeOutput>.ok_or_else(|| unreachable!("no answer at hand"))
    }
}

#[tokio::test]
async fn an_agent_that_panics_is_named() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let run = bench.run(Script::default()).agent(Arc::new(Panics));
    let run = run.settings(|settings| {
        settings.agent = "mine".to_owned();
        settings.max_iterations = NonZero::new(1);
    });
    let played = bench.play(run).await.unwrap();
    let broken = &played.outcomes(HookPoint::AgentInvoke)[0].broken;
    assert!(broken[0].to_string().contains("panicked: agent \"mine\": "), "{broken:?}");
    assert!(broken[0].to_string().contains("no answer at hand"), "{broken:?}");
}

/// A failed iteration has a recovery turn.
fn advice() -> FakeHandler<points::IterationError> {
    let text = vec![TextItem { content: "look at the diff".to_owned(), ..TextItem::default() }];
    FakeHandler::answers(IterationErrorOutput { text, ..Default::default() })
}

/// Plays one iteration that fails, with its recovery turn.
async fn recovers(bench: &Bench, agent: Arc<dyn Agent>) -> Played {
    let name = agent.name().to_owned();
    let run = bench.run(Script::default()).agent(agent).hook("advice", advice()).settings(|settings| {
        settings.agent = name;
        settings.max_iterations = NonZero::new(1);
    });
    bench.play(run).await.unwrap()
}

/// The calls of an agent: its conversation and its prompt.
type Calls = Arc<Mutex<Vec<(Option<String>, String)>>>;

/// Names a conversation and fails; has lost it when it is called to go on in it.
#[derive(Debug)]
struct Forgets {
    resumes: bool,
    calls: Calls,
}

#[async_trait]
impl Agent for Forgets {
    fn name(&self) -> &str {
        "mine"
    }

    fn resumes(&self) -> bool {
        self.resumes
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        let conversation = request.conversation.map(String::from);
        self.calls.lock().unwrap().push((conversation.clone(), request.prompt));
        // As a program does, it writes its log from the start.
        let logs = request.logs.unwrap();
        std::fs::write(logs.out, conversation.as_deref().unwrap_or("anew")).unwrap();
        if let Some(conversation) = conversation {
            let (agent, message) = ("mine".to_owned(), "it is gone".to_owned());
            return Err(AgentError::ConversationLost { agent, conversation, message });
        }
        port.emit(AgentEvent::Ready { session_id: Some("c-1".to_owned()), model: None });
        Ok(AgentInvokeOutput { exit_code: 1, ..AgentInvokeOutput::default() })
    }
}

#[tokio::test]
async fn a_conversation_that_is_lost_is_begun_anew_once_with_a_warning() {
    for resumes in [true, false] {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let calls = Calls::default();
        let played = recovers(&bench, Arc::new(Forgets { resumes, calls: Arc::clone(&calls) })).await;
        let calls = calls.lock().unwrap();
        let conversations: Vec<Option<&str>> = calls.iter().map(|(name, _)| name.as_deref()).collect();
        let warnings = played.outcomes(HookPoint::AgentInvoke)[1].warnings.clone();
        let warnings: Vec<&str> = warnings.iter().map(|warning| &*warning.message).collect();
        let lost = "agent \"mine\" could not go on in its conversation c-1: it is gone; it was called once more, without it";
        match resumes {
            true => assert_eq!((conversations, warnings), (vec![None, Some("c-1"), None], vec![lost])),
            false => assert_eq!((conversations, warnings), (vec![None, None], vec![])),
        }
        if resumes {
            let logs = bench.lane().dir().logs(&played.events[0].run_id);
            let kept =
                ["1-2.out", "1-2.again.out"].map(|name| std::fs::read_to_string(logs.join(name)).unwrap());
            assert_eq!(kept, ["c-1", "anew"], "the log of each call is kept");
        }
        let (_, prompt) = calls.last().unwrap();
        let why = "This is another turn of iteration 1, about task 1 \"First\" (`";
        assert!(
            prompt.contains(why) && prompt.contains("run show 1` prints it): the iteration failed"),
            "{prompt}"
        );
        assert!(prompt.contains("look at the diff"), "{prompt}");
    }
}

/// Builds Claude Code with a program that writes its arguments down, names its session and fails.
fn claude(bench: &Bench, session: &str) -> Arc<dyn Agent> {
    let program = bench.path().join("claude");
    let init = serde_json::json!({"type": "system", "subtype": "init", "session_id": session}).to_string();
    let failed = r#"{"type":"result","is_error":true,"result":"no way"}"#;
    fs::write(&program, format!("#!/bin/sh\necho \"$*\" >> args\nprintf '%s\\n' '{init}' '{failed}'\n"))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = vec![program.display().to_string()];
    let config = AgentConfig { command, ..AgentConfig::new("claude") };
    samuel_core::agent::build(&config, Supervisor::GroupOnly).unwrap()
}

#[tokio::test]
async fn a_session_that_could_be_more_than_a_name_never_becomes_an_argument() {
    for (session, is_name) in
        [("c-1", true), ("--settings={}", false), ("-p", false), ("a b", false), ("a\nb", false)]
    {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let agent = claude(&bench, session);
        let played = recovers(&bench, agent).await;
        let args = fs::read_to_string(bench.path().join("args")).unwrap();
        let args: Vec<&str> = args.lines().collect();
        assert_eq!(args.len(), 2, "{args:?}");
        let is_told = |record: &EventRecord| matches!(&record.event, Event::Warning { message } if message.starts_with("claude names its conversation"));
        let warned = played.events.iter().any(is_told);
        match is_name {
            true => assert_eq!((args[1], warned), (&*format!("{} --resume c-1", args[0]), false)),
            false => assert_eq!((args[1], warned), (args[0], true)),
        }
    }
}

#[tokio::test]
async fn a_handler_in_the_agents_place_is_given_the_conversation_that_it_named() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let agent =
        FakeHandler::always(Act::<points::AgentInvoke>::compute(|call: &Call<points::AgentInvoke>| {
            call.emit(AgentEvent::Ready { session_id: Some("mine:1".to_owned()), model: None });
            Ok(AgentInvokeOutput { exit_code: 1, ..AgentInvokeOutput::default() })
        }));
    let run = bench.run(Script::default()).hook("agent", agent.clone()).hook("advice", advice());
    bench.play(run.settings(|settings| settings.max_iterations = NonZero::new(1))).await.unwrap();
    let given: Vec<_> = agent.calls().iter().map(|call| call.input().conversation.clone()).collect();
    assert_eq!(given, [None, Some("mine:1".to_owned())]);
}
