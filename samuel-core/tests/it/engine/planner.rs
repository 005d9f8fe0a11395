//! What is next has one answer: where a project stands, the preview and the run agree.

use std::{fs, path::Path};

use proptest::{prelude::*, test_runner::TestCaseError};
use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    engine::Glance,
    event::Event,
    model::{ExitReason, Plan, Priority, Status, Task, TaskId},
    project::NextStep,
    testing::Bench,
};

/// What is done to one row of the file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    /// It cannot be read.
    Garbled,
    /// It is not there.
    Gone,
}

/// A row of a plan: status, priority, on which rows it depends, and its damage.
/// Numbers past the last row are tasks that do not exist.
type Row = (Status, Priority, Vec<usize>, Damage);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let status = prop_oneof![
        3 => Just(Status::Pending),
        6 => Just(Status::Completed),
        2 => Just(Status::Skipped),
        1 => Just(Status::Blocked),
        1 => Just(Status::InProgress),
    ];
    let priority = prop::sample::select(vec![Priority::Critical, Priority::Medium, Priority::Low]);
    let depends_on = prop::collection::vec(1_usize..7, 0..2);
    let damage = prop_oneof![5 => Just(Damage::None), 1 => Just(Damage::Garbled), 1 => Just(Damage::Gone)];
    prop::collection::vec((status, priority, depends_on, damage), 0..6)
}

fn bench(rows: &[Row]) -> Bench {
    let id = |number: usize| TaskId::new(number.to_string());
    let task = |(number, (status, priority, depends_on, _)): (usize, &Row)| Task {
        status: *status,
        priority: *priority,
        depends_on: depends_on.iter().map(|number| id(*number)).collect(),
        ..Task::new(id(number), format!("task {number}"))
    };
    let tasks = (1..).zip(rows).map(task).collect();
    let bench = Bench::builder().plan(Plan { tasks, ..Plan::default() }).on_disk().build().unwrap();
    damage(&bench.path().join(".samuel/run/prd.toon"), rows);
    bench
}

fn damage(file: &Path, rows: &[Row]) {
    let text = fs::read_to_string(file).unwrap();
    let damaged = |line: &str| {
        let row = (1..).zip(rows).find(|(number, _)| line.starts_with(&format!("  \"{number}\",")));
        match row.map(|(_, (.., damage))| *damage) {
            Some(Damage::Garbled) => Some("  ,,\"\n".to_owned()),
            Some(Damage::Gone) => None,
            Some(Damage::None) | None => Some(format!("{line}\n")),
        }
    };
    fs::write(file, text.lines().filter_map(damaged).collect::<String>()).unwrap();
}

/// What is next: a task, or the reason why there is none.
type Answer = Result<String, ExitReason>;

fn of_status(bench: &Bench) -> Answer {
    match bench.project().status().unwrap().next {
        NextStep::Task { task } => Ok(task.id.to_string()),
        NextStep::Discovery => unreachable!("pilot mode is off"),
        NextStep::AllDone => Err(ExitReason::Completed),
        NextStep::UnderWay { .. } => unreachable!("nobody is at work"),
        NextStep::Blocked { reasons } => {
            assert!(!reasons.is_empty(), "nothing says why");
            Err(ExitReason::Blocked)
        }
    }
}

async fn of_preview(bench: &Bench, glance: Glance) -> Answer {
    let preview = bench.run(Script::default()).build().unwrap().preview(glance).await.unwrap();
    assert_eq!(preview.prompt.is_none(), preview.stop.is_some());
    match (preview.stop, preview.task) {
        (Some(stop), _) => Err(stop.reason),
        (None, task) => Ok(task.unwrap().id),
    }
}

async fn of_run(bench: &Bench) -> Answer {
    let nothing = Script::default().call(ScriptedCall::any().repeated().step(Step::Exit { code: 1 }));
    let run = bench.run(nothing).settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let played = bench.play(run).await.unwrap();
    let first = played.events.iter().find_map(|record| match &record.event {
        Event::IterationStarted { task, .. } => task.clone(),
        _ => None,
    });
    first.map(|task| task.id).ok_or(played.report.exit_reason)
}

#[test]
fn status_preview_and_run_agree_on_what_is_next_of_any_plan() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: if std::env::var_os("SAMUEL_LONG").is_some() { 40 } else { 24 },
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let agree = |rows: Vec<Row>| {
        let bench = bench(&rows);
        let before = fs::read_to_string(bench.path().join(".samuel/run/prd.toon")).unwrap();
        let (status, exact, still) = runtime.block_on(async {
            let (exact, still) = (Glance::Exact, Glance::Still);
            (of_status(&bench), of_preview(&bench, exact).await, of_preview(&bench, still).await)
        });
        prop_assert_eq!(&before, &fs::read_to_string(bench.path().join(".samuel/run/prd.toon")).unwrap());
        let loaded = bench.store().load().unwrap();
        let run = runtime.block_on(of_run(&bench));
        prop_assert_eq!(&status, &run, "status and run: {:?}", loaded);
        prop_assert_eq!(&exact, &run, "preview and run: {:?}", loaded);
        prop_assert_eq!(&still, &run, "dry run and run: {:?}", loaded);
        Ok::<_, TestCaseError>(())
    };
    runner.run(&rows(), agree).unwrap();
}
