//! Plays a row of one dispatch, and compares everything that came of it.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use samuel_core::{
    clock::SystemClock,
    config::{Config, ConfigError},
    hook::{BreakClass, CallScope, Dispatched, HookPoint, Outcome, Point, Registry, RegistryError},
};
use serde_json::{Map, Value};

use crate::{
    point::at_point,
    row::{DispatchRow, Expected, HandlerRow},
    tier::{Stage, Tier, over},
};

/// How long one dispatch may take, generously: rows hang for a second.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn check(row: &DispatchRow, tier: &dyn Tier) -> Result<(), String> {
    let mut handlers = row.handlers.clone();
    check_once(row, &handlers, tier)?;
    let mut dice = 0x5eed_u64;
    for round in 0..row.shuffles {
        shuffle(&mut handlers, &mut dice);
        check_once(row, &handlers, tier).map_err(|error| format!("shuffle {round}: {error}"))?;
    }
    Ok(())
}

fn shuffle(handlers: &mut [HandlerRow], dice: &mut u64) {
    for last in (1..handlers.len()).rev() {
        *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        handlers.swap(last, (*dice >> 33) as usize % (last + 1));
    }
}

fn check_once(row: &DispatchRow, handlers: &[HandlerRow], tier: &dyn Tier) -> Result<(), String> {
    let expect = &row.expect;
    let (config, registry, stage) = match prepare(row, handlers, tier) {
        Ok(ready) => ready,
        Err(error) => return same("error", &Some(error), &expect.error),
    };
    same("error", &None, &expect.error)?;
    let resolved = registry.resolved(row.point).cloned().unwrap_or_default();
    let skipped = resolved.skipped.iter().map(|skipped| format!("{}: {}", skipped.id, skipped.why)).collect();
    same("skipped", &skipped, &expect.skipped)?;
    same("notices", &resolved.warnings, &expect.notices)?;
    if let Some(expected) = &expect.origins {
        let origins = config.chain_origins(row.point, "ralph");
        let origins = origins.into_iter().map(|(key, origin)| format!("{key} {}", origin.line)).collect();
        same("origins", &origins, expected)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let compared = at_point!(row.point, P => {
        let dispatched = runtime.block_on(dispatch::<P>(row, &registry));
        compare::<P>(row, tier, &dispatched)
    });
    stage.curtain.fall();
    compared
}

/// Builds a row's registry, or says how it is refused.
fn prepare(
    row: &DispatchRow,
    handlers: &[HandlerRow],
    tier: &dyn Tier,
) -> Result<(Config, Registry, Stage), String> {
    let config = Config::parse(Path::new("samuel.toml"), &row.config()).map_err(|error| told(&error))?;
    let plugins = config.plugins.iter().map(|plugin| plugin.name.clone()).collect();
    let stage = Stage::of(plugins);
    let mut builder = Registry::builder();
    for handler in handlers {
        tier.register(row.point, handler, &stage, &mut builder);
    }
    let specs = BTreeMap::from([(row.point, config.chain(row.point, "ralph"))]);
    let registry = builder.build(&specs).map_err(|error| match &error {
        RegistryError::Resolve(resolve) => {
            config.locate("ralph", resolve).map_or(error.to_string(), |error| told(&error))
        }
        error => error.to_string(),
    })?;
    Ok((config, registry, stage))
}

/// Writes the problems of a configuration with their places and help.
fn told(error: &ConfigError) -> String {
    let problems = error.problems().iter().map(|problem| {
        let (line, column) = (problem.location.line.unwrap(), problem.location.column.unwrap());
        format!("{line}:{column} {problem} | {}", problem.help().prose())
    });
    problems.collect::<Vec<_>>().join("\n")
}

async fn dispatch<P: Point>(row: &DispatchRow, registry: &Registry) -> Dispatched<P::Output>
where
    P::Input: Default,
{
    let input: P::Input = over(&Value::Object(row.input.clone())).unwrap();
    let scope = CallScope {
        run_id: "run".into(),
        session: "parity".into(),
        iteration: 1,
        mode: row.mode,
        ..CallScope::new(Arc::new(SystemClock::new()))
    };
    if row.cancelled {
        scope.cancel.cancel();
    }
    tokio::time::timeout(LIMIT, registry.dispatch::<P>(input, &scope)).await.expect("a dispatch ends on time")
}

fn compare<P: Point>(row: &DispatchRow, tier: &dyn Tier, got: &Dispatched<P::Output>) -> Result<(), String> {
    let expect = &row.expect;
    compare_outcome(&got.outcome, expect, tier)?;
    let plugins = serde_json::to_value(got.context.plugins()).unwrap();
    same("plugins", &plugins, &Value::Object(expect.plugins.clone()))?;
    let output = serde_json::to_value(&got.output).unwrap();
    let asked: Map<String, Value> =
        expect.output.keys().map(|key| (key.clone(), output.get(key).cloned().unwrap_or_default())).collect();
    same("output", &asked, &expect.output)
}

/// Compares what the handlers said and did.
pub(crate) fn compare_outcome(outcome: &Outcome, expect: &Expected, tier: &dyn Tier) -> Result<(), String> {
    let trace: Vec<String> =
        outcome.timings.iter().map(|timing| format!("{} {}", timing.handler, timing.ended())).collect();
    same("trace", &trace, &expect.trace)?;
    same("not now", &outcome.skipped.as_ref().map(ToString::to_string), &expect.not_now)?;
    let broken =
        outcome.broken.iter().map(|broken| format!("{} {}", broken.handler, broken.failure)).collect();
    same("broken", &broken, &expect.broken)?;
    for broken in &outcome.broken {
        let left_behind = matches!(broken.failure.class, BreakClass::Timeout | BreakClass::Cancelled);
        same("abandoned", &broken.abandoned, &(left_behind && tier.abandons()))?;
    }
    let abort = outcome.abort.as_ref().map(|abort| {
        let action = serde_json::to_value(abort.action).unwrap();
        format!("{} {}", abort.handler, action.as_str().unwrap())
    });
    same("abort", &abort, &expect.abort)?;
    same("refused", &outcome.refused, &expect.refused)?;
    let warnings = outcome.warnings.iter();
    let warnings = warnings.map(|w| format!("{} {}: {}", w.handler, w.class, w.message)).collect();
    same("warnings", &warnings, expect.warnings.as_ref().unwrap_or(&expect.broken))?;
    let refuses = |handler: &str| trace.contains(&format!("{handler} refused"));
    let said = outcome.said.iter().filter(|said| !(tier.tells_reasons() && refuses(&said.handler)));
    let said = said.map(|said| format!("{}: {}", said.handler, said.item.content)).collect();
    same("said", &said, &expect.said)
}

/// Compares what was got with what was expected.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, expected: &T) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    Err(format!("{what}\n     got {got:#?}\nexpected {expected:#?}"))
}

/// Says which point a handler of a run is for.
pub(crate) fn point_of(handler: &HandlerRow) -> HookPoint {
    handler.point.expect("a handler of a run names its point")
}
