//! What holds of combining outcomes, whatever they are.

use proptest::prelude::*;
use samuel_model::payload::*;
use serde_json::{Value, json};

use crate::{HookPoint, Kind, Output, Point, PointVisitor, points};

/// An answer with every field that any point's output has. Each output reads
/// its own and ignores the rest.
fn answer() -> impl Strategy<Value = Value> {
    let reason = prop::sample::select(vec![json!(null), json!(""), json!("a"), json!("b")]);
    let verdict = (any::<bool>(), any::<bool>(), any::<bool>(), reason);
    (verdict, lists(), results(), changes()).prop_map(|((no, ask, skip, reason), lists, results, changes)| {
        let mut answer = json!({
            "ok": !no, "continue": !no, "block": no, "ask": ask, "skip": skip, "reason": reason,
            "results": results, "exit_code": 0,
        });
        let object = answer.as_object_mut().unwrap();
        for fields in [lists, changes] {
            object.extend(fields.as_object().unwrap().clone());
        }
        answer
    })
}

/// What is concatenated.
fn lists() -> impl Strategy<Value = Value> {
    prop::collection::vec("[a-c]", 0..3).prop_map(|words| {
        let list = |item: fn(&String) -> Value| words.iter().map(item).collect::<Vec<_>>();
        json!({
            "text": list(|word| json!({"content": word})),
            "extras": list(|word| json!({"name": word, "content": ""})),
            "failures": list(|word| json!({"command": word, "message": word, "tail": ""})),
            "extensions": list(|word| json!([word, ""])),
        })
    })
}

fn results() -> impl Strategy<Value = Value> {
    let confidence = prop::sample::select(vec![json!(null), json!(0.1), json!(0.9)]);
    let suggestion = ("[x-z]", "[a-c]", confidence).prop_map(
        |(id, reason, confidence)| json!({"id": id, "path": id, "reason": reason, "confidence": confidence}),
    );
    let suggestions = prop::collection::vec(suggestion, 0..4);
    (suggestions, prop::option::of("[a-c]"), any::<bool>())
        .prop_map(|(suggestions, intent, used)| {
            json!({
                "suggested_abilities": suggestions, "suggested_documents": suggestions, "logs": intent,
                "new_intent": intent, "usage_recorded": used,
            })
        })
        .prop_map(|mut results| {
            let logs = results["logs"].as_str().map(str::to_owned).into_iter().collect::<Vec<_>>();
            results["logs"] = json!(logs);
            results
        })
}

/// What a later answer replaces.
fn changes() -> impl Strategy<Value = Value> {
    let word = || prop::option::of("[a-c]");
    let mode = prop::sample::select(vec![json!(null), json!("implementation"), json!("discovery")]);
    (word(), word(), word(), mode, "[a-c]").prop_map(|(agent, prompt, input, mode, blob)| {
        let env: Vec<Value> = agent.iter().map(|name| json!([name, prompt])).collect();
        json!({
            "agent": agent, "prompt": prompt, "env": env, "sandbox": agent, "updated_input": input,
            "mode": mode, "toon_blob": blob, "md_blob": blob,
        })
    })
}

fn read<O: Output>(answer: &Value) -> O {
    serde_json::from_value(answer.clone()).expect("the answer has every field")
}

/// Folds as dispatch does: onto the answer that says nothing.
fn fold<O: Output>(answers: impl IntoIterator<Item = O>) -> O {
    answers.into_iter().fold(O::default(), |standing, answer| combined(&standing, answer))
}

fn combined<O: Output>(earlier: &O, later: O) -> O {
    let mut standing = earlier.clone();
    standing.combine(later);
    standing
}

/// Checks the laws that hold at every point.
fn check<P: Point>(answers: &[Value; 3]) -> Result<(), TestCaseError> {
    let answers: [P::Output; 3] = answers.each_ref().map(read);
    let [a, b, c] = answers.each_ref().map(|answer| fold([answer.clone()]));

    let left = combined(&combined(&a, b.clone()), c.clone());
    let right = combined(&a, combined(&b, c.clone()));
    prop_assert_eq!(&left, &right, "grouping does not matter at {}", P::POINT);

    prop_assert_eq!(&combined(&P::Output::default(), a.clone()), &a, "nothing stood before at {}", P::POINT);
    if !matches!(P::POINT.kind(), Kind::Blob | Kind::Replace) {
        prop_assert_eq!(&combined(&a, P::Output::default()), &a, "nothing was added at {}", P::POINT);
    }

    let refuses = |output: &P::Output| output.refusal().is_some();
    let one_refuses = [&a, &b, &c].into_iter().any(refuses);
    prop_assert_eq!(refuses(&left), one_refuses, "one refusal is enough at {}", P::POINT);
    let turned = fold([c.clone(), a.clone(), b.clone()]);
    prop_assert_eq!(refuses(&turned), one_refuses, "the order does not change the verdict at {}", P::POINT);

    let texts = [&a, &b, &c].map(|output| output.text()).concat();
    prop_assert_eq!(left.text(), texts, "text is concatenated at {}", P::POINT);
    if matches!(P::POINT.kind(), Kind::Blob | Kind::Replace) {
        prop_assert_eq!(&left, &c, "the last writer stands at {}", P::POINT);
    }
    Ok(())
}

/// Checks them at a point that is known as a value.
struct Laws<'a>(&'a [Value; 3]);

impl PointVisitor for Laws<'_> {
    type Out = Result<(), TestCaseError>;

    fn visit<P: Point>(self) -> Self::Out {
        check::<P>(self.0)
    }
}

proptest! {
    // Each case is checked at every point.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_laws_hold_at_every_point(answers in [answer(), answer(), answer()]) {
        for point in HookPoint::ALL {
            point.visit(Laws(&answers))?;
        }
    }
}

/// Checks that changes one after the other are the folded change at once.
fn check_transform<P: Point>(input: &P::Input, answers: &[Value; 3]) -> Result<(), TestCaseError> {
    let answers: [P::Output; 3] = answers.each_ref().map(read);
    let mut one_by_one = input.clone();
    for answer in &answers {
        P::apply(&mut one_by_one, answer);
    }
    let mut at_once = input.clone();
    P::apply(&mut at_once, &fold(answers));
    prop_assert_eq!(at_once, one_by_one);
    Ok(())
}

proptest! {
    #[test]
    fn a_folded_transform_is_its_handlers_one_after_the_other(answers in [answer(), answer(), answer()]) {
        let agent = BeforeAgentInvokeInput { agent: "claude".into(), prompt: "do".into(), ..Default::default() };
        check_transform::<points::BeforeAgentInvoke>(&agent, &answers)?;
        let ability = AbilityBeforeInput { input: "{}".into(), ..Default::default() };
        check_transform::<points::AbilityBefore>(&ability, &answers)?;
    }

    #[test]
    fn lists_are_as_long_as_their_parts(answers in prop::collection::vec(answer(), 0..6)) {
        let extras: Vec<ContextExtraOutput> = answers.iter().map(read).collect();
        let checks: Vec<QualityCheckOutput> = answers.iter().map(read).collect();
        let extra_parts: usize = extras.iter().map(|output| output.extras.len()).sum();
        let check_parts: usize = checks.iter().map(|output| output.failures.len()).sum();
        prop_assert_eq!(fold(extras).extras.len(), extra_parts);
        prop_assert_eq!(fold(checks).failures.len(), check_parts);
    }
}
