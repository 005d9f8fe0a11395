//! Marks: what stands in the box of an item.

use samuel_model::Status;

/// What the box of an item, or one in front of a heading, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// `[ ]`, or `[]`.
    Open,
    /// `[x]`, or a check mark.
    Done,
    /// `[/]` or `[~]`: someone works on it.
    Doing,
    /// `[-]`: it will not be done.
    Cancelled,
    /// `[>]` or `[<]`: it was put off, or is done elsewhere.
    Moved,
}

impl Mark {
    /// Splits a box off the start of a text. Says too whether a star behind it
    /// makes the item optional: `[ ]* Write tests`.
    pub(super) fn split(text: &str) -> Option<(Mark, bool, &str)> {
        let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
        let mut marks = inside.chars();
        let mark = match (marks.next(), marks.next()) {
            (None, _) => Mark::Open,
            (Some(mark), None) => Mark::of(mark)?,
            // An emoji may have a second character that says how it is drawn.
            (Some(mark), Some('\u{fe0f}')) => Mark::of(mark)?,
            _ => return None,
        };
        let (is_optional, rest) = match rest.strip_prefix('*') {
            Some(behind) => (true, behind),
            None => (false, rest),
        };
        let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
        ends.then(|| (mark, is_optional, rest.trim_start()))
    }

    /// Reads what stands between the brackets.
    fn of(mark: char) -> Option<Mark> {
        match mark {
            ' ' | '\u{a0}' => Some(Mark::Open),
            'x' | 'X' | '✓' | '✔' | '✅' | '☑' => Some(Mark::Done),
            '/' | '~' => Some(Mark::Doing),
            '-' | '–' | '—' => Some(Mark::Cancelled),
            '>' | '<' => Some(Mark::Moved),
            _ => None,
        }
    }

    /// Returns where a task with this mark stands.
    pub(super) fn status(self) -> Status {
        match self {
            Mark::Open => Status::Pending,
            Mark::Done => Status::Completed,
            Mark::Doing => Status::InProgress,
            Mark::Cancelled | Mark::Moved => Status::Skipped,
        }
    }

    /// Returns why a task with this mark is skipped, if it is.
    pub(super) fn skip_reason(self) -> Option<&'static str> {
        match self {
            Mark::Cancelled => Some("cancelled in the PRD: [-]"),
            Mark::Moved => Some("put off in the PRD: [>]"),
            Mark::Open | Mark::Done | Mark::Doing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_one_of_the_marks_before_a_blank() {
        let marks = [
            ("[ ] a", Mark::Open),
            ("[] a", Mark::Open),
            ("[x] a", Mark::Done),
            ("[✅] a", Mark::Done),
            ("[~] a", Mark::Doing),
            ("[/] a", Mark::Doing),
            ("[-] a", Mark::Cancelled),
            ("[>] a", Mark::Moved),
        ];
        for (text, mark) in marks {
            assert_eq!(Mark::split(text), Some((mark, false, "a")), "{text}");
        }
        assert_eq!(Mark::split("[ ]* a"), Some((Mark::Open, true, "a")));
        assert_eq!(Mark::split("[-]"), Some((Mark::Cancelled, false, "")));
    }

    #[test]
    fn brackets_that_hold_or_touch_words_are_no_box() {
        for text in ["[P] a", "[1.1] a", "[-](x) a", "[ ]a", "[  ] a", "a [ ] b", "["] {
            assert_eq!(Mark::split(text), None, "{text}");
        }
    }
}
