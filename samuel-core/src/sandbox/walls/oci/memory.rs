//! How much memory a container has.

use std::fmt;

/// The least that a container of an agent could do anything with, in bytes. Engines refuse less than 6 MiB.
const LEAST: u64 = 16 << 20;

/// An amount of memory: at least 16 MiB, written as engines take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    text: String,
    bytes: u64,
}

impl Memory {
    /// Reads a whole number with `k`, `m` or `g`, such as `512m`.
    ///
    /// # Errors
    /// Returns what is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let units = [('k', 1 << 10), ('m', 1 << 20), ('g', 1_u64 << 30)];
        let read = units.into_iter().find_map(|(letter, unit)| {
            let digits = text
                .strip_suffix(letter)
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
            digits.parse::<u64>().ok()?.checked_mul(unit)
        });
        let bytes = read.filter(|bytes| *bytes >= LEAST);
        let bytes = bytes.ok_or_else(|| {
            format!("`{text}` is no amount of memory of at least 16m, such as \"512m\" or \"4g\"")
        })?;
        Ok(Self { text: text.to_owned(), bytes })
    }

    /// Returns it as engines take it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns how many bytes it is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_a_unit_and_is_enough_for_a_program() {
        let bytes = |text| Memory::parse(text).map(|memory| memory.bytes()).ok();
        assert_eq!(
            (bytes("512m"), bytes("4g"), bytes("16384k")),
            (Some(512 << 20), Some(4 << 30), Some(16 << 20))
        );
        for bad in ["", "4", "g", "1m", "-1g", "4G", "4 g", "99999999999999999999g", "18446744073709551615g"]
        {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }
}
