//! The settings as prompts know them.

use std::num::NonZeroU32;

use samuel_hook::context::{ConfigVars, ContextLimits, PilotVars};

use super::MethodologySettings;

impl MethodologySettings {
    /// Returns the settings as far as prompts need them, with the name of the agent.
    pub fn vars(&self, agent: &str) -> ConfigVars {
        let pilot = &self.pilot;
        ConfigVars {
            agent: agent.to_owned(),
            max_iterations: self.max_iterations.map(NonZeroU32::get),
            pause_secs: self.pause.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX),
            max_consec_fails: self.max_consecutive_failures,
            quality_checks: self.quality_checks.iter().map(|check| check.command.clone()).collect(),
            pilot: pilot.enabled.then(|| PilotVars {
                discover_interval: pilot.discover_interval,
                max_discovery_tasks: pilot.max_discovery_tasks,
                focus: pilot.focus.clone(),
            }),
            context: ContextLimits {
                max_learnings: self.context.max_learnings,
                max_completed: self.context.max_completed,
                max_progress_lines: self.context.max_progress_lines,
            },
        }
    }
}
