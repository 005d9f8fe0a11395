//! The `tasks.md` of an `OpenSpec` change: `## 1. Group` above `- [ ] 1.1 Title`.
//!
//! A numbered heading with items below is a task, and they are its parts.

use crate::block::Block;
use crate::checklist::{self, Rules};
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::title::Title;
use samuel_model::Status;

pub(crate) struct Openspec;

impl Reader for Openspec {
    fn form(&self) -> Form {
        Form::Openspec
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        let hint = 15 * u8::from(shapes.numbered_boxes > 0) + 15 * u8::from(shapes.numbered_headings > 0);
        Confidence(88)
            .if_so(shapes.numbered_groups > 0 && shapes.section_headings == shapes.group_headings, hint)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let rules = Rules { title: checklist::plain_title, waits_for_parent: false };
        let mut group: Option<usize> = None;
        for (index, block) in content.blocks.iter().enumerate() {
            if let Block::Heading(heading) = block {
                settle(reading, group);
                let title = Title::of(&heading.line, None);
                let below = content.blocks.get(index + 1..).unwrap_or_default();
                group = match title.id.is_some() && heading.level > 1 && holds_boxes(below) {
                    true => Some(reading.add(title, heading.range.start, None)?),
                    false => None,
                };
                if group.is_some() {
                    reading.take(&heading.range);
                }
            }
            rules.block(reading, block, group)?;
        }
        settle(reading, group);
        Ok(())
    }
}

/// Says whether items with a box are right below a heading.
fn holds_boxes(below: &[Block]) -> bool {
    let mut blocks = below.iter().take_while(|block| !matches!(block, Block::Heading(_)));
    blocks.any(|block| match block {
        Block::List { items, .. } => items.iter().any(|item| item.mark.is_some()),
        _ => false,
    })
}

/// Completes a group whose parts are all settled.
fn settle(reading: &mut Reading<'_, '_>, group: Option<usize>) {
    let Some(group) = group else { return };
    let mut parts = reading.drafts.get(group + 1..).unwrap_or_default().iter();
    let is_done = parts.all(|part| matches!(part.status, Status::Completed | Status::Skipped));
    if let Some(draft) = reading.draft(group)
        && is_done
    {
        draft.status = Status::Completed;
    }
}
