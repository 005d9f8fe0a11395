//! Runs whose lanes work in clones.

use std::{fs, path::PathBuf, sync::Arc};

use samuel_core::{
    agent::{Script, ScriptedCall},
    config::MethodologySettings,
    engine::RunBuilder,
    event::Event,
    model::{ExitReason, TaskId},
    process::CommandSpec,
    project::Project,
    sandbox::{Sandbox, SandboxError},
    state::{Actor, Mutation},
    workspace::{LaneClone, MadeWork, WorkNote, WorkspaceError, WorkspaceSetup},
};

use crate::workspace::{
    kit::{PATH, User},
    lanes::{all_landed, count, lanes, makes_a_file, project, skipped_at_work},
    runs::Told,
};

/// Begins to build a run with two workers.
fn in_clones(user: &User, project: &Project, script: Script, checks: &[&str]) -> RunBuilder {
    lanes(user, project, 2, script, checks)
}

async fn played(run: RunBuilder) -> Told {
    crate::workspace::runs::played(run).await.unwrap()
}

/// Returns the directories of the clones in which the lanes of the user's project work.
fn clones(user: &User) -> Vec<PathBuf> {
    let entries = |path: PathBuf| fs::read_dir(path).unwrap().flatten().map(|entry| entry.path());
    let lanes = entries(user.state().join("workspaces")).next().unwrap().join("lanes");
    entries(lanes).filter(|path| path.to_string_lossy().ends_with(".clone")).collect()
}

/// Returns why iterations failed.
fn failures(told: &Told) -> Vec<String> {
    let failed = told.events.iter().filter_map(|record| match &record.event {
        Event::IterationFinished { failure: Some(failure), .. } => Some(failure.message.clone()),
        _ => None,
    });
    failed.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_make_in_clones_lands_once_and_nothing_else_of_the_clones_is_seen() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &["1", "2"])]);
    let head = user.head();
    let work = "test -d .git; test -f ../record.json; test ! -e .samuel/run/prd.toon; test \"$PWD\" = \"$SAMUEL_WORKSPACE\"; \
                if test $SAMUEL_TASK_ID = 3; then cat made-1.txt made-2.txt; fi; \
                git tag of-agent-$SAMUEL_TASK_ID; git branch of-agent; \
                echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt; git add -A; git commit -qm \"Make $SAMUEL_TASK_ID\"; \
                echo more > left-$SAMUEL_TASK_ID.txt; mkdir -p target; touch target/warm";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let check =
        "ls made-*.txt left-*.txt && test -n \"$SAMUEL_WORKSPACE\" && echo made by the check > by-check";
    let told = played(in_clones(&user, &project, script, &[check])).await;
    all_landed(&user, &project, &told);
    let into = told.report.into.clone().unwrap();
    for id in 1..=3 {
        assert_eq!(
            user.git(&format!("show {into}:made-{id}.txt {into}:left-{id}.txt")),
            format!("{id}\nmore")
        );
    }
    assert!(
        !user.git(&format!("ls-tree --name-only {into}")).contains("by-check"),
        "what checks leave is none of it"
    );
    assert_eq!((user.head(), user.git("status --porcelain")), (head, String::new()));
    let refs = format!("refs/heads/main\nrefs/heads/{into}");
    assert_eq!(user.git("for-each-ref --format='%(refname)'"), refs);
    assert_eq!(clones(&user), [] as [PathBuf; 0], "the clones are gone once the plan is done");
    user.git("fsck --strict --no-dangling");
}

/// A sandbox that knows no directories, and that its commands can see.
#[derive(Debug)]
struct Marked;

impl Sandbox for Marked {
    fn name(&self) -> &str {
        "marked"
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        Ok(spec.within("/usr/bin/env", ["INSIDE=yes"]))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_run_in_sandbox_without_directories() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let work = "test \"$INSIDE\" = yes; echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let check = "test \"$INSIDE\" = yes && ls made-*.txt";
    let told = played(in_clones(&user, &project, script, &[check]).sandbox(Arc::new(Marked))).await;
    all_landed(&user, &project, &told);
    assert!(told.text().contains("workers share the sandbox \"marked\""), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_must_not_come_out_of_a_clone_is_not_checked_and_the_next_turn_begins_without_it() {
    let user = User::new();
    user.write("ci/check.sh", "test -f b.txt\n");
    user.git("commit -qam Check");
    let project = project(&user, &[("1", &[])]);
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run("echo touch ~/checked > ci/check.sh; echo x > b.txt").done())
        .call(
            ScriptedCall::for_iteration(2)
                .run("test ! -e b.txt; echo x > b.txt; git config core.fsmonitor 'touch ~/canary; false'")
                .done(),
        )
        .call(
            ScriptedCall::for_iteration(3)
                .run("test ! -e b.txt; test -z \"$(git config core.fsmonitor)\"")
                .write("b.txt", "fine")
                .done(),
        );
    let run = in_clones(&user, &project, script, &["sh ci/check.sh"])
        .settings(|settings: &mut MethodologySettings| settings.task_budget.max_attempts = None);
    let told = played(run).await;
    all_landed(&user, &project, &told);
    let failed = failures(&told);
    assert!(failed[0].contains("it changes files that decide what runs: ci/check.sh"), "{failed:?}");
    assert!(failed[0].contains("(E_WORKSPACE_REFUSED)"), "{failed:?}");
    assert!(failed[1].contains("the clone holds a changed .git/config"), "{failed:?}");
    assert_eq!((failed.len(), told.report.iterations), (2, 3), "{}", told.text());
    assert!(!user.home().join("checked").exists(), "a check that the agent wrote has run");
    assert!(!user.home().join("canary").exists(), "something was started");
    let into = told.report.into.clone().unwrap();
    assert_eq!(user.git(&format!("show {into}:b.txt")), "fine");
    assert_eq!(user.git(&format!("show {into}:ci/check.sh")), "test -f b.txt");
    // What was not taken out stays, and nobody is told that nothing is left.
    let list = project_lanes(&user, &project).await;
    let (aside, others): (Vec<_>, Vec<_>) = list.iter().partition(|(name, _)| name.contains("/kept-"));
    assert_eq!((aside.len(), others.len()), (1, 0), "{list:?}");
    assert!(aside[0].1.contains("no git can be run there"), "{aside:?}");
    let [kept] = &clones(&user)[..] else { panic!("{:?}", clones(&user)) };
    assert_eq!(fs::read_to_string(kept.join("kept-1/b.txt")).unwrap(), "x\n");
}

/// Returns the work trees and clones of lanes, with why each stays once what can go is removed.
async fn project_lanes(user: &User, project: &Project) -> Vec<(String, String)> {
    let run = || lanes(user, project, 2, Script::default(), &[]);
    let cleaned = run().clean().await.unwrap();
    let why = |name: &str| {
        let kept = cleaned.kept.iter().find(|kept| kept.name == name);
        kept.map(|kept| kept.why.clone()).unwrap_or_default()
    };
    let trees = run().lanes().await.unwrap().work_trees;
    trees.into_iter().map(|tree| (tree.name.clone(), why(&tree.name))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn clean_keeps_clone_with_commits_of_its_own() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let work = "git tag only-here $(git commit-tree -m Mine HEAD^{tree}); touch made";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(in_clones(&user, &project, script, &["true"])).await;
    all_landed(&user, &project, &told);
    let list = project_lanes(&user, &project).await;
    let [(_, why)] = &list[..] else { panic!("{list:?}") };
    assert_eq!(why, "it has commits that were not taken out");
    let [kept] = &clones(&user)[..] else { panic!("{:?}", clones(&user)) };
    assert!(!user.sh(&kept.join("tree"), "git tag --list only-here").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_changes_what_decides_what_runs_does_not_pass_in_a_clone() {
    let user = User::new();
    user.write("ci/first.sh", "test -e honest || echo true > ci/second.sh\n");
    user.write("ci/second.sh", "test -e honest\n");
    user.git("add -A");
    user.git("commit -qm Checks");
    let project = project(&user, &[("1", &[])]);
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).write("b.txt", "x").done())
        .call(ScriptedCall::any().repeated().run("touch honest").done());
    let told = played(in_clones(&user, &project, script, &["sh ci/first.sh", "sh ci/second.sh"])).await;
    all_landed(&user, &project, &told);
    assert_eq!(told.report.iterations, 2, "{}", told.text());
    let why = "files that decide what runs were changed while the checks ran: ci/second.sh";
    assert!(told.text().contains(why), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_has_made_of_a_task_that_is_skipped_is_on_its_branch() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let work = "if test $SAMUEL_TASK_ID = 1; then echo x > half; git add half; git commit -qm Half; echo y > rest; \
                touch ~/at; while :; do sleep 0.05; done; fi; while ! test -e ~/at; do sleep 0.02; done; touch made";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let (branch, report) = skipped_at_work(in_clones(&user, &project, script, &[]), &project).await;
    assert_eq!(report.exit_reason, ExitReason::Completed);
    assert_eq!(user.git(&format!("show {branch}:half {branch}:rest")), "x\ny");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_share_no_refs_or_configuration() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let head = user.head();
    // Each tries in its first turn what would reach the repository and the other one.
    let work = "test -d .git && ! git show-ref --verify -q refs/heads/main && git branch -f evil && \
                git worktree list | wc -l > ~/trees-$SAMUEL_TASK_ID && touch made-$SAMUEL_TASK_ID";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(lanes(&user, &project, 2, script, &["true"])).await;
    all_landed(&user, &project, &told);
    assert_eq!(user.sh(&user.home(), "cat trees-1 trees-2"), "1\n1");
    assert_eq!((user.git("branch --list evil"), user.git("rev-parse main")), (String::new(), head));
    assert!(!user.tree().join(".git/worktrees").exists());
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
    let told = played(lanes(&user, &project, 2, makes_a_file(), &["true"])).await;
    all_landed(&user, &project, &told);
    assert!(!lock.exists(), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_agent_in_a_clone_sees_the_work_of_the_attempt_before_by_its_name() {
    let user = User::new();
    user.write("shared.txt", "start\n");
    user.git("add -A");
    user.git("commit -qm Shared");
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    // Both change the same line before either has landed; the one that comes back looks at what it had made.
    let work = "touch ~/at-$SAMUEL_TASK_ID; while ! { test -e ~/at-1 && test -e ~/at-2; }; do sleep 0.02; done; \
                for kept in $(git for-each-ref --format='%(refname)' refs/heads/samuel | grep /$SAMUEL_TASK_ID- | grep -v \"$(git symbolic-ref HEAD)\"); do \
                git show $kept:shared.txt > ~/seen; done; echo $SAMUEL_TASK_ID >> shared.txt";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(in_clones(&user, &project, script, &["true"])).await;
    all_landed(&user, &project, &told);
    assert_eq!(count(&told, |event| matches!(event, Event::TaskReturned { .. })), 1, "{}", told.text());
    let seen = fs::read_to_string(user.home().join("seen")).unwrap();
    assert!(["start\n1\n", "start\n2\n"].contains(&seen.as_str()), "{seen}");
    assert_eq!(clones(&user), [] as [PathBuf; 0], "what was shown keeps no clone");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_has_undone_is_not_handed_in_in_place_of_what_was_checked() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let work = "git rev-parse HEAD > ~/base; echo x > bad.txt; git add bad.txt; git commit -qm Bad";
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run(work).done())
        .call(ScriptedCall::for_iteration(2).run("git reset -q --hard $(cat ~/base)").done());
    let told = played(in_clones(&user, &project, script, &["! test -e bad.txt"])).await;
    all_landed(&user, &project, &told);
    assert_eq!(told.report.iterations, 2, "{}", told.text());
    let into = told.report.into.clone().unwrap();
    assert_eq!(user.git(&format!("log --format=%s {into} -- bad.txt")), "", "nothing of it is on the way");
    let branch = told.events.iter().find_map(|record| match &record.event {
        Event::TaskClaimed { branch, .. } => Some(branch.clone()),
        _ => None,
    });
    assert_eq!(user.git(&format!("show {}:bad.txt", branch.unwrap())), "x", "it is not lost either");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handed_over_is_undone_by_commits_once_a_clone_stands_on_it() {
    let user = User::new();
    user.write("ci/check.sh", "! test -e bad.txt\n");
    user.git("commit -qam Check");
    let project = project(&user, &[("1", &[])]);
    let work = "git rev-parse HEAD > ~/base; echo x > bad.txt; git add bad.txt; git commit -qm Bad";
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run(work).done())
        // The turn after one that is refused begins with what was taken out before.
        .call(ScriptedCall::for_iteration(2).run("echo true > ci/check.sh").done())
        .call(ScriptedCall::for_iteration(3).run("git reset -q --hard $(cat ~/base)").done())
        .call(ScriptedCall::for_iteration(4).run("git rm -q bad.txt; git commit -qm Undo").done());
    let run = in_clones(&user, &project, script, &["sh ci/check.sh"])
        .settings(|settings: &mut MethodologySettings| settings.task_budget.max_attempts = None);
    let told = played(run).await;
    all_landed(&user, &project, &told);
    assert_eq!(told.report.iterations, 4, "{}", told.text());
    let failed = failures(&told);
    assert!(failed.iter().any(|why| why.contains("its history does not begin at")), "{failed:?}");
    let into = told.report.into.clone().unwrap();
    assert!(!user.git(&format!("ls-tree --name-only {into}")).contains("bad.txt"));
}

// Takes about 17 s: a run of three tasks for each of the three merge strategies.
#[tokio::test(flavor = "multi_thread")]
async fn workers_work_in_clones_of_a_shallow_source() {
    for merge in ["merge", "squash", "rebase"] {
        let user = User::new();
        user.git("commit -q --allow-empty -m More");
        user.sh(user.path(), "mv tree full && git clone -q --depth 1 file://$PWD/full tree");
        let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &["1", "2"])]);
        let work = "touch made-$SAMUEL_TASK_ID";
        let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
        let run = in_clones(&user, &project, script, &["true"]);
        let run =
            run.settings(|settings: &mut MethodologySettings| settings.parallel.merge = merge.to_owned());
        let told = played(run).await;
        assert_eq!(told.report.exit_reason, ExitReason::Completed, "{merge}: {}", told.text());
        let into = told.report.into.clone().unwrap();
        let files = user.git(&format!("ls-tree --name-only {into}"));
        assert!((1..=3).all(|id| files.contains(&format!("made-{id}"))), "{merge}: {files}");
        let copied = "each workspace gets a copy of its objects";
        assert!(told.text().contains(copied), "{merge}: {}", told.text());
        user.git("fsck --strict --no-dangling");
    }
}

/// The branch of a task that is worked on without a run.
const BRANCH: &str = "samuel/r/1-1";

/// Opens a clone of a lane, which finds git on a path.
async fn opened(user: &User, path: &str) -> LaneClone {
    let env =
        vec![("PATH".to_owned(), path.to_owned()), ("HOME".to_owned(), user.home().display().to_string())];
    let setup = WorkspaceSetup { env, run: String::new(), ..user.setup() };
    LaneClone::open(setup, "0123-lane-1".to_owned(), &user.head()).await.unwrap()
}

/// Lets an agent work in a clone: a line of shell.
async fn turn(user: &User, clone: &LaneClone, line: &str) -> Result<MadeWork, WorkspaceError> {
    clone.turn_begins().await.unwrap();
    user.sh(&clone.work_dir(), line);
    clone.collect(&WorkNote::default()).await
}

/// Returns a path whose git logs its calls, a line each, in a file.
fn logging_git(user: &User) -> (String, PathBuf) {
    let (bin, log) = (user.path().join("bin"), user.path().join("log"));
    fs::create_dir(&bin).unwrap();
    let git = user.sh(user.path(), "command -v git");
    let logging = format!("#!/bin/sh\necho \"$*\" >> {}\nexec {git} \"$@\"\n", log.display());
    fs::write(bin.join("git"), logging).unwrap();
    user.sh(&bin, "chmod +x git");
    (format!("{}:{PATH}", bin.display()), log)
}

/// Opens a clone of a lane whose gits are logged, a line each, in a file.
async fn opened_logged(user: &User) -> (LaneClone, PathBuf) {
    let (path, log) = logging_git(user);
    (opened(user, &path).await, log)
}

#[tokio::test(flavor = "multi_thread")]
async fn end_of_run_asks_nothing_about_unmerged_refs() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let commit = user.git("commit-tree -m Kept HEAD^{tree}");
    user.git(&format!("update-ref refs/samuel/kept/old-1 {commit}"));
    let (path, log) = logging_git(&user);
    let env = [("PATH".to_owned(), path), ("HOME".to_owned(), user.home().display().to_string())];
    let told = played(in_clones(&user, &project, makes_a_file(), &["true"]).env(env)).await;
    all_landed(&user, &project, &told);
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("refs/samuel/kept") && !log.contains(&commit), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clean_keeps_clone_with_work_on_no_branch() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let told = played(in_clones(&user, &project, makes_a_file(), &["false"])).await;
    assert_eq!(told.report.exit_reason, ExitReason::Blocked);
    // As if Samuel was killed before it made the branch.
    for name in user.git("for-each-ref --format='%(refname)' refs/heads/samuel refs/samuel/rescue").lines() {
        user.git(&format!("update-ref -d {name}"));
    }
    let list = project_lanes(&user, &project).await;
    let [(_, why)] = &list[..] else { panic!("{list:?}") };
    assert_eq!(why, "what is checked out there is on no branch of yours");
    assert!(!user.git("for-each-ref refs/samuel/work").is_empty());
}

#[tokio::test]
async fn clone_with_work_on_another_branch_stays() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    clone.begin(BRANCH, &user.head()).await.unwrap();
    let wip = "git switch -qc wip; touch wip; git add wip; git commit -qm Wip; git switch -q samuel/r/1-1; touch made";
    turn(&user, &clone, wip).await.unwrap();
    let told = clone.take_told();
    assert!(told.len() == 1 && told[0].contains("work on wip was not taken out"), "{told:?}");
    // That is what cleaning asks.
    let record = fs::read_to_string(user.directory().join("record.json")).unwrap();
    assert!(record.contains("\"unspent\": true"), "{record}");
    turn(&user, &clone, "touch more").await.unwrap();
    assert_eq!(clone.take_told(), [""; 0], "it is told once");
}

#[tokio::test]
async fn tags_of_other_branches_keep_no_clone() {
    let user = User::new();
    user.git("switch -qc release");
    user.git("commit -q --allow-empty -m Release");
    user.git("tag v1");
    user.git("switch -q main");
    let clone = opened(&user, PATH).await;
    clone.begin(BRANCH, &user.head()).await.unwrap();
    turn(&user, &clone, "git rev-parse v1 && touch made").await.unwrap();
    clone.remove().await.unwrap();
    assert_eq!(clone.take_told(), [""; 0]);
    assert!(!clone.top().exists());
}

#[tokio::test]
async fn task_in_a_clone_starts_few_gits() {
    let user = User::new();
    let (clone, log) = opened_logged(&user).await;
    let to_make = fs::read_to_string(&log).unwrap().lines().count();
    clone.begin(BRANCH, &user.head()).await.unwrap();
    turn(&user, &clone, "echo 1 > made").await.unwrap();
    fs::write(&log, "").unwrap();
    clone.begin("samuel/r/2-2", &user.head()).await.unwrap();
    turn(&user, &clone, "echo 2 > made").await.unwrap();
    let started = fs::read_to_string(&log).unwrap();
    assert!(to_make <= 18 && started.lines().count() <= 22, "{to_make}\n{started}");
}

#[tokio::test]
async fn next_task_reads_no_unchanged_file_again() {
    let user = User::new();
    let (clone, log) = opened_logged(&user).await;
    let began = || fs::read_to_string(&log).unwrap().matches("update-index -q --refresh").count();
    assert_eq!(began(), 1, "a new clone has no index");
    clone.begin(BRANCH, &user.head()).await.unwrap();
    turn(&user, &clone, "test -z \"$(git status --porcelain)\" && echo 2 > a.txt").await.unwrap();
    clone.begin("samuel/r/2-2", &user.head()).await.unwrap();
    assert_eq!(began(), 1);
    assert_eq!(user.sh(&clone.work_dir(), "git status --porcelain; cat a.txt"), "one");
}

#[tokio::test]
async fn next_task_gets_directories_that_became_links() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    clone.begin(BRANCH, &user.head()).await.unwrap();
    turn(&user, &clone, "true").await.unwrap();
    user.sh(&clone.work_dir(), "mkdir target; mv ci target/ci; ln -s target/ci ci");
    clone.begin("samuel/r/2-2", &user.head()).await.unwrap();
    assert_eq!(
        user.sh(&clone.work_dir(), "git status --porcelain && test ! -L ci && cat ci/check.sh"),
        "true"
    );
}

#[tokio::test]
async fn a_branch_that_the_user_looks_at_stays_as_it_is_and_the_work_is_kept_beside_it() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    clone.begin(BRANCH, &user.head()).await.unwrap();
    let first = turn(&user, &clone, "echo 1 > made").await.unwrap();
    let look = user.path().join("look");
    user.git(&format!("worktree add -q {} {BRANCH}", look.display()));
    let second = turn(&user, &clone, "echo 2 > made").await.unwrap();
    let kept = || user.git("for-each-ref --format='%(refname) %(objectname)' refs/samuel/rescue");
    let beside = format!("refs/samuel/rescue/r/1-1 {}", second.commit);
    assert_eq!((user.git(&format!("rev-parse {BRANCH}")), kept()), (first.commit, beside.clone()));
    assert_eq!(user.sh(&look, "git status --porcelain; cat made"), "1");
    let told = clone.take_told();
    assert!(told.len() == 1 && told[0].contains("kept as refs/samuel/rescue/r/1-1"), "{told:?}");
    // Once is enough.
    clone.put_on(BRANCH, &second.commit).await.unwrap();
    turn(&user, &clone, "true").await.unwrap();
    assert_eq!((kept(), clone.take_told()), (beside, Vec::new()));
    user.git(&format!("worktree remove {}", look.display()));
    clone.put_on(BRANCH, &second.commit).await.unwrap();
    assert_eq!(user.git(&format!("rev-parse {BRANCH}")), second.commit);
}

#[tokio::test]
async fn lock_of_a_git_killed_while_removing_refs_goes() {
    let user = User::new();
    let (bin, lock) = (user.path().join("bin"), user.tree().join(".git/packed-refs.lock"));
    fs::create_dir(&bin).unwrap();
    let killed = format!(
        "#!/bin/sh\ncase \"$*\" in *'update-ref --no-deref --stdin'*) touch {}; kill -9 $$;; esac\nexec {} \"$@\"\n",
        lock.display(),
        user.sh(user.path(), "command -v git"),
    );
    fs::write(bin.join("git"), killed).unwrap();
    user.sh(&bin, "chmod +x git");
    let clone = opened(&user, &format!("{}:{PATH}", bin.display())).await;
    clone.begin(BRANCH, &user.head()).await.unwrap();
    turn(&user, &clone, "echo 1 > made").await.unwrap();
    let cut_off = clone.remove().await;
    assert!(cut_off.is_err() && lock.exists(), "{cut_off:?}");
    drop(clone);
    let clone = opened(&user, PATH).await;
    assert!(!lock.exists());
    clone.remove().await.unwrap();
    assert_eq!(user.git("for-each-ref refs/samuel"), "");
}

#[tokio::test]
async fn clone_survives_gc_after_reset() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    user.git("commit -q --allow-empty -m More");
    clone.begin(BRANCH, &user.head()).await.unwrap();
    user.loses_last_commit();
    let made = turn(&user, &clone, "git log -p && git commit -q --allow-empty -m Mine && echo 1 > made");
    let made = made.await.unwrap();
    assert_eq!(user.git(&format!("log --format=%s {}~1", made.commit)), "Mine\nMore\nStart");
    clone.begin("samuel/r/2-2", &user.head()).await.unwrap();
    turn(&user, &clone, "test ! -e made && git fsck --no-dangling && echo 2 > made").await.unwrap();
    clone.remove().await.unwrap();
    assert_eq!((user.git("for-each-ref refs/samuel"), clone.take_told()), (String::new(), Vec::new()));
}

#[tokio::test]
async fn kept_clone_keeps_its_base() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    user.git("commit -q --allow-empty -m More");
    clone.begin(BRANCH, &user.head()).await.unwrap();
    turn(&user, &clone, "git config core.fsmonitor false").await.unwrap_err();
    clone.remove().await.unwrap();
    user.loses_last_commit();
    let aside = user.directory().join("kept-1");
    assert_eq!(user.sh(&aside, "git fsck --no-dangling && git log --format=%s"), "More\nStart");
}

#[tokio::test]
async fn clone_has_one_reference_while_branch_grows() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    let pins = || user.git("for-each-ref --format='%(objectname)' refs/samuel/base");
    for number in 1..=3 {
        user.git("commit -q --allow-empty -m More");
        clone.begin(&format!("samuel/r/{number}-1"), &user.head()).await.unwrap();
        turn(&user, &clone, "true").await.unwrap();
        assert_eq!(pins(), user.head());
    }
    user.git("reset -q --hard HEAD~1");
    clone.begin(BRANCH, &user.head()).await.unwrap();
    assert_eq!(pins().lines().count(), 2, "the commit before stays: an agent worked on it");
    clone.check_out(&user.git("rev-parse HEAD~1")).await.unwrap();
    assert_eq!(pins().lines().count(), 2, "nobody worked on the last one");
}

#[tokio::test]
async fn no_lock_is_left_in_a_clone_of_gits_that_were_killed_there() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    let locks = ["index", "HEAD", "ORIG_HEAD", "AUTO_MERGE", "config", "packed-refs"];
    let locks = locks.map(|name| clone.top().join(format!(".git/{name}.lock")));
    locks.iter().for_each(|lock| fs::write(lock, "").unwrap());
    clone.begin(BRANCH, &user.head()).await.unwrap();
    let left: Vec<&PathBuf> = locks.iter().filter(|lock| lock.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cleaning_goes_on_where_an_earlier_one_was_killed_as_it_removed_a_clone() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let script = || Script::default().call(ScriptedCall::any().repeated().run("touch made").done());
    let run = || in_clones(&user, &project, script(), &["false"]);
    assert_eq!(played(run()).await.report.exit_reason, ExitReason::Blocked);
    let mut left = clones(&user);
    left.retain(|of| of.join("tree").is_dir());
    assert_eq!(left.len(), 3, "{left:?}");
    for of in &left {
        fs::rename(of.join("tree"), of.join("tree.new")).unwrap();
    }
    // Of one of them nothing is known any more.
    fs::remove_file(left[0].join("record.json")).unwrap();
    run().clean().await.unwrap();
    assert_eq!(clones(&user), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_clone_in_which_no_git_can_be_run_is_moved_aside_as_lanes_end_and_nothing_stands_in_its_place() {
    let user = User::new();
    let clone = opened(&user, PATH).await;
    clone.begin(BRANCH, &user.head()).await.unwrap();
    // What is no name of a branch is nobody's, and what is not there is not shown.
    for name in ["a..b", "samuel/r/0-0"] {
        clone.show(name).await.unwrap();
    }
    clone.turn_begins().await.unwrap();
    user.sh(&clone.work_dir(), "git config core.fsmonitor 'touch $CANARY; false'");
    clone.remove().await.unwrap();
    let told = clone.take_told();
    assert!(told.len() == 1 && told[0].contains(".git/config"), "{told:?}");
    assert!(!clone.top().exists() && !user.canary().exists());
    assert_eq!(user.sh(&user.directory(), "ls"), "kept-1");
}
