//! Labels: the words that introduce a task's metadata.
//!
//! `Acceptance:`, `Files to create:`, `Depends on:` and their like, in any
//! case, bold or not, at the start of a line or as a heading of their own.

use super::line::{Line, render};

/// What a labelled line or list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Acceptance,
    Guardrails,
    /// Files of which some may be new.
    Files,
    Create,
    Modify,
    DependsOn,
    /// Tasks to depend on, or anything else.
    Requires,
    Priority,
    Complexity,
}

/// The phrases of each label, in lower case.
const PHRASES: &[(&str, Label)] = &[
    ("acceptance", Label::Acceptance),
    ("acceptance criteria", Label::Acceptance),
    ("acceptance criterion", Label::Acceptance),
    ("acceptance scenarios", Label::Acceptance),
    ("definition of done", Label::Acceptance),
    ("done when", Label::Acceptance),
    ("guardrail", Label::Guardrails),
    ("guardrails", Label::Guardrails),
    ("file", Label::Files),
    ("files", Label::Files),
    ("affected files", Label::Files),
    ("relevant files", Label::Files),
    ("create", Label::Create),
    ("creates", Label::Create),
    ("files to create", Label::Create),
    ("new files", Label::Create),
    ("modify", Label::Modify),
    ("modifies", Label::Modify),
    ("files to modify", Label::Modify),
    ("files to change", Label::Modify),
    ("depends on", Label::DependsOn),
    ("dependency", Label::DependsOn),
    ("dependencies", Label::DependsOn),
    ("blocked by", Label::DependsOn),
    ("requires", Label::Requires),
    ("prerequisite", Label::Requires),
    ("prerequisites", Label::Requires),
    ("priority", Label::Priority),
    ("complexity", Label::Complexity),
];

impl Label {
    /// Returns the label that a whole line or heading is, its colon optional.
    pub(super) fn of_whole(line: &Line) -> Option<Label> {
        let text = render(&line.spans, false);
        Self::of_phrase(text.strip_suffix(':').unwrap_or(&text))
    }

    /// Splits a line such as `Priority: high` into its label and the rest.
    pub(super) fn split(line: &Line) -> Option<(Label, Line)> {
        let colon = line.opening().find(':')?;
        let label = Self::of_phrase(line.opening().get(..colon)?)?;
        Some((label, line.skip(colon + 1)))
    }

    /// Says whether the values are lines of prose.
    pub(super) fn is_prose(self) -> bool {
        matches!(self, Self::Acceptance | Self::Guardrails)
    }

    /// Says whether a list below may hold the values.
    pub(super) fn takes_list(self) -> bool {
        !matches!(self, Self::Priority | Self::Complexity)
    }

    fn of_phrase(phrase: &str) -> Option<Label> {
        let phrase = phrase.trim().to_lowercase();
        PHRASES.iter().find(|(known, _)| *known == phrase).map(|(_, label)| *label)
    }
}
