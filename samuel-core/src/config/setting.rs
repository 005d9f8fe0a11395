//! What a setting can be, and the table of settings that a macro makes.
//!
//! A [`Kind`] reads a value from TOML with every problem at its place, and describes
//! itself as JSON Schema. Between a file and the record of settings a value is JSON,
//! so that one reader serves files, callers, and the record that a program filled in.

use std::{ops::RangeInclusive, time::Duration};

use serde::{Deserialize as _, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json, json};

use super::{
    CheckCommand,
    duration::format_duration,
    json_schema::{described, table, with},
    table::Table,
    value::{Value, above_zero, at_least, within},
};

/// The time limits of settings.
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub(super) const MONTH: Duration = DAY.saturating_mul(30);
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What a setting takes.
pub(crate) enum Kind {
    Flag,
    /// A whole number of at least this, of 32 bits.
    Count(u32),
    /// The same of 64 bits.
    Large(u32),
    /// A number above 0.
    Amount,
    Time(RangeInclusive<Duration>),
    Text,
    Texts,
    /// What it names, the names there are, and those that are offered.
    Name(&'static str, Vec<&'static str>, Vec<&'static str>),
    Checks,
    /// Settings of their own, and which of them `true` and `false` set in their place.
    Table(Vec<Row>, Option<&'static str>),
}

/// One setting.
pub(crate) struct Row {
    pub(crate) key: &'static str,
    pub(crate) about: &'static str,
    pub(crate) kind: Kind,
}

impl Kind {
    fn read(&self, value: &Value<'_>) -> Option<Json> {
        match self {
            Self::Flag => value.boolean().map(Json::from),
            Self::Count(least) => value.integer::<u32>((*least).into()).map(Json::from),
            Self::Large(least) => value.integer::<u64>((*least).into()).map(Json::from),
            Self::Amount => value.positive().map(Json::from),
            Self::Time(range) => value.duration(range.clone()).map(|time| json!(time)),
            Self::Text => value.string().map(Json::from),
            Self::Texts => value.strings().map(Json::from),
            Self::Name(what, names, offered) => {
                let text = value.string()?;
                if !names.contains(&text) {
                    value.refuse_unknown(what, text, offered);
                }
                Some(text.into())
            }
            Self::Checks => value.list()?.iter().map(read_check).collect::<Vec<_>>().into_iter().collect(),
            Self::Table(_, Some(key)) if value.as_boolean().is_some() => {
                Some(json!({ *key: value.as_boolean() }))
            }
            Self::Table(rows, _) => {
                let mut table = value.table()?;
                let given = take(rows, &mut table);
                table.finish();
                Some(given.into())
            }
        }
    }

    /// Returns what a value must be beyond its type, as messages say it.
    fn expected(&self) -> Option<String> {
        match self {
            Self::Count(least) | Self::Large(least) => (*least > 0).then(|| at_least((*least).into())),
            Self::Amount => Some(above_zero()),
            Self::Time(range) => Some(within(range)),
            Self::Name(_, names, _) => Some(format!("one of `{}`", names.join("`, `"))),
            _ => None,
        }
    }

    /// Returns a value of a record as a file would have it.
    fn shown(&self, held: &Json) -> Json {
        match (self, held) {
            (Self::Time(_), held) => match Duration::deserialize(held) {
                Ok(time) if time.subsec_nanos() == 0 => format_duration(time).into(),
                Ok(time) => time.as_secs_f64().into(),
                Err(_) => Json::Null,
            },
            (Self::Checks, Json::Array(checks)) => checks
                .iter()
                .map(|check| {
                    let timeout =
                        check.get("timeout").map(|timeout| Self::Time(CheckCommand::TIMEOUTS).shown(timeout));
                    json!({ "command": check.get("command"), "timeout": timeout })
                })
                .collect(),
            (Self::Table(rows, _), Json::Object(held)) => shown(rows, held).into(),
            _ => held.clone(),
        }
    }

    fn schema(&self, default: &Json) -> Json {
        let text = json!({ "type": "string", "minLength": 1 });
        match self {
            Self::Flag => json!({ "type": "boolean" }),
            Self::Count(least) | Self::Large(least) => json!({ "type": "integer", "minimum": least }),
            Self::Amount => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Self::Time(_) => json!({ "$ref": "#/$defs/duration" }),
            Self::Text => json!({ "type": "string" }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Name(_, names, _) => json!({ "enum": names }),
            Self::Checks => {
                let check = json!({ "command": text, "timeout": { "$ref": "#/$defs/duration" } });
                json!({ "type": "array", "items": { "oneOf": [text, table(check, &["command"])] } })
            }
            Self::Table(rows, None) => table(schema(rows, default), &[]),
            Self::Table(rows, Some(key)) => {
                let short =
                    json!({ "type": "boolean", "description": format!("Whether; short for `{key}` alone.") });
                json!({ "oneOf": [short, table(schema(rows, default), &[])] })
            }
        }
    }
}

fn read_check(value: &Value<'_>) -> Option<Json> {
    if value.as_text().is_some() {
        return Some(json!(CheckCommand::new(value.filled()?)));
    }
    let mut table = value.table_or("text, or a table with `command`")?;
    let command = table.require("command").and_then(|value| value.filled().map(str::to_owned));
    let timeout = table.take("timeout").map(|value| value.duration(CheckCommand::TIMEOUTS));
    table.finish();
    Some(json!(CheckCommand { command: command?, timeout: timeout.unwrap_or(Some(CheckCommand::TIMEOUT))? }))
}

/// Takes settings out of a table that may hold more.
pub(crate) fn take(rows: &[Row], table: &mut Table<'_>) -> Map<String, Json> {
    let given = rows.iter().map(|row| Some((row.key.to_owned(), row.kind.read(&table.take(row.key)?)?)));
    given.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Returns what a record holds as a file would have it, without what is none.
pub(crate) fn shown(rows: &[Row], held: &Map<String, Json>) -> Map<String, Json> {
    let shown =
        rows.iter().map(|row| (row.key.to_owned(), row.kind.shown(held.get(row.key).unwrap_or(&Json::Null))));
    shown.filter(|(_, value)| !value.is_null()).collect()
}

/// Describes settings as the properties of a JSON Schema; `defaults` is the record of them.
pub(crate) fn schema(rows: &[Row], defaults: &Json) -> Map<String, Json> {
    let described = |row: &Row| {
        let rule = row.kind.expected().map(|expected| {
            let (first, rest) = expected.split_at(1);
            format!(" {}{rest}.", first.to_uppercase())
        });
        let default = defaults.get(row.key).unwrap_or(&Json::Null);
        let about = format!("{}{}", row.about.trim(), rule.unwrap_or_default());
        let schema = described(row.kind.schema(default), &about);
        let has_default = !default.is_null() && !matches!(row.kind, Kind::Table(..));
        let schema = if has_default { with(schema, "default", row.kind.shown(default)) } else { schema };
        (row.key.to_owned(), schema)
    };
    rows.iter().map(described).collect()
}

/// Puts what was read over a record.
pub(crate) fn put<T: Serialize + DeserializeOwned>(record: &mut T, given: &Map<String, Json>) {
    fn merge(target: &mut Json, given: &Map<String, Json>) {
        for (key, value) in given {
            match (target.get_mut(key), value) {
                (Some(inner @ Json::Object(_)), Json::Object(value)) if !value.contains_key("nanos") => {
                    merge(inner, value);
                }
                (Some(inner), value) => *inner = value.clone(),
                (None, _) => {}
            }
        }
    }
    let mut json = json!(record);
    merge(&mut json, given);
    if let Ok(changed) = T::deserialize(json) {
        *record = changed;
    }
}

/// Lists settings: their text, their key, and what they take.
macro_rules! rows {
    ($($(#[doc = $doc:literal])+ $key:ident: $kind:expr;)+) => {
        vec![$($crate::config::setting::Row { key: stringify!($key), about: concat!($($doc),+), kind: $kind }),+]
    };
}

/// Declares records of settings: what each is, its default and what it takes.
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+ $(#[derive($($derived:ident),+)])?
        struct $name:ident {
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $kind:expr;)+
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize $($(, $derived)+)?)]
        pub struct $name {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                pub $field: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        impl $name {
            pub(super) fn rows() -> Vec<Row> {
                rows! { $($(#[doc = $doc])+ $field: $kind;)+ }
            }
        }
    )+};
}

pub(super) use {rows, settings};
