//! Repeated warnings: each text is reported once, and the repetitions are counted.

use std::collections::HashSet;

/// How many texts are remembered. Warnings with further texts are only counted.
const MAX_TEXTS: usize = 100;

/// The warnings that were reported, until the repetitions are taken.
#[derive(Debug, Default)]
pub(super) struct RepeatedWarnings {
    texts: HashSet<String>,
    left_out: u64,
}

impl RepeatedWarnings {
    /// Returns whether a warning is to be reported. If not, counts it.
    pub(super) fn is_new(&mut self, text: &str) -> bool {
        let is_new = self.texts.len() < MAX_TEXTS && self.texts.insert(text.to_owned());
        self.left_out += u64::from(!is_new);
        is_new
    }

    /// Returns how many warnings were not reported, and forgets all texts.
    pub(super) fn take_left_out(&mut self) -> u64 {
        std::mem::take(self).left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_repeated_texts_and_those_beyond_limit() {
        let mut warnings = RepeatedWarnings::default();
        assert_eq!([(); 3].map(|()| warnings.is_new("one")), [true, false, false]);
        let told = (0..1_000).filter(|number| warnings.is_new(&number.to_string())).count();
        assert_eq!((told, warnings.texts.len()), (MAX_TEXTS - 1, MAX_TEXTS));
        assert_eq!((warnings.take_left_out(), warnings.take_left_out()), (2 + 901, 0));
        assert!(warnings.is_new("one"));
    }
}
