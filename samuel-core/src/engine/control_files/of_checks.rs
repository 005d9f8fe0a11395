//! What the quality checks of a run execute: scripts, which are watched, and products of
//! the work, which are not.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::{
    config::CheckCommand, git::products_below, project::Project, script::named::Executed, text::one_line,
};

/// The longest command that is shown with a file, in characters.
const MAX_COMMAND_CHARS: usize = 80;

/// The files that checks execute.
#[derive(Debug, Default)]
pub(super) struct OfChecks {
    /// Those that are watched, whether they exist or not, each with what executes it.
    pub(super) scripts: BTreeMap<PathBuf, String>,
    /// The patterns of those, relative to the root, which may match more of them later.
    pub(super) patterns: BTreeMap<PathBuf, String>,
    /// Those that the project's repository ignores, as a program that is built is: what is
    /// in them is work like the source that they are made of.
    pub(super) products: BTreeSet<PathBuf>,
    /// What each check executes, with its command.
    pub(super) by_check: Vec<(String, Executed)>,
    /// What is said of checks whose files are missing or are not watched.
    pub(super) warnings: Vec<String>,
}

impl OfChecks {
    /// Finds what checks execute. What `is_watched` says so of is never a product. Blocks.
    pub(super) fn of(project: &Project, checks: &[CheckCommand], is_watched: impl Fn(&Path) -> bool) -> Self {
        let root = project.root();
        let read = |check: &CheckCommand| (check.command.clone(), Executed::by_shell(&check.command, root));
        let by_check: Vec<(String, Executed)> = checks.iter().map(read).collect();
        let executed = || by_check.iter().map(|(_, executed)| executed);
        // What a pattern in an ignored directory will match is a product too.
        let patterns = executed().flat_map(|executed| &executed.patterns).map(|pattern| root.join(pattern));
        let patterns: Vec<PathBuf> = patterns.collect();
        let candidates = executed().flat_map(Executed::paths).chain(&patterns);
        let candidates = candidates.filter(|path| !is_watched(path)).cloned();
        let mut found =
            Self { products: products_below(root, project.caller(), candidates), ..Self::default() };
        for (command, executed) in &by_check {
            found.add(&one_line(command, MAX_COMMAND_CHARS), executed, root);
        }
        Self { by_check, ..found }
    }

    fn add(&mut self, command: &str, executed: &Executed, root: &Path) {
        let is_product = |path: &&PathBuf| self.products.contains(*path);
        // Where one of its places is ignored, the file is one that the work makes.
        let missing = executed.missing.iter().filter(|places| !places.iter().any(|path| is_product(&path)));
        self.warnings.extend(missing.map(|places| is_missing(command, &shown(places, root))));
        let products: Vec<&PathBuf> = executed.paths().filter(is_product).collect();
        if !products.is_empty() {
            self.warnings.push(is_not_watched(command, &shown(products, root)));
        }
        if executed.is_unknown {
            self.warnings.push(is_unknown(command));
        }
        let named_by = || format!("run by quality check `{command}`");
        for path in executed.paths().filter(|path| !is_product(path)) {
            self.scripts.entry(path.clone()).or_insert_with(named_by);
        }
        for pattern in executed.patterns.iter().filter(|pattern| !is_product(&&root.join(pattern))) {
            self.patterns.entry(pattern.clone()).or_insert_with(named_by);
        }
    }
}

fn is_missing(command: &str, places: &[String]) -> String {
    format!(
        "quality check `{command}` executes {}, which does not exist: the run ends when it appears, because what \
         a check executes may not change during a run. If the work is to make it, name it in a .gitignore that \
         git tracks",
        places.join(" or ")
    )
}

fn is_not_watched(command: &str, products: &[String]) -> String {
    format!(
        "quality check `{command}` executes {}, which git ignores and does not track: the agent may change it as it \
         likes, and the run goes on. To have it watched, track it in git; or let the check run it by a script that \
         git tracks, which is watched",
        products.join(", ")
    )
}

fn is_unknown(command: &str) -> String {
    format!(
        "quality check `{command}` executes what cannot be told from its command line and is not watched: the agent \
         may change it as it likes, and the run goes on. To have it watched, name the script plainly, as in \
         `sh ci/check.sh`"
    )
}

fn shown<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, root: &Path) -> Vec<String> {
    let shown = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).display().to_string();
    paths.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::sync::Arc;

    use super::*;
    use crate::{clock::SystemClock, git::testing::Repository as Made};

    fn found(made: &Made, checks: &[&str], watched: &str) -> (String, String, Vec<String>) {
        let root = made.path().canonicalize().unwrap();
        let project = Project::open(&root, None, Arc::new(SystemClock::new())).unwrap();
        let checks: Vec<CheckCommand> = checks.iter().map(|check| CheckCommand::new(*check)).collect();
        let found = OfChecks::of(&project, &checks, |path| path == root.join(watched));
        let (scripts, products) = (shown(found.scripts.keys(), &root), shown(&found.products, &root));
        (scripts.join(" "), products.join(" "), found.warnings)
    }

    #[test]
    fn what_git_ignores_is_a_product_whether_it_is_there_or_not() {
        let made = Made::with(&[(".gitignore", "/build/\n"), ("build.sh", ""), ("ci/check.sh", "")]);
        made.write("build/made", "");
        let check = "sh build.sh && ./build/made && ./build/tests; sh new.sh";
        let (scripts, products, warnings) = found(&made, &[check, "sh ci/check.sh; . build/made"], "none");
        assert_eq!(
            (scripts.as_str(), products.as_str()),
            ("build.sh ci/check.sh new.sh", "build/made build/tests")
        );
        let starts = [
            format!("quality check `{check}` executes new.sh, which does not exist: "),
            format!("quality check `{check}` executes build/made, build/tests, which git ignores and "),
            "quality check `sh ci/check.sh; . build/made` executes build/made, which git ignores and "
                .to_owned(),
        ];
        assert_eq!(warnings.len(), starts.len(), "{warnings:?}");
        for (warning, start) in warnings.iter().zip(starts) {
            assert!(warning.starts_with(&start), "{warning}");
        }
    }

    #[test]
    fn a_file_that_may_stand_in_an_ignored_directory_is_watched_in_the_others() {
        let made = Made::with(&[(".gitignore", "/build/\n")]);
        made.write("build/made", "");
        let (scripts, products, warnings) = found(&made, &["cd build && ./tests"], "none");
        assert_eq!((scripts.as_str(), products.as_str()), ("tests", "build/tests"));
        assert!(matches!(&*warnings, [one] if one.contains(" executes build/tests, which git ignores")));
    }

    #[test]
    fn what_is_watched_for_another_reason_is_no_product() {
        let made = Made::with(&[(".gitignore", "*.sh\n")]);
        made.write("agent.sh", "");
        let (scripts, products, warnings) = found(&made, &["sh agent.sh"], "agent.sh");
        assert_eq!((scripts.as_str(), products.as_str(), warnings.len()), ("agent.sh", "", 0));
    }

    #[test]
    fn without_a_repository_that_can_be_read_everything_is_watched() {
        let made = Made::with(&[(".gitignore", "/build/\n")]);
        made.write("build/made", "");
        made.write(".git/index", "damaged");
        assert_eq!(found(&made, &["./build/made"], "none").0, "build/made");
        std::fs::remove_dir_all(made.path().join(".git")).unwrap();
        assert_eq!(found(&made, &["./build/made"], "none").0, "build/made");
    }
}
