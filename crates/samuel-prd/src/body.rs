//! The body of a task: its metadata and, what is left, its description.
//!
//! [`Body`] walks the blocks below a title, fills the fields of the task's
//! draft and marks the lines it used. It is the same for every form; they
//! differ in what a box in a body is, see [`Boxes`].

use super::block::{Block, Item};
use super::draft::{Reading, Reference};
use super::label::Label;
use super::line::Line;
use super::remark::RemarkKind;
use super::value::{self, FileEntry};

/// What the items with a box in a body are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boxes {
    /// What must hold for the task: it is a heading.
    Acceptance,
    /// Tasks of their own: it is an item itself.
    Tasks,
    /// Its steps, which belong to the description.
    Steps,
}

/// A body that is being read.
#[derive(Debug)]
pub(super) struct Body<'r, 's, 'a, 'b> {
    reading: &'r mut Reading<'s, 'a>,
    /// The draft whose body it is, by its index.
    draft: usize,
    boxes: Boxes,
    /// The items that are tasks of their own.
    children: Vec<&'b Item>,
}

impl<'r, 's, 'a, 'b> Body<'r, 's, 'a, 'b> {
    /// Starts to read the body of a draft.
    pub(super) fn new(reading: &'r mut Reading<'s, 'a>, draft: usize, boxes: Boxes) -> Self {
        Self { reading, draft, boxes, children: Vec::new() }
    }

    /// Returns the items that are tasks of their own, in their order.
    pub(super) fn into_children(self) -> Vec<&'b Item> {
        self.children
    }

    /// Reads blocks, up to those of nested items.
    pub(super) fn read(&mut self, blocks: &'b [Block]) {
        self.read_after(None, blocks);
    }

    /// Reads blocks; a list that opens them has the values of a label.
    pub(super) fn read_after(&mut self, mut open: Option<Label>, blocks: &'b [Block]) {
        for (index, block) in blocks.iter().enumerate() {
            open = match block {
                Block::Paragraph { lines, .. } => {
                    let list_follows = matches!(blocks.get(index + 1), Some(Block::List { .. }));
                    self.paragraph(lines, open, list_follows)
                }
                Block::List { items, .. } => {
                    match open {
                        Some(label) => self.values(label, items),
                        None => self.items(items),
                    }
                    None
                }
                Block::Heading(_) | Block::Table { .. } | Block::Other { .. } => None,
            };
        }
    }

    /// Reads what is below a heading that is a label.
    pub(super) fn labelled(&mut self, label: Label, blocks: &'b [Block]) {
        for block in blocks {
            match block {
                Block::Paragraph { lines, .. } => {
                    self.paragraph(lines, Some(label), false);
                }
                Block::List { items, .. } => self.values(label, items),
                Block::Heading(_) | Block::Table { .. } | Block::Other { .. } => {}
            }
        }
    }

    /// Reads the lines of a paragraph and returns the label that a list after
    /// it has values for. `open` is such a label from before.
    pub(super) fn paragraph(
        &mut self,
        lines: &[Line],
        mut open: Option<Label>,
        list_follows: bool,
    ) -> Option<Label> {
        if let ([line], true) = (lines, list_follows)
            && let Some(label) = Label::of_whole(line)
        {
            self.reading.take_text(line);
            return Some(label);
        }
        let mut rest = lines;
        while let Some((first, behind)) = rest.split_first() {
            let labelled = Label::split(first).or_else(|| open.map(|label| (label, first.clone())));
            let Some((label, value)) = labelled else {
                rest = behind;
                continue;
            };
            if value.is_blank() {
                self.reading.take_text(first);
                (open, rest) = (Some(label), behind);
                continue;
            }
            let wrapped = behind.iter().take_while(|line| Label::split(line).is_none()).count();
            let (wrapped, behind) = behind.split_at_checked(wrapped).unwrap_or((behind, &[]));
            let used = if label.is_prose() {
                self.wrapped_prose(label, &value, wrapped)
            } else {
                self.wrapped_entries(label, &value, wrapped)
            };
            rest.iter().take(used).for_each(|line| self.reading.take_text(line));
            (open, rest) = (None, behind);
        }
        open.filter(|label| label.takes_list())
    }

    /// Uses prose that stands in a paragraph, with the lines it goes on in:
    /// one value for each semicolon. Returns how many lines it used.
    fn wrapped_prose(&mut self, label: Label, value: &Line, wrapped: &[Line]) -> usize {
        let lines: Vec<String> = std::iter::once(value).chain(wrapped).map(Line::full).collect();
        let text = lines.join(" ");
        if text.contains('`') {
            self.add_prose(label, text);
        } else {
            text.split("; ").for_each(|part| self.add_prose(label, part.trim().to_owned()));
        }
        1 + wrapped.len()
    }

    /// Uses entries that stand in a paragraph; they go on in the next line
    /// after a comma. Returns how many lines it used, 0 if they are none.
    fn wrapped_entries(&mut self, label: Label, value: &Line, wrapped: &[Line]) -> usize {
        let mut used = 0;
        let mut goes_on = true;
        for line in std::iter::once(value).chain(wrapped) {
            if !goes_on || !self.entries(label, line) {
                break;
            }
            used += 1;
            goes_on = line.words().ends_with(',');
        }
        used
    }

    /// Uses the items of a list below a label.
    fn values(&mut self, label: Label, items: &'b [Item]) {
        for item in items {
            if item.mark.is_some() && self.boxes == Boxes::Steps {
                // A list of files runs on into that of the steps.
                continue;
            }
            let Some((Block::Paragraph { lines, .. }, below)) = item.blocks.split_first() else {
                self.read(&item.blocks);
                continue;
            };
            if lines.first().is_some_and(|line| Label::split(line).is_some()) {
                self.read(&item.blocks);
                continue;
            }
            self.listed(label, lines);
            for block in below {
                // Code and further paragraphs stay in the description.
                if let Block::List { items, .. } = block {
                    self.values(label, items);
                }
            }
        }
    }

    /// Uses the text of one item of a list below a label.
    fn listed(&mut self, label: Label, lines: &[Line]) {
        let text: Vec<String> = lines.iter().map(Line::full).collect();
        if label.is_prose() {
            lines.iter().for_each(|line| self.reading.take_text(line));
            self.add_prose(label, text.join(" "));
            return;
        }
        let Some(first) = lines.first() else { return };
        if !self.entries(label, first) {
            if label == Label::Requires {
                return;
            }
            let message =
                format!("\"{}\" does not name a file; put the path in backticks", shorten(&text.join(" ")));
            self.reading.leave_out(RemarkKind::UnreadableFile, first.start, message);
        }
        lines.iter().for_each(|line| self.reading.take_text(line));
    }

    /// Uses the entries of one line. Says whether they are such entries.
    fn entries(&mut self, label: Label, line: &Line) -> bool {
        match label {
            Label::Acceptance | Label::Guardrails => self.add_prose(label, line.full()),
            Label::Files | Label::Create | Label::Modify => match value::files(line) {
                Some(files) => self.files(label, files),
                None => return false,
            },
            // What is required may be something else than a task.
            Label::Requires if value::only_references(&line.words()).is_none() => return false,
            Label::DependsOn | Label::Requires => self.depends_on(line),
            Label::Priority => self.priority(line),
            Label::Complexity => self.complexity(line),
        }
        true
    }

    fn add_prose(&mut self, label: Label, text: String) {
        let Some(draft) = self.reading.drafts.get_mut(self.draft) else { return };
        let lines = if label == Label::Guardrails { &mut draft.guardrails } else { &mut draft.acceptance };
        if !value::is_none_word(&text) {
            lines.push(text);
        }
    }

    fn files(&mut self, label: Label, files: Vec<FileEntry>) {
        let Some(draft) = self.reading.drafts.get_mut(self.draft) else { return };
        for file in files {
            let is_new = label == Label::Create || (label == Label::Files && file.is_new);
            let paths = if is_new { &mut draft.files_to_create } else { &mut draft.files_to_modify };
            paths.push(file.path);
        }
    }

    fn depends_on(&mut self, line: &Line) {
        let found = value::references(&line.words());
        let place = self.reading.source.place(line.start);
        for text in found.unknown {
            let message = format!("\"{}\" does not name a task to depend on", shorten(&text));
            self.reading.remarks.warn(RemarkKind::DanglingDependency, place, message);
        }
        let Some(draft) = self.reading.drafts.get_mut(self.draft) else { return };
        draft.depends_on.extend(found.ids.into_iter().map(|id| Reference { id, place }));
    }

    fn priority(&mut self, line: &Line) {
        let words = line.words();
        let word = value::first_word(&words);
        let Some(draft) = self.reading.drafts.get_mut(self.draft) else { return };
        if let Some(priority) = value::priority(word) {
            draft.priority = priority;
            return;
        }
        let place = self.reading.source.place(line.start);
        self.reading.warn_priority(place, &shorten(&words));
    }

    fn complexity(&mut self, line: &Line) {
        let words = line.words();
        let Some(draft) = self.reading.drafts.get_mut(self.draft) else { return };
        match value::complexity(value::first_word(&words)) {
            Some(complexity) => draft.complexity = complexity,
            None => {
                let place = self.reading.source.place(line.start);
                self.reading.warn_complexity(place, &shorten(&words));
            }
        }
    }

    /// Reads the items of a list that has no label.
    fn items(&mut self, items: &'b [Item]) {
        for item in items {
            match (item.mark, self.boxes) {
                (Some(_), Boxes::Tasks) => self.children.push(item),
                (Some(_), Boxes::Acceptance) => self.values(Label::Acceptance, std::slice::from_ref(item)),
                (Some(_), Boxes::Steps) => {}
                (None, _) => self.read(&item.blocks),
            }
        }
    }
}

/// Shortens a text of the document for a message.
pub(super) fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
