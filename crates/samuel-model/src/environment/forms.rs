//! The forms in which a value can appear in a text: as it is, escaped, encoded, or one line of it.

use std::{fmt::Write as _, iter};

/// The shortest line of a value that is a form of its own, in bytes.
const MIN_LINE: usize = 12;
/// The longest value that is escaped and encoded, in bytes.
const MAX_ENCODED: usize = 4 << 10;
/// The digits of base64.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the forms of a value.
pub(super) fn forms_of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    if value.lines().nth(1).is_some() {
        let lines = value.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE);
        forms.extend(lines.map(str::to_owned));
    }
    if value.len() <= MAX_ENCODED {
        let escaped = json_escaped(value);
        forms.push(json_escaped(&escaped));
        forms.push(escaped);
        forms.push(percent_encoded(value));
        forms.push(value.replace('\'', "'\\''"));
        for before in 0..3 {
            let encoded = base64_within(value, before);
            forms.push(encoded.replace('+', "-").replace('/', "_"));
            forms.push(encoded);
        }
    }
    forms
}

/// Returns a value as it is within a JSON string.
fn json_escaped(value: &str) -> String {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

fn percent_encoded(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Returns the base64 digits of a value that has some bytes before it, without the digits that depend on its
/// neighbors.
fn base64_within(value: &str, before: usize) -> String {
    let mut digits = String::new();
    let (mut pending, mut bits) = (0_usize, 0_u32);
    for byte in iter::repeat_n(0, before).chain(value.bytes()) {
        pending = (pending << 8) | usize::from(byte);
        bits += 8;
        while bits >= 6 {
            bits -= 6;
            digits.extend(DIGITS.get((pending >> bits) & 63).copied().map(char::from));
        }
        pending &= (1_usize << bits) - 1;
    }
    digits.chars().skip((before * 8).div_ceil(6)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_a_value_is_found_at_any_offset() {
        // The base64 of "sk-secret!" after "", "x" and "xy".
        let whole = ["c2stc2VjcmV0IQ==", "eHNrLXNlY3JldCE=", "eHlzay1zZWNyZXQh"];
        for (before, whole) in whole.into_iter().enumerate() {
            let within = base64_within("sk-secret!", before);
            assert!(within.len() >= 12 && whole.contains(&within), "{within} in {whole}");
        }
    }
}
