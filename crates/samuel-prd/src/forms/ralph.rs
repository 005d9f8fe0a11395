//! The `prd.json` of ralph: stories, each with whether it passes.

use serde_json::value::RawValue;

use super::json_task;
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::json::{self, Fields};

pub(crate) struct Ralph;

impl Reader for Ralph {
    fn form(&self) -> Form {
        Form::Ralph
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let Some(json) = content.json else { return Confidence::NONE };
        Confidence(98).if_so(stories(json.root).is_some(), 40)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let stories = content.json.and_then(|json| stories(json.root)).unwrap_or_default();
        json_task::read_all(reading, stories)
    }
}

/// Returns the stories of a document; of a bare list, if they say that they
/// pass or not.
fn stories(root: &RawValue) -> Option<Vec<&RawValue>> {
    if let Some(values) = json::list(root) {
        let is_story =
            |raw: &&RawValue| Fields::of(raw).is_some_and(|fields| fields.get(&["passes"]).is_some());
        return values.first().is_some_and(is_story).then_some(values);
    }
    let fields = Fields::of(root)?;
    fields.list(&["userStories", "user_stories", "stories", "features"])
}
