//! What a PRD says about the project: its name and a description.

use std::{ops::Range, path::Path};

use super::block::Block;
use super::content::Content;
use super::json::{self, Fields};
use super::line::Line;
use super::section;
use super::source::Source;

/// Returns the name and the description; the latter stands before the first
/// task, whose line is given from 1.
pub(super) fn project(content: &Content<'_>, first_task: Option<usize>) -> (String, String) {
    let Content { source, blocks, sections, json, .. } = content;
    if let Some(fields) = json.and_then(|json| Fields::of(json.root)) {
        let said = |names: &[&str]| fields.get(names).map(json::text).unwrap_or_default();
        let name = said(&["project", "projectName", "name", "title"]);
        let name = if name.is_empty() || name.starts_with('{') { file_name(source.path) } else { name };
        return (name, said(&["description", "goal", "overview"]));
    }
    let name = self::name(source, blocks, sections);
    let is_before =
        |block: &Block| first_task.is_none_or(|first| source.line_index(block.range().start) + 1 < first);
    let end = blocks.partition_point(is_before);
    (name, description(source, blocks.get(..end).unwrap_or_default(), sections))
}

/// Returns the name: the first title that opens no task section, or else the
/// name of the file.
fn name(source: &Source<'_>, blocks: &[Block], sections: &[Range<usize>]) -> String {
    let titles = blocks.iter().enumerate().filter_map(|(index, block)| match block {
        Block::Heading(heading) if heading.level == 1 && !section::open_with(sections, index) => {
            Some(heading)
        }
        _ => None,
    });
    let mut names = titles.map(|heading| without_prefix(&heading.line.words()).to_owned());
    names.find(|name| !name.is_empty()).unwrap_or_else(|| file_name(source.path))
}

/// Returns the description: the paragraphs below the title, or else the
/// overview section, or else the first paragraph before any task section.
fn description(source: &Source<'_>, blocks: &[Block], sections: &[Range<usize>]) -> String {
    let end = sections.first().map_or(blocks.len(), |section| section.start.min(blocks.len()));
    let blocks = blocks.get(..end).unwrap_or_default();
    let lead = blocks.iter().skip_while(|block| matches!(block, Block::Heading(h) if h.level == 1));
    let lead = lead.take_while(|block| !matches!(block, Block::Heading(_)));
    let lead = text(source, lead.filter(|block| is_prose(block)));
    if !lead.is_empty() {
        return lead;
    }
    let overview =
        blocks.iter().skip_while(|block| !matches!(block, Block::Heading(h) if section::is_overview(h)));
    let overview = text(source, overview.skip(1).take_while(|block| !matches!(block, Block::Heading(_))));
    if !overview.is_empty() {
        return overview;
    }
    text(source, blocks.iter().filter(|block| is_prose(block)).take(1))
}

/// What a title says of the document, not of the project, the longest first.
const PREFIXES: [&str; 6] = [
    "product requirements document",
    "product requirements",
    "feature specification",
    "implementation plan",
    "tasks",
    "prd",
];

/// Strips `PRD:`, `PRD 12 -` or `Product Requirements Document:`.
fn without_prefix(title: &str) -> &str {
    let lower = title.to_ascii_lowercase();
    for prefix in PREFIXES {
        if !lower.starts_with(prefix) {
            continue;
        }
        let rest = title.get(prefix.len()..).unwrap_or_default();
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_whitespace() || c == '#');
        if let Some(name) = rest.strip_prefix([':', '-', '–', '—']) {
            return name.trim();
        }
    }
    title
}

fn file_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    stem.strip_prefix("prd-").map(str::to_owned).unwrap_or(stem)
}

/// Says whether a block is running text, not lines such as `Status: draft`.
fn is_prose(block: &Block) -> bool {
    let is_field = |line: &Line| {
        line.opening().split_once(':').is_some_and(|(key, _)| key.split_whitespace().count() <= 3)
    };
    matches!(block, Block::Paragraph { lines, .. } if !lines.iter().all(is_field))
}

/// Returns the source of blocks, with a blank line between two.
fn text<'b>(source: &Source<'_>, blocks: impl Iterator<Item = &'b Block>) -> String {
    let texts = blocks.filter_map(|block| source.text.get(block.range().clone()));
    let texts: Vec<String> = texts.map(|text| text.trim_end().replace("\r\n", "\n")).collect();
    texts.join("\n\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_loses_what_every_prd_has() {
        assert_eq!(without_prefix("PRD: Notes"), "Notes");
        assert_eq!(without_prefix("prd 0012 — Notes"), "Notes");
        assert_eq!(without_prefix("Product Requirements Document: Notes"), "Notes");
        assert_eq!(without_prefix("PRDs made easy"), "PRDs made easy");
        assert_eq!(without_prefix("PRD"), "PRD");
    }

    #[test]
    fn a_file_gives_the_name_of_a_document_without_title() {
        assert_eq!(file_name(Path::new("docs/prd-notes.md")), "notes");
        assert_eq!(file_name(Path::new("notes.md")), "notes");
    }
}
