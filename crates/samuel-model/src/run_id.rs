//! What ids of runs look like.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// Says whether a name is the id of a run: when it began, to the second, and what tells it from others.
pub fn is_run_id(name: &str) -> bool {
    let Some((time, random)) = name.split_once('-') else { return false };
    let is_time = time.len() == "20261121T100000Z".len()
        && time.chars().enumerate().all(|(place, c)| match place {
            8 => c == 'T',
            15 => c == 'Z',
            _ => c.is_ascii_digit(),
        });
    is_time && !random.is_empty() && random.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Returns when a run began, to the second, by its id; nothing for a name that is none.
pub fn began_at(run: &str) -> Option<Timestamp> {
    let (time, _) = run.split_once('-').filter(|_| is_run_id(run))?;
    let time = DateTime::strptime("%Y%m%dT%H%M%SZ", time).ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_time_and_what_tells_it_from_others() {
        assert!(is_run_id("20261121T100000Z-0a1b2c3d"));
        let began = began_at("20261121T100000Z-0a1b2c3d").map(|at| at.to_string());
        assert_eq!(began.as_deref(), Some("2026-11-21T10:00:00Z"));
        assert_eq!(began_at("20261341T100000Z-0a1b2c3d"), None, "there is no such day");
        for name in
            ["", "login-fix", "20261121T100000Z", "20261121T100000Z-", "20261121T100000Z-a/b", "run-1"]
        {
            assert!(!is_run_id(name) && began_at(name).is_none(), "{name}");
        }
    }
}
