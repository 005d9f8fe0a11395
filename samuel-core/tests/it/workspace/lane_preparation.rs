//! What lanes get beside the files of a commit: files that are copied, which never land, and commands that are run.

use std::{fs, num::NonZeroU32, os::unix::fs::symlink, path::Path, time::Duration};

use samuel_core::{
    Coded as _,
    agent::{Script, ScriptedCall},
    config::{CheckCommand, MethodologySettings},
    engine::{RunBuilder, RunError},
    event::Event,
    model::{ExitReason, TaskId},
    plan::WorkRemedy,
    project::Project,
    state::{Actor, Mutation},
    workspace::{LaneClone, Preparation, WorkNote, WorkspaceError, WorkspaceSetup},
};

use crate::workspace::{
    kit::User,
    lanes::{all_landed, lanes, makes_a_file, plan, project, until},
    runs::{Told, played},
};

/// What is copied: git ignores the first nowhere, the second in the user's own repository, the third wherever it is.
const COPY: [&str; 3] = [".env", "conf/local.json", "key.pem"];

/// A user with files that git does not track.
fn with_secrets() -> User {
    let user = User::new();
    user.write(".gitignore", "target/\n*.pem\n");
    user.git("commit -qam Ignore");
    COPY.iter().for_each(|file| user.write(file, "secret\n"));
    fs::write(user.tree().join(".git/info/exclude"), "local.json\n").unwrap();
    user
}

/// Opens a clone for a worker without a run.
async fn opened(user: &User, copy: &[&str]) -> LaneClone {
    prepared_by(user, copy, &[]).await
}

/// Does the same with commands of the setup.
async fn prepared_by(user: &User, copy: &[&str], setup: &[&str]) -> LaneClone {
    let minute = Duration::from_secs(60);
    let preparation = Preparation {
        copy: copy.iter().map(|&path| path.to_owned()).collect(),
        setup: setup.iter().map(|&line| (line.to_owned(), minute)).collect(),
        ..Preparation::default()
    };
    let directory = user.state().join("lanes/lane-1.clone");
    let setup = WorkspaceSetup { directory, preparation, ..user.setup() };
    LaneClone::open(setup, "0123-lane-1".to_owned(), &user.head()).await.unwrap()
}

// Takes about 6 s: five tasks, each of which is checked and merged.
#[tokio::test(flavor = "multi_thread")]
async fn copied_files_are_there_for_each_task_and_never_land() {
    let user = with_secrets();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[]), ("4", &[]), ("5", &[])]);
    // One forgets to commit, one commits all, one stages all and one by force, one commits it and removes it again.
    let work = "id=$SAMUEL_TASK_ID; cat .env conf/local.json key.pem > ~/seen-$id; echo mine >> .env; \
                echo $id > made-$id.txt; case $id in 1) ;; 2) git add -A; git commit -qm All;; 3) git add -A;; \
                4) git add -f .env conf/local.json key.pem;; \
                5) git add -f .env key.pem; git commit -qm Add; git rm -q --cached .env key.pem; git commit -qm Undo;; esac";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let run = lanes(&user, &project, 2, script, &["grep -q secret key.pem"]).settings(
        |settings: &mut MethodologySettings| {
            settings.parallel.copy = COPY.map(str::to_owned).to_vec();
        },
    );
    let told = played(run).await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!(told.report.iterations, 5, "{}", told.text());
    let into = told.report.into.clone().unwrap();
    for id in 1..=5 {
        let seen = fs::read_to_string(user.home().join(format!("seen-{id}"))).unwrap();
        assert_eq!(seen, "secret\n".repeat(3), "task {id}");
        assert_eq!(user.git(&format!("show {into}:made-{id}.txt")), id.to_string());
    }
    let of_secrets = user.git(&format!("log --full-history --format=%s {into} -- {}", COPY.join(" ")));
    assert_eq!(of_secrets, "", "neither what has landed nor a commit before it has any of it");
    assert_eq!(user.git("for-each-ref refs/samuel"), "", "nothing was left to be kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn run_files_of_a_worker_are_never_merged() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    // One forgets to commit, one commits all by force, one stages all by force.
    let work = "id=$SAMUEL_TASK_ID; mkdir -p .samuel/run; echo mine >> .samuel/run/progress.md; \
                echo $id > made-$id.txt; case $id in 1) ;; 2) git add -Af; git commit -qm All;; 3) git add -Af;; esac";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(lanes(&user, &project, 2, script, &[])).await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!(told.report.iterations, 3, "{}", told.text());
    let into = told.report.into.clone().unwrap();
    for id in 1..=3 {
        assert_eq!(user.git(&format!("show {into}:made-{id}.txt")), id.to_string());
    }
    assert_eq!(user.git(&format!("log --full-history --format=%s {into} -- .samuel")), "");
    assert_eq!(user.git("for-each-ref refs/samuel"), "", "nothing was left to be kept");
}

// Takes about 16 s: a clone for each of the eight ways.
#[tokio::test(flavor = "multi_thread")]
async fn agent_cannot_commit_copied_files() {
    let lines = [
        "git add -A; git commit -qm All",
        "git add -f .env; git commit -qm Forced",
        "git add -f .env; git commit -qm Forced; echo more >> .env; git commit -qam More",
        "git add -f .env; git commit -qm Forced; git rm -q --cached .env; git commit -qm Undo",
        "git switch -qc side; git add -f .env made; git commit -qm Side; git switch -q -; \
         git merge -q --no-ff -m Merge side",
        ": > .git/info/exclude; git add -A; git commit -qm All",
        "git add -f .env; git commit -qm Forced; git rev-parse HEAD > .git/shallow",
        "mkdir -p .samuel/run; echo planted > .samuel/run/x; git add -f .samuel; git commit -qm Run",
    ];
    for line in lines {
        let user = with_secrets();
        user.write(".env", "planted\n");
        let tree = opened(&user, &COPY).await;
        tree.begin("samuel/r/1-1", &user.head()).await.unwrap();
        tree.turn_begins().await.unwrap();
        user.sh(&tree.work_dir(), &format!("echo made > made; {line}"));
        let made = tree.collect(&WorkNote::default()).await.unwrap();
        assert_eq!(user.git(&format!("show {}:made", made.commit)), "made", "{line}");
        let planted = "git cat-file --batch-all-objects --batch | grep -ac planted || true";
        assert_eq!(user.sh(&user.tree(), planted), "0", "{line}");
        let is_one = line.contains(".env") || line.contains(".samuel") || line.contains("exclude");
        assert_eq!(tree.take_told().len(), usize::from(is_one), "{line}");
        // The next turn goes on from the one commit.
        tree.turn_begins().await.unwrap();
        user.sh(&tree.work_dir(), "test -f made; git commit -q --allow-empty -m Next");
        let next = tree.collect(&WorkNote::default()).await.unwrap();
        assert_eq!(user.git(&format!("rev-parse {}~1", next.commit)), made.commit, "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_copied_is_not_among_what_is_kept_of_a_lane() {
    let user = with_secrets();
    let tree = opened(&user, &COPY).await;
    let branch = "samuel/r/1-1";
    tree.begin(branch, &user.head()).await.unwrap();
    tree.turn_begins().await.unwrap();
    tree.rescue().await.unwrap();
    assert_eq!(user.git("branch --list 'samuel/*'"), "", "there is nothing else");
    tree.turn_begins().await.unwrap();
    user.sh(
        &tree.work_dir(),
        "cat .env conf/local.json key.pem; echo half > half; git add -A; git add -f .env",
    );
    // Whoever goes on after a crash may not copy it any more.
    drop(tree);
    let tree = opened(&user, &[]).await;
    tree.rescue().await.unwrap();
    let files = user.git(&format!("ls-tree -r --name-only {branch}"));
    assert_eq!(files, ".gitignore\na.txt\nci/check.sh\nhalf");
    // What is not copied any more is gone, also what git ignores.
    tree.begin("samuel/r/1-2", &user.head()).await.unwrap();
    let there: Vec<_> = COPY.iter().filter(|path| tree.work_dir().join(path).exists()).collect();
    assert!(there.is_empty(), "{there:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_of_what_the_project_has_no_more_is_gone_and_what_it_never_had_stays() {
    let user = with_secrets();
    let copy = [".env", "key.pem", "made.pem"];
    let tree = opened(&user, &copy).await;
    tree.begin("samuel/r/1-1", &user.head()).await.unwrap();
    // Such as a command of the setup makes it: git ignores it.
    let at = |path: &str| tree.work_dir().join(path);
    user.sh(&tree.work_dir(), "echo made > made.pem");
    assert!(at(".env").exists() && at("key.pem").exists());
    user.sh(&user.tree(), "rm .env key.pem");
    // Whoever goes on later knows of it as well.
    drop(tree);
    let tree = opened(&user, &copy).await;
    tree.begin("samuel/r/1-2", &user.head()).await.unwrap();
    let at = |path: &str| tree.work_dir().join(path);
    assert!(!at(".env").exists() && !at("key.pem").exists());
    assert_eq!(fs::read_to_string(at("made.pem")).unwrap(), "made\n");
    user.write("key.pem", "another\n");
    tree.begin("samuel/r/1-3", &user.head()).await.unwrap();
    assert_eq!(fs::read_to_string(at("key.pem")).unwrap(), "another\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_git_tracks_by_now_is_not_copied_over() {
    let user = with_secrets();
    let base = user.head();
    let tree = opened(&user, &COPY).await;
    tree.begin("samuel/r/1-1", &base).await.unwrap();
    user.write(".env", "for everybody\n");
    user.git("add .env");
    user.git("commit -qm Track");
    user.write(".env", "secret\n");
    let error = tree.begin("samuel/r/1-2", &user.head()).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::Tracked { path } if path == ".env"), "{error}");
    assert_eq!(fs::read_to_string(tree.work_dir().join(".env")).unwrap(), "for everybody\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_comes_through_a_link_that_leads_out_and_none_goes_through_one() {
    let user = User::new();
    let outside = user.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "theirs\n").unwrap();
    symlink(outside.join("secret"), user.tree().join("local.json")).unwrap();
    let tree = opened(&user, &["local.json"]).await;
    let error = tree.begin("samuel/r/1-1", &user.head()).await.unwrap_err();
    assert!(error.to_string().contains("local.json"), "{error}");
    assert!(!tree.work_dir().join("local.json").exists());
    // An agent left a link, where git does not look.
    user.write(".gitignore", "conf\n");
    user.git("commit -qam Ignore");
    user.write("conf/key", "mine\n");
    let tree = opened(&user, &["conf/key"]).await;
    fs::create_dir_all(tree.work_dir()).unwrap();
    symlink(&outside, tree.work_dir().join("conf")).unwrap();
    tree.begin("samuel/r/1-2", &user.head()).await.unwrap_err();
    assert!(!outside.join("key").exists());
}

// What commands do there.

/// Begins to build a run with two lanes, in whose work trees a command is run.
fn set_up_by(user: &User, project: &Project, line: &str, checks: &[&str]) -> RunBuilder {
    let setup = vec![CheckCommand { timeout: Duration::from_secs(60), ..CheckCommand::new(line) }];
    let run = lanes(user, project, 2, makes_a_file(), checks);
    run.settings(move |settings: &mut MethodologySettings| settings.parallel.setup.clone_from(&setup))
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

// Takes about 7 s: four runs with two workers.
#[tokio::test(flavor = "multi_thread")]
async fn commands_are_run_once_in_each_work_tree_and_again_where_they_change() {
    let user = User::new();
    // One more than there are lanes.
    let tasks = ["1", "2", "3"].map(|id| (id, &[] as &[&str]));
    let project = project(&user, &tasks);
    let (ran, trees) = (user.home().join("ran"), user.home().join("trees"));
    // It has the environment of checks, is where the project is, and may leave what git ignores.
    let line = "test -f a.txt; test -z \"$SAMUEL_TASK_ID\"; mkdir -p target; touch target/warm; pwd >> ~/trees; echo x >> ~/ran";
    let play = async |line: &str, check: &str| -> Told {
        let run = set_up_by(&user, &project, line, &[check]);
        let once = |settings: &mut MethodologySettings| {
            settings.task_budget.max_attempts = NonZeroU32::new(1);
        };
        played(run.settings(once)).await.unwrap()
    };
    // Where nothing lands the work trees stay.
    let told = play(line, "false").await;
    assert_eq!(told.report.exit_reason, ExitReason::Blocked, "{}", told.text());
    let mut all: Vec<String> = fs::read_to_string(&trees).unwrap().lines().map(str::to_owned).collect();
    all.sort();
    all.dedup();
    assert_eq!((lines(&ran), all.len()), (3, 3), "two workers and the queue");
    play(line, "false").await;
    assert_eq!(lines(&ran), 3, "they were run before");
    play(&format!("{line}; true"), "false").await;
    assert_eq!(lines(&ran), 6, "they are others");
    for id in tasks.map(|(id, _)| id) {
        let reset = samuel_core::state::Mutation::Reset { id: samuel_core::model::TaskId::new(id) };
        project.plan_store().mutate(reset, samuel_core::state::Actor::User).unwrap();
    }
    let told = play(&format!("{line}; true"), "test -f target/warm").await;
    all_landed(&user, &project, &told);
    assert_eq!(lines(&ran), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_commands_leave_in_a_work_tree_is_nobodys_work() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let run = set_up_by(&user, &project, "echo more >> a.txt; touch left", &[]);
    let told = played(run).await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!(user.git("for-each-ref refs/samuel/rescue"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_leftovers_are_nobodys_work() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    // The clone is made anew after the first turn, in the middle of the task.
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run("git config core.fsmonitor false").done())
        .call(
            ScriptedCall::for_iteration(2).run("test -f target/warm && test ! -e left && touch made").done(),
        );
    let setup = vec![CheckCommand::new("mkdir -p target; touch target/warm left")];
    let run = lanes(&user, &project, 2, script, &["test -f made"]);
    let told = played(run.settings(|settings: &mut MethodologySettings| settings.parallel.setup = setup));
    let told = told.await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!(told.report.iterations, 2, "{}", told.text());
    let files = user.git(&format!("ls-tree --name-only {}", told.report.into.clone().unwrap()));
    assert_eq!(files, ".gitignore\na.txt\nci\nmade");
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_that_leaves_a_repository_refuses_the_start() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let run = set_up_by(&user, &project, "git init -q part", &[]);
    let error = played(run).await.map(|told| told.text()).unwrap_err();
    is_refused(
        &project,
        &error,
        "`git init -q part` failed: git must not run in what it left: the repository of part/.git",
    );
}

/// Makes sure that a start is refused for its setup before anything is claimed or an agent called.
fn is_refused(project: &Project, error: &RunError, why: &str) {
    assert_eq!(error.code().name, "E_WORKSPACE_SETUP", "{error}");
    assert!(error.to_string().contains(why), "{error}");
    assert_eq!(plan(project).claims, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_in_one_work_tree_alone_refuses_the_start() {
    for place in ["*/queue.clone/*", "*/lane-2.clone/*"] {
        let user = User::new();
        let project = project(&user, &[("1", &[])]);
        let line = format!("case $PWD in {place}) echo no such package; exit 7;; esac");
        let run = set_up_by(&user, &project, &line, &["true"]);
        let error = run.build().unwrap().start().await.unwrap_err();
        is_refused(&project, &error, "exit code 7: no such package");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_refuses_the_start() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let run = set_up_by(&user, &project, "trap '' TERM; sleep 600", &["true"]).settings(
        |settings: &mut MethodologySettings| {
            for line in &mut settings.parallel.setup {
                line.timeout = Duration::from_secs(1);
            }
        },
    );
    let error = run.build().unwrap().start().await.unwrap_err();
    is_refused(&project, &error, "it took too long");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_hangs_between_two_tasks_ends_as_the_run_is_stopped() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &["1"])]);
    // Whoever works on the first task forgets that the commands were run anywhere.
    let work = "rm -f ../../*/prepared; touch ~/hang made-$SAMUEL_TASK_ID";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let line = "if test -e ~/hang; then trap '' TERM INT; touch ~/hangs; sleep 600; fi";
    let setup = vec![CheckCommand::new(line)];
    let run = lanes(&user, &project, 2, script, &[])
        .settings(move |settings: &mut MethodologySettings| settings.parallel.setup.clone_from(&setup));
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    until("a command hangs", || user.home().join("hangs").exists()).await;
    handle.stop();
    let ended = tokio::time::timeout(Duration::from_secs(60), handle.wait()).await;
    let report = ended.expect("nobody waits for the command").unwrap();
    assert_eq!(report.exit_reason, ExitReason::Cancelled);
    let is_live = |claim: &samuel_core::model::Claim| claim.is_live();
    assert!(!plan(&project).claims.iter().any(is_live), "{:?}", plan(&project).claims);
    while let Some(record) = events.next().await {
        if let Event::Warning { message, .. } = record.event {
            assert!(!message.contains("could not put its work away"), "{message}");
        }
    }
}

#[tokio::test]
async fn work_is_taken_out_before_setup_runs() {
    let user = User::new();
    let tree = opened(&user, &[]).await;
    tree.begin("samuel/r/1-1", &user.head()).await.unwrap();
    tree.turn_begins().await.unwrap();
    user.sh(&tree.work_dir(), "echo half > left");
    drop(tree);
    let tree = prepared_by(&user, &[], &["exit 7"]).await;
    let error = tree.prepare(&user.head()).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::SetUp { .. }), "{error}");
    assert_eq!(user.git("show samuel/r/1-1:left"), "half");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_commands_run_nobody_is_told_that_no_loop_lands_what_was_submitted() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let (store, task) = (project.plan_store(), TaskId::new("1"));
    let claim = Mutation::Claim { task: task.clone().into(), worker: "an-earlier-run/lane-1".to_owned() };
    let token = store.mutate(claim, Actor::Runtime).unwrap().revision;
    let (branch, commit) = ("main".to_owned(), user.head());
    let submit = Mutation::Submit {
        task,
        token,
        branch,
        commit: commit.clone(),
        base: commit,
        tree: None,
        iteration: None,
    };
    store.mutate(submit, Actor::Runtime).unwrap();
    assert_eq!(project.status().unwrap().remedies, [WorkRemedy::Land]);
    let run = set_up_by(&user, &project, "touch ~/up; sleep 600", &["true"]).build().unwrap();
    let starts = tokio::spawn(run.start());
    until("a command runs", || user.home().join("up").exists()).await;
    let status = project.status().unwrap();
    assert!(status.running);
    assert_eq!(status.remedies, [], "it may have lanes, which land it");
    starts.abort();
}

// What agents that were stopped left.

/// An agent that leaves the locks of a git that was killed, and goes on as it is told.
fn leaving_locks(then: &str) -> Script {
    let work = format!(
        "if test $SAMUEL_TASK_ID = 1; then echo x > half; if ! test -e ~/again; then git add half; \
         dir=$(git rev-parse --absolute-git-dir); touch $dir/index.lock $dir/HEAD.lock $dir/ORIG_HEAD.lock; \
         common=$(git rev-parse --path-format=absolute --git-common-dir); \
         touch $common/$(git symbolic-ref HEAD).lock; touch ~/at; {then} else git add half; fi; fi; \
         while ! test -e ~/at; do sleep 0.02; done; touch made-$SAMUEL_TASK_ID"
    );
    Script::default().call(ScriptedCall::any().repeated().run(work).done())
}

fn locks(user: &User) -> String {
    user.sh(user.path(), "find . -name '*.lock' -path '*.git/*' | sort")
}

const WAITS: &str = "while :; do sleep 0.05; done;";

// Takes about 5 s: two runs with two workers, the first of which is stopped.
#[tokio::test(flavor = "multi_thread")]
async fn locks_that_an_agent_left_do_not_keep_its_work_from_being_put_away() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let run = |then: &str| lanes(&user, &project, 2, leaving_locks(then), &[]);
    // Stopped with the run.
    let handle = run(WAITS).build().unwrap().start().await.unwrap();
    until("an agent has left locks", || user.home().join("at").exists()).await;
    handle.stop();
    assert_eq!(handle.wait().await.unwrap().exit_reason, ExitReason::Cancelled);
    let claims = plan(&project).claims;
    let claim = claims.iter().find(|claim| claim.task.task().is_some_and(|task| task.as_str() == "1"));
    let claim = claim.unwrap();
    assert!(!claim.is_live(), "{claim:?}");
    let kept = claim.branch.clone().unwrap();
    assert_eq!(user.git(&format!("show {kept}:half")), "x");
    assert_eq!(locks(&user), "");
    // Ended by itself, and done.
    let told = played(run("")).await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!(told.report.failed_iterations, 0, "{}", told.text());
    assert_eq!(locks(&user), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_whose_task_was_taken_from_an_agent_with_locks_works_on() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &["2"])]);
    let run = lanes(&user, &project, 2, leaving_locks(WAITS), &[]);
    let (branch, report) = crate::workspace::lanes::skipped_at_work(run, &project).await;
    assert_eq!((report.exit_reason, report.completed.len()), (ExitReason::Completed, 2));
    assert_eq!(user.git(&format!("show {branch}:half")), "x");
    assert_eq!(locks(&user), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_fails_and_leaves_locks_goes_on_where_it_was() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let told = played(lanes(&user, &project, 2, leaving_locks("touch ~/again; exit 3;"), &["test -f half"]));
    let told = told.await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!((told.report.failed_iterations, told.report.iterations), (1, 2), "{}", told.text());
    assert_eq!(locks(&user), "");
}
