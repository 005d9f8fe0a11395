//! What holds for every setting, whoever sets it.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use samuel_model::{Coded as _, Remedy};
use serde_json::{Map, Value as Json, json};

use super::{super::*, parse};

/// The settings of a methodology: the path of each key, with its schema.
fn settings() -> Vec<(Vec<String>, Json)> {
    fn collect(schema: &Json, path: &[String], found: &mut Vec<(Vec<String>, Json)>) {
        for (key, schema) in schema["properties"].as_object().unwrap() {
            let path = [path, std::slice::from_ref(key)].concat();
            let table = schema.pointer("/oneOf/1").unwrap_or(schema);
            match table.get("properties") {
                Some(_) => collect(table, &path, found),
                None => found.push((path, schema.clone())),
            }
        }
    }
    let mut found = Vec::new();
    let mut keys = methodology();
    keys.remove("hooks");
    collect(&json!({ "properties": keys }), &[], &mut found);
    found
}

/// A value that breaks the rule of a setting, where it has one.
fn beyond(schema: &Json) -> Option<Json> {
    match (schema.get("minimum"), schema.get("exclusiveMinimum"), schema.get("$ref"), schema.get("enum")) {
        (Some(least), ..) => Some(json!(least.as_i64().unwrap() - 1)),
        (_, Some(limit), ..) => Some(limit.clone()),
        (_, _, Some(_duration), _) => Some(json!("721h")),
        (.., Some(_names)) => Some(json!("zzz")),
        _ => None,
    }
}

fn nested(path: &[String], value: Json) -> Map<String, Json> {
    let (first, rest) = path.split_first().unwrap();
    let value = if rest.is_empty() { value } else { Json::Object(nested(rest, value)) };
    [(first.clone(), value)].into_iter().collect()
}

#[test]
fn every_setting_says_what_it_is_and_one_rule_holds_in_the_file_and_for_callers() {
    let mut ruled = 0;
    for (path, schema) in settings() {
        let key = path.join(".");
        let about = schema["description"].as_str().unwrap_or_default();
        assert!(about.ends_with('.') && about.len() > 10, "{key}: {about}");
        let Some(value) = beyond(&schema) else { continue };
        ruled += 1;
        let of_file = parse(&format!("[methodology.ralph]\n{key} = {value}")).expect_err(&key);
        assert_eq!(of_file.problems().len(), 1, "{key}: {of_file}");
        let problem = &of_file.problems()[0];
        assert_eq!(
            (problem.key.as_str(), problem.location.line),
            (&*format!("methodology.ralph.{key}"), Some(2))
        );
        let mut settings = MethodologySettings::default();
        let of_caller = settings.set(&nested(&path, value)).expect_err(&key);
        assert_eq!(of_caller.to_string(), format!("{key}: {}", problem.kind));
        assert_eq!(of_caller.help(), problem.help());
        assert_eq!(settings, MethodologySettings::default());
        if let ProblemKind::OutOfRange { expected, .. } = &problem.kind {
            let is_said = about.to_lowercase().contains(expected.as_str());
            assert!(is_said || expected.ends_with("at least 0"), "{key}: {about}");
        }
    }
    assert!(ruled > 15, "{ruled}");
}

#[test]
fn a_caller_sets_what_the_file_could_set_and_fractions_of_a_second() {
    let mut settings = MethodologySettings::default();
    let given =
        json!({ "pause": 0.25, "pilot": true, "clocks": { "idle": "2m" }, "quality_checks": ["make"] });
    settings.set(given.as_object().unwrap()).unwrap();
    let expected = MethodologySettings {
        pause: Duration::from_millis(250),
        pilot: PilotSettings { enabled: true, ..Default::default() },
        clocks: ClockSettings { idle: Duration::from_secs(120), ..Default::default() },
        quality_checks: vec![CheckCommand::new("make")],
        ..Default::default()
    };
    assert_eq!(settings, expected);
    let unknown = settings.set(json!({ "max_iteration": 1 }).as_object().unwrap()).expect_err("unknown");
    assert_eq!(unknown.to_string(), "max_iteration: unknown key");
    assert_eq!(unknown.help(), "Did you mean \"max_iterations\"?");
    assert_eq!(settings, expected);
}

#[test]
fn a_program_that_fills_in_the_record_is_held_to_the_same_rules() {
    let broken = |change: fn(&mut MethodologySettings)| {
        let mut settings = MethodologySettings::default();
        change(&mut settings);
        settings.check().expect_err("beyond its rule").to_string()
    };
    let told = [
        broken(|settings| settings.max_consecutive_failures = 0),
        broken(|settings| settings.pause = Duration::from_hours(25)),
        broken(|settings| settings.clocks.idle = Duration::ZERO),
        broken(|settings| settings.session_budget.max_cost_usd = Some(0.0)),
        broken(|settings| settings.pilot.discover_interval = 0),
        broken(|settings| settings.pilot.focus = "f".repeat(1 << 20)),
        broken(|settings| settings.quality_checks = vec![CheckCommand::new(" ")]),
    ];
    assert_eq!(
        told,
        [
            "max_consecutive_failures: 0 is out of range, expected a whole number of at least 1",
            "pause: 25h is out of range, expected a duration from 0s to 24h",
            "clocks.idle: 0s is out of range, expected a duration from 1s to 24h",
            "session_budget.max_cost_usd: 0.0 is out of range, expected a number above 0",
            "pilot.discover_interval: 0 is out of range, expected a whole number of at least 1",
            "pilot.focus: text of 1048576 bytes is out of range, expected text of at most 4096 bytes",
            "quality_checks[0].command: must not be empty",
        ]
    );
    assert!(MethodologySettings::default().check().is_ok());
}

#[test]
fn a_number_that_json_lacks_is_refused_whoever_gives_it() {
    for (number, shown) in [(f64::NAN, "nan"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let of_budget =
            format!("session_budget.max_cost_usd: {shown} is out of range, expected a number above 0");
        let mut settings = MethodologySettings::default();
        let budget = [("session_budget", [("max_cost_usd", number)].into())];
        let of_caller = settings.set(&BTreeMap::<_, BTreeMap<_, _>>::from(budget));
        assert_eq!(of_caller.unwrap_err().to_string(), of_budget);
        let of_pause = settings.set(&BTreeMap::from([("pause", number)])).unwrap_err().to_string();
        assert!(of_pause.starts_with("pause: "), "{of_pause}");
        settings.session_budget.max_cost_usd = Some(number);
        assert_eq!(settings.check().unwrap_err().to_string(), of_budget);
        settings.set(&json!({ "max_iterations": 3 })).unwrap();
        assert_eq!(settings.max_iterations, NonZeroU32::new(3));
        assert_eq!(settings.check().unwrap_err().to_string(), of_budget, "what is set besides keeps it");
    }
    let mut settings = MethodologySettings { pause: Duration::MAX, ..Default::default() };
    settings.session_budget.max_tokens = Some(u64::MAX);
    let told = settings.check().unwrap_err().to_string();
    assert!(told.contains("pause: ") && told.contains("session_budget.max_tokens: "), "{told}");
    let none = json!({ "session_budget": { "max_cost_usd": null } });
    assert!(settings.set(&none).is_err(), "nothing is not a number");
}

#[test]
fn a_whole_number_that_toml_cannot_write_is_out_of_range() {
    let settings = &mut MethodologySettings::default();
    let mut refused = |given: f64| settings.set(&BTreeMap::from([("max_iterations", given)])).unwrap_err();
    assert_eq!(
        [1e20, -1e20, 1.5].map(|given| refused(given).to_string()),
        [
            "max_iterations: 100000000000000000000 is out of range, expected a whole number of at most 4294967295",
            "max_iterations: -100000000000000000000 is out of range, expected a whole number of at least 0",
            "max_iterations: expected a whole number, found a number with a fraction",
        ]
    );
}

#[test]
fn all_settings_that_a_caller_gives_wrong_are_told_at_once() {
    let mut settings = MethodologySettings { max_consecutive_failures: 0, ..Default::default() };
    settings.pause = Duration::from_hours(25);
    settings.clocks.idle = Duration::ZERO;
    let of_record = settings.check().expect_err("three are wrong");
    let given = json!({ "max_consecutive_failures": 0, "pause": "25h", "clocks": { "idle": "0s" } });
    let of_values = settings.set(given.as_object().unwrap()).expect_err("three are wrong");
    for error in [of_record, of_values] {
        assert_eq!(
            error.to_string(),
            "max_consecutive_failures: 0 is out of range, expected a whole number of at least 1. \
             Change the value, or remove the key.\n\
             pause: 25h is out of range, expected a duration from 0s to 24h. \
             Change the value, or remove the key.\n\
             clocks.idle: 0s is out of range, expected a duration from 1s to 24h. \
             Change the value, or remove the key."
        );
        assert_eq!(error.help(), Remedy::from("Correct each of the settings named above."));
        assert_eq!((error.problems().len(), error.location()), (3, None));
    }
}

#[test]
fn a_limit_of_0_iterations_is_none_whoever_sets_it() {
    assert_eq!(MethodologySettings::default().max_iterations, NonZeroU32::new(20));
    let of_file = parse("[methodology.ralph]\nmax_iterations = 0\n").unwrap().methodology("ralph");
    let mut of_caller = MethodologySettings::default();
    of_caller.set(&json!({ "max_iterations": 0 })).unwrap();
    for mut settings in [of_file, of_caller] {
        assert_eq!((settings.max_iterations, settings.vars("a").max_iterations), (None, None));
        settings.check().unwrap();
        settings.set(&json!({ "max_iterations": 4 })).unwrap();
        assert_eq!(settings.vars("a").max_iterations, Some(4));
    }
}
