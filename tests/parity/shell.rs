//! Scripts of repository hooks.
//!
//! A row becomes a file of `.system/hooks` and a script that prints a result. A result
//! has no word for all that a row can ask for ([`Shell::can`]); the rows of which every handler can be
//! one are played. They are called `repo:<plugin>-<name>`. Session hooks, which have no word but text and
//! never break anything, have a suite of their own.

use std::{fs, path::Path};

use samuel_core::{
    dialect::{EventType, HookFileOptions, HookFiles},
    hook::{HookPoint, RegistryBuilder},
    process::Supervisor,
};
use serde_json::{Map, Value, json};

use crate::{
    row::{Break, HandlerRow},
    tier::{Stage, Tier},
};

/// Fills the texts of the result beside it from the context.
const FILL: &str = r#"
import json, re, sys
context = json.load(sys.stdin)
def part(match):
    value = context
    for key in match.group(1).split("."):
        value = (value or {}).get(key)
    if value is None or isinstance(value, str):
        return json.dumps(value or "")[1:-1]
    return json.dumps(value)
print(re.sub(r"\$\{input\.([^}]*)\}", part, open(sys.argv[1]).read()))
"#;

/// Scripts of repository hooks.
pub(crate) struct Shell;

impl Tier for Shell {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn abandons(&self) -> bool {
        false
    }

    /// A result has no word for a reason but its messages.
    fn tells_reasons(&self) -> bool {
        true
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("panicked", "failed"),
            ("aa:", "repo:aa-"),
            ("bb:", "repo:bb-"),
            ("cc:", "repo:cc-"),
            ("api:", "repo:api-"),
        ]
    }

    /// A script is asked at six points. It says no with a reason, leaves text, reports, and breaks.
    fn can(&self, point: HookPoint, row: &HandlerRow) -> bool {
        let Some(event_type) = EventType::of_point(point) else { return false };
        let answer = |(field, value): (&String, &Value)| match field.as_str() {
            "results" => true,
            "text" => contents(value).is_some(),
            "block" => event_type.can_block(),
            "reason" => value.as_str().is_some_and(|reason| !reason.trim().is_empty()),
            _ => false,
        };
        let says_why = !row.answer.contains_key("block") || row.answer.contains_key("reason");
        let knows = Value::from(row.answer.clone()).to_string();
        row.id.starts_with("repo:")
            && row.answer.iter().all(answer)
            && says_why
            && knows.matches("${").count() == knows.matches("${input.").count()
            && row.order.is_none()
            && row.contribute.is_empty()
            && row.warns.is_empty()
            && !row.speaks()
    }

    fn register(&self, point: HookPoint, row: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder) {
        let id = row.id.trim_start_matches("repo:");
        let root = stage.project(id);
        write(&root, id, EventType::of_point(point).unwrap(), row);
        let mut files = HookFiles::read(&root).unwrap();
        assert!(files.problems().is_empty(), "{:?}", files.problems());
        let options = HookFileOptions {
            env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
            supervisor: Supervisor::GroupOnly,
            ..HookFileOptions::default()
        };
        files.register(registry, options);
    }
}

/// Returns the texts of an answer, where that is all that it says of them.
fn contents(text: &Value) -> Option<Vec<Value>> {
    let content =
        |item: &Value| Some(item.get("content")?.clone()).filter(|_| item.as_object().unwrap().len() == 1);
    text.as_array()?.iter().map(content).collect()
}

/// Writes the hook of a row, and its script.
fn write(root: &Path, id: &str, event_type: EventType, row: &HandlerRow) {
    let mut result = row.answer.get("results").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut add_messages = |messages: Vec<Value>| {
        let known = result.entry("messages_to_user").or_insert(json!([]));
        known.as_array_mut().unwrap().extend(messages);
    };
    row.answer.get("text").and_then(contents).into_iter().for_each(&mut add_messages);
    row.answer.get("reason").cloned().into_iter().for_each(|reason| add_messages(vec![reason]));
    let blocks = row.answer.get("block") == Some(&json!(true));
    result.insert("block_execution".to_owned(), blocks.into());
    let hook = format!(
        "id: {id}\nevent_type: {}\nblocking: {blocks}\nhandler: {{kind: script, command: [sh, scripts/hook.sh]}}\n",
        event_type.as_str()
    );
    let script = match row.breaks {
        Some(Break::Fails | Break::Panics) => "cat result.json; cat message >&2; exit 1\n",
        Some(Break::Hangs) => "exec sleep 1000\n",
        Some(Break::Ignores) => "trap '' TERM\nwhile :; do sleep 1000; done\n",
        None => "exec python3 scripts/fill.py result.json\n",
    };
    let result = Value::from(Map::from_iter(result)).to_string();
    for (path, text) in [
        (format!(".system/hooks/{id}.yaml"), hook),
        ("scripts/hook.sh".to_owned(), script.to_owned()),
        ("scripts/fill.py".to_owned(), FILL.to_owned()),
        ("result.json".to_owned(), result),
        ("message".to_owned(), format!("{}\n", row.message)),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
