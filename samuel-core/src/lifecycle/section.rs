//! Samuel's own part of a file that belongs to somebody else.
//!
//! [`place`] puts text between a pair of markers, each alone on its line:
//!
//! ```text
//! <!-- samuel:begin -->
//! what Samuel generates
//! <!-- samuel:end -->
//! ```
//!
//! What stands outside them stays as it is, byte for byte, also its line
//! breaks. A file without markers gets them at its end. Where markers cannot
//! be understood nothing is guessed: that is a [`SectionError`] with the line.

use std::ops::Range;

/// The line that opens the section.
pub const BEGIN: &str = "<!-- samuel:begin -->";
/// The line that closes it.
pub const END: &str = "<!-- samuel:end -->";

/// Markers that cannot be understood. Lines count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SectionError {
    /// The section is opened and never closed.
    #[error("line {line} opens Samuel's section and nothing closes it")]
    Unclosed {
        /// The opening line.
        line: usize,
    },
    /// The section is closed where it is not open.
    #[error("line {line} closes Samuel's section, which is not open")]
    Unopened {
        /// The closing line.
        line: usize,
    },
    /// There is a second section, or one within the other.
    #[error("line {line} opens Samuel's section again; it was opened at line {first}")]
    Doubled {
        /// The second opening line.
        line: usize,
        /// The first one.
        first: usize,
    },
    /// The line begins as a marker does and is none.
    #[error("line {line} looks like a marker of Samuel's section and is none")]
    Malformed {
        /// The line.
        line: usize,
    },
    /// The text to place has a marker in it, so it could not be found again.
    #[error("line {line} of the generated text is a marker itself")]
    InBody {
        /// The line of the generated text.
        line: usize,
    },
}

impl SectionError {
    /// Returns the line, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Unclosed { line }
            | Self::Unopened { line }
            | Self::Doubled { line, .. }
            | Self::Malformed { line }
            | Self::InBody { line } => *line,
        }
    }
}

/// Finds the section: the bytes between its marker lines, or nothing where
/// the text has no markers.
///
/// # Errors
/// Returns a [`SectionError`] where markers cannot be understood.
pub fn find(text: &str) -> Result<Option<Range<usize>>, SectionError> {
    let mut opened: Option<(usize, usize)> = None;
    let mut found: Option<(usize, Range<usize>)> = None;
    let mut offset = 0;
    for (line, content) in (1..).zip(text.split_inclusive('\n')) {
        let start = offset;
        offset += content.len();
        match Marker::of(content) {
            None => {}
            Some(Marker::Malformed) => return Err(SectionError::Malformed { line }),
            Some(Marker::Begin) => {
                let first = opened.map(|(line, _)| line).or(found.as_ref().map(|(line, _)| *line));
                if let Some(first) = first {
                    return Err(SectionError::Doubled { line, first });
                }
                opened = Some((line, offset));
            }
            Some(Marker::End) => {
                let Some((line, from)) = opened.take() else { return Err(SectionError::Unopened { line }) };
                found = Some((line, from..start));
            }
        }
    }
    match opened {
        Some((line, _)) => Err(SectionError::Unclosed { line }),
        None => Ok(found.map(|(_, range)| range)),
    }
}

/// Returns a text with another section, or with one where it had none.
///
/// White space around `body` does not count. The section gets the line breaks
/// of the text. Placing the same body again changes nothing.
///
/// ```
/// use samuel_core::lifecycle::section::place;
///
/// let once = place("# Mine\n", "generated")?;
/// assert_eq!(once, "# Mine\n\n<!-- samuel:begin -->\ngenerated\n<!-- samuel:end -->\n");
/// assert_eq!(place(&once, "generated")?, once);
/// # Ok::<(), samuel_core::lifecycle::section::SectionError>(())
/// ```
///
/// # Errors
/// Returns a [`SectionError`] where the markers of the text cannot be
/// understood, or where the body has one in it.
pub fn place(text: &str, body: &str) -> Result<String, SectionError> {
    if let Some((line, _)) = (1..).zip(body.trim().lines()).find(|(_, line)| Marker::of(line).is_some()) {
        return Err(SectionError::InBody { line });
    }
    let lines = || body.trim().lines().map(|line| line.trim_end_matches('\r'));
    if let Some(section) = find(text)? {
        let before = text.get(..section.start).unwrap_or_default();
        let after = text.get(section.end..).unwrap_or_default();
        // The line of the marker is the one that stays, so it sets the tone.
        let line_break = if before.ends_with("\r\n") { "\r\n" } else { "\n" };
        let body: String = lines().flat_map(|line| [line, line_break]).collect();
        return Ok([before, &body, after].concat());
    }
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = match text {
        "" | "\u{feff}" => String::new(),
        _ if text.ends_with('\n') => line_break.to_owned(),
        _ => line_break.repeat(2),
    };
    let body: String = lines().flat_map(|line| [line, line_break]).collect();
    Ok(format!("{text}{gap}{BEGIN}{line_break}{body}{END}{line_break}"))
}

/// What a line is to the section.
enum Marker {
    Begin,
    End,
    Malformed,
}

impl Marker {
    /// Reads a line; nothing for one that has no likeness with a marker.
    fn of(line: &str) -> Option<Self> {
        let line = line.trim_start_matches('\u{feff}').trim();
        let name = line.strip_prefix("<!--")?.trim_start().strip_prefix("samuel:")?;
        Some(match name.strip_suffix("-->").map(str::trim) {
            Some("begin") => Self::Begin,
            Some("end") => Self::End,
            _ => Self::Malformed,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn with(body: &str) -> String {
        format!("{BEGIN}\n{body}\n{END}\n")
    }

    #[test]
    fn a_file_without_markers_gets_the_section_at_its_end() {
        assert_eq!(place("", "x").unwrap(), with("x"));
        assert_eq!(place("mine\n", "x").unwrap(), format!("mine\n\n{}", with("x")));
        assert_eq!(place("mine", "x").unwrap(), format!("mine\n\n{}", with("x")));
    }

    #[test]
    fn a_section_is_replaced_and_what_surrounds_it_stays() {
        let text = format!("# Mine \n\t\n{}tail without break", with("old\nlines"));
        let expected = format!("# Mine \n\t\n{}tail without break", with("new"));
        assert_eq!(place(&text, "\n\nnew\n\n").unwrap(), expected);
    }

    #[test]
    fn the_section_has_the_line_breaks_of_the_file() {
        let text = place("# Mine\r\n", "a\nb").unwrap();
        assert_eq!(text, format!("# Mine\r\n\r\n{BEGIN}\r\na\r\nb\r\n{END}\r\n"));
        assert_eq!(place(&text, "a\nb").unwrap(), text);
    }

    #[test]
    fn a_lone_carriage_return_at_the_end_does_not_change_the_line_breaks() {
        let once = place("\r", "a").unwrap();
        assert_eq!(place(&once, "a").unwrap(), once);
    }

    #[test]
    fn markers_are_found_with_other_spaces_and_not_in_the_middle_of_a_line() {
        let text = "see <!-- samuel:begin --> here\n  <!--samuel:begin-->\nold\n<!--  samuel:end  -->";
        let expected = "see <!-- samuel:begin --> here\n  <!--samuel:begin-->\nnew\n<!--  samuel:end  -->";
        assert_eq!(place(text, "new").unwrap(), expected);
    }

    #[test]
    fn broken_and_doubled_markers_are_refused_with_their_line() {
        let refused = |text: &str| place(text, "x").unwrap_err();
        assert_eq!(refused(&format!("a\n{BEGIN}\n")), SectionError::Unclosed { line: 2 });
        assert_eq!(refused(&format!("a\n\n{END}\n")), SectionError::Unopened { line: 3 });
        assert_eq!(refused(&format!("{END}\n{BEGIN}\n")), SectionError::Unopened { line: 1 });
        let twice = format!("{}{}", with("a"), with("b"));
        assert_eq!(refused(&twice), SectionError::Doubled { line: 4, first: 1 });
        assert_eq!(
            refused(&format!("{BEGIN}\n{BEGIN}\n{END}\n")),
            SectionError::Doubled { line: 2, first: 1 }
        );
        assert_eq!(refused(&format!("{}{END}\n", with("a"))), SectionError::Unopened { line: 4 });
        assert_eq!(refused("<!-- samuel:start -->\n"), SectionError::Malformed { line: 1 });
        assert_eq!(refused("<!-- samuel:begin\n"), SectionError::Malformed { line: 1 });
    }

    #[test]
    fn a_body_that_holds_a_marker_is_refused() {
        assert_eq!(place("", "a\n<!-- samuel:end -->").unwrap_err(), SectionError::InBody { line: 2 });
    }

    /// Text of lines that are often markers.
    fn text() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            4 => "[ -~é]{0,6}",
            2 => Just(BEGIN.to_owned()),
            2 => Just(END.to_owned()),
            1 => Just("<!-- samuel: -->".to_owned()),
        ];
        let ending = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
        let lines = prop::collection::vec((line, ending), 0..8);
        (lines, any::<bool>()).prop_map(|(lines, broken)| {
            let text: String = lines.iter().map(|(line, ending)| format!("{line}{ending}")).collect();
            if broken { text } else { text.trim_end().to_owned() }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn placing_twice_is_placing_once_and_the_rest_stays(text in text(), body in text()) {
            let Ok(once) = place(&text, &body) else { return Ok(()) };
            prop_assert_eq!(&place(&once, &body).unwrap(), &once);
            let section = find(&once).unwrap().unwrap();
            match find(&text).unwrap() {
                None => prop_assert!(once.starts_with(&text)),
                Some(old) => {
                    prop_assert_eq!(&once[..section.start], &text[..old.start]);
                    prop_assert_eq!(&once[section.end..], &text[old.end..]);
                }
            }
            let other = place(&once, "other").unwrap();
            prop_assert_eq!(&place(&other, &body).unwrap(), &once);
        }
    }
}
