//! User stories: `### US-001: Title`, with acceptance criteria below.

use crate::block::{Block, Heading};
use crate::body::Boxes;
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::outline::{self, Role};
use crate::shapes::{Word, announced};
use crate::title::Title;

pub(crate) struct UserStories;

impl Reader for UserStories {
    fn form(&self) -> Form {
        Form::UserStories
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let is_titled = content.blocks.iter().any(is_titled);
        Confidence(70).if_so(content.shapes.story_headings > 0, 30 * u8::from(is_titled))
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        outline::read(reading, &content.blocks, Boxes::Acceptance, |heading, _| story(heading))
    }
}

fn is_titled(block: &Block) -> bool {
    matches!(block, Block::Heading(heading) if heading.title.contains("user stories"))
}

fn story(heading: &Heading) -> Role {
    let mut title = Title::of(&heading.line, None);
    let words = title.words.clone();
    if let Some(found) = announced(&words).filter(|found| found.word == Word::Story && !found.rest.is_empty())
    {
        title.id = Some(found.number.parse());
        title.words = found.rest.to_owned();
        return Role::Task(title);
    }
    // `[US-001] Title` has its id in brackets.
    let id = title.id.as_ref().and_then(|id| id.as_ref().ok()).map(|id| id.as_str().to_owned());
    match id.as_deref().and_then(announced) {
        Some(found) if found.word == Word::Story => Role::Task(title),
        _ => Role::Text,
    }
}
