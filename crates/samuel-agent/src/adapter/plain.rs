//! Agents that print text for people.

use samuel_model::text::without_colours;

use crate::{
    AgentEvent,
    stream::{Progress, StreamParser},
};

/// Reads every line as something the agent says.
#[derive(Default)]
pub(super) struct PlainParser {
    progress: Progress,
}

impl StreamParser for PlainParser {
    fn parse(&mut self, line: &str) -> Vec<AgentEvent> {
        let line = without_colours(line);
        match line.trim() {
            "" => Vec::new(),
            _ => vec![self.progress.text(&line)],
        }
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_texts_without_their_colours() {
        let mut parser = PlainParser::default();
        assert_eq!(parser.parse("\u{1b}[32m> done\u{1b}[0m"), [AgentEvent::Text { text: "> done".into() }]);
        assert_eq!(parser.parse("\u{1b}[0m"), []);
        assert_eq!(parser.progress().answer.as_str(), "> done");
    }
}
