//! `slow_calls`: calls that took long.

use std::time::Duration;

use super::AbilityCall;
use crate::text::lasting;

/// What is slow where a hook does not say it, in milliseconds.
const SLOW_MS: u64 = 2_000;

/// Says whether a call took long enough; `min_duration_ms` is 0 where the hook says nothing of it.
pub(super) fn is_slow(call: &AbilityCall, min_duration_ms: u64) -> bool {
    let limit = if min_duration_ms == 0 { SLOW_MS } else { min_duration_ms };
    call.duration_ms.is_some_and(|took| took >= limit)
}

/// Says it in one line.
pub(super) fn told(call: &AbilityCall) -> String {
    let took = lasting(Duration::from_millis(call.duration_ms.unwrap_or_default()));
    format!("{} took {took}", call.ability_id)
}
