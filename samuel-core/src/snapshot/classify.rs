//! What a file is, told from its path alone.
//!
//! [`classify`] gives a [`FileKind`] and the [`Language`] of code. Each
//! language says how its tests are named; who looks for missing ones is
//! [`test_gaps`](super::test_gaps).

use std::{collections::HashMap, sync::LazyLock};

use samuel_contract::plain_words as words;

words! {
    /// What a file is for.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    FileKind("kind of file") {
        /// A manifest or a build script, such as `Cargo.toml` or `Makefile`.
        Build = "build",
        /// Code.
        Source = "source",
        /// A test, or something tests need.
        Test = "test",
        /// Documentation.
        Doc = "doc",
        /// Configuration.
        Config = "config",
        /// Data.
        Data = "data",
        /// An image, a font and the like.
        Asset = "asset",
        /// Vendored or generated: not written in this project by hand.
        Generated = "generated",
        /// Anything else.
        Other = "other",
    }
}

impl FileKind {
    /// Says whether lines and marks are counted in files of this kind.
    pub fn is_counted(self) -> bool {
        matches!(self, Self::Build | Self::Source | Self::Test | Self::Doc | Self::Config)
    }

    /// Says whether files of this kind are code.
    pub fn is_code(self) -> bool {
        matches!(self, Self::Source | Self::Test)
    }
}

/// A programming language and how its tests are named.
#[derive(Debug)]
pub struct Language {
    /// The name, such as `rust`.
    pub name: &'static str,
    /// Its file extensions.
    pub(super) extensions: &'static [&'static str],
    /// What the stem of a test file starts with before the name it tests.
    pub(super) test_prefixes: &'static [&'static str],
    /// What the stem of a test file ends with after the name it tests.
    pub(super) test_suffixes: &'static [&'static str],
    /// Whether a test lies in the same directory as what it tests.
    pub(super) tests_beside: bool,
    /// Whether tests can be a part of the file they test.
    pub(super) tests_inside: bool,
    /// Stems of files that need no tests of their own.
    pub(super) exempt: &'static [&'static str],
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A language without tests that could be told from file names.
const PLAIN: Language = Language {
    name: "",
    extensions: &[],
    test_prefixes: &[],
    test_suffixes: &[],
    tests_beside: false,
    tests_inside: false,
    exempt: &[],
};

/// The languages that are told apart.
pub(super) static LANGUAGES: &[Language] = &[
    Language {
        name: "rust",
        extensions: &["rs"],
        test_suffixes: &["_test", "_tests"],
        tests_inside: true,
        exempt: &["lib", "main", "mod", "build"],
        ..PLAIN
    },
    Language {
        name: "python",
        extensions: &["py", "pyi"],
        test_prefixes: &["test_"],
        test_suffixes: &["_test"],
        exempt: &["__init__", "__main__", "conftest", "setup", "manage"],
        ..PLAIN
    },
    Language {
        name: "typescript",
        extensions: &["ts", "tsx", "mts", "cts"],
        test_suffixes: &[".test", ".spec"],
        exempt: &["index", "main"],
        ..PLAIN
    },
    Language {
        name: "javascript",
        extensions: &["js", "jsx", "mjs", "cjs"],
        test_suffixes: &[".test", ".spec"],
        exempt: &["index", "main"],
        ..PLAIN
    },
    Language {
        name: "go",
        extensions: &["go"],
        test_suffixes: &["_test"],
        tests_beside: true,
        exempt: &["doc", "main"],
        ..PLAIN
    },
    Language {
        name: "java",
        extensions: &["java"],
        test_prefixes: &["Test"],
        test_suffixes: &["Tests", "Test", "IT"],
        exempt: &["package-info", "module-info", "Main", "Application"],
        ..PLAIN
    },
    Language {
        name: "kotlin",
        extensions: &["kt", "kts"],
        test_suffixes: &["Tests", "Test", "Spec"],
        exempt: &["Main"],
        ..PLAIN
    },
    Language {
        name: "ruby",
        extensions: &["rb"],
        test_prefixes: &["test_"],
        test_suffixes: &["_spec", "_test"],
        ..PLAIN
    },
    Language { name: "php", extensions: &["php"], test_suffixes: &["Test"], exempt: &["index"], ..PLAIN },
    Language {
        name: "csharp",
        extensions: &["cs"],
        test_suffixes: &["Tests", "Test"],
        exempt: &["Program", "AssemblyInfo"],
        ..PLAIN
    },
    Language { name: "swift", extensions: &["swift"], test_suffixes: &["Tests", "Test"], ..PLAIN },
    Language { name: "scala", extensions: &["scala"], test_suffixes: &["Spec", "Test", "Suite"], ..PLAIN },
    Language { name: "elixir", extensions: &["ex", "exs"], test_suffixes: &["_test"], ..PLAIN },
    Language { name: "dart", extensions: &["dart"], test_suffixes: &["_test"], exempt: &["main"], ..PLAIN },
    Language { name: "c", extensions: &["c", "h"], ..PLAIN },
    Language { name: "cpp", extensions: &["cc", "cpp", "cxx", "hpp", "hh", "hxx"], ..PLAIN },
    Language { name: "shell", extensions: &["sh", "bash", "zsh"], ..PLAIN },
    Language { name: "lua", extensions: &["lua"], ..PLAIN },
    Language { name: "zig", extensions: &["zig"], ..PLAIN },
    Language { name: "haskell", extensions: &["hs"], ..PLAIN },
    Language { name: "sql", extensions: &["sql"], ..PLAIN },
    Language { name: "html", extensions: &["html", "htm", "vue", "svelte"], ..PLAIN },
    Language { name: "css", extensions: &["css", "scss", "sass", "less"], ..PLAIN },
];

const MANIFESTS: &str = "Cargo.toml package.json pyproject.toml setup.cfg requirements.txt go.mod pom.xml build.gradle \
    settings.gradle Gemfile Rakefile composer.json Makefile makefile GNUmakefile CMakeLists.txt \
    Dockerfile justfile tox.ini mix.exs Package.swift meson.build deno.json tsconfig.json BUILD \
    BUILD.bazel WORKSPACE";
const LOCK_FILES: &str = "Cargo.lock package-lock.json yarn.lock pnpm-lock.yaml poetry.lock uv.lock Gemfile.lock \
    composer.lock go.sum Pipfile.lock mix.lock flake.lock bun.lock";
const VENDORED_DIRECTORIES: &str = "vendor node_modules third_party bower_components Pods";
const GENERATED_ENDINGS: &str =
    ".min.js .min.css .pb.go _pb2.py _pb2_grpc.py .g.dart .generated.ts .snap .map";
/// Directories whose code is run by people, not by tests.
const UNTESTED_DIRECTORIES: &str = "examples example benches bench scripts migrations docs";
const TEST_DIRECTORIES: &str = "tests test __tests__ spec specs testdata fixtures __snapshots__";

/// What a path tells of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileClass {
    /// What the file is for.
    pub kind: FileKind,
    /// The language, for code.
    pub language: Option<&'static Language>,
    /// Whether code here is run by people rather than by tests.
    pub(super) is_untested: bool,
}

/// Tells what a file is from its path, relative to the project with `/`.
pub fn classify(path: &str) -> FileClass {
    Classifier::default().classify(path)
}

/// Classifies many files; quick when those of a directory come together.
#[derive(Debug, Default)]
pub(super) struct Classifier {
    directory: String,
    facts: DirectoryFacts,
}

/// What the directories of a path tell of the files in it.
#[derive(Clone, Copy, Debug, Default)]
struct DirectoryFacts {
    is_vendored: bool,
    has_tests: bool,
    is_untested: bool,
}

impl Classifier {
    pub(super) fn classify(&mut self, path: &str) -> FileClass {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if self.directory != directory {
            directory.clone_into(&mut self.directory);
            self.facts = DirectoryFacts::of(directory);
        }
        let DirectoryFacts { is_vendored, has_tests, is_untested } = self.facts;
        let (stem, extension) = split_extension(name);
        let known = &*KNOWN;
        let language = known.languages.get(extension).copied();
        let kind = if is_vendored || known.generated_endings.iter().any(|ending| name.ends_with(ending)) {
            FileKind::Generated
        } else if let Some(kind) = known.names.get(name) {
            *kind
        } else if let Some(language) = language {
            if has_tests || is_test_name(language, stem) { FileKind::Test } else { FileKind::Source }
        } else {
            kind_of_extension(extension)
        };
        FileClass { kind, language, is_untested }
    }
}

impl DirectoryFacts {
    fn of(directory: &str) -> Self {
        let is_one_of =
            |names: &str| directory.split('/').any(|part| names.split(' ').any(|name| name == part));
        Self {
            is_vendored: is_one_of(VENDORED_DIRECTORIES),
            has_tests: is_one_of(TEST_DIRECTORIES),
            is_untested: is_one_of(UNTESTED_DIRECTORIES),
        }
    }
}

/// The tables above, by what is looked up in them.
struct Known {
    languages: HashMap<&'static str, &'static Language, foldhash::fast::RandomState>,
    names: HashMap<&'static str, FileKind, foldhash::fast::RandomState>,
    generated_endings: Vec<&'static str>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let extensions =
        |language: &'static Language| language.extensions.iter().map(move |name| (*name, language));
    let manifests = MANIFESTS.split(' ').map(|name| (name, FileKind::Build));
    let locks = LOCK_FILES.split(' ').map(|name| (name, FileKind::Generated));
    Known {
        languages: LANGUAGES.iter().flat_map(extensions).collect(),
        names: manifests.chain(locks).collect(),
        generated_endings: GENERATED_ENDINGS.split(' ').collect(),
    }
});

/// Splits a file name at its last dot; a leading dot is part of the stem.
pub(super) fn split_extension(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    }
}

/// Returns what a test file is named after: `lexer` for `test_lexer`.
pub(super) fn tested_name<'a>(language: &Language, stem: &'a str) -> Option<&'a str> {
    let by_suffix = language.test_suffixes.iter().find_map(|suffix| stem.strip_suffix(suffix));
    let by_prefix = || {
        let prefix = language.test_prefixes.iter().find(|prefix| stem.starts_with(**prefix))?;
        let name = stem.strip_prefix(prefix)?;
        // `TestLexer` is a test, `Tester` is not.
        let is_capital = |text: &str| text.starts_with(char::is_uppercase);
        (!is_capital(prefix) || is_capital(name)).then_some(name)
    };
    by_suffix.or_else(by_prefix).filter(|name| !name.is_empty())
}

fn is_test_name(language: &Language, stem: &str) -> bool {
    let is_tests_module = language.tests_inside && matches!(stem, "test" | "tests");
    is_tests_module || tested_name(language, stem).is_some()
}

fn kind_of_extension(extension: &str) -> FileKind {
    match extension {
        "md" | "mdx" | "rst" | "txt" | "adoc" | "org" => FileKind::Doc,
        "toml" | "yaml" | "yml" | "json" | "jsonc" | "ini" | "cfg" | "conf" | "xml" | "properties"
        | "editorconfig" | "tf" | "nix" | "proto" | "graphql" | "wit" => FileKind::Config,
        "csv" | "tsv" | "parquet" | "db" | "sqlite" | "jsonl" | "ndjson" | "avro" | "npy" => FileKind::Data,
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "svg" | "ico" | "bmp" | "pdf" | "ttf" | "otf" | "woff"
        | "woff2" | "mp3" | "mp4" | "wav" | "webm" | "zip" | "gz" | "tar" | "xz" | "wasm" | "jar" => {
            FileKind::Asset
        }
        _ => FileKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str) -> FileKind {
        classify(path).kind
    }

    #[test]
    fn tests_are_told_by_their_names_and_directories() {
        let tests = "tests/loop.rs pkg/test_lexer.py pkg/lexer_test.go src/App.test.tsx src/__tests__/app.js \
                     src/test/java/a/LexerTest.java spec/models/user_spec.rb lexer_test.py";
        for path in tests.split(' ') {
            assert_eq!(kind(path), FileKind::Test, "{path}");
        }
        for path in ["src/lexer.rs", "pkg/attest.py", "contest.go", "src/latest.ts", "a/Tester.java"] {
            assert_eq!(kind(path), FileKind::Source, "{path}");
        }
    }

    #[test]
    fn what_nobody_wrote_by_hand_is_generated() {
        let generated = "vendor/a/b.go node_modules/x/index.js Cargo.lock web/app.min.js api_pb2.py";
        for path in generated.split(' ') {
            assert_eq!(kind(path), FileKind::Generated, "{path}");
        }
        assert_eq!(kind("src/vendors.rs"), FileKind::Source);
    }

    #[test]
    fn everything_else_goes_by_name_and_extension() {
        assert_eq!(kind("crates/a/Cargo.toml"), FileKind::Build);
        assert_eq!(kind("rustfmt.toml"), FileKind::Config);
        assert_eq!(kind("README.md"), FileKind::Doc);
        assert_eq!(kind("logo.png"), FileKind::Asset);
        assert_eq!(kind("data.csv"), FileKind::Data);
        assert_eq!(kind(".gitignore"), FileKind::Other);
        assert_eq!(kind("LICENSE"), FileKind::Other);
    }

    #[test]
    fn no_extension_belongs_to_two_languages() {
        let mut all: Vec<&str> = LANGUAGES.iter().flat_map(|language| language.extensions).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
