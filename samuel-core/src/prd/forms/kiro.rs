//! The `tasks.md` of a Kiro spec: `- [ ] 1.1 Title`, `_Requirements: 1.1_`.
//!
//! `[-]` is a task that is worked on and `[~]` one that is queued for it, and
//! `[ ]*` one that is optional.

use crate::model::{Priority, Status};
use crate::prd::block::Item;
use crate::prd::checklist::{self, Rules};
use crate::prd::content::Content;
use crate::prd::draft::Reading;
use crate::prd::error::PrdError;
use crate::prd::form::{Confidence, Form, Reader};
use crate::prd::mark::Mark;
use crate::prd::title::Title;

pub(in crate::prd) struct Kiro;

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
