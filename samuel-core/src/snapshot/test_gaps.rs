//! Source files that seem to have no tests.
//!
//! [`TestNames`] collects what test files are named after, then tells for each
//! source file whether one of them names it. It goes by the usual conventions
//! of each language: `lexer_test.go` beside `lexer.go`, `test_lexer.py`,
//! `Lexer.test.ts`, `LexerTest.java` or `lexer_spec.rb` anywhere, and tests
//! inside a Rust file. It is a hint: tests under another name are not seen.

use std::collections::HashSet;

use super::classify::{FileClass, FileKind, Language, split_extension, tested_name};

/// Shorter files need no tests of their own.
const MIN_LINES: u32 = 10;

/// What test files are named after, with the directory where that matters.
#[derive(Debug, Default)]
pub(super) struct TestNames<'a> {
    names: HashSet<(&'static str, &'a str, &'a str), foldhash::fast::RandomState>,
}

impl<'a> TestNames<'a> {
    /// Learns from a file, if it is a test.
    pub(super) fn learn(&mut self, path: &'a str, class: FileClass) {
        let (FileKind::Test, Some(language)) = (class.kind, class.language) else { return };
        let (directory, name) = split_path(path);
        let (stem, _) = split_extension(name);
        if let Some(name) = tested_name(language, stem) {
            self.names.insert((family(language), place(language, directory), name));
        } else if !language.tests_beside {
            // `tests/lexer.rs`, `__tests__/lexer.js` and `lexer/tests.rs`.
            self.names.insert((family(language), "", stem));
        }
        if language.tests_inside && matches!(stem, "test" | "tests") {
            self.names.insert((family(language), "", split_path(directory).1));
        }
    }

    /// Says whether a source file lacks tests, as far as names and counts tell.
    pub(super) fn lacks(&self, path: &str, class: FileClass, lines: u32, inline_tests: bool) -> bool {
        let (FileKind::Source, Some(language)) = (class.kind, class.language) else { return false };
        if class.is_untested || lines < MIN_LINES || language.test_suffixes.is_empty() {
            return false;
        }
        if language.tests_inside && inline_tests {
            return false;
        }
        let (directory, name) = split_path(path);
        let (stem, _) = split_extension(name);
        let is_exempt = language.exempt.contains(&stem) || stem.ends_with(".d") || stem.ends_with(".config");
        !is_exempt && !self.names.contains(&(family(language), place(language, directory), stem))
    }
}

/// Groups languages that test each other's code.
fn family(language: &Language) -> &'static str {
    match language.name {
        "typescript" => "javascript",
        "kotlin" | "scala" => "java",
        name => name,
    }
}

fn place<'a>(language: &Language, directory: &'a str) -> &'a str {
    if language.tests_beside { directory } else { "" }
}

fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use super::super::classify::classify;
    use super::*;

    /// Returns which of the files lack tests when each has 100 lines.
    fn gaps(paths: &str) -> String {
        let mut names = TestNames::default();
        paths.split(' ').for_each(|path| names.learn(path, classify(path)));
        let lacking = paths.split(' ').filter(|path| names.lacks(path, classify(path), 100, false));
        lacking.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rust_tests_are_found_inside_beside_and_in_their_directory() {
        let paths = "src/lexer.rs src/parser.rs src/emit.rs src/emit/tests.rs tests/parser.rs src/lib.rs";
        assert_eq!(gaps(paths), "src/lexer.rs");
        assert!(!TestNames::default().lacks("src/lexer.rs", classify("src/lexer.rs"), 100, true));
    }

    #[test]
    fn python_tests_are_found_anywhere() {
        let paths =
            "app/lexer.py app/parser.py app/emit.py app/__init__.py tests/test_parser.py emit_test.py";
        assert_eq!(gaps(paths), "app/lexer.py");
    }

    #[test]
    fn javascript_tests_cover_typescript_and_back() {
        let paths = "src/Lexer.tsx src/parser.ts src/emit.js src/index.ts src/types.d.ts vite.config.ts \
                     src/parser.test.js src/__tests__/emit.ts";
        assert_eq!(gaps(paths), "src/Lexer.tsx");
    }

    #[test]
    fn go_tests_lie_beside_their_code() {
        assert_eq!(gaps("a/lexer.go b/lexer.go b/lexer_test.go a/doc.go"), "a/lexer.go");
    }

    #[test]
    fn java_kotlin_and_ruby_tests_are_found_by_name() {
        let paths = "src/main/java/Lexer.java src/main/java/Parser.java src/main/kotlin/Emit.kt \
                     src/test/java/ParserTest.java src/test/java/EmitTests.java lib/user.rb lib/order.rb \
                     spec/user_spec.rb";
        assert_eq!(gaps(paths), "src/main/java/Lexer.java lib/order.rb");
    }

    #[test]
    fn short_files_examples_and_languages_without_a_convention_are_no_gaps() {
        assert_eq!(gaps("examples/a.rs run.sh schema.sql db/migrations/001.py"), "");
        assert!(!TestNames::default().lacks("a.rs", classify("a.rs"), 5, false));
    }
}
