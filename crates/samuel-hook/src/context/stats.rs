//! What a prompt consists of: its sections, and how much each takes.
//!
//! [`PromptStats::of`] takes a prompt apart as it is given to the agent, whoever
//! composed it: at its headings of the first two levels, and at quotations that
//! bring a heading of their own, as the sections of `context.extra` do. Headings
//! within other quotations and code are text. Every line is in one section.

use samuel_model::text::{CHARS_PER_TOKEN, tokens};
use serde::Serialize;

use super::{Framing, framing::left_out};

/// What a prompt consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptStats {
    /// How tokens are estimated: `characters/4`. Each model counts in its own way.
    pub method: String,
    /// How many tokens the prompt has, as an estimate.
    pub tokens: usize,
    /// How many characters it has.
    pub characters: usize,
    /// Its sections, in their order. Each is rounded up, so together they may have
    /// a few tokens more than the prompt.
    pub sections: Vec<PromptSection>,
}

/// A section of a prompt, without those below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PromptSection {
    /// Its heading; empty for what stands before the first.
    pub title: String,
    /// The level of the heading, 1 or 2; 0 before the first.
    pub level: u8,
    /// How many tokens it has, as an estimate.
    pub tokens: usize,
    /// How many characters it has.
    pub characters: usize,
    /// What is quoted in it, in its order.
    pub quotations: Vec<PromptQuotation>,
}

/// A quotation in a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PromptQuotation {
    /// Whose text it is, such as `the plan`.
    pub source: String,
    /// How many tokens it has, as an estimate, with the lines that mark it.
    pub tokens: usize,
    /// What was left out of it for its size, in a few words.
    pub left_out: Option<String>,
}

impl PromptStats {
    /// Takes a prompt apart.
    ///
    /// ```
    /// use samuel_hook::context::{Framing, PromptStats};
    ///
    /// let stats = PromptStats::of("# One task\n\nDo it.\n\n## Rules\n\nBe kind.\n", &Framing::default());
    /// assert_eq!((stats.method.as_str(), stats.tokens), ("characters/4", 10));
    /// assert_eq!((stats.sections[1].title.as_str(), stats.sections[1].tokens), ("Rules", 5));
    /// ```
    pub fn of(prompt: &str, framing: &Framing) -> Self {
        let mut reader =
            Reader { framing, done: Vec::new(), section: Part::default(), fence: 0, quotation: None };
        let mut lines = prompt.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let next = lines.peek().map(|line| line.trim_end_matches('\n')).unwrap_or_default();
            reader.read(line, next);
        }
        Self {
            method: format!("characters/{CHARS_PER_TOKEN}"),
            tokens: tokens(prompt),
            characters: prompt.chars().count(),
            sections: reader.finish(),
        }
    }
}

/// A section that is being read.
#[derive(Default)]
struct Part {
    title: String,
    level: u8,
    text: String,
    quotations: Vec<PromptQuotation>,
}

/// A quotation that is being read.
struct Open {
    source: String,
    text: String,
    last: String,
}

struct Reader<'a> {
    framing: &'a Framing,
    done: Vec<PromptSection>,
    section: Part,
    /// How many backticks the fence has that is open; 0 where none is.
    fence: usize,
    quotation: Option<Open>,
}

impl Reader<'_> {
    fn read(&mut self, line: &str, next: &str) {
        let bare = line.trim_end_matches('\n');
        if let Some(mut open) = self.quotation.take() {
            open.text.push_str(line);
            self.section.text.push_str(line);
            match self.framing.ends(bare) {
                true => self.section.quotations.push(PromptQuotation {
                    source: open.source,
                    tokens: tokens(&open.text),
                    left_out: left_out(&open.last).map(str::to_owned),
                }),
                false => {
                    bare.clone_into(&mut open.last);
                    self.quotation = Some(open);
                }
            }
            return;
        }
        if let Some(source) = self.framing.opens(bare) {
            if let Some((2, title)) = heading(next) {
                self.begin(2, title);
            }
            let source = source.to_owned();
            self.quotation = Some(Open { source, text: line.to_owned(), last: String::new() });
        } else if let (0, Some((level, title))) = (self.fence, heading(bare)) {
            self.begin(level, title);
        } else {
            self.fence = match (self.fence, backticks(bare)) {
                (0, opens) => opens,
                (open, closes) if closes >= open => 0,
                (open, _) => open,
            };
        }
        self.section.text.push_str(line);
    }

    fn begin(&mut self, level: u8, title: &str) {
        let section = Part { title: title.to_owned(), level, ..Part::default() };
        let before = std::mem::replace(&mut self.section, section);
        self.close(before);
    }

    fn close(&mut self, part: Part) {
        let Part { title, level, text, quotations } = part;
        if !text.trim().is_empty() {
            let (tokens, characters) = (tokens(&text), text.chars().count());
            self.done.push(PromptSection { title, level, tokens, characters, quotations });
        }
    }

    fn finish(mut self) -> Vec<PromptSection> {
        let last = std::mem::take(&mut self.section);
        self.close(last);
        self.done
    }
}

/// Returns level and title of a heading of the first two levels.
fn heading(line: &str) -> Option<(u8, &str)> {
    let level = [("# ", 1), ("## ", 2)].into_iter().find(|(mark, _)| line.starts_with(mark))?;
    Some((level.1, line.get(level.0.len()..)?.trim()))
}

/// Returns how many backticks open or close a fence in a line; 0 where it is none.
fn backticks(line: &str) -> usize {
    let line = line.trim_start();
    let count = line.len() - line.trim_start_matches('`').len();
    if count >= 3 { count } else { 0 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;

    fn stats(prompt: &str) -> PromptStats {
        PromptStats::of(prompt, &framing())
    }

    fn framing() -> Framing {
        Framing::new([0xab; 6])
    }

    fn titles(stats: &PromptStats) -> Vec<&str> {
        stats.sections.iter().map(|section| section.title.as_str()).collect()
    }

    #[test]
    fn a_quotation_that_a_template_has_moved_in_counts() {
        let quoted = framing().quote("output of a quality check", &"red\n".repeat(20), 10);
        let moved: String = quoted.lines().map(|line| format!("      {line}\n")).collect();
        let stats = stats(&format!("# Task\n\n{moved}\n## Rules\n\nBe kind.\n"));
        assert_eq!(titles(&stats), ["Task", "Rules"]);
        let quoted = &stats.sections[0].quotations;
        assert_eq!((quoted.len(), quoted[0].source.as_str()), (1, "output of a quality check"));
        assert_eq!(quoted[0].left_out.as_deref(), Some("69 bytes"));
    }

    #[test]
    fn every_character_is_in_one_section() {
        let framing = framing();
        let prompt = format!(
            "{}\n# Task\n\nDo it.\n\n## Steps\n\n```sh\n# no heading\n```\n\n### Small\n\nüber\n\n# Context\n\n## PRD\n\n{}\n",
            framing.preamble(),
            framing.quote("the PRD", "# A title\n\n## Goals", 1_000),
        );
        let stats = stats(&prompt);
        assert_eq!(titles(&stats), ["", "Task", "Steps", "Context", "PRD"]);
        assert_eq!(stats.sections.iter().map(|section| section.characters).sum::<usize>(), stats.characters);
        assert_eq!(stats.characters, prompt.chars().count());
        assert_eq!(stats.tokens, stats.characters.div_ceil(4));
    }

    #[test]
    fn a_quotation_is_named_with_its_source_and_what_was_left_out() {
        let quoted = framing().quote("the plan", &"x".repeat(5_000), 1_000);
        let stats = stats(&format!("# Context\n\n{quoted}\n\n... 7 bytes left out\n"));
        let quotation = &stats.sections[0].quotations[0];
        assert_eq!(
            (quotation.source.as_str(), quotation.left_out.as_deref()),
            ("the plan", Some("4,000 bytes"))
        );
        assert_eq!(quotation.tokens, (quoted.chars().count() + 1).div_ceil(4));
        assert_eq!(stats.sections[0].quotations.len(), 1);
    }

    #[test]
    fn a_section_that_a_hook_brings_is_one_of_its_own() {
        let quoted = framing().quote("hook at context.extra", "## Python\n\nvenv\n\n## More", 1_000);
        let stats =
            stats(&format!("# Context\n\n## Snapshot\n\nfiles\n\n{quoted}\n\n# Messages\n\nHello.\n"));
        assert_eq!(titles(&stats), ["Context", "Snapshot", "Python", "Messages"]);
    }

    #[test]
    fn an_empty_prompt_has_no_sections() {
        assert_eq!((stats("").tokens, stats("").sections.len()), (0, 0));
    }

    #[test]
    fn a_quotation_that_does_not_end_is_text_of_its_section() {
        let stats = stats("# A\n\n[samuel:abababababab begin: x]\n# B\n");
        assert_eq!((titles(&stats), stats.sections[0].quotations.len()), (vec!["A"], 0));
    }
}
