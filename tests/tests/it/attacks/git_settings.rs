//! git that Samuel runs executes nothing that the repository's configuration names.

use std::{fs, path::Path, process::Command};

use samuel_core::{
    model::TaskId,
    state::{Actor, Mutation},
};

use crate::attacks::kit::{Target, program};

/// An agent that makes files with filters.
const AGENT: &str = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID.x; echo y > made-$SAMUEL_TASK_ID.y; \
                     $SAMUEL_BINARY run done $SAMUEL_TASK_ID\n";
const START: [&str; 9] =
    ["run", "start", "--yes", "--pause", "0", "--agent", "command", "--agent-command", "sh agent.sh"];
const CHECKED: &str = "quality_checks = [\"true\"]";
const RUN: &str = "20260101T000000Z-0a1b2c3d";

/// The hooks that git knows of what Samuel does.
const HOOKS: [&str; 11] = [
    "applypatch-msg",
    "commit-msg",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "prepare-commit-msg",
    "reference-transaction",
];

/// The settings that name a program, by the name of the mark that it leaves.
const SETTINGS: [(&str, &str, &str); 14] = [
    ("fsmonitor", "core", "fsmonitor"),
    ("alternates", "core", "alternateRefsCommand"),
    ("editor", "core", "editor"),
    ("pager", "core", "pager"),
    ("ssh", "core", "sshCommand"),
    ("askpass", "core", "askPass"),
    ("clean", "filter \"x\"", "clean"),
    ("smudge", "filter \"x\"", "smudge"),
    ("process", "filter \"y\"", "process"),
    ("textconv", "diff \"x\"", "textconv"),
    ("command", "diff \"x\"", "command"),
    ("external", "diff", "external"),
    ("driver", "merge \"x\"", "driver"),
    ("gpg", "gpg", "program"),
];

/// Runs git without what the repository configures for hooks and monitors, and returns what it said.
fn said(root: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]).args(args);
    command.current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a project in a repository whose configuration names a program wherever it can. Each leaves a mark.
fn trapped(settings: &str) -> Target {
    let target = Target::with_tasks(&["First", "Second"]);
    target.configure(settings);
    target.write(".gitattributes", "*.x filter=x diff=x merge=x\n*.y filter=y\n");
    target.write("agent.sh", AGENT);
    ["a.x", "a.y"].iter().for_each(|name| target.write(name, "some text\n"));
    let root = target.root();
    said(&root, &["init", "--quiet", "--template=", "--initial-branch=main"]);
    said(&root, &["config", "user.name", "Ada"]);
    said(&root, &["config", "user.email", "ada@example.org"]);
    said(&root, &["add", ".gitattributes", "agent.sh", "a.x", "a.y", "samuel.toml"]);
    said(&root, &["commit", "--quiet", "--message", "Start"]);
    // git verifies a signature with a program.
    let (tree, parent) = (said(&root, &["rev-parse", "HEAD^{tree}"]), said(&root, &["rev-parse", "HEAD"]));
    let signed = format!(
        "tree {tree}\nparent {parent}\nauthor A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\
         gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nSigned\n"
    );
    let file = target.home().join("signed");
    fs::write(&file, signed).unwrap();
    let file = file.display().to_string();
    let signed = said(&root, &["hash-object", "-t", "commit", "-w", "--", &file]);
    said(&root, &["update-ref", "refs/heads/main", &signed]);
    let trap = |directory: &str, name: &str| {
        let path = target.home().join(directory).join(name);
        program(&path, format!("#!/bin/sh\ntouch '{}'\ncat\n", target.mark(name).display()));
        path.display().to_string()
    };
    let mut config = fs::read_to_string(target.path(".git/config")).unwrap();
    for (name, section, key) in SETTINGS {
        config.push_str(&format!("[{section}]\n\t{key} = {}\n", trap("traps", name)));
    }
    HOOKS.iter().for_each(|name| _ = trap("hooks", name));
    config.push_str(&format!("[core]\n\thooksPath = {}\n", target.home().join("hooks").display()));
    config.push_str(
        "[log]\n\tshowSignature = true\n[commit]\n\tgpgSign = true\n[merge]\n\tverifySignatures = true\n",
    );
    fs::write(target.path(".git/config"), config).unwrap();
    target
}

/// Runs a command that must succeed and execute none of the programs.
fn calm(target: &Target, args: &[&str]) {
    target.ok(args);
    assert_eq!(target.marks(), [""; 0], "{args:?}");
}

/// Adds a task and has two workers work on it.
fn work(target: &Target, title: &str) {
    calm(target, &["run", "enqueue", "--", title]);
    calm(target, &[&START[..], &["--jobs", "2"]].concat());
}

/// Makes a commit on top of what is checked out, with the same files.
fn commit(target: &Target) -> String {
    said(&target.root(), &["commit-tree", "-p", "HEAD", "-m", "Mine", "HEAD^{tree}"])
}

/// Has a worker of a run that is gone submit a commit.
fn submit(target: &Target, id: &str) {
    let store = target.project().unwrap().plan_store();
    let task = TaskId::new(id);
    let claim = Mutation::Claim { task: task.clone().into(), worker: format!("{RUN}/lane-1") };
    let token = store.mutate(claim, Actor::Runtime).unwrap().revision;
    let (branch, base) = (format!("samuel/{RUN}/{id}-{token}"), said(&target.root(), &["rev-parse", "HEAD"]));
    let commit = commit(target);
    said(&target.root(), &["update-ref", &format!("refs/heads/{branch}"), &commit]);
    let submit = Mutation::Submit { task, token, branch, commit, base, tree: None, iteration: None };
    store.mutate(submit, Actor::Runtime).unwrap();
}

// Takes about 20 s: five runs, two merges and a landing, most of which start many gits.
#[test]
fn samuel_git_executes_nothing_configured() {
    let target = trapped(CHECKED);
    calm(&target, &[&START[..], &["--jobs", "2", "--into", "main"]].concat());
    assert_eq!(target.read("made-1.x"), "x\n", "the branch that is checked out was moved");
    calm(&target, &["run", "lanes"]);
    calm(&target, &["run", "clean"]);
    work(&target, "Third");
    calm(&target, &["run", "merge"]);
    assert_eq!(target.read("made-3.y"), "y\n");
    work(&target, "Fourth");
    let mine = commit(&target);
    said(&target.root(), &["update-ref", "refs/heads/main", &mine]);
    calm(&target, &["run", "merge", "--yes"]);
    assert_eq!(target.read("made-4.x"), "x\n");
    calm(&target, &["run", "enqueue", "--", "Fifth"]);
    submit(&target, "5");
    calm(&target, &["run", "queue", "land", "--yes"]);
    calm(&target, &["run", "status"]);
    let single = trapped(&format!("{CHECKED}\n[sandbox]\nworkspace = \"clone\""));
    calm(&single, &START);
    assert_eq!(single.read("made-2.x"), "x\n");
    // The programs are executed by a git that is not guarded.
    said(&single.root(), &["log", "--format=%B"]);
    assert_eq!(single.marks(), ["gpg"]);
}
