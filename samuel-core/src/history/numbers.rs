//! Which events of a record are there, by their numbers.
//!
//! Events are written in their order, each once. Whoever moved lines about lost none of them, so that what comes late is
//! not missing, and what comes once more is told.

use std::ops::RangeInclusive;

/// How many gaps are known one by one.
const MAX_GAPS: usize = 1_000;

/// The numbers of the events that were read.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The highest one.
    last: u64,
    /// What is not there below it.
    gaps: Vec<RangeInclusive<u64>>,
    /// How many are not there in gaps beyond these.
    beyond: u64,
}

impl Numbers {
    /// Takes down the number of an event, and says whether it is there for the first time, as far as that is known.
    pub(super) fn take(&mut self, number: u64) -> bool {
        if number > self.last {
            self.leave_out(self.last.saturating_add(1), number.saturating_sub(1));
            self.last = number;
            return true;
        }
        let Some(place) = self.gaps.iter().position(|gap| gap.contains(&number)) else {
            return self.beyond > 0;
        };
        let (first, last) = self.gaps.remove(place).into_inner();
        self.leave_out(first, number.saturating_sub(1));
        self.leave_out(number.saturating_add(1), last);
        true
    }

    fn leave_out(&mut self, first: u64, last: u64) {
        match first > last {
            true => {}
            false if self.gaps.len() < MAX_GAPS => self.gaps.push(first..=last),
            false => self.beyond = self.beyond.saturating_add(last - first).saturating_add(1),
        }
    }

    /// Says whether the first ones are not there.
    pub(super) fn begins_later(&self) -> bool {
        self.gaps.iter().any(|gap| *gap.start() <= 1)
    }

    /// Counts those that are not there between others.
    pub(super) fn missing(&self) -> u64 {
        let gaps = self.gaps.iter().filter(|gap| *gap.start() > 1);
        let counted = gaps.map(|gap| (gap.end() - gap.start()).saturating_add(1));
        counted.fold(self.beyond, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(numbers: &[u64]) -> (Vec<bool>, bool, u64) {
        let mut read = Numbers::default();
        let news = numbers.iter().map(|number| read.take(*number)).collect();
        (news, read.begins_later(), read.missing())
    }

    #[test]
    fn what_comes_late_is_not_missing_and_what_comes_again_is_no_news() {
        assert_eq!(read(&[1, 2, 5, 6]), (vec![true; 4], false, 2));
        assert_eq!(read(&[1, 3, 2, 4]), (vec![true; 4], false, 0), "two are swapped");
        assert_eq!(read(&[2, 1, 3]), (vec![true; 3], false, 0), "the first two are");
        assert_eq!(read(&[4, 5, 9]), (vec![true; 3], true, 3), "the beginning is gone");
        assert_eq!(read(&[1, 6, 4, 4, 1]), (vec![true, true, true, false, false], false, 3));
        assert_eq!(read(&[u64::MAX, u64::MAX]), (vec![true, false], true, 0));
    }

    #[test]
    fn a_record_with_many_gaps_is_counted_as_well() {
        let odd: Vec<u64> = (0..5_000).map(|number| 2 * number + 1).collect();
        assert_eq!(read(&odd).2, 4_999);
    }
}
