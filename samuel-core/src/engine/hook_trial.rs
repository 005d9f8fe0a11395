//! What came of a hook that was tried out, and of a point that was fired, beside any run.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    hook_list::ListedHook,
    hook_report::{HandlerReport, SkippedReport},
};
use crate::hook::{
    BreakClass, Dispatched, HookExchange, HookFailure, HookPoint, HookStatus, HookWarning, Outcome, Tier,
};

/// What came of one hook on one event: all that went in and came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookTrial {
    /// The hook point.
    pub point: HookPoint,
    /// The handler's id.
    pub id: String,
    /// What kind of thing it is.
    pub tier: Tier,
    /// Where it comes from, where that is known.
    pub place: Option<String>,
    /// How it ended; nothing where it was not asked, as the event is none of those that it is for.
    pub status: Option<HookStatus>,
    /// How it failed or broke, where it did, such as `timeout`; nothing of an agent that failed.
    pub class: Option<BreakClass>,
    /// The event that it was given.
    pub input: Value,
    /// Its processes: what was started, what it read and printed, how it ended.
    pub exchanges: Vec<HookExchange>,
    /// What it answered; nothing where it broke.
    pub output: Option<Value>,
    /// What it contributed to the prompt context, by namespace.
    pub contributed: Value,
    /// Why it refused, where it did.
    pub refused: Option<String>,
    /// How it broke, where it did.
    pub failure: Option<HookFailure>,
    /// What the user is to know beside the failure.
    pub warnings: Vec<HookWarning>,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
}

/// What came of a point that was fired; before it is, what would.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookFiring {
    /// The hook point.
    pub point: HookPoint,
    /// The event that its handlers are given.
    pub input: Value,
    /// The handlers that run, in order.
    pub run: Vec<HandlerReport>,
    /// The handlers that do not, and why.
    pub skipped: Vec<SkippedReport>,
    /// What the handlers said and did; nothing where the point was not fired.
    pub outcome: Option<Outcome>,
    /// What they answered together; nothing where the point was not fired.
    pub output: Option<Value>,
    /// Their processes, in the order in which they ended.
    pub exchanges: Vec<HookExchange>,
}

impl HookTrial {
    pub(super) fn of(
        point: HookPoint,
        id: &str,
        input: Value,
        listed: Option<ListedHook>,
        done: Dispatched<Value>,
        exchanges: Vec<HookExchange>,
    ) -> Self {
        let outcome = done.outcome;
        let failure = outcome.broken.into_iter().next().map(|broken| broken.failure);
        let timing = outcome.timings.first();
        let contributed = done.context.plugins().iter().map(|(namespace, data)| {
            let data = data.iter().map(|(key, value)| (key.clone(), value.clone()));
            (namespace.clone(), Value::Object(data.collect()))
        });
        let is_of_failure = |warning: &HookWarning| {
            failure.as_ref().is_some_and(|failure| failure.class.as_str() == warning.class)
        };
        Self {
            point,
            id: id.to_owned(),
            tier: listed.as_ref().map_or(Tier::BuiltIn, |one| one.tier),
            place: listed.and_then(|one| one.place),
            status: timing.map(|timing| timing.status),
            class: timing.and_then(|timing| timing.class),
            input,
            exchanges,
            output: failure.is_none().then_some(done.output),
            contributed: Value::Object(contributed.collect::<Map<_, _>>()),
            refused: outcome.refused,
            warnings: outcome.warnings.iter().filter(|one| !is_of_failure(one)).cloned().collect(),
            duration_ms: timing.map_or(0.0, |timing| timing.took.as_secs_f64() * 1_000.0),
            failure,
        }
    }
}
