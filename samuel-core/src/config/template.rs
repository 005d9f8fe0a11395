//! The samuel.toml that `samuel init` writes.

use toml::Value;

use super::{Config, DEFAULT_METHODOLOGY};

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
    /// and an empty list remain comments.
    pub fn render_new(name: &str, quality_checks: &[String], default_methodology: &str) -> String {
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
