//! An excerpt: what a PRD says around one of its tasks.
//!
//! [`excerpt`] reads a PRD again as its conversion did, so it knows which lines
//! became tasks and which are text around them. Of the text it keeps what fits
//! into a number of tokens, in this order:
//!
//! 1. the sections that the task is in, from the inside out;
//! 2. the document's opening, its goals and overview;
//! 3. requirements, constraints and acceptance criteria;
//! 4. what is no goal;
//! 5. every other section without tasks, in the order of the document.
//!
//! A section that does not fit is cut between two lines. Lines of tasks are never
//! in it: the plan has them. JSON has nothing around its tasks.

use std::{cmp::Reverse, ops::Range};

use super::block::Block;
use super::content::Content;
use super::convert::from_prd;
use super::draft::Use;
use super::error::PrdError;
use super::resolve;
use super::source::{Document, Place, Source as Text};
use samuel_model::text::{self, CHARS_PER_TOKEN, counted};
use samuel_model::{Source, Task};

/// How many passages that were left out an excerpt names.
const MAX_LEFT_OUT: usize = 20;
/// The longest title of a passage, in bytes.
const MAX_TITLE_BYTES: usize = 120;

/// What titles of sections have in them, in lower case, the first that fits.
const RANKS: [(Rank, &[&str]); 3] = [
    (Rank::NonGoals, &["non-goal", "non goal", "nongoal", "out of scope", "not in scope", "exclusion"]),
    (
        Rank::Requirements,
        &[
            "requirement",
            "constraint",
            "acceptance",
            "criteria",
            "definition of done",
            "guardrail",
            "success",
        ],
    ),
    (
        Rank::Goals,
        &[
            "goal",
            "objective",
            "overview",
            "summary",
            "introduction",
            "description",
            "purpose",
            "problem",
            "motivation",
            "background",
            "context",
            "vision",
        ],
    ),
];

/// What a PRD says around one of its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// What fits, the most useful first.
    pub quoted: Vec<Quoted>,
    /// What does not, in the same order: at most 20 passages.
    pub left_out: Vec<Passage>,
    /// How many more passages do not.
    pub more_left_out: usize,
}

/// A passage with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Where it is.
    pub passage: Passage,
    /// Its Markdown, with the heading, without lines of tasks.
    pub text: String,
}

/// Where in a PRD something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The title of its section; empty for text before the first heading.
    pub title: String,
    /// Its first line, from 1.
    pub first_line: usize,
    /// Its last line, from 1.
    pub last_line: usize,
}

impl Excerpt {
    /// Returns the text of all passages, with a blank line between two.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.quoted.iter().map(|quoted| quoted.text.as_str()).collect();
        texts.join("\n\n")
    }

    /// Names what is left out, on one line, such as `"Risks" (lines 80-95)`;
    /// nothing where all fits.
    pub fn left_out(&self) -> Option<String> {
        let mut names: Vec<String> = self.left_out.iter().map(Passage::name).collect();
        if self.more_left_out > 0 {
            names.push(counted(self.more_left_out, "more passage"));
        }
        (!names.is_empty()).then(|| names.join(", "))
    }
}

impl Passage {
    fn name(&self) -> String {
        let lines = match self.last_line - self.first_line {
            0 => format!("line {}", self.first_line),
            _ => format!("lines {}-{}", self.first_line, self.last_line),
        };
        if self.title.is_empty() { lines } else { format!("\"{}\" ({lines})", self.title) }
    }
}

/// Returns what a PRD says around a task, as much as fits into `max_tokens`.
///
/// `tasks` is the task and then the groups it is in, from the inside out; around
/// the first of them that the PRD has is the excerpt. Without one it is of what
/// is about the whole. A section whose text is `said` already is left out.
///
/// # Errors
/// Returns [`PrdError`] for a document that could not be converted.
///
/// ```
/// use samuel_model::{Task, TaskId};
/// use samuel_prd::{Document, excerpt};
///
/// let prd = Document::new("prd.md", "# Notes\n\n## Tasks\n\nIn one file.\n\n- [ ] 1 Store\n\n## Risks\n\nFew.\n");
/// let task = Task::new(TaskId::new("1"), "Store");
/// let found = excerpt(&prd, &[&task], "", 1_000)?;
///
/// assert_eq!(found.text(), "## Tasks\n\nIn one file.\n\n## Risks\n\nFew.");
/// assert_eq!(found.left_out(), None);
/// # Ok::<(), samuel_prd::PrdError>(())
/// ```
pub fn excerpt(prd: &Document, tasks: &[&Task], said: &str, max_tokens: usize) -> Result<Excerpt, PrdError> {
    let content = Content::parse(Text::new(prd)?)?;
    if content.json.is_some() {
        return Ok(Excerpt::default());
    }
    let found = from_prd(None, &content)?;
    let mut remarks = found.remarks;
    let placed = resolve::tasks(found.drafts, &mut remarks, jiff::Timestamp::UNIX_EPOCH);
    let at = tasks.iter().find_map(|task| place_of(task, &placed));
    let outline = Outline::new(&content, found.uses);
    let mut parts = outline.parts(at.map(|place| place.line - 1));
    parts.sort_by_key(|part| (part.rank, Reverse(part.depth), part.lines.start));
    let mut room = Room { chars: max_tokens.saturating_mul(CHARS_PER_TOKEN), excerpt: Excerpt::default() };
    for part in parts {
        room.add(&outline, &part, said.trim());
    }
    Ok(room.excerpt)
}

/// Finds a task among those that the PRD has now.
fn place_of(task: &Task, placed: &[(Task, Place)]) -> Option<Place> {
    let is_titled = |other: &Task| other.title == task.title;
    let find = |is: &dyn Fn(&Task) -> bool| placed.iter().find(|(task, _)| is(task)).map(|(_, place)| *place);
    find(&|other| other.id == task.id && is_titled(other))
        .or_else(|| find(&is_titled))
        .or_else(|| find(&|other| other.id == task.id && task.source == Source::Prd))
}

/// What a section is to the task, the most useful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Own,
    Goals,
    Requirements,
    NonGoals,
    Other,
}

impl Rank {
    fn of(title: &str) -> Self {
        let fits = |words: &[&str]| words.iter().any(|word| title.contains(word));
        RANKS.iter().find(|(_, words)| fits(words)).map_or(Self::Other, |(rank, _)| *rank)
    }
}

/// A section, or the part of one before its first subsection.
struct Part {
    rank: Rank,
    /// How deep the section is that makes it the task's own.
    depth: u8,
    title: String,
    lines: Range<usize>,
    /// The line, from 0, before which there is only the heading.
    body: usize,
}

/// The sections of a document.
struct Outline<'c> {
    source: &'c Text<'c>,
    uses: Vec<Use>,
    sections: Vec<Section>,
    /// Before each line, how many lines of tasks there are.
    task_lines: Vec<usize>,
}

struct Section {
    /// 0 before the first heading.
    level: u8,
    /// As it stands in the document.
    title: String,
    /// In lower case, without a number.
    words: String,
    /// Its lines, from 0, without those of subsections.
    own: Range<usize>,
    /// The first line behind its heading.
    body: usize,
    /// The line that it ends before, its subsections included.
    end: usize,
}

impl<'c> Outline<'c> {
    fn new(content: &'c Content<'c>, uses: Vec<Use>) -> Self {
        let source = &content.source;
        let (first, count) = (source.line_index(source.body_start), source.line_count());
        let (title, words) = (String::new(), String::new());
        let mut sections =
            vec![Section { level: 0, title, words, own: first..count, body: first, end: count }];
        for block in &content.blocks {
            let Block::Heading(heading) = block else { continue };
            let Range { start, end: body } = source.line_range(&heading.range);
            if let Some(before) = sections.last_mut() {
                before.own.end = start;
            }
            sections.push(Section {
                level: heading.level,
                title: text::excerpt(&heading.line.words(), MAX_TITLE_BYTES),
                words: heading.title.to_string(),
                own: start..count,
                body,
                end: count,
            });
        }
        let mut task_lines = Vec::with_capacity(count + 1);
        let mut so_far = 0;
        for line in 0..=count {
            task_lines.push(so_far);
            so_far += usize::from(uses.get(line) == Some(&Use::Task));
        }
        close(&mut sections);
        Self { source, uses, sections, task_lines }
    }

    /// Takes the document apart, around a line of it, from 0.
    fn parts(&self, task: Option<usize>) -> Vec<Part> {
        let around = task.map(|line| self.around(line)).unwrap_or_default();
        let mut parts: Vec<Part> = Vec::new();
        // The line up to which text is in a part already, or left alone.
        let mut whole_to = 0;
        for (index, section) in self.sections.iter().enumerate() {
            if section.own.start < whole_to {
                continue;
            }
            let opens = index == 0 || (index == 1 && section.level == 1);
            let is_around = around.contains(&index);
            let parent = around.iter().rev().filter_map(|around| self.sections.get(*around));
            let parent = parent.filter(|around| around.level > 1 && around.level < section.level);
            let parent = parent.filter(|around| (around.own.start..around.end).contains(&section.own.start));
            let parent = parent.map(|around| around.level).max();
            let has_tasks = self.has_tasks(section.own.start..section.end);
            let (rank, depth, lines) = match (opens, is_around, has_tasks, parent) {
                (true, ..) => (Rank::Goals, 0, section.own.clone()),
                (_, true, ..) => (Rank::Own, section.level, section.own.clone()),
                // About other tasks, with all that is below it.
                (_, _, true, _) => {
                    if section.level > 1 || !around.is_empty() {
                        whole_to = section.end;
                    }
                    continue;
                }
                (.., Some(level)) => (Rank::Own, level, section.own.start..section.end),
                _ => (Rank::of(&section.words), 0, section.own.start..section.end),
            };
            whole_to = lines.end;
            parts.push(Part { rank, depth, title: section.title.clone(), lines, body: section.body });
        }
        parts
    }

    /// Returns the sections that a line is in, from the inside out.
    fn around(&self, line: usize) -> Vec<usize> {
        let last = self.sections.partition_point(|section| section.own.start <= line);
        let mut around = Vec::new();
        let mut below = u8::MAX;
        for (index, section) in self.sections.iter().enumerate().take(last).rev() {
            if section.level < below {
                around.push(index);
                below = section.level;
            }
        }
        around
    }

    fn has_tasks(&self, lines: Range<usize>) -> bool {
        self.task_lines.get(lines.start) != self.task_lines.get(lines.end)
    }

    /// Returns the lines of a part, from 0, without those of tasks and without blank
    /// ones at its ends or twice in a row where a task was.
    fn lines(&self, part: &Part) -> Vec<(usize, &'c str)> {
        let mut lines: Vec<(usize, &str)> = Vec::new();
        let mut after_task = true;
        for index in part.lines.clone() {
            if self.uses.get(index) == Some(&Use::Task) {
                after_task = true;
                continue;
            }
            let line = self.source.line(index);
            let follows_blank = lines.last().is_none_or(|(_, line)| line.trim().is_empty());
            if !(after_task && follows_blank && line.trim().is_empty()) {
                after_task &= line.trim().is_empty();
                lines.push((index, line));
            }
        }
        while lines.last().is_some_and(|(_, line)| line.trim().is_empty()) {
            lines.pop();
        }
        lines
    }
}

/// Has every section end where the next of its level or above begins.
fn close(sections: &mut [Section]) {
    let mut open: Vec<(u8, usize)> = Vec::new();
    for index in 0..sections.len() {
        let Some((level, start)) = sections.get(index).map(|section| (section.level, section.own.start))
        else {
            return;
        };
        while let Some((_, above)) = open.pop_if(|(above, _)| *above >= level || *above == 0) {
            if let Some(section) = sections.get_mut(above) {
                section.end = start;
            }
        }
        open.push((level, index));
    }
}

/// An excerpt, and how many characters it has room for.
struct Room {
    chars: usize,
    excerpt: Excerpt,
}

impl Room {
    fn add(&mut self, outline: &Outline<'_>, part: &Part, said: &str) {
        let lines = outline.lines(part);
        let is_heading = |(index, _): &&(usize, &str)| *index < part.body;
        // What says nothing, or nothing new.
        let text: Vec<&str> = lines.iter().skip_while(is_heading).map(|(_, line)| *line).collect();
        let text = text.join("\n");
        if text.trim().is_empty() || text.trim() == said {
            return;
        }
        // A blank line stands between two passages.
        let mut chars = if self.excerpt.quoted.is_empty() { 0 } else { 2 };
        let fits = |(_, line): &&(usize, &str)| {
            chars += line.chars().count() + 1;
            chars <= self.chars + 1
        };
        let mut kept = lines.iter().take_while(fits).count();
        let is_blank = |line: Option<&(usize, &str)>| line.is_some_and(|(_, line)| line.trim().is_empty());
        if kept < lines.len() {
            while kept > 0 && is_blank(lines.get(kept - 1)) {
                kept -= 1;
            }
            // A heading alone says nothing.
            if lines.iter().take(kept).skip_while(is_heading).count() == 0 {
                kept = 0;
            }
        }
        let (kept, left_out) = lines.split_at(kept);
        self.quote(part, kept);
        self.leave_out(part, left_out);
    }

    fn quote(&mut self, part: &Part, lines: &[(usize, &str)]) {
        let Some(passage) = passage(part, lines) else { return };
        let text: Vec<&str> = lines.iter().map(|(_, line)| *line).collect();
        let text = text.join("\n");
        let between = if self.excerpt.quoted.is_empty() { 0 } else { 2 };
        self.chars = self.chars.saturating_sub(text.chars().count() + between);
        self.excerpt.quoted.push(Quoted { passage, text });
    }

    fn leave_out(&mut self, part: &Part, lines: &[(usize, &str)]) {
        let said = lines.iter().position(|(_, line)| !line.trim().is_empty());
        let Some(passage) = said.and_then(|first| passage(part, lines.get(first..)?)) else { return };
        match self.excerpt.left_out.len() < MAX_LEFT_OUT {
            true => self.excerpt.left_out.push(passage),
            false => self.excerpt.more_left_out += 1,
        }
    }
}

fn passage(part: &Part, lines: &[(usize, &str)]) -> Option<Passage> {
    let ((first, _), (last, _)) = (lines.first()?, lines.last()?);
    Some(Passage { title: part.title.clone(), first_line: first + 1, last_line: last + 1 })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;
    use samuel_model::TaskId;

    const PRD: &str = "---\nowner: me\n---\n# Notes\n\nAn application for notes.\n\n## 1. Goals\n\n- Fast\n\n### Later\n\nFaster.\n\n\
        ## 2. Technical notes\n\nSQLite.\n\n## 3. Non-goals (out of scope)\n\nNo cloud.\n\n## 4. Functional requirements\n\n\
        1. It stores.\n\n## Tasks\n\nSmall steps.\n\n### Storage\n\nOne file.\n\n- [ ] 1.1 Store\n- [ ] 1.2 Load\n\n\
        Mind the lock.\n\n#### Layout\n\nOne table.\n\n### Search\n\nUse FTS5.\n\n- [ ] 2.1 Index\n";

    fn task(id: &str, title: &str) -> Task {
        Task { source: Source::Prd, ..Task::new(TaskId::new(id), title) }
    }

    fn excerpt_of(text: &str, tasks: &[&Task], max_tokens: usize) -> Excerpt {
        excerpt(&Document::new("prd.md", text), tasks, "An application for notes.", max_tokens).unwrap()
    }

    fn titles(excerpt: &Excerpt) -> Vec<&str> {
        excerpt.quoted.iter().map(|quoted| quoted.passage.title.as_str()).collect()
    }

    #[test]
    fn the_tasks_own_sections_come_first_and_then_goals_requirements_and_non_goals() {
        let found = excerpt_of(PRD, &[&task("1.1", "Store")], 1_000);
        assert_eq!(found.left_out(), None);
        insta::assert_snapshot!(found.text(), @r"
        ### Storage

        One file.

        Mind the lock.

        #### Layout

        One table.

        ## Tasks

        Small steps.

        ## 1. Goals

        - Fast

        ### Later

        Faster.

        ## 4. Functional requirements

        1. It stores.

        ## 3. Non-goals (out of scope)

        No cloud.

        ## 2. Technical notes

        SQLite.
        ");
    }

    #[test]
    fn sections_of_other_tasks_are_left_alone() {
        let found = excerpt_of(PRD, &[&task("2.1", "Index")], 1_000);
        assert_eq!(titles(&found)[..3], ["Search", "Tasks", "1. Goals"]);
        assert!(!found.text().contains("One file."), "{}", found.text());
    }

    #[test]
    fn a_task_is_found_by_its_title_too_and_one_that_is_not_there_by_its_group() {
        for tasks in [
            &[&task("7", "Index")][..],
            &[&task("2.1", "Index, renamed")],
            &[&task("9", "New"), &task("2.1", "Index")],
        ] {
            assert_eq!(titles(&excerpt_of(PRD, tasks, 1_000)).first(), Some(&"Search"));
        }
        let added = Task::new(TaskId::new("2.1"), "Somebody added this");
        assert_eq!(titles(&excerpt_of(PRD, &[&added], 1_000)).first(), Some(&"1. Goals"));
    }

    #[test]
    fn without_a_task_it_is_of_what_is_about_the_whole() {
        let found = excerpt_of(PRD, &[], 1_000);
        let expected =
            ["1. Goals", "4. Functional requirements", "3. Non-goals (out of scope)", "2. Technical notes"];
        assert_eq!(titles(&found), expected);
    }

    #[test]
    fn what_does_not_fit_is_cut_between_lines_and_named() {
        let whole = excerpt_of(PRD, &[&task("1.1", "Store")], 1_000).text();
        for max_tokens in 0..100 {
            let found = excerpt_of(PRD, &[&task("1.1", "Store")], max_tokens);
            let text = found.text();
            assert!(text::tokens(&text) <= max_tokens, "{max_tokens}: {text}");
            assert_eq!(text == whole, found.left_out().is_none(), "{max_tokens}: {text}");
            for line in text.lines() {
                assert!(whole.lines().any(|other| other == line), "{max_tokens}: {line}");
            }
        }
        let found = excerpt_of(PRD, &[&task("1.1", "Store")], 7);
        assert_eq!(found.text(), "### Storage\n\nOne file.");
        let left_out = found.left_out().unwrap();
        assert!(
            left_out
                .starts_with("\"Storage\" (line 39), \"Layout\" (lines 41-43), \"Tasks\" (lines 28-30), "),
            "{left_out}"
        );
    }

    #[test]
    fn of_many_passages_that_are_left_out_a_few_are_named() {
        let many: String = (0..100).map(|n| format!("## Part {n}\n\nText.\n\n")).collect();
        let found = excerpt_of(&many, &[], 0);
        assert_eq!((found.left_out.len(), found.more_left_out), (MAX_LEFT_OUT, 80));
        assert!(found.left_out().unwrap().ends_with("\"Part 19\" (lines 77-79), 80 more passages"));
    }

    #[test]
    fn json_has_nothing_around_its_tasks() {
        let json =
            r#"{"project": "Notes", "userStories": [{"id": "US-001", "title": "Store", "passes": false}]}"#;
        assert_eq!(excerpt_of(json, &[&task("US-001", "Store")], 1_000), Excerpt::default());
    }

    #[test]
    fn a_document_that_cannot_be_converted_is_refused() {
        assert!(excerpt(&Document::new("a.md", "\0"), &[], "", 10).is_err());
    }
}
