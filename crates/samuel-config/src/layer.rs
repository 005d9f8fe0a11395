//! What one source sets of a methodology: a `[methodology.<name>]` table, or
//! the defaults a plugin gives its own methodology.

use serde_json::Value;

use super::{
    MethodologySettings,
    chain::{Chains, read_chains},
    setting::{Field, take},
    table::Table,
};

/// What one source sets of a methodology; the rest it leaves as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodologyLayer {
    settings: Value,
    /// The chains it sets.
    pub hooks: Chains,
}

impl MethodologyLayer {
    /// Reads a methodology's table and reports the keys it does not know.
    pub fn read(mut table: Table<'_>) -> Self {
        let settings = take(&MethodologySettings::rows(), &mut table);
        let hooks = table.take("hooks").map(|value| read_chains(&value)).unwrap_or_default();
        table.finish();
        Self { settings: settings.into(), hooks }
    }

    /// Replaces the settings that the layer sets.
    pub fn apply(&self, settings: &mut MethodologySettings) {
        settings.put(&self.settings);
    }
}
