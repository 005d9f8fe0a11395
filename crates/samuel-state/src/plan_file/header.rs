//! The version header of TOON files: `# toon v3`.
//!
//! It belongs to Samuel's files, not to TOON: what follows is TOON without
//! comments, and readers of other tools drop one line.

use std::{borrow::Cow, path::Path};

use crate::{Artifact, DiagnosticKind, StateDiagnostic, StateError};

/// The header, with its line end.
pub(crate) const HEADER: &str = "# toon v3\n";
const MAJOR: &str = "3";
/// How much is shown of a version that is none.
pub(super) const MAX_SHOWN: usize = 80;

/// What stands below the header.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    /// The bytes; not all of them need be text.
    pub(crate) text: &'a [u8],
    /// How many lines of the file come before them.
    pub(crate) lines_before: usize,
    /// What is unusual about the header.
    pub(crate) diagnostic: Option<StateDiagnostic>,
}

/// Splits the header off. A byte order mark and `\r\n` are tolerated.
///
/// # Errors
/// Returns [`StateError::Version`] for a version other than 3.
pub(crate) fn body<'a>(path: &Path, content: &'a [u8]) -> Result<Body<'a>, StateError> {
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    let first = content.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(version) = first.trim_ascii().strip_prefix(b"# toon") else {
        let diagnostic = StateDiagnostic {
            file: path.to_owned(),
            line: Some(1),
            column: Some(1),
            kind: DiagnosticKind::MissingHeader,
            reason: format!("the header \"{}\" is missing", HEADER.trim_end()),
            count: 1,
        };
        return Ok(Body { text: content, lines_before: 0, diagnostic: Some(diagnostic) });
    };
    let version = String::from_utf8_lossy(version);
    if !is_readable(&version) {
        let found = version.trim().chars().take(MAX_SHOWN).collect();
        return Err(StateError::Version { path: path.to_owned(), what: "toon version", found });
    }
    let text = content.get(first.len()..).unwrap_or_default();
    Ok(Body { text, lines_before: 1, diagnostic: None })
}

/// Says whether ` v3` or ` v3.x` stands there.
fn is_readable(version: &str) -> bool {
    let Some(version) = version.strip_prefix(" v") else { return false };
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    major == MAJOR && !minor.is_empty() && minor.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Puts the header before the text of a TOON file that has none.
pub(crate) fn with_header(artifact: Artifact, text: &str) -> Cow<'_, str> {
    if artifact.is_toon() && !text.starts_with("# toon ") {
        Cow::Owned(format!("{HEADER}{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    fn read(content: &[u8]) -> Result<(String, usize, bool), StateError> {
        let body = body(Path::new("prd.toon"), content)?;
        Ok((String::from_utf8(body.text.to_vec()).unwrap(), body.lines_before, body.diagnostic.is_some()))
    }

    #[test]
    fn version_3_is_read_whatever_its_minor_version() {
        for header in ["# toon v3\n", "# toon v3.1\n", "\u{feff}# toon v3\r\n", "# toon v3.0.2 \n"] {
            let content = format!("{header}a: 1\n");
            assert_eq!(read(content.as_bytes()).unwrap(), ("a: 1\n".to_owned(), 1, false), "{header:?}");
        }
        assert_eq!(read(b"# toon v3").unwrap(), (String::new(), 1, false));
    }

    #[test]
    fn another_major_version_is_refused() {
        for (header, version) in [
            ("# toon v9", "v9"),
            ("# toon v4.1", "v4.1"),
            ("# toon v33", "v33"),
            ("# toon v3.x", "v3.x"),
            ("# toon", ""),
        ] {
            let Err(StateError::Version { found, .. }) = read(format!("{header}\na: 1\n").as_bytes()) else {
                panic!("{header} was read");
            };
            assert_eq!(found, version);
        }
    }

    #[test]
    fn a_missing_header_is_a_warning() {
        assert_eq!(read(b"a: 1\r\nb: 2\r\n").unwrap(), ("a: 1\r\nb: 2\r\n".to_owned(), 0, true));
    }

    #[test]
    fn artifacts_in_toon_get_the_header_once() {
        assert_eq!(with_header(Artifact::TaskContext, "a: 1\n"), "# toon v3\na: 1\n");
        assert_eq!(with_header(Artifact::TaskContext, "# toon v3\na: 1\n"), "# toon v3\na: 1\n");
        assert_eq!(with_header(Artifact::ProgressContext, "text"), "text");
    }
}
