//! Samuel's own form: checklists, in a task section or anywhere.

use crate::checklist::Rules;
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};

pub(crate) struct Checklist;

impl Reader for Checklist {
    fn form(&self) -> Form {
        Form::Checklist
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        if shapes.section_boxes > 0 {
            return Confidence(78);
        }
        let hint = 10 * u8::from(!content.sections.is_empty()) + 20 * u8::from(shapes.bullets > 0);
        Confidence(57).if_so(shapes.boxes > 0, hint)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let rules = Rules::default();
        rules.read_sections(reading, &content.blocks, &content.sections)?;
        if reading.drafts.is_empty() {
            rules.read_all(reading, &content.blocks)?;
        }
        Ok(())
    }
}
