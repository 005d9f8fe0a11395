//! When a plan may be done, by what iterations took.

use serde::Serialize;

/// How many iterations there must be before anything is said.
const MIN_ITERATIONS: usize = 4;

/// How much longer a plan may take: an interval, or why none can be given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Eta {
    /// How many tasks are left that a loop works on.
    pub tasks: usize,
    /// How many iterations it rests on.
    pub iterations: usize,
    /// How long it takes if every iteration takes as long as the first quartile, in milliseconds.
    pub low_ms: Option<u64>,
    /// The same with the third quartile.
    pub high_ms: Option<u64>,
    /// Why there is no interval, where there is none.
    pub unknown: Option<String>,
}

impl Eta {
    /// Estimates it of so many tasks that are left, by the time that past iterations took, in
    /// milliseconds, and the number of tasks that they completed.
    pub fn of(tasks: usize, mut took: Vec<u64>, completed: usize) -> Self {
        let iterations = took.len();
        let eta = Self { tasks, iterations, ..Self::default() };
        if tasks == 0 {
            return Self { low_ms: Some(0), high_ms: Some(0), ..eta };
        }
        let unknown = |why: &str| Self { unknown: Some(why.to_owned()), ..eta.clone() };
        if iterations < MIN_ITERATIONS {
            return unknown(&format!(
                "there are too few iterations to tell: {iterations} of {MIN_ITERATIONS}"
            ));
        }
        if completed == 0 {
            return unknown("no iteration has completed a task so far");
        }
        took.sort_unstable();
        let per_task = |quartile: u64| {
            // As many iterations a task as there were so far.
            let all = u128::from(quartile).saturating_mul(tasks as u128).saturating_mul(iterations as u128)
                / completed as u128;
            u64::try_from(all).unwrap_or(u64::MAX)
        };
        Self {
            low_ms: Some(per_task(quantile(&took, 1))),
            high_ms: Some(per_task(quantile(&took, 3))),
            ..eta
        }
    }
}

/// Returns a quartile of sorted figures.
fn quantile(sorted: &[u64], quarter: usize) -> u64 {
    let place = (sorted.len().saturating_sub(1)) * quarter;
    let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
    let (low, high) = (at(place / 4), at(place.div_ceil(4)));
    // Times are those of a record, which may hold any.
    let beyond = u128::from(high.saturating_sub(low)) * (place % 4) as u128 / 4;
    low.saturating_add(u64::try_from(beyond).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_comes_of_the_quartiles_and_of_how_many_iterations_a_task_took() {
        let eta = Eta::of(3, vec![400, 100, 300, 200, 500], 5);
        assert_eq!((eta.low_ms, eta.high_ms, eta.unknown), (Some(600), Some(1_200), None));
        // Two iterations a task take twice as long.
        let eta = Eta::of(3, vec![100, 100, 100, 100], 2);
        assert_eq!((eta.low_ms, eta.high_ms), (Some(600), Some(600)));
        assert_eq!(quantile(&[0, 10], 1), 2);
    }

    #[test]
    fn where_it_cannot_be_told_that_is_said() {
        let few = Eta::of(3, vec![1, 2, 3], 3);
        assert_eq!(
            (few.low_ms, few.unknown.as_deref()),
            (None, Some("there are too few iterations to tell: 3 of 4"))
        );
        assert_eq!(
            Eta::of(3, vec![1; 9], 0).unknown.as_deref(),
            Some("no iteration has completed a task so far")
        );
        assert_eq!(Eta::of(0, Vec::new(), 0).high_ms, Some(0));
        let vast = Eta::of(usize::MAX, vec![u64::MAX; 4], 1);
        assert_eq!(vast.high_ms, Some(u64::MAX));
        let forged = Eta::of(1, vec![0, 0, u64::MAX, u64::MAX], 4);
        assert_eq!(forged.high_ms, Some(u64::MAX));
        assert_eq!(quantile(&[0, u64::MAX], 3), u64::MAX / 4 * 3 + 2);
    }
}
