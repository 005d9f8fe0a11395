//! The commands of hooks, and the files of the project that they start.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    fs::lexical,
    hook::HookFileEntry,
    script::{self, Budget, CommandLine, PinOptions, Pinned, named::Executed},
};

/// How long a hook may take that says nothing of it.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// A command without values of its variables.
#[derive(Debug)]
pub(super) struct PlainCommand {
    line: CommandLine,
    /// Where it runs.
    cwd: PathBuf,
    /// What it executes of the project.
    pub(super) executed: Executed,
}

/// How the files are read that commands start.
pub(super) struct Pinning<'a> {
    /// The project's root.
    pub(super) root: &'a Path,
    /// Where copies are kept.
    pub(super) state_dir: Option<&'a Path>,
    /// How much may be read, all together.
    pub(super) budget: &'a Budget,
    /// Says which file is started as it is then.
    pub(super) is_exempt: &'a dyn Fn(&Path) -> bool,
}

impl PlainCommand {
    /// Reads what a command executes of a project, in a directory of it. Blocks.
    pub(super) fn read(line: CommandLine, root: &Path, cwd: PathBuf) -> Self {
        let executed = script::executed(&line, root, &cwd);
        Self { line, cwd, executed }
    }

    /// Reads the files that the command starts, and returns what is told of it with them.
    /// `is_fixed` says of a word of a list whether it is the same at each start. Blocks.
    pub(super) fn pinned(
        self,
        entry: &HookFileEntry,
        pinning: &Pinning<'_>,
        is_fixed: &dyn Fn(usize) -> bool,
    ) -> (HookFileEntry, Pinned) {
        let Self { line, cwd, executed } = self;
        let Pinning { root, state_dir, budget, is_exempt } = *pinning;
        let options = PinOptions { root, cwd: &cwd, state_dir, budget, is_exempt, is_fixed };
        let pinned = Pinned::of_executed(&line, executed, options);
        let scripts = pinned.files().iter().map(|file| (file.path.clone(), file.digest.clone())).collect();
        let missing = pinned.missing().iter().flatten();
        let missing = missing.map(|path| path.strip_prefix(root).unwrap_or(path).to_owned()).collect();
        let (products, patterns) = (pinned.products().to_vec(), pinned.patterns().to_vec());
        (HookFileEntry { scripts, products, missing, patterns, ..entry.clone() }, pinned)
    }
}

/// Says in one line each what to know of the files that a command starts, with the place of its hook. That
/// one does not exist is left out where it was `told_of`.
pub(super) fn remarks(entry: &HookFileEntry, pinned: &Pinned, told_of: Option<&Path>) -> Vec<String> {
    let told_of = told_of.map(lexical);
    let is_told = |place: &PathBuf| told_of.as_ref().is_some_and(|path| place.ends_with(path));
    let missing = pinned.missing().iter().filter(|places| !places.iter().any(is_told)).map(|places| {
        let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        format!(
            "the command starts {}, which does not exist: it is not run once that appears, because what a hook \
             starts may not change during a run. If the work is to make it, name it in a .gitignore that git tracks",
            places.join(" or ")
        )
    });
    let products = pinned.products().iter().map(|path| {
        format!(
            "the command starts `{}`, which git ignores and does not track: the agent may change it as it likes. \
             To have it watched, track it in git",
            path.display()
        )
    });
    let told = pinned.unpinned().iter().chain(pinned.lints()).cloned().chain(missing).chain(products);
    told.map(|remark| format!("{entry}: {remark}")).collect()
}
