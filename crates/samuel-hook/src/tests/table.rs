//! The contract's table of hook points, row by row.
//!
//! [`rows!`] has for each point what a refusal means and what a handler that
//! breaks does; the tests below it have how the outcomes of several combine.

use std::pin::Pin;

use samuel_model::payload::*;

use super::{build, scope};
use crate::{
    Answer, BreakClass, Call, ChainSpec, Dispatched, HookFailure, HookPoint, HookStatus, Kind, OnFailure,
    PluginSource, Point, PointVisitor, Registry, points,
};

type Answers<P> = Vec<Result<<P as Point>::Output, HookFailure>>;

/// Fires a point at which the handlers `api:0`, `api:1` and so on answer as
/// given.
async fn fire<P: Point>(answers: Answers<P>, spec: ChainSpec) -> Dispatched<P::Output>
where
    P::Input: Default,
{
    let mut handlers = Registry::builder();
    for (place, answer) in answers.into_iter().enumerate() {
        handlers.api::<P, _>(&place.to_string(), None, move |_: Call<P>| {
            let answer = answer.clone();
            async move { answer }
        });
    }
    build(handlers, P::POINT, spec).dispatch::<P>(P::Input::default(), &scope()).await
}

async fn all<P: Point>(answers: impl IntoIterator<Item = P::Output>) -> Dispatched<P::Output>
where
    P::Input: Default,
{
    fire::<P>(answers.into_iter().map(Ok).collect(), ChainSpec::default()).await
}

/// What an answer that says "no" means at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
enum No {
    /// It counts.
    Refuses,
    /// It is a warning.
    Warns,
    /// Nobody can say no.
    Cannot,
}

async fn check_row<P: Point>(no: P::Output, meaning: No, breaks: OnFailure)
where
    P::Input: Default,
{
    let done = all::<P>([P::Output::default(), no.clone(), P::Output::default()]).await;
    let refused = (meaning == No::Refuses).then_some("no");
    assert_eq!(done.outcome.refused.as_deref(), refused);
    assert_eq!(done.outcome.abort, None, "a verdict is no failure");
    let warned: Vec<_> =
        done.outcome.warnings.iter().map(|w| (&*w.handler, &*w.class, &*w.message)).collect();
    let expected: &[_] = if meaning == No::Warns { &[("api:1", "refused", "no")] } else { &[] };
    assert_eq!(warned, expected);
    // Handlers after the one that said no were asked all the same, but where
    // only the last one runs.
    let asked = if P::POINT.kind() == Kind::Replace { 1 } else { 3 };
    assert_eq!(done.outcome.timings.len(), asked);

    for (strict, action) in [(None, breaks), (Some(true), P::POINT.strict()), (Some(false), OnFailure::Warn)]
    {
        let broken = Err(HookFailure::new(BreakClass::Failed, "no disk"));
        let mut answers: Answers<P> = vec![broken, Ok(no.clone())];
        if P::POINT.kind() == Kind::Replace {
            answers.reverse();
        }
        let done = fire::<P>(answers, ChainSpec { strict, ..Default::default() }).await;
        let abort = done.outcome.abort.as_ref().map_or(OnFailure::Warn, |abort| abort.action);
        assert_eq!(abort, action, "strict = {strict:?}");
        assert_eq!(done.outcome.broken.len(), 1);
        assert_eq!(done.outcome.warnings[0].message, "no disk");
        let later_ran = done.outcome.timings.len() == 2;
        assert_eq!(later_ran, action == OnFailure::Warn && P::POINT.kind() != Kind::Replace);
        if action != OnFailure::Warn {
            assert_eq!(done.outcome.refused, None, "a failure is no verdict");
        }
    }
}

macro_rules! rows {
    ($($test:ident $point:ident $no:expr, $meaning:ident, $breaks:ident;)+) => {
        $(#[tokio::test]
        async fn $test() {
            check_row::<points::$point>($no, No::$meaning, OnFailure::$breaks).await;
        })+
    };
}

/// An observer that is not content.
macro_rules! discontent {
    ($output:ident) => {
        $output { ok: false, reason: Some("no".into()), ..Default::default() }
    };
}

rows! {
    init_before InitBefore Answer::refuse("no"), Refuses, AbortCommand;
    init_after InitAfter discontent!(InitAfterOutput), Warns, Warn;
    sync_before SyncBefore Answer::refuse("no"), Refuses, AbortCommand;
    sync_after SyncAfter discontent!(SyncAfterOutput), Warns, Warn;
    session_start SessionStart discontent!(SessionStartOutput), Warns, Warn;
    before_loop BeforeLoop Answer::refuse("no"), Refuses, AbortLoop;
    before_iteration BeforeIteration Answer::refuse("no"), Refuses, Warn;
    iteration_gate IterationGate Answer::refuse("no"), Refuses, Warn;
    prompt_submit PromptSubmit Answer::refuse("no"), Refuses, Warn;
    context_snapshot ContextSnapshot Answer::from_blob("D"), Cannot, Warn;
    context_progress ContextProgress Answer::from_blob("D"), Cannot, Warn;
    context_task ContextTask Answer::from_blob("D"), Cannot, Warn;
    context_extra ContextExtra Default::default(), Cannot, Warn;
    before_agent_invoke BeforeAgentInvoke Answer::refuse("no"), Refuses, AbortIteration;
    agent_invoke AgentInvoke AgentInvokeOutput { exit_code: 1, ..Default::default() }, Cannot, AbortIteration;
    after_agent_invoke AfterAgentInvoke discontent!(AfterAgentInvokeOutput), Warns, Warn;
    quality_check QualityCheck Answer::refuse("no"), Refuses, AbortIteration;
    after_iteration AfterIteration discontent!(AfterIterationOutput), Warns, Warn;
    iteration_error IterationError Answer::with_text(IterationErrorOutput::default(), "t", Deliver::Now), Cannot, Warn;
    task_completed TaskCompleted Answer::with_text(TaskCompletedOutput::default(), "t", Deliver::Now), Cannot, Warn;
    ability_before AbilityBefore Answer::refuse("no"), Refuses, Warn;
    ability_after AbilityAfter Default::default(), Cannot, Warn;
    session_stop SessionStop Answer::refuse("no"), Refuses, Warn;
    after_loop AfterLoop discontent!(AfterLoopOutput), Warns, Warn;
    session_end SessionEnd discontent!(SessionEndOutput), Warns, Warn;
}

/// Checks the row of a point that is known as a value, by what its output can say.
struct CheckRow;

impl PointVisitor for CheckRow {
    type Out = Pin<Box<dyn Future<Output = ()>>>;

    fn visit<P: Point>(self) -> Self::Out {
        let fields = P::POINT.output_fields();
        let verdict = ["ok", "block", "continue"]
            .into_iter()
            .find(|verdict| fields.iter().any(|field| field.name == *verdict));
        let meaning = match verdict {
            Some(_) if P::POINT.kind() == Kind::Observe => No::Warns,
            Some(_) => No::Refuses,
            None => No::Cannot,
        };
        let mut no = serde_json::to_value(P::Output::default()).unwrap();
        if let Some(verdict) = verdict {
            no[verdict] = (verdict == "block").into();
            no["reason"] = "no".into();
        }
        let no = serde_json::from_value(no).unwrap();
        Box::pin(check_row::<P>(no, meaning, P::POINT.default_on_failure()))
    }
}

#[tokio::test]
async fn every_point_does_what_its_output_says() {
    for point in HookPoint::ALL {
        point.visit(CheckRow).await;
    }
}

#[tokio::test]
async fn sync_before_is_skipped_when_one_handler_says_so() {
    let skip = SyncBeforeOutput { skip: true, reason: Some("nothing new".into()), ..Default::default() };
    let done =
        all::<points::SyncBefore>([SyncBeforeOutput::pass(), skip.clone(), SyncBeforeOutput::pass()]).await;
    assert!(done.output.skip && done.outcome.refused.is_none());
    assert_eq!(done.output.reason.as_deref(), Some("nothing new"));
    let done = all::<points::SyncBefore>([skip, SyncBeforeOutput::refuse("dirty")]).await;
    assert_eq!(done.outcome.refused.as_deref(), Some("dirty"), "the others' verdicts are respected");
}

#[tokio::test]
async fn iteration_gate_takes_the_last_mode_and_warns_when_it_overrides() {
    let mode = |mode, reason: &str| IterationGateOutput {
        mode: Some(mode),
        reason: Some(reason.into()),
        ..Default::default()
    };
    let default = mode(Mode::Implementation, "tasks are pending");
    let done = all::<points::IterationGate>([default.clone(), mode(Mode::Discovery, "look around")]).await;
    assert_eq!(done.output, mode(Mode::Discovery, "look around"));
    let warning = &done.outcome.warnings[0];
    assert_eq!((&*warning.handler, &*warning.class), ("api:1", "overrides"));

    let silent = IterationGateOutput { proceed: false, ..Default::default() };
    let done = all::<points::IterationGate>([silent, default.clone()]).await;
    let refused = done.outcome.refused.as_deref();
    assert_eq!(refused, Some("no reason given"), "not the reason of a handler that let it go on");

    let broken = Err(HookFailure::new(BreakClass::Failed, "no"));
    let done = fire::<points::IterationGate>(vec![Ok(default.clone()), broken], ChainSpec::default()).await;
    assert_eq!(done.output, default, "what the default decided holds");
}

#[tokio::test]
async fn results_are_merged_at_prompt_submit() {
    let suggest = |id: &str, confidence| SuggestedAbility {
        id: id.into(),
        confidence: Some(confidence),
        ..Default::default()
    };
    let report = |log: &str, abilities: Vec<SuggestedAbility>, intent: &str| {
        PromptSubmitOutput::pass().with_results(HookResults {
            logs: vec![log.into()],
            suggested_abilities: abilities,
            new_intent: Some(intent.into()),
            ..Default::default()
        })
    };
    let answers = [
        report("1", vec![suggest("x", 0.4), suggest("y", 0.5)], "{}"),
        report("2", vec![suggest("x", 0.9)], "[]"),
    ];
    let done = all::<points::PromptSubmit>(answers).await;
    let results = done.output.results;
    assert_eq!(results.logs, ["1", "2"]);
    assert_eq!(results.suggested_abilities, [suggest("x", 0.9), suggest("y", 0.5)]);
    assert_eq!(results.new_intent.as_deref(), Some("{}"));
    assert_eq!(done.outcome.warnings.len(), 1, "of two intents the second is named");
}

#[tokio::test]
async fn a_suggestion_that_one_handler_gives_twice_is_kept_once() {
    let suggestion = SuggestedDocument { path: "a.md".into(), ..Default::default() };
    let results =
        HookResults { suggested_documents: vec![suggestion.clone(), suggestion], ..Default::default() };
    let done = all::<points::SessionStart>([SessionStartOutput { results, ..Default::default() }]).await;
    assert_eq!(done.output.results.suggested_documents.len(), 1);
}

#[tokio::test]
async fn a_blob_is_the_last_writers_and_survives_a_handler_that_breaks() {
    let broken = Err(HookFailure::new(BreakClass::Failed, "no"));
    let answers = vec![Ok(ContextTaskOutput::from_blob("D")), broken];
    let done = fire::<points::ContextTask>(answers, ChainSpec::default()).await;
    assert_eq!(done.output.toon_blob, "D");
    let done = all::<points::ContextProgress>([Answer::from_blob("D"), Answer::from_blob("P")]).await;
    assert_eq!(done.output.md_blob, "P");
}

#[tokio::test]
async fn ten_plugins_compose_at_context_extra_in_the_order_of_samuel_toml() {
    let mut handlers = Registry::builder();
    for place in [7, 2, 9, 0, 4, 1, 8, 3, 6, 5] {
        let (name, section) = (format!("p{place}"), place.to_string());
        let plugin = PluginSource { name: &name, namespace: &name, place };
        handlers.plugin(&plugin, "extra", None, move |call: Call<points::ContextExtra>| {
            let before = call.previous().map_or(0, |previous| previous.extras.len());
            let extra = Extra { name: section.clone(), content: before.to_string(), path: None };
            async move { Ok(ContextExtraOutput { extras: vec![extra], ..Default::default() }) }
        });
    }
    let registry = build(handlers, HookPoint::ContextExtra, ChainSpec::default());
    let done = registry.dispatch::<points::ContextExtra>(Default::default(), &scope()).await;
    let sections: Vec<_> = done.output.extras.iter().map(|extra| (&*extra.name, &*extra.content)).collect();
    let digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    assert_eq!(sections, digits.map(|digit| (digit, digit)), "each saw what stood before it");
}

#[tokio::test]
async fn only_the_last_handler_of_agent_invoke_is_called() {
    let answer = |exit_code| AgentInvokeOutput { exit_code, ..Default::default() };
    let done = all::<points::AgentInvoke>([answer(1), answer(2)]).await;
    assert_eq!((done.output.exit_code, done.outcome.timings.len()), (2, 1));
}

#[tokio::test]
async fn a_strict_after_agent_invoke_fails_the_iteration_for_a_reason() {
    let no = AfterAgentInvokeOutput { ok: false, reason: Some("swore".into()), ..Default::default() };
    let strict = ChainSpec { strict: Some(true), ..Default::default() };
    let done = fire::<points::AfterAgentInvoke>(vec![Ok(no)], strict).await;
    assert_eq!(done.outcome.refused.as_deref(), Some("swore"));
}

#[tokio::test]
async fn a_failure_action_beats_strict() {
    let spec = ChainSpec { strict: Some(true), on_failure: Some(OnFailure::AbortLoop), ..Default::default() };
    let broken = || vec![Err(HookFailure::new(BreakClass::Failed, "no"))];
    let done = fire::<points::QualityCheck>(broken(), spec).await;
    assert_eq!(done.outcome.abort.map(|abort| abort.action), Some(OnFailure::AbortLoop));
}

#[tokio::test]
async fn text_is_kept_in_the_order_it_was_said_with_who_said_it() {
    let say = |text: &str, deliver| AfterIterationOutput::default().with_text(text, deliver);
    let done = all::<points::AfterIteration>([say("a", Deliver::Next), say("b", Deliver::Now)]).await;
    let said: Vec<_> = done
        .outcome
        .said
        .iter()
        .map(|said| (&*said.handler, &*said.item.content, said.item.deliver))
        .collect();
    assert_eq!(said, [("api:0", "a", Deliver::Next), ("api:1", "b", Deliver::Now)]);
    assert_eq!(done.output.text.len(), 2);
}

#[tokio::test]
async fn at_ability_before_deny_beats_ask_and_ask_beats_allow() {
    let allow = AbilityBeforeOutput { reason: Some("fine".into()), ..Default::default() };
    let ask = AbilityBeforeOutput { ask: true, reason: Some("sure?".into()), ..Default::default() };
    let deny = AbilityBeforeOutput::refuse("never");
    for (answers, reason) in [
        (vec![allow.clone()], None),
        (vec![allow.clone(), ask.clone()], Some("sure?")),
        (vec![ask.clone(), deny.clone()], Some("never")),
        (vec![deny.clone(), ask.clone(), allow.clone()], Some("never")),
    ] {
        let done = all::<points::AbilityBefore>(answers).await;
        assert_eq!(done.outcome.refused.as_deref(), reason);
    }
    let done = all::<points::AbilityBefore>([allow, ask, deny]).await;
    let statuses: Vec<HookStatus> = done.outcome.timings.iter().map(|timing| timing.status).collect();
    assert_eq!(statuses, [HookStatus::Ok, HookStatus::Asked, HookStatus::Refused]);
}

#[tokio::test]
async fn one_block_is_enough_to_go_on_after_session_stop() {
    let answers =
        [SessionStopOutput::pass(), SessionStopOutput::refuse("tests are red"), SessionStopOutput::pass()];
    let done = all::<points::SessionStop>(answers).await;
    assert!(done.output.block);
    assert_eq!(done.outcome.refused.as_deref(), Some("tests are red"));
}

#[tokio::test]
async fn a_point_that_is_disabled_asks_nobody() {
    let spec = ChainSpec { enabled: Some(false), ..Default::default() };
    let done = fire::<points::QualityCheck>(vec![Ok(Answer::refuse("no"))], spec).await;
    assert_eq!((done.outcome, done.output), Default::default());
}
