//! Sections: which headings of a PRD have tasks below them.

use std::ops::Range;

use super::block::{Block, Heading};
use super::line::Line;
use super::title::Title;

/// The titles of task sections, in lower case.
pub(super) const TITLES: &[&str] = &["tasks", "implementation", "implementation plan", "steps", "work items"];

/// Titles of sections whose checklists are no tasks, in lower case.
const OTHER_CHECKLISTS: &[&str] = &[
    "acceptance",
    "acceptance criteria",
    "definition of done",
    "goals",
    "guardrails",
    "non-goals",
    "open questions",
    "out of scope",
    "references",
    "requirements",
    "success criteria",
    "success metrics",
];

/// Titles of sections that are about the whole, in lower case. A document may
/// have one of them as its own title.
const ABOUT_THE_WHOLE: &[&str] = &[
    "constraints",
    "functional requirements",
    "non-functional requirements",
    "notes",
    "prerequisites",
    "risks",
];

/// Titles of sections that describe the project, in lower case.
const OVERVIEWS: &[&str] = &["overview", "summary", "introduction", "description", "executive summary"];

/// What a section is about, by its title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Tasks,
    OtherChecklists,
    TheWhole,
    Overview,
}

/// Says what a section with a [title](title()) is about.
pub(super) fn known(title: &str) -> Option<Known> {
    let lists = [
        (TITLES, Known::Tasks),
        (OTHER_CHECKLISTS, Known::OtherChecklists),
        (ABOUT_THE_WHOLE, Known::TheWhole),
        (OVERVIEWS, Known::Overview),
    ];
    lists.into_iter().find(|(titles, _)| titles.contains(&title)).map(|(_, known)| known)
}

/// Says whether a heading opens a task section.
pub(super) fn holds_tasks(heading: &Heading) -> bool {
    heading.known == Some(Known::Tasks)
}

/// Says whether a heading opens a plan, such as `Implementation plan for the cache`.
pub(super) fn is_plan(heading: &Heading) -> bool {
    let title = &heading.title;
    let rest = title.strip_prefix("implementation plan").or_else(|| title.strip_prefix("plan"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':', '-', '–', '—']))
        || title.ends_with(" implementation plan")
}

/// Says whether a checklist below a heading is something else than tasks.
pub(super) fn holds_other_checklists(heading: &Heading) -> bool {
    match heading.known {
        Some(Known::OtherChecklists) => true,
        Some(Known::TheWhole) => heading.level > 1,
        _ => false,
    }
}

/// Says whether a heading opens a description of the project.
pub(super) fn is_overview(heading: &Heading) -> bool {
    heading.known == Some(Known::Overview)
}

/// Says whether a heading is known to be about something else than one task.
pub(super) fn is_of_another_kind(heading: &Heading) -> bool {
    holds_tasks(heading) || is_about_the_whole(heading)
}

/// Says whether a heading is known to be about the whole document.
pub(super) fn is_about_the_whole(heading: &Heading) -> bool {
    holds_other_checklists(heading) || is_overview(heading)
}

/// Returns the blocks that are not below a heading such as `Open questions`.
pub(super) fn outside_other_checklists(blocks: &[Block]) -> impl Iterator<Item = &Block> {
    let mut other: Option<u8> = None;
    blocks.iter().filter(move |block| {
        if let Block::Heading(heading) = block
            && other.is_none_or(|level| heading.level <= level)
        {
            other = holds_other_checklists(heading).then_some(heading.level);
        }
        other.is_none()
    })
}

/// Finds the task sections: for each the blocks below its heading, by index.
///
/// A section ends at the next heading of its level or above, unless that one
/// says `Task` itself. A document titled `Implementation Plan` that has a task
/// section is no section as a whole.
pub(super) fn find(blocks: &[Block]) -> Vec<Range<usize>> {
    let mut sections = Vec::new();
    let mut open: Option<(u8, usize)> = None;
    for (index, block) in blocks.iter().enumerate() {
        let Block::Heading(heading) = block else { continue };
        let opens = holds_tasks(heading);
        match open {
            Some((level, start)) if heading.level <= level => {
                let title = Title::of(&heading.line, None);
                if opens || !(title.says_task && title.id.is_some()) {
                    sections.push(start..index);
                    open = opens.then_some((heading.level, index + 1));
                }
            }
            Some((1, _)) | None if opens => open = Some((heading.level, index + 1)),
            _ => {}
        }
    }
    sections.extend(open.map(|(_, start)| start..blocks.len()));
    sections
}

/// Says whether a block, by its index, is in one of the sections.
pub(super) fn contain(sections: &[Range<usize>], block: usize) -> bool {
    // The sections are in order: only the last that starts before it may.
    let before = sections.partition_point(|section| section.start <= block);
    before.checked_sub(1).and_then(|last| sections.get(last)).is_some_and(|section| section.contains(&block))
}

/// Says whether a block, by its index, is the heading of one of the sections.
pub(super) fn open_with(sections: &[Range<usize>], block: usize) -> bool {
    sections.binary_search_by_key(&(block + 1), |section| section.start).is_ok()
}

/// Returns a heading's words in lower case, without a number, symbols and
/// colon around them.
pub(super) fn title(line: &Line) -> String {
    let words = line.words();
    let words = words.trim_start_matches(|c: char| !c.is_alphabetic());
    words.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::super::{block, source::Document, source::Source};
    use super::*;

    /// Returns the headings inside the sections of a document.
    fn inside(text: &str) -> Vec<String> {
        let document = Document::new("a.md", text);
        let blocks = block::parse(&Source::new(&document).unwrap()).unwrap();
        let sections = find(&blocks);
        let blocks = sections.into_iter().flat_map(|range| blocks.get(range).unwrap());
        let words = blocks.filter_map(|block| match block {
            Block::Heading(heading) => Some(heading.line.words()),
            _ => None,
        });
        words.collect()
    }

    #[test]
    fn a_section_has_one_of_the_titles_in_any_case_and_numbered_or_not() {
        for title in [
            "## Tasks",
            "# STEPS",
            "#### 4. tasks",
            "## 4 Work Items:",
            "Implementation Plan\n---",
            "## 📋 Implementation",
        ] {
            assert_eq!(inside(&format!("{title}\n\n##### 1 a\n")), ["1 a"], "{title}");
        }
        assert!(inside("## Task force\n\n### 1 a\n").is_empty());
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        assert_eq!(inside("## Tasks\n### 1 a\n## 2. Risks\n### 2 b\n"), ["1 a"]);
        assert_eq!(inside("## Tasks\n## Task 1: a\n## Risks\n"), ["Task 1: a"]);
        assert_eq!(inside("# Implementation plan\n## 1. Goal\n## 2. Tasks\n### 1 a\n"), ["1 a"]);
    }
}
