//! Usage limits of the agent's provider.
//!
//! A limit that is over by the time it is told of is none. One whose end is known
//! is waited for, and one whose end nobody says is tried again after 5, 10, 20
//! minutes and so on, for [`RunLimits::max_limit_wait_ms`](super::RunLimits) altogether. What
//! lasts longer has a fallback work, where one can, and ends the run where
//! [`RateLimitPolicy::Stop`] asks for that, or where it lasts longer than a limit does. An iteration that met a limit counts as no failure.

use jiff::{SignedDuration, Timestamp};
use samuel_agent::Out;
use samuel_config::RateLimitPolicy;
use samuel_model::{ExitReason, FailureClass};
use serde::{Deserialize, Serialize};

use super::{AgentEnd, Core, Ending, Machine, iteration::Iteration};

/// The first wait for a limit whose end nobody says.
const FIRST_WAIT: SignedDuration = SignedDuration::from_mins(5);
/// The furthest end of a limit that is waited for: no setting asks for a longer wait, and whoever
/// says that it ends later, an agent or a saved state, is not believed.
const FURTHEST: SignedDuration = SignedDuration::from_hours(31 * 24);
/// How often such a wait is doubled.
const MAX_DOUBLINGS: u32 = 20;

/// What a run knows of a usage limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UsageLimit {
    /// Until when the run waits.
    pub(super) until: Option<Timestamp>,
    /// How many calls in a row met a limit whose end nobody said.
    tries: u32,
    /// How long these were waited for altogether.
    waited_ms: i64,
    /// Whether it ends later than anybody waits, whatever is configured.
    pub(super) is_endless: bool,
}

/// What follows from a limit.
enum Consequence {
    /// It is over, since then.
    Over(Timestamp),
    Wait(Timestamp),
    /// Another agent takes over.
    PassOn,
    End(String),
}

impl Core {
    /// Takes down whether a call of the agent met a limit.
    pub(super) fn note_limit(&mut self, iteration: Option<&Iteration>, end: &mut AgentEnd, is_closing: bool) {
        let Some(failure) = end.failure.as_mut().filter(|failure| failure.class == FailureClass::RateLimit)
        else {
            self.limit = UsageLimit::default();
            return;
        };
        match self.consequence(iteration, &end.agent, end.resets_at, end.ended_at) {
            Consequence::Over(since) => {
                self.limit.until = None;
                let since = to_the_second(since);
                failure.message.push_str(&format!(
                    " (that limit ended at {since}, so there is nothing to wait for and this counts as a failure)"
                ));
            }
            Consequence::Wait(until) => self.limit.until = Some(until),
            Consequence::PassOn => self.limit = UsageLimit::default(),
            // The run is about to end for another reason.
            Consequence::End(_) if is_closing => {}
            Consequence::End(detail) => {
                self.ending.get_or_insert(Ending::new(ExitReason::RateLimited, Some(detail)));
            }
        }
    }

    fn consequence(
        &mut self,
        iteration: Option<&Iteration>,
        agent: &str,
        resets_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Consequence {
        let most = i64::try_from(self.setup.limits.max_limit_wait_ms).unwrap_or(i64::MAX);
        let tries = self.limit.tries;
        let shortest = match resets_at {
            None => self.try_again(now, most),
            Some(until) if until <= now => return Consequence::Over(until),
            Some(until) => {
                let is_long = until.duration_since(now) > SignedDuration::from_millis(most);
                (!is_long).then_some(until)
            }
        };
        if let Some(until) = shortest {
            return Consequence::Wait(until);
        }
        let all_out_until = match self.pass_on(iteration, agent, Out::Limited(resets_at)) {
            Ok(()) => return Consequence::PassOn,
            Err(until) => until,
        };
        match (self.setup.limits.rate_limit, all_out_until) {
            (RateLimitPolicy::Wait, Some(until)) if !is_far(until, now) => Consequence::Wait(until),
            (RateLimitPolicy::Wait, Some(until)) => {
                self.limit.is_endless = true;
                let days = FURTHEST.as_hours() / 24;
                Consequence::End(format!(
                    "{}, and a run waits for {days} days at most",
                    self.all_limited(Some(until))
                ))
            }
            (_, None) if self.setup.routing.fallback.is_empty() => Consequence::End(format!(
                "the agent is still at its usage limit, of which nobody says when it ends (tries: {})",
                tries.saturating_add(1)
            )),
            (_, until) => Consequence::End(self.all_limited(until)),
        }
    }

    /// Waits twice as long as the last time, as far as there is time left to wait.
    fn try_again(&mut self, now: Timestamp, most: i64) -> Option<Timestamp> {
        let doubled = FIRST_WAIT.saturating_mul(1 << self.limit.tries.min(MAX_DOUBLINGS));
        let left = most.saturating_sub(self.limit.waited_ms.max(0));
        let wait = doubled.min(SignedDuration::from_millis(left));
        if wait <= SignedDuration::ZERO {
            return None;
        }
        self.limit.tries = self.limit.tries.saturating_add(1);
        self.limit.waited_ms =
            self.limit.waited_ms.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        Some(now.saturating_add(wait).unwrap_or(Timestamp::MAX))
    }

    /// Says whether a failure is one to wait for and not to count.
    pub(super) fn is_excused(&self, class: FailureClass) -> bool {
        let ends = self.ending.as_ref().is_some_and(|ending| ending.reason == ExitReason::RateLimited);
        let is_limit = class == FailureClass::RateLimit && (self.limit.until.is_some() || ends);
        let passes_on =
            [FailureClass::RateLimit, FailureClass::AgentStart].contains(&class) && self.agents.passes_on;
        is_limit || passes_on
    }
}

impl Machine {
    /// Returns until when the run waits for a usage limit, if it does.
    pub fn waits_until(&self) -> Option<Timestamp> {
        self.core.limit.until
    }

    /// Forgets what a saved state says of a usage limit that nothing vouches for, or that
    /// ends later than any does: whether there is one shows with the next call.
    pub fn doubt_limit(&mut self, now: Timestamp, is_vouched_for: bool) {
        if !is_vouched_for || self.core.limit.until.is_some_and(|until| is_far(until, now)) {
            self.core.limit = UsageLimit::default();
            self.core.agents.forget_limits();
        }
    }
}

/// Says whether a limit ends later than anybody waits.
fn is_far(until: Timestamp, now: Timestamp) -> bool {
    until.duration_since(now) > FURTHEST
}

/// Writes a moment as people read it, in the one zone that is the same everywhere.
pub(super) fn to_the_second(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
