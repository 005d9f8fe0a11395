//! Samuel's own form: numbered headings in a task section.

use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::heading;

pub(crate) struct Headings;

impl Reader for Headings {
    fn form(&self) -> Form {
        Form::Headings
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        let hint = 10 * u8::from(!content.sections.is_empty()) + 20 * u8::from(shapes.numbered_headings > 0);
        Confidence(80).if_so(shapes.section_headings > 0, hint)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        heading::read(reading, &content.blocks, &content.sections)
    }
}
