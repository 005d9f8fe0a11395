//! Tool calls that wait for a person, in several lanes at once.

use std::time::Duration;

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    event::Event,
    hook::points,
    model::{ExitReason, payload::AbilityBeforeOutput},
    testing::FakeHandler,
};

use crate::workspace::{
    kit::User,
    lanes::{lanes, project},
};

#[tokio::test(flavor = "multi_thread")]
async fn of_calls_that_wait_in_two_lanes_each_is_decided_on_by_its_own_number() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let call = |id: &str| {
        let command = format!("touch made-{id}");
        ScriptedCall::for_task(id).repeated().step(Step::Run { command, allow_failure: true }).done()
    };
    let script = Script::default().call(call("1")).call(call("2"));
    let asks = AbilityBeforeOutput { ask: true, reason: Some("a command".into()), ..Default::default() };
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = lanes(&user, &project, 2, script, &["true"])
        .hook("gate", FakeHandler::<points::AbilityBefore>::answers(asks))
        .hook_at("spy", 500, spy.clone())
        .settings(|settings| settings.ask_timeout = Duration::from_secs(3_600));
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let (mut waiting, mut all, mut lanes, mut has_said) = (Vec::new(), Vec::new(), Vec::new(), false);
    loop {
        let next =
            tokio::time::timeout(Duration::from_secs(60), events.next()).await.expect("the run goes on");
        let Some(record) = next else { break };
        let Event::ApprovalAsked { call, input, .. } = record.event else { continue };
        all.push(call);
        lanes.push(record.lane.unwrap());
        waiting.push((call, input));
        // Nothing is decided on before both wait.
        if all.len() < 2 {
            continue;
        }
        if all.len() == 2 {
            let (state, calls) = (handle.state(), project.status().unwrap().calls);
            assert_eq!(state.approvals.len(), 2);
            let workers = [Some(1), Some(2)];
            assert_eq!(state.workers.iter().map(|worker| worker.worker).collect::<Vec<_>>(), workers);
            assert_eq!(calls.iter().map(|call| call.worker).collect::<Vec<_>>(), workers);
        }
        for (call, input) in waiting.drain(..) {
            let is_first = input.contains("made-1") && !std::mem::replace(&mut has_said, true);
            match input.contains("made-2") {
                true => handle.deny(call, None).await.unwrap(),
                false => {
                    let text = is_first.then(|| "with care".to_owned());
                    handle.approve(call, text).await.unwrap();
                }
            }
        }
    }
    let report = handle.wait().await.unwrap();
    assert_eq!(report.exit_reason, ExitReason::Completed, "{report:?}");
    assert!(lanes[..2] == [1, 2] || lanes[..2] == [2, 1], "{lanes:?}");
    let asked = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), asked, "no two have one number");
    let made = user.git(&format!("ls-tree --name-only {}", report.into.unwrap()));
    assert!(made.contains("made-1") && !made.contains("made-2"), "{made}");
    // What is said with an approval is for the agent that asked.
    let prompts = spy.calls().into_iter().map(|call| call.input().prompt.clone());
    let told: Vec<String> = prompts.filter(|prompt| prompt.contains("with care")).collect();
    assert!(
        !told.is_empty() && told.iter().all(|prompt| prompt.contains("\"Do 1\"") || !prompt.contains("Do 2")),
        "{told:#?}"
    );
}
