//! Selection: the steps and tests that the words of the command line name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::workspace::{cargo, root};

/// The core. Packages that use it are built with the features of the whole workspace.
const CORE: &str = "samuel-core";
/// The program of the behavior table, and the step that runs it. Other steps leave the program out.
const TABLE: (&str, &str) = ("parity", "table");
/// The words that pytest reads as operators in the expression of `-k`.
const OPERATORS: [&str; 3] = ["and", "or", "not"];

/// A package of the workspace.
#[derive(Debug, Default)]
struct Package {
    /// The names of the packages that it depends on.
    needs: BTreeSet<String>,
    /// The names of its programs with tests.
    programs: BTreeSet<String>,
}

/// The steps and tests that the words select. Without words, everything is selected.
#[derive(Debug, Default)]
pub(super) struct Selection {
    words: bool,
    /// All steps.
    all_steps: Vec<String>,
    /// All packages.
    all_packages: BTreeMap<String, Package>,
    steps: BTreeSet<String>,
    packages: BTreeSet<String>,
    /// Set if the core is built for one of the packages.
    with_core: bool,
    /// Parts of the names of tests in Rust.
    rust: BTreeSet<String>,
    /// Parts of the names of tests in Python.
    python: BTreeSet<String>,
}

impl Selection {
    /// Parses the words. A word is the name of a step, the name of a package with or without `samuel-`, the name of
    /// both, or part of the name of a test or of its program. The program of the behavior table means its step.
    ///
    /// # Errors
    /// Fails for an unknown word, and for an operator of pytest. The error lists the known words.
    pub(super) fn of(words: &[&str], steps: &[&str]) -> Result<Self> {
        let mut selection = Self { words: !words.is_empty(), ..Self::default() };
        if words.is_empty() {
            return Ok(selection);
        }
        selection.all_steps = steps.iter().map(|&step| step.to_owned()).collect();
        selection.all_packages = packages()?;
        for &word in words {
            let (program, step) = TABLE;
            let word = if word == program { step } else { word };
            let is_step = steps.contains(&word);
            if is_step {
                selection.steps.insert(word.to_owned());
            }
            let names = [word.to_owned(), format!("samuel-{word}")];
            let package = names.into_iter().find(|name| selection.has_package(name));
            if let Some(package) = package {
                selection.with_core |= needs(&package, CORE, &selection.all_packages);
                selection.packages.insert(package);
            } else if !is_step {
                selection.add_name(word).with_context(|| selection.known(word))?;
            }
        }
        Ok(selection)
    }

    /// Returns whether there is a package with this name that has tests.
    fn has_package(&self, name: &str) -> bool {
        self.all_packages.get(name).is_some_and(|package| !package.programs.is_empty())
    }

    fn add_name(&mut self, word: &str) -> Result<()> {
        let is_name = word.chars().all(|c| c.is_alphanumeric() || "_:-".contains(c));
        let parts: Vec<&str> = word.split("::").filter(|part| !part.is_empty()).collect();
        let Some(&name) = parts.last().filter(|_| is_name) else { bail!("no test has this name") };
        let rust = has_test(root(), &parts);
        let python = has_python_test(name);
        ensure!(rust || python, "no test has this name");
        ensure!(!python || !OPERATORS.contains(&name), "pytest reads \"{name}\" as an operator");
        if rust {
            self.rust.insert(word.to_owned());
            self.with_core = true;
        }
        if python {
            self.python.insert(name.to_owned());
        }
        Ok(())
    }

    /// Returns the message for an unknown word.
    pub(super) fn known(&self, word: &str) -> String {
        let names = self.all_packages.keys().filter(|name| self.has_package(name));
        let names: Vec<&str> = names.map(|name| name.trim_start_matches("samuel-")).collect();
        format!(
            "unknown word \"{word}\"\n  steps:    {}\n  packages: {}\n  or part of the name of a test or its file",
            self.all_steps.join(" "),
            names.join(" ")
        )
    }

    /// Returns whether the tests of all packages are selected.
    pub(super) fn has_all_tests(&self) -> bool {
        self.names_step("tests") || self.packages.is_empty() && self.rust.is_empty()
    }

    /// Returns whether a step runs.
    pub(super) fn has_step(&self, step: &str) -> bool {
        !self.words
            || self.names_step(step)
            || match step {
                "build" => self.has_step("python") || self.names_step("examples"),
                "tests" => !self.packages.is_empty() || !self.rust.is_empty(),
                "python" => !self.python.is_empty(),
                _ => false,
            }
    }

    /// Returns whether a word names the step.
    pub(super) fn names_step(&self, step: &str) -> bool {
        self.steps.contains(step)
    }

    /// Returns the arguments of nextest that select the tests. Packages that do not need the core are built by
    /// themselves. Everything else is built with the features of the whole workspace, as in any other build.
    pub(super) fn nextest(&self) -> Vec<String> {
        if self.has_all_tests() {
            return vec!["--workspace".to_owned()];
        }
        if !self.with_core {
            return self
                .packages
                .iter()
                .flat_map(|package| ["--package".to_owned(), package.clone()])
                .collect();
        }
        let packages = self.packages.iter().map(|package| format!("package({package})"));
        // nextest rejects a filter for a program if no program name contains it.
        let programs: Vec<&String> =
            self.all_packages.values().flat_map(|package| &package.programs).collect();
        let names =
            self.rust.iter().map(|name| match programs.iter().any(|program| program.contains(name)) {
                true => format!("test(~{name}) | binary(~{name})"),
                false => format!("test(~{name})"),
            });
        let filter = packages.chain(names).collect::<Vec<_>>().join(" | ");
        ["--workspace".to_owned(), "--filterset".to_owned(), filter].into()
    }

    /// Returns the arguments of each call of `cargo test` that selects the tests. A call takes only one name.
    pub(super) fn cargo_test(&self) -> Vec<Vec<String>> {
        if self.has_all_tests() {
            return vec![vec!["--workspace".to_owned()]];
        }
        let packages: Vec<String> =
            self.packages.iter().flat_map(|package| ["--package".to_owned(), package.clone()]).collect();
        let names = self.rust.iter().map(|name| vec!["--workspace".to_owned(), name.clone()]);
        names.chain((!packages.is_empty()).then_some(packages)).collect()
    }

    /// Returns the parts of names of tests in Rust.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rust.iter().map(String::as_str)
    }

    /// Returns the arguments of pytest that select the tests.
    pub(super) fn pytest(&self) -> Vec<String> {
        if self.python.is_empty() || self.names_step("python") {
            return Vec::new();
        }
        ["-k".to_owned(), self.python.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")].into()
    }
}

/// Returns the packages of the workspace by their names.
fn packages() -> Result<BTreeMap<String, Package>> {
    let output = cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let name = |value: &Value| value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let is_tested = |target: &&Value| target.get("test") == Some(&Value::Bool(true));
    let package = |package: &Value| Package {
        needs: list(package, "dependencies").iter().map(name).collect(),
        programs: list(package, "targets").iter().filter(is_tested).map(name).collect(),
    };
    Ok(list(&metadata, "packages").iter().map(|value| (name(value), package(value))).collect())
}

/// Returns whether a package is `other`, or depends on it through packages of the workspace.
fn needs(package: &str, other: &str, packages: &BTreeMap<String, Package>) -> bool {
    let mut seen = BTreeSet::from([package]);
    let mut rest = vec![package];
    while let Some(package) = rest.pop() {
        if package == other {
            return true;
        }
        let needed = packages.get(package).into_iter().flat_map(|package| &package.needs);
        rest.extend(needed.map(String::as_str).filter(|name| seen.insert(name)));
    }
    false
}

/// Returns whether a test below the directory may have a name with these parts. The last part must occur in the name of
/// a test or module, and the parts before it in the names of modules. A file is a module.
fn has_test(directory: &Path, parts: &[&str]) -> bool {
    source_files(directory, "rs").into_iter().any(|path| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let inline = lines.iter().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(" {"));
        let inside = path.strip_prefix(root()).unwrap_or(&path).with_extension("");
        let files = inside.iter().filter_map(|name| name.to_str());
        // Leave out the directories that are not modules.
        let files = files.skip_while(|name| !["src", "tests"].contains(name)).skip(1);
        let modules: Vec<String> = inline.chain(files).map(str::to_owned).collect();
        let tests = tests_of(&lines);
        let is_module = |part: &&str| modules.iter().any(|module| module.contains(part));
        let is_test = |part: &&str| tests.iter().any(|test| test.contains(part));
        let Some((name, before)) = parts.split_last() else { return false };
        !tests.is_empty() && before.iter().all(&is_module) && (is_test(name) || is_module(name))
    })
}

/// Returns the names of the functions that have a test attribute.
fn tests_of<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut tests = Vec::new();
    let mut is_test = false;
    for line in lines {
        if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else if let Some((_, name)) = line.split_once("fn ") {
            tests.extend(name.split('(').next().filter(|_| is_test));
            is_test = false;
        } else if !line.starts_with("//") {
            is_test = false;
        }
    }
    tests
}

/// Returns whether the name of a test of the Python package, or of its file, contains the word.
fn has_python_test(word: &str) -> bool {
    source_files(&root().join("bindings/python/tests"), "py").into_iter().any(|path| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let tests = text.lines().filter_map(|line| line.split_once("def test_")?.1.split('(').next());
        let mut names = tests.map(|name| format!("test_{name}"));
        path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| {
            name.starts_with("test_") && (name.contains(word) || names.any(|name| name.contains(word)))
        })
    })
}

/// Returns the files below a directory that have this extension, except for build output.
fn source_files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut files, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let is_source = name != "target" && !name.to_string_lossy().starts_with('.');
            if path.is_dir() {
                directories.extend(is_source.then_some(path));
            } else if path.extension().is_some_and(|found| found == ending) {
                files.push(path);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const STEPS: [&str; 4] = ["lints", "build", "tests", "python"];

    fn of(words: &[&str]) -> Selection {
        Selection::of(words, &STEPS).unwrap()
    }

    #[test]
    fn selects_everything_without_words() {
        let all = of(&[]);
        assert!(STEPS.iter().all(|step| all.has_step(step)));
        assert_eq!(all.nextest(), ["--workspace"]);
    }

    #[test]
    fn selects_steps_packages_and_tests() {
        let lints = of(&["lints"]);
        assert_eq!(STEPS.map(|step| lints.has_step(step)), [true, false, false, false]);
        assert_eq!(of(&["toon"]).nextest(), ["--package", "samuel-toon"]);
        assert_eq!(of(&["samuel-core"]).nextest(), ["--workspace", "--filterset", "package(samuel-core)"]);
        let one = of(&["selects_steps_packages"]);
        assert_eq!(STEPS.map(|step| one.has_step(step)), [false, false, true, false]);
        assert_eq!(one.nextest().last().unwrap(), "test(~selects_steps_packages)");
        assert_eq!(of(&["test_files"]).nextest().last().unwrap(), "test(~test_files) | binary(~test_files)");
        // A step and a package without tests.
        let python = of(&["python"]);
        assert_eq!(STEPS.map(|step| python.has_step(step)), [false, true, false, true]);
        assert_eq!(of(&["merge::"]).names().collect::<Vec<_>>(), ["merge::"]);
        assert_eq!(of(&["toon", "merge::"]).cargo_test().len(), 2);
    }

    #[test]
    fn rejects_unknown_words_with_the_known_ones() {
        for word in
            ["linst", "", "no such", "a'b", "::", "lint", "src", "merge::no_such_test", "nothing::campaign"]
        {
            let error = format!("{:#}", Selection::of(&[word], &STEPS).unwrap_err());
            assert!(error.contains("lints") && error.contains("toon"), "{word}: {error}");
        }
    }

    #[test]
    fn runs_table_for_name_of_its_program() {
        let table = Selection::of(&["parity"], &["python", "table"]).unwrap();
        assert_eq!(["python", "table"].map(|step| table.has_step(step)), [false, true]);
    }

    #[test]
    fn rejects_operators_of_pytest() {
        for word in ["not", "and", "or", "merge::or"] {
            let error = format!("{:#}", Selection::of(&[word], &STEPS).unwrap_err());
            assert!(error.contains("operator"), "{word}: {error}");
        }
        assert_eq!(of(&["test_parity"]).pytest(), ["-k", "test_parity"]);
    }
}
