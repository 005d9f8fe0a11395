//! Task lists in JSON.

use super::*;
use crate::PrdError;

fn json(text: &str) -> Result<Conversion, PrdError> {
    convert(&Document::new("prd.json", text), None, now())
}

/// Returns the stories in the planner's order: by priority, then by id.
fn worked_on(conversion: Conversion) -> Vec<String> {
    let mut tasks = conversion.tasks;
    tasks.sort_by(|one, other| one.priority.cmp(&other.priority).then_with(|| one.id.cmp(&other.id)));
    tasks.into_iter().map(|task| task.id.to_string()).collect()
}

fn stories(ranks: &[(&str, u32)]) -> String {
    let story = |(id, rank): &(&str, u32)| format!(r#"{{"id": "{id}", "title": "t", "priority": {rank}}}"#);
    format!(r#"{{"userStories": [{}]}}"#, ranks.iter().map(story).collect::<Vec<_>>().join(",\n"))
}

#[test]
fn stories_are_worked_on_in_the_order_of_their_priorities() {
    for (ranks, expected) in [
        (&[("US-1", 3), ("US-2", 1), ("US-3", 2)][..], ["US-2", "US-3", "US-1"].as_slice()),
        (&[("US-9", 1), ("US-10", 2)], &["US-9", "US-10"]),
        (&[("US-4", 1), ("US-3", 2), ("US-2", 3), ("US-1", 4)], &["US-4", "US-3", "US-2", "US-1"]),
        (&[("US-3", 1), ("US-1", 2), ("US-2", 2)], &["US-3", "US-1", "US-2"]),
    ] {
        let conversion = json(&stories(ranks)).unwrap();
        assert!(conversion.warnings.is_empty(), "{:?}", conversion.warnings);
        assert_eq!(worked_on(conversion), expected);
    }
}

#[test]
fn an_order_that_priorities_cannot_keep_is_told() {
    let conversion = json(&stories(&[("5", 1), ("4", 2), ("3", 3), ("2", 4), ("1", 5)])).unwrap();
    assert_eq!(places(&conversion.warnings), [(5, RemarkKind::UnknownPriority)]);
    assert_eq!(worked_on(conversion), ["5", "4", "3", "1", "2"]);
}

#[test]
fn a_key_that_is_there_twice_is_refused_with_its_place() {
    let error = json(
        "{\"userStories\": [\n  {\"id\": \"1\", \"title\": \"t\", \"passes\": true, \"passes\": false}\n]}",
    );
    let Err(PrdError::Json { line: 2, column: 52, source, .. }) = error else { panic!("{error:?}") };
    assert!(source.to_string().starts_with("the key \"passes\" is there twice"), "{source}");
}
