//! What the calls of one agent consumed together.

use serde::{Deserialize, Serialize};

use super::Usage;

/// What the calls of one agent consumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentTotal {
    /// The agent's name.
    pub agent: String,
    /// What they consumed.
    pub usage: Usage,
}

/// Names an agent with its model, where it has one: `claude (opus)`.
pub fn with_model(agent: &str, model: Option<&str>) -> String {
    match model {
        Some(model) => format!("{agent} ({model})"),
        None => agent.to_owned(),
    }
}
