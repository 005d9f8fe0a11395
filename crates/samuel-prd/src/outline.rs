//! Tasks that are headings, in documents that say so in other ways than a
//! number in a task section.
//!
//! [`read`] walks the headings of a document once. A form says of each what it
//! is, [`Role`]; below a task, deeper headings belong to it: labels fill its
//! fields, and everything else is its description.

use super::block::{Block, Heading};
use super::body::{Body, Boxes};
use super::draft::Reading;
use super::error::PrdError;
use super::label::Label;
use super::mark::Mark;
use super::title::Title;
use samuel_model::Status;

/// What a heading is to a form.
pub(super) enum Role {
    /// A task.
    Task(Title),
    /// A task that the tasks at deeper levels are parts of.
    Group(Title),
    /// Neither; below a task it belongs to that one.
    Text,
}

/// The task that is open at a heading.
#[derive(Clone, Copy)]
struct Owner {
    draft: usize,
    level: u8,
}

/// Reads the tasks of a document. `role` is told the heading and whether it is
/// below a task.
pub(super) fn read(
    reading: &mut Reading<'_, '_>,
    blocks: &[Block],
    boxes: Boxes,
    mut role: impl FnMut(&Heading, bool) -> Role,
) -> Result<(), PrdError> {
    let mut groups: Vec<Owner> = Vec::new();
    let mut owner: Option<Owner> = None;
    let mut index = 0;
    while let Some(block) = blocks.get(index) {
        let Block::Heading(heading) = block else {
            index += 1;
            continue;
        };
        let is_below = |owner: &Owner| owner.level < heading.level;
        owner = owner.filter(is_below);
        groups.retain(is_below);
        let (title, is_group) = match role(heading, owner.is_some()) {
            Role::Task(title) => (title, false),
            Role::Group(title) => (title, true),
            Role::Text => {
                index += 1;
                continue;
            }
        };
        let parent = groups.last().map(|group| group.draft);
        let draft = reading.add(title, heading.range.start, parent)?;
        reading.take(&heading.range);
        let open = Owner { draft, level: heading.level };
        if is_group {
            groups.push(open);
        } else {
            owner = Some(open);
        }
        index = body(reading, blocks, index, open, boxes, &mut role);
    }
    Ok(())
}

/// Reads what belongs to the task whose heading is at an index, and returns the
/// index of what comes next.
fn body(
    reading: &mut Reading<'_, '_>,
    blocks: &[Block],
    start: usize,
    owner: Owner,
    boxes: Boxes,
    role: &mut impl FnMut(&Heading, bool) -> Role,
) -> usize {
    let ends = |block: &Block, role: &mut dyn FnMut(&Heading, bool) -> Role| match block {
        Block::Heading(heading) => heading.level <= owner.level || !matches!(role(heading, true), Role::Text),
        _ => false,
    };
    let mut end = start + 1;
    let mut part = start + 1;
    let mut label = None;
    while let Some(block) = blocks.get(end) {
        if ends(block, &mut *role) {
            break;
        }
        if let Block::Heading(heading) = block {
            part_of(reading, owner.draft, label, blocks.get(part..end).unwrap_or_default(), boxes);
            label = Label::of_whole(&heading.line);
            if label.is_some() {
                reading.take(&heading.range);
            }
            part = end + 1;
        }
        end += 1;
    }
    part_of(reading, owner.draft, label, blocks.get(part..end).unwrap_or_default(), boxes);
    if boxes == Boxes::Steps && are_done(blocks.get(start..end).unwrap_or_default()) {
        complete(reading, owner.draft);
    }
    describe(reading, blocks, start, end, owner.draft);
    end
}

/// Says whether there are steps with a box, and every one is ticked.
fn are_done(blocks: &[Block]) -> bool {
    let lists = blocks.iter().filter_map(|block| match block {
        Block::List { items, .. } => Some(items),
        _ => None,
    });
    let mut marks = lists.flatten().filter_map(|item| item.mark).peekable();
    marks.peek().is_some() && marks.all(|mark| mark.status() != Status::Pending && mark != Mark::Doing)
}

fn complete(reading: &mut Reading<'_, '_>, index: usize) {
    if let Some(draft) = reading.draft(index).filter(|draft| draft.status == Status::Pending) {
        draft.status = Status::Completed;
    }
}

fn part_of(
    reading: &mut Reading<'_, '_>,
    draft: usize,
    label: Option<Label>,
    blocks: &[Block],
    boxes: Boxes,
) {
    let mut body = Body::new(reading, draft, boxes);
    match label {
        Some(label) => body.labelled(label, blocks),
        None => body.read(blocks),
    }
}

/// Gives a task what is left of its lines as its description.
fn describe(reading: &mut Reading<'_, '_>, blocks: &[Block], start: usize, end: usize, draft: usize) {
    let source = reading.source;
    let lines = |index: usize| blocks.get(index).map(|block| source.line_range(block.range()));
    let first = lines(start).map_or(0, |lines| lines.end);
    let last = lines(end).map_or(source.line_count(), |lines| lines.start);
    let description = reading.take_rest(first..last, false);
    if let Some(draft) = reading.draft(draft) {
        draft.description = description;
    }
}
