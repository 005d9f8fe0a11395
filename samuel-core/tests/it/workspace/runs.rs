//! Runs whose agent works in a clone.

use std::{fs, sync::Arc, time::Duration};

use samuel_core::{
    Coded as _,
    agent::{Script, ScriptedCall},
    clock::SystemClock,
    config::{CheckCommand, MethodologySettings},
    engine::{Run, RunBuilder, RunError},
    event::{Event, EventRecord, RunReport},
    model::{ExitReason, Plan, Status, Task, TaskId},
    project::Project,
    state::{Actor, Existing},
    testing::transcript,
    trust::TrustPolicy,
    workspace::WorkspaceKind,
};

use crate::{
    process_support::supervisor,
    workspace::kit::{PATH, User},
};

/// The project of a user, with a plan of tasks.
pub(crate) fn project(user: &User, tasks: &[&str]) -> Project {
    let project = opened(user);
    let tasks = tasks.iter().map(|id| Task::new(TaskId::new(*id), format!("Do {id}"))).collect();
    project.plan_store().import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    project
}

/// Opens the project of a user.
pub(crate) fn opened(user: &User) -> Project {
    let project = Project::open(user.tree(), None, Arc::new(SystemClock::new())).unwrap();
    project.keeping_plans_in(Some(user.state()))
}

/// Begins to build a run in a clone.
pub(crate) fn run(user: &User, project: &Project, script: Script, checks: &[&str]) -> RunBuilder {
    let checks = checks.iter().map(|check| CheckCommand::new(*check)).collect();
    Run::builder(project.clone())
        .workspace(WorkspaceKind::Clone)
        .script(script)
        .supervisor(supervisor())
        .trust(TrustPolicy::TrustAll)
        .env([("PATH".to_owned(), PATH.to_owned()), ("HOME".to_owned(), user.home().display().to_string())])
        .settings(|settings: &mut MethodologySettings| {
            settings.pause = Duration::ZERO;
            settings.quality_checks = checks;
        })
}

/// What a run told.
pub(crate) struct Told {
    pub(crate) events: Vec<EventRecord>,
    pub(crate) report: RunReport,
}

impl Told {
    pub(crate) fn text(&self) -> String {
        transcript(&self.events)
    }
}

pub(crate) async fn played(run: RunBuilder) -> Result<Told, RunError> {
    let mut handle = run.build()?.start().await?;
    let mut stream = handle.events();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    Ok(Told { events, report: handle.wait().await? })
}

fn status(project: &Project, id: &str) -> Status {
    project.plan_store().load().unwrap().plan.task(&TaskId::new(id)).unwrap().status
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_the_agent_reach_the_branch_after_the_check_and_the_plan_stays_in_the_project() {
    let user = User::new();
    let project = project(&user, &["1", "2"]);
    let seen = user.home().join("seen");
    let work = format!(
        "test -f ../record.json; test ! -e .samuel/run/prd.toon; test \"$PWD\" = \"$SAMUEL_WORKSPACE\"; test \"$SAMUEL_PROJECT_ROOT\" = \"$PWD\" && echo \"here $(cat {tree}/made-1.txt 2>/dev/null)\" >> {seen}; echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt; git add -A; git commit -qm \"Make $SAMUEL_TASK_ID\"; echo more > left-$SAMUEL_TASK_ID.txt; test ! -e {tree}/made-$SAMUEL_TASK_ID.txt",
        tree = user.tree().display(),
        seen = seen.display(),
    );
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let check = format!(
        "test -n \"$SAMUEL_WORKSPACE\" && test -f made-1.txt && echo \"$PWD\" > {}/check",
        user.home().display()
    );
    let told = played(run(&user, &project, script, &[&check])).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
    assert_eq!([status(&project, "1"), status(&project, "2")], [Status::Completed; 2]);
    let log = user.git("log --reverse --format='%an: %s%n%(trailers:unfold)' HEAD~4..");
    assert_eq!(
        log.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        ["Ada: Make 1", "Ada: Do 1", "Samuel-Task: 1", "Ada: Make 2", "Ada: Do 2", "Samuel-Task: 2"]
    );
    assert_eq!(user.git("status --porcelain"), "");
    assert_eq!(fs::read_to_string(seen).unwrap(), "here \nhere 1\n");
    assert!(fs::read_to_string(user.home().join("check")).unwrap().trim_end().ends_with("/tree"));
    assert_eq!(user.clone_of_run(), None, "nothing is left of it");
    assert_eq!(user.git("for-each-ref refs/samuel"), "");
    let progress = fs::read_to_string(user.tree().join(".samuel/run/progress.md")).unwrap();
    assert!(progress.contains(&format!("COMMIT: {} reached the branch", user.head())), "{progress}");
}

#[tokio::test(flavor = "multi_thread")]
async fn single_clone_gets_copied_files() {
    let user = User::new();
    user.write(".env", "secret\n");
    let project = project(&user, &["1", "2"]);
    let work = "grep -q secret .env && test -f target/warm && test ! -e left && echo mine > .env && \
                echo x > made-$SAMUEL_TASK_ID.txt && git add -A && git add -f .env && git commit -qm All";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let run = run(&user, &project, script, &["test -f made-1.txt && test -f .env"]);
    let run = run.settings(|settings: &mut MethodologySettings| {
        settings.parallel.copy = vec![".env".to_owned()];
        settings.parallel.setup =
            vec![CheckCommand::new("mkdir -p target; touch target/warm left; echo x >> ~/ran")];
    });
    let told = played(run).await.unwrap();
    assert_eq!(
        (told.report.exit_reason, told.report.iterations),
        (ExitReason::Completed, 2),
        "{}",
        told.text()
    );
    let files = user.git("log --format= --name-only HEAD");
    assert!(files.contains("made-2.txt") && !files.contains(".env") && !files.contains("left"), "{files}");
    assert_eq!(fs::read_to_string(user.home().join("ran")).unwrap(), "x\n");
    assert!(!told.text().contains("not committed"), "{}", told.text());
    let names_copy = |record: &EventRecord| match &record.event {
        Event::IterationFinished { uncommitted, .. } => uncommitted.iter().any(|path| path == ".env"),
        _ => false,
    };
    assert!(!told.events.iter().any(names_copy), "its agent committed it");
    assert_eq!(user.read(".env").as_deref(), Some("secret\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn run_files_in_a_clone_never_reach_the_branch() {
    let user = User::new();
    let project = project(&user, &["1", "2"]);
    // The first task leaves the file, the second commits it by force.
    let work = "mkdir -p .samuel/run; echo mine >> .samuel/run/progress.md; echo x > made-$SAMUEL_TASK_ID.txt; \
                if test $SAMUEL_TASK_ID = 2; then git add -Af; git commit -qm All; fi";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(run(&user, &project, script, &[])).await.unwrap();
    assert_eq!(
        (told.report.exit_reason, told.report.iterations),
        (ExitReason::Completed, 2),
        "{}",
        told.text()
    );
    let files = user.git("ls-tree -r --name-only HEAD");
    assert_eq!(files, ".gitignore\na.txt\nci/check.sh\nmade-1.txt\nmade-2.txt");
    let progress = fs::read_to_string(user.tree().join(".samuel/run/progress.md")).unwrap();
    assert!(!progress.contains("mine"), "{progress}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_unchanged_work_never_reaches_the_branch() {
    let user = User::new();
    let project = project(&user, &["1"]);
    let work =
        "echo secret > key && git add key && git commit -qm Add && git rm -q key && git commit -qm Remove";
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run(work).done())
        .call(ScriptedCall::for_iteration(2).write("b.txt", "good").done());
    let run = run(&user, &project, script, &["test -f a.txt"]);
    let run = run.settings(|settings: &mut MethodologySettings| settings.require_change = true);
    let told = played(run).await.unwrap();
    assert_eq!(
        (told.report.exit_reason, told.report.iterations),
        (ExitReason::Completed, 2),
        "{}",
        told.text()
    );
    let files = user.git("log --format= --name-only HEAD");
    assert!(files.contains("b.txt") && !files.contains("key"), "{files}");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_whose_check_fails_is_kept_and_the_next_attempt_begins_without_it() {
    let user = User::new();
    let project = project(&user, &["1"]);
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).write("b.txt", "bad").done())
        .call(ScriptedCall::for_iteration(2).run("test ! -e b.txt").write("b.txt", "good").done());
    let told = played(run(&user, &project, script, &["grep -q good b.txt"])).await.unwrap();
    assert_eq!(
        (told.report.exit_reason, told.report.iterations),
        (ExitReason::Completed, 2),
        "{}",
        told.text()
    );
    assert_eq!(user.read("b.txt").unwrap(), "good");
    let [kept] = &user.kept()[..] else { panic!("{:?}", user.kept()) };
    assert_eq!(user.git(&format!("show {kept}:b.txt")), "bad");
    assert!(told.text().contains("did not pass: it is kept as refs/samuel/kept/<run>-1"), "{}", told.text());
    assert_eq!(user.git("rev-list --count HEAD"), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_work_fails_its_iteration_with_the_code_and_is_taken_back() {
    let user = User::new();
    let project = project(&user, &["1"]);
    let before = user.head();
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run("echo true > ci/check.sh; echo x > b.txt").done())
        .call(ScriptedCall::for_iteration(2).run("git config core.fsmonitor 'touch ~/canary; false'").done())
        .call(
            ScriptedCall::for_iteration(3)
                .run("test -z \"$(git config core.fsmonitor)\"")
                .write("b.txt", "fine")
                .done(),
        );
    user.write("ci/check.sh", "test -f b.txt\n");
    user.git("commit -qam Check");
    let told = played(run(&user, &project, script, &["sh ci/check.sh"])).await.unwrap();
    let text = told.text();
    assert_eq!(
        (told.report.exit_reason, told.report.iterations, told.report.failed_iterations),
        (ExitReason::Completed, 3, 2),
        "{text}"
    );
    let failures: Vec<String> = told
        .events
        .iter()
        .filter_map(|record| match &record.event {
            Event::IterationFinished { failure: Some(failure), .. } => {
                Some(format!("{}: {}", failure.class, failure.message))
            }
            _ => None,
        })
        .collect();
    assert!(failures[0].starts_with("refused: the work was refused: it changes files that decide what runs: ci/check.sh; it is kept in the clone"), "{failures:?}");
    assert!(failures[0].contains("(E_WORKSPACE_REFUSED)"), "{failures:?}");
    assert!(
        failures[1].starts_with("refused: the work was refused: the clone holds a changed .git/config"),
        "{failures:?}"
    );
    assert_eq!(text.matches("tasks taken back: 1").count(), 2, "{text}");
    assert_eq!(user.git("rev-parse HEAD~2"), before);
    assert_eq!(user.read("ci/check.sh").unwrap(), "test -f b.txt\n");
    user.git("status");
    assert!(!user.home().join("canary").exists());
}

// Takes about 11 s: each of the 6 settings has a repository, and a run of two iterations in a clone of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_users_git_reads_or_starts_of_the_tree_is_refused() {
    for (configure, change, file) in [
        ("core.hooksPath .githooks", "echo 'touch ~/canary' >> .githooks/pre-commit", ".githooks/pre-commit"),
        ("core.hooksPath .githooks", "echo 'touch ~/canary' > .githooks/post-merge", ".githooks/post-merge"),
        ("include.path ../team.config", "echo '[core]' >> team.config", "team.config"),
        ("diff.x.textconv 'sh tools/show.sh'", "echo 'touch ~/canary' > tools/show.sh", "tools/show.sh"),
        ("filter.x.clean ./tools/clean", "echo x > tools/clean", "tools/clean"),
        ("core.fsmonitor tools/monitor", "echo x > tools/monitor", "tools/monitor"),
    ] {
        let user = User::new();
        user.write(".githooks/pre-commit", "#!/bin/sh\n");
        user.write("team.config", "");
        user.write("tools/show.sh", "");
        user.git("add -A");
        user.git("commit -qm Tools");
        let project = project(&user, &["1"]);
        user.git(&format!("config {configure}"));
        let script = Script::default()
            .call(ScriptedCall::for_iteration(1).run(format!("mkdir -p tools; {change}")).done())
            .call(ScriptedCall::for_iteration(2).write("b.txt", "fine").done());
        let told = played(run(&user, &project, script, &[])).await.unwrap();
        let text = told.text();
        assert_eq!(
            (told.report.exit_reason, told.report.failed_iterations),
            (ExitReason::Completed, 1),
            "{configure}: {text}"
        );
        assert!(
            text.contains(&format!("it changes files that decide what runs: {file}")),
            "{configure}: {text}"
        );
        assert!(!user.home().join("canary").exists(), "{configure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dirty_tree_and_a_project_without_a_place_are_refused_before_the_agent_starts() {
    let user = User::new();
    let project = project(&user, &["1"]);
    user.write("a.txt", "changed\n");
    let script = || Script::default().call(ScriptedCall::any().write("b.txt", "x").done());
    let Err(error) = played(run(&user, &project, script(), &[])).await else { panic!("it ran") };
    assert_eq!(error.code().name, "E_WORKSPACE_DIRTY");
    assert!(error.help().prose().contains("git stash -u") && error.help().prose().contains("\"in-place\""));
    let in_place = run(&user, &project, script(), &[]).workspace(WorkspaceKind::InPlace);
    assert_eq!(played(in_place).await.unwrap().report.exit_reason, ExitReason::Completed);
    assert_eq!(user.read("b.txt").unwrap(), "x");
    let homeless = Project::at(user.tree()).unwrap();
    let Err(error) = played(run(&user, &homeless, script(), &[])).await else { panic!("it ran") };
    assert_eq!(error.code().name, "E_WORKSPACE_UNFIT", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn samuel_toml_chooses_the_clone() {
    let user = User::new();
    user.write("samuel.toml", "version = \"2\"\n[sandbox]\nworkspace = \"clone\"\n");
    user.git("add -A");
    user.git("commit -qm Configure");
    let project = project(&user, &["1"]);
    let script = Script::default()
        .call(ScriptedCall::any().run("test -n \"$SAMUEL_WORKSPACE\"; echo 1 > b.txt").done());
    let run = Run::builder(project)
        .script(script)
        .supervisor(supervisor())
        .trust(TrustPolicy::TrustAll)
        .env([("PATH".to_owned(), PATH.to_owned()), ("HOME".to_owned(), user.home().display().to_string())]);
    assert_eq!(played(run).await.unwrap().report.exit_reason, ExitReason::Completed);
    assert_eq!(user.git("log -1 --format=%s"), "Do 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_can_work_in_the_tree_meanwhile() {
    let user = User::new();
    let project = project(&user, &["1", "2"]);
    let tree = user.tree().display().to_string();
    let commits = format!("echo 1 > b.txt; git -C {tree} commit -q --allow-empty -m Mine");
    let edits = format!("echo 1 > b.txt; echo mine > {tree}/a.txt");
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run(commits).done())
        .call(ScriptedCall::for_iteration(2).run(edits).done())
        .call(ScriptedCall::any().repeated().run("echo 2 > c.txt").done());
    let told = played(run(&user, &project, script, &[])).await.unwrap();
    let text = told.text();
    assert_eq!(
        (told.report.exit_reason, told.report.failed_iterations),
        (ExitReason::Completed, 1),
        "{text}"
    );
    assert!(text.contains("did not reach the branch main: it has moved on"), "{text}");
    assert_eq!(user.git("log --format=%s").lines().collect::<Vec<_>>(), ["Do 2", "Do 1", "Mine", "Start"]);
    assert_eq!(user.read("a.txt").unwrap(), "mine\n", "what is uncommitted stays");
}
