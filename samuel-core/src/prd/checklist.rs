//! Tasks that are checklist items: `- [ ] 1.1 Title [~3,000 tokens - Medium]`.

use std::ops::Range;

use super::block::{Block, Item};
use super::body::{Body, Boxes};
use super::draft::Reading;
use super::error::PrdError;
use super::line::Line;
use super::section;
use super::title::Title;

/// Reads the tasks among the checklists of the sections.
pub(super) fn read_sections(
    reading: &mut Reading<'_, '_>,
    blocks: &[Block],
    sections: &[Range<usize>],
) -> Result<(), PrdError> {
    for section in sections {
        for block in blocks.get(section.clone()).unwrap_or_default() {
            self::block(reading, block, None)?;
        }
    }
    Ok(())
}

/// Reads the tasks among all checklists of a document, but those below
/// headings such as `Acceptance criteria`.
pub(super) fn read_all(reading: &mut Reading<'_, '_>, blocks: &[Block]) -> Result<(), PrdError> {
    let mut other: Option<u8> = None;
    for block in blocks {
        if let Block::Heading(heading) = block
            && other.is_none_or(|level| heading.level <= level)
        {
            other = section::holds_other_checklists(heading).then_some(heading.level);
        }
        if other.is_none() {
            self::block(reading, block, None)?;
        }
    }
    Ok(())
}

fn block(reading: &mut Reading<'_, '_>, block: &Block, parent: Option<usize>) -> Result<(), PrdError> {
    if let Block::List { items, .. } = block {
        for item in items {
            self::item(reading, item, parent)?;
        }
    }
    Ok(())
}

fn item(reading: &mut Reading<'_, '_>, item: &Item, parent: Option<usize>) -> Result<(), PrdError> {
    let Some(checked) = item.checked else {
        return item.blocks.iter().try_for_each(|block| self::block(reading, block, parent));
    };
    let (lines, below): (&[Line], &[Block]) = match item.blocks.split_first() {
        Some((Block::Paragraph { lines, .. }, below)) => (lines, below),
        _ => (&[], &item.blocks),
    };
    let words = lines.first().map(Line::words).unwrap_or_default();
    let draft = reading.add(Title::parse(&words), item.range.start, checked, parent)?;
    reading.take(&(item.range.start..item.range.start + 1));
    if let Some(first) = lines.first() {
        reading.take_text(first);
    }

    let mut body = Body::new(reading, draft, Boxes::Tasks);
    let list_follows = matches!(below.first(), Some(Block::List { .. }));
    let open = body.paragraph(lines.get(1..).unwrap_or_default(), None, list_follows);
    body.read_after(open, below);
    for child in body.into_children() {
        self::item(reading, child, Some(draft))?;
    }

    let description = reading.take_rest(reading.source.line_range(&item.range), true);
    if let Some(draft) = reading.drafts.get_mut(draft) {
        draft.description = description;
    }
    Ok(())
}
