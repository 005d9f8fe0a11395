//! Names and documentation, turned from one language's form into another's.

use std::{
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::root;

/// Turns `text-item` into `TextItem`.
pub(crate) fn pascal(name: &str) -> String {
    name.split('-').map(capital).collect()
}

/// Writes the first letter large.
pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Turns `TextItem` or `text-item` into `text_item`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    out
}

/// Indents by braces and brackets, as rustfmt would outside of macros.
pub(crate) fn indented(text: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::new();
    for line in text.lines() {
        depth = depth.saturating_sub(usize::from(line.starts_with(['}', ']'])));
        let indent = if line.is_empty() { 0 } else { depth };
        let _ = writeln!(out, "{}{line}", "    ".repeat(indent));
        depth += usize::from(line.ends_with(['{', '[']));
    }
    out
}

/// Writes documentation as comments of Rust.
pub(crate) fn comments(docs: &str) -> String {
    docs.lines().map(|line| format!("///{}{line}\n", if line.is_empty() { "" } else { " " })).collect()
}

/// Breaks text into lines of at most `width` characters, paragraph by paragraph.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let mut lines = vec![String::new()];
        for word in paragraph.split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines.join("\n")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Returns a text's first sentence.
pub(crate) fn first_sentence(text: &str) -> String {
    let text = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text,
    }
}

/// Lays Rust out as `cargo fmt` does.
///
/// # Errors
/// Fails where rustfmt is not there or does not understand the text.
pub(crate) fn formatted(rust: &str) -> Result<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("rustfmt cannot be run")?;
    let mut input = child.stdin.take().context("rustfmt has no input")?;
    // rustfmt reads all of its input before it writes.
    input.write_all(rust.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt does not understand what was generated:\n{rust}");
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_turned() {
        assert_eq!(pascal("before-agent-invoke"), "BeforeAgentInvoke");
        assert_eq!(snake("BeforeAgentInvoke"), "before_agent_invoke");
        assert_eq!(snake("exit-code"), "exit_code");
    }

    #[test]
    fn text_is_broken_between_words_and_paragraphs_are_kept() {
        assert_eq!(wrapped("one two\nthree\n\nfour", 8), "one two\nthree\n\nfour");
        assert_eq!(first_sentence("Fires once,\nbefore the loop. More."), "Fires once, before the loop.");
    }
}
