//! Times of day as people read them.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use samuel_core::state::Holder;

use super::safe;

/// How long a time of day to the second is, without its distance from UTC.
const UTC_LENGTH: usize = 19;

/// Writes a time of day to the second, as clocks show it where the command runs,
/// with its distance from UTC.
pub(crate) fn time_of_day(moment: Timestamp) -> String {
    in_zone(moment, TimeZone::system())
}

/// Writes a time of day in a text of the library, which knows no place, as
/// [`time_of_day`] does.
pub(crate) fn with_local_time(text: &str) -> String {
    with_time_in(text, TimeZone::system())
}

fn with_time_in(text: &str, zone: TimeZone) -> String {
    let local = || {
        let (before, after) = text.split_once(" UTC")?;
        let (before, moment) = before.split_at_checked(before.len().checked_sub(UTC_LENGTH)?)?;
        let moment = DateTime::strptime("%Y-%m-%d %H:%M:%S", moment).ok()?;
        let moment = moment.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Some(format!("{before}{}{after}", in_zone(moment, zone)))
    };
    local().unwrap_or_else(|| text.to_owned())
}

fn in_zone(moment: Timestamp, zone: TimeZone) -> String {
    moment.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// Says who holds a lock, and since when.
pub(crate) fn holder_text(holder: &Holder) -> String {
    let of = holder.methodology.as_deref().map(|name| format!(" of {}", safe(name))).unwrap_or_default();
    format!("process {} ({}{of}, since {})", holder.pid, safe(&holder.doing), time_of_day(holder.since))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_time_has_seconds_and_the_offset_of_the_place() {
        let moment: Timestamp = "2026-11-21T23:30:00.123456789Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(19_800).unwrap());
        assert_eq!(in_zone(moment, zone), "2026-11-22 05:00:00 +05:30");
        assert_eq!(in_zone(moment, TimeZone::UTC), "2026-11-21 23:30:00 +00:00");
    }

    #[test]
    fn a_time_in_a_text_becomes_that_of_the_place() {
        let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(-3_600).unwrap());
        for (text, expected) in [
            (
                "it lasts until 2026-11-21 00:30:00 UTC, at least",
                "it lasts until 2026-11-20 23:30:00 -01:00, at least",
            ),
            ("no time UTC", "no time UTC"),
            ("übermorgen um acht UTC", "übermorgen um acht UTC"),
            ("2026-13-41 00:30:00 UTC", "2026-13-41 00:30:00 UTC"),
            ("none", "none"),
        ] {
            assert_eq!(with_time_in(text, zone.clone()), expected);
        }
    }
}
