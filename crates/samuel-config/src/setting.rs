//! What a setting can be, and the table of settings that a macro makes.
//!
//! A [`Kind`] reads a value from TOML with every problem at its place, and describes
//! itself as JSON Schema. What was read is JSON until a [`Field`] of the record takes
//! it; a field shows itself as TOML, so that one reader serves files, callers, and the
//! record that a program filled in.

use std::{collections::BTreeMap, num::NonZeroU32, ops::RangeInclusive, time::Duration};

use samuel_model::WorkspaceKind;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use toml::Value as Toml;

use super::{
    AgentRoute, CheckCommand, GatewaySettings, RateLimitPolicy,
    duration::format_duration,
    json_schema::{described, table, with},
    table::Table,
    value::{Value, above_zero, at_least, at_most_bytes, within},
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
    /// The same, and at most that.
    Within(u32, u32),
    /// The same as `Count` of 64 bits.
    Large(u32),
    /// A number above 0.
    Amount,
    Time(RangeInclusive<Duration>),
    Text,
    /// Text of at most so many bytes.
    Short(usize),
    Texts,
    /// What it names, and the names there are.
    Name(&'static str, Vec<&'static str>),
    /// The same, any number of times.
    Names(&'static str, Vec<&'static str>),
    Checks,
    Routes,
    /// Gateways by their names.
    Gateways,
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
            Self::Count(least) => value.integer((*least).into()..=u32::MAX.into()).map(Json::from),
            Self::Within(least, most) => value.integer((*least).into()..=(*most).into()).map(Json::from),
            Self::Large(least) => value.integer((*least).into()..=i64::MAX).map(Json::from),
            Self::Amount => value.positive().map(Json::from),
            Self::Time(range) => value.duration(range.clone()).map(|time| json!(time)),
            Self::Text => value.string().map(Json::from),
            Self::Short(most) => value.string_of(*most).map(Json::from),
            Self::Texts => value.strings().map(Json::from),
            Self::Name(what, names) => value.one_of(what, names).map(Json::from),
            Self::Checks => value.list()?.iter().map(read_check).collect::<Vec<_>>().into_iter().collect(),
            Self::Names(what, names) => {
                let read = value.list()?.into_iter().map(|value| value.one_of(what, names).map(Json::from));
                read.collect::<Vec<_>>().into_iter().collect()
            }
            Self::Routes => {
                value.list()?.iter().map(AgentRoute::read).collect::<Vec<_>>().into_iter().collect()
            }
            Self::Gateways => GatewaySettings::read_all(value),
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
            Self::Within(least, most) => Some(format!("a whole number from {least} to {most}")),
            Self::Amount => Some(above_zero()),
            Self::Short(most) => Some(at_most_bytes(*most)),
            Self::Time(range) => Some(within(range)),
            Self::Name(_, names) => Some(format!("one of `{}`", names.join("`, `"))),
            _ => None,
        }
    }

    fn schema(&self, default: &Json) -> Json {
        let text = json!({ "type": "string", "minLength": 1 });
        match self {
            Self::Flag => json!({ "type": "boolean" }),
            Self::Count(least) | Self::Large(least) => json!({ "type": "integer", "minimum": least }),
            Self::Within(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
            Self::Amount => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Self::Time(_) => json!({ "$ref": "#/$defs/duration" }),
            Self::Text | Self::Short(_) => json!({ "type": "string" }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Name(_, names) => json!({ "enum": names }),
            Self::Checks => {
                let check = json!({ "command": text, "timeout": { "$ref": "#/$defs/duration" } });
                json!({ "type": "array", "items": { "oneOf": [text, table(check, &["command"])] } })
            }
            Self::Names(_, names) => json!({ "type": "array", "items": { "enum": names } }),
            Self::Routes => json!({ "type": "array", "items": AgentRoute::schema() }),
            Self::Gateways => GatewaySettings::schema(),
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

/// Describes settings as the properties of a JSON Schema; `defaults` is the record of
/// them as a file would have it.
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
        let schema = if has_default { with(schema, "default", default.clone()) } else { schema };
        (row.key.to_owned(), schema)
    };
    rows.iter().map(described).collect()
}

/// A field of a record of settings, or the record.
pub(super) trait Field {
    /// Takes what was read for it.
    fn put(&mut self, given: &Json);

    /// Returns it as a file would have it, also where a file could not; nothing for none.
    fn shown(&self) -> Option<Toml>;
}

fn put<T: DeserializeOwned>(field: &mut T, given: &Json) {
    if let Ok(read) = T::deserialize(given) {
        *field = read;
    }
}

/// Says how single values are shown.
macro_rules! shown {
    ($($type:ty, $held:ident => $shown:expr;)+) => {$(
        impl Field for $type {
            fn put(&mut self, given: &Json) {
                put(self, given);
            }

            fn shown(&self) -> Option<Toml> {
                let $held = self;
                Some($shown)
            }
        }
    )+};
}

shown! {
    bool, held => (*held).into();
    f64, held => (*held).into();
    u32, held => (*held).into();
    // One that TOML cannot write is no whole number to whoever reads it.
    u64, held => i64::try_from(*held).map_or(Toml::Float(*held as f64), Toml::Integer);
    String, held => held.as_str().into();
    Vec<String>, held => held.clone().into();
    Duration, held => match held.subsec_nanos() {
        0 => format_duration(*held).into(),
        _ => held.as_secs_f64().into(),
    };
    WorkspaceKind, held => held.as_str().into();
    RateLimitPolicy, held => Self::NAMES.into_iter().find(|(_, policy)| policy == held)?.0.into();
    Vec<CheckCommand>, held => held.iter().filter_map(Field::shown).collect::<Vec<_>>().into();
    Vec<AgentRoute>, held => held.iter().filter_map(|route| Toml::try_from(route).ok()).collect::<Vec<_>>().into();
    BTreeMap<String, GatewaySettings>, held => Toml::try_from(held).ok()?;
    CheckCommand, held => toml::Table::from_iter([
        ("command".to_owned(), held.command.as_str().into()),
        ("timeout".to_owned(), held.timeout.shown()?),
    ]).into();
}

impl<T: Field + DeserializeOwned> Field for Option<T> {
    fn put(&mut self, given: &Json) {
        put(self, given);
    }

    fn shown(&self) -> Option<Toml> {
        self.as_ref()?.shown()
    }
}

/// A limit, which files and callers lift by 0.
impl Field for Option<NonZeroU32> {
    fn put(&mut self, given: &Json) {
        if let Some(number) = given.as_u64().and_then(|number| u32::try_from(number).ok()) {
            *self = NonZeroU32::new(number);
        }
    }

    fn shown(&self) -> Option<Toml> {
        self.map_or(0, NonZeroU32::get).shown()
    }
}

/// Lists settings: their text, their key, and what they take.
macro_rules! rows {
    ($($(#[doc = $doc:literal])+ $key:ident: $kind:expr;)+) => {
        vec![$($crate::setting::Row { key: stringify!($key), about: concat!($($doc),+), kind: $kind }),+]
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

        impl Field for $name {
            fn put(&mut self, given: &Json) {
                $(if let Some(given) = given.get(stringify!($field)) {
                    self.$field.put(given);
                })+
            }

            fn shown(&self) -> Option<Toml> {
                let fields = [$((stringify!($field), self.$field.shown())),+];
                let fields = fields.into_iter().filter_map(|(key, shown)| Some((key.to_owned(), shown?)));
                Some(fields.collect::<toml::Table>().into())
            }
        }
    )+};
}

pub(super) use {rows, settings};
