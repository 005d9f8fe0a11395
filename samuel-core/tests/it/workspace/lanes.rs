//! Runs with several lanes.

use std::{num::NonZero, time::Duration};

use samuel_core::{
    Coded as _,
    agent::{Script, ScriptedCall},
    config::{CheckCommand, MethodologySettings},
    engine::{Run, RunBuilder},
    event::{Event, RunReport},
    history::History,
    model::{ExitReason, Plan, Role, Status, Task, TaskId},
    project::Project,
    state::{Actor, Existing, Mutation},
    trust::TrustPolicy,
};

use crate::{
    process_support::supervisor,
    workspace::{
        kit::{PATH, User},
        runs::{Told, opened, played},
    },
};

/// Makes a project whose tasks have an id and what they depend on.
pub(crate) fn project(user: &User, tasks: &[(&str, &[&str])]) -> Project {
    let project = opened(user);
    let task = |(id, depends_on): &(&str, &[&str])| Task {
        depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
        ..Task::new(TaskId::new(*id), format!("Do {id}"))
    };
    let tasks = tasks.iter().map(task).collect();
    project.plan_store().import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    project
}

pub(crate) fn lanes(
    user: &User,
    project: &Project,
    jobs: u32,
    script: Script,
    checks: &[&str],
) -> RunBuilder {
    let checks = checks.iter().map(|check| CheckCommand::new(*check)).collect();
    Run::builder(project.clone())
        .script(script)
        .supervisor(supervisor())
        .trust(TrustPolicy::TrustAll)
        .env([("PATH".to_owned(), PATH.to_owned()), ("HOME".to_owned(), user.home().display().to_string())])
        .settings(|settings: &mut MethodologySettings| {
            settings.pause = Duration::ZERO;
            settings.quality_checks = checks;
            settings.parallel.jobs = jobs;
        })
}

/// An agent that makes a file of its own and forgets to commit it.
pub(crate) fn makes_a_file() -> Script {
    Script::default()
        .call(ScriptedCall::any().repeated().run("echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt").done())
}

pub(crate) fn plan(project: &Project) -> Plan {
    (*project.plan_store().load().unwrap().plan).clone()
}

/// Checks what holds of every run that completed its plan: each task landed once, before what depends on
/// it began, and nothing of it is lost.
pub(crate) fn all_landed(user: &User, project: &Project, told: &Told) {
    assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
    let (plan, into) = (plan(project), told.report.into.clone().unwrap());
    assert_eq!(plan.claims, [], "{}", told.text());
    replays_whole(project, told);
    let log =
        user.git(&format!("log --first-parent --format='%(trailers:key=Samuel-Task,valueonly)' {into}"));
    let mut landed: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    landed.sort_unstable();
    let mut ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(landed, ids, "{}", told.text());
    for task in &plan.tasks {
        assert_eq!(task.status, Status::Completed);
        let commit = task.commit_sha.clone().unwrap();
        user.git(&format!("merge-base --is-ancestor {commit} {into}"));
    }
    let place = |wanted: &dyn Fn(&Event) -> bool| told.events.iter().position(|record| wanted(&record.event));
    for task in &plan.tasks {
        let begun =
            place(&|event| matches!(event, Event::TaskClaimed { task: claimed, .. } if *claimed == task.id));
        for other in &task.depends_on {
            let landed =
                place(&|event| matches!(event, Event::TaskLanded { task: done, .. } if done == other));
            assert!(landed.unwrap() < begun.unwrap(), "{} before {other}\n{}", task.id, told.text());
        }
    }
}

/// Waits until something holds, for a minute at most.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let waits = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waits).await.unwrap_or_else(|_| panic!("{what}"));
}

/// Returns the numbers of the iterations that were told to begin.
pub(crate) fn begun(told: &Told) -> Vec<u32> {
    let number = |event: &Event| match event {
        Event::IterationStarted { iteration, .. } => Some(*iteration),
        _ => None,
    };
    told.events.iter().filter_map(|record| number(&record.event)).collect()
}

/// Checks that each machine of a run that has ended replays equal, and all of its iterations in them.
pub(crate) fn replays_whole(project: &Project, told: &Told) {
    let run = told.events.first().unwrap().run_id.to_string();
    let replay = History::of(project).replay(&run).unwrap();
    assert!(replay.equal && replay.ended && replay.lanes >= Some(2), "{replay:#?}");
    assert_eq!(replay.iterations as usize, begun(told).len(), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_work_at_once_and_what_they_make_lands_once_on_a_branch_of_the_run() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &["1", "2"]), ("4", &[]), ("5", &["3"])]);
    let before = (user.head(), user.git("status --porcelain"));
    // The first two wait for each other, each in a work tree of its own.
    let meet = "case $SAMUEL_TASK_ID in 1|2) touch ~/at-$SAMUEL_TASK_ID; \
                while ! { test -e ~/at-1 && test -e ~/at-2; }; do sleep 0.02; done;; esac; \
                test \"$PWD\" = \"$SAMUEL_WORKSPACE\"; test ! -e .samuel/run/prd.toon; \
                if test $SAMUEL_TASK_ID = 3; then cat made-1.txt made-2.txt; fi; \
                echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt; echo x > other-$SAMUEL_TASK_ID; \
                git add other-$SAMUEL_TASK_ID; git commit -qm \"Make $SAMUEL_TASK_ID\"";
    let script = Script::default().call(ScriptedCall::any().repeated().run(meet).done());
    let told = played(lanes(&user, &project, 3, script, &["ls made-*.txt"])).await.unwrap();
    all_landed(&user, &project, &told);
    let into = told.report.into.clone().unwrap();
    for id in 1..=5 {
        assert_eq!(user.git(&format!("show {into}:made-{id}.txt")), id.to_string());
        assert_eq!(user.git(&format!("show {into}:other-{id}")), "x");
    }
    assert_eq!((user.head(), user.git("status --porcelain")), (before.0, String::new()));
    assert_eq!(
        user.git("for-each-ref --format='%(refname)' refs/heads"),
        format!("refs/heads/main\nrefs/heads/{into}")
    );
    let count =
        |wanted: fn(&Event) -> bool| told.events.iter().filter(|record| wanted(&record.event)).count();
    assert_eq!(count(|event| matches!(event, Event::RunStarted { .. })), 1);
    assert_eq!(count(|event| matches!(event, Event::RunFinished(_))), 1);
    assert_eq!(count(|event| matches!(event, Event::TaskCompleted { .. })), 5);
    let lanes: std::collections::BTreeSet<_> = told.events.iter().filter_map(|record| record.lane).collect();
    assert!(lanes.len() >= 2, "{lanes:?}");
    let iterations = begun(&told);
    assert_eq!((iterations.len(), told.report.iterations), (5, 5));
    assert_eq!(iterations.iter().collect::<std::collections::BTreeSet<_>>().len(), 5, "{iterations:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_have_lanes_is_refused_before_anything_starts() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let refused = async |change: fn(&mut MethodologySettings)| {
        let run = lanes(&user, &project, 2, makes_a_file(), &[]).settings(change);
        let error = match run.build() {
            Ok(run) => run.start().await.unwrap_err(),
            Err(error) => error,
        };
        format!("{}: {error}", error.code().name)
    };
    assert!(refused(|settings| settings.parallel.jobs = 65).await.contains("64"));
    let missing = refused(|settings| settings.parallel.into = "nowhere".to_owned()).await;
    assert_eq!(missing, "E_LANES_INVALID: work cannot land on nowhere: there is no such branch");
    user.git("tag v1");
    let tag = refused(|settings| settings.parallel.into = "v1".to_owned()).await;
    assert_eq!(tag, "E_LANES_INVALID: work cannot land on v1: it is a tag, which does not move");
    let copied = refused(|settings| settings.parallel.copy = vec!["../x".to_owned()]).await;
    assert!(copied.starts_with("E_LANES_INVALID: ../x cannot be copied"), "{copied}");
    let alone = refused(|settings| {
        (settings.parallel.jobs, settings.parallel.into) = (1, "main".to_owned());
    });
    assert!(alone.await.starts_with("E_LANES_INVALID: a branch to land on, main,"));
    assert_eq!(plan(&project).claims, []);
}

/// Returns how often something was told.
pub(crate) fn count(told: &Told, wanted: impl Fn(&Event) -> bool) -> usize {
    told.events.iter().filter(|record| wanted(&record.event)).count()
}

// Takes about 7 s: three tasks with three workers, one of which is done twice.
#[tokio::test(flavor = "multi_thread")]
async fn work_in_conflict_goes_back_alone_and_its_next_agent_is_told_the_files_and_where_the_work_is() {
    let user = User::new();
    user.write("shared.txt", "start\n");
    user.git("add -A");
    user.git("commit -qm Shared");
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    // Both change the same line before either has landed; the prompt of a second attempt is kept.
    let work = "cat > ~/prompt-$SAMUEL_TASK_ID-$SAMUEL_ITERATION; touch ~/at-$SAMUEL_TASK_ID; \
                while ! { test -e ~/at-1 && test -e ~/at-2 && test -e ~/at-3; }; do sleep 0.02; done; \
                case $SAMUEL_TASK_ID in 1|2) echo $SAMUEL_TASK_ID >> shared.txt;; *) echo x > other.txt;; esac";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(lanes(&user, &project, 3, script, &["true"])).await.unwrap();
    all_landed(&user, &project, &told);
    let returned = |event: &Event| match event {
        Event::TaskReturned { reason, kept, .. } => {
            assert_eq!(reason, "it is in conflict in shared.txt");
            user.git(&format!("rev-parse --verify {}", kept.as_ref().unwrap()));
            true
        }
        _ => false,
    };
    assert_eq!(count(&told, returned), 1, "{}", told.text());
    let into = told.report.into.clone().unwrap();
    let lines = user.git(&format!("show {into}:shared.txt"));
    assert!(["start\n1\n2", "start\n2\n1"].contains(&lines.as_str()), "{lines}");
    let log = user.tree().join(".samuel/run/logs");
    let prompts = user.sh(&log, "cat */*.prompt");
    assert!(prompts.contains("did not land: it is in conflict in shared.txt"), "{prompts}");
}

// Takes about 20 s: up to 24 iterations with a merge each. With 1 to 3 workers by `SAMUEL_LONG=1`.
#[tokio::test(flavor = "multi_thread")]
async fn twelve_appends_to_one_file_are_all_merged() {
    let fewest = if std::env::var_os("SAMUEL_LONG").is_some() { 1 } else { 4 };
    let ids: Vec<String> = (1..=12).map(|id| id.to_string()).collect();
    let tasks: Vec<(&str, &[&str])> = ids.iter().map(|id| (id.as_str(), &[][..])).collect();
    for jobs in fewest..=4 {
        let user = User::new();
        user.write("shared.txt", "start\n");
        user.git("add -A");
        user.git("commit -qm Shared");
        let project = project(&user, &tasks);
        let work = "echo $SAMUEL_TASK_ID >> shared.txt";
        let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
        let run = lanes(&user, &project, jobs, script, &["true"]);
        let told = played(
            run.settings(|settings: &mut MethodologySettings| settings.max_iterations = NonZero::new(24)),
        )
        .await;
        let told = told.unwrap();
        let plan = project.plan_store().load().unwrap().plan;
        assert!(
            plan.tasks.iter().all(|task| task.status == Status::Completed),
            "{jobs} workers: {}",
            told.text()
        );
        let shared = match &told.report.into {
            Some(into) => user.git(&format!("show {into}:shared.txt")),
            None => user.sh(&user.tree(), "cat shared.txt"),
        };
        assert_eq!(shared.lines().count(), 13, "{jobs} workers: {shared}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_work_that_passes_alone_and_fails_together_one_goes_back_and_the_innocent_land() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    let work = "touch ~/at-$SAMUEL_TASK_ID; \
                while ! { test -e ~/at-1 && test -e ~/at-2 && test -e ~/at-3; }; do sleep 0.02; done; \
                test $SAMUEL_TASK_ID = 3 || ! { test -e made-1 || test -e made-2; } || touch both; \
                touch made-$SAMUEL_TASK_ID";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let check = "! test -e made-1 || ! test -e made-2 || test -e both";
    let told = played(lanes(&user, &project, 3, script, &[check])).await.unwrap();
    all_landed(&user, &project, &told);
    let is_back = |event: &Event| matches!(event, Event::TaskReturned { reason, .. } if reason.contains("the checks failed with it"));
    assert_eq!(count(&told, is_back), 1, "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_attempts_are_used_up_is_blocked_and_the_others_are_done() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let script =
        Script::default().call(ScriptedCall::any().repeated().run("touch made-$SAMUEL_TASK_ID").done());
    let told = played(lanes(&user, &project, 2, script, &["! test -e made-1"])).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::Blocked, "{}", told.text());
    let status = |id: &str| plan(&project).task(&TaskId::new(id)).unwrap().status;
    assert_eq!((status("1"), status("2")), (Status::Blocked, Status::Completed), "{}", told.text());
    assert_eq!(told.report.completed, [TaskId::new("2")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_declare_the_same_file_are_worked_on_one_after_the_other_and_say_why() {
    let user = User::new();
    let project = opened(&user);
    let task = |id: &str| Task {
        files_to_modify: vec!["a.txt".to_owned()],
        ..Task::new(TaskId::new(id), format!("Do {id}"))
    };
    let tasks = ["1", "2", "3"].map(task).to_vec();
    project.plan_store().import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    let work = "mkdir ~/alone && echo $SAMUEL_TASK_ID >> a.txt && rmdir ~/alone";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(lanes(&user, &project, 3, script, &["true"])).await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!(count(&told, |event| matches!(event, Event::TaskReturned { .. })), 0, "{}", told.text());
    let waits = |event: &Event| matches!(event, Event::Waiting { reason, .. } if reason.contains("which declares a.txt too"));
    assert!(count(&told, waits) > 0, "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_skipped_has_its_agent_stopped_and_its_branch_kept() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let work = "if test $SAMUEL_TASK_ID = 1; then echo x > half; git add half; git commit -qm Half; touch ~/at; \
                while :; do sleep 0.05; done; fi; while ! test -e ~/at; do sleep 0.02; done; touch made";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let (branch, report) = skipped_at_work(lanes(&user, &project, 2, script, &[]), &project).await;
    assert_eq!((report.exit_reason, report.completed), (ExitReason::Completed, vec![TaskId::new("2")]));
    assert_eq!(user.git(&format!("show {branch}:half")), "x");
}

/// Plays a run of which task 1 is skipped once another one has landed; returns the branch of that task, and the report.
pub(crate) async fn skipped_at_work(run: RunBuilder, project: &Project) -> (String, RunReport) {
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let mut branch = None;
    while let Some(record) = events.next().await {
        match record.event {
            Event::TaskClaimed { task, branch: of, .. } if task.as_str() == "1" => branch = Some(of),
            Event::TaskLanded { .. } => {
                let skip = Mutation::Skip { id: TaskId::new("1"), reason: None };
                project.plan_store().mutate(skip, Actor::User).unwrap();
            }
            _ => {}
        }
    }
    (branch.unwrap(), handle.wait().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_landing_on_the_checked_out_branch_waits_while_the_users_changes_are_in_the_way() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    user.write("a.txt", "mine\n");
    let script = Script::default()
        .call(ScriptedCall::any().repeated().run("echo theirs > a.txt; echo b > b.txt").done());
    let run = lanes(&user, &project, 2, script, &["true"]).into("main");
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let mut held = None;
    while let Some(record) = events.next().await {
        if let Event::LandingHeld { reason, .. } = record.event {
            assert_eq!(user.read("a.txt").unwrap(), "mine\n");
            held = Some(reason);
            user.git("checkout -q a.txt");
        }
    }
    assert!(held.unwrap().contains("a.txt"));
    assert_eq!(handle.wait().await.unwrap().exit_reason, ExitReason::Completed);
    assert_eq!((user.read("a.txt").unwrap(), user.read("b.txt").unwrap()), ("theirs\n".into(), "b\n".into()));
}

// Takes about 7 s: two runs with two workers, the first of which is stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_keeps_its_work_and_the_next_one_goes_on_with_the_branch() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let work = "if test $SAMUEL_TASK_ID = 1 && ! test -e ~/again; then echo x > half; touch ~/at; \
                while :; do sleep 0.05; done; fi; touch made-$SAMUEL_TASK_ID";
    let script = || Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let mut handle = lanes(&user, &project, 2, script(), &["true"]).build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let mut landed = false;
    while let Some(record) = events.next().await {
        landed |= matches!(record.event, Event::TaskLanded { .. });
        if landed && user.home().join("at").exists() {
            handle.stop();
        }
        if landed && !user.home().join("at").exists() {
            tokio::task::yield_now().await;
        }
    }
    let report = handle.wait().await.unwrap();
    assert_eq!(report.exit_reason, ExitReason::Cancelled);
    let claim = plan(&project).claims.first().cloned().unwrap();
    let kept = claim.branch.unwrap();
    assert_eq!(user.git(&format!("show {kept}:half")), "x", "what was left uncommitted is kept");
    std::fs::write(user.home().join("again"), "").unwrap();
    let told = played(lanes(&user, &project, 2, script(), &["true"])).await.unwrap();
    assert_eq!(told.report.into, report.into, "it goes on with the branch");
    all_landed(&user, &project, &told);
}

/// What an agent does that leaves its branch for none.
const DETACHED: &str =
    "git checkout -q --detach; echo x > made-$SAMUEL_TASK_ID; git add -A; git commit -qm Made";

#[tokio::test(flavor = "multi_thread")]
async fn work_that_an_agent_committed_on_no_branch_is_submitted_on_its_own() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let script = Script::default().call(ScriptedCall::any().repeated().run(DETACHED).done());
    let run = lanes(&user, &project, 2, script, &["true"])
        .settings(|settings: &mut MethodologySettings| settings.parallel.merge = "squash".to_owned());
    let told = played(run).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
    let mut submitted = 0;
    for record in &told.events {
        if let Event::TaskSubmitted { branch, commit, .. } = &record.event {
            submitted += 1;
            // The branch went once the plan was done, and the object is there as long as nobody collects it.
            assert!(branch.starts_with("samuel/"), "{branch}");
            assert_eq!(user.git(&format!("ls-tree --name-only {commit}")).matches("made-").count(), 1);
        }
    }
    assert_eq!(submitted, 2, "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_all_that_is_ready_overlaps_held_work_the_run_ends_as_blocked_and_calls_no_agent() {
    let user = User::new();
    let project = opened(&user);
    let task = |id: &str| Task {
        files_to_modify: vec!["a.txt".to_owned()],
        ..Task::new(TaskId::new(id), format!("Do {id}"))
    };
    let tasks = ["1", "2"].map(task).to_vec();
    let store = project.plan_store();
    store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    let task = TaskId::new("1");
    let claim = Mutation::Claim { task: task.clone().into(), worker: "r/lane-1".to_owned() };
    let token = store.mutate(claim, Actor::Runtime).unwrap().revision;
    let (branch, commit, base) = ("main".to_owned(), user.head(), user.head());
    let submit =
        Mutation::Submit { task: task.clone(), token, branch, commit, base, tree: None, iteration: None };
    store.mutate(submit, Actor::Runtime).unwrap();
    store.mutate(Mutation::Hold { task, token, reason: None }, Actor::User).unwrap();
    let told = played(lanes(&user, &project, 2, makes_a_file(), &["true"])).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::Blocked, "{}", told.text());
    assert_eq!(told.report.iterations, 0, "{}", told.text());
    let why = told.text();
    assert!(why.contains("2 waits for 1 to land, which declares a.txt too"), "{why}");
    assert!(why.contains("1 was submitted and is held"), "{why}");
    assert_eq!(plan(&project).task(&TaskId::new("2")).unwrap().status, Status::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_landing_of_which_the_future_is_dropped_ends_before_it_lets_go_of_the_project() {
    let user = User::new();
    let project = project(&user, &[("1", &[])]);
    let base = user.head();
    user.sh(
        &user.tree(),
        "git switch -q -c work; echo x > made; git add made; git commit -qm Made; git switch -q main",
    );
    let (task, commit) = (TaskId::new("1"), user.git("rev-parse work"));
    let claim = Mutation::Claim { task: task.clone().into(), worker: "r/lane-1".to_owned() };
    let token = project.plan_store().mutate(claim, Actor::Runtime).unwrap().revision;
    let submit = Mutation::Submit {
        task,
        token,
        branch: "work".to_owned(),
        commit,
        base,
        tree: None,
        iteration: None,
    };
    project.plan_store().mutate(submit, Actor::Runtime).unwrap();
    let check = "touch ~/at; while ! test -e ~/go; do sleep 0.05; done";
    let run = || lanes(&user, &project, 2, Script::default(), &[check]).build_to_land().unwrap();
    let at = user.home().join("at");
    tokio::select! {
        report = run().land(|_| {}, std::future::pending()) => panic!("{report:?}"),
        () = until("the check runs", || at.exists()) => {}
    }
    until("the project is free", || project.lane_store().loop_holder().unwrap().is_none()).await;
    assert_eq!(plan(&project).claim(&Role::Merge.into()), None, "who had the role is gone");
    std::fs::write(user.home().join("go"), "").unwrap();
    let report = run().land(|_| {}, std::future::pending()).await.unwrap();
    assert_eq!((report.landed.len(), report.fault), (1, None));
}
