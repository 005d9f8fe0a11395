//! Selection: the steps and tests that the words of the command line name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::workspace::{cargo, root};

/// The core, with which everything of the workspace is built that uses it.
const CORE: &str = "samuel-core";

/// What the words select. Without words that is everything.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Selection {
    words: bool,
    steps: BTreeSet<String>,
    packages: BTreeSet<String>,
    /// Whether the core is built for one of the packages.
    with_core: bool,
    /// Parts of the names of tests in Rust.
    rust: BTreeSet<String>,
    /// Parts of the names of tests in Python.
    python: BTreeSet<String>,
}

impl Selection {
    /// Reads the words. A word is the name of a step, that of a package with or without `samuel-`, or of both, or a part of
    /// the name of a test or of its program.
    ///
    /// # Errors
    /// Fails for a word that is none of these, naming those that are known.
    pub(super) fn of(words: &[&str], steps: &[&str]) -> Result<Self> {
        let mut selection = Self { words: !words.is_empty(), ..Self::default() };
        if words.is_empty() {
            return Ok(selection);
        }
        let packages = packages()?;
        for &word in words {
            let package = [word.to_owned(), format!("samuel-{word}")]
                .into_iter()
                .find(|name| packages.contains_key(name));
            let is_step = steps.contains(&word);
            if is_step {
                selection.steps.insert(word.to_owned());
            }
            if let Some(package) = package {
                selection.with_core |= needs(&package, CORE, &packages);
                selection.packages.insert(package);
            } else if !is_step {
                selection.add_name(word).with_context(|| known(word, steps, &packages))?;
            }
        }
        Ok(selection)
    }

    fn add_name(&mut self, word: &str) -> Result<()> {
        let name = word.trim_end_matches("::").rsplit("::").next().unwrap_or(word);
        let is_name = !name.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_:-".contains(c));
        let rust = is_name
            && has_test(
                root(),
                "rs",
                &|line| line.trim_start().split_once("fn ").map(|(_, name)| name.to_owned()),
                name,
            );
        let python = is_name
            && has_test(
                &root().join("bindings/python/tests"),
                "py",
                &|line| line.split_once("def test_").map(|(_, name)| format!("test_{name}")),
                name,
            );
        ensure!(rust || python, "no test has this name");
        if rust {
            self.rust.insert(word.to_owned());
            self.with_core = true;
        }
        if python {
            self.python.insert(name.to_owned());
        }
        Ok(())
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

    /// Returns the arguments of nextest that select the tests. Packages that do without the core are built by themselves,
    /// everything else with the features of the whole workspace, with which it is built anyway.
    pub(super) fn nextest(&self) -> Vec<String> {
        let all = self.packages.is_empty() && self.rust.is_empty();
        if all || self.names_step("tests") {
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
        let names = self.rust.iter().map(|name| format!("test(~{name}) | binary(~{name})"));
        let filter = packages.chain(names).collect::<Vec<_>>().join(" | ");
        ["--workspace".to_owned(), "--filterset".to_owned(), filter].into()
    }

    /// Returns the arguments of each call of `cargo test` that selects the tests, which takes one name at a time.
    pub(super) fn cargo_test(&self) -> Vec<Vec<String>> {
        let named = self.packages.is_empty() && self.rust.is_empty();
        if named || self.names_step("tests") {
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

fn known(word: &str, steps: &[&str], packages: &BTreeMap<String, BTreeSet<String>>) -> String {
    let packages: Vec<&str> = packages.keys().map(|name| name.trim_start_matches("samuel-")).collect();
    format!(
        "unknown word \"{word}\"\n  steps:    {}\n  packages: {}\n  or a part of the name of a test or its file",
        steps.join(" "),
        packages.join(" ")
    )
}

/// Returns the packages of the workspace with the names of what they depend on.
fn packages() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let output = cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let name = |value: &Value| value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let packages = list(&metadata, "packages");
    Ok(packages
        .iter()
        .map(|package| (name(package), list(package, "dependencies").iter().map(name).collect()))
        .collect())
}

/// Returns whether a package is another, or depends on it by packages of the workspace.
fn needs(package: &str, other: &str, packages: &BTreeMap<String, BTreeSet<String>>) -> bool {
    let mut seen = BTreeSet::from([package]);
    let mut rest = vec![package];
    while let Some(package) = rest.pop() {
        if package == other {
            return true;
        }
        rest.extend(
            packages.get(package).into_iter().flatten().map(String::as_str).filter(|name| seen.insert(name)),
        );
    }
    false
}

/// Returns whether the path of a source file, or a name that `defined` finds in one of its lines, has the word in it.
fn has_test(directory: &Path, ending: &str, defined: &dyn Fn(&str) -> Option<String>, word: &str) -> bool {
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    directories.push(path);
                }
            } else if path.extension().is_some_and(|found| found == ending) {
                let inside = path.strip_prefix(root()).unwrap_or(&path);
                let text = || fs::read_to_string(&path).unwrap_or_default();
                let is_name = |line: &str| {
                    let name = defined(line)?;
                    name.split('(').next().is_some_and(|name| name.contains(word)).then_some(())
                };
                if inside.to_string_lossy().contains(word)
                    || text().lines().any(|line| is_name(line).is_some())
                {
                    return true;
                }
            }
        }
    }
    false
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
        assert_eq!(
            one.nextest().last().unwrap(),
            "test(~selects_steps_packages) | binary(~selects_steps_packages)"
        );
        assert!(of(&["python"]).has_step("build"));
        assert_eq!(of(&["merge::"]).names().collect::<Vec<_>>(), ["merge::"]);
        assert_eq!(of(&["toon", "merge::"]).cargo_test().len(), 2);
    }

    #[test]
    fn rejects_unknown_words_with_the_known_ones() {
        for word in ["linst", "", "no such", "a'b", "::"] {
            let error = format!("{:#}", Selection::of(&[word], &STEPS).unwrap_err());
            assert!(error.contains("lints") && error.contains("toon"), "{word}: {error}");
        }
    }
}
