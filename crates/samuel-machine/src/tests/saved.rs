//! States that were saved in the form before: `flat_states.jsonl` has a machine from
//! several phases of one run, each with all that followed up to `session.start` when
//! the run went on from it.

use super::*;

/// Goes on from a saved machine, where task 3 was completed since, and returns what it
/// asks for.
fn resumed(machine: &mut Machine) -> Vec<Effect> {
    let completed = vec![TaskId::new("3")];
    let mut next = Input::Resume { completed, skipped: Vec::new(), committed: false, began: false };
    let mut asked = Vec::new();
    loop {
        let effects = machine.step(next);
        asked.extend(effects.iter().map(|(_, effect)| effect.clone()));
        match effects.last() {
            Some((id, Effect::Mutate(_))) => next = Input::Done(*id, EffectResult::Done),
            _ => return asked,
        }
    }
}

#[test]
fn a_run_goes_on_from_a_state_of_the_form_before_as_it_did_then() {
    for line in include_str!("flat_states.jsonl").lines() {
        let saved: serde_json::Value = serde_json::from_str(line).unwrap();
        let state = saved["state"].as_str().unwrap();
        let mut machine: Machine = serde_json::from_value(saved["machine"].clone()).unwrap();
        assert_eq!(machine.is_ended(), state == "ended", "{state}");
        assert_eq!(machine.end().is_some(), state == "ended", "{state}");
        assert_eq!(machine.in_iteration(), !saved["machine"]["iteration"].is_null(), "{state}");
        let mut asked = resumed(&mut machine);
        if let Some(Effect::Emit(Event::RunStarted { guards, .. })) = asked.first_mut() {
            // They were not told of then.
            guards.clear();
        }
        assert_eq!(serde_json::to_value(asked).unwrap(), saved["effects"], "{state}");
    }
}

/// Returns a saved machine with an iteration under way, of which a part is another.
fn changed(part: &str, value: serde_json::Value) -> Result<Machine, serde_json::Error> {
    let lines = include_str!("flat_states.jsonl").lines().map(|line| serde_json::from_str(line).unwrap());
    let mut machines = lines.map(|saved: serde_json::Value| saved["machine"].clone());
    let mut machine = machines.find(|machine| !machine["iteration"].is_null()).unwrap();
    *machine.pointer_mut(part).unwrap() = value;
    serde_json::from_value(machine)
}

#[test]
fn numbers_of_a_saved_state_overflow_nothing() {
    for number in [u64::MAX, (1 << 53) + 1] {
        assert!(changed("/next_effect", number.into()).is_err(), "{number}");
    }
    assert!(changed("/next_effect", (1_u64 << 53).into()).is_ok());
    for part in ["failed", "consecutive_failures", "iterations"] {
        let mut machine = changed(&format!("/counters/{part}"), u32::MAX.into()).unwrap();
        assert!(!resumed(&mut machine).is_empty(), "{part}");
    }
}

#[test]
fn a_saved_usage_limit_is_waited_for_where_it_is_near_and_vouched_for() {
    let now = jiff::Timestamp::UNIX_EPOCH;
    for (until, is_vouched_for, is_kept) in [
        ("1970-01-31T00:00:00Z", true, true),
        ("1970-01-31T00:00:00Z", false, false),
        ("9999-12-30T00:00:00Z", true, false),
    ] {
        let mut machine = changed("/next_effect", 1.into()).unwrap();
        machine.core.limit.until = Some(until.parse().unwrap());
        machine.doubt_limit(now, is_vouched_for);
        assert_eq!(machine.waits_until().is_some(), is_kept, "{until} {is_vouched_for}");
    }
}
