//! An event that a repository hook is for, to try it out with.

use serde_json::{Map, Value};

use super::{EventType, RepositoryHook, patterns::Patterns};

/// An ability that few patterns exclude.
const ANOTHER_ABILITY: &str = "Other";
/// A path that few patterns exclude.
const ANOTHER_PATH: &str = "other.txt";

/// Returns what an event has to say beside the sample of its point for a hook to be for it: an empty object
/// where the sample is such an event, nothing where none is found.
pub(super) fn beside_sample(hook: &RepositoryHook) -> Option<Value> {
    let sample: Value = serde_json::from_str(hook.event_type.point().sample()).unwrap_or_default();
    let matching = &hook.matching;
    let mut beside = Map::new();
    if let Some(scope) = matching.ability_scope.as_ref().filter(|_| hook.event_type.is_of_ability()) {
        let known = sample.get("ability_id").and_then(Value::as_str).unwrap_or_default();
        if !scope.matches(known) {
            beside.insert("ability_id".to_owned(), example(scope, ANOTHER_ABILITY)?.into());
        }
    }
    let took = sample.get("duration_ms").and_then(Value::as_u64).unwrap_or_default();
    if hook.event_type == EventType::PostAbilityCall && took < matching.min_duration_ms {
        beside.insert("duration_ms".to_owned(), matching.min_duration_ms.into());
    }
    if let Some(paths) =
        matching.only_if_changed_paths.as_ref().filter(|_| hook.event_type.has_changed_files())
    {
        let changed = sample.get("changed_files").and_then(Value::as_array).into_iter().flatten();
        if !changed.filter_map(Value::as_str).any(|path| paths.matches(path)) {
            beside.insert("changed_files".to_owned(), vec![example(paths, ANOTHER_PATH)?].into());
        }
    }
    let mut event = sample;
    event.as_object_mut()?.extend(beside.clone());
    hook.is_for(&event).then(|| beside.into())
}

/// Returns a name that a list of patterns matches, where one is easily found.
fn example(patterns: &Patterns, another: &str) -> Option<String> {
    let plain = patterns.globs().map(plain);
    plain.chain([another.to_owned()]).find(|name| patterns.matches(name))
}

/// Returns a name that a glob may match: each part of it that stands for others by one of them.
fn plain(glob: &str) -> String {
    let mut name = String::new();
    let mut rest = glob.chars();
    while let Some(c) = rest.next() {
        match c {
            // It may stand for nothing.
            '*' if name.ends_with('x') => {}
            '*' | '?' => name.push('x'),
            '[' => {
                let class: String = rest.by_ref().take_while(|c| *c != ']').collect();
                name.extend(class.chars().find(|c| !matches!(c, '!' | '^')));
            }
            // The first of the choices.
            '{' => {
                let choices: String = rest.by_ref().take_while(|c| *c != '}').collect();
                name.push_str(&plain(choices.split(',').next().unwrap_or_default()));
            }
            '\\' => name.extend(rest.next()),
            c => name.push(c),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::dialect::repository::file;

    #[test]
    fn an_event_is_found_that_a_hook_is_for() {
        for (event_type, conditions, expected) in [
            ("PreAbilityCall", "ability_scope: '*'", Some(json!({}))),
            ("PreAbilityCall", "ability_scope: Bash", Some(json!({}))),
            (
                "PreAbilityCall",
                "ability_scope: ['edit_*', '!edit_docs']",
                Some(json!({"ability_id": "edit_x"})),
            ),
            ("PreAbilityCall", "ability_scope: '!Bash'", Some(json!({"ability_id": "Other"}))),
            (
                "PreAbilityCall",
                "ability_scope: ['!B*', '{db,web}.w?[ab]']",
                Some(json!({"ability_id": "db.wxa"})),
            ),
            ("PostAbilityCall", "min_duration_ms: 60000", Some(json!({"duration_ms": 60_000}))),
            (
                "SessionStop",
                "only_if_changed_paths: ['apps/**/*.ts']",
                Some(json!({"changed_files": ["apps/x/x.ts"]})),
            ),
            // Nothing is.
            ("PreAbilityCall", "ability_scope: ['a', '!a']", None),
        ] {
            let text = format!(
                "id: a\nevent_type: {event_type}\nmatch: {{{conditions}}}\nhandler: {{kind: script, command: 'true'}}\n"
            );
            let hook = file::parse(Path::new("a.yaml"), &text).unwrap();
            assert_eq!(beside_sample(&hook), expected, "{conditions}");
        }
    }
}
