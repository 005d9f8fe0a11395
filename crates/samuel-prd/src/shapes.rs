//! Shapes: how often a document has the lines that forms are known by.

use std::ops::Range;

use super::block::{Block, Heading, Item};
use super::section;
use super::title::Title;

/// Counts of tell-tale lines.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// Headings that start with an id.
    pub(super) numbered_headings: usize,
    /// Those of them in task sections.
    pub(super) section_headings: usize,
    /// Those of the latter that may be groups, in a document that is one task
    /// section: `## 1. Title`.
    pub(super) group_headings: usize,
    /// Headings such as `Task 1: Title`.
    pub(super) task_headings: usize,
    /// Headings such as `Step 1: Title`.
    pub(super) step_headings: usize,
    /// Headings such as `Phase 1: Title`.
    pub(super) phase_headings: usize,
    /// Headings such as `US-001: Title` or `User Story 1 - Title`.
    pub(super) story_headings: usize,
    /// Headings such as `Epic 1: Title`.
    pub(super) epic_headings: usize,
    /// Headings such as `Tasks / Subtasks`.
    pub(super) subtask_sections: usize,
    /// Headings such as `1. Title` that have items such as `1.1` below.
    pub(super) numbered_groups: usize,
    /// Items with a box, but those below headings such as `Goals`.
    pub(super) boxes: usize,
    /// Those of them in task sections.
    pub(super) section_boxes: usize,
    /// Boxes such as `T001 Title`.
    pub(super) spec_kit_boxes: usize,
    /// Boxes such as `1. Title` or `1.1 Title`.
    pub(super) numbered_boxes: usize,
    /// Boxes such as `[ ]* 1.1 Title`.
    pub(super) optional_boxes: usize,
    /// Boxes, and bold lines, such as `Step 1: Title`.
    pub(super) step_lines: usize,
    /// Items such as `_Requirements: 1.1_` below a box.
    pub(super) requirement_refs: usize,
    /// Whether the first title is that of a plan.
    pub(super) is_plan: bool,
    /// Items without a box or a number.
    pub(super) bullets: usize,
    /// Numbered items that are in no other item, but those below headings such
    /// as `Requirements`.
    pub(super) numbered_items: usize,
    /// Tables whose header names a task.
    pub(super) task_tables: usize,
    /// All tables.
    pub(super) tables: usize,
}

/// What the opening words of a line announce, with the number behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Step,
    Phase,
    Story,
    Epic,
}

/// The words that announce something, in lower case, the longest first.
const WORDS: &[(&str, Word)] = &[
    ("user story", Word::Story),
    ("story", Word::Story),
    ("step", Word::Step),
    ("phase", Word::Phase),
    ("milestone", Word::Phase),
    ("epic", Word::Epic),
];

/// A line that opens with a word and a number: `Step 1: Title`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announced<'t> {
    pub(super) word: Word,
    /// The number, such as `1` or `1.2`.
    pub(super) number: &'t str,
    /// What stands behind it, without the separator.
    pub(super) rest: &'t str,
}

/// Reads a line such as `Step 1: Title` or `US-001: Title`; the number of the
/// latter is `US-001`.
pub(super) fn announced(text: &str) -> Option<Announced<'_>> {
    let text = text.trim_start_matches(|c: char| !c.is_ascii() && !c.is_alphanumeric()).trim_start();
    if let Some((number, rest)) = story_id(text) {
        return Some(Announced { word: Word::Story, number, rest });
    }
    let found = WORDS
        .iter()
        .find(|(word, _)| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
    let (word, kind) = found?;
    let rest = text.get(word.len()..)?;
    let number = rest.strip_prefix(char::is_whitespace)?.trim_start().trim_start_matches('#');
    let end = number.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(number.len());
    let (number, rest) = number.split_at_checked(end)?;
    let number = number.trim_end_matches('.');
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| Announced { word: *kind, number, rest: without_separator(rest) })
}

/// Splits off an id such as `US-001`, `US1` or `STORY-7`.
fn story_id(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('[').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_'))
        .unwrap_or(text.len());
    let (id, rest) = text.split_at_checked(end)?;
    let digits = id.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = id.get(..id.len() - digits.len())?;
    let number = digits.strip_prefix(['-', '_']).unwrap_or(digits);
    let is_id = matches!(letters, "US" | "STORY" | "ST")
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-'));
    is_id.then(|| (id.trim_end_matches('.'), without_separator(rest.strip_prefix(']').unwrap_or(rest))))
}

fn without_separator(text: &str) -> &str {
    text.trim_start_matches(['.', ')']).trim_start().trim_start_matches([':', '-', '–', '—']).trim()
}

/// Says whether an id is one of spec-kit: `T001`, `T002a`.
pub(super) fn is_spec_kit_id(id: &str) -> bool {
    let digits = id.strip_prefix('T').map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    digits.is_some_and(|digits| digits.len() >= 2 && digits.bytes().all(|c| c.is_ascii_digit()))
}

impl Shapes {
    /// Counts the shapes of a document.
    pub(super) fn count(blocks: &[Block], sections: &[Range<usize>]) -> Self {
        let mut counter = Counter::default();
        for (index, block) in blocks.iter().enumerate() {
            let in_section = section::contain(sections, index);
            match block {
                Block::Heading(heading) => counter.heading(heading, in_section),
                Block::List { items, .. } => items.iter().for_each(|item| counter.item(item, in_section, 0)),
                Block::Paragraph { lines, .. } => {
                    let steps = lines.iter().filter(|line| is_step(line.opening()));
                    counter.shapes.step_lines += steps.count();
                }
                Block::Table { rows, .. } => {
                    counter.shapes.tables += 1;
                    let header = rows.first().map(|row| row.cells.as_slice()).unwrap_or_default();
                    let is_tasks = !counter.is_other && super::forms::table_names_tasks(header);
                    counter.shapes.task_tables += usize::from(is_tasks);
                }
                Block::Other { .. } => {}
            }
        }
        counter.shapes
    }
}

fn is_step(text: &str) -> bool {
    announced(text).is_some_and(|found| found.word == Word::Step)
}

#[derive(Default)]
struct Counter {
    shapes: Shapes,
    /// The level of the heading above whose checklists are no tasks.
    other: Option<u8>,
    is_other: bool,
    has_title: bool,
    /// The number of the heading above, if it may be that of a group.
    group: Option<String>,
}

impl Counter {
    fn heading(&mut self, heading: &Heading, in_section: bool) {
        if self.other.is_none_or(|level| heading.level <= level) {
            self.is_other = section::holds_other_checklists(heading);
            self.other = self.is_other.then_some(heading.level);
        }
        let words = heading.line.words();
        let shapes = &mut self.shapes;
        let name = &*heading.title;
        if !self.has_title && heading.level == 1 {
            self.has_title = true;
            shapes.is_plan = name.starts_with("implementation plan") || name.ends_with("implementation plan");
        }
        shapes.subtask_sections += usize::from(matches!(name, "tasks / subtasks" | "tasks/subtasks"));
        match announced(&words).map(|found| found.word) {
            Some(Word::Step) => shapes.step_headings += 1,
            Some(Word::Phase) => shapes.phase_headings += 1,
            Some(Word::Story) => shapes.story_headings += 1,
            Some(Word::Epic) => shapes.epic_headings += 1,
            None => {}
        }
        let title = Title::parse(&words);
        self.group = None;
        let Some(id) = title.id else { return };
        let bracketed = id.as_ref().ok().and_then(|id| announced(id.as_str()));
        shapes.story_headings += usize::from(bracketed.is_some_and(|found| found.word == Word::Story));
        shapes.task_headings += usize::from(title.says_task);
        shapes.numbered_headings += 1;
        let is_group = heading.level == 2 && !title.says_task;
        if in_section && !section::holds_tasks(heading) {
            shapes.section_headings += 1;
            shapes.group_headings += usize::from(is_group);
        }
        if is_group || (heading.level > 1 && !in_section) {
            self.group = id.ok().map(|id| id.as_str().to_owned());
        }
    }

    fn item(&mut self, item: &Item, in_section: bool, depth: usize) {
        let line = item.text().0.first();
        let below = || {
            item.blocks.iter().filter_map(|block| match block {
                Block::List { items, .. } => Some(items),
                _ => None,
            })
        };
        if item.mark.is_none() {
            self.shapes.bullets += usize::from(item.number.is_none());
            let is_top = depth == 0 && !self.is_other;
            self.shapes.numbered_items += usize::from(item.number.is_some() && is_top);
        } else if in_section || !self.is_other {
            let words = line.map(|line| line.words()).unwrap_or_default();
            self.shapes.boxes += 1;
            self.shapes.section_boxes += usize::from(in_section);
            self.shapes.optional_boxes += usize::from(item.is_optional);
            let first = words.split(|c: char| c.is_whitespace() || c == ':').next().unwrap_or_default();
            self.shapes.spec_kit_boxes += usize::from(is_spec_kit_id(first.trim_matches(['[', ']'])));
            self.shapes.step_lines += usize::from(is_step(&words));
            if let Some(Ok(id)) = Title::parse(&words).id {
                self.shapes.numbered_boxes += 1;
                self.numbered_box(id.as_str());
            }
            let refs = below().flatten().filter(|item| is_requirement_ref(item));
            self.shapes.requirement_refs += refs.count();
        }
        for items in below() {
            items.iter().for_each(|item| self.item(item, in_section, depth + 1));
        }
    }

    /// Notes that the heading above is that of a group, if the id is below its.
    fn numbered_box(&mut self, id: &str) {
        let group = self.group.as_deref();
        let is_below =
            group.is_some_and(|group| id.strip_prefix(group).is_some_and(|rest| rest.starts_with('.')));
        if is_below {
            self.shapes.numbered_groups += 1;
            self.group = None;
        }
    }
}

fn is_requirement_ref(item: &Item) -> bool {
    let opening = item.text().0.first().map(|line| line.opening().to_ascii_lowercase()).unwrap_or_default();
    ["requirements:", "requirement:", "validates:"].iter().any(|label| opening.starts_with(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_announces_what_its_number_is_of() {
        let of = |text| announced(text).map(|found| (found.word, found.number, found.rest));
        assert_eq!(of("Step 1: Write it"), Some((Word::Step, "1", "Write it")));
        assert_eq!(of("🎯 Phase 2 - Build"), Some((Word::Phase, "2", "Build")));
        assert_eq!(of("US-001: Log in"), Some((Word::Story, "US-001", "Log in")));
        assert_eq!(of("User Story 3 – Log in"), Some((Word::Story, "3", "Log in")));
        assert_eq!(of("Story 1.2: Log in"), Some((Word::Story, "1.2", "Log in")));
        for text in ["Steps", "Step by step", "USB-3 ports", "Stories 1", "US: states"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn an_id_of_spec_kit_is_a_letter_and_digits() {
        assert!(["T001", "T12", "T002a"].into_iter().all(is_spec_kit_id));
        assert!(!["T1", "T", "TABC", "T-1", "1", "T1b2"].into_iter().any(is_spec_kit_id));
    }
}
