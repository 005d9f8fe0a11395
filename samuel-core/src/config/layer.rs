//! What one source sets of a methodology: a `[methodology.<name>]` table, or
//! the defaults a plugin gives its own methodology.

use std::{ops::RangeInclusive, time::Duration};

use super::{
    AGENTS, CheckCommand, MethodologySettings, RateLimitPolicy, Sandbox,
    chain::{Chains, read_chains},
    table::Table,
    value::Value,
};

/// The time limits of single settings.
const UP_TO_A_DAY: RangeInclusive<Duration> = Duration::ZERO..=DAY;
const UP_TO_A_MONTH: RangeInclusive<Duration> = Duration::ZERO..=DAY.saturating_mul(30);
const SECOND_TO_DAY: RangeInclusive<Duration> = Duration::from_secs(1)..=DAY;
const SECOND_TO_MONTH: RangeInclusive<Duration> = Duration::from_secs(1)..=DAY.saturating_mul(30);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What one source sets of a methodology; the rest it leaves as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MethodologyLayer {
    agent: Option<String>,
    agent_command: Option<Vec<String>>,
    agent_args: Option<Vec<String>>,
    max_iterations: Option<u32>,
    pause: Option<Duration>,
    max_consecutive_failures: Option<u32>,
    quality_checks: Option<Vec<CheckCommand>>,
    rate_limit: Option<RateLimitPolicy>,
    rate_limit_wait: Option<Duration>,
    sandbox: Option<Sandbox>,
    keep_runs: Option<u32>,
    keep_bytes: Option<u64>,
    budget: BudgetLayer,
    clocks: ClocksLayer,
    pilot: PilotLayer,
    context: ContextLayer,
    /// The chains it sets.
    pub(crate) hooks: Chains,
}

/// Declares a part of a layer: its settings, how each is read, and how they
/// are put over others.
macro_rules! part {
    ($(#[$doc:meta])* $name:ident over $target:ty { $($field:ident: $type:ty = $read:expr;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        struct $name {
            $($field: Option<$type>,)+
        }

        impl $name {
            fn read(value: Option<Value<'_>>) -> Self {
                let Some(mut table) = value.and_then(|value| value.table()) else { return Self::default() };
                let layer = Self {
                    $($field: table.take(stringify!($field)).and_then(|value| {
                        let read: fn(&Value<'_>) -> Option<$type> = $read;
                        read(&value)
                    }),)+
                };
                table.finish();
                layer
            }

            fn apply(&self, target: &mut $target) {
                $(set(&mut target.$field, &self.$field.clone().map(Into::into));)+
            }
        }
    };
}

part! {
    /// The table `session_budget`.
    BudgetLayer over super::SessionBudget {
        max_cost_usd: f64 = |value| value.positive();
        max_tokens: u64 = |value| value.integer(1);
        max_wall_time: Duration = |value| value.duration(SECOND_TO_MONTH);
    }
}

part! {
    /// The table `clocks`.
    ClocksLayer over super::AgentClocks {
        first_byte: Duration = |value| value.duration(SECOND_TO_DAY);
        idle: Duration = |value| value.duration(SECOND_TO_DAY);
        linger: Duration = |value| value.duration(SECOND_TO_DAY);
        wall: Duration = |value| value.duration(SECOND_TO_DAY);
    }
}

part! {
    /// The table `pilot`.
    PilotLayer over super::PilotSettings {
        enabled: bool = |value| value.boolean();
        discover_interval: u32 = |value| value.integer(1);
        max_discovery_tasks: u32 = |value| value.integer(1);
        focus: String = |value| value.string().map(str::to_owned);
    }
}

part! {
    /// The table `context`.
    ContextLayer over super::ContextSettings {
        max_learnings: u32 = |value| value.integer(0);
        max_completed: u32 = |value| value.integer(0);
        max_progress_lines: u32 = |value| value.integer(1);
        snapshot_tokens: u32 = |value| value.integer(1);
    }
}

impl MethodologyLayer {
    /// Reads a methodology's table and reports the keys it does not know.
    pub(crate) fn read(mut table: Table<'_>) -> Self {
        let layer = Self {
            agent: table.take("agent").and_then(|value| value.one_of("agent", AGENTS)).map(str::to_owned),
            agent_command: table.take("agent_command").and_then(|value| value.strings()),
            agent_args: table.take("agent_args").and_then(|value| value.strings()),
            max_iterations: table.take("max_iterations").and_then(|value| value.integer(1)),
            pause: table.take("pause").and_then(|value| value.duration(UP_TO_A_DAY)),
            max_consecutive_failures: table
                .take("max_consecutive_failures")
                .and_then(|value| value.integer(1)),
            quality_checks: table.take("quality_checks").and_then(|value| read_checks(&value)),
            rate_limit: table.take("rate_limit").and_then(|value| read_rate_limit(&value)),
            rate_limit_wait: table.take("rate_limit_wait").and_then(|value| value.duration(UP_TO_A_MONTH)),
            sandbox: table.take("sandbox").and_then(|value| read_sandbox(&value)),
            keep_runs: table.take("keep_runs").and_then(|value| value.integer(0)),
            keep_bytes: table.take("keep_bytes").and_then(|value| value.integer(0)),
            budget: BudgetLayer::read(table.take("session_budget")),
            clocks: ClocksLayer::read(table.take("clocks")),
            pilot: match table.take("pilot") {
                // A profile only says whether (docs/configuration.md).
                Some(value) if value.as_boolean().is_some() => {
                    PilotLayer { enabled: value.as_boolean(), ..PilotLayer::default() }
                }
                value => PilotLayer::read(value),
            },
            context: ContextLayer::read(table.take("context")),
            hooks: table.take("hooks").map(|value| read_chains(&value)).unwrap_or_default(),
        };
        table.finish();
        layer
    }

    /// Replaces the settings that the layer sets.
    pub(crate) fn apply(&self, settings: &mut MethodologySettings) {
        set(&mut settings.agent, &self.agent);
        set(&mut settings.agent_command, &self.agent_command);
        set(&mut settings.agent_args, &self.agent_args);
        set(&mut settings.max_iterations, &self.max_iterations);
        set(&mut settings.pause, &self.pause);
        set(&mut settings.max_consecutive_failures, &self.max_consecutive_failures);
        set(&mut settings.quality_checks, &self.quality_checks);
        set(&mut settings.rate_limit, &self.rate_limit);
        set(&mut settings.rate_limit_wait, &self.rate_limit_wait);
        set(&mut settings.sandbox, &self.sandbox);
        set(&mut settings.keep_runs, &self.keep_runs);
        set(&mut settings.keep_bytes, &self.keep_bytes);
        self.budget.apply(&mut settings.session_budget);
        self.clocks.apply(&mut settings.clocks);
        self.pilot.apply(&mut settings.pilot);
        self.context.apply(&mut settings.context);
    }
}

fn set<T: Clone>(target: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        target.clone_from(value);
    }
}

fn read_sandbox(value: &Value<'_>) -> Option<Sandbox> {
    let text = value.string()?;
    let known = Sandbox::parse(text).ok();
    if known.is_none() {
        // Those that are only reserved would be refused as well.
        value.refuse_unknown("sandbox", text, &Sandbox::available().collect::<Vec<_>>());
    }
    known
}

fn read_rate_limit(value: &Value<'_>) -> Option<RateLimitPolicy> {
    let names: Vec<&str> = RateLimitPolicy::NAMES.iter().map(|(name, _)| *name).collect();
    RateLimitPolicy::parse(value.one_of("rate_limit", &names)?)
}

/// Reads the checks: each a command line, or one with its timeout.
fn read_checks(value: &Value<'_>) -> Option<Vec<CheckCommand>> {
    let checks = value.list()?.into_iter().map(|value| match value.as_table() {
        None => value.filled().map(CheckCommand::new),
        Some(_) => value.table().and_then(read_check),
    });
    checks.collect::<Vec<_>>().into_iter().collect()
}

fn read_check(mut table: Table<'_>) -> Option<CheckCommand> {
    let command = table.require("command").and_then(|value| value.filled().map(str::to_owned));
    let timeout = table.take("timeout").map(|value| value.duration(SECOND_TO_DAY));
    table.finish();
    Some(CheckCommand { command: command?, timeout: timeout.unwrap_or(Some(CheckCommand::TIMEOUT))? })
}
