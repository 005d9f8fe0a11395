//! The BMAD method: a story with its `Tasks / Subtasks`, or the epics of a
//! project with their stories.

use std::collections::HashSet;

use crate::block::{Block, Heading, Item};
use crate::body::Boxes;
use crate::checklist::{self, Rules};
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::line::Line;
use crate::outline::{self, Role};
use crate::shapes::{Word, announced};
use crate::title::Title;

pub(crate) struct Bmad;

impl Reader for Bmad {
    fn form(&self) -> Form {
        Form::Bmad
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        if shapes.subtask_sections > 0 && shapes.boxes > 0 {
            return Confidence(93);
        }
        let hint = 15 * u8::from(shapes.epic_headings > 0) + 15 * u8::from(shapes.subtask_sections > 0);
        Confidence(91).if_so(shapes.epic_headings > 0 && shapes.story_headings > 0, hint)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        if content.shapes.subtask_sections > 0 {
            return story(reading, content);
        }
        let epics = epics_with_stories(&content.blocks);
        outline::read(reading, &content.blocks, Boxes::Acceptance, |heading, _| {
            epic_or_story(heading, &epics)
        })
    }
}

/// Returns where the epics are that have stories below them: a list of the
/// epics may come before.
fn epics_with_stories(blocks: &[Block]) -> HashSet<usize> {
    let mut epics = HashSet::new();
    let mut open: Option<(u8, usize)> = None;
    for block in blocks {
        let Block::Heading(heading) = block else { continue };
        let words = heading.line.words();
        match (announced(&words).map(|found| found.word), open) {
            (Some(Word::Epic), _) => open = Some((heading.level, heading.range.start)),
            (Some(Word::Story), Some((level, start))) if heading.level > level => {
                epics.insert(start);
            }
            (_, Some((level, _))) if heading.level <= level => open = None,
            _ => {}
        }
    }
    epics
}

fn epic_or_story(heading: &Heading, epics: &HashSet<usize>) -> Role {
    let mut title = Title::of(&heading.line, None);
    let words = title.words.clone();
    let Some(found) = announced(&words).filter(|found| !found.rest.is_empty()) else { return Role::Text };
    title.id = Some(found.number.parse());
    title.words = found.rest.to_owned();
    match found.word {
        Word::Epic if epics.contains(&heading.range.start) => Role::Group(title),
        Word::Story => Role::Task(title),
        Word::Epic | Word::Step | Word::Phase => Role::Text,
    }
}

/// Reads the tasks of one story. `(AC: 1, 3)` behind a task are the acceptance
/// criteria of the story that it must meet.
fn story(reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
    let rules = Rules { title: subtask_title, waits_for_parent: false };
    let criteria = criteria(&content.blocks);
    let mut open: Option<u8> = None;
    for block in &content.blocks {
        if let Block::Heading(heading) = block {
            if open.is_some_and(|level| heading.level <= level) {
                open = None;
            }
            if heading.title.starts_with("tasks") {
                open = Some(heading.level);
            }
        }
        let before = reading.drafts.len();
        if open.is_some() {
            rules.block(reading, block, None)?;
        }
        for index in before..reading.drafts.len() {
            meet(reading, index, &criteria);
        }
    }
    Ok(())
}

/// Reads `Task 1: Title (AC: 1)` or `Subtask 1.1: Title`.
fn subtask_title(item: &Item) -> Title {
    let title = checklist::plain_title(item);
    let stripped = title.words.get(..7).filter(|start| start.eq_ignore_ascii_case("subtask"));
    match (title.id.is_none(), stripped) {
        (true, Some(_)) => {
            let rest = title.words.get(3..).unwrap_or_default();
            let parsed = Title::parse(rest);
            Title { id: parsed.id, words: parsed.words, ..title }
        }
        _ => title,
    }
}

/// Returns the numbered acceptance criteria of a story.
fn criteria(blocks: &[Block]) -> Vec<(u64, &Line)> {
    let mut found = Vec::new();
    let mut is_open = false;
    for block in blocks {
        match block {
            Block::Heading(heading) => is_open = heading.title.starts_with("acceptance criteria"),
            Block::List { items, .. } if is_open => {
                let numbered = items.iter().filter_map(|item| Some((item.number?, item.text().0.first()?)));
                found.extend(numbered);
            }
            _ => {}
        }
    }
    found
}

/// Gives a task the criteria that stand behind its title, and takes those off.
fn meet(reading: &mut Reading<'_, '_>, index: usize, criteria: &[(u64, &Line)]) {
    let Some(draft) = reading.drafts.get_mut(index) else { return };
    let Some((words, behind)) = draft.title.rsplit_once("(AC") else { return };
    let Some(numbers) = behind.strip_suffix(')') else { return };
    let numbers = numbers.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    let met: Vec<&(u64, &Line)> = numbers
        .filter_map(|number: u64| criteria.iter().find(|(criterion, _)| *criterion == number))
        .collect();
    if met.is_empty() {
        return;
    }
    draft.acceptance.extend(met.into_iter().map(|(_, line)| line.full()));
    draft.title = words.trim_end().to_owned();
}
