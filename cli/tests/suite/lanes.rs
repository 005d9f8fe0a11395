//! Several lanes, as the command starts them.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::process::Command;

use crate::{
    bench::{Bench, Ran, wait_for_file, wait_until},
    lane_changes::fifo,
};

fn git(bench: &Bench, directory: &str, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(bench.path(directory)).env("HOME", bench.root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A project of two tasks, in a repository with a commit.
fn with_repository() -> Bench {
    let bench = Bench::with_tasks(&["First", "Second"]);
    git(&bench, ".", &["init", "--quiet", "--initial-branch=main"]);
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
        git(&bench, ".", &["config", key, value]);
    }
    bench.write("a.txt", "one\n");
    git(&bench, ".", &["add", "a.txt", "samuel.toml"]);
    git(&bench, ".", &["commit", "--quiet", "--message", "Start"]);
    bench
}

// Takes about 8 s: three demonstrations, two of them with workers.
#[test]
fn the_demonstration_in_lanes_comes_to_the_tree_of_the_one_without() {
    let bench = Bench::empty();
    bench.ok(&["demo", "--keep", "alone", "--json"]);
    let document = bench.ok(&["demo", "--keep", "lanes", "--jobs", "3", "--json"]).json();
    assert_eq!(document["data"]["report"]["exit_reason"], "completed", "{document}");
    assert_eq!(document["data"]["branch"], "main", "{document}");
    assert!(bench.path("lanes/greet.sh").is_file(), "the work is where its files are listed");
    let tree = git(&bench, "lanes", &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(tree, git(&bench, "alone", &["rev-parse", "HEAD^{tree}"]));
    assert_eq!(document["data"]["commits"].as_array().unwrap().len(), 4);
    let told = bench.ok(&["demo", "--jobs", "2"]).stdout;
    assert!(told.contains("landed: 3 on main") && !told.contains("` merges it"), "{told}");
}

#[test]
fn a_run_with_lanes_leaves_the_checkout_alone_and_says_how_to_take_the_work_over() {
    let bench = with_repository();
    let head = git(&bench, ".", &["rev-parse", "HEAD"]);
    let work = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
    let command = format!("sh -c '{work}'");
    let args = ["run", "start", "--yes", "--jobs", "2", "--pause", "0", "--agent-command", &command];
    let told = bench.ok(&args).stdout;
    assert!(told.contains("[1] iteration ") && told.contains("submitted: "), "{told}");
    assert_eq!(git(&bench, ".", &["rev-parse", "HEAD"]), head);
    assert!(!bench.path("made-1").exists());
    let (_, merge) = told.rsplit_once("; `").unwrap();
    let (merge, _) = merge.split_once("` merges it").unwrap();
    let merge: Vec<&str> = merge.split(' ').skip(1).collect();
    bench.ok(&merge);
    assert!(bench.path("made-1").exists() && bench.path("made-2").exists());
    let listed = bench.ok(&["run", "tasks"]).stdout;
    assert_eq!(listed.matches("[x]").count(), 2, "{listed}");
    let shown = bench.ok(&["run", "show", "1"]).stdout;
    assert!(shown.contains("Attempts\n") && shown.contains(", worker "), "{shown}");
    assert!(shown.contains(": completed, by ") && shown.contains(", in iteration "), "{shown}");
}

#[test]
fn iterations_that_failed_and_landings_that_came_back_are_attempts_together() {
    let bench = with_repository();
    // The checks fail in the queue alone.
    let check = "case $PWD in */queue.clone/*) ! test -e c.txt;; esac";
    bench.configure(&format!("task_budget = {{ max_attempts = 2 }}\nquality_checks = [\"{check}\"]"));
    git(&bench, ".", &["commit", "--quiet", "--all", "--message", "Two attempts"]);
    let (go, tmp) = (fifo(&bench, "go"), bench.tmp().display().to_string());
    // The first call for the first task fails, the second one fails its checks with what the second task lands.
    let work = format!(
        "cat > /dev/null; if [ $SAMUEL_TASK_ID = 1 ]; then if [ ! -e {tmp}/first ]; then touch {tmp}/first; \
         echo x > b.txt; exit 1; fi; if [ ! -e {tmp}/second ]; then touch {tmp}/second; read line < {tmp}/go; fi; \
         echo x > c.txt; fi; echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID"
    );
    let run = bench.spawn(&[&bench.start_args(&work)[..], &["--jobs", "2"]].concat());
    wait_for_file(&bench.tmp().join("second"));
    wait_until("the second task has landed", || bench.status("2") == "completed");
    std::fs::write(go, "\n").unwrap();
    assert_eq!(run.code(), 3, "a third call would have landed");
    assert_eq!(bench.status("1"), "blocked");
    let why = bench.ok(&["run", "show", "1"]).stdout;
    assert!(why.contains("2 attempts did not land; the last one: the checks failed with it"), "{why}");
}

type Refused = (&'static str, &'static [&'static str], i32, &'static str, &'static [&'static str]);

/// What a start with several lanes is refused for: what is in samuel.toml and given, the exit code and the code of
/// the error, and words of the message, the place and what to do.
const REFUSED: [Refused; 20] = [
    ("", &["--jobs", "0"], 2, "", &["--jobs", "from 1 to 64"]),
    ("", &["--jobs", "65"], 2, "", &["--jobs", "from 1 to 64"]),
    ("", &["--jobs", "-1"], 2, "", &["--jobs"]),
    ("", &["--jobs", "many"], 2, "", &["--jobs"]),
    (
        "parallel = { jobs = 99 }",
        &[],
        2,
        "E_CONFIG_INVALID",
        &["samuel.toml:3", "a whole number from 1 to 64"],
    ),
    ("", &["--into", "main"], 2, "E_LANES_INVALID", &["is for runs with several lanes", "--jobs"]),
    (
        "",
        &["--jobs", "2", "--into", "nowhere"],
        2,
        "E_LANES_INVALID",
        &["work cannot land on nowhere: there is no such branch", "`git branch nowhere`"],
    ),
    (
        "parallel = { jobs = 2, into = \"v1\" }",
        &[],
        2,
        "E_LANES_INVALID",
        &["samuel.toml:3", "it is a tag, which does not move", "`git branch NAME v1`"],
    ),
    ("", &["--jobs", "2", "--into", "a..b"], 2, "E_LANES_INVALID", &["no branch can have that name"]),
    (
        "",
        &["--jobs", "2", "--into", "samuel/other/1-2"],
        2,
        "E_LANES_INVALID",
        &["it is the branch of a task of a run", "that of the results"],
    ),
    (
        "parallel = { jobs = 2, copy = [\"../secret\"] }",
        &[],
        2,
        "E_LANES_INVALID",
        &["samuel.toml:3", "../secret cannot be copied", "without \"..\""],
    ),
    (
        "parallel = { jobs = 2, copy = [\"/etc/hostname\"] }",
        &[],
        2,
        "E_LANES_INVALID",
        &[
            "samuel.toml:3",
            "/etc/hostname cannot be copied",
            "it is not the path of a file within the project",
        ],
    ),
    (
        "parallel = { jobs = 2, copy = [\"/proc/self/environ\"] }",
        &[],
        2,
        "E_LANES_INVALID",
        &["samuel.toml:3", "/proc/self/environ cannot be copied"],
    ),
    (
        "parallel = { jobs = 2, copy = [\".env\", \"out\"] }",
        &[],
        2,
        "E_LANES_INVALID",
        &["samuel.toml:3", "out cannot be copied", "it is a symbolic link", "none of them a link"],
    ),
    (
        "parallel = { jobs = 2, copy = [\"again\"] }",
        &[],
        2,
        "E_LANES_INVALID",
        &["samuel.toml:3", "again cannot be copied", "it is a symbolic link"],
    ),
    (
        "parallel = { jobs = 2, copy = [\"conf\"] }",
        &[],
        2,
        "E_LANES_INVALID",
        &["samuel.toml:3", "conf cannot be copied", "it is a directory, not a file"],
    ),
    (
        "parallel = { jobs = 2, copy = [\"./a.txt\"] }",
        &[],
        2,
        "E_LANES_INVALID",
        &["samuel.toml:3", "a.txt cannot be copied", "git tracks it"],
    ),
    (
        "parallel = { jobs = 2, workspace = \"worktree\" }",
        &[],
        2,
        "E_CONFIG_INVALID",
        &["samuel.toml:3", "unknown key"],
    ),
    (
        "parallel = { jobs = 2, setup = [\"echo no such package >&2; exit 7\"] }",
        &[],
        1,
        "E_WORKSPACE_SETUP",
        &["echo no such package", "exit code 7: no such package"],
    ),
    (
        "parallel = { jobs = 2, setup = [\"case $PWD in */queue.clone/*) echo not here >&2; exit 7;; esac\"] }",
        &[],
        1,
        "E_WORKSPACE_SETUP",
        &["exit code 7: not here"],
    ),
];

#[test]
fn lanes_that_cannot_be_are_refused_with_place_code_and_what_to_do_before_an_agent_starts() {
    let bench = with_repository();
    git(&bench, ".", &["tag", "v1"]);
    git(&bench, ".", &["branch", "samuel/other/1-2"]);
    let branches = git(&bench, ".", &["for-each-ref", "refs/heads", "refs/samuel"]);
    bench.write(".env", "secret\n");
    bench.write("conf/local.json", "{}\n");
    std::fs::write(bench.tmp().join("outside"), "theirs\n").unwrap();
    std::os::unix::fs::symlink(bench.tmp().join("outside"), bench.path("out")).unwrap();
    std::os::unix::fs::symlink("out", bench.path("again")).unwrap();
    for (keys, args, exit, code, words) in REFUSED {
        bench.configure(keys);
        let agent = format!("sh -c 'cat > /dev/null; touch {}'", bench.tmp().join("began").display());
        let start = ["run", "start", "--yes", "--agent-command", &agent];
        let ran = bench.samuel(&[&start[..], args].concat());
        assert_eq!(ran.code, exit, "{args:?} with {keys}: {ran:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "{word:?} of {args:?} with {keys}: {}", ran.stderr);
        }
        if !code.is_empty() {
            let document = bench.samuel(&[&start[..], args, &["--json"]].concat()).stdout;
            let last: serde_json::Value = serde_json::from_str(document.lines().last().unwrap()).unwrap();
            assert_eq!(last["error"]["code"], code, "{args:?} with {keys}: {document}");
        }
        assert!(!bench.tmp().join("began").exists(), "{args:?} with {keys}");
        bench.configure("");
        for id in ["1", "2"] {
            assert_eq!(bench.status(id), "pending", "{args:?} with {keys}");
        }
        assert!(!bench.read(".samuel/run/prd.toon").contains("claims"), "{args:?} with {keys}");
    }
    bench.configure("");
    let kept = git(&bench, ".", &["for-each-ref", "refs/heads", "refs/samuel"]);
    assert!(branches.lines().all(|branch| kept.contains(branch)), "{kept}");
}

#[test]
fn workspaces_that_do_not_fit_on_the_disk_are_refused_before_one_is_made() {
    let bench = with_repository();
    let state = bench.tmp().join("state");
    std::fs::create_dir(&state).unwrap();
    // A disk of its own, which only this command sees.
    let below = "exec unshare -rm /bin/sh -c 'mount -t tmpfs -o size=6m none \"$XDG_STATE_HOME\" || exit 99; exec \"$0\" \"$@\"' \
                 \"$0\" \"$@\"";
    let below = |args: &[&str]| {
        let mut command = bench.command_below(below, args);
        command.env("XDG_STATE_HOME", &state);
        Ran::of(command)
    };
    let tried = below(&["version"]);
    if tried.code != 0 {
        println!("skipped: no disk of its own: {}", tried.stderr.trim());
        return;
    }
    bench.write("large.bin", &"x".repeat(3 << 20));
    git(&bench, ".", &["add", "large.bin"]);
    git(&bench, ".", &["commit", "--quiet", "--message", "Large"]);
    let agent = format!("sh -c 'cat > /dev/null; touch {}'", bench.tmp().join("began").display());
    let start = ["run", "start", "--yes", "--jobs", "2", "--agent-command", &agent];
    let said = below(&start).fails(1).stderr;
    assert!(said.contains("3 workspaces of 4 MB each do not fit into the "), "{said}");
    assert!(said.contains("Work with fewer lanes, or make room."), "{said}");
    let document = below(&[&start[..], &["--json"]].concat()).stdout;
    let last: serde_json::Value = serde_json::from_str(document.lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "E_LANES_UNFIT", "{document}");
    assert!(!bench.tmp().join("began").exists());
    assert_eq!(git(&bench, ".", &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn lanes_take_a_repository_and_a_git_that_merges_without_a_work_tree() {
    let bare = Bench::with_tasks(&["First"]);
    let start = ["run", "start", "--yes", "--agent-command", "true", "--jobs", "2"];
    let said = bare.samuel(&start).fails(1).stderr;
    assert!(said.contains("it is in no git repository") && said.contains("Run `git init`"), "{said}");
    let bench = with_repository();
    let programs = bench.tmp().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let old = programs.join("git");
    let script = "#!/bin/sh\ncase \" $* \" in *' --version '*|*' version '*) echo git version 2.37.7;; \
                  *) exec /usr/bin/git \"$@\";; esac\n";
    std::fs::write(&old, script).unwrap();
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let said = bench.samuel_where("PATH", &path, &start).fails(1).stderr;
    assert!(said.contains("2.38") && said.contains("2.37.7"), "{said}");
    assert!(said.contains("Or work with one lane.") && !said.contains("work in place"), "{said}");
}

#[test]
fn prompts_of_lanes_name_their_work_tree_and_branch_and_no_lane_lands_what_samuel_keeps() {
    let bench = with_repository();
    let tmp = bench.tmp().display().to_string();
    // The agent writes where it would in the project, and commits one of the two files by force.
    let work = format!(
        "cat > {tmp}/prompt-$SAMUEL_TASK_ID; pwd > {tmp}/pwd-$SAMUEL_TASK_ID; git symbolic-ref --short HEAD > {tmp}/branch-$SAMUEL_TASK_ID; \
         echo x > made-$SAMUEL_TASK_ID; mkdir -p .samuel/run; echo mine >> .samuel/run/progress.md; \
         if test $SAMUEL_TASK_ID = 2; then git add -Af; git commit -qm All; fi; \
         $SAMUEL_BINARY run done $SAMUEL_TASK_ID"
    );
    let ran = bench.start(&work, &["--jobs", "2", "--json"]).ends(0);
    let (events, document) = ran.events();
    assert!(events.iter().all(|event| event["event"] != "task_returned"), "{events:?}");
    let into = document["data"]["report"]["into"].as_str().unwrap();
    assert_eq!(git(&bench, ".", &["log", "--full-history", "--format=%s", into, "--", ".samuel"]), "");
    let read = |name: &str| std::fs::read_to_string(bench.tmp().join(name)).unwrap().trim().to_owned();
    let root = bench.root().display().to_string();
    for id in ["1", "2"] {
        let prompt = read(&format!("prompt-{id}"));
        let (pwd, branch) = (read(&format!("pwd-{id}")), read(&format!("branch-{id}")));
        assert!(prompt.contains(&format!("in `{pwd}`, on the branch `{branch}`")), "{prompt}");
        assert!(prompt.contains("- `.samuel/run/task-context.toon`: "), "{prompt}");
        assert!(!prompt.contains(&root) && !prompt.contains("../"), "{prompt}");
    }
}
