//! The events of repository hooks.

use crate::hook::HookPoint;

/// When a repository hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// Before a prompt is put together.
    PromptSubmit,
    /// Before an ability is called.
    PreAbilityCall,
    /// After an ability was called.
    PostAbilityCall,
    /// When a session begins.
    SessionStart,
    /// When a session is over.
    SessionEnd,
    /// When a session is about to end.
    SessionStop,
}

impl EventType {
    /// All of them, as their specification lists them.
    pub const ALL: [Self; 6] = [
        Self::PromptSubmit,
        Self::PreAbilityCall,
        Self::PostAbilityCall,
        Self::SessionStart,
        Self::SessionEnd,
        Self::SessionStop,
    ];

    /// Returns the name that hook files, contexts and logs use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PromptSubmit => "PromptSubmit",
            Self::PreAbilityCall => "PreAbilityCall",
            Self::PostAbilityCall => "PostAbilityCall",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::SessionStop => "SessionStop",
        }
    }

    /// Returns the event of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

    /// Returns the hook point that fires it.
    pub fn point(self) -> HookPoint {
        match self {
            Self::PromptSubmit => HookPoint::PromptSubmit,
            Self::PreAbilityCall => HookPoint::AbilityBefore,
            Self::PostAbilityCall => HookPoint::AbilityAfter,
            Self::SessionStart => HookPoint::SessionStart,
            Self::SessionEnd => HookPoint::SessionEnd,
            Self::SessionStop => HookPoint::SessionStop,
        }
    }

    /// Returns the event that a hook point fires, if it fires one.
    pub fn of_point(point: HookPoint) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.point() == point)
    }

    /// Says whether a hook can stop what the event is about.
    pub fn can_block(self) -> bool {
        matches!(self, Self::PromptSubmit | Self::PreAbilityCall | Self::SessionStop)
    }

    /// Says whether the event is about a call of an ability.
    pub fn is_of_ability(self) -> bool {
        matches!(self, Self::PreAbilityCall | Self::PostAbilityCall)
    }

    /// Says whether the event may know which files were changed.
    pub fn has_changed_files(self) -> bool {
        matches!(self, Self::PostAbilityCall | Self::SessionStop)
    }
}
