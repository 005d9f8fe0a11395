//! The files of a project that the user's git reads or starts, because its configuration says so.

use std::path::{Path, PathBuf};

use super::control_files::OfHooks;
use crate::{
    git::{Configured, Repository},
    project::Project,
    script::named::Executed,
};

/// How hook scripts share code: they call what lies beside or right below them.
const HOOK_DEPTHS: [&str; 2] = ["*", "*/*"];
/// The directory of hooks that husky makes, which start those of its parent.
const OF_HUSKY: &str = "_";

/// Adds what git reads and starts of a project to what hook files make execute. Blocks.
pub(super) fn add_to(found: &mut OfHooks, project: &Project) {
    // A repository that cannot be read is told of elsewhere.
    let Ok(Some(repository)) = Repository::open(project.root(), project.caller()) else { return };
    let configured = Configured::of(&repository, project.caller());
    let inner = |path: &Path| path.strip_prefix(repository.root()).ok().map(Path::to_owned);
    let read = configured.files.iter().filter_map(|file| inner(file));
    found.files.extend(read.map(|file| (file, "read by git".to_owned())));
    for directory in &configured.hooks {
        let is_husky = directory.file_name().is_some_and(|name| name == OF_HUSKY);
        let parent = directory.parent().filter(|_| is_husky);
        let directories = [Some(directory.as_path()), parent].into_iter().flatten().filter_map(inner);
        let patterns = directories.flat_map(|directory| HOOK_DEPTHS.map(|depth| directory.join(depth)));
        found.patterns.extend(patterns.map(|pattern| (pattern, "run by git as a hook".to_owned())));
    }
    for (name, line) in &configured.commands {
        let executed = Executed::by_hook(line, repository.root(), repository.top());
        let named_by = || format!("run by git for {name}");
        let files: Vec<PathBuf> = executed.paths().filter_map(|file| inner(file)).collect();
        found.files.extend(files.into_iter().map(|file| (file, named_by())));
        found.patterns.extend(executed.patterns.into_iter().map(|pattern| (pattern, named_by())));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::sync::Arc;

    use super::*;
    use crate::{clock::SystemClock, git::testing};

    #[test]
    fn what_git_starts_of_a_project_is_named_with_the_setting_that_says_so() {
        let made =
            testing::Repository::with(&[(".husky/pre-commit", ""), ("ci/clean.sh", ""), ("src/a.rs", "")]);
        made.run(&["config", "include.path", "../team.config"]);
        made.run(&["config", "core.hooksPath", ".husky/_"]);
        made.run(&["config", "filter.x.clean", "sh ci/clean.sh src/a.rs"]);
        made.run(&["config", "core.fsmonitor", "./monitor"]);
        let project = Project::open(made.path(), None, Arc::new(SystemClock::new())).unwrap();
        let mut found = OfHooks::default();
        add_to(&mut found, &project);
        let told = |entries: &[(PathBuf, String)]| {
            let mut told: Vec<String> =
                entries.iter().map(|(path, named_by)| format!("{}: {named_by}", path.display())).collect();
            told.sort();
            told
        };
        let files = [
            "ci/clean.sh: run by git for filter.x.clean",
            "monitor: run by git for core.fsmonitor",
            "team.config: read by git",
        ];
        assert_eq!(told(&found.files), files);
        let patterns = [".husky/*/*", ".husky/*", ".husky/_/*/*", ".husky/_/*"];
        assert_eq!(told(&found.patterns), patterns.map(|pattern| format!("{pattern}: run by git as a hook")));
    }
}
