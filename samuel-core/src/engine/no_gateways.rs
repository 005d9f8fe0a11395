//! What stands in the place of gateways where this crate is built without the feature `sandbox`: there are none.

use super::frozen::Frozen;
use crate::{agent::Agent, config::SandboxSettings};

/// Returns the environment as it is: no gateway keeps a key of it.
pub(super) fn without_keys(
    env: Vec<(String, String)>,
    _settings: &SandboxSettings,
    _sandbox: &str,
) -> Vec<(String, String)> {
    env
}

/// Returns nothing: no agent has a gateway, or is kept from its host.
pub(super) fn shown_of_provider(_frozen: &Frozen, _agent: &dyn Agent) -> Vec<(&'static str, String)> {
    Vec::new()
}
