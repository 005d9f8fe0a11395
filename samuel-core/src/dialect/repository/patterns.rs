//! Lists of globs, of which those with `!` take away.

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// The most patterns of a list.
pub(super) const MAX_PATTERNS: usize = 200;
/// The longest of them, in bytes.
pub(super) const MAX_PATTERN_BYTES: usize = 500;

/// A list of globs. A name matches where one of them matches and none of those with `!` does;
/// a list of these alone matches everything else.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    written: Vec<String>,
    matching: Vec<Pattern>,
    excluding: Vec<Pattern>,
}

/// A glob. Compiling one takes longer than all else about it, so that is done when it is first
/// asked: of many hooks few are, and listing them asks none.
#[derive(Clone, Debug)]
struct Pattern {
    glob: Glob,
    compiled: OnceLock<GlobMatcher>,
}

impl Pattern {
    fn is_match(&self, name: &str) -> bool {
        self.compiled.get_or_init(|| self.glob.compile_matcher()).is_match(name)
    }
}

impl Patterns {
    /// Reads a list for ids of abilities, where a `*` alone stands for all of them. The error has
    /// the place of the pattern that is wrong, and why it is.
    pub(super) fn of_abilities(written: &[&str]) -> Result<Self, (usize, String)> {
        Self::read(written, |glob| if glob == "*" { "**" } else { glob })
    }

    /// Reads a list for paths that are relative to the project.
    pub(super) fn of_paths(written: &[&str]) -> Result<Self, (usize, String)> {
        Self::read(written, |glob| glob.strip_prefix("./").unwrap_or(glob))
    }

    fn read(written: &[&str], meant: impl Fn(&str) -> &str) -> Result<Self, (usize, String)> {
        let mut patterns = Self { written: Vec::new(), matching: Vec::new(), excluding: Vec::new() };
        for (place, pattern) in written.iter().enumerate() {
            let (glob, list) = match pattern.strip_prefix('!') {
                Some(glob) => (glob, &mut patterns.excluding),
                None => (*pattern, &mut patterns.matching),
            };
            list.push(pattern_of(meant(glob)).map_err(|why| (place, why))?);
            patterns.written.push((*pattern).to_owned());
        }
        Ok(patterns)
    }

    /// Says whether a name matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        let any = |list: &[Pattern]| list.iter().any(|pattern| pattern.is_match(name));
        (self.matching.is_empty() || any(&self.matching)) && !any(&self.excluding)
    }

    /// Says whether everything matches.
    pub(super) fn is_everything(&self) -> bool {
        self.excluding.is_empty() && self.written.iter().any(|pattern| matches!(pattern.as_str(), "*" | "**"))
    }

    /// Lists the globs of which a name has to match one.
    pub(super) fn globs(&self) -> impl Iterator<Item = &str> {
        self.matching.iter().map(|pattern| pattern.glob.glob())
    }

    /// Returns the patterns as they are written, with commas.
    pub(super) fn joined(&self) -> String {
        self.written.join(",")
    }
}

/// Reads a glob: `*` stays within a segment, `**` does not.
fn pattern_of(glob: &str) -> Result<Pattern, String> {
    if glob.is_empty() {
        return Err("it is empty".to_owned());
    }
    if glob.len() > MAX_PATTERN_BYTES {
        return Err(format!("it is longer than {MAX_PATTERN_BYTES} bytes"));
    }
    let built = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    built.map(|glob| Pattern { glob, compiled: OnceLock::new() }).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn abilities_match_by_name_a_dot_is_inside_a_segment_and_an_exclamation_mark_negates() {
        let edits = ["edit_*", "!edit_docs"];
        for (patterns, name, expected) in [
            (&edits[..], "edit_code", true),
            (&edits, "edit_docs", false),
            (&edits, "db.write.user", false),
            (&["*"], "db.write.user", true),
            (&["*"], "server/tool", true),
            (&["db.*"], "db.write.user", true),
            (&["!edit_docs", "edit_*"], "edit_docs", false),
            (&["!Bash"], "Read", true),
            (&["!Bash"], "Bash", false),
            (&["bash"], "Bash", false),
        ] {
            let read = Patterns::of_abilities(patterns).unwrap();
            assert_eq!(read.matches(name), expected, "{patterns:?} {name}");
        }
    }

    #[test]
    fn a_star_of_a_path_stays_within_its_segment_and_case_counts() {
        for (pattern, path, expected) in [
            ("services/**", "services/a/b.rs", true),
            ("services/**", "Services/a/b.rs", false),
            ("services/*", "services/a/b.rs", false),
            ("services/*/b.rs", "services/a/b.rs", true),
            ("**/*.rs", "b.rs", true),
            ("*.rs", "src/b.rs", false),
            ("*", "src/b.rs", false),
            ("./src/*", "src/b.rs", true),
            ("{apps,services}/**", "apps/a", true),
        ] {
            let read = Patterns::of_paths(&[pattern]).unwrap();
            assert_eq!(read.matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_no_glob_is_told_by_its_place() {
        for pattern in ["a[", "", "!", "a{b", &"x".repeat(MAX_PATTERN_BYTES + 1)] {
            assert_eq!(Patterns::of_paths(&["ok", pattern]).unwrap_err().0, 1, "{pattern}");
        }
    }
}
