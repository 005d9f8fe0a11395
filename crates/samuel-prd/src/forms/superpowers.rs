//! Plans of Claude Code and of superpowers: `### Task 1: Title`, steps below.
//!
//! Steps below a task, headings or boxes, are its description. A plan that has
//! no tasks but steps, or only phases, has those as its tasks.

use crate::block::Heading;
use crate::body::Boxes;
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::outline::{self, Role};
use crate::shapes::{Shapes, Word, announced};
use crate::title::Title;

pub(crate) struct Superpowers;

impl Reader for Superpowers {
    fn form(&self) -> Form {
        Form::Superpowers
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        match Level::of(shapes) {
            Level::Task if shapes.step_headings + shapes.step_lines > 0 => Confidence(92),
            Level::Task if shapes.task_headings > 0 => Confidence(60),
            Level::Step if shapes.step_headings > 0 => Confidence(53),
            Level::Phase if shapes.phase_headings > 0 && shapes.boxes == 0 => Confidence(52),
            _ => Confidence::NONE.if_so(false, 25 * u8::from(shapes.is_plan)),
        }
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let level = Level::of(&content.shapes);
        outline::read(reading, &content.blocks, Boxes::Steps, |heading, is_below| {
            level.role(heading, is_below)
        })
    }
}

/// Which headings are the tasks.
#[derive(Clone, Copy)]
enum Level {
    Task,
    Step,
    Phase,
}

impl Level {
    fn of(shapes: &Shapes) -> Self {
        if shapes.task_headings > 0 || (shapes.step_headings == 0 && shapes.phase_headings == 0) {
            Self::Task
        } else if shapes.step_headings > 0 {
            Self::Step
        } else {
            Self::Phase
        }
    }

    fn role(self, heading: &Heading, is_below: bool) -> Role {
        let mut title = Title::of(&heading.line, None);
        let words = title.words.clone();
        let found = announced(&words).map(|found| (found.word, found.number, found.rest));
        match (self, found) {
            (Self::Task, _) if title.says_task => Role::Task(title),
            (Self::Step, Some((Word::Step, number, rest)))
            | (Self::Phase, Some((Word::Phase, number, rest)))
                if !is_below && !rest.is_empty() =>
            {
                title.id = Some(number.parse());
                title.words = rest.to_owned();
                Role::Task(title)
            }
            _ => Role::Text,
        }
    }
}
