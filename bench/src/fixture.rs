//! Repositories and plans to measure on.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use anyhow::Result;
use samuel_core::{
    clock::SystemClock,
    model::{Plan, Task, TaskId},
    project::Project,
    state::{Actor, Existing, PlanStore},
};

use super::measure::{output, spawn};
use crate::workspace;

/// How many files a directory of the fixture holds.
const FILES_PER_DIRECTORY: usize = 100;

/// Creates a repository with so many tracked files, each with its own content.
pub(super) fn repository(root: &Path, files: usize) -> Result<()> {
    fs::create_dir_all(root)?;
    for number in 0..files {
        let directory = root.join(format!("src/part_{:04}", number / FILES_PER_DIRECTORY));
        if number % FILES_PER_DIRECTORY == 0 {
            fs::create_dir_all(&directory)?;
        }
        let lines = (0..number % 40).map(|line| format!("pub const N{line}: usize = {number};\n"));
        let text: String = lines.collect();
        fs::write(directory.join(format!("module_{number}.rs")), format!("//! Module {number}.\n{text}"))?;
    }
    fs::write(root.join(".gitignore"), ".samuel/\n")?;
    spawn(git(root).args(["init", "--quiet", "--initial-branch=main"]))?;
    spawn(git(root).args(["add", "--all"]))?;
    spawn(git(root).args(["commit", "--quiet", "--message", "Start"]))?;
    Ok(())
}

/// Returns a repository of many files that is kept between runs, since making
/// it takes longer than measuring on it.
pub(super) fn kept_repository(files: usize) -> Result<PathBuf> {
    let root = workspace::target().join("bench").join(format!("repository-{files}"));
    let complete = root.join(".git/complete");
    if !complete.exists() {
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        println!("creating a repository of {files} files in {}", root.display());
        repository(&root, files)?;
        fs::write(complete, "")?;
        // What is still being written would be measured along.
        spawn(&mut Command::new("sync"))?;
    }
    Ok(root)
}

/// Returns a call of git that knows nothing of the user's settings.
pub(super) fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).envs(git_env());
    command
}

/// Returns the environment of git.
pub(super) fn git_env() -> Vec<(String, String)> {
    let fixed = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "Bench"),
        ("GIT_AUTHOR_EMAIL", "bench@example.org"),
        ("GIT_COMMITTER_NAME", "Bench"),
        ("GIT_COMMITTER_EMAIL", "bench@example.org"),
    ];
    let path = std::env::var("PATH").map(|path| ("PATH".to_owned(), path));
    path.into_iter().chain(fixed.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
}

/// Says how many files git tracks.
pub(super) fn tracked(root: &Path) -> Result<usize> {
    let listing = output(git(root).args(["ls-files", "-z"]))?;
    Ok(listing.iter().filter(|byte| **byte == 0).count())
}

/// Opens a directory as a project and gives it a plan of so many tasks.
pub(super) fn planned(root: &Path, tasks: usize) -> Result<(Project, Arc<dyn PlanStore>)> {
    let project = Project::open(root, None, Arc::new(SystemClock::new()))?;
    let store = project.plan_store();
    let task = |number: usize| Task {
        description: format!("Read the file, check every key and report line and column, part {number}."),
        files_to_modify: vec![format!("src/part_0000/module_{number}.rs")],
        acceptance: vec![format!("cargo test module_{number}")],
        ..Task::new(TaskId::new(number.to_string()), format!("Parse the configuration of module {number}"))
    };
    let plan = Plan { tasks: (1..=tasks).map(task).collect(), ..Plan::default() };
    store.import(plan, Actor::User, Existing::Replace)?;
    Ok((project, store))
}
