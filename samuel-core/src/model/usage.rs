//! What agent calls consume.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// Tokens and money one agent call, or a sum of calls, consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct Usage {
    /// Tokens read, those from a cache included.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "input-tokens"))]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "output-tokens"))]
    pub output_tokens: u64,
    /// The part of the tokens read that came from a cache.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "cached-tokens"))]
    pub cached_tokens: u64,
    /// What it cost, in US dollars; absent where the agent does not say.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "cost-usd"))]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Returns the tokens read and written.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or(0.0) + right.unwrap_or(0.0)),
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
}
