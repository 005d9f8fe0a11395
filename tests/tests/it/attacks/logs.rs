//! What runs leave behind: nobody else can write it, and there is an end to it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use crate::attacks::kit::{HANG, PASSES, SCRIPT, SCRIPTED, Target, all_below, manifest, ran};

/// A project with a plan of two tasks and an agent that is played.
fn project(more: &str) -> Target {
    let target = Target::with_tasks(&["one", "two"]);
    target.write("script.toml", SCRIPT);
    target.configure(&format!("{SCRIPTED}{more}"));
    target
}

#[test]
fn nobody_else_can_write_what_samuel_leaves_behind_whatever_the_mask() {
    let target = Target::new();
    let without_mask = |args: &[&str]| {
        let ran = ran(target.samuel_after("umask 0", args), HANG);
        assert!(matches!(ran.code, Some(0 | 4)), "{args:?}: {}", ran.text());
    };
    target.write("script.toml", SCRIPT);
    for name in ["a", "b", "c"] {
        target.write(&format!("src/{name}.rs"), "fn main() {}\n");
    }
    let hooks = "[hooks]\n\"quality.check\" = \"hooks/check.sh\"\n";
    target.write("plugin/samuel-plugin.toml", manifest("skill", "lint", hooks));
    target.program("plugin/hooks/check.sh", PASSES);
    without_mask(&["init"]);
    without_mask(&["install", "plugin", "--yes"]);
    without_mask(&["run", "init"]);
    without_mask(&["run", "enqueue", "one"]);
    without_mask(&["sync"]);
    let script = ["run", "start", "--yes", "--agent", "scripted", "--agent-command", "script.toml"];
    without_mask(&script);
    let mut found = [all_below(&target.path(".samuel")), all_below(&target.home())].concat();
    found.extend(["samuel.toml", "samuel.lock", "AGENTS.md"].map(|name| target.path(name)));
    assert!(found.iter().any(|path| path.ends_with("1-1.out")), "{found:?}");
    for path in found {
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o002, 0, "{} has mode {mode:o}", path.display());
        let own = ["logs", "cache", "kv"].iter().any(|name| {
            path.strip_prefix(target.path(".samuel/run")).is_ok_and(|inner| inner.starts_with(name))
        });
        if own {
            assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
        }
    }
}

/// Makes the logs of an earlier run.
fn earlier(target: &Target, day: u32, bytes: usize) -> PathBuf {
    let name = format!(".samuel/run/logs/202511{day:02}T100000Z-0a1b2c3d");
    target.write(&format!("{name}/1-1.out"), vec![b'x'; bytes]);
    target.path(&name)
}

fn warns_of_logs(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("warning") && line.contains("logs"))
}

#[test]
fn the_logs_of_old_runs_go_and_the_run_says_so() {
    let target = project("keep_runs = 3\nmax_iterations = 1");
    let old: Vec<PathBuf> = (1..=5).map(|day| earlier(&target, day, 1_000_000)).collect();
    // A run follows no link that is called like one.
    let precious = target.home().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "mine").unwrap();
    symlink(&precious, target.path(".samuel/run/logs/20251101T000000Z-00000000")).unwrap();
    let ran = target.run(&["run", "start", "--yes"]);
    assert!(!warns_of_logs(&ran.text()), "{}", ran.text());
    let left: Vec<bool> = old.iter().map(|path| path.exists()).collect();
    assert_eq!(left, [false, false, false, true, true]);
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "mine");
    let log = target.read(".samuel/run/progress.md");
    assert!(log.contains("removed the logs of 3 runs (3 MB)"), "{log}");
}

#[test]
fn logs_that_hold_too_much_go_and_without_limits_all_stay() {
    let target = project("keep_runs = 0\nkeep_bytes = 2500000\nmax_iterations = 1");
    let old: Vec<PathBuf> = (1..=3).map(|day| earlier(&target, day, 1_000_000)).collect();
    assert!(!warns_of_logs(&target.run(&["run", "start", "--yes"]).text()));
    let log = || target.read(".samuel/run/progress.md");
    assert!(log().contains("removed the logs of 1 run (1 MB)"), "{}", log());
    assert_eq!(old.iter().map(|path| path.exists()).collect::<Vec<_>>(), [false, true, true]);
    target.configure(&format!("{SCRIPTED}keep_runs = 0\nkeep_bytes = 0\nmax_iterations = 1"));
    let ran = target.run(&["run", "start", "--yes"]);
    assert!(!ran.text().contains("removed the logs"), "{}", ran.text());
    assert_eq!(log().matches("removed the logs").count(), 1);
    assert!(old.iter().skip(1).all(|path| path.exists()));
}
