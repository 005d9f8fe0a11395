//! The blocks of a document: headings, paragraphs and lists.
//!
//! [`parse`] runs the Markdown parser and keeps what tasks are made of as a
//! small tree of [`Block`]s. Code, quotes, tables and HTML are opaque: what
//! looks like a heading or a checklist in there is none.

use std::ops::Range;

use pulldown_cmark::{Event, OffsetIter, Options, Parser, Tag, TagEnd};

use super::error::{MAX_DEPTH, PrdError};
use super::line::{Line, LineBuilder, Span, SpanKind};
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
    /// Where it is.
    pub(super) range: Range<usize>,
}

/// An item of a list.
#[derive(Debug)]
pub(super) struct Item {
    /// Whether its box is ticked; nothing if it has no box.
    pub(super) checked: Option<bool>,
    /// What is in it; a short item has one paragraph.
    pub(super) blocks: Vec<Block>,
    /// Where it is.
    pub(super) range: Range<usize>,
}

impl Block {
    /// Returns where the block is.
    pub(super) fn range(&self) -> &Range<usize> {
        match self {
            Block::Heading(heading) => &heading.range,
            Block::Paragraph { range, .. } | Block::List { range, .. } | Block::Other { range } => range,
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
                        loose.get_or_insert_with(|| (LineBuilder::default(), range.clone()));
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
                let line = join(self.lines(checked), range.start);
                Block::Heading(Heading { level: *level as u8, line, range })
            }
            Tag::Paragraph => Block::Paragraph { lines: self.lines(checked), range },
            Tag::List(_) => Block::List { items: self.items(depth + 1, &range)?, range },
            _ => {
                self.skip();
                Block::Other { range }
            }
        })
    }

    fn items(&mut self, depth: usize, range: &Range<usize>) -> Result<Vec<Item>, PrdError> {
        if depth > MAX_DEPTH {
            let line = self.source.place(range.start).line;
            return Err(PrdError::TooDeep { path: self.source.path.to_owned(), line });
        }
        let mut items = Vec::new();
        while let Some((Event::Start(Tag::Item), range)) = self.next() {
            let (blocks, checked) = self.blocks(depth)?;
            items.push(Item { checked, blocks, range });
        }
        Ok(items)
    }

    /// Reads the text of a paragraph or heading up to its end.
    fn lines(&mut self, checked: &mut Option<bool>) -> Vec<Line> {
        let mut builder = LineBuilder::default();
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

fn paragraph((builder, range): (LineBuilder, Range<usize>)) -> Block {
    Block::Paragraph { lines: builder.finish(), range }
}

fn join(lines: Vec<Line>, start: usize) -> Line {
    let mut joined = Line { start, spans: Vec::new() };
    for line in lines {
        if !joined.spans.is_empty() {
            joined.spans.push(Span { kind: SpanKind::Text, text: " ".to_owned() });
        }
        joined.spans.extend(line.spans);
    }
    joined
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
