//! What runs leave behind: nobody else can write it, and there is an end to it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::kit::{HANG, SAMUEL, Target, ran};

const SCRIPT: &str = "[[calls]]\nsteps = [{ write = { path = \"made\", content = \"x\" } }, { done = {} }]\n";

/// A project with a plan of two tasks and an agent that is played.
fn project(more: &str) -> Target {
    let target = Target::with_tasks(&["one", "two"]);
    target.write("script.toml", SCRIPT);
    configure(&target, more);
    target
}

fn configure(target: &Target, more: &str) {
    target.write(
        "samuel.toml",
        format!(
            "version = \"2\"\n[methodology.ralph]\nagent = \"scripted\"\nagent_command = [\"script.toml\"]\n\
             pause = \"0s\"\n{more}\n"
        ),
    );
}

/// Lists everything below a directory.
fn all_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            all_below(&entry.path(), found);
        }
        found.push(entry.path());
    }
}

#[test]
fn nobody_else_can_write_what_samuel_leaves_behind_whatever_the_mask() {
    let target = Target::new();
    let without_mask = |args: &[&str]| {
        let described = target.samuel(args);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "umask 0; exec \"$0\" \"$@\"", SAMUEL]).args(args).env_clear();
        command.current_dir(target.root()).stdin(Stdio::null());
        command.envs(described.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = ran(command, HANG);
        assert!(matches!(ran.code, Some(0 | 4)), "{args:?}: {}", ran.text());
    };
    target.write("script.toml", SCRIPT);
    for name in ["a", "b", "c"] {
        target.write(&format!("src/{name}.rs"), "fn main() {}\n");
    }
    target.write(
        "plugin/samuel-plugin.toml",
        "[plugin]\nname = \"lint\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n[hooks]\n\
         \"quality.check\" = \"hooks/check.sh\"\n",
    );
    target.program("plugin/hooks/check.sh", "#!/bin/sh\necho '{\"ok\": true}'\n");
    without_mask(&["init"]);
    without_mask(&["install", "plugin", "--yes"]);
    without_mask(&["run", "init"]);
    without_mask(&["run", "enqueue", "one"]);
    without_mask(&["sync"]);
    let script = ["run", "start", "--yes", "--agent", "scripted", "--agent-command", "script.toml"];
    without_mask(&script);
    let mut found = Vec::new();
    all_below(&target.path(".samuel"), &mut found);
    all_below(&target.home(), &mut found);
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
    assert!(!ran.text().contains("warning"), "{}", ran.text());
    let left: Vec<bool> = old.iter().map(|path| path.exists()).collect();
    assert_eq!(left, [false, false, false, true, true]);
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "mine");
    let log = fs::read_to_string(target.path(".samuel/run/progress.md")).unwrap();
    assert!(log.contains("removed the logs of 3 runs (3 MB)"), "{log}");
}

#[test]
fn logs_that_hold_too_much_go_and_without_limits_all_stay() {
    let target = project("keep_runs = 0\nkeep_bytes = 2500000\nmax_iterations = 1");
    let old: Vec<PathBuf> = (1..=3).map(|day| earlier(&target, day, 1_000_000)).collect();
    assert!(!target.run(&["run", "start", "--yes"]).text().contains("warning"));
    let log = || fs::read_to_string(target.path(".samuel/run/progress.md")).unwrap();
    assert!(log().contains("removed the logs of 1 run (1 MB)"), "{}", log());
    assert_eq!(old.iter().map(|path| path.exists()).collect::<Vec<_>>(), [false, true, true]);
    configure(&target, "keep_runs = 0\nkeep_bytes = 0\nmax_iterations = 1");
    let ran = target.run(&["run", "start", "--yes"]);
    assert!(!ran.text().contains("removed the logs"), "{}", ran.text());
    assert_eq!(log().matches("removed the logs").count(), 1);
    assert!(old.iter().skip(1).all(|path| path.exists()));
}
