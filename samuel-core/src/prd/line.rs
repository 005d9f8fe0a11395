//! One line of running text, without its markup.
//!
//! Markdown's inline elements become [`Span`]s: text, code and link targets.
//! A title wants the words, a list of files wants to know what was code, and
//! an acceptance line wants everything.

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
        if let Some(first) = rest.spans.first_mut() {
            first.text = first.text.get(bytes..).unwrap_or_default().trim_start().to_owned();
        }
        rest.spans.retain(|span| !span.text.is_empty());
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
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collects inline events into lines.
#[derive(Debug, Default)]
pub(super) struct LineBuilder {
    lines: Vec<Line>,
    current: Line,
    /// The targets of the links that are open, outermost first.
    targets: Vec<String>,
}

impl LineBuilder {
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
            _ => {}
        }
    }

    /// Returns the lines that have something on them.
    pub(super) fn finish(mut self) -> Vec<Line> {
        self.lines.push(self.current);
        self.lines.retain(|line| !line.is_blank());
        self.lines
    }
}
