//! What it costs to use the work tree of a lane again, beside what git takes to make one clean.

use std::{cell::Cell, fs, path::Path};

use anyhow::Result;
use samuel_core::{
    git::Caller,
    process::Supervisor,
    workspace::{Making, Preparation, Worktree, WorktreeSetup},
};

use super::{
    super::{
        fixture::{git, git_env},
        gate::Gate,
        measure::{in_turns, spawn},
    },
    landing::cloned,
};

const ROUNDS: usize = 21;
/// How many files an agent changed, and how many it made.
const CHANGED: usize = 20;

/// Measures both in work trees of 10,000 files, of which an agent has changed some.
pub(super) fn measure() -> Result<Gate> {
    let directory = tempfile::tempdir_in(crate::workspace::target())?;
    let root = cloned(directory.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (ours, theirs) = (directory.path().join("state/lane-1"), directory.path().join("theirs"));
    let setup = WorktreeSetup {
        root: root.clone(),
        tree: ours.clone(),
        caller: Caller::of_process(),
        env: git_env(),
        supervisor: Supervisor::GroupOnly,
        preparation: Preparation::default(),
    };
    let tree = runtime.block_on(Worktree::open(setup, &Making::default()))?;
    spawn(git(&root).args(["worktree", "add", "--quiet", "--detach"]).arg(&theirs))?;

    let number = Cell::new(0);
    let mut begin = || {
        number.set(number.get() + 1);
        runtime.block_on(tree.begin(&format!("samuel/bench/{}-1", number.get()), "HEAD"))?;
        Ok(())
    };
    let mut clean = || {
        spawn(git(&theirs).args(["reset", "--quiet", "--hard"]))?;
        spawn(git(&theirs).args(["clean", "-ffdq"]))
    };
    // What the agent does is not counted.
    let mut dirty = || {
        work_in(&ours)?;
        work_in(&theirs)
    };
    let [took, probe_took, _] = in_turns(ROUNDS, [&mut begin, &mut clean, &mut dirty])?;
    Ok(Gate {
        name: "reuse of a work tree, 10,000 files",
        took,
        probe: "git reset --hard + git clean".to_owned(),
        probe_took,
        limit: 2.0,
        notes: Vec::new(),
    })
}

/// Leaves a work tree as an agent does.
fn work_in(tree: &Path) -> Result<()> {
    for number in 0..CHANGED {
        fs::write(tree.join(format!("src/part_0000/module_{number}.rs")), "changed\n")?;
        fs::write(tree.join(format!("made-{number}.txt")), "made\n")?;
    }
    Ok(())
}
