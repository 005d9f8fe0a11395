//! What runs with several lanes tell of themselves, and what is read of it later.

use std::fs;

use samuel_core::{
    agent::{Script, ScriptedCall},
    event::{Event, EventRecord, PlanChange, RunReport},
    history::{History, WhyQuestion},
    hook::points,
    model::{ExitReason, Plan, Priority, Task, TaskId, payload},
    project::{AttemptEnd, Project},
    state::{Actor, Existing, Mutation, QueueOrder},
    testing::FakeHandler,
};

use crate::workspace::{
    kit::User,
    lanes::{lanes, project},
    runs::{opened, played},
};

fn id(of: &str) -> TaskId {
    TaskId::new(of)
}

/// A run with four lanes, and what it told.
struct Ran {
    user: User,
    project: Project,
    /// The commit that was checked out when it began.
    base: String,
    events: Vec<EventRecord>,
    report: RunReport,
    /// The branch that work landed on.
    into: String,
}

impl Ran {
    fn chosen<T>(&self, choose: impl Fn(&EventRecord) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(choose).collect()
    }

    /// Returns the last commits of the branch, the newest first.
    fn heads(&self, count: u32) -> Vec<String> {
        let told = self.user.git(&format!("log --first-parent --format=%H -{count} {}", self.into));
        told.lines().map(str::to_owned).collect()
    }
}

/// Makes a run in which the first task lands as it is. The second is checked by the queue until the third and the fourth,
/// which is critical, are submitted, so that these are merged together. The fifth a person says is done.
async fn ran() -> Ran {
    let user = User::new();
    let project = opened(&user);
    let store = project.plan_store();
    let mut tasks = ["1", "2", "3", "4", "5"].map(|of| Task::new(id(of), format!("Do {of}"))).to_vec();
    tasks[3].priority = Priority::Critical;
    store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    let notes = user.home().display().to_string();
    let work = format!(
        "case $SAMUEL_TASK_ID in 1) after=all;; 2) after=landed;; *) after=checked;; esac; \
         while ! test -e {notes}/$after; do sleep 0.02; done; echo made > made-$SAMUEL_TASK_ID.txt"
    );
    let check = format!(
        "case $PWD in */queue.clone/*) : > {notes}/checked; while ! test -e {notes}/go; do sleep 0.02; done;; esac"
    );
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let base = user.head();
    let mut run = lanes(&user, &project, 4, script, &[&check]).build().unwrap().start().await.unwrap();
    let (mut stream, mut events) = (run.events(), Vec::new());
    let (mut claimed, mut submitted) = (0, 0);
    while let Some(record) = stream.next().await {
        match &record.event {
            Event::TaskClaimed { .. } => claimed += 1,
            Event::TaskSubmitted { .. } => submitted += 1,
            Event::TaskLanded { .. } => fs::write(format!("{notes}/landed"), "").unwrap(),
            _ => {}
        }
        if claimed == 4 && !fs::exists(format!("{notes}/all")).unwrap() {
            let done = Mutation::Done { id: id("5"), commit_sha: None, iteration: None };
            opened(&user).plan_store().mutate(done, Actor::User).unwrap();
            fs::write(format!("{notes}/all"), "").unwrap();
        }
        if submitted == 4 {
            fs::write(format!("{notes}/go"), "").unwrap();
        }
        events.push(record);
    }
    let report = run.wait().await.unwrap();
    assert_eq!(report.exit_reason, ExitReason::Completed, "{report:?}");
    let into = report.into.clone().unwrap();
    Ran { user, project, base, events, report, into }
}

// Takes about 12 s: a run with four workers, and one with two.
#[tokio::test(flavor = "multi_thread")]
async fn records_of_workers_have_what_happened() {
    let ran = ran().await;
    landings_are_told_in_the_order_of_the_branch(&ran);
    what_a_person_says_is_done_is_told_and_counted(&ran);
    the_checks_of_the_queue_are_told_and_none_that_nobody_made(&ran);
    a_run_begins_at_the_branch_that_work_lands_on(&ran).await;
    a_merged_commit_stays_in_the_history_after_reset(&ran);
}

fn landings_are_told_in_the_order_of_the_branch(ran: &Ran) {
    let landed = ran.chosen(|record| match &record.event {
        Event::TaskLanded { task, .. } => Some(task.as_str().to_owned()),
        _ => None,
    });
    assert_eq!(landed, ["1", "2", "4", "3"]);
    let plan = ran.project.plan_store().load().unwrap().plan;
    let began = |task: &TaskId| {
        ran.chosen(|record| match &record.event {
            Event::IterationStarted { iteration, task: Some(of), .. } if of.id == task.as_str() => {
                Some(*iteration)
            }
            _ => None,
        })
    };
    for task in ["1", "2", "3", "4"].map(id) {
        let iteration = plan.task(&task).unwrap().iteration;
        assert_eq!(iteration, began(&task).last().copied(), "{task}: {iteration:?}");
    }
    let format = "--format='%(trailers:key=Samuel-Task,valueonly)'";
    let on_branch = ran.user.git(&format!("log --first-parent --reverse {format} {}", ran.into));
    let on_branch: Vec<&str> = on_branch.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(landed, on_branch);
    let page = History::of(&ran.project).report(&ran.events[0].run_id).unwrap();
    assert_eq!(page.run.last_commit, ran.heads(1).pop());
    let files: Vec<&str> = page.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["made-1.txt", "made-2.txt", "made-3.txt", "made-4.txt"]);
}

fn a_merged_commit_stays_in_the_history_after_reset(ran: &Ran) {
    let merged = ran.chosen(|record| match &record.event {
        Event::TaskLanded { task, commit, .. } if *task == id("1") => Some(commit.clone()),
        _ => None,
    });
    let store = ran.project.plan_store();
    for is_reset in [false, true] {
        if is_reset {
            store.mutate(Mutation::Reset { id: id("1") }, Actor::User).unwrap();
        }
        let history = History::of(&ran.project).task(&id("1")).unwrap();
        assert_eq!((history.commits, merged.len()), (merged.clone(), 1));
        let ends: Vec<_> = history.attempts.iter().map(|attempt| attempt.end).collect();
        assert_eq!(ends, [AttemptEnd::Completed]);
    }
}

fn what_a_person_says_is_done_is_told_and_counted(ran: &Ran) {
    let told = ran.chosen(|record| match &record.event {
        Event::TaskCompleted { task, provisional, .. } if *task == id("5") => {
            Some((record.lane, *provisional))
        }
        _ => None,
    });
    assert_eq!(told, [(None, true)], "the check of what is merged decides on it");
    assert_eq!(ran.report.completed.last(), Some(&id("5")));
}

fn the_checks_of_the_queue_are_told_and_none_that_nobody_made(ran: &Ran) {
    let checked = ran.chosen(|record| match &record.event {
        Event::QualityChecked { iteration, merged, commit, .. } if record.lane.is_none() => {
            let merged: Vec<String> = merged.iter().map(ToString::to_string).collect();
            Some((*iteration, merged.join(" "), commit.clone().unwrap()))
        }
        _ => None,
    });
    let heads = ran.heads(3);
    let queue = |tasks: &str, commit: &str| (0, tasks.to_owned(), commit.to_owned());
    assert_eq!(checked, [queue("2", &heads[2]), queue("4 3", &heads[0])]);
    // Each lane checks its task once, and the first one no more at the end.
    let of_lanes = ran.chosen(|record| {
        let is_check = matches!(record.event, Event::QualityChecked { .. });
        record.lane.filter(|_| is_check)
    });
    assert_eq!(of_lanes.len(), 4, "{of_lanes:?}");
    let why = History::of(&ran.project).why(&WhyQuestion::Check).unwrap().answer;
    assert_eq!(why, format!("checks passed for the merged work of 4, 3, at commit {}", heads[0]));
}

async fn a_run_begins_at_the_branch_that_work_lands_on(ran: &Ran) {
    let began_at = |events: &[EventRecord]| {
        let commit = |record: &EventRecord| match &record.event {
            Event::RunStarted { commit, .. } => commit.clone(),
            _ => None,
        };
        events.iter().find_map(commit)
    };
    assert_eq!(began_at(&ran.events), Some(ran.base.clone()));
    // Whatever is checked out in the project and the work trees of lanes.
    let head = ran.heads(1).pop();
    ran.project.plan_store().mutate(Mutation::Reset { id: id("5") }, Actor::User).unwrap();
    let script = Script::default().call(ScriptedCall::any().repeated().run("echo made > made-5.txt").done());
    let told = played(lanes(&ran.user, &ran.project, 2, script, &[])).await.unwrap();
    assert_eq!(told.report.into.as_ref(), Some(&ran.into));
    assert_eq!(began_at(&told.events), head);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_a_person_holds_back_is_told_with_who_and_why() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    let notes = user.home().display().to_string();
    let work = format!(
        "case $SAMUEL_TASK_ID in 2) after=landed;; 3) after=checked;; esac; \
         while test -n \"$after\" && ! test -e {notes}/$after; do sleep 0.02; done; echo made > made-$SAMUEL_TASK_ID.txt"
    );
    // The second one is checked by the queue until the third is held.
    let check = format!(
        "case $PWD in */queue.clone/*) : > {notes}/checked; while ! test -e {notes}/go; do sleep 0.02; done;; esac"
    );
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let mut run = lanes(&user, &project, 3, script, &[&check]).build().unwrap().start().await.unwrap();
    let (mut stream, mut told) = (run.events(), Vec::new());
    while let Some(record) = stream.next().await {
        match &record.event {
            Event::TaskLanded { task, .. } if *task == id("1") => {
                fs::write(format!("{notes}/landed"), "").unwrap();
            }
            Event::TaskSubmitted { task, .. } if *task == id("3") => {
                let store = opened(&user).plan_store();
                let order = QueueOrder::Hold { reason: Some("freeze".to_owned()) };
                let hold = Mutation::of_queue(&store.load().unwrap().plan, &id("3"), order).unwrap();
                store.mutate(hold, Actor::User).unwrap();
                fs::write(format!("{notes}/go"), "").unwrap();
            }
            Event::PlanChanged { change, task, reason, actor, .. } => {
                told.push((record.lane, *change, task.clone(), reason.clone(), *actor));
            }
            _ => {}
        }
    }
    let report = run.wait().await.unwrap();
    assert_eq!(report.exit_reason, ExitReason::Blocked, "{report:?}");
    let (reason, actor) = (Some("freeze".to_owned()), payload::Actor::User);
    let told: Vec<_> =
        told.into_iter().map(|(_, change, task, reason, by)| (change, task, reason, by)).collect();
    assert_eq!(told, [(PlanChange::Held, id("3"), reason, actor)]);
    let line = "task 3 is held back in the queue by user: freeze";
    for question in [WhyQuestion::Run(None), WhyQuestion::Task(id("3"))] {
        let why = History::of(&project).why(&question).unwrap();
        assert!(why.reasons.iter().any(|reason| reason.text == line), "{why:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_that_a_gate_keeps_from_beginning_is_not_counted() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    let script = Script::default().call(ScriptedCall::any().repeated().done());
    let gate = FakeHandler::<points::IterationGate>::refuses("not now");
    let told = played(lanes(&user, &project, 3, script, &[]).hook("gate", gate)).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::GateStop, "{}", told.text());
    let begun = told.events.iter().filter(|record| matches!(record.event, Event::IterationStarted { .. }));
    assert_eq!((begun.count(), told.report.iterations), (0, 0));
}
