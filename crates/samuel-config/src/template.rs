//! The samuel.toml that `samuel init` writes.

use serde_json::{Map, Value as Json};
use toml::Value;

use super::{Config, DEFAULT_METHODOLOGY, MethodologySettings, SandboxSettings, settings::guardrails_schema};

/// What is no setting, and lines with the name of a schema in braces for what is.
const TEMPLATE: &str = include_str!("template.toml");

impl Config {
    /// Returns a samuel.toml that sets nothing and shows every key with its
    /// default. Keys stand directly behind their `#`, prose after a space.
    pub fn template() -> String {
        TEMPLATE
            .replace("{settings}\n", &shown(&MethodologySettings::schema(), "methodology.ralph"))
            .replace("{guardrails}\n", &shown(&guardrails_schema(), "guardrails"))
            .replace("{sandbox}\n", &shown(&SandboxSettings::schema(), "sandbox"))
    }

    /// Returns the samuel.toml of a new project: the template with the
    /// project's name, its checks and its methodology filled in. An empty name
    /// and an empty list remain comments. The methodology should be one that
    /// [`check_methodology_name`](super::check_methodology_name) accepts.
    pub fn render_new(name: &str, quality_checks: &[String], default_methodology: &str) -> String {
        let checks: Vec<Value> = quality_checks.iter().cloned().map(Value::String).collect();
        let own = |table: &str| format!("[methodology.{table}");
        let template = Self::template();
        let mut text = String::with_capacity(template.len());
        for line in template.lines() {
            match line {
                "#default_methodology = \"ralph\"" => {
                    let value = Value::String(default_methodology.to_owned());
                    text.push_str(&format!("default_methodology = {value}"));
                }
                "#name = \"\"" if !name.is_empty() => {
                    text.push_str(&format!("name = {}", Value::String(name.to_owned())));
                }
                "#quality_checks = []" if !checks.is_empty() => {
                    text.push_str(&format!("quality_checks = {}", Value::Array(checks.clone())));
                }
                _ => text.push_str(&line.replace(&own(DEFAULT_METHODOLOGY), &own(default_methodology))),
            }
            text.push('\n');
        }
        text
    }
}

/// Shows the settings of a table: each key with its default behind a number sign,
/// below what it is. A table without defaults is a key, every other one a table; in
/// one, a key without a default is told of.
fn shown(settings: &Map<String, Json>, path: &str) -> String {
    let mut text = format!("[{path}]\n");
    let mut tables = String::new();
    for (key, schema) in settings {
        let description = schema.get("description").and_then(Json::as_str).unwrap_or_default();
        let about = comment(description);
        if let Some(default) = schema.get("default") {
            text.push_str(&format!("{about}#{key} = {}\n", toml_of(default)));
            continue;
        }
        // One that `true` and `false` stand for as well.
        let table = schema.pointer("/oneOf/1").unwrap_or(schema);
        let Some(inner) = table.get("properties").and_then(Json::as_object) else {
            text.push_str(&comment(&format!("{key} = ...: {description}")));
            continue;
        };
        if inner.values().any(|schema| schema.get("default").is_some()) {
            tables.push_str(&format!("\n{about}{}", shown(inner, &format!("{path}.{key}"))));
            continue;
        }
        text.push_str(&about);
        for (key, schema) in inner {
            let about = schema.get("description").and_then(Json::as_str).unwrap_or_default();
            text.push_str(&comment(&format!("{key} = ...: {about}")));
        }
        text.push_str(&format!("#{key} = {{}}\n"));
    }
    text + &tables
}

/// Writes a default as TOML; all of them are one value or an empty list.
fn toml_of(default: &Json) -> String {
    Value::try_from(default).map_or_else(|_| default.to_string(), |value| value.to_string())
}

/// Puts text into lines behind number signs, each with a space.
fn comment(text: &str) -> String {
    const WIDTH: usize = 80;
    let (mut lines, mut line) = (String::new(), "#".to_owned());
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = "#".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use super::*;
    use crate::{CheckCommand, MethodologySettings};
    use samuel_hook::{HookPoint, OnFailure};
    use samuel_model::Coded as _;

    fn parse(text: &str) -> Config {
        Config::parse(Path::new("samuel.toml"), text).unwrap()
    }

    #[test]
    fn as_it_is_the_template_sets_nothing() {
        let config = parse(&Config::template());
        assert_eq!(config.default_methodology, "ralph");
        assert_eq!(config.methodology("ralph"), MethodologySettings::default());
        assert_eq!(config.guardrails, Config::default().guardrails);
        assert_eq!(config.chain(HookPoint::QualityCheck, "ralph"), Default::default());
        assert!(config.plugins.is_empty());
    }

    #[test]
    fn with_every_key_uncommented_the_template_sets_the_defaults() {
        let template = Config::template();
        let uncommented: Vec<&str> = template
            .lines()
            .map(|line| line.strip_prefix('#').filter(|key| !key.starts_with(' ')).unwrap_or(line))
            .collect();
        let config = parse(&uncommented.join("\n"));
        assert_eq!(config.methodology("ralph"), MethodologySettings::default());
        assert_eq!(config.guardrails, Config::default().guardrails);
        assert_eq!((config.default_methodology.as_str(), config.project_name.as_str()), ("ralph", ""));
        let chain = config.chain(HookPoint::QualityCheck, "ralph");
        assert_eq!(chain.on_failure, Some(OnFailure::AbortIteration));
        assert_eq!(
            chain.failure_action(HookPoint::QualityCheck),
            HookPoint::QualityCheck.default_on_failure()
        );
        assert_eq!(chain.timeout, Some(samuel_hook::ChainSpec::TIMEOUT));
        assert_eq!(config.plugins.len(), 1);
    }

    #[test]
    fn the_template_shows_every_key_that_is_known() {
        let template = Config::template();
        // A table with an unknown key lists the keys it knows.
        let tables = [
            "",
            "methodology.ralph.",
            "methodology.ralph.clocks.",
            "methodology.ralph.pilot.",
            "methodology.ralph.context.",
            "methodology.ralph.session_budget.",
            "methodology.ralph.task_budget.",
            "guardrails.",
            "sandbox.",
            "project.",
            "hooks.\"quality.check\".",
        ];
        for table in tables {
            let error = Config::parse(Path::new("f"), &format!("{table}zzz = 1")).expect_err("unknown");
            let help = error.help().prose();
            let known = help.strip_prefix("Use ").map(|known| known.trim_start_matches("one of "));
            let known = known.unwrap().trim_matches(['.', '"']);
            for key in known.split(", ") {
                let shown =
                    [format!("#{key} = "), format!("{key} = "), format!("{key}]"), format!("[{key}.")];
                assert!(shown.iter().any(|text| template.contains(text.as_str())), "{table}{key}");
            }
        }
    }

    #[test]
    fn a_new_project_gets_its_name_checks_and_methodology() {
        let checks = ["cargo test".to_owned(), "say \"hi\" # 'you' \\".to_owned()];
        let text = Config::render_new("my \"app\"\n", &checks, "tdd-strict");
        let config = parse(&text);
        assert_eq!(
            (config.project_name.as_str(), config.default_methodology.as_str()),
            ("my \"app\"\n", "tdd-strict")
        );
        let settings = config.methodology("tdd-strict");
        assert_eq!(settings.quality_checks, checks.map(CheckCommand::new));
        assert_eq!(config.methodology("ralph"), MethodologySettings::default());
    }

    #[test]
    fn a_new_project_without_name_and_checks_has_the_defaults() {
        let config = parse(&Config::render_new("", &[], "ralph"));
        assert_eq!((config.project_name.as_str(), config.default_methodology.as_str()), ("", "ralph"));
        assert_eq!(config.methodology("ralph"), MethodologySettings::default());
    }
}
