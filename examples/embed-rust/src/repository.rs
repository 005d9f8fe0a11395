//! The temporary repository, and the environment that everything runs in.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, ensure};

/// Creates a repository with a test that passes while there is nothing to test.
pub(crate) fn create(root: &Path) -> Result<()> {
    fs::write(root.join("test.sh"), include_str!("test.sh"))?;
    fs::write(root.join(".gitignore"), ".samuel/\n")?;
    git(root, &["init", "--quiet", "--initial-branch=main"])?;
    git(root, &["add", "--all"])?;
    git(root, &["commit", "--quiet", "--message", "chore: start"])
}

fn git(root: &Path, args: &[&str]) -> Result<()> {
    let status = Command::new("git").args(args).current_dir(root).envs(environment()).status()?;
    ensure!(status.success(), "git {args:?} failed");
    Ok(())
}

/// Returns what agents, checks and git may see of the environment. The library
/// never looks at it by itself.
pub(crate) fn environment() -> Vec<(String, String)> {
    let mut environment: Vec<(String, String)> = ["PATH", "HOME"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect();
    for role in ["AUTHOR", "COMMITTER"] {
        environment.push((format!("GIT_{role}_NAME"), "Embedded Samuel".to_owned()));
        environment.push((format!("GIT_{role}_EMAIL"), "samuel@example.org".to_owned()));
    }
    environment
}
