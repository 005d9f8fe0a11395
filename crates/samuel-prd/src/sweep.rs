//! What is left over when the tasks of a document are read.
//!
//! [`sweep`] goes through the document once more: a box that became no task is
//! told wherever it is, and in a section that has tasks so is every heading,
//! numbered line and row. Nothing falls out of a document in silence.

use std::ops::Range;

use super::block::{Block, Item};
use super::body::shorten;
use super::content::Content;
use super::draft::{Reading, Use};
use super::forms::table_names_tasks;
use super::line::Line;
use super::mark::Mark;
use super::remark::RemarkKind;
use super::section;
use super::title::Title;

/// Warns of what became no task and no part of one.
pub(super) fn sweep(reading: &mut Reading<'_, '_>, content: &Content<'_>) {
    let map = Map::new(&content.blocks, reading);
    let mut whole: Option<(u8, bool)> = None;
    for (index, block) in content.blocks.iter().enumerate() {
        if let Block::Heading(heading) = block
            && whole.is_none_or(|(level, _)| heading.level <= level)
        {
            let has_boxes = section::holds_other_checklists(heading);
            whole = section::is_about_the_whole(heading).then_some((heading.level, has_boxes));
        }
        let scope = match (whole, map.is_inside(index)) {
            (Some((_, true)), _) => continue,
            (Some(_), _) | (None, false) => Scope::Document,
            (None, true) => Scope::Section,
        };
        let mut sweeper = Sweeper { reading, scope };
        match block {
            Block::Heading(heading) if !map.has_tasks_below(index) => {
                sweeper.left(RemarkKind::IgnoredHeading, heading.range.start, &heading.line);
            }
            Block::List { items, .. } => items.iter().for_each(|item| sweeper.item(item)),
            Block::Table { rows, .. } => {
                if let Some(last) = rows.last() {
                    sweeper.cut_off(&last.range);
                }
                // One that names tasks would be read if it were alone.
                let is_of_tasks = rows.first().is_some_and(|header| table_names_tasks(&header.cells));
                let rows = match (sweeper.scope, is_of_tasks) {
                    (Scope::Section, _) => rows.as_slice(),
                    (Scope::Document, true) => rows.get(1..).unwrap_or_default(),
                    (Scope::Document, false) => &[],
                };
                for row in rows {
                    sweeper.left(RemarkKind::IgnoredRow, row.range.start, &Line::join(row.cells.clone(), 0));
                }
            }
            Block::Other { range } => sweeper.hidden(range),
            _ => {}
        }
    }
}

/// Where something is left over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// In a section that has tasks.
    Section,
    /// Anywhere else.
    Document,
}

struct Sweeper<'r, 's, 'a> {
    reading: &'r mut Reading<'s, 'a>,
    scope: Scope,
}

impl Sweeper<'_, '_, '_> {
    fn item(&mut self, item: &Item) {
        let empty = Line::default();
        let line = item.text().0.first().unwrap_or(&empty);
        if item.mark.is_some() || has_unknown_mark(line.opening()) {
            self.left(RemarkKind::IgnoredChecklist, item.range.start, line);
        } else if item.number.is_some() {
            self.left(RemarkKind::IgnoredItem, item.range.start, line);
        }
        for block in &item.blocks {
            match block {
                Block::List { items, .. } => items.iter().for_each(|item| self.item(item)),
                Block::Other { range } => self.hidden(range),
                _ => {}
            }
        }
    }

    /// Warns of lines that look like tasks where Markdown has none: in HTML, and in code
    /// of which the end is missing.
    fn hidden(&mut self, range: &Range<usize>) {
        let text = self.reading.source.text.get(range.clone()).unwrap_or_default();
        let Some(within) = swallows(text.trim_start()) else { return };
        for index in self.reading.source.line_range(range) {
            let line = self.reading.source.line(index).trim_start();
            if let Some((kind, words)) = like_a_task(line) {
                self.left_in(kind, index, &format!("\"{}\": this is in {within}", shorten(words)));
            }
        }
    }

    /// Warns of rows behind the last that a table has: it was too wide to have them.
    fn cut_off(&mut self, last: &Range<usize>) {
        let source = self.reading.source;
        let behind = source.line_index(last.start) + 1..source.line_count();
        let rows = behind.map(|index| (index, source.line(index).trim()));
        for (index, row) in rows.take_while(|(_, row)| row.starts_with('|')) {
            let what = format!("\"{}\": the table has so many columns that it ends above", shorten(row));
            self.left_in(RemarkKind::IgnoredRow, index, &what);
        }
    }

    /// Warns of a line, unless something has it.
    fn left_in(&mut self, kind: RemarkKind, index: usize, what: &str) {
        if self.reading.line_use(index) == Use::Text {
            let start = self.reading.source.line_start(index);
            self.reading.leave_out(kind, start, format!("{what}; it is left out"));
        }
    }

    /// Warns of a line, unless something has it.
    fn left(&mut self, kind: RemarkKind, start: usize, line: &Line) {
        let what = match kind {
            RemarkKind::IgnoredHeading => "heading",
            RemarkKind::IgnoredChecklist => "item with a box",
            RemarkKind::IgnoredRow => "row",
            _ => "numbered line",
        };
        let is_told = matches!(kind, RemarkKind::IgnoredChecklist | RemarkKind::IgnoredRow)
            || self.scope == Scope::Section;
        if is_told && self.reading.line_use(self.reading.source.line_index(start)) == Use::Text {
            let message = match self.scope {
                Scope::Section => format!(
                    "\"{}\": this {what} beside the tasks is none itself; it is left out",
                    shorten(&line.words())
                ),
                Scope::Document => format!(
                    "\"{}\": this {what} is not where the tasks are; it is left out",
                    shorten(&line.words())
                ),
            };
            self.reading.leave_out(kind, start, message);
        }
    }
}

/// Says what a block is in which tasks are hidden; nothing of code that is closed and of
/// comments, which are meant to hide.
fn swallows(text: &str) -> Option<&'static str> {
    match text.get(..3)? {
        fence @ ("```" | "~~~") => {
            let last = text.trim_end().lines().skip(1).last().unwrap_or_default().trim();
            let is_closed = last.starts_with(fence) && last.trim_matches(['`', '~']).is_empty();
            (!is_closed).then_some("a code block that is not closed")
        }
        "<!-" if text.contains("-->") => None,
        "<!-" => Some("a comment that is not closed"),
        start if start.starts_with(['-', '*', '+']) => Some("an indented code block"),
        start => {
            start.starts_with('<').then_some("HTML, which has no tasks without a blank line before them")
        }
    }
}

/// Returns what kind of task a line looks like, and its words.
fn like_a_task(line: &str) -> Option<(RemarkKind, &str)> {
    if line.starts_with('#') {
        let words = line.trim_start_matches('#').trim();
        return Title::parse(words).id.map(|_| (RemarkKind::IgnoredHeading, words));
    }
    let rest = line.strip_prefix(['-', '*', '+'])?.trim_start();
    let (_, _, words) = Mark::split(rest)?;
    Some((RemarkKind::IgnoredChecklist, words.trim()))
}

/// Says whether a text opens with a box whose mark nobody knows: `[?] Title`.
fn has_unknown_mark(text: &str) -> bool {
    let mut inside = text.strip_prefix('[').unwrap_or_default().chars();
    let is_mark = inside.next().is_some_and(|mark| !mark.is_uppercase() && !mark.is_numeric());
    is_mark && inside.next() == Some(']') && inside.next().is_none_or(char::is_whitespace)
}

/// Which blocks are in a section that has tasks.
struct Map {
    inside: Vec<Range<usize>>,
    /// For each block whether it is a heading with tasks below it.
    tasks_below: Vec<bool>,
}

impl Map {
    fn new(blocks: &[Block], reading: &Reading<'_, '_>) -> Self {
        let mut has_task = vec![false; blocks.len()];
        let mut lines: Vec<usize> = reading.drafts.iter().map(|draft| draft.place.line).collect();
        lines.sort_unstable();
        let mut after = 0;
        for line in lines {
            // Lines of places count from 1: here the next one starts.
            let behind = reading.source.line_start(line);
            let rest = blocks.iter().skip(after);
            after += rest.take_while(|block| block.range().start < behind).count();
            if let Some(flag) = after.checked_sub(1).and_then(|block| has_task.get_mut(block)) {
                *flag = true;
            }
        }
        let mut map = Self { inside: Vec::new(), tasks_below: vec![false; blocks.len()] };
        map.find_headings(blocks, &has_task);
        map.find_sections(blocks, &has_task);
        map
    }

    /// Finds the headings with tasks below them.
    fn find_headings(&mut self, blocks: &[Block], has_task: &[bool]) {
        // From the end: a heading above this level has a task below it.
        let mut level = 0;
        for (index, block) in blocks.iter().enumerate().rev() {
            let is_task = flag(has_task, index);
            match block {
                Block::Heading(heading) => {
                    if let Some(flag) = self.tasks_below.get_mut(index) {
                        *flag = level > heading.level;
                    }
                    level = if is_task { heading.level } else { level.min(heading.level) };
                }
                _ if is_task => level = u8::MAX,
                _ => {}
            }
        }
    }

    /// Finds the sections: what is below the topmost headings, but titles, that
    /// have tasks, and what is between topmost headings that are tasks.
    fn find_sections(&mut self, blocks: &[Block], has_task: &[bool]) {
        let mut start = 0;
        let mut top: Option<u8> = None;
        let mut holds = false;
        let mut first_task: Option<usize> = None;
        for (index, block) in blocks.iter().enumerate() {
            if let Block::Heading(heading) = block
                && top.is_none_or(|level| heading.level <= level)
            {
                if holds {
                    self.inside.push(start..index);
                }
                (start, top) = (index, (heading.level > 1).then_some(heading.level));
                holds = false;
                if top.is_some() && flag(has_task, index) {
                    self.inside.push(*first_task.get_or_insert(index)..index + 1);
                }
            }
            holds |= flag(has_task, index);
        }
        if holds {
            self.inside.push(start..blocks.len());
        }
        self.merge();
    }

    /// Sorts and joins the ranges.
    fn merge(&mut self) {
        self.inside.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in self.inside.drain(..) {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        self.inside = merged;
    }

    fn is_inside(&self, block: usize) -> bool {
        section::contain(&self.inside, block)
    }

    fn has_tasks_below(&self, block: usize) -> bool {
        flag(&self.tasks_below, block)
    }
}

fn flag(flags: &[bool], index: usize) -> bool {
    flags.get(index).copied().unwrap_or(false)
}
