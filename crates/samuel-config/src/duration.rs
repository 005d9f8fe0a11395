//! Durations as people write them: `30s`, `5m`, `1h30m`.

use std::time::Duration;

use samuel_model::text::limit;

/// Text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a duration: {problem}")]
pub struct DurationError {
    /// The text as it was given.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Reads a duration: whole numbers with the units `h`, `m` and `s`, each at
/// most once and in this order.
///
/// # Errors
/// Returns a [`DurationError`] where the text is anything else, or too long a
/// time to count.
///
/// ```
/// use samuel_config::parse_duration;
/// assert_eq!(parse_duration("1h30m")?.as_secs(), 5400);
/// # Ok::<(), samuel_config::DurationError>(())
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    parse_seconds(text)
        .map(Duration::from_secs)
        .map_err(|problem| DurationError { text: super::shorten(text), problem })
}

fn parse_seconds(text: &str) -> Result<u64, &'static str> {
    const UNITS: [(char, u64); 3] = [('h', 3600), ('m', 60), ('s', 1)];
    if text.is_empty() {
        return Err("it is empty");
    }
    let (mut rest, mut total, mut units) = (text, 0_u64, UNITS.iter());
    while !rest.is_empty() {
        let digits =
            rest.find(|c: char| !c.is_ascii_digit()).ok_or("its last number has no unit: h, m or s")?;
        let (number, after) = rest.split_at(digits);
        let unit = after.chars().next().ok_or("its last number has no unit: h, m or s")?;
        if number.is_empty() {
            return Err("a whole number must stand before each unit");
        }
        if !UNITS.iter().any(|(name, _)| *name == unit) {
            return Err("its units are h, m and s");
        }
        let (_, seconds) =
            units.find(|(name, _)| *name == unit).ok_or("h, m and s come in this order, each once")?;
        total = number
            .parse()
            .ok()
            .and_then(|number: u64| number.checked_mul(*seconds))
            .and_then(|part| total.checked_add(part))
            .ok_or("it is too long")?;
        rest = after.split_at(unit.len_utf8()).1;
    }
    Ok(total)
}

/// Writes a duration so that [`parse_duration`] reads it back; parts of a
/// second are left out.
pub fn format_duration(duration: Duration) -> String {
    limit(Duration::from_secs(duration.as_secs()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Result<u64, &'static str> {
        parse_duration(text).map(|duration| duration.as_secs()).map_err(|error| error.problem)
    }

    #[test]
    fn units_add_up() {
        for (text, expected) in
            [("5m", 300), ("30s", 30), ("1h30m", 5400), ("1h1m1s", 3661), ("90m", 5400), ("0s", 0)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_reason() {
        for (text, problem) in [
            ("", "it is empty"),
            ("30", "its last number has no unit: h, m or s"),
            ("1h30", "its last number has no unit: h, m or s"),
            ("m", "a whole number must stand before each unit"),
            ("-1s", "a whole number must stand before each unit"),
            ("5 m", "its units are h, m and s"),
            ("500ms", "a whole number must stand before each unit"),
            ("1.5h", "its units are h, m and s"),
            ("5d", "its units are h, m and s"),
            ("1m1h", "h, m and s come in this order, each once"),
            ("1s1s", "h, m and s come in this order, each once"),
            ("99999999999999999999s", "it is too long"),
            ("18446744073709551615h", "it is too long"),
        ] {
            assert_eq!(seconds(text), Err(problem), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(seconds in 0_u64..=1_000_000_000) {
            let duration = Duration::from_secs(seconds);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse_duration(&text);
        }
    }
}
