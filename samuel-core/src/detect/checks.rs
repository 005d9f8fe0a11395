//! Guessing how a project is checked.
//!
//! [`detect`] looks at a list of paths and the few manifests it names, and
//! answers with languages and quality checks for a new `samuel.toml`. It runs
//! nothing; the user sees and edits the result.

use std::collections::BTreeMap;

use crate::snapshot::classify;

/// The largest manifest that is looked at, in bytes.
const MAX_MANIFEST_BYTES: usize = 1024 * 1024;

/// What was found out about a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    /// The languages of its code, the one with most files first.
    pub languages: Vec<String>,
    /// The commands that check it, the quickest to fail first.
    pub quality_checks: Vec<String>,
}

/// Detects languages and quality checks.
///
/// `paths` are relative to the project, with `/`. `read` returns the text of
/// one of them, nothing if that fails; it is called for manifests in the root
/// only.
pub fn detect<'a>(
    paths: impl IntoIterator<Item = &'a str>,
    read: impl Fn(&str) -> Option<String>,
) -> Detected {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    let mut project = Project { root: Vec::new(), has_python_tests: false, read: &read };
    for path in paths {
        let class = classify(path);
        if let Some(language) = class.language.filter(|_| class.kind.is_code()) {
            *files.entry(language.name).or_default() += 1;
            project.has_python_tests |= language.name == "python" && path.contains("test_");
        }
        if !path.contains('/') {
            project.root.push(path);
        }
    }
    let mut languages: Vec<(&str, usize)> = files.into_iter().collect();
    languages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Detected {
        languages: languages.into_iter().map(|(name, _)| name.to_owned()).collect(),
        quality_checks: project.checks(),
    }
}

/// What lies in the root of a project.
struct Project<'a, R> {
    root: Vec<&'a str>,
    has_python_tests: bool,
    read: &'a R,
}

impl<R: Fn(&str) -> Option<String>> Project<'_, R> {
    fn has(&self, name: &str) -> bool {
        self.root.contains(&name)
    }

    fn text(&self, name: &str) -> Option<String> {
        let text = if self.has(name) { (self.read)(name) } else { None };
        text.filter(|text| text.len() <= MAX_MANIFEST_BYTES)
    }

    fn checks(&self) -> Vec<String> {
        let own = self.makefile();
        if !own.is_empty() {
            // A project that has its own word for it knows best.
            return own;
        }
        let by_ecosystem = [self.rust(), self.node(), self.python(), self.go(), self.others()];
        by_ecosystem.concat().into_iter().map(str::to_owned).collect()
    }

    fn makefile(&self) -> Vec<String> {
        let (runner, text) = match (self.text("justfile"), self.text("Makefile")) {
            (Some(text), _) => ("just", text),
            (None, Some(text)) => ("make", text),
            (None, None) => return Vec::new(),
        };
        if !has_target(&text, "test") {
            return Vec::new();
        }
        let wanted = ["lint", "test"].into_iter().filter(|target| has_target(&text, target));
        wanted.map(|target| format!("{runner} {target}")).collect()
    }

    fn rust(&self) -> Vec<&'static str> {
        if self.has("Cargo.toml") { vec!["cargo test"] } else { Vec::new() }
    }

    fn node(&self) -> Vec<&'static str> {
        let Some(manifest) = self.text("package.json") else { return Vec::new() };
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
        let script =
            |name: &str| manifest.pointer(&format!("/scripts/{name}")).and_then(|script| script.as_str());
        let is_real = |script: &&str| !script.contains("no test specified");
        let [lint, test] = self.package_manager();
        let lint = script("lint").map(|_| lint);
        lint.into_iter().chain(script("test").filter(is_real).map(|_| test)).collect()
    }

    fn package_manager(&self) -> [&'static str; 2] {
        let known = [
            ("pnpm-lock.yaml", ["pnpm run lint", "pnpm test"]),
            ("yarn.lock", ["yarn lint", "yarn test"]),
            ("bun.lock", ["bun run lint", "bun run test"]),
            ("bun.lockb", ["bun run lint", "bun run test"]),
        ];
        let found = known.into_iter().find(|(lock, _)| self.has(lock));
        found.map_or(["npm run lint", "npm test"], |(_, commands)| commands)
    }

    fn python(&self) -> Vec<&'static str> {
        let pyproject = self.text("pyproject.toml");
        let names_pytest =
            ["pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"]
                .iter()
                .any(|name| self.text(name).is_some_and(|text| text.contains("pytest")));
        let uses_pytest =
            self.has("pytest.ini") || self.has("conftest.py") || names_pytest || self.has_python_tests;
        let uses_ruff =
            self.has("ruff.toml") || pyproject.as_deref().is_some_and(|text| text.contains("[tool.ruff"));
        let (ruff, pytest) = if self.has("uv.lock") {
            ("uv run ruff check", "uv run pytest")
        } else {
            ("ruff check", "pytest")
        };
        uses_ruff.then_some(ruff).into_iter().chain(uses_pytest.then_some(pytest)).collect()
    }

    fn go(&self) -> Vec<&'static str> {
        if self.has("go.mod") { vec!["go vet ./...", "go test ./..."] } else { Vec::new() }
    }

    fn others(&self) -> Vec<&'static str> {
        let gradle = if self.has("gradlew") { "./gradlew test" } else { "gradle test" };
        let maven = if self.has("mvnw") { "./mvnw -q test" } else { "mvn -q test" };
        let ruby = if self.has(".rspec") { "bundle exec rspec" } else { "bundle exec rake test" };
        let known = [
            ("pom.xml", maven),
            ("build.gradle", gradle),
            ("build.gradle.kts", gradle),
            ("Gemfile", ruby),
            ("mix.exs", "mix test"),
            ("Package.swift", "swift test"),
            ("pubspec.yaml", "dart test"),
            ("deno.json", "deno test"),
        ];
        let mut checks: Vec<&str> =
            known.into_iter().filter(|(name, _)| self.has(name)).map(|(_, check)| check).collect();
        checks.dedup();
        checks
    }
}

/// Says whether a makefile or justfile has a target.
fn has_target(text: &str, target: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.strip_prefix(target).map(|rest| rest.trim_start_matches([' ', '\t']));
        rest.is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(files: &[(&str, &str)]) -> Vec<String> {
        let read =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        detect(files.iter().map(|(path, _)| *path), read).quality_checks
    }

    #[test]
    fn each_ecosystem_has_its_usual_checks() {
        assert_eq!(checks(&[("Cargo.toml", "")]), ["cargo test"]);
        assert_eq!(checks(&[("go.mod", "")]), ["go vet ./...", "go test ./..."]);
        assert_eq!(checks(&[("pom.xml", ""), ("mvnw", "")]), ["./mvnw -q test"]);
        assert_eq!(checks(&[("build.gradle", ""), ("build.gradle.kts", "")]), ["gradle test"]);
        assert_eq!(checks(&[("Gemfile", ""), (".rspec", "")]), ["bundle exec rspec"]);
        assert_eq!(checks(&[("mix.exs", "")]), ["mix test"]);
    }

    #[test]
    fn node_checks_are_the_scripts_that_exist() {
        let both = r#"{"scripts": {"test": "vitest", "lint": "eslint ."}}"#;
        assert_eq!(checks(&[("package.json", both)]), ["npm run lint", "npm test"]);
        assert_eq!(checks(&[("package.json", both), ("pnpm-lock.yaml", "")]), ["pnpm run lint", "pnpm test"]);
        let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(checks(&[("package.json", placeholder)]), [""; 0]);
        assert_eq!(checks(&[("package.json", "not JSON")]), [""; 0]);
    }

    #[test]
    fn python_is_checked_with_what_it_is_set_up_for() {
        assert_eq!(
            checks(&[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n")]),
            ["ruff check", "pytest"]
        );
        assert_eq!(checks(&[("a.py", ""), ("tests/test_a.py", "")]), ["pytest"]);
        assert_eq!(checks(&[("pyproject.toml", "pytest"), ("uv.lock", "")]), ["uv run pytest"]);
        assert_eq!(checks(&[("a.py", ""), ("pyproject.toml", "")]), [""; 0]);
    }

    #[test]
    fn a_test_target_of_the_projects_own_wins() {
        let makefile = "lint:\n\truff .\ntest: build\n\tpytest\n";
        assert_eq!(checks(&[("Makefile", makefile), ("Cargo.toml", "")]), ["make lint", "make test"]);
        assert_eq!(checks(&[("Makefile", "test := x\nall:\n"), ("Cargo.toml", "")]), ["cargo test"]);
        assert_eq!(checks(&[("justfile", "test:\n  cargo test\n")]), ["just test"]);
    }

    #[test]
    fn several_ecosystems_are_all_checked() {
        let node = r#"{"scripts": {"test": "vitest"}}"#;
        assert_eq!(checks(&[("Cargo.toml", ""), ("package.json", node)]), ["cargo test", "npm test"]);
    }

    #[test]
    fn manifests_below_the_root_do_not_count() {
        assert_eq!(checks(&[("crates/a/Cargo.toml", ""), ("web/package.json", "")]), [""; 0]);
    }

    #[test]
    fn languages_are_ordered_by_their_files() {
        let paths = ["a.py", "b.rs", "c.rs", "vendor/x.go", "README.md"];
        assert_eq!(detect(paths, |_| None).languages, ["rust", "python"]);
    }
}
