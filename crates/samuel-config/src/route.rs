//! One table of `[[methodology.<name>.routes]]`.
//!
//! An [`AgentRoute`] is conditions, and the agent, model and arguments of the calls that
//! meet them. Which of several it is says `agent::Routing`.

use samuel_model::payload::{Complexity, Mode, Priority};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{
    AGENTS, ProblemKind,
    json_schema::{described, table},
    value::Value,
};

/// Which agent works where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRoute {
    /// It is for tasks of this complexity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
    /// It is for tasks of this priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// It is for iterations of this mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// It is for tasks that so many iterations of the run, or attempts of all runs, failed at, or more; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_failures: Option<u32>,
    /// The agent; by default the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its model; by default the configured one where the agent is, else the agent's own choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Arguments beside those that the agent has anyway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

impl AgentRoute {
    /// Reads a table.
    pub(super) fn read(value: &Value<'_>) -> Option<Json> {
        let mut table = value.table()?;
        let mut is_whole = true;
        let mut known = |key, what, names: &[&'static str]| {
            let found = table.take(key)?.one_of(what, names);
            is_whole &= found.is_some();
            found
        };
        let complexity = known("complexity", "complexity", &words(Complexity::ALL, Complexity::as_str));
        let priority = known("priority", "priority", &words(Priority::ALL, Priority::as_str));
        let mode = known("mode", "mode", &words(Mode::ALL, Mode::as_str));
        let agent = known("agent", "agent", AGENTS);
        let mut given = |read: Option<Option<Json>>| {
            is_whole &= !matches!(read, Some(None));
            read.flatten()
        };
        let after_failures = given(
            table.take("after_failures").map(|value| value.integer(1..=u32::MAX.into()).map(Json::from)),
        );
        let model = given(table.take("model").map(|value| value.filled().map(Json::from)));
        let args = given(table.take("args").map(|value| value.strings().map(Json::from)));
        is_whole &= table.finish();
        let has_condition =
            [complexity, priority, mode].iter().any(Option::is_some) || after_failures.is_some();
        let has_choice = agent.is_some() || model.is_some() || args.is_some();
        let missing = match (has_condition, has_choice) {
            (false, _) => Some(("says for which calls it is", CONDITIONS)),
            (true, false) => Some(("says what these calls have", CHOICES)),
            (true, true) => None,
        };
        if let (Some((what, keys)), true) = (missing, is_whole) {
            value.refuse(ProblemKind::Specific {
                what: format!("nothing {what}"),
                help: format!("Give it one of {keys}, or remove the table.").into(),
            });
            is_whole = false;
        }
        is_whole.then(|| {
            let all = [
                ("complexity", complexity.map(Json::from)),
                ("priority", priority.map(Json::from)),
                ("mode", mode.map(Json::from)),
                ("after_failures", after_failures),
                ("agent", agent.map(Json::from)),
                ("model", model),
                ("args", args),
            ];
            all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
        })
    }

    /// Describes a table.
    pub(super) fn schema() -> Json {
        let text = json!({ "type": "string", "minLength": 1 });
        let texts = json!({ "type": "array", "items": { "type": "string" } });
        let failures = json!({ "type": "integer", "minimum": 1 });
        let properties = json!({
            "complexity": described(json!({ "enum": words(Complexity::ALL, Complexity::as_str) }), "The complexity of the task."),
            "priority": described(json!({ "enum": words(Priority::ALL, Priority::as_str) }), "The priority of the task."),
            "mode": described(json!({ "enum": words(Mode::ALL, Mode::as_str) }), "The mode of the iteration."),
            "after_failures": described(failures, "How many iterations of the run failed at the task, or more."),
            "agent": described(json!({ "enum": AGENTS }), "The agent; by default the configured one."),
            "model": described(text, "Its model."),
            "args": described(texts, "Arguments beside those that it has anyway."),
        });
        table(properties, &[])
    }
}

const CONDITIONS: &str = "complexity, priority, mode and after_failures";
const CHOICES: &str = "agent, model and args";

fn words<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().copied().map(word).collect()
}
