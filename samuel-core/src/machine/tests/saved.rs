//! States that were saved in the form before: `flat_states.jsonl` has a machine from
//! several phases of one run, each with all that followed up to `session.start` when
//! the run went on from it.

use super::*;

/// Goes on from a saved machine, where task 3 was completed since, and returns what it
/// asks for.
fn resumed(machine: &mut Machine) -> Vec<Effect> {
    let completed = vec![TaskId::new("3")];
    let mut next = Input::Resume { completed, committed: false, began: false };
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
        assert_eq!(serde_json::to_value(resumed(&mut machine)).unwrap(), saved["effects"], "{state}");
    }
}
