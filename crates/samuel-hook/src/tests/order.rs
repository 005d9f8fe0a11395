//! What holds of resolving a chain, whatever was registered and configured.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::{ChainSpec, HandlerInfo, HookLayer, HookPoint, Resolved, SkipReason, resolve};

/// Handlers of all layers with few orders, so that many collide.
fn handlers() -> impl Strategy<Value = Vec<HandlerInfo>> {
    let layer =
        prop::sample::select(vec![HookLayer::BuiltIn, HookLayer::Dialect, HookLayer::Plugin, HookLayer::Api]);
    let order = prop::sample::select(vec![None, None, Some(50), Some(100), Some(200)]);
    let handler = (layer, 0..3_u32, 0..3_u32, order).prop_map(|(layer, source, declaration, order)| {
        let id = match layer {
            HookLayer::BuiltIn => "default".to_owned(),
            HookLayer::Dialect => format!("repo:{source}-{declaration}"),
            HookLayer::Plugin => format!("p{source}:h{declaration}"),
            HookLayer::Api => format!("api:{source}-{declaration}"),
        };
        HandlerInfo { id: id.into(), layer, source, declaration, order, enabled: true }
    });
    prop::collection::vec(handler, 0..10).prop_map(|handlers| {
        let mut seen = BTreeSet::new();
        handlers.into_iter().filter(|handler| seen.insert(handler.id.clone())).collect()
    })
}

/// Names that mean a handler, may mean one, or mean none.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("default".to_owned()),
        Just("samuel-default".to_owned()),
        (0..3, 0..3).prop_map(|(source, declaration)| format!("p{source}:h{declaration}")),
        (0..3).prop_map(|source| format!("p{source}")),
        Just("nobody".to_owned()),
    ]
}

fn spec() -> impl Strategy<Value = ChainSpec> {
    let list = prop::option::weighted(0.3, prop::collection::vec(name(), 0..4));
    let order = prop::collection::btree_map(name(), prop::sample::select(vec![50, 100, 150]), 0..3);
    (list, order, prop::option::weighted(0.2, any::<bool>()))
        .prop_map(|(handlers, order, enabled)| ChainSpec { handlers, order, enabled, ..Default::default() })
}

fn point() -> impl Strategy<Value = HookPoint> {
    prop::sample::select(HookPoint::ALL.to_vec())
}

proptest! {
    #[test]
    fn the_order_of_registration_does_not_matter(
        point in point(),
        (handlers, shuffled) in handlers().prop_flat_map(|handlers| (Just(handlers.clone()), Just(handlers).prop_shuffle())),
        spec in spec(),
    ) {
        prop_assert_eq!(resolve(point, &handlers, &spec), resolve(point, &shuffled, &spec));
    }

    #[test]
    fn every_handler_runs_once_or_is_skipped_once_with_a_reason(
        point in point(), handlers in handlers(), spec in spec(),
    ) {
        let Ok(resolved) = resolve(point, &handlers, &spec) else { return Ok(()) };
        let is_handler = |why: &SkipReason| *why != SkipReason::NoDefault;
        let skipped = resolved.skipped.iter().filter(|skipped| is_handler(&skipped.why)).map(|skipped| &skipped.id);
        let mut told: Vec<&str> = resolved.run.iter().map(|(id, _)| id).chain(skipped).map(|id| &**id).collect();
        let mut registered: Vec<&str> = handlers.iter().map(|handler| &*handler.id).collect();
        told.sort_unstable();
        registered.sort_unstable();
        prop_assert_eq!(told, registered);
    }

    #[test]
    fn handlers_run_in_ascending_order_unless_they_are_listed(
        point in point(), handlers in handlers(), spec in spec(),
    ) {
        let Ok(resolved) = resolve(point, &handlers, &spec) else { return Ok(()) };
        prop_assert!(resolved.run.is_sorted_by_key(|(_, order)| *order));
    }

    #[test]
    fn of_handlers_that_asked_for_one_order_one_runs(handlers in handlers()) {
        let resolved = resolve(HookPoint::QualityCheck, &handlers, &ChainSpec::default()).unwrap();
        let asked: BTreeMap<&str, Option<i32>> =
            handlers.iter().map(|handler| (&*handler.id, handler.order)).collect();
        let orders: Vec<i32> = resolved.run.iter().filter_map(|(id, _)| asked[&**id]).collect();
        let different: BTreeSet<i32> = orders.iter().copied().collect();
        prop_assert_eq!(different.len(), orders.len());
        // And nobody loses a place that did not ask for it, but the default.
        let lost = resolved.skipped.iter().filter(|skipped| asked[&*skipped.id].is_none());
        let lost: Vec<&str> = lost.map(|skipped| &*skipped.id).collect();
        prop_assert!(lost.is_empty() || lost == ["default"]);
    }

    #[test]
    fn every_handler_that_is_replaced_is_named_in_a_warning(handlers in handlers()) {
        let resolved = resolve(HookPoint::QualityCheck, &handlers, &ChainSpec::default()).unwrap();
        for skipped in &resolved.skipped {
            let SkipReason::ReplacedBy(winner) = &skipped.why else { panic!("nothing else skips here") };
            let names_both = |warning: &String| warning.contains(&**winner) && warning.contains(&*skipped.id);
            prop_assert!(resolved.warnings.iter().any(names_both));
        }
    }
}

fn handler(id: &str, layer: HookLayer) -> HandlerInfo {
    HandlerInfo { id: id.into(), layer, source: 0, declaration: 0, order: None, enabled: true }
}

fn order(entries: &[(&str, i32)]) -> ChainSpec {
    let order = entries.iter().map(|(name, order)| ((*name).to_owned(), *order)).collect();
    ChainSpec { order, ..Default::default() }
}

fn ids(resolved: &Resolved) -> Vec<(&str, i32)> {
    resolved.run.iter().map(|(id, order)| (&**id, *order)).collect()
}

#[test]
fn a_whole_id_beats_the_name_of_its_plugin() {
    let handlers = [handler("lint:check", HookLayer::Plugin)];
    let spec = order(&[("lint", 1), ("lint:check", 2)]);
    let resolved = resolve(HookPoint::QualityCheck, &handlers, &spec).unwrap();
    assert_eq!(ids(&resolved), [("lint:check", 2)]);
}

#[test]
fn the_order_of_a_default_that_is_not_there_is_ignored_with_a_warning() {
    let handlers = [handler("lint:check", HookLayer::Plugin)];
    let resolved = resolve(HookPoint::ContextExtra, &handlers, &order(&[("samuel-default", 1)])).unwrap();
    assert_eq!(ids(&resolved), [("lint:check", 200)]);
    let expected = "context.extra has no built-in default, so the order of \"samuel-default\" is ignored";
    assert_eq!(resolved.warnings, [expected]);
}

#[test]
fn the_default_can_be_moved_and_is_then_replaced_at_its_new_place_only() {
    let handlers = [handler("default", HookLayer::BuiltIn), handler("a:h", HookLayer::Plugin)];
    let resolved =
        resolve(HookPoint::ContextTask, &handlers, &order(&[("samuel-default", 300), ("a", 100)])).unwrap();
    assert_eq!(ids(&resolved), [("a:h", 100), ("default", 300)]);
    let resolved =
        resolve(HookPoint::ContextTask, &handlers, &order(&[("samuel-default", 300), ("a", 300)])).unwrap();
    assert_eq!(ids(&resolved), [("a:h", 300)]);
}
