//! The `tasks.md` of a Kiro spec: `- [ ] 1.1 Title`, `_Requirements: 1.1_`.
//!
//! `[-]` is a task that is worked on and `[~]` one that is queued for it, and
//! `[ ]*` one that is optional.

use crate::block::Item;
use crate::checklist::{self, Rules};
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::mark::Mark;
use crate::title::Title;
use samuel_model::{Priority, Status};

pub(crate) struct Kiro;

impl Reader for Kiro {
    fn form(&self) -> Form {
        Form::Kiro
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        if shapes.requirement_refs + shapes.optional_boxes > 0 {
            return Confidence(90);
        }
        let hint = 15 * u8::from(shapes.is_plan) + 20 * u8::from(shapes.numbered_boxes > 0);
        let is_plan = shapes.is_plan && shapes.numbered_boxes > 0 && shapes.section_headings == 0;
        Confidence(85).if_so(is_plan, hint)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        Rules { title, waits_for_parent: false }.read_all(reading, &content.blocks)
    }
}

fn title(item: &Item) -> Title {
    let mut title = checklist::plain_title(item);
    if item.mark == Some(Mark::Cancelled) {
        (title.status, title.skip_reason) = (Status::InProgress, None);
    }
    if item.is_optional && title.priority.is_none() {
        title.priority = Some(Ok(Priority::Low));
    }
    title
}
