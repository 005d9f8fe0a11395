//! Tasks that are headings: `### 1.1 Title` in a task section.

use std::ops::Range;

use super::block::{Block, Heading, Item};
use super::body::{Body, Boxes, shorten};
use super::draft::Reading;
use super::error::PrdError;
use super::label::Label;
use super::remark::RemarkKind;
use super::section;
use super::title::Title;
use samuel_model::TaskId;

/// Reads the tasks among the headings of the sections.
pub(super) fn read(
    reading: &mut Reading<'_, '_>,
    blocks: &[Block],
    sections: &[Range<usize>],
) -> Result<(), PrdError> {
    for section in sections {
        let mut owner: Option<Owner> = None;
        let parts = parts(blocks, section);
        for (index, part) in parts.iter().enumerate() {
            let below = parts.get(index + 1).and_then(|next| next.heading);
            owner = self::part(reading, part, below, owner)?;
        }
    }
    Ok(())
}

/// Returns the headings that look like tasks but are in no section. A single
/// number is not enough: many documents number all their headings.
pub(super) fn outside<'b>(
    blocks: &'b [Block],
    sections: &[Range<usize>],
) -> impl Iterator<Item = &'b Heading> {
    let inside = |index: &usize| section::contain(sections, *index);
    let blocks = blocks.iter().enumerate().filter(move |(index, _)| !inside(index));
    blocks.filter_map(|(_, block)| match block {
        Block::Heading(heading) if looks_like_task(heading) => Some(heading),
        _ => None,
    })
}

fn looks_like_task(heading: &Heading) -> bool {
    let title = Title::of(&heading.line, None);
    let has_point = |id: &TaskId| id.as_str().contains('.');
    title.id.is_some_and(|id| title.says_task || id.is_ok_and(|id| has_point(&id)))
}

/// The task whose body a heading may go on with.
#[derive(Clone, Copy)]
struct Owner {
    draft: usize,
    level: u8,
}

/// A heading and what is below it, up to the next one.
struct Part<'b> {
    /// Nothing for what comes before the first heading of a section.
    heading: Option<&'b Heading>,
    blocks: &'b [Block],
    /// The offset of the next heading, nothing at the end of the document.
    end: Option<usize>,
}

fn parts<'b>(blocks: &'b [Block], section: &Range<usize>) -> Vec<Part<'b>> {
    let inside = blocks.get(section.clone()).unwrap_or_default();
    let mut parts = Vec::new();
    let mut heading = None;
    let mut start = 0;
    for (index, block) in inside.iter().enumerate() {
        if let Block::Heading(next) = block {
            let blocks = inside.get(start..index).unwrap_or_default();
            parts.push(Part { heading, blocks, end: Some(next.range.start) });
            (heading, start) = (Some(next), index + 1);
        }
    }
    let end = blocks.get(section.end).map(|next| next.range().start);
    parts.push(Part { heading, blocks: inside.get(start..).unwrap_or_default(), end });
    parts
}

/// Reads one part and returns the task that the next one may belong to.
/// `next` is the heading of that one.
fn part(
    reading: &mut Reading<'_, '_>,
    part: &Part<'_>,
    next: Option<&Heading>,
    owner: Option<Owner>,
) -> Result<Option<Owner>, PrdError> {
    let Some(heading) = part.heading else {
        warn_of_boxes(reading, part.blocks);
        return Ok(None);
    };
    let title = Title::of(&heading.line, None);
    if title.id.is_some() && !section::holds_tasks(heading) {
        let draft = reading.add(title, heading.range.start, None)?;
        reading.take(&heading.range);
        let mut body = Body::new(reading, draft, Boxes::Acceptance);
        body.read(part.blocks);
        describe(reading, draft, heading, part.end);
        return Ok(Some(Owner { draft, level: heading.level }));
    }
    let Some(owner) = owner.filter(|owner| owner.level < heading.level) else {
        let is_group = part.blocks.is_empty() && next.is_some_and(|next| next.level > heading.level);
        if !is_group && !section::is_of_another_kind(heading) {
            warn_of_heading(reading, heading, "is not a task, because it has no number");
        }
        warn_of_boxes(reading, part.blocks);
        return Ok(None);
    };
    match Label::of_whole(&heading.line) {
        Some(label) => {
            reading.take(&heading.range);
            Body::new(reading, owner.draft, Boxes::Acceptance).labelled(label, part.blocks);
        }
        None => warn_of_heading(reading, heading, "is below a task but is not one itself"),
    }
    Ok(Some(owner))
}

/// Gives a task what is left of its lines as its description.
fn describe(reading: &mut Reading<'_, '_>, draft: usize, heading: &Heading, end: Option<usize>) {
    let first = reading.source.line_range(&heading.range).end;
    let last = end.map_or(reading.source.line_count(), |end| reading.source.line_index(end));
    let description = reading.take_rest(first..last, false);
    if let Some(draft) = reading.drafts.get_mut(draft) {
        draft.description = description;
    }
}

fn warn_of_heading(reading: &mut Reading<'_, '_>, heading: &Heading, why: &str) {
    let words = shorten(&heading.line.words());
    let message = format!("\"{words}\" {why}; its text is left out");
    reading.leave_out(RemarkKind::IgnoredHeading, heading.range.start, message);
}

/// Warns of checklists that would be tasks if no heading were one.
fn warn_of_boxes(reading: &mut Reading<'_, '_>, blocks: &[Block]) {
    for item in blocks.iter().filter_map(first_box) {
        let message = "this checklist is left out: the tasks of this document are headings";
        reading.leave_out(RemarkKind::IgnoredChecklist, item.range.start, message);
    }
}

fn first_box(block: &Block) -> Option<&Item> {
    let Block::List { items, .. } = block else { return None };
    items.iter().find_map(|item| match item.mark {
        Some(_) => Some(item),
        None => item.blocks.iter().find_map(first_box),
    })
}
