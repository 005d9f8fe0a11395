//! What it costs to use the clone of a worker again, next to what git takes to make a work tree clean.

use std::{cell::Cell, fs, path::Path, process::Command, sync::Arc};

use anyhow::{Result, ensure};
use samuel_core::{
    git::Caller,
    process::Supervisor,
    workspace::{LaneClone, Preparation, WorkNote, WorkspaceLimits, WorkspaceSetup},
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

/// Measures both at 10,000 files, of which an agent has changed some.
pub(super) fn measure() -> Result<Gate> {
    let directory = tempfile::tempdir_in(crate::workspace::target())?;
    let root = cloned(directory.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let theirs = directory.path().join("theirs");
    let setup = WorkspaceSetup {
        root: root.clone(),
        directory: directory.path().join("state/lane-1.clone"),
        caller: Caller::of_process(),
        env: git_env(),
        supervisor: Supervisor::GroupOnly,
        run: String::new(),
        limits: WorkspaceLimits::default(),
        preparation: Preparation::default(),
        control: Arc::new(()),
        on_step: None,
    };
    let head = spawn_line(git(&root).args(["rev-parse", "HEAD"]))?;
    let clone = runtime.block_on(LaneClone::open(setup, "bench-lane-1".to_owned(), &head))?;
    let ours = clone.top();
    spawn(git(&root).args(["worktree", "add", "--quiet", "--detach"]).arg(&theirs))?;

    let number = Cell::new(0);
    let mut begin = || {
        number.set(number.get() + 1);
        runtime.block_on(clone.begin(&format!("samuel/bench/{}-1", number.get()), &head))?;
        Ok(())
    };
    let mut clean = || {
        spawn(git(&theirs).args(["reset", "--quiet", "--hard"]))?;
        spawn(git(&theirs).args(["clean", "-ffdq"]))
    };
    // What the agent does is not counted, nor how its work is taken out.
    let mut dirty = || {
        runtime.block_on(clone.turn_begins())?;
        work_in(&ours)?;
        runtime.block_on(clone.collect(&WorkNote::default()))?;
        work_in(&ours)?;
        work_in(&theirs)
    };
    let [took, probe_took, _] = in_turns(ROUNDS, [&mut begin, &mut clean, &mut dirty])?;
    Ok(Gate {
        name: "reuse of a clone, 10,000 files",
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

/// Returns the line that a command writes.
fn spawn_line(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
