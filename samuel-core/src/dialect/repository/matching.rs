//! Which events a repository hook is for.

use super::{EventType, patterns::Patterns};

/// The conditions of a hook, all of which must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Matching {
    /// The abilities by their ids.
    pub(super) ability_scope: Option<Patterns>,
    /// How long a call took at least, in milliseconds.
    pub(super) min_duration_ms: u64,
    /// Paths, one of which was changed.
    pub(super) only_if_changed_paths: Option<Patterns>,
}

/// What an event says of the things that conditions are about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts<'a> {
    /// The ability, of an event that is about one.
    pub(super) ability_id: Option<&'a str>,
    /// How long it took, in milliseconds, where that is known.
    pub(super) duration_ms: Option<u64>,
    /// The files that were changed, where that is known.
    pub(super) changed_files: Option<&'a [String]>,
}

impl Matching {
    /// Says whether an event is one of those that a hook is for. What the event knows nothing of
    /// holds; but a call of unknown duration is not a long one.
    pub(super) fn matches(&self, event_type: EventType, facts: &Facts<'_>) -> bool {
        let of_ability = self.ability_scope.as_ref().zip(facts.ability_id);
        let of_files = self.only_if_changed_paths.as_ref().zip(facts.changed_files);
        let is_long = match event_type {
            EventType::PostAbilityCall => facts.duration_ms.unwrap_or_default() >= self.min_duration_ms,
            _ => true,
        };
        is_long
            && of_ability.is_none_or(|(scope, id)| scope.matches(id))
            && of_files.is_none_or(|(paths, files)| files.iter().any(|file| paths.matches(file)))
    }

    /// Says in a few words which events these are; nothing where it is all of them.
    pub(super) fn summary(&self, event_type: EventType) -> String {
        let mut parts = Vec::new();
        match &self.ability_scope {
            Some(scope) => parts.push(format!("ability_scope={}", scope.joined())),
            None if event_type.is_of_ability() => parts.push("ability_scope=*".to_owned()),
            None => {}
        }
        if self.min_duration_ms > 0 {
            parts.push(format!("min_duration_ms={}", self.min_duration_ms));
        }
        parts.extend(
            self.only_if_changed_paths.as_ref().map(|paths| format!("changed_paths={}", paths.joined())),
        );
        parts.join(" ")
    }
}
