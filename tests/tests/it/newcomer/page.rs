//! The code blocks of a page.

use std::fs;

use crate::newcomer::scratch::root;

/// Returns the blocks of a language below a heading of a page, in order, up to the next heading that is no part of it.
pub(crate) fn blocks(page: &str, heading: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let (_, below) =
        text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{page} lacks {heading}"));
    let level = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
    let mut found = Vec::new();
    // The language of the block under way, and its text.
    let mut block: Option<(&str, String)> = None;
    for line in below.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(opened)) => block = Some((opened, String::new())),
            (None, None) if (1..=level(heading)).contains(&level(line)) => break,
            (None, None) => {}
            (Some(_), Some("")) => {
                found.extend(block.take().filter(|(of, _)| *of == language).map(|(_, text)| text));
            }
            (Some((_, text)), _) => *text += &format!("{line}\n"),
        }
    }
    found
}

/// Returns the first block of a language below a heading.
pub(crate) fn block(page: &str, heading: &str, language: &str) -> String {
    let found = blocks(page, heading, language);
    found.into_iter().next().unwrap_or_else(|| panic!("{page} has no {language} below {heading}"))
}
