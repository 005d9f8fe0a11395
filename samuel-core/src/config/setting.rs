//! What a type must be able to do to be that of a setting.
//!
//! A [`Setting`] is a value or a table of settings. Both are read from TOML with
//! problems at their place, put over earlier layers, held against their rule
//! whoever set them, and described as JSON Schema. Each value writes its rule once
//! ([`Plain`]); `settings!` makes the tables of it.

use std::{fmt::Debug, ops::RangeInclusive, time::Duration};

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{
    CheckCommand, ProblemKind, RateLimitPolicy, Sandbox,
    duration::format_duration,
    json_schema::{table, with},
    table::Table,
    value::{Bounded, Value, above_zero, at_least, within},
};

/// The time limits of settings.
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub(super) const MONTH: Duration = DAY.saturating_mul(30);
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// The type of a setting.
pub(crate) trait Setting {
    /// What its value must be beyond the type.
    type Rule;
    /// What one source says of it.
    type Layer;

    /// Reads what a file or a caller says, and reports what does not fit.
    fn read(value: &Value<'_>, rule: &Self::Rule) -> Option<Self::Layer>;

    /// Takes over what a layer says.
    fn put(&mut self, layer: &Self::Layer);

    /// Holds the value of a key against the rule.
    fn check(&self, rule: &Self::Rule, key: &str) -> Result<(), (String, ProblemKind)>;

    /// Returns the rule as a sentence; empty where the type says it all.
    fn rule_in_words(rule: &Self::Rule) -> String;

    /// Returns the JSON Schema, with this value as the default.
    fn schema(&self, rule: &Self::Rule) -> Json;
}

/// The type of a setting that is one value.
pub(crate) trait Plain: Clone + Debug + PartialEq {
    /// What a value must be beyond the type.
    type Rule;

    /// Reads a value, and reports one that does not fit.
    fn read(value: &Value<'_>, rule: &Self::Rule) -> Option<Self>;

    /// Holds a value against the rule, as [`read`](Self::read) does.
    fn check(&self, _: &Self::Rule) -> Result<(), ProblemKind> {
        Ok(())
    }

    /// Returns the rule in the words of [`ProblemKind::OutOfRange`].
    fn expected(_: &Self::Rule) -> Option<String> {
        None
    }

    /// Returns the JSON Schema without a default.
    fn schema(rule: &Self::Rule) -> Json;

    /// Returns the value as it stands in a file; null for none.
    fn json(&self) -> Json;
}

impl<T: Plain> Setting for T {
    type Rule = <T as Plain>::Rule;
    type Layer = T;

    fn read(value: &Value<'_>, rule: &Self::Rule) -> Option<T> {
        Plain::read(value, rule)
    }

    fn put(&mut self, layer: &T) {
        self.clone_from(layer);
    }

    fn check(&self, rule: &Self::Rule, key: &str) -> Result<(), (String, ProblemKind)> {
        Plain::check(self, rule).map_err(|problem| (key.to_owned(), problem))
    }

    fn rule_in_words(rule: &Self::Rule) -> String {
        let Some(expected) = T::expected(rule) else { return String::new() };
        let (first, rest) = expected.split_at(1);
        format!(" {}{rest}.", first.to_uppercase())
    }

    fn schema(&self, rule: &Self::Rule) -> Json {
        let schema = <T as Plain>::schema(rule);
        match self.json() {
            Json::Null => schema,
            default => with(schema, "default", default),
        }
    }
}

impl Plain for bool {
    type Rule = ();

    fn read(value: &Value<'_>, (): &()) -> Option<Self> {
        value.boolean()
    }

    fn schema((): &()) -> Json {
        json!({ "type": "boolean" })
    }

    fn json(&self) -> Json {
        Json::from(*self)
    }
}

/// Whole numbers; the rule is the least.
impl<T> Plain for T
where
    T: Bounded + TryFrom<i64> + Into<u64> + Serialize + Copy + Debug + PartialEq,
{
    type Rule = u32;

    fn read(value: &Value<'_>, least: &u32) -> Option<Self> {
        value.integer((*least).into())
    }

    fn check(&self, least: &u32) -> Result<(), ProblemKind> {
        let number: u64 = (*self).into();
        let expected = at_least((*least).into());
        if number >= (*least).into() { Ok(()) } else { Err(out_of_range(number.to_string(), expected)) }
    }

    fn expected(least: &u32) -> Option<String> {
        (*least > 0).then(|| at_least((*least).into()))
    }

    fn schema(least: &u32) -> Json {
        json!({ "type": "integer", "minimum": least })
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

/// Amounts, which are above 0.
impl Plain for f64 {
    type Rule = ();

    fn read(value: &Value<'_>, (): &()) -> Option<Self> {
        value.positive()
    }

    fn check(&self, (): &()) -> Result<(), ProblemKind> {
        match self.is_finite() && *self > 0.0 {
            true => Ok(()),
            false => Err(out_of_range(self.to_string(), above_zero())),
        }
    }

    fn expected((): &()) -> Option<String> {
        Some(above_zero())
    }

    fn schema((): &()) -> Json {
        json!({ "type": "number", "exclusiveMinimum": 0 })
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

impl Plain for Duration {
    type Rule = RangeInclusive<Duration>;

    fn read(value: &Value<'_>, range: &Self::Rule) -> Option<Self> {
        value.duration(range.clone())
    }

    fn check(&self, range: &Self::Rule) -> Result<(), ProblemKind> {
        match range.contains(self) {
            true => Ok(()),
            false => Err(out_of_range(format!("{self:?}"), within(range))),
        }
    }

    fn expected(range: &Self::Rule) -> Option<String> {
        Some(within(range))
    }

    fn schema(_: &Self::Rule) -> Json {
        json!({ "$ref": "#/$defs/duration" })
    }

    fn json(&self) -> Json {
        format_duration(*self).into()
    }
}

/// Text; the rule is what it names and the names there are, where it is a name.
///
/// Only reading holds it against them: who brings an agent of their own may call
/// it as they like, and a name that nobody brings is refused where it is built.
impl Plain for String {
    type Rule = Option<(&'static str, &'static [&'static str])>;

    fn read(value: &Value<'_>, names: &Self::Rule) -> Option<Self> {
        let text = match names {
            Some((what, names)) => value.one_of(what, names),
            None => value.string(),
        };
        text.map(str::to_owned)
    }

    fn expected(names: &Self::Rule) -> Option<String> {
        names.map(|(_, names)| format!("one of `{}`", names.join("`, `")))
    }

    fn schema(names: &Self::Rule) -> Json {
        match names {
            Some((_, names)) => json!({ "enum": names }),
            None => json!({ "type": "string" }),
        }
    }

    fn json(&self) -> Json {
        self.as_str().into()
    }
}

impl Plain for Vec<String> {
    type Rule = ();

    fn read(value: &Value<'_>, (): &()) -> Option<Self> {
        value.strings()
    }

    fn schema((): &()) -> Json {
        json!({ "type": "array", "items": { "type": "string" } })
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

impl Plain for Vec<CheckCommand> {
    type Rule = ();

    fn read(value: &Value<'_>, (): &()) -> Option<Self> {
        let checks = value.list()?.into_iter().map(|value| match value.as_table() {
            None => value.filled().map(CheckCommand::new),
            Some(_) => value.table().and_then(read_check),
        });
        checks.collect::<Vec<_>>().into_iter().collect()
    }

    fn check(&self, (): &()) -> Result<(), ProblemKind> {
        self.iter().try_for_each(|check| match check.command.trim().is_empty() {
            true => Err(ProblemKind::Empty),
            false => Plain::check(&check.timeout, &CheckCommand::TIMEOUTS),
        })
    }

    fn schema((): &()) -> Json {
        let timeout = <Duration as Plain>::schema(&CheckCommand::TIMEOUTS);
        let command = json!({ "type": "string", "minLength": 1 });
        let keys = json!({ "command": command, "timeout": timeout });
        json!({ "type": "array", "items": { "oneOf": [command, table(keys, &["command"])] } })
    }

    fn json(&self) -> Json {
        let check =
            |check: &CheckCommand| json!({ "command": check.command, "timeout": check.timeout.json() });
        self.iter().map(check).collect()
    }
}

fn read_check(mut table: Table<'_>) -> Option<CheckCommand> {
    let command = table.require("command").and_then(|value| value.filled().map(str::to_owned));
    let timeout = table.take("timeout").map(|value| value.duration(CheckCommand::TIMEOUTS));
    table.finish();
    Some(CheckCommand { command: command?, timeout: timeout.unwrap_or(Some(CheckCommand::TIMEOUT))? })
}

impl Plain for RateLimitPolicy {
    type Rule = ();

    fn read(value: &Value<'_>, (): &()) -> Option<Self> {
        let names = Self::NAMES.map(|(name, _)| name);
        Self::parse(value.one_of("rate_limit", &names)?)
    }

    fn schema((): &()) -> Json {
        json!({ "enum": Self::NAMES.map(|(name, _)| name) })
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

impl Plain for Sandbox {
    type Rule = ();

    fn read(value: &Value<'_>, (): &()) -> Option<Self> {
        let text = value.string()?;
        let known = Self::parse(text).ok();
        if known.is_none() {
            // Those that are only reserved would be refused as well.
            value.refuse_unknown("sandbox", text, &Self::available().collect::<Vec<_>>());
        }
        known
    }

    fn schema((): &()) -> Json {
        json!({ "enum": Self::ALL.iter().map(|sandbox| sandbox.as_str()).collect::<Vec<_>>() })
    }

    fn json(&self) -> Json {
        self.as_str().into()
    }
}

/// A setting that need not have a value.
impl<T: Plain> Plain for Option<T> {
    type Rule = T::Rule;

    fn read(value: &Value<'_>, rule: &T::Rule) -> Option<Self> {
        T::read(value, rule).map(Some)
    }

    fn check(&self, rule: &T::Rule) -> Result<(), ProblemKind> {
        self.as_ref().map_or(Ok(()), |value| value.check(rule))
    }

    fn expected(rule: &T::Rule) -> Option<String> {
        T::expected(rule)
    }

    fn schema(rule: &T::Rule) -> Json {
        T::schema(rule)
    }

    fn json(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::json)
    }
}

fn out_of_range(found: String, expected: String) -> ProblemKind {
    ProblemKind::OutOfRange { found, expected }
}

/// Declares tables of settings: what each is, its default and its rule.
///
/// Of a table follow its struct with the defaults, the layer that one source sets
/// of it, and that it is a [`Setting`]. `or key` says which key `true` and `false`
/// set in place of the table.
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+ $(#[derive($($derived:ident),+)])?
        struct $name:ident, $layer:ident $(or $short:ident)? {
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $rule:expr;)+
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq $($(, $derived)+)?)]
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

        $crate::config::setting::layer! {
            $name, $layer $(or $short)? { $($(#[doc = $doc])+ $field: $type, $rule;)+ }
        }
    )+};
}

/// Declares what one source sets of a table of settings that is a struct already.
macro_rules! layer {
    ($name:ident, $layer:ident $(or $short:ident)? {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty, $rule:expr;)+
    }) => {
        #[doc = concat!("What one source sets of [`", stringify!($name), "`]; the rest it leaves as it was.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct $layer {
            $($field: Option<<$type as Setting>::Layer>,)+
        }

        impl $layer {
            /// Takes the settings out of a table that may hold more.
            pub(crate) fn take(table: &mut Table<'_>) -> Self {
                Self {
                    $($field: table.take(stringify!($field)).and_then(|value| {
                        <$type as Setting>::read(&value, &$rule)
                    }),)+
                }
            }
        }

        impl Setting for $name {
            type Rule = ();
            type Layer = $layer;

            fn read(value: &Value<'_>, (): &()) -> Option<$layer> {
                $(if let Some(yes) = value.as_boolean() {
                    return Some($layer { $short: Some(yes), ..$layer::default() });
                })?
                let mut table = value.table()?;
                let layer = $layer::take(&mut table);
                table.finish();
                Some(layer)
            }

            fn put(&mut self, layer: &$layer) {
                $(if let Some(layer) = &layer.$field {
                    Setting::put(&mut self.$field, layer);
                })+
            }

            fn check(&self, (): &(), key: &str) -> Result<(), (String, ProblemKind)> {
                let dot = if key.is_empty() { "" } else { "." };
                $(Setting::check(&self.$field, &$rule, &format!("{key}{dot}{}", stringify!($field)))?;)+
                Ok(())
            }

            fn rule_in_words((): &()) -> String {
                String::new()
            }

            fn schema(&self, (): &()) -> Json {
                let mut keys = Map::new();
                $(
                    let words = <$type as Setting>::rule_in_words(&$rule);
                    let about = format!("{}{words}", concat!($($doc),+).trim());
                    let schema = with(Setting::schema(&self.$field, &$rule), "description", about);
                    keys.insert(stringify!($field).to_owned(), schema);
                )+
                let schema = table(keys, &[]);
                $(
                    let short = <bool as Plain>::schema(&());
                    let about = concat!("Whether; short for `", stringify!($short), "` alone.");
                    let schema = json!({ "oneOf": [with(short, "description", about), schema] });
                )?
                schema
            }
        }
    };
}

pub(super) use {layer, settings};
