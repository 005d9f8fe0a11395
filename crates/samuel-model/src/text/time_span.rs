//! Lengths of time: what was measured, and what was set.

use std::time::Duration;

/// Writes how long something took: `0.3ms`, `412ms`, `12.3s`, `2m 05s`, `1h 02m`. What is not written is cut off, so
/// that nothing looks longer than it was.
pub fn lasting(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.as_millis() < 10 => {
            format!("{}.{}ms", duration.as_millis(), duration.as_micros() % 1_000 / 100)
        }
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{seconds}.{}s", duration.subsec_millis() / 100),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Writes a limit as it is set: `0.5s`, `30s`, `5m`, `1h30m`.
pub fn limit(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if duration.subsec_millis() > 0 {
        return format!("{:.1}s", duration.as_secs_f64());
    }
    if seconds == 0 {
        return "0s".to_owned();
    }
    let parts = [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    parts.iter().filter(|(number, _)| *number > 0).map(|(number, unit)| format!("{number}{unit}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_reads_well_at_any_length() {
        for (micros, expected) in [
            (0, "0.0ms"),
            (340, "0.3ms"),
            (9_999, "9.9ms"),
            (10_000, "10ms"),
            (450_999, "450ms"),
            (999_999, "999ms"),
            (1_000_000, "1.0s"),
            (59_990_000, "59.9s"),
            (125_000_000, "2m 05s"),
            (3_725_000_000, "1h 02m"),
        ] {
            assert_eq!(lasting(Duration::from_micros(micros)), expected);
        }
    }

    #[test]
    fn a_limit_reads_as_it_is_set() {
        for (ms, expected) in [(0, "0s"), (300, "0.3s"), (1_500, "1.5s"), (30_000, "30s"), (300_000, "5m")] {
            assert_eq!(limit(Duration::from_millis(ms)), expected);
        }
        assert_eq!(limit(Duration::from_secs(5_430)), "1h30m30s");
    }
}
