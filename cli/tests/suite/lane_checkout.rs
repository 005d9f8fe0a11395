//! The user's checkout while lanes work: whatever it is at, it stays. By default several states at once, where work lands
//! on a branch of the run or on one of the user's; with `SAMUEL_LONG=1` each state by itself, with both.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
};

use serde_json::Value;

use crate::lane_ground::{Ground, into_of};

/// What the user is at, and a line of shell that gets there.
const STATES: [(&str, &str); 8] = [
    ("uncommitted changes", "echo mine > a.txt; echo mine > staged; git add staged; echo mine > untracked"),
    ("a stash", "echo mine > a.txt; git stash --quiet; echo again > a.txt"),
    (
        "another branch",
        "git switch --quiet --create other; echo other > o; git add o; git commit --quiet -m Other",
    ),
    ("a detached head", "git switch --quiet --detach; echo mine > a.txt"),
    (
        "a rebase under way",
        "git switch --quiet --create other; echo other > a.txt; git commit --quiet --all --message Other; \
         git switch --quiet trunk; echo trunk > a.txt; git commit --quiet --all --message Trunk; \
         ! git rebase --quiet other >/dev/null 2>&1; test -d .git/rebase-merge",
    ),
    (
        "a merge under way",
        "git switch --quiet --create other; echo other > a.txt; git commit --quiet --all --message Other; \
         git switch --quiet main; echo main > a.txt; git commit --quiet --all --message Main; \
         ! git merge --quiet other >/dev/null 2>&1; test -f .git/MERGE_HEAD",
    ),
    (
        "hooks that fail",
        "for hook in pre-commit commit-msg prepare-commit-msg post-checkout post-commit pre-merge-commit post-merge \
         post-rewrite reference-transaction; do \
         printf '#!/bin/sh\\necho $0 >> %s\\nexit 1\\n' \"$PWD/../hooked\" > .git/hooks/$hook; chmod +x .git/hooks/$hook; done",
    ),
    ("read-only files", "mkdir locked; echo mine > locked/x; chmod 444 a.txt locked/x; chmod 555 locked"),
];

/// What the user is at in the short form: several states at once, by their places, and the branch that work lands on. A
/// rebase detaches the head.
const TOGETHER: [(&[usize], Option<&str>); 3] =
    [(&[1, 2, 0], None), (&[5, 7], Some("target")), (&[4, 6], None)];

/// What a user would miss.
#[derive(Debug, PartialEq)]
struct Checkout {
    files: Vec<(PathBuf, Vec<u8>, u32)>,
    /// What git says.
    told: Vec<String>,
}

impl Checkout {
    fn of(ground: &Ground, into: &[&str]) -> Self {
        let files =
            ground.bench.files().into_iter().filter(|(path, _)| !path.iter().any(|part| part == ".samuel"));
        let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode();
        let files =
            files.map(|(path, text)| (mode(&path), path, text)).map(|(mode, path, text)| (path, text, mode));
        let not = into.iter().map(|into| format!(" | grep -v ' refs/heads/{into}$'")).collect::<String>();
        let lines = [
            "git status --porcelain --untracked-files=all -- . ':!.samuel'".to_owned(),
            "git ls-files --stage".to_owned(),
            "git symbolic-ref --quiet HEAD || git rev-parse HEAD".to_owned(),
            format!(
                "git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/stash | grep -v refs/heads/samuel/{not}"
            ),
            "git stash list; ls .git; ls .git/rebase-merge 2>/dev/null | cat".to_owned(),
        ];
        // What git itself keeps of any commit.
        let plain = |line: &String| ground.sh(line).replace("COMMIT_EDITMSG\n", "");
        Self { files: files.collect(), told: lines.iter().map(plain).collect() }
    }
}

fn ground_at(line: &str) -> Ground {
    let ground = Ground::with(&["1", "2"]).agents(|lanes| {
        // What git does in these trees, Samuel does.
        ["1", "2"].into_iter().fold(lanes.conflicting("1", "2"), |lanes, id| lanes.forgetting(id))
    });
    ground.sh("git branch trunk; git branch target");
    ground.sh(line);
    ground
}

/// Makes a run where the user is at something, which must stay.
fn stays(state: &str, line: &str, into: Option<&str>) {
    let ground = ground_at(line);
    let except: Vec<&str> = into.into_iter().collect();
    let before = Checkout::of(&ground, &except);
    let more: Vec<&str> = into.into_iter().flat_map(|into| ["--into", into]).collect();
    let ran = ground.start(2, &[&["--json"], &more[..]].concat());
    assert_eq!(ran.code, 0, "{state}: {ran:?}");
    assert_eq!(Checkout::of(&ground, &except), before, "{state}");
    let hooked = fs::read_to_string(ground.bench.root().with_file_name("hooked")).unwrap_or_default();
    assert_eq!(hooked, "", "{state}: hooks were run");
    ground.all_landed(&into_of(&ran), &["1", "2"], &ran);
    ground.sh("chmod -R u+w .");
}

// Takes about 7 s: three runs with two workers.
#[test]
fn whatever_the_user_is_at_stays_as_it_is() {
    if std::env::var_os("SAMUEL_LONG").is_some() {
        for (state, line) in STATES {
            for into in [None, Some("target")] {
                stays(state, line, into);
            }
        }
        return;
    }
    for (places, into) in TOGETHER {
        let states = places.iter().map(|place| STATES[*place]);
        let (names, lines): (Vec<&str>, Vec<String>) =
            states.map(|(name, line)| (name, format!("{{ {line}; }}"))).unzip();
        stays(&names.join(", "), &lines.join(" && "), into);
    }
}

/// Runs until a landing is held, takes out of the way what is, and returns why it was held and how it ended.
fn held_until(ground: &Ground, into: &str, then: &str) -> (String, Option<i32>) {
    let mut run = ground.spawn(2, &["--into", into]);
    let (lines, mut held) = (BufReader::new(run.stdout.take().unwrap()).lines(), String::new());
    for line in lines.map(Result::unwrap) {
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == "landing_held" && held.is_empty() {
            event["reason"].as_str().unwrap().clone_into(&mut held);
            ground.sh(then);
        }
    }
    (held, run.wait().unwrap().code())
}

// Takes about 10 s: each of the two landings that are held is tried again after two seconds.
#[test]
fn what_is_in_the_way_of_the_checked_out_branch_holds_the_landing_and_is_named() {
    let ways = [
        ("a change", "echo mine > conflict-1-2.txt", "conflict-1-2.txt", "rm conflict-1-2.txt"),
        // git by itself would write over it.
        (
            "a file that git ignores",
            "echo made-1.txt > .gitignore; echo mine > made-1.txt",
            "made-1.txt",
            "rm made-1.txt .gitignore",
        ),
        ("a file that git does not know", "echo mine > made-1.txt", "made-1.txt", "rm made-1.txt"),
        (
            "a staged file",
            "echo mine > made-1.txt; git add made-1.txt",
            "made-1.txt",
            "git rm -qf made-1.txt",
        ),
        ("a directory", "mkdir made-1.txt; echo mine > made-1.txt/x", "made-1.txt", "rm -r made-1.txt"),
    ];
    let count = if std::env::var_os("SAMUEL_LONG").is_some() { ways.len() } else { 2 };
    for (what, line, named, then) in ways.into_iter().take(count) {
        let ground = ground_at(line);
        ground.sh("echo mine > a.txt");
        let (held, code) = held_until(&ground, "main", then);
        assert!(held.contains(named), "{what}: {held:?}");
        assert_eq!(code, Some(0), "{what}");
        assert_eq!(ground.landed("main"), ["1", "2"], "{what}");
        assert_eq!(
            ground.sh("git status --porcelain -- . ':!.samuel'"),
            "M a.txt",
            "{what}: what is not in the way stays"
        );
        assert_eq!(
            (ground.bench.read("a.txt").as_str(), ground.bench.read("made-1.txt").as_str()),
            ("mine\n", "1\n")
        );
    }
}

// Takes about 11 s: each of the two landings that are held is tried again after two seconds.
#[test]
fn a_branch_that_is_being_rebased_or_checked_out_elsewhere_is_left_alone_until_it_is_not() {
    let elsewhere = "git worktree add --quiet ../elsewhere trunk";
    let (_, rebase) = STATES[4];
    for (what, line, named, then) in [
        ("checked out elsewhere", elsewhere, "elsewhere", "git worktree remove ../elsewhere"),
        (
            "being rebased",
            rebase,
            "trunk is being rebased",
            "git checkout --quiet --theirs a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue",
        ),
    ] {
        let ground = ground_at(line);
        let (held, code) = held_until(&ground, "trunk", then);
        assert!(held.contains(named), "{what}: {held:?}");
        assert_eq!((code, ground.landed("trunk").len()), (Some(0), 2), "{what}");
        let status = ground.sh("git status --porcelain --untracked-files=no");
        assert!(what == "being rebased" || status.is_empty(), "{what}: {status}");
    }
}
