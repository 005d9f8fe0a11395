//! The samuel.toml that `samuel init` writes.

use toml::Value;

use super::{Config, DEFAULT_METHODOLOGY, DEFAULT_METHODOLOGY_ALIAS};

/// Every key with its default, in comments.
const TEMPLATE: &str = include_str!("template.toml");

impl Config {
    /// Returns a samuel.toml that sets nothing and shows every key with its
    /// default. Keys stand directly behind their `#`, prose after a space.
    pub fn template() -> &'static str {
        TEMPLATE
    }

    /// Returns the samuel.toml of a new project: the template with the
    /// project's name, its checks and its methodology filled in. An empty name
    /// and an empty list remain comments. The methodology should be one that
    /// [`check_methodology_name`](super::check_methodology_name) accepts.
    pub fn render_new(name: &str, quality_checks: &[String], default_methodology: &str) -> String {
        let default_methodology = match default_methodology {
            DEFAULT_METHODOLOGY_ALIAS => DEFAULT_METHODOLOGY,
            name => name,
        };
        let checks: Vec<Value> = quality_checks.iter().cloned().map(Value::String).collect();
        let own = |table: &str| format!("[methodology.{table}");
        let mut text = String::with_capacity(TEMPLATE.len());
        for line in TEMPLATE.lines() {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use super::*;
    use crate::{
        config::{CheckCommand, MethodologySettings},
        hook::{HookPoint, OnFailure},
    };

    fn parse(text: &str) -> Config {
        Config::parse(Path::new("samuel.toml"), text).unwrap()
    }

    #[test]
    fn as_it_is_the_template_sets_nothing() {
        let config = parse(Config::template());
        assert_eq!(config.default_methodology, "ralph");
        assert_eq!(config.methodology("ralph"), MethodologySettings::default());
        assert_eq!(config.guardrails, Config::default().guardrails);
        assert_eq!(config.chain(HookPoint::QualityCheck, "ralph"), Default::default());
        assert!(config.plugins.is_empty());
    }

    #[test]
    fn with_every_key_uncommented_the_template_sets_the_defaults() {
        let uncommented: Vec<&str> = Config::template()
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
        assert_eq!(chain.timeout, Some(crate::hook::ChainSpec::TIMEOUT));
        assert_eq!(config.plugins.len(), 1);
    }

    #[test]
    fn the_template_shows_every_key_that_is_known() {
        // A table with an unknown key lists the keys it knows.
        let tables = [
            "",
            "methodology.ralph.",
            "methodology.ralph.clocks.",
            "methodology.ralph.pilot.",
            "methodology.ralph.context.",
            "methodology.ralph.session_budget.",
            "guardrails.",
            "project.",
            "hooks.\"quality.check\".",
        ];
        for table in tables {
            let error = Config::parse(Path::new("f"), &format!("{table}zzz = 1")).expect_err("unknown");
            let help = error.help();
            let known = help.strip_prefix("Use ").map(|known| known.trim_start_matches("one of "));
            let known = known.unwrap().trim_matches(['.', '"']);
            for key in known.split(", ") {
                let shown =
                    [format!("#{key} = "), format!("{key} = "), format!("{key}]"), format!("[{key}.")];
                assert!(shown.iter().any(|text| Config::template().contains(text.as_str())), "{table}{key}");
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
        let config = parse(&Config::render_new("", &[], "rw"));
        assert_eq!((config.project_name.as_str(), config.default_methodology.as_str()), ("", "ralph"));
        assert_eq!(config.methodology("ralph"), MethodologySettings::default());
    }
}
