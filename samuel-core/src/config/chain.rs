//! Hook chains in samuel.toml: `[hooks."<point>"]` tables and their layers.
//!
//! A layer is a [`ChainSpec`] with what one table sets. [`overlay`] puts one
//! over another field by field.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ProblemKind, shorten,
    table::{Table, Value},
};
use crate::hook::{ChainSpec, DEFAULT_ALIAS, DEFAULT_ID, HookPoint, OnFailure, UnknownPoint};

/// What the configuration sets of each point.
pub(crate) type Chains = BTreeMap<HookPoint, ChainSpec>;

/// The fields of a chain, as samuel.toml names them.
pub(crate) const FIELDS: [&str; 6] = ["enabled", "strict", "on_failure", "timeout", "handlers", "order"];

/// Puts a later layer over what the earlier ones gave.
///
/// The later layer wins field by field. `strict` and `on_failure` set the same
/// thing: an explicit `on_failure` beats `strict` in one layer, and either
/// beats both in an earlier one. So the result always carries the action as
/// `on_failure`, and `strict` remains for what it says of verdicts.
#[must_use]
pub fn overlay(earlier: &ChainSpec, later: &ChainSpec, point: HookPoint) -> ChainSpec {
    let of_strict = |strict| if strict { OnFailure::strict(point) } else { OnFailure::Warn };
    let mut order = earlier.order.clone();
    order.retain(|name, _| !later.order.keys().any(|winner| same_handler(name, winner)));
    order.extend(later.order.iter().map(|(name, place)| (name.clone(), *place)));
    ChainSpec {
        handlers: later.handlers.clone().or_else(|| earlier.handlers.clone()),
        order,
        on_failure: later.on_failure.or(later.strict.map(of_strict)).or(earlier.on_failure),
        strict: later.strict.or(earlier.strict),
        timeout: later.timeout.or(earlier.timeout),
        enabled: later.enabled.or(earlier.enabled),
    }
}

/// Says whether two names can mean one handler: a plugin's name alone means
/// its only handler at a point.
fn same_handler(left: &str, right: &str) -> bool {
    let of_plugin =
        |handler: &str, plugin: &str| handler.split_once(':').is_some_and(|(name, _)| name == plugin);
    left == right || of_plugin(left, right) || of_plugin(right, left)
}

/// Reads a table of chains by hook point.
pub(crate) fn read_chains(value: &Value<'_>) -> Chains {
    let mut chains = Chains::new();
    let Some(table) = value.table() else { return chains };
    for (name, value) in table.entries() {
        match name.parse::<HookPoint>() {
            Ok(point) => {
                if let Some(spec) = value.table().map(|table| read_chain(point, table)) {
                    chains.insert(point, spec);
                }
            }
            Err(unknown) => refuse_point(&value, name, unknown),
        }
    }
    chains
}

/// Reports a name that is no hook point's. Without quotes TOML takes the dots
/// of one for tables, so the names below are looked at too.
fn refuse_point(value: &Value<'_>, name: &str, unknown: UnknownPoint) {
    let inner = value.as_table().into_iter().flatten();
    let joined = inner
        .filter(|(_, below)| below.get_ref().is_table())
        .map(|(key, _)| format!("{name}.{}", key.get_ref()));
    let joined: Vec<String> = joined.take(HookPoint::ALL.len()).collect();
    if let Some(point) = joined.iter().find_map(|joined| joined.parse::<HookPoint>().ok()) {
        let table = value.path().trim_end_matches(&format!("\"{name}\"")).trim_end_matches(name);
        value.refuse_key(ProblemKind::UnquotedPoint { point, quoted: format!("[{table}\"{point}\"]") });
        return;
    }
    let nearest =
        joined.iter().find_map(|joined| joined.parse::<HookPoint>().err().and_then(|error| error.nearest));
    value.refuse_key(ProblemKind::UnknownPoint { name: shorten(name), nearest: nearest.or(unknown.nearest) });
}

/// Reads one chain.
fn read_chain(point: HookPoint, mut table: Table<'_>) -> ChainSpec {
    let limits = ChainSpec::MIN_TIMEOUT..=ChainSpec::MAX_TIMEOUT;
    let spec = ChainSpec {
        enabled: table.take("enabled").and_then(|value| value.boolean()),
        strict: table.take("strict").and_then(|value| value.boolean()),
        on_failure: table.take("on_failure").and_then(|value| read_on_failure(point, &value)),
        timeout: table.take("timeout").and_then(|value| value.duration(limits)),
        handlers: table.take("handlers").and_then(|value| read_handlers(&value)),
        order: table.take("order").map(|value| read_order(&value)).unwrap_or_default(),
    };
    table.finish();
    spec
}

/// Reads what a broken handler does. Lifecycle commands have no loop to end,
/// and the loop has no command.
fn read_on_failure(point: HookPoint, value: &Value<'_>) -> Option<OnFailure> {
    let lifecycle = OnFailure::strict(point) == OnFailure::AbortCommand;
    let names: &[&str] =
        if lifecycle { &["warn", "abort_command"] } else { &["warn", "abort_iteration", "abort_loop"] };
    match value.one_of("action on failure", names)? {
        "abort_iteration" => Some(OnFailure::AbortIteration),
        "abort_loop" => Some(OnFailure::AbortLoop),
        "abort_command" => Some(OnFailure::AbortCommand),
        _ => Some(OnFailure::Warn),
    }
}

/// Reads a whole chain. Whether its handlers exist is known only when they are
/// registered.
fn read_handlers(value: &Value<'_>) -> Option<Vec<String>> {
    let mut handlers: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for item in value.list()? {
        let Some(name) = item.filled().map(proper_name) else { continue };
        if !seen.insert(name) {
            item.refuse(ProblemKind::Doubled { what: "handler", name: shorten(name) });
        }
        handlers.push(name.to_owned());
    }
    Some(handlers)
}

fn read_order(value: &Value<'_>) -> BTreeMap<String, i32> {
    let entries = value.table().map(Table::entries).unwrap_or_default();
    let mut order = BTreeMap::new();
    for (name, value) in entries {
        let Some(place) = value.integer::<i32>(i32::MIN.into()) else { continue };
        if order.insert(proper_name(name).to_owned(), place).is_some() {
            value.refuse_key(ProblemKind::Doubled { what: "handler", name: shorten(name) });
        }
    }
    order
}

/// Returns the one name under which the built-in default is kept.
fn proper_name(name: &str) -> &str {
    if name == DEFAULT_ALIAS { DEFAULT_ID } else { name }
}
