//! One line of running text, without its markup.
//!
//! Markdown's inline elements become [`Span`]s: text, code and link targets.
//! A list of files wants to know what was code, an acceptance line wants
//! everything, and a title also what only looks like markup: see
//! [`Line::title`].

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

/// What a span of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// Words.
    Text,
    /// Inline code, without its backticks.
    Code,
    /// The target of the link whose text is before it.
    Target,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) kind: SpanKind,
    pub(super) text: String,
}

/// A line of a paragraph or heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The offset of its first character in the document.
    pub(super) start: usize,
    /// Its pieces, neighbours of one kind joined.
    pub(super) spans: Vec<Span>,
    /// What the parser took out of the pieces, in their order; mostly nothing.
    pub(super) cuts: Vec<Cut>,
}

/// Where the parser took something out of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The span it is in, by its index.
    span: usize,
    /// The offset in there.
    at: usize,
    what: Taken,
}

/// What the parser took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// Stars or underscores that belong to a name or a path.
    Delimiter(&'static str),
    /// Struck text starts here.
    Strike,
    /// Struck text ends here.
    StrikeEnd,
}

/// The words of a title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TitleText {
    /// All of them.
    pub(super) text: String,
    /// Those that are not struck; nothing unless some are.
    pub(super) unstruck: Option<String>,
}

impl Line {
    /// Returns the words, with code in backticks and without link targets.
    pub(super) fn words(&self) -> String {
        render(&self.spans, false)
    }

    /// Returns the words with code in backticks and link targets in
    /// parentheses.
    pub(super) fn full(&self) -> String {
        render(&self.spans, true)
    }

    /// Returns what a title says: the words with code in backticks and link
    /// targets in parentheses, and with the stars and underscores of names such
    /// as `__init__` and of paths such as `src/**/*.rs`.
    pub(super) fn title(&self) -> TitleText {
        if self.cuts.is_empty() {
            return TitleText { text: self.full(), unstruck: None };
        }
        let mut spans = self.spans.clone();
        for cut in self.cuts.iter().rev() {
            if let (Taken::Delimiter(mark), Some(span)) = (cut.what, spans.get_mut(cut.span)) {
                span.text.insert_str(cut.at.min(span.text.len()), mark);
            }
        }
        let is_struck = self.cuts.iter().any(|cut| cut.what == Taken::Strike);
        TitleText { text: render(&spans, true), unstruck: is_struck.then(|| self.unstruck()) }
    }

    /// Returns the words that are not struck.
    fn unstruck(&self) -> String {
        let mut kept: Vec<Span> = Vec::new();
        let mut strikes = self.cuts.iter().filter(|cut| !matches!(cut.what, Taken::Delimiter(_))).peekable();
        let mut open = 0_usize;
        for (index, span) in self.spans.iter().enumerate() {
            let mut text = String::new();
            let mut from = 0;
            while let Some(cut) = strikes.next_if(|cut| cut.span == index) {
                if open == 0 {
                    text.push_str(span.text.get(from..cut.at).unwrap_or_default());
                }
                from = cut.at;
                open = if cut.what == Taken::Strike { open + 1 } else { open.saturating_sub(1) };
            }
            if open == 0 {
                text.push_str(span.text.get(from..).unwrap_or_default());
            }
            kept.push(Span { kind: span.kind, text });
        }
        kept.retain(|span| !span.text.is_empty());
        render(&kept, true)
    }

    /// Joins lines into one, with a blank between two.
    pub(super) fn join(mut lines: Vec<Line>, start: usize) -> Line {
        if let (1, Some(only)) = (lines.len(), lines.last_mut()) {
            return Line { start, ..std::mem::take(only) };
        }
        let mut joined = Line { start, ..Line::default() };
        for line in lines {
            if !joined.spans.is_empty() {
                joined.spans.push(Span { kind: SpanKind::Text, text: " ".to_owned() });
            }
            let before = joined.spans.len();
            joined.cuts.extend(line.cuts.into_iter().map(|cut| Cut { span: cut.span + before, ..cut }));
            joined.spans.extend(line.spans);
        }
        joined
    }

    /// Returns the words before the first code or link.
    pub(super) fn opening(&self) -> &str {
        match self.spans.first() {
            Some(Span { kind: SpanKind::Text, text }) => text,
            _ => "",
        }
    }

    /// Returns the line without the first bytes of its opening text.
    pub(super) fn skip(&self, bytes: usize) -> Line {
        let mut rest = self.clone();
        let Some(first) = rest.spans.first_mut() else { return rest };
        let kept = first.text.get(bytes..).unwrap_or_default().trim_start();
        let gone = first.text.len() - kept.len();
        first.text = kept.to_owned();
        for cut in rest.cuts.iter_mut().filter(|cut| cut.span == 0) {
            cut.at = cut.at.saturating_sub(gone);
        }
        if rest.spans.first().is_some_and(|first| first.text.is_empty()) {
            rest.spans.remove(0);
            for cut in &mut rest.cuts {
                // A cut at the end of what is gone is one at the start of the rest.
                (cut.span, cut.at) = if cut.span == 0 { (0, 0) } else { (cut.span - 1, cut.at) };
            }
        }
        rest
    }

    /// Says whether there is nothing but white space.
    pub(super) fn is_blank(&self) -> bool {
        self.spans.iter().all(|span| span.kind == SpanKind::Text && span.text.trim().is_empty())
    }

    fn push(&mut self, kind: SpanKind, text: &str, start: usize) {
        if self.spans.is_empty() {
            self.start = start;
        }
        match self.spans.last_mut() {
            Some(last) if last.kind == kind => last.text.push_str(text),
            _ => self.spans.push(Span { kind, text: text.to_owned() }),
        }
    }
}

/// Renders spans as one line, white space collapsed outside of code.
pub(super) fn render(spans: &[Span], with_targets: bool) -> String {
    if let [Span { kind: SpanKind::Text, text }] = spans {
        return collapse(text);
    }
    let mut text = String::new();
    for span in spans {
        match span.kind {
            SpanKind::Text => text.push_str(&span.text),
            SpanKind::Code if span.text.contains('`') => {
                text.push_str("`` ");
                text.push_str(&span.text);
                text.push_str(" ``");
            }
            SpanKind::Code => {
                text.push('`');
                text.push_str(&span.text);
                text.push('`');
            }
            SpanKind::Target if with_targets && !text.ends_with(span.text.as_str()) => {
                text.push_str(" (");
                text.push_str(&span.text);
                text.push(')');
            }
            SpanKind::Target => {}
        }
    }
    collapse(&text)
}

/// Returns the words of a text with one blank between two.
fn collapse(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Collects inline events into lines.
#[derive(Debug)]
pub(super) struct LineBuilder<'s> {
    /// The document.
    source: &'s str,
    lines: Vec<Line>,
    current: Line,
    /// The targets of the links that are open, outermost first.
    targets: Vec<String>,
}

impl<'s> LineBuilder<'s> {
    /// Starts to collect lines of a document.
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, lines: Vec::new(), current: Line::default(), targets: Vec::new() }
    }

    /// Adds an inline event. Events of blocks are none of its business.
    pub(super) fn add(&mut self, event: Event<'_>, range: &Range<usize>) {
        let start = range.start;
        match event {
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => {
                self.current.push(SpanKind::Text, &text, start);
            }
            Event::Code(text) => self.current.push(SpanKind::Code, &text, start),
            Event::SoftBreak | Event::HardBreak => self.lines.push(std::mem::take(&mut self.current)),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.targets.push(dest_url.into_string());
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(target) = self.targets.pop().filter(|target| !target.is_empty()) {
                    self.current.push(SpanKind::Target, &target, start);
                }
            }
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => self.delimiter(range, 1),
            Event::Start(Tag::Strong) | Event::End(TagEnd::Strong) => self.delimiter(range, 2),
            Event::Start(Tag::Strikethrough) => self.cut(Taken::Strike),
            Event::End(TagEnd::Strikethrough) => self.cut(Taken::StrikeEnd),
            _ => {}
        }
    }

    /// Notes stars or underscores that are none of the markup's.
    fn delimiter(&mut self, range: &Range<usize>, len: usize) {
        // Of a run of stars the parser may have taken a part.
        const RUN: usize = 4;
        let Some(emphasis) = self.source.get(range.clone()) else { return };
        let mark = match (emphasis.starts_with('_'), len) {
            (true, 1) => "_",
            (true, _) => "__",
            (false, 1) => "*",
            (false, _) => "**",
        };
        let before = self.source.get(..range.start).unwrap_or_default();
        let before = before.chars().rev().take(RUN).find(|c| *c != '*');
        let mut behind =
            self.source.get(range.end..).unwrap_or_default().chars().take(RUN).skip_while(|c| *c == '*');
        let (after, then) = (behind.next(), behind.next());
        let inside = emphasis.get(len..emphasis.len().saturating_sub(len)).unwrap_or_default();
        if is_part_of_name(mark, inside) || touches_path(before, after, then) {
            self.cut(Taken::Delimiter(mark));
        }
    }

    fn cut(&mut self, what: Taken) {
        let last = self.current.spans.len().checked_sub(1);
        let at = self.current.spans.last().map_or(0, |span| span.text.len());
        let (span, at) = match self.current.spans.last() {
            // Behind code it belongs to the text that comes next.
            Some(last) if last.kind != SpanKind::Text => (self.current.spans.len(), 0),
            _ => (last.unwrap_or(0), at),
        };
        self.current.cuts.push(Cut { span, at, what });
    }

    /// Returns the lines that have something on them.
    pub(super) fn finish(mut self) -> Vec<Line> {
        self.lines.push(self.current);
        self.lines.retain(|line| !line.is_blank());
        self.lines
    }
}

/// Says whether underscores make a name such as `__init__` or `_id_`.
fn is_part_of_name(mark: &str, inside: &str) -> bool {
    /// No name is longer; a paragraph that is one emphasis is not read twice.
    const LONGEST: usize = 64;
    let is_name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    mark.starts_with('_') && inside.len() <= LONGEST && inside.bytes().all(is_name)
}

/// Says whether emphasis touches what is a path or a word: `src/**/*.rs`.
fn touches_path(before: Option<char>, after: Option<char>, then: Option<char>) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '/' | '\\' | '_');
    let goes_on = match after {
        Some('.') => then.is_some_and(char::is_alphanumeric),
        after => after.is_some_and(is_inner),
    };
    before.is_some_and(is_inner) || goes_on
}

#[cfg(test)]
mod tests {
    use super::super::{block, block::Block, source::Document, source::Source};
    use super::*;

    fn title(text: &str) -> TitleText {
        let document = Document::new("a.md", text);
        let Ok(source) = Source::new(&document) else { return TitleText::default() };
        match block::parse(&source).unwrap_or_default().first() {
            Some(Block::Paragraph { lines, .. }) => lines.first().map(Line::title).unwrap_or_default(),
            _ => TitleText::default(),
        }
    }

    #[test]
    fn a_title_keeps_names_globs_and_link_targets() {
        for text in [
            "Write __init__.py and __main__",
            "Match src/**/*.rs and *.toml",
            "Multiply 2*3*4",
            "Take **kwargs or *args",
            "Type `a_b` as Option<T>",
        ] {
            assert_eq!(title(text).text, text);
        }
        assert_eq!(title("**Store** the *whole* note.").text, "Store the whole note.");
        assert_eq!(title("See [the map](docs/a.md) first").text, "See the map (docs/a.md) first");
    }

    #[test]
    fn what_is_not_struck_is_told_from_what_is() {
        assert_eq!(title("Plain").unstruck, None);
        assert_eq!(title("~~1.2 Old~~").unstruck.as_deref(), Some(""));
        assert_eq!(title("1.2 ~~Old `x`~~ (too slow)").unstruck.as_deref(), Some("1.2 (too slow)"));
        assert_eq!(title("1.2 ~~Old~~ (too slow)").text, "1.2 Old (too slow)");
    }
}
