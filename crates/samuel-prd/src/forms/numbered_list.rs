//! A numbered list: `1. Title`, with what is below an item as its description.

use std::collections::HashSet;

use crate::block::{Block, Item};
use crate::body::{Body, Boxes};
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::section;
use crate::title::Title;

pub(crate) struct NumberedList;

impl Reader for NumberedList {
    fn form(&self) -> Form {
        Form::NumberedList
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let items = content.shapes.numbered_items;
        let sure = if content.sections.is_empty() { Confidence(51) } else { Confidence(56) };
        sure.if_so(items > 1, 25 * u8::from(items > 0))
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let mut used = HashSet::new();
        for section in &content.sections {
            for block in content.blocks.get(section.clone()).unwrap_or_default() {
                self::block(reading, block, &mut used)?;
            }
        }
        if reading.drafts.is_empty() {
            for block in section::outside_other_checklists(&content.blocks) {
                self::block(reading, block, &mut used)?;
            }
        }
        Ok(())
    }
}

fn block(reading: &mut Reading<'_, '_>, block: &Block, used: &mut HashSet<u64>) -> Result<(), PrdError> {
    let Block::List { items, .. } = block else { return Ok(()) };
    items.iter().filter(|item| item.number.is_some()).try_for_each(|item| self::item(reading, item, used))
}

fn item(reading: &mut Reading<'_, '_>, item: &Item, used: &mut HashSet<u64>) -> Result<(), PrdError> {
    let (lines, below) = item.text();
    let mut title = lines.first().map(|line| Title::of(line, item.mark)).unwrap_or_default();
    // A list below another heading may count anew: then a task has the next
    // free id.
    let number = item.number.filter(|number| used.insert(*number));
    if title.id.is_none()
        && let Some(number) = number
    {
        title.id = Some(number.to_string().parse());
    }
    let draft = reading.add(title, item.range.start, None)?;
    reading.take(&(item.range.start..item.range.start + 1));
    if let Some(first) = lines.first() {
        reading.take_text(first);
    }
    let mut body = Body::new(reading, draft, Boxes::Steps);
    let list_follows = matches!(below.first(), Some(Block::List { .. }));
    let open = body.paragraph(lines.get(1..).unwrap_or_default(), None, list_follows);
    body.read_after(open, below);
    let description = reading.take_rest(reading.source.line_range(&item.range), true);
    if let Some(draft) = reading.draft(draft) {
        draft.description = description;
    }
    Ok(())
}
