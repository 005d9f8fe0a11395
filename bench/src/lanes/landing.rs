//! What it costs to merge the work of a branch and land it, beside the merge alone.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, ensure};
use samuel_core::{
    git::Caller,
    merge::{ClaimKey, MergeRepository, MergeStrategy, Moved, RepositorySetup, Submission, UnsettledLanding},
    model::TaskId,
    process::Supervisor,
    workspace::ControlLook,
};

use super::super::{
    fixture::{git, git_env, kept_repository},
    gate::Gate,
    measure::{in_turns, output, spawn},
};

const FILES: usize = 10_000;
const ROUNDS: usize = 21;
/// The branch that is landed on, which is checked out nowhere.
const INTO: &str = "samuel/bench/result";

/// Nothing decides what runs.
#[derive(Debug)]
struct Nothing;

impl ControlLook for Nothing {
    fn look(&self, _: &Path) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn covers(&self, _: &str) -> bool {
        false
    }
}

/// Measures landings of branches that change a file each, in a repository of 10,000.
pub(super) fn measure() -> Result<Gate> {
    let directory = tempfile::tempdir_in(crate::workspace::target())?;
    let root = cloned(directory.path())?;
    let branches = (0..=ROUNDS).map(|number| branch(&root, number)).collect::<Result<Vec<_>>>()?;
    spawn(git(&root).args(["branch", INTO]))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let setup = RepositorySetup {
        root: root.clone(),
        directory: directory.path().join("state"),
        caller: Caller::of_process(),
        env: git_env(),
        supervisor: Supervisor::GroupOnly,
        strategy: MergeStrategy::Merge,
        control: Arc::new(Nothing),
    };
    let merge = runtime.block_on(MergeRepository::open(setup))?;

    let left = RefCell::new(branches.iter());
    let next = RefCell::new(None);
    // The same is merged by git first, and then landed.
    let mut probe = || {
        let submission = left.borrow_mut().next().cloned();
        let commit = submission.as_ref().map(|work: &Submission| work.commit.clone()).unwrap_or_default();
        *next.borrow_mut() = submission;
        spawn(git(&root).args(["merge-tree", "--write-tree", INTO, &commit]))
    };
    let mut land = || {
        let submission = next.borrow_mut().take();
        runtime.block_on(async {
            let work: Vec<Submission> = submission.into_iter().collect();
            let built = merge.build(INTO, &work).await?;
            let new = built.merged.last().map(|merged| merged.landed.clone()).unwrap_or_default();
            let landing = UnsettledLanding { into: INTO.to_owned(), old: built.base, new };
            let moved = merge.advance(&landing).await?;
            ensure!(moved == Moved::Done, "it did not land: {moved:?}");
            Ok(())
        })
    };
    let [probe_took, took] = in_turns(ROUNDS, [&mut probe, &mut land])?;

    let landed = output(git(&root).args(["rev-list", "--count", "--merges", INTO]))?;
    let landed = String::from_utf8_lossy(&landed).trim().to_owned();
    ensure!(landed == (ROUNDS + 1).to_string(), "{landed} branches landed");
    Ok(Gate {
        name: "landing of a branch, 10,000 files",
        took,
        probe: "git merge-tree of the same".to_owned(),
        probe_took,
        limit: 8.0,
        notes: Vec::new(),
    })
}

/// Makes a repository that shares the objects of the one that is kept.
pub(super) fn cloned(directory: &Path) -> Result<PathBuf> {
    let (kept, root) = (kept_repository(FILES)?, directory.join("project"));
    spawn(git(&kept).args(["clone", "--quiet", "--shared", "."]).arg(&root))?;
    Ok(root)
}

/// Makes a branch with one commit, without a work tree.
fn branch(root: &Path, number: usize) -> Result<Submission> {
    let line = format!(
        "export GIT_INDEX_FILE=.git/bench-index; git read-tree HEAD; \
         blob=$(echo {number} | git hash-object -w --stdin); \
         git update-index --cacheinfo 100644,$blob,src/part_0000/module_{number}.rs; \
         commit=$(git commit-tree -p HEAD -m 'Do {number}' $(git write-tree)); \
         git update-ref refs/heads/samuel/bench/{number}-1 $commit; echo $commit $(git rev-parse HEAD)"
    );
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-ec", &line]).current_dir(root).envs(git_env());
    let told = String::from_utf8(output(&mut shell)?)?;
    let (commit, base) = told.trim().split_once(' ').unwrap_or_default();
    Ok(Submission {
        key: ClaimKey { task: TaskId::new(number.to_string()), token: number as u64 + 1 },
        branch: format!("samuel/bench/{number}-1"),
        commit: commit.to_owned(),
        base: base.to_owned(),
        tree: None,
        attempt: 1,
        is_critical: false,
        since: Default::default(),
    })
}
