//! The `tasks.json` of task-master: tasks with subtasks, in one list or in one
//! for each tag.

use serde_json::value::RawValue;

use super::json_task;
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::json::Fields;
use crate::remark::RemarkKind;

pub(crate) struct TaskMaster;

/// The tag that is read where there are several.
const MAIN_TAG: &str = "master";

impl Reader for TaskMaster {
    fn form(&self) -> Form {
        Form::TaskMaster
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let Some(json) = content.json else { return Confidence::NONE };
        Confidence(97).if_so(!lists(json.root).is_empty(), 40)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let lists = content.json.map(|json| lists(json.root)).unwrap_or_default();
        let main = lists.iter().position(|(tag, _)| tag == MAIN_TAG).unwrap_or(0);
        for (index, (tag, tasks)) in lists.into_iter().enumerate() {
            if index == main {
                json_task::read_all(reading, tasks)?;
            } else if let Some(first) = tasks.first() {
                let start = json_task::offset(reading, first);
                let message = format!("the tasks of the tag \"{tag}\" are left out: {}", tasks.len());
                reading.leave_out(RemarkKind::IgnoredField, start, message);
            }
        }
        Ok(())
    }
}

/// Returns the lists of tasks, each with its tag.
fn lists(root: &RawValue) -> Vec<(String, Vec<&RawValue>)> {
    let Some(fields) = Fields::of(root) else { return Vec::new() };
    if let Some(tasks) = fields.list(&["tasks"]) {
        return vec![(MAIN_TAG.to_owned(), tasks)];
    }
    let tagged =
        fields.0.into_iter().filter_map(|(tag, value)| Some((tag, Fields::of(value)?.list(&["tasks"])?)));
    tagged.collect()
}
