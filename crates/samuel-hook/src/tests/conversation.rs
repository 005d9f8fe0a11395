//! Programs in the agent's place that report what cannot be used, or too much.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use samuel_process::{CommandSpec, Supervisor};
use tokio_util::sync::CancellationToken;

use crate::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, Conversation, Told};

const ASK: &str = r#"echo '{"before_ability": {"call_id": "1", "ability_id": "Bash", "input": {}}}'"#;

/// Allows every tool call, and counts them.
#[derive(Default)]
struct Counts(AtomicUsize);

#[async_trait]
impl AgentPort for Counts {
    fn emit(&self, _: AgentEvent) {}

    async fn supervised_by(&self, _: u32, _: u64) {}

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        self.0.fetch_add(1, Ordering::Relaxed);
        AbilityDecision::Allow { input: call.input }
    }

    async fn after_ability(&self, _: AbilityResult) -> Vec<String> {
        Vec::new()
    }
}

/// Speaks with a shell script that may take so many seconds; returns how often it asked, too.
async fn told(script: &str, seconds: u64) -> (Told, usize) {
    let counts = Arc::new(Counts::default());
    let port = Arc::clone(&counts) as Arc<dyn AgentPort>;
    let conversation = Conversation {
        supervisor: &Supervisor::GroupOnly,
        cancel: &CancellationToken::new(),
        port: Some(&port),
        warn: &|_| {},
        question: b"{}".to_vec(),
        replies: Some(Duration::from_secs(seconds)),
        max_answer: 1 << 20,
    };
    let spec = CommandSpec::shell(script, "/").timeout(Duration::from_secs(seconds));
    let told = conversation.hold(spec).await.unwrap();
    (told, counts.0.load(Ordering::Relaxed))
}

/// Asserts that a script that waits for more is ended for what it printed.
async fn assert_refused(script: &str, problem: &str) {
    let (told, _) = told(script, 20).await;
    assert!(told.problem.as_ref().is_some_and(|told| told.contains(problem)), "{script}: {told:?}");
    assert!(told.output.duration < Duration::from_secs(20), "{script}: {told:?}");
}

#[tokio::test]
async fn a_program_that_asks_wrongly_is_ended_and_not_waited_for() {
    let waits = "read -r question; read -r decision; sleep 60";
    for (asks, problem) in [
        (r#"echo '{"before_ability": {"call_id": 1}}'"#.to_owned(), "a report before it is wrong"),
        (
            format!("echo thinking; {ASK}"),
            "it is not one JSON document: a report stands behind its beginning",
        ),
        (format!("echo '{{}}'; {ASK}"), "it is not one JSON document"),
    ] {
        assert_refused(&format!("{asks}; {waits}"), problem).await;
    }
}

#[tokio::test]
async fn a_line_without_an_end_is_refused_once_it_is_too_long() {
    let line = "head -c 1048577 /dev/zero | tr '\\0' x; sleep 60";
    assert_refused(line, "it is longer than 1048576 bytes").await;
}

#[tokio::test]
async fn a_line_within_an_answer_is_no_report() {
    let answer = r#"{"extensions": ["#;
    let script = format!("echo '{answer}'; echo '{{\"event\": 1}}'; echo ']}}'");
    let (told, _) = told(&script, 20).await;
    assert_eq!(told.problem, None);
    assert_eq!(told.answer, b"{\"extensions\": [\n{\"event\": 1}\n]}\n");
}

#[tokio::test]
async fn a_question_that_is_not_utf_8_is_refused_and_not_asked() {
    let ask = r#"printf '{"before_ability": {"call_id": "1", "ability_id": "Ba\377", "input": {}}}\n'"#;
    let (told, asked) = told(&format!("{ask}; read -r question; read -r decision; echo '{{}}'"), 20).await;
    assert_eq!((told.problem.as_deref(), asked), (Some("it is not UTF-8"), 0));
}

#[tokio::test]
async fn a_program_that_does_not_read_replies_is_not_asked_for_ever() {
    let x = "x=$(head -c 8000 /dev/zero | tr '\\0' x)";
    let ask =
        r#"echo "{\"before_ability\": {\"call_id\": \"1\", \"ability_id\": \"Bash\", \"input\": \"$x\"}}""#;
    let (_, asked) = told(&format!("{x}; while :; do {ask}; done"), 2).await;
    assert!((1..100).contains(&asked), "{asked}");
}

#[tokio::test]
async fn a_program_that_goes_on_asking_is_ended() {
    let reads = "exec 3<&0; cat <&3 >/dev/null &";
    let script = format!("{reads} while :; do {ASK}; done");
    assert_refused(&script, "it waits for more than 10000 replies").await;
}
