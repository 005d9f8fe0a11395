//! Hosts that were asked for in vain, each told of once.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// How many are told of; a command could make up any number.
const MAX_TOLD: usize = 50;

/// What was refused, and what of it nobody was told of yet.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    told: BTreeSet<(String, String)>,
    untold: Vec<String>,
}

impl Refusals {
    /// Notes a host and why it was not reached; a second time for the same reason it is not noted.
    pub(super) fn note(&self, host: &str, why: &str) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.told.len() < MAX_TOLD && noted.told.insert((host.to_owned(), why.to_owned())) {
            noted.untold.push(format!("{host} was not reached from the sandbox: {why}"));
        }
    }

    /// Returns what nobody was told of yet.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut noted.untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_of_once_and_no_more_than_fit() {
        let refusals = Refusals::default();
        refusals.note("a.example", "it is not listed");
        refusals.note("a.example", "it is not listed");
        assert_eq!(refusals.take(), ["a.example was not reached from the sandbox: it is not listed"]);
        refusals.note("a.example", "it is not listed");
        assert!(refusals.take().is_empty());
        (0..100).for_each(|n| refusals.note(&format!("{n}.example"), "it is not listed"));
        assert_eq!(refusals.take().len(), MAX_TOLD - 1);
    }
}
