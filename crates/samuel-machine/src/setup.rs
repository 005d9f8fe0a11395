//! What a run is about, frozen at its start.

use std::num::NonZeroU32;

use samuel_agent::Routing;
use samuel_config::RateLimitPolicy;
use samuel_hook::context::Framing;
use samuel_model::{Completes, Scope};
use samuel_state::plan::Pilot;
use serde::{Deserialize, Serialize};

use super::CallNumbers;

/// What a run is about, frozen at its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The session's name.
    pub session: String,
    /// The agent's name.
    pub agent: String,
    /// Which other agents, and which models, calls may have.
    #[serde(default)]
    pub routing: Routing,
    /// The command by which agents call Samuel.
    #[serde(default)]
    pub binary: String,
    /// The sandbox's name.
    pub sandbox: String,
    /// The configured quality checks.
    pub checks: Vec<String>,
    /// Whether anything stands at `quality.check`: these, or a handler.
    #[serde(default)]
    pub has_checks: bool,
    /// The tasks that the run is for.
    #[serde(default)]
    pub scope: Scope,
    /// How it looks for tasks.
    #[serde(default)]
    pub pilot: Pilot,
    /// Whether it is one of several lanes: the caps of the run are then held by what they share, and what
    /// is next is said by [`LaneWork`](super::LaneWork).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_lane: bool,
    /// Whether it is a lane that does not lead: what the user says to all lanes and no agent was given, it leaves to
    /// the one that does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    /// The tasks whose completion a check may confirm while an agent is at work.
    #[serde(default, skip_serializing_if = "is_plan")]
    pub completes: Completes,
    /// How the calls are numbered that wait for a person.
    #[serde(default, skip_serializing_if = "is_alone")]
    pub calls: CallNumbers,
    /// When to stop.
    pub limits: RunLimits,
    /// How text of others is marked in prompts. A resumed run has another one.
    #[serde(default)]
    pub framing: Framing,
}

/// When a run stops by itself, and how long it pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLimits {
    /// How many iterations it may make; nothing sets no limit.
    pub max_iterations: Option<NonZeroU32>,
    /// How many iterations in a row may fail; 0 is read as 1.
    pub max_consecutive_failures: u32,
    /// How much it may cost, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// How many tokens it may read and write.
    pub max_tokens: Option<u64>,
    /// How many attempts of a task may fail before it is blocked; nothing sets no limit.
    #[serde(default)]
    pub max_task_attempts: Option<NonZeroU32>,
    /// How much a task may cost before it is blocked, in US dollars.
    #[serde(default)]
    pub max_task_cost_usd: Option<f64>,
    /// How many tokens may be read and written for a task before it is blocked.
    #[serde(default)]
    pub max_task_tokens: Option<u64>,
    /// Whether an iteration is not begun that what is left of the run's budget would not last for.
    #[serde(default = "yes")]
    pub forecast: bool,
    /// How long it may take, in milliseconds. The driver measures it; the machine
    /// says it.
    #[serde(default)]
    pub max_wall_ms: Option<u64>,
    /// How long one call of the agent may take, with what handlers do about its tool
    /// calls, in milliseconds.
    #[serde(default = "an_hour")]
    pub max_call_ms: u64,
    /// How long it waits between iterations, in milliseconds.
    pub pause_ms: u64,
    /// What follows from a usage limit that lasts longer than the next value.
    #[serde(default)]
    pub rate_limit: RateLimitPolicy,
    /// How long a usage limit is no question, and how long altogether one is waited
    /// for of which nobody says when it ends, in milliseconds.
    #[serde(default = "six_hours")]
    pub max_limit_wait_ms: u64,
    /// How long a tool call waits for a person where handlers want one to decide, in milliseconds; 0 stands for
    /// not at all.
    #[serde(default)]
    pub ask_timeout_ms: u64,
}

fn is_plan(completes: &Completes) -> bool {
    *completes == Completes::Plan
}

fn is_alone(calls: &CallNumbers) -> bool {
    *calls == CallNumbers::default()
}

fn yes() -> bool {
    true
}

fn an_hour() -> u64 {
    60 * 60 * 1_000
}

fn six_hours() -> u64 {
    6 * an_hour()
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_iterations: NonZeroU32::new(20),
            max_consecutive_failures: 3,
            max_cost_usd: None,
            max_tokens: None,
            max_task_attempts: NonZeroU32::new(3),
            max_task_cost_usd: None,
            max_task_tokens: None,
            forecast: true,
            max_wall_ms: None,
            max_call_ms: an_hour(),
            pause_ms: 2_000,
            rate_limit: RateLimitPolicy::default(),
            max_limit_wait_ms: six_hours(),
            ask_timeout_ms: 0,
        }
    }
}
