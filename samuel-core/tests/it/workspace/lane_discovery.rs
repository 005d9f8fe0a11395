//! Lanes that look for tasks: one at a time, while the others go on.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::MethodologySettings,
    engine::RunBuilder,
    event::{Event, PlanChange, RunReport},
    model::{
        Complexity, ExitReason, IterationOutcome, Priority, ReleaseReason, Role, Source, Status,
        payload::Mode,
    },
    project::Project,
    state::{Actor, Mutation},
};

use crate::{
    process_support::{plays, role_args},
    workspace::{
        kit::User,
        lanes::{count, lanes, plan, project, replays_whole},
        runs::{Told, opened, played},
    },
};

/// Where the user of the loop that is killed is, and in which kind of place its lanes work.
const HOME: &str = "SAMUEL_TEST_HOME";

/// Adds a task.
fn adds(title: &str) -> Step {
    Step::Enqueue {
        title: title.to_owned(),
        priority: Priority::default(),
        complexity: Complexity::default(),
        source: Source::PilotDiscovery,
    }
}

/// An agent that makes a file for each of these tasks; what it does without a task is to be added.
fn works_on(ids: &[&str]) -> Script {
    let work = "echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt; touch ~/at-$SAMUEL_TASK_ID";
    ids.iter().fold(Script::default(), |script, id| {
        script.call(ScriptedCall::for_task(*id).repeated().run(work).done())
    })
}

/// The same, which finds nothing from then on.
fn finds_nothing(script: Script) -> Script {
    script.call(ScriptedCall::any().repeated().say("There is nothing left to do."))
}

fn looking(user: &User, project: &Project, jobs: u32, script: Script, checks: &[&str]) -> RunBuilder {
    lanes(user, project, jobs, script, checks).settings(|settings: &mut MethodologySettings| {
        settings.pilot.enabled = true;
        settings.pilot.discover_interval = 100;
    })
}

/// Waits until a shell condition holds, for a minute at most.
fn waits_until(condition: &str) -> String {
    format!("n=0; until {condition}; do n=$((n+1)); test $n -lt 3000 || exit 1; sleep 0.02; done")
}

/// Returns the discovery iterations that began, each with its lane and how it ended. Never were two under way.
fn looked(told: &Told) -> Vec<(u32, Option<IterationOutcome>)> {
    let (mut looked, mut under_way) = (Vec::new(), None);
    for record in &told.events {
        match &record.event {
            Event::IterationStarted { iteration, mode: Mode::Discovery, task } => {
                assert_eq!((under_way, task), (None, &None), "{}", told.text());
                under_way = Some(*iteration);
                looked.push((record.lane.unwrap(), None));
            }
            Event::IterationFinished { iteration, outcome, .. } if under_way == Some(*iteration) => {
                under_way = None;
                looked.last_mut().unwrap().1 = Some(*outcome);
            }
            _ => {}
        }
    }
    looked
}

/// Checks that nothing is left of the run in the plan, and that it replays.
fn ended(project: &Project, told: &Told, reason: ExitReason) {
    assert_eq!(told.report.exit_reason, reason, "{}", told.text());
    let plan = plan(project);
    assert_eq!((plan.claims, plan.progress.discovery_room), (Vec::new(), None), "{}", told.text());
    replays_whole(project, told);
}

/// Returns the lanes in which tasks were told to be added.
fn added(told: &Told) -> Vec<(String, Option<u32>)> {
    let added = told.events.iter().filter_map(|record| match &record.event {
        Event::PlanChanged { change: PlanChange::Added, task, .. } => Some((task.to_string(), record.lane)),
        _ => None,
    });
    added.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_one_lane_looks_the_others_do_what_it_finds_and_two_looks_in_vain_end_the_run() {
    let user = User::new();
    let project = project(&user, &[]);
    // It goes on looking until others have done two of the tasks that it found.
    let found = ScriptedCall::for_iteration(1)
        .step(adds("First"))
        .step(adds("Second"))
        .run(waits_until("test -e ~/at-1 && test -e ~/at-2"))
        .step(adds("Third"));
    let script = finds_nothing(works_on(&["1", "2", "3"]).call(found));
    let told = played(looking(&user, &project, 3, script, &["true"])).await.unwrap();
    ended(&project, &told, ExitReason::EmptyDiscovery);
    let looked = looked(&told);
    assert_eq!(looked.len(), 3, "{}", told.text());
    assert!(looked.iter().all(|(_, outcome)| *outcome == Some(IterationOutcome::Succeeded)));
    // Whoever looks is told what was added, and nobody else.
    let by = Some(looked[0].0);
    let of_first = ["1", "2", "3"].map(|id| (id.to_owned(), by));
    assert_eq!(added(&told), of_first, "{}", told.text());
    let (plan, into) = (plan(&project), told.report.into.clone().unwrap());
    for task in &plan.tasks {
        assert_eq!((task.status, task.source), (Status::Completed, Source::PilotDiscovery));
        user.git(&format!("cat-file -e {into}:made-{}.txt", task.id));
    }
    assert_eq!((plan.tasks.len(), plan.progress.discovery_iterations), (3, 3));
    assert_eq!((told.report.iterations, plan.progress.total_iterations_run), (6, 6));
    assert_eq!(user.git("for-each-ref refs/samuel/rescue refs/samuel/kept"), "");
    assert_eq!(
        user.git("for-each-ref --format='%(refname)' refs/heads"),
        format!("refs/heads/main\nrefs/heads/{into}")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_only_looks_has_one_lane_look_and_takes_no_task() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let script = finds_nothing(Script::default().call(ScriptedCall::for_iteration(1).step(adds("Third"))));
    let run = lanes(&user, &project, 3, script, &["true"]).discover_only();
    let told = played(run).await.unwrap();
    ended(&project, &told, ExitReason::EmptyDiscovery);
    assert_eq!(looked(&told).len(), 3, "{}", told.text());
    assert_eq!(count(&told, |event| matches!(event, Event::TaskClaimed { .. })), 0);
    let plan = plan(&project);
    assert_eq!(plan.count(Status::Pending), 3);
    assert_eq!((plan.progress.discovery_iterations, plan.progress.impl_iterations), (3, 0));
}

// Takes about 7 s: eight tasks and three discoveries with two workers.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_by_the_interval_is_made_by_one_lane_and_the_plan_is_done_beside_it() {
    let user = User::new();
    let ids = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let project = project(&user, &ids.map(|id| (id, &[] as &[&str])));
    let script = finds_nothing(works_on(&ids));
    let run = looking(&user, &project, 2, script, &[])
        .settings(|settings: &mut MethodologySettings| settings.pilot.discover_interval = 3);
    let told = played(run).await.unwrap();
    ended(&project, &told, ExitReason::EmptyDiscovery);
    assert_eq!(plan(&project).count(Status::Completed), 8);
    // The first one, and the two at the end at least.
    assert!(looked(&told).len() >= 3, "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_added_than_one_look_may_also_where_another_lane_ends_an_iteration_meanwhile() {
    let user = User::new();
    let project = project(&user, &[]);
    let journal = user.tree().join(".samuel/run/journal.jsonl");
    let is_committed = format!("grep -q commit_iteration {}", journal.display());
    let found = ScriptedCall::for_iteration(1).step(adds("First")).run(waits_until(&is_committed));
    let found = found.step(adds("Second")).step(adds("Third")).step(adds("Fourth"));
    let script = finds_nothing(works_on(&["1", "2", "3", "4"]).call(found));
    let run = looking(&user, &project, 2, script, &[])
        .settings(|settings: &mut MethodologySettings| settings.pilot.max_discovery_tasks = 3);
    let told = played(run).await.unwrap();
    ended(&project, &told, ExitReason::EmptyDiscovery);
    let titles: Vec<String> = plan(&project).tasks.iter().map(|task| task.title.clone()).collect();
    assert_eq!(titles, ["First", "Second", "Third"], "{}", told.text());
    assert!(told.text().contains("Fourth"), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_changed_while_a_lane_looks_are_kept_and_told_and_never_land() {
    let user = User::new();
    let project = project(&user, &[]);
    let stray = "echo stray > stray.txt; echo committed > other.txt; git add other.txt; git commit -qm Other; \
                 echo changed >> a.txt";
    let found = ScriptedCall::for_iteration(1).step(adds("First")).run(stray);
    let script = finds_nothing(works_on(&["1"]).call(found));
    let told = played(looking(&user, &project, 2, script, &["true"])).await.unwrap();
    ended(&project, &told, ExitReason::EmptyDiscovery);
    let text = told.text();
    let kept: Vec<String> = told
        .events
        .iter()
        .filter_map(|record| match &record.event {
            Event::Warning { message } => Some(message.split_once("does not land, and is kept as ")?.1),
            _ => None,
        })
        .map(str::to_owned)
        .collect();
    let [kept] = &kept[..] else { panic!("{text}") };
    assert!(kept.contains("/@discover-"), "{kept}");
    assert_eq!(user.git(&format!("show {kept}:stray.txt")), "stray");
    assert_eq!(user.git(&format!("show {kept}:other.txt")), "committed");
    assert_eq!(user.git(&format!("show {kept}:a.txt")), "one\nchanged");
    let into = told.report.into.clone().unwrap();
    assert_eq!(
        user.git(&format!("ls-tree --name-only {into} -- stray.txt other.txt made-1.txt")),
        "made-1.txt"
    );
    assert_eq!(user.git(&format!("show {into}:a.txt")), "one");
    let progress = fs::read_to_string(user.tree().join(".samuel/run/progress.md")).unwrap();
    assert!(progress.contains(kept.as_str()), "{progress}");
}

#[tokio::test(flavor = "multi_thread")]
async fn looks_that_fail_are_none_in_vain_and_end_the_run_by_its_limit_of_failures() {
    let user = User::new();
    let project = project(&user, &[]);
    let script = Script::default().call(ScriptedCall::any().repeated().step(Step::Exit { code: 1 }));
    let run = looking(&user, &project, 2, script, &[])
        .settings(|settings: &mut MethodologySettings| settings.max_consecutive_failures = 2);
    let told = played(run).await.unwrap();
    ended(&project, &told, ExitReason::ConsecutiveFailures);
    // A row is as long in each lane as in a single loop.
    assert_eq!(looked(&told).len(), 4, "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_that_wait_for_somebody_else_who_looks_say_who_that_is() {
    let user = User::new();
    let project = project(&user, &[]);
    let (store, worker) = (project.plan_store(), "a-program".to_owned());
    let claimed = store.mutate(Mutation::Claim { task: Role::Discover.into(), worker }, Actor::User).unwrap();
    let run = looking(&user, &project, 2, finds_nothing(Script::default()), &[]);
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let waits = async {
        while let Some(record) = events.next().await {
            if let Event::Waiting { reason, .. } = record.event {
                return reason;
            }
        }
        panic!("the run ended");
    };
    let reason = tokio::time::timeout(Duration::from_secs(60), waits).await.expect("it is told");
    assert_eq!(reason, "a-program has claimed @discover, to look for tasks");
    let (task, token, reason) = (Role::Discover.into(), claimed.revision, ReleaseReason::Stopped);
    store.mutate(Mutation::Release { task, token, reason, kept: None }, Actor::User).unwrap();
    let report = handle.wait().await.unwrap();
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::EmptyDiscovery, 2));
}

/// What an agent does first that is killed while it looks: it changes a file, finds a task, and waits.
fn killed_while_looking(user: &User) -> Script {
    let wait = waits_until(&format!("test -e {}", user.home().join("go").display()));
    let found = ScriptedCall::for_iteration(1).run("echo stray > stray.txt").step(adds("First")).run(wait);
    finds_nothing(works_on(&["1", "2"]).call(found))
}

/// Not a test of its own: the loop that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn lane_discovery_entry() {
    if !plays("as-looking-lanes") {
        return;
    }
    let user = User::at(PathBuf::from(env::var_os(HOME).unwrap()));
    let run = looking(&user, &opened(&user), 2, killed_while_looking(&user), &[]);
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    while let Some(record) = events.next().await {
        if matches!(&record.event, Event::PlanChanged { change: PlanChange::Added, .. }) {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
            std::thread::park();
        }
    }
}

// Takes about 8 s: twice a run with lanes that is killed, and the one that follows.
#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_is_killed_while_it_looks_gives_its_role_to_the_next_and_loses_nothing() {
    for jobs in [2, 1] {
        let user = User::new();
        let project = project(&user, &[]);
        let output = Command::new(env::current_exe().unwrap())
            .args(role_args("workspace::lane_discovery::lane_discovery_entry", "as-looking-lanes"))
            .env(HOME, user.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
        let killed = plan(&project);
        assert!(killed.is_discovery_claimed() && killed.progress.discovery_room.is_some(), "{killed:?}");
        fs::write(user.home().join("go"), "").unwrap();
        let script = finds_nothing(works_on(&["1", "2"]));
        let told = played(looking(&user, &project, jobs, script, &[])).await.unwrap();
        let RunReport { exit_reason, .. } = told.report;
        assert_eq!(exit_reason, ExitReason::EmptyDiscovery, "{jobs}: {}", told.text());
        let now = plan(&project);
        assert_eq!((now.claims.len(), now.progress.discovery_room), (0, None), "{jobs}");
        assert_eq!(now.count(Status::Completed), now.tasks.len(), "{jobs}: {}", told.text());
        assert!(told.text().contains("was looking for tasks when Samuel ended"), "{jobs}: {}", told.text());
        let refs = user.git("for-each-ref --format='%(refname)' refs/samuel refs/heads/samuel");
        // Where it was not committed the branch has nothing.
        let has_it =
            |name: &&str| user.git(&format!("ls-tree --name-only {name} -- stray.txt")) == "stray.txt";
        let kept = refs.lines().filter(|name| name.contains("/@discover-")).find(has_it);
        assert!(kept.is_some(), "{jobs}: {refs}\n{}", told.text());
    }
}
