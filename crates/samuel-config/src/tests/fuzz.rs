//! What holds for any text.

use proptest::prelude::*;
use samuel_hook::HookPoint;

use super::{FULL, parse};

/// Checks what holds for any text: an answer, and problems inside the text.
fn check_answer(text: &str) -> Result<(), TestCaseError> {
    let Err(error) = parse(text) else { return Ok(()) };
    prop_assert!(!error.problems().is_empty());
    let lines = text.matches('\n').count() + 1;
    for problem in error.problems() {
        prop_assert!(problem.location.line.is_some_and(|line| (1..=lines).contains(&line)));
        prop_assert!(problem.location.column.is_some_and(|column| column >= 1));
        prop_assert!(!problem.help().prose().is_empty() && !problem.to_string().is_empty());
    }
    Ok(())
}

/// Lines that are nearly those of a samuel.toml.
fn line() -> impl Strategy<Value = String> {
    const TABLES: &[&str] =
        &["hooks", "methodology.ralph", "methodology.ralph.pilot", "guardrails", "project"];
    #[rustfmt::skip]
    const KEYS: &[&str] = &[
        "timeout", "handlers", "order", "hooks", "ralph", "agent", "quality_checks", "extra", "version",
        "\"a.b\"", "name", "methodology",
    ];
    #[rustfmt::skip]
    const VALUES: &[&str] = &[
        "1", "-1", "1e9", "\"5m\"", "\"default\"", "[\"a\"]", "[{}]", "{ timeout = 1 }", "true", "nan",
        "\"日本\"", "",
    ];
    let table = prop::sample::select(TABLES).prop_map(|table| format!("[{table}]"));
    let point = prop::sample::select(HookPoint::ALL).prop_map(|point| format!("[hooks.\"{point}\".order]"));
    let entry = (prop::sample::select(KEYS), prop::sample::select(VALUES));
    let entry = entry.prop_map(|(key, value)| format!("{key} = {value}"));
    prop_oneof![table, point, entry, Just("[[plugins]]".to_owned()), "\\PC{0,12}"]
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        check_answer(&text)?;
    }

    #[test]
    fn nearly_valid_text_never_panics(lines in prop::collection::vec(line(), 0..20)) {
        check_answer(&lines.join("\n"))?;
    }

    #[test]
    fn a_damaged_file_never_panics(at in 0..FULL.len(), with in any::<char>()) {
        let text: String = FULL.chars().enumerate().map(|(place, c)| if place == at { with } else { c }).collect();
        check_answer(&text)?;
    }
}
