//! Numbered headings in a section of any name: `## Roadmap`, `### 1. Title`.
//!
//! A document that numbers all of its headings, from the introduction on, has
//! no tasks by that: what is below a heading with a number is none, and neither
//! are headings among which one is about the whole, such as `2. Goals`.

use crate::block::{Block, Heading};
use crate::body::Boxes;
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::outline::{self, Role};
use crate::section;
use crate::title::Title;

pub(crate) struct Sections;

impl Reader for Sections {
    fn form(&self) -> Form {
        Form::Sections
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let hint = 25 * u8::from(content.shapes.numbered_headings > 0);
        let runs = runs(&content.blocks);
        // Boxes below numbered headings of a named section are what these must
        // meet; below those of the whole document they are tasks themselves.
        let is_named = content.shapes.numbered_boxes == 0 && runs.iter().all(|run| run.level > 2);
        let sure = if is_named { Confidence(58) } else { Confidence(55) };
        sure.if_so(!runs.is_empty(), hint)
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let runs = runs(&content.blocks);
        outline::read(reading, &content.blocks, Boxes::Acceptance, |heading, _| {
            let after = runs.partition_point(|run| run.start <= heading.range.start);
            let run = after.checked_sub(1).and_then(|index| runs.get(index));
            let title = Title::of(&heading.line, None);
            match run {
                Some(run) if heading.range.start < run.end && title.id.is_some() => Role::Task(title),
                _ => Role::Text,
            }
        })
    }
}

/// Titles of the parts that a document about a project has, in lower case.
const PARTS: &[&str] = &[
    "appendix",
    "architecture",
    "assumptions",
    "background",
    "context",
    "data model",
    "dependencies",
    "design",
    "glossary",
    "milestones",
    "motivation",
    "problem",
    "problem statement",
    "scope",
    "solution",
    "stakeholders",
    "technical considerations",
    "testing",
    "timeline",
    "user stories",
];

/// The text below a heading, from its first numbered heading on.
struct Run {
    start: usize,
    end: usize,
    level: u8,
}

/// Finds the sections whose headings are numbered and are tasks.
fn runs(blocks: &[Block]) -> Vec<Run> {
    let headings: Vec<&Heading> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Heading(heading) => Some(heading),
            _ => None,
        })
        .collect();
    let mut runs: Vec<Run> = Vec::new();
    let mut index = 0;
    while let Some(first) = headings.get(index) {
        let level = first.level;
        if !is_numbered(first) || is_numbered_above(&headings, index) {
            index += 1;
            continue;
        }
        let rest = headings.get(index..).unwrap_or_default();
        let len = rest.iter().position(|heading| heading.level < level).unwrap_or(rest.len());
        let siblings = rest.iter().take(len).filter(|heading| heading.level == level);
        let is_plan = above(&headings, index).is_some_and(section::is_plan);
        let is_of_tasks = siblings.clone().all(|heading| {
            // Beside the numbered steps of a plan there may be notes about all of it.
            (is_plan && !is_numbered(heading))
                || !section::is_of_another_kind(heading) && !PARTS.contains(&&*heading.title)
        });
        if is_of_tasks && siblings.filter(|heading| is_numbered(heading)).nth(1).is_some() {
            let end = headings.get(index + len).map_or(usize::MAX, |next| next.range.start);
            runs.push(Run { start: first.range.start, end, level });
        }
        index += len.max(1);
    }
    runs
}

fn is_numbered(heading: &Heading) -> bool {
    heading.level > 1 && Title::parse(&heading.line.words()).id.is_some()
}

/// Says whether the heading that one is below has a number, too.
fn is_numbered_above(headings: &[&Heading], index: usize) -> bool {
    above(headings, index).is_some_and(is_numbered)
}

/// Returns the heading that one is below.
fn above<'b>(headings: &[&'b Heading], index: usize) -> Option<&'b Heading> {
    let heading = headings.get(index)?;
    let above = headings.get(..index).unwrap_or_default().iter().rev();
    above.take(MAX_ABOVE).find(|above| above.level < heading.level).copied()
}

/// How far up the heading is looked for that another one is below.
const MAX_ABOVE: usize = 32;
