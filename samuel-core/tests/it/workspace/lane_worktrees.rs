//! Work trees of lanes, beside those of the user's.

use std::{fs, path::Path};

use samuel_core::{
    agent::Script,
    git::Caller,
    model::{ExitReason, TaskId},
    state::{Actor, Mutation},
    workspace::{Making, Preparation, Uncommitted, Worktree, WorktreeSetup},
};

use crate::{
    process_support::supervisor,
    workspace::{
        kit::{PATH, User},
        lanes::{all_landed, lanes, makes_a_file, project},
        runs::played,
    },
};

/// Opens a work tree of a lane.
async fn worktree(user: &User) -> Worktree {
    let setup = WorktreeSetup {
        root: user.tree(),
        tree: user.state().join("lanes/lane-1"),
        caller: Caller::of_process(),
        env: vec![
            ("PATH".to_owned(), PATH.to_owned()),
            ("HOME".to_owned(), user.home().display().to_string()),
        ],
        supervisor: supervisor(),
        preparation: Preparation::default(),
    };
    Worktree::open(setup, &Making::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn work_trees_of_the_user_that_are_absent_at_the_moment_stay_theirs() {
    let user = User::new();
    let (away, gone) = (user.path().join("away"), user.path().join("gone"));
    user.git(&format!("worktree add -q --detach {}", away.display()));
    fs::rename(&away, &gone).unwrap();
    let is_theirs = |when: &str| {
        fs::rename(&gone, &away).unwrap();
        let status = user.tries(&away, "git status --porcelain");
        assert!(status.status.success(), "{when}: {}", String::from_utf8_lossy(&status.stderr));
        fs::rename(&away, &gone).unwrap();
    };
    let tree = worktree(&user).await;
    is_theirs("one is made");
    let top = tree.work_dir();
    fs::remove_dir_all(&top).unwrap();
    worktree(&user).await.check_out(&user.head()).await.unwrap();
    is_theirs("one is made in place of one that was removed by hand");
    let listed = || user.git("worktree list").contains("lane-1");
    assert!(listed());
    user.git(&format!("worktree lock {}", top.display()));
    tree.remove().await.unwrap();
    assert!(!top.exists() && !listed(), "a lock does not keep what is gone");
    is_theirs("one is removed");
    let project = project(&user, &[("1", &[])]);
    let told = played(lanes(&user, &project, 2, makes_a_file(), &["false"])).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::Blocked, "{}", told.text());
    let listed = |lane: &str| user.git("worktree list").contains(lane);
    assert!(listed("lane-1") && listed("lane-2"));
    let cleaned = lanes(&user, &project, 2, Script::default(), &[]).clean_lanes().await.unwrap();
    // Whichever lane made the last attempt keeps its work.
    let [last, other] = match listed("lane-1") {
        true => ["lane-1", "lane-2"],
        false => ["lane-2", "lane-1"],
    };
    assert!(cleaned.kept.iter().any(|kept| kept.name == last), "{cleaned:?}");
    assert!(cleaned.removed.iter().any(|removed| removed == other) && !listed(other), "{cleaned:?}");
    is_theirs("all are removed that can be");
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_filters_do_not_run_in_worktrees() {
    let user = User::new();
    let branch = "samuel/r/1-1";
    let attributes = "printf '* filter=x\n*.bin filter=users\n' > .git/info/attributes";
    user.sh(&user.tree(), &format!("mkdir -p .git/info; {attributes}"));
    // Git reads the one from .git/config, and the other from a file that it includes.
    user.git("config filter.x.smudge 'touch $CANARY; cat'");
    user.git("config include.path more");
    user.git("config -f .git/more filter.x.clean 'touch $CANARY; cat'");
    user.git("config --global filter.users.clean 'tr a-z A-Z'");
    let tree = worktree(&user).await;
    let work_dir = tree.work_dir();
    tree.begin(branch, &user.head()).await.unwrap();
    fs::write(work_dir.join("a.txt"), "two\n").unwrap();
    fs::write(work_dir.join("a.bin"), "text\n").unwrap();
    tree.commit("Made").await.unwrap();
    fs::write(work_dir.join("a.txt"), "three\n").unwrap();
    tree.rescue("refs/samuel/rescue/r/1-1").await.unwrap();
    tree.check_out(&user.head()).await.unwrap();
    fs::write(work_dir.join("a.txt"), "four\n").unwrap();
    tree.leave_branch(Uncommitted::GivenUp).await.unwrap();
    tree.settle().await.unwrap();
    assert_eq!(fs::read_to_string(work_dir.join("a.txt")).unwrap(), "one\n");
    assert!(!user.canary().exists(), "a filter of the repository was executed");
    assert_eq!(user.git(&format!("show {branch}:a.bin")), "TEXT", "the user's own filters run");
    user.sh(&work_dir, "rm a.txt; git checkout -q -- a.txt");
    assert!(user.canary().exists(), "the filter works for the user's own git");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_an_agent_left_and_the_user_looks_at_stays_as_it_is() {
    let user = User::new();
    let tree = worktree(&user).await;
    let branch = "samuel/r/1-1";
    tree.begin(branch, &user.head()).await.unwrap();
    let at = || user.git(&format!("rev-parse {branch}"));
    let made = async |text: &str| {
        fs::write(tree.work_dir().join("made"), text).unwrap();
        let made = tree.commit("Made").await.unwrap();
        tree.put_on(branch, &made.commit).await.unwrap();
        made.commit
    };
    let first = made("1").await;
    user.sh(&tree.work_dir(), "git checkout -q --detach");
    let look = user.path().join("look");
    user.git(&format!("worktree add -q {} {branch}", look.display()));
    let second = made("2").await;
    assert_eq!((at(), user.git("rev-parse refs/samuel/rescue/r/1-1")), (first.clone(), second.clone()));
    assert_eq!(user.sh(&look, "git status --porcelain; cat made"), "1");
    let told = tree.take_told();
    assert!(told.len() == 1 && told[0].contains("kept as refs/samuel/rescue/r/1-1"), "{told:?}");
    // What its own work tree has checked out is nobody else's.
    user.git(&format!("worktree remove {}", look.display()));
    user.sh(&tree.work_dir(), &format!("git checkout -q {branch}"));
    tree.put_on(branch, &second).await.unwrap();
    assert_eq!((at(), tree.take_told()), (second, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_lock_is_left_in_a_work_tree_of_gits_that_were_killed_there() {
    let user = User::new();
    let tree = worktree(&user).await;
    let git_dir = user.sh(&tree.work_dir(), "git rev-parse --absolute-git-dir");
    let locks = ["index", "HEAD", "logs/HEAD", "ORIG_HEAD", "AUTO_MERGE"];
    let locks = locks.map(|name| Path::new(&git_dir).join(format!("{name}.lock")));
    locks.iter().for_each(|lock| fs::write(lock, "").unwrap());
    worktree(&user).await;
    let left: Vec<_> = locks.iter().filter(|lock| lock.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_goes_of_the_packed_references_that_a_git_of_a_run_left_which_was_killed() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let worker = "20260101T000000Z-0a1b2c3d/lane-1".to_owned();
    let claim = Mutation::Claim { task: TaskId::new("1").into(), worker };
    project.plan_store().mutate(claim, Actor::Runtime).unwrap();
    let lock = user.tree().join(".git/packed-refs.lock");
    fs::write(&lock, "").unwrap();
    let told = played(lanes(&user, &project, 2, makes_a_file(), &["true"])).await.unwrap();
    all_landed(&user, &project, &told);
    assert!(!lock.exists(), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_rescued_twice_from_one_work_tree_is_kept_twice() {
    let user = User::new();
    let tree = worktree(&user).await;
    let mut kept = Vec::new();
    for text in ["first", "second", "third"] {
        tree.check_out(&user.head()).await.unwrap();
        fs::write(tree.work_dir().join("left"), text).unwrap();
        kept.push(tree.rescue("refs/samuel/rescue/r/lane-1").await.unwrap().unwrap());
    }
    let names = ["", "-2", "-3"].map(|end| format!("refs/samuel/rescue/r/lane-1{end}"));
    assert_eq!(kept, names);
    for (name, text) in kept.iter().zip(["first", "second", "third"]) {
        assert_eq!(user.git(&format!("show {name}:left")), text);
    }
    // What is given up is not kept, what is written after it went is.
    tree.check_out(&user.head()).await.unwrap();
    fs::write(tree.work_dir().join("left"), "of a check").unwrap();
    tree.leave_branch(Uncommitted::GivenUp).await.unwrap();
    assert_eq!(tree.rescue("refs/samuel/rescue/r/lane-1").await.unwrap(), None);
    tree.settle().await.unwrap();
    assert!(!tree.work_dir().join("left").exists());
    fs::write(tree.work_dir().join("left"), "fourth").unwrap();
    tree.leave_branch(Uncommitted::Kept).await.unwrap();
    tree.settle().await.unwrap();
    let fourth = tree.rescue("refs/samuel/rescue/r/lane-1").await.unwrap().unwrap();
    assert_eq!(user.git(&format!("show {fourth}:left")), "fourth");
    // A commit that its branch does not have any more is kept, given up or not.
    tree.begin("samuel/r/0-1", &user.head()).await.unwrap();
    fs::write(tree.work_dir().join("made"), "x").unwrap();
    let made = tree.commit("Made").await.unwrap();
    assert_eq!(made.tree, user.git(&format!("rev-parse {}^{{tree}}", made.commit)));
    assert_eq!(tree.commit("Nothing more").await.unwrap(), made);
    tree.leave_branch(Uncommitted::GivenUp).await.unwrap();
    assert_eq!(tree.branch().await, None);
    assert_eq!(tree.rescue("refs/samuel/rescue/r/0-1").await.unwrap(), None, "its branch has it");
    user.git("update-ref -d refs/heads/samuel/r/0-1");
    let kept = tree.rescue("refs/samuel/rescue/r/0-1").await.unwrap().unwrap();
    assert_eq!(user.git(&format!("rev-parse {kept}")), made.commit);
    // What goes with the next turn of an agent keeps nothing.
    user.git(&format!("update-ref refs/samuel/work/r {}", made.commit));
    user.git(&format!("update-ref -d {kept}"));
    let kept = tree.rescue("refs/samuel/rescue/r/0-1").await.unwrap().unwrap();
    assert_eq!(user.git(&format!("rev-parse {kept}")), made.commit);
    // A branch that its agent left is put where the work is, and loses nothing.
    let base = user.head();
    tree.begin("samuel/r/1-1", &base).await.unwrap();
    fs::write(tree.work_dir().join("here"), "x").unwrap();
    let here = tree.commit("Here").await.unwrap();
    tree.check_out(&base).await.unwrap();
    fs::write(tree.work_dir().join("there"), "x").unwrap();
    let there = tree.commit("There").await.unwrap();
    tree.put_on("samuel/r/1-1", &there.commit).await.unwrap();
    assert_eq!(user.git("rev-parse samuel/r/1-1"), there.commit);
    assert_eq!(user.git("rev-parse refs/samuel/rescue/r/1-1"), here.commit);
    tree.put_on("samuel/r/1-1", &base).await.unwrap();
    assert_eq!(user.git("rev-parse samuel/r/1-1"), there.commit, "what is on it stays on it");
}
