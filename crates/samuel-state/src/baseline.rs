//! What the PRD said when the plan last followed it.
//!
//! A plan is compared with a changed PRD field by field, and which side changed a field
//! shows only beside what both said before. [`Baseline`] has that, as a digest of each
//! field of each task of the PRD: enough to tell a change, 100 bytes a task, and in
//! `prd.toon` itself, so that it comes back with a plan that is put back. Whoever edits
//! the plan, through the store or past it, leaves it alone.

use std::collections::BTreeMap;

use serde_json::json;
use sha2::{Digest, Sha256};

use samuel_model::{Plan, PlanHeader, Source, Task, TaskId, hex};

/// A field of a task that a PRD fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Title,
    Description,
    Priority,
    Complexity,
    Parent,
    DependsOn,
    FilesToCreate,
    FilesToModify,
    Guardrails,
    Acceptance,
}

impl Field {
    /// All of them, in the order in which a row has their digests.
    pub(super) const ALL: [Self; 10] = [
        Self::Title,
        Self::Description,
        Self::Priority,
        Self::Complexity,
        Self::Parent,
        Self::DependsOn,
        Self::FilesToCreate,
        Self::FilesToModify,
        Self::Guardrails,
        Self::Acceptance,
    ];

    fn digest_in(self, task: &Task) -> String {
        let value = match self {
            Self::Title => return Said::title_of(&task.title),
            Self::Description => json!(task.description),
            Self::Priority => json!(task.priority),
            Self::Complexity => json!(task.complexity),
            Self::Parent => json!(task.parent_id),
            Self::DependsOn => json!(task.depends_on),
            Self::FilesToCreate => json!(task.files_to_create),
            Self::FilesToModify => json!(task.files_to_modify),
            Self::Guardrails => json!(task.guardrails),
            Self::Acceptance => json!(task.acceptance),
        };
        digest(&value, DIGITS)
    }
}

/// How many hexadecimal digits tell a version of a field from others: 32 bits, so of
/// 4,294,967,296 edits one is taken for none, and follows the PRD.
const DIGITS: usize = 8;
/// How many did so in earlier plans, whose rows are read as far as they go.
const EARLIER_DIGITS: usize = 4;
/// How many tell a title from those of all other tasks, by which tasks are found.
const TITLE_DIGITS: usize = 12;

fn digest(value: &serde_json::Value, digits: usize) -> String {
    let mut text = hex(&Sha256::digest(value.to_string()));
    text.truncate(digits);
    text
}

/// What was said of one task: the digests of its fields, and behind them the
/// [identity](Self::identity_of) of the task of the PRD that said it, where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said(String);

impl Said {
    pub(super) fn of(task: &Task) -> Self {
        Self(Field::ALL.into_iter().map(|field| field.digest_in(task)).collect())
    }

    /// Returns what tells a task of a PRD from all others that any PRD had: the digest of its
    /// id and its title there, whatever they are in the plan.
    pub(super) fn identity_of(task: &Task) -> String {
        digest(&json!([task.id, task.title]), TITLE_DIGITS)
    }

    /// Returns the digest of a title.
    pub(super) fn title_of(title: &str) -> String {
        digest(&json!(title), TITLE_DIGITS)
    }

    /// Returns the digest of the title.
    pub(super) fn title(&self) -> &str {
        self.field(Field::Title, 0)
    }

    /// Says whether another version has the same in a field.
    pub(super) fn agrees(&self, other: &Self, field: Field) -> bool {
        let digits = self.digits().min(other.digits());
        self.field(field, digits) == other.field(field, digits)
    }

    /// Returns how long a row of a task is with so many digits a field.
    const fn len_with(digits: usize) -> usize {
        TITLE_DIGITS + (Field::ALL.len() - 1) * digits
    }

    /// Returns how many digits it has of each field but the title.
    fn digits(&self) -> usize {
        if self.0.len() < Self::len_with(DIGITS) { EARLIER_DIGITS } else { DIGITS }
    }

    /// Returns this version, as a task of the PRD said it.
    pub(super) fn by(&self, identity: &str) -> Self {
        let fields = self.0.get(..Self::len_with(self.digits())).unwrap_or_default();
        Self(format!("{fields}{identity}"))
    }

    /// Returns which task of the PRD said it; nothing of earlier plans.
    pub(super) fn identity(&self) -> Option<&str> {
        self.0.get(Self::len_with(self.digits())..).filter(|identity| !identity.is_empty())
    }

    /// Returns the first digits of a field, all of a title.
    fn field(&self, field: Field, digits: usize) -> &str {
        let range = match field as usize {
            0 => 0..TITLE_DIGITS,
            place => {
                let start = TITLE_DIGITS + (place - 1) * self.digits();
                start..start + digits
            }
        };
        self.0.get(range).unwrap_or_default()
    }

    /// Returns this version, with what another has in some fields.
    pub(super) fn with(&self, other: &Self, takes: impl Fn(Field) -> bool) -> Self {
        let digits = self.digits().min(other.digits());
        let of = |field| if takes(field) { other } else { self }.field(field, digits);
        Self(Field::ALL.into_iter().map(of).collect())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a PRD said: of each of its tasks, by the id it has in the plan, and of the project.
///
/// Beside it stands which task of the PRD said it, so that the next update finds the same
/// task for it again: one that was edited, numbered otherwise or removed in the plan too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Baseline(BTreeMap<TaskId, Said>);

/// Stands for the project among the ids of tasks.
const PROJECT: &str = "project:";

impl Baseline {
    /// Reads what [`to_text`](Self::to_text) wrote. What cannot be read was not said.
    pub(super) fn parse(text: &str) -> Self {
        let row = |row: &str| {
            let (id, digits) = row.rsplit_once('=')?;
            let is_whole = digits.is_ascii()
                && match id {
                    PROJECT => digits.len() == TITLE_DIGITS,
                    _ => [DIGITS, EARLIER_DIGITS]
                        .map(Said::len_with)
                        .into_iter()
                        .any(|length| [length, length + TITLE_DIGITS].contains(&digits.len())),
                };
            is_whole.then(|| (TaskId::new(id), Said(digits.to_owned())))
        };
        Self(text.split_whitespace().filter_map(row).collect())
    }

    pub(super) fn to_text(&self) -> String {
        let rows: Vec<String> = self.0.iter().map(|(id, Said(digits))| format!("{id}={digits}")).collect();
        rows.join(" ")
    }

    /// Returns what is said of a task.
    pub(super) fn task(&self, id: &TaskId) -> Option<&Said> {
        self.0.get(id)
    }

    /// Returns the tasks that the PRD had.
    pub(super) fn tasks(&self) -> impl Iterator<Item = (&TaskId, &Said)> {
        self.0.iter().filter(|(id, _)| id.as_str() != PROJECT)
    }

    pub(super) fn insert(&mut self, id: TaskId, said: Said) {
        self.0.insert(id, said);
    }

    pub(super) fn insert_project(&mut self, project: &PlanHeader) {
        self.0.insert(TaskId::new(PROJECT), of_project(project));
    }

    /// Says whether the PRD said something else of the project; unknown, it did.
    pub(super) fn is_other_project(&self, project: &PlanHeader) -> bool {
        self.0.get(&TaskId::new(PROJECT)) != Some(&of_project(project))
    }

    /// Returns what makes another one of this: rows that are new or different, and
    /// nothing for those that go.
    pub(super) fn difference(&self, to: &Self) -> BTreeMap<TaskId, Option<String>> {
        let gone = self.0.keys().filter(|id| !to.0.contains_key(id)).map(|id| (id.clone(), None));
        let new = to.0.iter().filter(|(id, said)| self.0.get(id) != Some(said));
        gone.chain(new.map(|(id, Said(digits))| (id.clone(), Some(digits.clone())))).collect()
    }

    /// Changes the text of a plan by a [difference](Self::difference).
    pub(super) fn change(text: &mut String, difference: &BTreeMap<TaskId, Option<String>>) {
        if difference.is_empty() {
            return;
        }
        let Self(mut rows) = Self::parse(text);
        for (id, digits) in difference {
            match digits {
                Some(digits) => drop(rows.insert(id.clone(), Said(digits.clone()))),
                None => drop(rows.remove(id)),
            }
        }
        *text = Self(rows).to_text();
    }
}

fn of_project(project: &PlanHeader) -> Said {
    Said(digest(&json!([project.name, project.description]), TITLE_DIGITS))
}

/// Notes in a plan that it says what its PRD says: that of each task whose
/// [source](Task::source) that is, and of the project. A plan that a project makes of
/// a conversion has it.
pub fn set_baseline(plan: &mut Plan) {
    let mut baseline = Baseline::default();
    for task in plan.tasks.iter().filter(|task| task.source == Source::Prd) {
        baseline.insert(task.id.clone(), Said::of(task).by(&Said::identity_of(task)));
    }
    baseline.insert_project(&plan.project);
    plan.baseline = baseline.to_text();
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn said(description: &str) -> Said {
        Said::of(&Task { description: description.to_owned(), ..Task::new(TaskId::new("1"), "t") })
    }

    /// Returns the row that an earlier version wrote.
    fn earlier(said: &Said) -> Said {
        Said(Field::ALL.into_iter().map(|field| said.field(field, EARLIER_DIGITS)).collect())
    }

    #[test]
    fn two_versions_of_a_field_differ_although_the_first_digits_of_their_digests_do_not() {
        let mut seen = HashMap::new();
        let alike = (0..10_000).map(|number| said(&number.to_string())).find_map(|now| {
            let start = now.field(Field::Description, EARLIER_DIGITS).to_owned();
            seen.insert(start, now.clone()).map(|before| (before, now))
        });
        let (before, now) = alike.expect("of ten thousand two begin alike");
        assert!(!now.agrees(&before, Field::Description));
        assert!(now.agrees(&earlier(&before), Field::Description), "it cannot be told");
    }

    #[test]
    fn a_row_of_an_earlier_plan_is_read_as_far_as_it_goes() {
        let (before, now) = (said("before"), said("now"));
        let text = format!("1={}", earlier(&before).as_str());
        let baseline = Baseline::parse(&text);
        let read = baseline.task(&TaskId::new("1")).expect("the row can be read");
        assert_eq!(read.title(), before.title());
        assert!(Field::ALL.into_iter().all(|field| before.agrees(read, field)));
        let differ: Vec<Field> = Field::ALL.into_iter().filter(|field| !now.agrees(read, *field)).collect();
        assert_eq!(differ, [Field::Description]);
        let mixed = now.with(read, |field| field == Field::Description);
        assert!(Field::ALL.into_iter().all(|field| before.agrees(&mixed, field)));
    }
}
