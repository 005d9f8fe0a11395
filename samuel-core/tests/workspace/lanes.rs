//! Runs with several lanes.

use std::time::Duration;

use samuel_core::{
    Coded as _,
    agent::{Script, ScriptedCall},
    config::{CheckCommand, MethodologySettings},
    engine::{Run, RunBuilder},
    event::Event,
    model::{ExitReason, Plan, Status, Task, TaskId},
    project::Project,
    state::{Actor, Existing},
    trust::TrustPolicy,
};

use crate::{
    kit::{PATH, User},
    process_support::supervisor,
    runs::{Told, opened, played},
};

/// Makes a project whose tasks have an id and what they depend on.
fn project(user: &User, tasks: &[(&str, &[&str])]) -> Project {
    let project = opened(user);
    let task = |(id, depends_on): &(&str, &[&str])| Task {
        depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
        ..Task::new(TaskId::new(*id), format!("Do {id}"))
    };
    let tasks = tasks.iter().map(task).collect();
    project.plan_store().import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    project
}

fn lanes(user: &User, project: &Project, jobs: u32, script: Script, checks: &[&str]) -> RunBuilder {
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
fn makes_a_file() -> Script {
    Script::default()
        .call(ScriptedCall::any().repeated().run("echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt").done())
}

fn plan(project: &Project) -> Plan {
    (*project.plan_store().load().unwrap().plan).clone()
}

/// Checks what holds of every run that completed its plan: each task landed once, before what depends on
/// it began, and nothing of it is lost.
fn all_landed(user: &User, project: &Project, told: &Told) {
    assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
    let (plan, into) = (plan(project), told.report.into.clone().unwrap());
    assert_eq!(plan.claims, [], "{}", told.text());
    let log = user.git(&format!("log --first-parent --format='%(trailers:key=Samuel-Task,valueonly)' {into}"));
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
        let begun = place(&|event| matches!(event, Event::TaskClaimed { task: claimed, .. } if *claimed == task.id));
        for other in &task.depends_on {
            let landed = place(&|event| matches!(event, Event::TaskLanded { task: done, .. } if done == other));
            assert!(landed.unwrap() < begun.unwrap(), "{} before {other}\n{}", task.id, told.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_work_at_once_and_what_they_make_lands_once_on_a_branch_of_the_run() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &["1", "2"]), ("4", &[]), ("5", &["3"])]);
    let before = (user.head(), user.git("status --porcelain"));
    // The first two wait for each other, each in a work tree of its own.
    let meet = "case $SAMUEL_TASK_ID in 1|2) touch ~/at-$SAMUEL_TASK_ID; \
                while ! { test -e ~/at-1 && test -e ~/at-2; }; do sleep 0.02; done;; esac; \
                test \"$PWD\" = \"$SAMUEL_WORKSPACE\"; test ! -e .samuel; \
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
    assert_eq!((user.head(), user.git("status --porcelain")), (before.0, "?? .samuel/".to_owned()));
    assert_eq!(user.git("for-each-ref --format='%(refname)' refs/heads"), format!("refs/heads/main\nrefs/heads/{into}"));
    let count = |wanted: fn(&Event) -> bool| told.events.iter().filter(|record| wanted(&record.event)).count();
    assert_eq!(count(|event| matches!(event, Event::RunStarted { .. })), 1);
    assert_eq!(count(|event| matches!(event, Event::RunFinished(_))), 1);
    assert_eq!(count(|event| matches!(event, Event::TaskCompleted { .. })), 5);
    let lanes: std::collections::BTreeSet<_> = told.events.iter().filter_map(|record| record.lane).collect();
    assert!(lanes.len() >= 2, "{lanes:?}");
    let iterations: Vec<u32> = told
        .events
        .iter()
        .filter_map(|record| match record.event {
            Event::IterationStarted { iteration, .. } => Some(iteration),
            _ => None,
        })
        .collect();
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
