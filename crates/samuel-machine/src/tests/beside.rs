//! What happens while the agent is at work.

use samuel_agent::{AbilityDecision, AbilityResult};
use samuel_hook::{HookCall, HookPoint};
use samuel_model::{FailureClass, Mark, Status, payload::Deliver};

use super::{script::*, sim::*, *};

/// An agent that does these things in its first call.
fn first_call(tasks: usize, during: Vec<Input>) -> Sim {
    Sim::new(tasks).first_call(move || Work { during: during.clone(), ..Default::default() })
}

#[test]
fn twenty_completions_at_once_fire_one_after_the_other_before_the_call_ends() {
    let during = (1..=20).map(|n| completed(&n.to_string())).collect();
    let sim = first_call(20, during)
        .hook(HookPoint::TaskCompleted, |fired| says(fired, &fired.nth.to_string(), Deliver::Next))
        .run();
    let heard = sim.fired.iter().filter_map(|fired| match &fired.call {
        HookCall::TaskCompleted(input) => Some((input.task_id.clone(), input.provisional)),
        _ => None,
    });
    let expected: Vec<(String, bool)> = (1..=20).map(|n| (n.to_string(), true)).collect();
    assert_eq!(heard.collect::<Vec<_>>(), expected);
    let points = sim.points();
    let ended = points.iter().position(|point| *point == "after:agent.invoke").unwrap();
    assert_eq!(points[ended - 1], "task.completed");
    let texts: Vec<String> =
        sim.prompts()[1].1.lines().filter(|line| line.parse::<u32>().is_ok()).map(str::to_owned).collect();
    assert_eq!(texts, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!((sim.report().completed.len(), sim.report().iterations), (20, 1));
}

#[test]
fn credits_no_task_that_a_person_completed() {
    let mut sim = first_call(3, vec![completed("1"), completed("3")]);
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.completed_by_hand("2");
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
    assert_eq!(sim.machine.credited_by_check(), [id("1"), id("3")]);
    let sim = sim.run();
    let credits = sim.trace.iter().filter_map(|effect| match effect {
        Effect::Mutate(Mutation::CommitIteration { credits, .. }) => Some(credits),
        _ => None,
    });
    let credited: Vec<&TaskId> = credits.flatten().map(|credit| &credit.id).collect();
    assert_eq!(credited, [&id("1"), &id("3")]);
    assert_eq!(sim.report().completed.len(), 3);
}

#[test]
fn reopens_unchanged_tasks_and_checks_the_others() {
    let mut sim = first_call(2, vec![completed("1")]);
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.completed_by_hand("2");
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
    assert!(sim.machine.checks_others());
    sim.feed(Input::Unchanged { tasks: vec![id("1")], why: "nothing was changed".to_owned() });
    sim.go_until(|fired| fired.point == HookPoint::AfterIteration);
    assert_eq!((sim.status("1"), sim.status("2")), (Status::Pending, Status::Completed));
    assert_eq!(sim.machine.failure().unwrap().class, FailureClass::QualityCheck);
}

#[test]
fn marks_other_tasks_completed_by_the_files() {
    let Input::TaskCompleted(completion) = completed("2") else { unreachable!() };
    let by_files = Input::TaskCompleted(Completion { by_call: false, ..completion });
    let sim = first_call(2, vec![completed("1"), by_files]).run();
    assert_eq!((sim.plan.tasks[0].marks.len(), &*sim.plan.tasks[1].marks), (0, &[Mark::OtherAgent][..]));
}

#[test]
fn marks_outlive_a_kill_after_the_check() {
    let mut sim = first_call(2, vec![completed("1"), completed("2")]);
    sim.go_until(|fired| fired.point == HookPoint::AfterIteration);
    sim.crash_to_checkpoint();
    let sim = sim.run();
    assert_eq!((sim.plan.tasks[0].marks.len(), &*sim.plan.tasks[1].marks), (0, &[Mark::OtherAgent][..]));
}

#[test]
fn a_call_that_ended_waits_for_the_handlers_beside_it() {
    let mut sim = first_call(2, Vec::new());
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.feed(completed("1"));
    sim.feed(completed("2"));
    let end = AgentEnd { output: Some(Default::default()), ..Default::default() };
    sim.answer(with(ReplyData::Agent(Box::new(end))));
    assert!(sim.machine.state.call().is_some_and(|call| matches!(call.at, CallPhase::Drain(_))));
    assert_eq!(sim.count(HookPoint::AfterAgentInvoke), 0);
    let sim = sim.run();
    assert_eq!(sim.report().completed, [id("1"), id("2")]);
}

#[test]
fn a_call_that_ended_waits_for_the_handlers_beside_it_no_longer_than_it_may_last() {
    for (duration_ms, waits) in [(1_000, 59_000), (59_999, 10_000), (90_000, 10_000)] {
        let mut sim = first_call(2, Vec::new()).limits(|limits| limits.max_call_ms = 60_000);
        sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
        sim.feed(completed("1"));
        sim.feed(calls_tool(Some(4)));
        let end = AgentEnd { output: Some(Default::default()), duration_ms, ..Default::default() };
        sim.answer(with(ReplyData::Agent(Box::new(end))));
        assert_eq!(sim.trace.last(), Some(&Effect::Sleep(Wait::For(waits))));
        sim.wake();
        let sim = sim.run();
        assert_eq!(sim.failures()[0], Some(FailureClass::AgentTimeout));
        assert_eq!((sim.count(HookPoint::TaskCompleted), sim.count(HookPoint::AbilityBefore)), (2, 0));
        assert!(matches!(&sim.answers[..], [(4, AbilityAnswer::Decided(AbilityDecision::Block { .. }))]));
        sim.assert_left_well("cut off");
    }
}

#[test]
fn a_stop_while_the_call_waits_for_them_ends_them() {
    let mut sim = first_call(2, Vec::new());
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.feed(completed("1"));
    sim.feed(calls_tool(Some(4)));
    let usage = Usage { input_tokens: 5, ..Default::default() };
    let end = AgentEnd { output: Some(Default::default()), usage, ..Default::default() };
    sim.answer(with(ReplyData::Agent(Box::new(end))));
    sim.feed(Input::Command(Command::Stop));
    let sim = sim.run();
    assert_eq!((sim.count(HookPoint::TaskCompleted), sim.count(HookPoint::AbilityBefore)), (1, 0));
    assert_eq!(sim.count(HookPoint::AfterAgentInvoke), 0);
    assert_eq!(sim.interrupted.len(), 2, "the wait and the handler");
    assert!(matches!(&sim.answers[..], [(4, AbilityAnswer::Decided(AbilityDecision::Block { .. }))]));
    assert_eq!(sim.report().usage.tokens(), 5);
    sim.assert_left_well("stopped");
}

#[test]
fn what_a_user_completes_between_iterations_is_not_provisional_and_stands() {
    let mut sim = Sim::new(3);
    sim.go_until_it(|machine| machine.state == State::Sleep);
    sim.completed_by_hand("2");
    let sim = sim.run();
    assert!(sim.events().any(|event| {
        matches!(event, Event::TaskCompleted { task, provisional: false, .. } if *task == id("2"))
    }));
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Completed, 2));
}

#[test]
fn what_an_agent_completes_after_its_call_is_taken_back() {
    let mut sim = Sim::new(2);
    sim.go_until_it(|machine| machine.state == State::Sleep);
    sim.feed(completed("2"));
    let sim = sim.run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Completed, 2));
    sim.assert_left_well("late");
}

#[test]
fn an_enforced_call_is_allowed_changed_or_blocked() {
    let during = vec![calls_tool(Some(1)), calls_tool(Some(2)), calls_tool(Some(3))];
    let sim = first_call(1, during)
        .hook(HookPoint::AbilityBefore, |fired| match fired.nth {
            0 => HookReply::default(),
            1 => with(ReplyData::Ability(Some(r#"{"a":2}"#.into()))),
            _ => refuses("not that file"),
        })
        .run();
    let allow = |input: &str| AbilityAnswer::Decided(AbilityDecision::Allow { input: input.into() });
    let block = AbilityAnswer::Decided(AbilityDecision::Block { reason: "not that file".into() });
    assert_eq!(sim.answers, [(1, allow(r#"{"a":1}"#)), (2, allow(r#"{"a":2}"#)), (3, block)]);
    assert_eq!(sim.failures()[0], None, "a call that was not made is no failure");
    assert!(sim.interrupted.is_empty());
}

#[test]
fn a_blocked_call_that_cannot_be_prevented_ends_the_turn() {
    let sim = first_call(1, vec![calls_tool(None), completed("1")])
        .first(HookPoint::AbilityBefore, |_| refuses("no shell"))
        .run();
    assert_eq!(sim.interrupted.len(), 1);
    assert_eq!(sim.failures()[0], Some(FailureClass::Refused));
    let message = sim.events().find_map(|event| match event {
        Event::IterationFinished { failure: Some(failure), .. } => Some(failure.message.clone()),
        _ => None,
    });
    assert_eq!(message.as_deref(), Some("Bash was blocked: no shell"));
    sim.assert_left_well("blocked");
}

#[test]
fn whether_a_call_can_be_prevented_is_told() {
    let sim = first_call(1, vec![calls_tool(Some(1)), calls_tool(None)]).run();
    let enforced = sim.fired.iter().filter_map(|fired| match &fired.call {
        HookCall::AbilityBefore(input) => Some(input.enforced),
        _ => None,
    });
    assert_eq!(enforced.collect::<Vec<_>>(), [true, false]);
}

#[test]
fn who_waits_for_the_handlers_of_a_tool_result_is_answered() {
    let sim = first_call(1, vec![ended(Some(9))]).run();
    assert_eq!(sim.answers, [(9, AbilityAnswer::Told(AtOnce::default()))]);
}

#[test]
fn what_is_said_of_a_tool_call_reaches_the_model_at_once_where_it_can_and_then_not_again() {
    let at_once = |takes_text| {
        let result = AbilityResult { takes_text, ..Default::default() };
        let end = Input::AbilityAfter(EndedAbility { result, ticket: Some(9), ..EndedAbility::default() });
        let sim = first_call(2, vec![end, completed("1")])
            .hook(HookPoint::AbilityAfter, |fired| says(fired, "too slow", Deliver::Now))
            .run();
        let told = match &sim.answers[..] {
            [(9, AbilityAnswer::Told(at_once))] => at_once.text.join("\n"),
            other => panic!("{other:?}"),
        };
        let later = sim.prompts().iter().filter(|(_, prompt)| prompt.contains("too slow")).count();
        (told, later)
    };
    let (told, later) = at_once(true);
    assert!(told.contains(" begin: hook ") && told.contains("at ability.after]\ntoo slow\n"), "{told}");
    assert_eq!(later, 0);
    let (told, later) = at_once(false);
    assert_eq!((told.as_str(), later), ("", 1));
}

#[test]
fn a_question_that_is_given_up_fires_only_where_handlers_are_at_it_already() {
    let tells = ended(Some(3));
    let given_up = [1, 2, 3].map(Input::AbilityGivenUp);
    let during = [calls_tool(Some(1)), calls_tool(Some(2)), tells, calls_tool(Some(4))];
    let sim = first_call(1, during.into_iter().chain(given_up).collect()).run();
    assert_eq!((sim.count(HookPoint::AbilityBefore), sim.count(HookPoint::AbilityAfter)), (2, 1));
    let mut answered: Vec<u64> = sim.answers.iter().map(|(ticket, _)| *ticket).collect();
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4], "each once");
}

#[test]
fn nobody_is_asked_about_a_call_that_was_given_up_while_handlers_were_at_it() {
    let sim = first_call(1, vec![calls_tool(Some(1)), Input::AbilityGivenUp(1)])
        .limits(|limits| limits.ask_timeout_ms = 60_000)
        .hook(HookPoint::AbilityBefore, |_| HookReply {
            data: ReplyData::AbilityAsks(None),
            ..refuses("a person decides")
        })
        .run();
    let denied = AbilityDecision::Block { reason: "a person decides".into() };
    assert_eq!(sim.answers, [(1, AbilityAnswer::Decided(denied))]);
    assert!(!sim.events().any(|event| matches!(event, Event::ApprovalAsked { .. })));
}

#[test]
fn what_goes_with_an_approval_is_told_once_and_only_of_a_call_that_waits() {
    let mut sim = first_call(2, Vec::new()).limits(|limits| limits.ask_timeout_ms = 60_000).hook(
        HookPoint::AbilityBefore,
        |_| HookReply { data: ReplyData::AbilityAsks(None), ..refuses("a person decides") },
    );
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.feed(calls_tool(Some(1)));
    sim.go_until_it(|machine| !machine.core.side.asked.is_empty());
    let call = sim.machine.core.side.asked[0].number(CallNumbers::default());
    for (call, text) in [(call + 1, "of another"), (call, "go ahead"), (call, "go ahead")] {
        sim.feed(Input::Command(Command::Approve { call, text: Some(text.to_owned()) }));
    }
    let sim = sim.run();
    let told: String = sim.prompts().into_iter().map(|(_, prompt)| prompt).collect();
    assert_eq!((told.matches("go ahead").count(), told.matches("of another").count()), (1, 0), "{told}");
}

#[test]
fn what_did_not_reach_the_model_at_once_waits_for_the_next_prompt() {
    let result = AbilityResult { takes_text: true, ..Default::default() };
    let end = Input::AbilityAfter(EndedAbility { result, ticket: Some(9), ..EndedAbility::default() });
    let mut sim = first_call(2, vec![end])
        .hook(HookPoint::AbilityAfter, |fired| says(fired, "too slow", Deliver::Next));
    sim.go_until(|fired| fired.point == HookPoint::AfterIteration);
    let (_, AbilityAnswer::Told(at_once)) = sim.answers.remove(0) else { unreachable!("it was told") };
    sim.feed(Input::Undelivered(at_once.said));
    let sim = sim.run();
    assert_eq!(sim.prompts().iter().filter(|(_, prompt)| prompt.contains("too slow")).count(), 1);
}

#[test]
fn arguments_that_are_no_json_can_be_saved_and_answered() {
    let call = samuel_agent::AbilityCall { input: "rm -rf \"x".into(), ..Default::default() };
    let notice = AbilityNotice { call, caller: "claude".into(), ticket: Some(1) };
    let sim = first_call(1, vec![Input::AbilityBefore(notice), calls_tool(Some(2))]).run();
    let input = r#""rm -rf \"x""#.to_owned();
    assert_eq!(sim.answers[0], (1, AbilityAnswer::Decided(AbilityDecision::Allow { input })));
}

#[test]
fn a_fault_beside_the_agent_stops_the_agent_before_the_run_ends() {
    let mut sim = first_call(1, Vec::new());
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.feed(calls_tool(Some(1)));
    sim.fail();
    assert_eq!((sim.interrupted.len(), sim.count(HookPoint::AfterLoop)), (1, 0));
    assert!(matches!(&sim.answers[..], [(1, AbilityAnswer::Decided(AbilityDecision::Block { .. }))]));
    let sim = sim.run();
    assert_eq!(sim.report().exit_reason, ExitReason::Error);
    sim.assert_left_well("fault");
}

#[test]
fn usage_that_is_told_after_the_call_is_not_counted_twice() {
    let mut sim = first_call(1, vec![completed("1")]).limits(|limits| limits.max_tokens = Some(10));
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
    sim.feed(Input::UsageSoFar(Usage { input_tokens: 10, ..Default::default() }));
    assert_eq!(sim.run().report().exit_reason, ExitReason::Completed);
}

#[test]
fn usage_that_was_told_of_counts_where_the_end_of_the_call_says_less() {
    let timeout = || IterationFailure { class: FailureClass::AgentTimeout, message: "no answer".into() };
    let less = Usage { input_tokens: 3, ..Default::default() };
    for (usage, failure) in [(Usage::default(), None), (less, None), (Usage::default(), Some(timeout()))] {
        let sim = Sim::new(9)
            .limits(|limits| (limits.max_tokens, limits.max_consecutive_failures) = (Some(25), 9))
            .agent(move |fired, plan| {
                let mut work = Work { usage, failure: failure.clone(), ..completes_its_task(fired, plan) };
                for input_tokens in [10, 4] {
                    work.during.push(Input::UsageSoFar(Usage { input_tokens, ..Default::default() }));
                }
                work
            })
            .run();
        let report = sim.report();
        assert_eq!((report.exit_reason, report.iterations), (ExitReason::Budget, 3));
        assert_eq!(report.detail.as_deref(), Some("30 tokens were used of at most 25"));
        assert_eq!(report.limit.as_deref(), Some("session_budget.max_tokens"));
    }
}
