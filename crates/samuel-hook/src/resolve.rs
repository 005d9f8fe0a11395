//! Which handlers of a point run, in which order, and why the others do not.
//!
//! [`resolve`] is one pure function over what was registered and what is
//! configured (docs/hooks.md). The answer does not depend on the order in
//! which handlers were registered.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use samuel_contract::nearest;
use samuel_model::payload::Mode;
use serde::{Deserialize, Serialize};

use super::{
    ChainSpec, HandlerInfo, HookLayer, HookPoint, Kind,
    chain::{DEFAULT_ALIAS, DEFAULT_ID},
};

/// A point's chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The handlers that run, in order, with the order each has.
    pub run: Vec<(Arc<str>, i32)>,
    /// The handlers that do not.
    pub skipped: Vec<SkippedHandler>,
    /// What the user should know, in whole sentences.
    pub warnings: Vec<String>,
}

/// A handler that does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedHandler {
    /// Its id.
    pub id: Arc<str>,
    /// Why it does not run.
    pub why: SkipReason,
}

/// Why a handler does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// The point is disabled.
    Disabled,
    /// The hook file that describes it disables it.
    NotEnabled,
    /// The configured list leaves it out.
    NotInHandlers,
    /// Another handler asked for the same order.
    ReplacedBy(Arc<str>),
    /// Only the last handler runs at this point.
    ShadowedBy(Arc<str>),
    /// The configured list names a default the point does not have.
    NoDefault,
    /// The chain is for iterations of this mode. Dispatch finds that, since no
    /// iteration is under way when chains are resolved.
    OtherMode(Mode),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("the point is disabled"),
            Self::NotEnabled => f.write_str("disabled in its file"),
            Self::NotInHandlers => f.write_str("not in handlers"),
            Self::ReplacedBy(id) => write!(f, "replaced by {id}"),
            Self::ShadowedBy(id) => write!(f, "shadowed by {id}"),
            Self::NoDefault => f.write_str("the point has no default"),
            Self::OtherMode(mode) => write!(f, "only in {} iterations", mode.as_str()),
        }
    }
}

/// Chains that cannot be resolved, with all that is wrong with them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Unresolved {
    /// What is wrong, at least one thing.
    pub errors: Vec<ResolveError>,
}

impl Unresolved {
    /// Returns the id of the handler that was probably meant. Returns `None` if there are several errors, or if no id is
    /// near.
    #[doc(hidden)]
    pub fn nearest(&self) -> Option<&str> {
        match self.errors.as_slice() {
            [ResolveError::UnknownHandler { nearest, .. }] => nearest.as_deref(),
            _ => None,
        }
    }
}

/// What is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The configuration names a handler that is not registered.
    #[error("unknown handler \"{name}\" at {point}; {}", known_handlers(known))]
    UnknownHandler {
        /// The point.
        point: HookPoint,
        /// The name as it was given.
        name: String,
        /// The nearest handler, where one is near.
        nearest: Option<String>,
        /// The handlers there are.
        known: Vec<String>,
    },
    /// The configured list names a handler twice.
    #[error("the handlers of {point} name \"{name}\" twice")]
    DoubledHandler {
        /// The point.
        point: HookPoint,
        /// The name.
        name: String,
    },
}

/// Puts the handlers of a point in order.
///
/// # Errors
/// Returns [`Unresolved`] where the configuration names handlers that are not
/// registered, or one twice.
pub fn resolve(
    point: HookPoint,
    registered: &[HandlerInfo],
    spec: &ChainSpec,
) -> Result<Resolved, Unresolved> {
    let mut registered: Vec<&HandlerInfo> = registered.iter().collect();
    registered.sort_by_key(|handler| handler.sequence());
    let mut errors = Vec::new();
    // One that is disabled can be named, and neither runs nor takes a place.
    let enabled: Vec<&HandlerInfo> = registered.iter().copied().filter(|handler| handler.enabled).collect();
    let requests = requests(point, &registered, spec, &mut errors);
    let mut resolved = match &spec.handlers {
        Some(names) => listed(point, &registered, names, &mut errors),
        None => ordered(point, &enabled, &requests.orders),
    };
    resolved.run.retain(|(id, _)| enabled.iter().any(|handler| handler.id == *id));
    for handler in registered.iter().filter(|handler| !handler.enabled) {
        if !resolved.skipped.iter().any(|skipped| skipped.id == handler.id) {
            resolved
                .skipped
                .push(SkippedHandler { id: Arc::clone(&handler.id), why: SkipReason::NotEnabled });
        }
    }
    if !errors.is_empty() {
        return Err(Unresolved { errors });
    }
    resolved.warnings.splice(0..0, requests.warnings);
    if spec.enabled == Some(false) {
        let disabled = resolved.run.drain(..).map(|(id, _)| SkippedHandler { id, why: SkipReason::Disabled });
        resolved.skipped.extend(disabled);
    }
    if point.kind() == Kind::Replace {
        shadow(point, &mut resolved);
    }
    Ok(resolved)
}

/// Finds the handler a name means: its id, an alias, or the name of a plugin
/// with one handler at the point. `taken` are names that cannot be meant, because
/// they stand beside it.
fn find<'a>(
    point: HookPoint,
    registered: &[&'a HandlerInfo],
    name: &str,
    taken: &[&str],
) -> Result<Option<&'a HandlerInfo>, ResolveError> {
    if let Some(handler) = registered.iter().find(|handler| handler.answers_to(name)) {
        return Ok(Some(handler));
    }
    let of_plugin: Vec<&&HandlerInfo> = registered
        .iter()
        .filter(|handler| handler.id.split_once(':').is_some_and(|(plugin, _)| plugin == name))
        .collect();
    if let [only] = of_plugin.as_slice() {
        return Ok(Some(only));
    }
    if name == DEFAULT_ID || name == DEFAULT_ALIAS {
        return Ok(None);
    }
    let known: Vec<String> = registered.iter().map(|handler| handler.id.to_string()).collect();
    let free = known.iter().map(String::as_str).filter(|known| !taken.contains(known));
    let nearest = nearest(name, free).map(str::to_owned);
    Err(ResolveError::UnknownHandler { point, name: name.to_owned(), nearest, known })
}

/// Lists the handlers there are, for a message.
fn known_handlers(known: &[String]) -> String {
    match known {
        [] => "no handler is registered there".to_owned(),
        known => format!("known: {}", known.join(", ")),
    }
}

/// Resolves a chain that is configured whole.
fn listed(
    point: HookPoint,
    registered: &[&HandlerInfo],
    names: &[String],
    errors: &mut Vec<ResolveError>,
) -> Resolved {
    let mut resolved = Resolved::default();
    let mut seen = BTreeSet::new();
    let taken: Vec<&str> = names.iter().map(String::as_str).collect();
    for (place, name) in names.iter().enumerate() {
        let handler = match find(point, registered, name, &taken) {
            Ok(Some(handler)) => handler,
            Ok(None) => {
                resolved.warnings.push(format!("{point} has no built-in default, so \"{name}\" is skipped"));
                resolved.skipped.push(SkippedHandler { id: DEFAULT_ID.into(), why: SkipReason::NoDefault });
                continue;
            }
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        if !seen.insert(&handler.id) {
            errors.push(ResolveError::DoubledHandler { point, name: name.clone() });
            continue;
        }
        resolved.run.push((Arc::clone(&handler.id), i32::try_from(place).unwrap_or(i32::MAX)));
    }
    let left_out = registered.iter().filter(|handler| !seen.contains(&handler.id));
    resolved.skipped.extend(
        left_out
            .map(|handler| SkippedHandler { id: Arc::clone(&handler.id), why: SkipReason::NotInHandlers }),
    );
    resolved
}

/// The orders that were asked for.
struct Requests<'a> {
    /// By handler id.
    orders: BTreeMap<&'a str, i32>,
    warnings: Vec<String>,
}

/// Finds out which handlers ask for an order. The configuration beats what a
/// handler itself asks for, and its whole id beats its plugin's name.
fn requests<'a>(
    point: HookPoint,
    registered: &[&'a HandlerInfo],
    spec: &ChainSpec,
    errors: &mut Vec<ResolveError>,
) -> Requests<'a> {
    let own = registered.iter().filter_map(|handler| handler.order.map(|order| (&*handler.id, order)));
    let mut orders: BTreeMap<&str, i32> = own.collect();
    let mut warnings = Vec::new();
    let (whole, short): (Vec<_>, Vec<_>) =
        spec.order.iter().partition(|(name, _)| registered.iter().any(|handler| *handler.id == ***name));
    let taken: Vec<&str> = spec.order.keys().map(String::as_str).collect();
    for (name, order) in short.into_iter().chain(whole) {
        match find(point, registered, name, &taken) {
            Ok(Some(handler)) => drop(orders.insert(&handler.id, *order)),
            Ok(None) => warnings
                .push(format!("{point} has no built-in default, so the order of \"{name}\" is ignored")),
            Err(error) => errors.push(error),
        }
    }
    Requests { orders, warnings }
}

/// Resolves a chain by the order of its handlers.
fn ordered(point: HookPoint, registered: &[&HandlerInfo], requests: &BTreeMap<&str, i32>) -> Resolved {
    let mut resolved = Resolved::default();
    let mut chain: Vec<(i32, bool, &HandlerInfo)> = Vec::new();
    for handler in registered {
        let request = requests.get(&*handler.id).copied();
        let order = request.unwrap_or_else(|| handler.layer.implicit_order());
        let taken = request.and_then(|_| {
            chain.iter().position(|(other, asked, earlier)| {
                *other == order && (*asked || earlier.layer == HookLayer::BuiltIn)
            })
        });
        if let Some(place) = taken {
            let (_, _, replaced) = chain.remove(place);
            resolved.warnings.push(format!(
                "{} replaces {} at {point}, because both have the order {order}",
                handler.id, replaced.id
            ));
            resolved.skipped.push(SkippedHandler {
                id: Arc::clone(&replaced.id),
                why: SkipReason::ReplacedBy(Arc::clone(&handler.id)),
            });
        }
        chain.push((order, request.is_some(), handler));
    }
    chain.sort_by_key(|(order, _, handler)| (*order, handler.sequence()));
    resolved.run = chain.iter().map(|(order, _, handler)| (Arc::clone(&handler.id), *order)).collect();
    resolved
}

/// Leaves only the last handler of a point where one replaces the others.
fn shadow(point: HookPoint, resolved: &mut Resolved) {
    let Some((winner, _)) = resolved.run.last().cloned() else { return };
    let shadowed: Vec<Arc<str>> = resolved.run.drain(..resolved.run.len() - 1).map(|(id, _)| id).collect();
    // Replacing the default is what the point is for; only other handlers are
    // worth a word.
    let others: Vec<&str> = shadowed.iter().map(|id| &**id).filter(|id| *id != DEFAULT_ID).collect();
    if !others.is_empty() {
        resolved.warnings.push(format!("only {winner} runs at {point}; it shadows {}", others.join(", ")));
    }
    let why = |id| SkippedHandler { id, why: SkipReason::ShadowedBy(Arc::clone(&winner)) };
    resolved.skipped.extend(shadowed.into_iter().map(why));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(id: &str, layer: HookLayer, source: u32, order: Option<i32>) -> HandlerInfo {
        HandlerInfo { id: id.into(), layer, source, declaration: 0, order, enabled: true }
    }

    fn default() -> HandlerInfo {
        handler("default", HookLayer::BuiltIn, 0, None)
    }

    fn plugin(name: &str, source: u32, order: Option<i32>) -> HandlerInfo {
        handler(&format!("{name}:h"), HookLayer::Plugin, source, order)
    }

    fn ids(resolved: &Resolved) -> Vec<&str> {
        resolved.run.iter().map(|(id, _)| &**id).collect()
    }

    fn quality(handlers: &[HandlerInfo], spec: &ChainSpec) -> Result<Resolved, Unresolved> {
        resolve(HookPoint::QualityCheck, handlers, spec)
    }

    fn list(names: &[&str]) -> ChainSpec {
        ChainSpec { handlers: Some(names.iter().map(|n| (*n).to_owned()).collect()), ..Default::default() }
    }

    #[test]
    fn handlers_that_did_not_ask_never_collide() -> Result<(), Unresolved> {
        let handlers = [plugin("b", 1, None), default(), plugin("a", 0, None)];
        let resolved = quality(&handlers, &ChainSpec::default())?;
        assert_eq!(ids(&resolved), ["default", "a:h", "b:h"]);
        assert!(resolved.warnings.is_empty());
        Ok(())
    }

    #[test]
    fn an_order_that_equals_the_defaults_replaces_the_default() -> Result<(), Unresolved> {
        let resolved = quality(&[default(), plugin("a", 0, Some(100))], &ChainSpec::default())?;
        assert_eq!(ids(&resolved), ["a:h"]);
        assert_eq!(resolved.warnings.len(), 1);
        Ok(())
    }

    #[test]
    fn of_two_equal_orders_the_later_plugin_wins_however_they_arrive() -> Result<(), Unresolved> {
        let (first, second) = (plugin("a", 0, Some(50)), plugin("b", 1, Some(50)));
        for handlers in [[first.clone(), second.clone()], [second, first]] {
            let resolved = quality(&handlers, &ChainSpec::default())?;
            assert_eq!(ids(&resolved), ["b:h"]);
            assert!(resolved.warnings.iter().all(|w| w.contains("a:h") && w.contains("b:h")));
        }
        Ok(())
    }

    #[test]
    fn an_implicit_order_is_never_replaced() -> Result<(), Unresolved> {
        let resolved = quality(&[plugin("a", 0, None), plugin("b", 1, Some(200))], &ChainSpec::default())?;
        assert_eq!(ids(&resolved), ["a:h", "b:h"]);
        Ok(())
    }

    #[test]
    fn a_list_is_the_whole_chain_and_says_what_it_leaves_out() -> Result<(), Unresolved> {
        let handlers = [default(), plugin("a", 0, None), plugin("b", 1, None), plugin("c", 2, None)];
        let resolved = quality(&handlers, &list(&["a:h", "samuel-default", "b"]))?;
        assert_eq!(ids(&resolved), ["a:h", "default", "b:h"]);
        assert_eq!(resolved.skipped, [SkippedHandler { id: "c:h".into(), why: SkipReason::NotInHandlers }]);
        Ok(())
    }

    #[test]
    fn a_handler_that_its_file_disables_can_be_named_and_neither_runs_nor_replaces() -> Result<(), Unresolved>
    {
        let off = HandlerInfo { enabled: false, ..plugin("a", 0, Some(100)) };
        let handlers = [default(), off, plugin("b", 1, None)];
        for (spec, run) in
            [(ChainSpec::default(), vec!["default", "b:h"]), (list(&["a:h", "b:h"]), vec!["b:h"])]
        {
            let resolved = quality(&handlers, &spec)?;
            assert_eq!(ids(&resolved), run);
            let skipped = SkippedHandler { id: "a:h".into(), why: SkipReason::NotEnabled };
            assert!(resolved.skipped.contains(&skipped), "{resolved:?}");
        }
        Ok(())
    }

    #[test]
    fn unknown_and_doubled_names_are_errors() {
        let handlers = [default(), plugin("lint", 0, None)];
        let unknown = quality(&handlers, &list(&["lnt:h"]));
        assert_eq!(unknown.expect_err("unknown").nearest(), Some("lint:h"));
        let doubled = quality(&handlers, &list(&["default", "samuel-default"]));
        let doubled = doubled.expect_err("doubled").errors;
        assert!(matches!(doubled.as_slice(), [ResolveError::DoubledHandler { .. }]), "{doubled:?}");
    }

    #[test]
    fn every_name_that_is_wrong_is_told_and_none_is_suggested_that_stands_there_already() {
        let handlers = [default(), plugin("lint", 0, None)];
        let wrong = quality(&handlers, &list(&["default", "defualt", "lnt:h"])).expect_err("unknown").errors;
        let nearest = |error: &ResolveError| match error {
            ResolveError::UnknownHandler { nearest, .. } => nearest.clone(),
            ResolveError::DoubledHandler { .. } => None,
        };
        assert_eq!(wrong.iter().map(nearest).collect::<Vec<_>>(), [None, Some("lint:h".to_owned())]);
    }

    #[test]
    fn a_default_that_is_not_there_is_skipped_with_a_warning() -> Result<(), Unresolved> {
        let resolved = resolve(HookPoint::ContextExtra, &[plugin("a", 0, None)], &list(&["default", "a"]))?;
        assert_eq!((ids(&resolved), resolved.warnings.len()), (vec!["a:h"], 1));
        Ok(())
    }

    #[test]
    fn at_a_replace_point_only_the_last_handler_runs() -> Result<(), Unresolved> {
        let handlers = [default(), plugin("a", 0, None), plugin("b", 1, None)];
        let resolved = resolve(HookPoint::AgentInvoke, &handlers, &ChainSpec::default())?;
        assert_eq!(ids(&resolved), ["b:h"]);
        assert_eq!((resolved.skipped.len(), resolved.warnings.len()), (2, 1));
        Ok(())
    }
}
