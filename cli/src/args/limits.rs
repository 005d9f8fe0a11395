//! The options of `run start` that stand in place of a setting of samuel.toml.

use std::num::IntErrorKind;

use clap::Args;
use samuel_core::config::{MethodologySettings, ProblemKind};
use serde_json::{Map, Value as Json, json};

#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// The model that the agent is to use, by its own name for it
    #[arg(long, value_name = "NAME", value_parser = setting("model"))]
    model: Option<Given>,
    /// How many iterations the run may make; 0 sets no limit
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = setting("max_iterations"))]
    max_iterations: Option<Given>,
    /// The cost in US dollars that ends the run, as far as the agent reports what it costs
    #[arg(long, allow_negative_numbers = true, value_name = "USD", value_parser = setting("session_budget.max_cost_usd"))]
    max_cost: Option<Given>,
    /// The time that ends the run, such as 8h, 1h30m or whole seconds
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", value_parser = setting("session_budget.max_wall_time"))]
    max_time: Option<Given>,
    /// After so many failed iterations in a row the run ends
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = setting("max_consecutive_failures"))]
    max_failures: Option<Given>,
    /// After so many failed attempts a task is blocked; 0 sets no limit
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = setting("task_budget.max_attempts"))]
    max_attempts: Option<Given>,
    /// The pause between two iterations, such as 5s, 1m30s or whole seconds
    #[arg(long, allow_negative_numbers = true, value_name = "TIME", value_parser = setting("pause"))]
    pause: Option<Given>,
    /// How many lanes work at once, each on a task of its own in a clone of its own (docs/parallel.md)
    ///
    /// What they make is merged, checked and landed on a new branch, which the last line names. With 1 there is
    /// one loop, in the project itself.
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = setting("parallel.jobs"))]
    jobs: Option<Given>,
    /// The branch that the work of several lanes lands on, in place of a new one
    #[arg(long, value_name = "BRANCH", value_parser = setting("parallel.into"))]
    into: Option<Given>,
}

#[derive(Debug, Args)]
pub(crate) struct DiscoveryArgs {
    /// What to look at; by default everything
    #[arg(long, value_name = "TEXT", value_parser = setting("pilot.focus"))]
    focus: Option<Given>,
    /// Look for tasks in every N-th iteration
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = setting("pilot.discover_interval"))]
    discover_interval: Option<Given>,
    /// How many tasks one look may add
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = setting("pilot.max_discovery_tasks"))]
    max_discovery_tasks: Option<Given>,
}

impl DiscoveryArgs {
    /// Returns what was given, an option each, and that the run looks for tasks.
    pub(crate) fn given(&self) -> Vec<Given> {
        let Self { focus, discover_interval, max_discovery_tasks } = self;
        let options = [focus, discover_interval, max_discovery_tasks].into_iter().flatten().cloned();
        options.chain([nested("pilot.enabled", &true.into())]).collect()
    }
}

/// Settings with their values, in the tables that samuel.toml has them in.
pub(crate) type Given = Map<String, Json>;

impl LimitArgs {
    /// Returns what was given, an option each.
    pub(crate) fn given(&self) -> Vec<Given> {
        let Self { model, max_iterations, max_cost, max_time, max_failures, max_attempts, pause, jobs, into } =
            self;
        let limits = [model, max_iterations, max_cost, max_time, max_failures, max_attempts, pause];
        let options = limits.into_iter().chain([jobs, into]);
        options.into_iter().flatten().cloned().collect()
    }
}

/// Returns the option that stands in place of the setting of a limit, where there is one.
pub(crate) fn option_of(setting: &str) -> Option<&'static str> {
    Some(match setting {
        "max_iterations" => "--max-iterations",
        "session_budget.max_cost_usd" => "--max-cost",
        "session_budget.max_wall_time" => "--max-time",
        "max_consecutive_failures" => "--max-failures",
        "task_budget.max_attempts" => "--max-attempts",
        _ => return None,
    })
}

/// Reads a setting of samuel.toml, and holds it against its rule.
pub(super) fn setting(key: &'static str) -> impl Fn(&str) -> Result<Given, String> + Clone + Send + Sync {
    move |text| {
        let number = match key {
            "pilot.focus" | "model" | "parallel.into" => Err(IntErrorKind::InvalidDigit),
            _ => text.parse::<i64>().map_err(|error| *error.kind()),
        };
        let value = match &number {
            Ok(number) => Json::from(*number),
            // The largest is beyond every limit that an option has.
            Err(IntErrorKind::PosOverflow) => Json::from(i64::MAX),
            Err(IntErrorKind::NegOverflow) => Json::from(i64::MIN),
            Err(_) if key.ends_with("_usd") => amount(text),
            Err(_) => Json::from(text),
        };
        let given = nested(key, &value);
        // The option names the setting already.
        MethodologySettings::default().set(&given).map(|()| given).map_err(|error| match error.problems() {
            [only] => match &only.kind {
                ProblemKind::OutOfRange { expected, .. } if number.is_err() && value.is_i64() => {
                    ProblemKind::OutOfRange { found: text.to_owned(), expected: expected.clone() }.to_string()
                }
                kind => kind.to_string(),
            },
            _ => error.to_string(),
        })
    }
}

/// Reads a number with a fraction; what is none stays text.
fn amount(text: &str) -> Json {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map_or_else(|| Json::from(text), Json::from)
}

/// Puts a value into the tables that its key names.
fn nested(key: &str, value: &Json) -> Given {
    let (table, inner) = match key.split_once('.') {
        Some((table, rest)) => (table, json!(nested(rest, value))),
        None => (key, value.clone()),
    };
    Given::from_iter([(table.to_owned(), inner)])
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use samuel_core::config::config_schema;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_option_of_a_limit_is_one_of_start_and_stands_for_a_setting() {
        let schema = config_schema();
        let settings = schema.pointer("/properties/methodology/additionalProperties").expect("it is there");
        let mut command = Cli::command();
        command.build();
        let run = command.find_subcommand("run").and_then(|run| run.find_subcommand("start"));
        let start = run.expect("it is there").clone();
        for key in [
            "max_iterations",
            "session_budget.max_cost_usd",
            "session_budget.max_wall_time",
            "max_consecutive_failures",
            "task_budget.max_attempts",
        ] {
            let option = option_of(key).expect("it has an option").trim_start_matches("--");
            assert!(start.get_arguments().any(|argument| argument.get_long() == Some(option)), "{option}");
            let path = format!("/properties/{}", key.replace('.', "/properties/"));
            assert!(settings.pointer(&path).is_some(), "{path}");
        }
    }

    #[test]
    fn an_amount_may_have_a_fraction_and_is_held_against_its_rule() {
        let cost = setting("session_budget.max_cost_usd");
        assert_eq!(cost("2.5").map(Json::from), Ok(json!({ "session_budget": { "max_cost_usd": 2.5 } })));
        assert_eq!(cost("3").map(Json::from), Ok(json!({ "session_budget": { "max_cost_usd": 3 } })));
        for (given, expected) in [
            ("0", "0 is out of range, expected a number above 0"),
            ("-1.5", "-1.5 is out of range, expected a number above 0"),
            ("$5", "expected a number, found text"),
            ("nan", "expected a number, found text"),
        ] {
            assert_eq!(cost(given), Err(expected.to_owned()), "{given}");
        }
    }
}
