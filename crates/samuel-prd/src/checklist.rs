//! Tasks that are checklist items: `- [ ] 1.1 Title [~3,000 tokens - Medium]`.
//!
//! [`Rules`] says how one form of a checklist differs from another.

use std::ops::Range;

use super::block::{Block, Item};
use super::body::{Body, Boxes};
use super::draft::Reading;
use super::error::PrdError;
use super::section;
use super::title::Title;

/// How a form reads its checklists.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Reads the text of an item, without its box.
    pub(super) title: fn(&Item) -> Title,
    /// Whether an indented item depends on the one above it.
    pub(super) waits_for_parent: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { title: plain_title, waits_for_parent: true }
    }
}

/// Reads the title of an item as Samuel writes it.
pub(super) fn plain_title(item: &Item) -> Title {
    item.text().0.first().map(|line| Title::of(line, item.mark)).unwrap_or_default()
}

impl Rules {
    /// Reads the tasks among the checklists of the sections.
    pub(super) fn read_sections(
        self,
        reading: &mut Reading<'_, '_>,
        blocks: &[Block],
        sections: &[Range<usize>],
    ) -> Result<(), PrdError> {
        for section in sections {
            for block in blocks.get(section.clone()).unwrap_or_default() {
                self.block(reading, block, None)?;
            }
        }
        Ok(())
    }

    /// Reads the tasks among all checklists of a document, but those below
    /// headings such as `Acceptance criteria`.
    pub(super) fn read_all(self, reading: &mut Reading<'_, '_>, blocks: &[Block]) -> Result<(), PrdError> {
        for block in section::outside_other_checklists(blocks) {
            self.block(reading, block, None)?;
        }
        Ok(())
    }

    /// Reads the tasks of a block, parts of another one if that is given.
    pub(super) fn block(
        self,
        reading: &mut Reading<'_, '_>,
        block: &Block,
        parent: Option<usize>,
    ) -> Result<(), PrdError> {
        if let Block::List { items, .. } = block {
            for item in items {
                self.item(reading, item, parent)?;
            }
        }
        Ok(())
    }

    fn item(self, reading: &mut Reading<'_, '_>, item: &Item, parent: Option<usize>) -> Result<(), PrdError> {
        if item.mark.is_none() {
            return item.blocks.iter().try_for_each(|block| self.block(reading, block, parent));
        }
        let (lines, below) = item.text();
        let draft = reading.add((self.title)(item), item.range.start, parent)?;
        if let Some(draft) = reading.draft(draft) {
            draft.waits_for_parent = self.waits_for_parent && parent.is_some();
        }
        reading.take(&(item.range.start..item.range.start + 1));
        if let Some(first) = lines.first() {
            reading.take_text(first);
        }

        let mut body = Body::new(reading, draft, Boxes::Tasks);
        let list_follows = matches!(below.first(), Some(Block::List { .. }));
        let open = body.paragraph(lines.get(1..).unwrap_or_default(), None, list_follows);
        body.read_after(open, below);
        for child in body.into_children() {
            self.item(reading, child, Some(draft))?;
        }

        let description = reading.take_rest(reading.source.line_range(&item.range), true);
        if let Some(draft) = reading.draft(draft) {
            draft.description = description;
        }
        Ok(())
    }
}
