//! Forms: the ways in which people write tasks down.
//!
//! [`Form`] names them. Each has a [`Reader`] in `forms`, one file each, and
//! [`READERS`] is the table of them: a document is read by the one that is
//! surest that it is its own.

use std::{fmt, str::FromStr};

use serde::Serialize;

use super::content::Content;
use super::draft::Reading;
use super::error::PrdError;
use super::forms::{
    Bmad, Checklist, Headings, Kiro, NumberedList, Openspec, Ralph, Sections, SpecKit, Superpowers, Table,
    TaskMaster, UserStories,
};

/// A way in which a document has its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// The checklists of the companion.
    Companion,
    /// Numbered headings in task sections of the PRD.
    Headings,
    /// The checklists of the PRD.
    Checklist,
    /// The `tasks.md` of GitHub's spec-kit.
    SpecKit,
    /// The `tasks.md` of a Kiro spec.
    Kiro,
    /// The `tasks.md` of an `OpenSpec` change.
    Openspec,
    /// A story or the epics of the BMAD method.
    Bmad,
    /// A plan of Claude Code or of its superpowers.
    Superpowers,
    /// User stories, each a heading.
    UserStories,
    /// Numbered headings in a section of any name.
    Sections,
    /// A table with a row for each task.
    Table,
    /// A numbered list.
    NumberedList,
    /// The `prd.json` of ralph.
    Ralph,
    /// The `tasks.json` of task-master.
    TaskMaster,
    /// Nowhere: there are none.
    None,
}

/// A form, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrdForm {
    /// The form.
    pub form: Form,
    /// What it is called.
    pub name: String,
    /// What a document has that is of this form, one line.
    pub description: String,
}

impl Form {
    /// Every form a document may have, in the order in which they are listed.
    pub const ALL: [Form; 14] = [
        Form::Companion,
        Form::Headings,
        Form::Checklist,
        Form::SpecKit,
        Form::Kiro,
        Form::Openspec,
        Form::Bmad,
        Form::Superpowers,
        Form::UserStories,
        Form::Sections,
        Form::Table,
        Form::NumberedList,
        Form::Ralph,
        Form::TaskMaster,
    ];

    /// Returns what the form is called.
    pub fn name(self) -> &'static str {
        match self {
            Form::Companion => "companion",
            Form::Headings => "headings",
            Form::Checklist => "checklist",
            Form::SpecKit => "spec-kit",
            Form::Kiro => "kiro",
            Form::Openspec => "openspec",
            Form::Bmad => "bmad",
            Form::Superpowers => "superpowers",
            Form::UserStories => "user-stories",
            Form::Sections => "sections",
            Form::Table => "table",
            Form::NumberedList => "numbered-list",
            Form::Ralph => "ralph",
            Form::TaskMaster => "task-master",
            Form::None => "none",
        }
    }

    /// Returns what a document has that is of this form, one line.
    pub fn description(self) -> &'static str {
        match self {
            Form::Companion => "checklists in tasks-<name>.md beside the PRD: - [ ] 1.1 Title",
            Form::Headings => {
                "numbered headings below Tasks, Implementation, Implementation Plan, Steps or Work Items: ### 1.1 Title"
            }
            Form::Checklist => "checklists in the PRD itself: - [ ] 1.1 Title",
            Form::SpecKit => "tasks.md of GitHub spec-kit: - [ ] T001 [P] [US1] Title",
            Form::Kiro => "tasks.md of a Kiro spec: - [ ] 1.1 Title, with _Requirements: 1.1_",
            Form::Openspec => "tasks.md of an OpenSpec change: ## 1. Group above - [ ] 1.1 Title",
            Form::Bmad => "BMAD: a story with Tasks / Subtasks, or epics with ### Story 1.1: Title",
            Form::Superpowers => "plans of Claude Code and superpowers: ### Task 1: Title, with steps below",
            Form::UserStories => "user stories: ### US-001: Title, with acceptance criteria below",
            Form::Sections => "numbered headings below a heading of any name: ### 1. Title",
            Form::Table => "a table with a header row that names a task, title or story",
            Form::NumberedList => "a numbered list: 1. Title",
            Form::Ralph => "prd.json of ralph: userStories with passes",
            Form::TaskMaster => "tasks.json of task-master: tasks with subtasks",
            Form::None => "no tasks",
        }
    }

    /// Returns the form with its name and description.
    pub fn info(self) -> PrdForm {
        PrdForm { form: self, name: self.name().to_owned(), description: self.description().to_owned() }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no form has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown form \"{name}\", expected one of {}", names().join(", "))]
pub struct UnknownForm {
    /// The name.
    pub name: String,
}

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<Self, UnknownForm> {
        let found = Form::ALL.into_iter().find(|form| form.name() == text);
        found.ok_or_else(|| UnknownForm { name: text.to_owned() })
    }
}

fn names() -> Vec<&'static str> {
    Form::ALL.into_iter().map(Form::name).collect()
}

/// Lists the forms that are read.
pub fn forms() -> Vec<PrdForm> {
    Form::ALL.into_iter().map(Form::info).collect()
}

/// How sure a form is that a document is its own, of 100. From
/// [`Confidence::RECOGNISED`] on it is read so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Confidence(pub(super) u8);

impl Confidence {
    /// Nothing in the document is of the form.
    pub(super) const NONE: Confidence = Confidence(0);
    /// From here on a document is of the form.
    pub(super) const RECOGNISED: Confidence = Confidence(50);

    /// Returns this confidence if something is so, or else a hint that grows
    /// with what there is of the form.
    pub(super) fn if_so(self, is_so: bool, hint: u8) -> Confidence {
        if is_so { self } else { Confidence(hint.min(Self::RECOGNISED.0 - 1)) }
    }
}

/// What reads the tasks of one form.
pub(super) trait Reader: Sync {
    /// Returns the form.
    fn form(&self) -> Form;

    /// Says how sure it is that a document is of the form.
    fn recognise(&self, content: &Content<'_>) -> Confidence;

    /// Reads the tasks, and says what is left out.
    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError>;
}

/// What reads the forms of a PRD; of two that are as sure, the first wins.
pub(super) const READERS: &[&dyn Reader] = &[
    &Headings,
    &Checklist,
    &SpecKit,
    &Kiro,
    &Openspec,
    &Bmad,
    &Superpowers,
    &UserStories,
    &Sections,
    &Table,
    &NumberedList,
    &Ralph,
    &TaskMaster,
];
