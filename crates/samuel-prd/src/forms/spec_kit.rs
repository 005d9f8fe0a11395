//! The `tasks.md` of GitHub's spec-kit: `- [ ] T001 [P] [US1] Title`.
//!
//! A task knows its phase, its story and whether it may run beside others: the
//! first lines of its description say so. The files are those its title names.

use crate::block::{Block, Item};
use crate::checklist::{self, Rules};
use crate::content::Content;
use crate::draft::Reading;
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::section;
use crate::shapes::is_spec_kit_id;
use crate::title::Title;

pub(crate) struct SpecKit;

impl Reader for SpecKit {
    fn form(&self) -> Form {
        Form::SpecKit
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        if shapes.spec_kit_boxes * 2 >= shapes.boxes && shapes.spec_kit_boxes > 0 {
            return Confidence(95);
        }
        Confidence(60).if_so(shapes.spec_kit_boxes > 0, 20 * u8::from(shapes.phase_headings > 0))
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        let rules = Rules { title, waits_for_parent: false };
        let mut above: Vec<(u8, String)> = Vec::new();
        for block in section::outside_other_checklists(&content.blocks) {
            if let Block::Heading(heading) = block {
                above.retain(|(level, _)| *level < heading.level);
                if heading.level > 1 {
                    above.push((heading.level, heading.line.words()));
                }
            }
            let before = reading.drafts.len();
            rules.block(reading, block, None)?;
            let phase: Vec<&str> = above.iter().map(|(_, words)| words.as_str()).collect();
            for draft in reading.drafts.get_mut(before..).unwrap_or_default() {
                let (labels, title) = labels(&draft.title);
                let mut notes: Vec<String> = Vec::new();
                if !phase.is_empty() {
                    notes.push(phase.join(" / "));
                }
                notes.extend(labels);
                draft.files_to_modify.extend(files(title));
                draft.title = title.to_owned();
                let notes = notes.join("\n");
                draft.description = match draft.description.is_empty() {
                    true => notes,
                    false => format!("{notes}\n\n{}", draft.description),
                };
            }
        }
        Ok(())
    }
}

/// Reads the id in front, with or without brackets around it.
fn title(item: &Item) -> Title {
    let title = checklist::plain_title(item);
    if title.id.is_some() {
        return title;
    }
    let end = title.words.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(title.words.len());
    match title.words.split_at_checked(end) {
        Some((id, rest)) if is_spec_kit_id(id) => {
            let rest = rest.trim_start_matches(':').trim_start().to_owned();
            Title { id: Some(id.parse()), words: rest, ..title }
        }
        _ => title,
    }
}

/// Takes `[P]` and `[US1]` off the start of a title.
fn labels(title: &str) -> (Vec<String>, &str) {
    let mut labels = Vec::new();
    let mut rest = title;
    while let Some((label, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        let behind = behind.trim_start();
        let is_label = label.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b',' | b' ' | b'-'));
        if behind.is_empty() || label.is_empty() || label.len() > MAX_LABEL || !is_label {
            break;
        }
        labels.push(match label {
            "P" | "p" => "May run in parallel [P].".to_owned(),
            label => format!("Story: {label}"),
        });
        rest = behind;
    }
    (labels, rest)
}

/// No label of a story is longer.
const MAX_LABEL: usize = 24;

/// Returns the paths that a title names: words with a slash and an ending.
fn files(title: &str) -> Vec<String> {
    let words = title.split(|c: char| c.is_whitespace() || matches!(c, '`' | ',' | ';' | '(' | ')' | '"'));
    let words = words.map(|word| word.trim_end_matches(['.', ':']));
    words.filter(|word| is_path(word)).map(str::to_owned).collect()
}

fn is_path(word: &str) -> bool {
    let Some((directory, name)) = word.rsplit_once('/') else { return false };
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    !directory.contains(':')
        && ending
            .is_some_and(|ending| !ending.is_empty() && ending.bytes().all(|c| c.is_ascii_alphanumeric()))
}
