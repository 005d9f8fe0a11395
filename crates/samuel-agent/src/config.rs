//! What configuration says about an agent.

use std::{sync::Arc, time::Duration};

use samuel_model::clock::{Clock, SystemClock};

use super::{MutationRoute, Script, adapter::Speaks};

/// The longest time before the end of the wall clock at which its notice comes.
const MAX_NOTICE: Duration = Duration::from_secs(5 * 60);

/// How long an agent that a clock has ended may take to end by itself.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// An agent, as configuration describes it.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The name of the adapter: `claude`, `codex`, `gemini`, `copilot`, `kiro`,
    /// `command` or `scripted`.
    pub name: String,
    /// The program and its first arguments. The agent `command` needs it; for
    /// the others it stands in for their own program, before their own
    /// arguments. Empty means: the adapter's.
    pub command: Vec<String>,
    /// The model that it is to use, for an adapter that takes the name of one. By default the
    /// agent's own choice.
    pub model: Option<String>,
    /// Arguments beside the adapter's own. `{prompt_file}` stands for a file that
    /// holds the prompt, for the agent `command`.
    pub args: Vec<String>,
    /// The deadlines.
    pub clocks: AgentClocks,
    /// What the agent `scripted` does.
    pub script: Option<Script>,
    /// How the agent `scripted` changes tasks.
    pub mutations: MutationRoute,
    /// Where the time comes from. Default the system's clock.
    pub clock: Arc<dyn Clock>,
}

impl AgentConfig {
    /// Describes an agent with the adapter's own program, arguments and
    /// deadlines.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            command: Vec::new(),
            model: None,
            args: Vec::new(),
            clocks: AgentClocks::default(),
            script: None,
            mutations: MutationRoute::default(),
            clock: Arc::new(SystemClock::new()),
        }
    }
}

/// The deadlines of one call of an agent; `[methodology.ralph.clocks]`.
///
/// An absent one has the adapter's default, a zero one is switched off. Any
/// output counts as a sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentClocks {
    /// The longest wait for the first output. Default 60 s; switched off for
    /// agents that may print nothing before their end (`command`, `kiro`).
    pub first_byte: Option<Duration>,
    /// The longest silence after that, and from the start where `first_byte` is switched
    /// off. Default 10 minutes.
    pub idle: Option<Duration>,
    /// How long a program may live on after its final event. Default 10 s.
    pub linger: Option<Duration>,
    /// The longest call. Default 1 hour. A tenth of it before its end, but at
    /// most 5 minutes, comes a notice.
    pub wall: Option<Duration>,
}

impl From<samuel_config::ClockSettings> for AgentClocks {
    /// Takes the clocks of `samuel.toml`. One that has the value it has when
    /// nothing is configured leaves the choice to the adapter.
    fn from(settings: samuel_config::ClockSettings) -> Self {
        let unset = samuel_config::ClockSettings::default();
        let asked = |set: Duration, unset: Duration| Some(set).filter(|set| *set != unset);
        Self {
            first_byte: asked(settings.first_byte, unset.first_byte),
            idle: asked(settings.idle, unset.idle),
            linger: asked(settings.linger, unset.linger),
            wall: asked(settings.wall, unset.wall),
        }
    }
}

/// The deadlines in force, none where one is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadlines {
    pub(super) first_byte: Option<Duration>,
    pub(super) idle: Option<Duration>,
    pub(super) linger: Option<Duration>,
    pub(super) wall: Option<Duration>,
}

impl AgentClocks {
    pub(super) fn resolve(self, speaks: Speaks) -> Deadlines {
        let or = |asked: Option<Duration>, default_secs: u64| {
            Some(asked.unwrap_or(Duration::from_secs(default_secs))).filter(|limit| !limit.is_zero())
        };
        let first_byte = match speaks {
            Speaks::Throughout => or(self.first_byte, 60),
            Speaks::PerhapsLate => or(self.first_byte, 0),
        };
        Deadlines {
            first_byte,
            idle: or(self.idle, 10 * 60),
            linger: or(self.linger, 10),
            wall: or(self.wall, 60 * 60),
        }
    }
}

impl Deadlines {
    /// Returns when the notice comes and how much time is left then.
    pub(super) fn notice(self) -> Option<(Duration, Duration)> {
        let wall = self.wall?;
        let left = (wall / 10).min(MAX_NOTICE);
        Some((wall.saturating_sub(left), left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_speaks_late_is_not_ended_before_its_first_word() {
        let defaults = AgentClocks::default();
        assert_eq!(defaults.resolve(Speaks::Throughout).first_byte, Some(Duration::from_secs(60)));
        assert_eq!(defaults.resolve(Speaks::PerhapsLate).first_byte, None);
        let asked = AgentClocks { first_byte: Some(Duration::from_secs(5)), ..defaults };
        assert_eq!(asked.resolve(Speaks::PerhapsLate).first_byte, Some(Duration::from_secs(5)));
    }

    #[test]
    fn a_zero_clock_is_switched_off() {
        let clocks = AgentClocks { wall: Some(Duration::ZERO), ..AgentClocks::default() };
        assert_eq!(clocks.resolve(Speaks::Throughout).wall, None);
    }

    #[test]
    fn the_notice_comes_a_tenth_but_at_most_five_minutes_before_the_end() {
        let notice =
            |wall| AgentClocks { wall: Some(wall), ..AgentClocks::default() }.resolve(Speaks::Throughout);
        let secs = Duration::from_secs;
        assert_eq!(notice(secs(100)).notice(), Some((secs(90), secs(10))));
        assert_eq!(notice(secs(36_000)).notice(), Some((secs(35_700), secs(300))));
    }
}
