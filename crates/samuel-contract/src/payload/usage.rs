//! What agent calls consume.

use std::ops::AddAssign;

use super::Usage;

/// The highest cost that is counted, in US dollars: what is more is this much.
const MAX_COST: f64 = 1e9;

impl Usage {
    /// Returns the tokens read and written.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns what this is more than a part of it.
    pub fn beyond(&self, part: &Usage) -> Usage {
        let cost = self.cost_usd.map(|cost| (cost - part.cost_usd.unwrap_or(0.0)).max(0.0));
        Usage {
            input_tokens: self.input_tokens.saturating_sub(part.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(part.output_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(part.cached_tokens),
            cost_usd: cost,
        }
    }

    /// Takes a cost that is no amount of money for unknown, and returns it.
    /// A negative one would pay for what others cost, and one that is no number
    /// would make every sum none for good. One beyond a billion dollars counts as that.
    pub fn take_bad_cost(&mut self) -> Option<f64> {
        let bad = self.cost_usd.take_if(|cost| !is_amount(*cost));
        self.cost_usd = self.cost_usd.map(|cost| cost.min(MAX_COST));
        bad
    }
}

/// Says whether a number can be a cost: finite and not below zero.
fn is_amount(cost: f64) -> bool {
    cost.is_finite() && cost >= 0.0
}

/// Adds two costs, of which only amounts count, up to a billion dollars.
pub fn add_cost(sum: f64, cost: f64) -> f64 {
    let amount = |cost: f64| if is_amount(cost) { cost } else { 0.0 };
    (amount(sum) + amount(cost)).min(MAX_COST)
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        let known = |cost: Option<f64>| cost.filter(|cost| is_amount(*cost));
        self.cost_usd = match (known(self.cost_usd), known(other.cost_usd)) {
            (None, None) => None,
            (left, right) => Some(add_cost(left.unwrap_or(0.0), right.unwrap_or(0.0))),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_cost_stays_unknown_until_one_is_known() {
        let mut sum = Usage::default();
        sum += Usage { input_tokens: 3, ..Usage::default() };
        assert_eq!(sum.cost_usd, None);
        sum += Usage { output_tokens: 2, cost_usd: Some(0.5), ..Usage::default() };
        assert_eq!((sum.tokens(), sum.cost_usd), (5, Some(0.5)));
    }

    #[test]
    fn no_cost_makes_a_sum_smaller_or_none() {
        let cost = |cost| Usage { cost_usd: Some(cost), ..Usage::default() };
        let mut sum = cost(0.5);
        for bad in [-1.0, -0.001, f64::NEG_INFINITY, f64::NAN, f64::INFINITY] {
            assert_eq!(cost(bad).take_bad_cost().map(f64::to_bits), Some(bad.to_bits()));
            sum += cost(bad);
            assert_eq!(sum.cost_usd, Some(0.5), "{bad}");
        }
        let mut unknown = Usage::default();
        unknown += cost(-1.0);
        assert_eq!(unknown.cost_usd, None, "it is unknown, and not nothing");
        assert_eq!(cost(0.0).take_bad_cost(), None);
        let mut vast = cost(1e308);
        assert_eq!((vast.take_bad_cost(), vast.cost_usd), (None, Some(MAX_COST)));
        sum += cost(f64::MAX);
        sum += cost(f64::MAX);
        assert_eq!(sum.cost_usd, Some(MAX_COST));
        sum += Usage { input_tokens: u64::MAX, output_tokens: 7, ..Usage::default() };
        assert_eq!(sum.tokens(), u64::MAX);
    }
}
