//! Scripts of plugins.
//!
//! A row becomes a script: one that prints a file where the answer is fixed, one
//! in Python where its texts are filled from the envelope. A script cannot panic,
//! so it exits with the message of the panic, which is a failure. Every row
//! applies.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};

use samuel_core::{
    hook::{Handler, HookPoint, Point, RegistryBuilder},
    plugin::{self, Capabilities, Capability},
    process::Supervisor,
};
use serde_json::{Value, json};

use crate::{
    point::at_point,
    row::{Break, HandlerRow},
    tier::{NOBODY, Stage, Tier, file},
};

/// Fills the texts of the answer beside it, as the table says.
const FILL: &str = r#"#!/usr/bin/env python3
import json, re, sys
envelope = json.load(sys.stdin)
def part(match):
    value = envelope
    for key in match.group(1).split("."):
        value = value[int(key)] if isinstance(value, list) else (value or {}).get(key)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
def fill(value):
    if isinstance(value, str):
        return re.sub(r"\$\{([^}]*)\}", part, value)
    if isinstance(value, list):
        return [fill(item) for item in value]
    if isinstance(value, dict):
        return {key: fill(item) for key, item in value.items()}
    return value
answer = json.load(open(sys.argv[0] + ".json"))
beside = {key: answer.pop(key) for key in ("contribute", "warnings")}
print(json.dumps({**fill(answer), **beside}))
"#;

/// Reports and asks before it answers, as the table says.
const SPEAK: &str = r#"#!/usr/bin/env python3
import json, sys
call = json.loads(sys.stdin.readline())
row = json.load(open(sys.argv[0] + ".json"))
def report(**told):
    print(json.dumps(told), flush=True)
def say(text):
    report(event={"type": "text", "text": text})
for text in row.pop("says"):
    say(text)
supervisor = row.pop("supervisor")
if supervisor:
    report(supervised_by={"pid": supervisor, "start_time": 1})
asks = row.pop("asks")
if asks:
    report(before_ability={"call_id": "1", "ability_id": asks, "input": {}})
    decision = json.loads(sys.stdin.readline())
    if decision["decision"] == "allow":
        say("allowed " + json.dumps(decision["input"]))
    else:
        say("blocked " + decision["reason"])
print(json.dumps(row, indent=1))
"#;

/// Scripts of plugins.
pub(crate) struct Skill;

impl Tier for Skill {
    fn name(&self) -> &'static str {
        "skill"
    }

    fn abandons(&self) -> bool {
        false
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        &[("panicked", "failed")]
    }

    fn register(&self, point: HookPoint, row: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder) {
        at_point!(point, P => {
            let script = write::<P>(row, point, stage);
            let env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
            // Rows are of handlers that may stand for the agent, and change it.
            let granted = Capabilities::default()
                .with(Capability::Exec, ["agent"])
                .with(Capability::AgentEnv, ["LANG", "MY_FLAG"]);
            let handler = plugin::Skill::new(script, stage.directory(), env, Supervisor::GroupOnly, &granted);
            let handler = if row.speaks() { handler.interactive() } else { handler };
            let handler: Arc<dyn Handler<P>> = Arc::new(handler);
            file::<P>(handler, row, stage, registry);
        });
    }
}

/// Writes the script of a row, and its answer beside it.
fn write<P: Point>(row: &HandlerRow, point: HookPoint, stage: &Stage) -> PathBuf {
    let name = format!("{point}-{}", row.id).replace([':', '.', '/'], "_");
    let script = stage.directory().join(name);
    let beside = |ending: &str| PathBuf::from(format!("{}.{ending}", script.display()));
    let Value::Object(mut answer) = serde_json::to_value(<P as Point>::Output::default()).unwrap() else {
        panic!("the output of {point} is no record")
    };
    answer.extend(row.answer.clone());
    answer.insert("contribute".to_owned(), json!(row.contribute));
    answer.insert("warnings".to_owned(), json!(row.warns));
    if row.speaks() {
        answer.insert("says".to_owned(), json!(row.says));
        answer.insert("asks".to_owned(), json!(row.asks));
        answer.insert("supervisor".to_owned(), json!(row.supervised.then_some(NOBODY)));
    }
    let answer = Value::Object(answer).to_string();
    fs::write(beside("json"), &answer).unwrap();
    fs::write(beside("message"), format!("{}\n", row.message)).unwrap();
    let text = match row.breaks {
        Some(Break::Fails | Break::Panics) => "#!/bin/sh\ncat \"$0.json\"; cat \"$0.message\" >&2; exit 1\n",
        Some(Break::Hangs) => "#!/bin/sh\nexec sleep 1000\n",
        Some(Break::Ignores) => "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1000; done\n",
        None if row.speaks() => SPEAK,
        None if answer.contains("${") => FILL,
        None => "#!/bin/sh\nexec cat \"$0.json\"\n",
    };
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script
}
