//! Times of day as people read them.

use jiff::{Timestamp, tz::TimeZone};
use samuel_core::state::Holder;

use super::safe;

/// Writes a time of day to the second, as clocks show it where the command runs,
/// with its distance from UTC.
pub(crate) fn time_of_day(moment: Timestamp) -> String {
    in_zone(moment, TimeZone::system())
}

fn in_zone(moment: Timestamp, zone: TimeZone) -> String {
    moment.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// Says who holds a lock, and since when.
pub(crate) fn holder_text(holder: &Holder) -> String {
    format!("process {} ({}, since {})", holder.pid, safe(&holder.doing), time_of_day(holder.since))
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
}
