//! Hook chains in samuel.toml: `[hooks."<point>"]` tables and their layers.
//!
//! A layer is a [`ChainSpec`] with what one table sets. [`overlay`] puts one
//! over another field by field.

use std::collections::{BTreeMap, BTreeSet};

use samuel_hook::{ChainMode, ChainSpec, DEFAULT_ALIAS, DEFAULT_ID, HookPoint, OnFailure, UnknownPoint};

use super::{ProblemKind, problem::suggest, shorten, table::Table, value::Value};

/// What the configuration sets of each point.
pub(crate) type Chains = BTreeMap<HookPoint, ChainSpec>;

/// The fields of a chain, as samuel.toml names them.
pub(crate) const FIELDS: [&str; 7] =
    ["enabled", "mode", "strict", "on_failure", "timeout", "handlers", "order"];

/// Puts a later layer over what the earlier ones gave.
///
/// The later layer wins field by field. `strict` and `on_failure` set the same
/// thing: an explicit `on_failure` beats `strict` in one layer, and either
/// beats both in an earlier one. So the result always carries the action as
/// `on_failure`, and `strict` remains for what it says of verdicts.
#[must_use]
pub fn overlay(earlier: &ChainSpec, later: &ChainSpec, point: HookPoint) -> ChainSpec {
    let of_strict = |strict| if strict { point.strict() } else { OnFailure::Warn };
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
        mode: later.mode.or(earlier.mode),
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
    let entries = table.entries();
    let taken: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
    for (name, value) in entries {
        match name.parse::<HookPoint>() {
            Ok(point) => {
                if let Some(spec) = value.table().map(|table| read_chain(point, table)) {
                    chains.insert(point, spec);
                }
            }
            Err(unknown) => {
                let most_like = unknown.nearest;
                refuse_point(&value, name, unknown.without(&taken), most_like);
            }
        }
    }
    chains
}

/// Reports a name that is no hook point's. Without quotes TOML takes the dots
/// of one for tables, so the names below are looked at too. The point that is most
/// like it may stand beside it.
fn refuse_point(value: &Value<'_>, name: &str, unknown: UnknownPoint, most_like: Option<HookPoint>) {
    let inner = value.as_table().and_then(|_| value.table()).map(Table::entries).unwrap_or_default();
    let tables = inner.iter().filter(|(_, below)| below.as_table().is_some());
    let mut nearest = unknown.nearest;
    let mut unquoted = false;
    for (key, below) in tables.take(HookPoint::ALL.len()) {
        match format!("{name}.{key}").parse::<HookPoint>() {
            Ok(point) => {
                unquoted = true;
                let quoted = format!("[{}.\"{point}\"]", value.parent());
                below.refuse_key(ProblemKind::UnquotedPoint { point, quoted });
            }
            Err(error) => nearest = nearest.or(error.nearest),
        }
    }
    if !unquoted {
        let is_set = nearest.is_none() && most_like.is_some();
        let nearest = nearest.or(most_like);
        value.refuse_key(ProblemKind::UnknownPoint { name: shorten(name), nearest, is_set });
    }
}

/// Reads one chain.
fn read_chain(point: HookPoint, mut table: Table<'_>) -> ChainSpec {
    let limits = ChainSpec::MIN_TIMEOUT..=ChainSpec::MAX_TIMEOUT;
    let spec = ChainSpec {
        enabled: table.take("enabled").and_then(|value| value.boolean()),
        mode: table.take("mode").and_then(|value| read_mode(point, &value)),
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
    let lifecycle = point.strict() == OnFailure::AbortCommand;
    let names: &[&str] =
        if lifecycle { &["warn", "abort_command"] } else { &["warn", "abort_iteration", "abort_loop"] };
    let elsewhere = ["abort_iteration", "abort_loop", "abort_command"];
    if let Some(name) = value.as_text().filter(|name| elsewhere.contains(name) && !names.contains(name)) {
        let what = format!("\"{name}\" is no action on failure at {point}");
        value.refuse(ProblemKind::Specific { what, help: suggest(None, names).into() });
        return None;
    }
    match value.one_of("action on failure", names)? {
        "abort_iteration" => Some(OnFailure::AbortIteration),
        "abort_loop" => Some(OnFailure::AbortLoop),
        "abort_command" => Some(OnFailure::AbortCommand),
        _ => Some(OnFailure::Warn),
    }
}

/// Reads which iterations a chain is for, where its point knows their mode.
fn read_mode(point: HookPoint, value: &Value<'_>) -> Option<ChainMode> {
    if let Some(why) = point.refuses_mode() {
        value.refuse_key(ProblemKind::NoMode { point, why });
        return None;
    }
    let name = value.one_of("mode", &ChainMode::ALL.map(ChainMode::as_str))?;
    ChainMode::ALL.into_iter().find(|mode| mode.as_str() == name)
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
        let Some(place) = value.order() else { continue };
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use samuel_model::payload::Mode;

    const POINT: HookPoint = HookPoint::QualityCheck;

    fn strict(strict: bool) -> ChainSpec {
        ChainSpec { strict: Some(strict), ..Default::default() }
    }

    fn action(on_failure: OnFailure) -> ChainSpec {
        ChainSpec { on_failure: Some(on_failure), ..Default::default() }
    }

    /// What a broken handler does after some layers, the last one the latest.
    fn merged(layers: &[ChainSpec]) -> OnFailure {
        let spec = layers.iter().fold(ChainSpec::default(), |spec, layer| overlay(&spec, layer, POINT));
        spec.failure_action(POINT)
    }

    #[test]
    fn a_later_layer_wins_whether_it_says_strict_or_on_failure() {
        assert_eq!(merged(&[action(OnFailure::AbortLoop), strict(false)]), OnFailure::Warn);
        assert_eq!(merged(&[action(OnFailure::Warn), strict(true)]), OnFailure::AbortIteration);
        assert_eq!(merged(&[strict(true), action(OnFailure::Warn)]), OnFailure::Warn);
        assert_eq!(merged(&[strict(false), strict(true)]), OnFailure::AbortIteration);
        assert_eq!(merged(&[strict(true), ChainSpec::default()]), OnFailure::AbortIteration);
        assert_eq!(
            merged(&[action(OnFailure::AbortLoop), strict(true), ChainSpec::default()]),
            OnFailure::AbortIteration
        );
    }

    #[test]
    fn in_one_layer_on_failure_beats_strict() {
        let both = ChainSpec { on_failure: Some(OnFailure::Warn), ..strict(true) };
        assert_eq!(merged(std::slice::from_ref(&both)), OnFailure::Warn);
        assert_eq!(merged(&[strict(true), both]), OnFailure::Warn);
    }

    #[test]
    fn strict_still_says_whether_verdicts_count() {
        let spec = overlay(&strict(false), &action(OnFailure::AbortLoop), POINT);
        assert_eq!((spec.strict, spec.failure_action(POINT)), (Some(false), OnFailure::AbortLoop));
    }

    #[test]
    fn fields_that_a_later_layer_leaves_out_remain() {
        let earlier = ChainSpec {
            handlers: Some(vec!["a".to_owned()]),
            timeout: Some(Duration::from_secs(10)),
            enabled: Some(false),
            mode: Some(ChainMode::Only(Mode::Discovery)),
            ..Default::default()
        };
        let spec = overlay(&earlier, &strict(true), POINT);
        assert_eq!(
            (spec.handlers, spec.timeout, spec.enabled, spec.mode),
            (earlier.handlers, earlier.timeout, earlier.enabled, earlier.mode)
        );
    }

    #[test]
    fn orders_are_replaced_one_by_one_also_under_a_plugins_short_name() {
        let order = |entries: &[(&str, i32)]| ChainSpec {
            order: entries.iter().map(|(name, place)| ((*name).to_owned(), *place)).collect(),
            ..Default::default()
        };
        let earlier = order(&[("a:check", 1), ("b", 2), ("c", 3), ("ab", 4)]);
        let later = order(&[("a", 10), ("b:check", 20), ("default", 30)]);
        let expected = order(&[("a", 10), ("ab", 4), ("b:check", 20), ("c", 3), ("default", 30)]);
        assert_eq!(overlay(&earlier, &later, POINT).order, expected.order);
    }
}
