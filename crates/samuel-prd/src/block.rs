//! The blocks of a document: headings, paragraphs and lists.
//!
//! [`parse`] runs the Markdown parser and keeps what tasks are made of as a
//! small tree of [`Block`]s. Code, quotes and HTML are opaque: what looks like
//! a heading or a checklist in there is none.

use std::ops::Range;

use pulldown_cmark::{Event, OffsetIter, Options, Parser, Tag, TagEnd};

use super::error::{MAX_DEPTH, PrdError};
use super::line::{Line, LineBuilder};
use super::mark::Mark;
use super::section;
use super::source::Source;

/// A block of a document.
#[derive(Debug)]
pub(super) enum Block {
    /// A heading; several lines if it is underlined.
    Heading(Heading),
    /// Running text.
    Paragraph {
        /// Its lines that are not blank.
        lines: Vec<Line>,
        /// Where it is.
        range: Range<usize>,
    },
    /// A list.
    List {
        /// Its items.
        items: Vec<Item>,
        /// Where it is.
        range: Range<usize>,
    },
    /// A table.
    Table {
        /// The cells of its rows, the header first.
        rows: Vec<Row>,
        /// Where it is.
        range: Range<usize>,
    },
    /// Anything else.
    Other {
        /// Where it is.
        range: Range<usize>,
    },
}

/// A heading that is in no other block.
#[derive(Debug)]
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: u8,
    /// Its text, joined into one line.
    pub(super) line: Line,
    /// Its words as [`section`] compares them. They are asked for again and again.
    pub(super) title: Box<str>,
    /// What they say it is about.
    pub(super) known: Option<section::Known>,
    /// Where it is.
    pub(super) range: Range<usize>,
}

/// An item of a list.
#[derive(Debug)]
pub(super) struct Item {
    /// What its box says; nothing if it has no box.
    pub(super) mark: Option<Mark>,
    /// Whether a star behind the box makes it optional.
    pub(super) is_optional: bool,
    /// Its number, if the list is numbered.
    pub(super) number: Option<u64>,
    /// What is in it; a short item has one paragraph.
    pub(super) blocks: Vec<Block>,
    /// Where it is.
    pub(super) range: Range<usize>,
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    /// Its cells.
    pub(super) cells: Vec<Line>,
    /// Where it is.
    pub(super) range: Range<usize>,
}

impl Item {
    /// Returns the lines of its own text, and the blocks below them.
    pub(super) fn text(&self) -> (&[Line], &[Block]) {
        match self.blocks.split_first() {
            Some((Block::Paragraph { lines, .. }, below)) => (lines, below),
            _ => (&[], &self.blocks),
        }
    }

    /// Takes a box that the parser does not know, such as `[-]`, off the text.
    fn take_mark(&mut self) {
        let Some(Block::Paragraph { lines, .. }) = self.blocks.first_mut() else { return };
        let Some(first) = lines.first_mut() else { return };
        let Some((mark, is_optional, rest)) = Mark::split(first.opening()) else { return };
        let used = first.opening().len() - rest.len();
        (self.mark, self.is_optional) = (Some(mark), is_optional);
        *first = first.skip(used);
    }
}

impl Block {
    /// Returns where the block is.
    pub(super) fn range(&self) -> &Range<usize> {
        match self {
            Block::Heading(heading) => &heading.range,
            Block::Paragraph { range, .. }
            | Block::List { range, .. }
            | Block::Table { range, .. }
            | Block::Other { range } => range,
        }
    }
}

/// Parses a document into its blocks.
pub(super) fn parse(source: &Source<'_>) -> Result<Vec<Block>, PrdError> {
    let options = Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let markdown = source.text.get(source.body_start..).unwrap_or_default();
    let events = Parser::new_ext(markdown, options).into_offset_iter();
    Reader { events, source }.blocks(0).map(|(blocks, _)| blocks)
}

struct Reader<'s, 'a> {
    events: OffsetIter<'a>,
    source: &'s Source<'a>,
}

impl<'a> Reader<'_, 'a> {
    /// Reads blocks up to the end of the one that holds them, and says
    /// whether they open with a box.
    fn blocks(&mut self, depth: usize) -> Result<(Vec<Block>, Option<bool>), PrdError> {
        let mut blocks = Vec::new();
        let mut checked = None;
        // A tight item holds its text directly, without a paragraph around it.
        let mut loose: Option<(LineBuilder, Range<usize>)> = None;
        while let Some((event, range)) = self.next() {
            match event {
                Event::TaskListMarker(ticked) => checked = Some(ticked),
                event if is_inline(&event) => {
                    let (builder, so_far) =
                        loose.get_or_insert_with(|| (LineBuilder::new(self.source.text), range.clone()));
                    so_far.end = so_far.end.max(range.end);
                    builder.add(event, &range);
                }
                event => {
                    blocks.extend(loose.take().map(paragraph));
                    match event {
                        Event::Start(tag) => blocks.push(self.block(&tag, range, depth, &mut checked)?),
                        Event::Rule => blocks.push(Block::Other { range }),
                        _ => return Ok((blocks, checked)),
                    }
                }
            }
        }
        blocks.extend(loose.map(paragraph));
        Ok((blocks, checked))
    }

    fn block(
        &mut self,
        tag: &Tag<'a>,
        range: Range<usize>,
        depth: usize,
        checked: &mut Option<bool>,
    ) -> Result<Block, PrdError> {
        Ok(match tag {
            Tag::Heading { level, .. } => {
                let line = Line::join(self.lines(checked), range.start);
                let title = section::title(&line).into_boxed_str();
                let known = section::known(&title);
                Block::Heading(Heading { level: *level as u8, line, title, known, range })
            }
            Tag::Paragraph => Block::Paragraph { lines: self.lines(checked), range },
            Tag::List(first) => Block::List { items: self.items(depth + 1, *first, &range)?, range },
            Tag::Table(_) => Block::Table { rows: self.rows(), range },
            _ => {
                self.skip();
                Block::Other { range }
            }
        })
    }

    fn items(
        &mut self,
        depth: usize,
        first: Option<u64>,
        range: &Range<usize>,
    ) -> Result<Vec<Item>, PrdError> {
        if depth > MAX_DEPTH {
            let line = self.source.place(range.start).line;
            return Err(PrdError::TooDeep { path: self.source.path.to_owned(), line });
        }
        let mut items = Vec::new();
        while let Some((Event::Start(Tag::Item), range)) = self.next() {
            let (blocks, checked) = self.blocks(depth)?;
            let mark = checked.map(|ticked| if ticked { Mark::Done } else { Mark::Open });
            let number = first.map(|first| self.number(&range).unwrap_or(first));
            let mut item = Item { mark, is_optional: false, number, blocks, range };
            if mark.is_none() {
                item.take_mark();
            }
            items.push(item);
        }
        Ok(items)
    }

    /// Returns the number that is written before an item.
    fn number(&self, range: &Range<usize>) -> Option<u64> {
        let text = self.source.text.get(range.clone())?;
        text.get(..text.find(|c: char| !c.is_ascii_digit())?)?.parse().ok()
    }

    /// Reads the rows of a table up to its end.
    fn rows(&mut self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut cell = LineBuilder::new(self.source.text);
        while let Some((event, range)) = self.next() {
            match event {
                Event::End(TagEnd::Table) => break,
                Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Row { cells: Vec::new(), range }),
                Event::Start(Tag::TableCell) => cell = LineBuilder::new(self.source.text),
                Event::End(TagEnd::TableCell) => {
                    let done = std::mem::replace(&mut cell, LineBuilder::new(self.source.text));
                    if let Some(row) = rows.last_mut() {
                        row.cells.push(Line::join(done.finish(), range.start));
                    }
                }
                event => cell.add(event, &range),
            }
        }
        rows
    }

    /// Reads the text of a paragraph or heading up to its end.
    fn lines(&mut self, checked: &mut Option<bool>) -> Vec<Line> {
        let mut builder = LineBuilder::new(self.source.text);
        while let Some((event, range)) = self.next() {
            match event {
                Event::End(TagEnd::Paragraph | TagEnd::Heading(_)) => break,
                Event::TaskListMarker(ticked) => *checked = Some(ticked),
                event => builder.add(event, &range),
            }
        }
        builder.finish()
    }

    /// Skips to the end of a block that has just started.
    fn skip(&mut self) {
        let mut open = 1_usize;
        while open > 0 {
            match self.events.next() {
                Some((Event::Start(_), _)) => open += 1,
                Some((Event::End(_), _)) => open -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Returns the next event with its place in the whole document.
    fn next(&mut self) -> Option<(Event<'a>, Range<usize>)> {
        let shift = self.source.body_start;
        self.events.next().map(|(event, range)| (event, range.start + shift..range.end + shift))
    }
}

fn paragraph((builder, range): (LineBuilder<'_>, Range<usize>)) -> Block {
    Block::Paragraph { lines: builder.finish(), range }
}

fn is_inline(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => matches!(
            tag,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
        ),
        Event::End(end) => matches!(
            end,
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
        ),
        Event::Rule | Event::TaskListMarker(_) => false,
        _ => true,
    }
}
