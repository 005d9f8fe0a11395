//! Recognising usage limits in the words of providers.
//!
//! Words are looked at only when an agent has reported a failure: an agent that
//! writes about rate limits has not reached one.

use std::time::Duration;

use super::{
    stream::Ending,
    text::{MAX_SUMMARY, excerpt},
};

/// What providers say, in lower case.
const SIGNS: &[&str] = &[
    "rate limit",
    "rate_limit",
    "ratelimit",
    "usage limit",
    "hit your limit",
    "session limit",
    "weekly limit",
    "too many requests",
    "resource_exhausted",
    "resource has been exhausted",
    "exceeded your current quota",
    "insufficient_quota",
    "quota exceeded",
    "exhausted your capacity",
    "exhausted your daily quota",
];

/// Words before a waiting time.
const WAIT_SIGNS: &[&str] = &["try again in ", "reset after ", "retry in ", "retry after ", "resets in "];

/// The longest wait that is believed.
const MAX_WAIT: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Returns the ending of an agent that reports a failure in these words.
pub(super) fn failure(message: &str, now: jiff::Timestamp) -> Ending {
    let shown = excerpt(message, MAX_SUMMARY);
    match is_limit(message) {
        true => Ending::RateLimited { message: shown, resets_at: resets_at(message, now) },
        false => Ending::Failed { message: shown },
    }
}

/// Says whether the words of a failure are those of a usage limit.
pub(super) fn is_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    SIGNS.iter().any(|sign| message.contains(sign))
}

/// Returns when the limit ends, where the words say how long it lasts
/// (`try again in 1.5s`, `reset after 3h12m`) or give seconds since 1970 after
/// a bar, as older versions of Claude Code do. A time of day is not read, since
/// it may be in any time zone.
pub(super) fn resets_at(message: &str, now: jiff::Timestamp) -> Option<jiff::Timestamp> {
    if let Some(seconds) = message.rsplit_once('|').and_then(|(_, end)| end.trim().parse::<i64>().ok()) {
        return from_epoch(seconds);
    }
    let message = message.to_lowercase();
    let rest = WAIT_SIGNS.iter().find_map(|sign| message.split_once(sign).map(|(_, rest)| rest))?;
    now.checked_add(waiting_time(rest)?).ok()
}

/// Reads seconds since 1970, as providers give them.
pub(super) fn from_epoch(seconds: i64) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_second(seconds).ok()
}

/// Adds up numbers with units from the start of a text, such as `2 days 3 hours`
/// or `1h2m3.5s`; rounds up to milliseconds.
fn waiting_time(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text.trim_start();
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let length = leading(rest, |c| c.is_ascii_digit() || c == '.')?;
        let (number, after) = rest.split_at(length);
        let after = after.trim_start();
        let (unit, after) = after.split_at(leading(after, char::is_alphabetic)?);
        total += number.trim_end_matches('.').parse::<f64>().ok()? * seconds_of(unit)?;
        rest = after.trim_start_matches([' ', ',']).trim_start_matches("and ");
    }
    let wait = Duration::try_from_secs_f64(total).ok()?;
    (!wait.is_zero() && wait <= MAX_WAIT).then_some(wait)
}

fn leading(text: &str, fits: impl Fn(char) -> bool) -> Option<usize> {
    let length = text.find(|c| !fits(c)).unwrap_or(text.len());
    (length > 0).then_some(length)
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "millisecond" | "milliseconds" => Some(0.001),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600.0),
        "d" | "day" | "days" => Some(86_400.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

    fn wait(message: &str) -> Option<f64> {
        resets_at(message, NOW).map(|at| at.duration_since(NOW).as_secs_f64())
    }

    #[test]
    fn waiting_times_of_providers_are_read() {
        assert_eq!(wait("Rate limit reached. Please try again in 11.054s. Visit us"), Some(11.054));
        assert_eq!(
            wait("You've hit your usage limit. Try again in 2 days 3 hours 5 minutes."),
            Some(183_900.0)
        );
        assert_eq!(wait("Your quota will reset after 3h12m5s."), Some(11_525.0));
        assert_eq!(wait("please try again in 1 hour and 30 minutes"), Some(5_400.0));
        assert_eq!(wait("Claude AI usage limit reached|1751234567"), Some(1_751_234_567.0));
    }

    #[test]
    fn what_names_no_time_that_can_be_read_has_none() {
        for message in [
            "You've hit your limit · resets 2pm (Asia/Shanghai)",
            "try again in a while",
            "try again in 5 moons",
            "x|y",
        ] {
            assert_eq!(wait(message), None, "{message}");
        }
    }

    #[test]
    fn a_failure_without_the_signs_of_a_limit_is_a_failure() {
        assert!(matches!(failure("line 429 does not compile", NOW), Ending::Failed { .. }));
        assert!(matches!(
            failure("exceeded retry limit, last status: 429 Too Many Requests", NOW),
            Ending::RateLimited { resets_at: None, .. }
        ));
    }
}
