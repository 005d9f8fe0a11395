//! The settings that a plugin takes: `[settings]` of its manifest, and samuel.toml held against it.
//!
//! A manifest that has the table names every key that `[plugins.config]` may have. One without it takes
//! whatever it is given, and makes of it what it wants.

use std::collections::BTreeMap;

use samuel_contract::nearest;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{Manifest, ManifestProblem, PluginError};
use crate::config::Value;

/// A setting that a plugin takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginSetting {
    /// What its value is.
    #[serde(rename = "type")]
    pub kind: SettingKind,
    /// What it is for, one line; may be empty.
    pub description: String,
    /// Whether the plugin cannot do without it. Default: it can.
    pub required: bool,
    /// The only texts it may be, where these are limited.
    pub one_of: Option<Vec<String>>,
}

/// What the value of a setting is, in the words of TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number; a whole one is one, too.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list of any content.
    Array,
    /// A table of any content.
    Table,
}

impl SettingKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Array, Self::Table];

    /// Returns its name in a manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Table => "table",
        }
    }

    fn fits(self, value: &Json) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Table => value.is_object(),
        }
    }
}

/// Reads the table `[settings]`.
pub(super) fn read_settings(value: &Value<'_>) -> Option<BTreeMap<String, PluginSetting>> {
    let table = value.table()?;
    let read = |(key, value): (&str, Value<'_>)| Some((key.to_owned(), read_setting(&value)?));
    Some(table.entries().into_iter().filter_map(read).collect())
}

fn read_setting(value: &Value<'_>) -> Option<PluginSetting> {
    let mut table = value.table()?;
    let kind = table.require("type").and_then(|value| {
        let name = value.one_of("type of a setting", &SettingKind::ALL.map(SettingKind::as_str))?;
        SettingKind::ALL.into_iter().find(|kind| kind.as_str() == name)
    });
    let description = table.take("description").and_then(|value| value.string().map(str::to_owned));
    let required = table.take("required").and_then(|value| value.boolean());
    let one_of = table.take("one_of").and_then(|value| {
        if let Some(kind) = kind.filter(|kind| *kind != SettingKind::String) {
            value.refuse(ManifestProblem::ChoiceOfTexts { kind: kind.as_str() });
            return None;
        }
        value.strings()
    });
    table.finish();
    Some(PluginSetting {
        kind: kind?,
        description: description.unwrap_or_default(),
        required: required.unwrap_or_default(),
        one_of,
    })
}

/// Holds what a user set for a plugin against the settings it takes.
///
/// # Errors
/// Returns [`PluginError::Settings`] with everything that does not fit.
pub(super) fn check_settings(manifest: &Manifest, given: &Map<String, Json>) -> Result<(), PluginError> {
    let Some(known) = &manifest.settings else { return Ok(()) };
    let mut problems = Vec::new();
    for (key, value) in given {
        match known.get(key) {
            Some(setting) => problems.extend(misfit(key, setting, value)),
            None => {
                let meant = nearest(key, known.keys().map(String::as_str));
                let meant = meant.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
                problems.push(format!("{key} is none of its settings{meant}"));
            }
        }
    }
    let missing = known.iter().filter(|(key, setting)| setting.required && !given.contains_key(*key));
    problems
        .extend(missing.map(|(key, setting)| format!("{key} is missing, of type {}", setting.kind.as_str())));
    match problems.is_empty() {
        true => Ok(()),
        false => Err(PluginError::Settings { name: manifest.name.clone(), problems }),
    }
}

/// Says why a value is none of its setting.
fn misfit(key: &str, setting: &PluginSetting, value: &Json) -> Option<String> {
    if !setting.kind.fits(value) {
        return Some(format!("{key} has to be a value of type {}", setting.kind.as_str()));
    }
    let allowed = setting.one_of.as_ref().zip(value.as_str());
    let (allowed, _) = allowed.filter(|(allowed, text)| !allowed.iter().any(|one| one == text))?;
    Some(format!("{key} has to be one of {}", allowed.join(", ")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn manifest(settings: &str) -> Manifest {
        let head = "[plugin]\nname = \"lint\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n"
            .to_owned();
        Manifest::parse(Path::new("samuel-plugin.toml"), &(head + settings)).unwrap()
    }

    fn problems(manifest: &Manifest, given: &Json) -> Vec<String> {
        match check_settings(manifest, given.as_object().unwrap()) {
            Err(PluginError::Settings { problems, .. }) => problems,
            _ => Vec::new(),
        }
    }

    #[test]
    fn what_does_not_fit_is_told_together_and_without_a_table_anything_goes() {
        let lint = manifest(
            "[settings]\nlevel = { type = \"integer\", required = true }\n\
             style = { type = \"string\", one_of = [\"plain\", \"full\"] }\nfiles = { type = \"array\" }\n",
        );
        assert!(problems(&lint, &json!({ "level": 3, "style": "full", "files": [] })).is_empty());
        assert_eq!(
            problems(&lint, &json!({ "levle": 3, "style": "odd", "files": "x" })),
            [
                "levle is none of its settings; did you mean level?",
                "style has to be one of plain, full",
                "files has to be a value of type array",
                "level is missing, of type integer",
            ]
        );
        assert_eq!(problems(&lint, &json!({ "level": 1.5 })), ["level has to be a value of type integer"]);
        let text = "[plugin]\nname = \"lint\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\
                    [settings]\nlevel = { type = \"integer\", one_of = [\"1\", \"2\"] }\n";
        let error = Manifest::parse(Path::new("samuel-plugin.toml"), text).unwrap_err();
        assert!(format!("{error:?}").contains("a setting of type integer is none"), "{error:?}");
        assert!(problems(&manifest(""), &json!({ "anything": true })).is_empty());
        assert_eq!(problems(&manifest("[settings]\n"), &json!({ "anything": true })).len(), 1);
    }
}
