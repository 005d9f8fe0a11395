//! Samuel is killed at any moment while several lanes work, and started again until the plan is done.
//!
//! The loop runs in a process of its own, this test binary in another role, which ends itself by SIGKILL
//! when it has told so many events: no time decides where that is. The campaign over the program itself is
//! `cli/tests/suite/lane_campaign/`.

use std::{
    collections::BTreeSet,
    env, fs,
    ops::RangeInclusive,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use samuel_core::{
    config::{CheckCommand, MethodologySettings},
    engine::Run,
    event::RunReport,
    history::History,
    model::{ExitReason, Plan, Status, Task, TaskId},
    state::{Actor, Existing},
    testing::ScriptedLanes,
    trust::TrustPolicy,
};

use crate::{
    process_support::{plays, role_args, supervisor},
    workspace::{
        kit::{PATH, User},
        runs::opened,
    },
};

/// How many tasks a plan has, and how often it is killed; in the long form.
const TASKS: u64 = 6;
const KILLS: u64 = 2;
const ALL_TASKS: u64 = 8;
const ALL_KILLS: u64 = 3;
/// The plans of the long form.
const PLANS: RangeInclusive<u64> = 1..=2;
/// In how many lanes.
const LANES: u32 = 4;
/// After how many events the process ends.
const AFTER: &str = "SAMUEL_TEST_AFTER";
const HOME: &str = "SAMUEL_TEST_HOME";

fn is_long() -> bool {
    env::var_os("SAMUEL_LONG").is_some()
}

/// Returns how many tasks a plan has, and how often it is killed.
fn size() -> (u64, u64) {
    if is_long() { (ALL_TASKS, ALL_KILLS) } else { (TASKS, KILLS) }
}

/// Returns the plans that are played: by default one, which is killed behind a landing, and with `SAMUEL_LONG=1` all.
fn plans(one: u64) -> RangeInclusive<u64> {
    if is_long() { PLANS } else { one..=one }
}

/// What the agents do: some are in conflict, some pass alone and not together, some break a check or commit nothing.
fn agents(user: &User) -> ScriptedLanes {
    let notes = user.path().join("notes");
    (1..=size().0).fold(ScriptedLanes::noting_in(notes).unwrap(), |lanes, number| {
        let (id, before) = (number.to_string(), number.saturating_sub(2).to_string());
        let lanes = match number % 4 {
            _ if number < 3 => lanes,
            0 => lanes.conflicting(&before, &id),
            1 => lanes.clashing(&before, &id),
            _ => lanes,
        };
        let lanes = if number % 5 == 3 { lanes.breaking(&id, 1) } else { lanes };
        if number % 3 == 0 { lanes.forgetting(&id) } else { lanes }
    })
}

/// Not a test of its own: the loop that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn lanes_entry() {
    if !plays("as-lanes") {
        return;
    }
    let user = User::at(PathBuf::from(env::var_os(HOME).unwrap()));
    let after: usize = env::var(AFTER).unwrap().parse().unwrap();
    let script = agents(&user).script();
    let run = Run::builder(opened(&user))
        .script(script)
        .supervisor(supervisor())
        .trust(TrustPolicy::TrustAll)
        .env([("PATH".to_owned(), PATH.to_owned()), ("HOME".to_owned(), user.home().display().to_string())])
        .settings(|settings: &mut MethodologySettings| {
            settings.pause = Duration::ZERO;
            settings.quality_checks = vec![CheckCommand::new(ScriptedLanes::CHECK)];
            settings.parallel.jobs = LANES;
            settings.max_iterations = None;
            settings.task_budget.max_attempts = None;
        });
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let mut seen = 0;
    while events.next().await.is_some() {
        seen += 1;
        if seen == after {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
            std::thread::park();
        }
    }
    let report = handle.wait().await.unwrap();
    fs::write(user.home().join("report"), serde_json::to_string(&report).unwrap()).unwrap();
}

/// Says whether the work of a task has landed.
fn has_landed(user: &User) -> bool {
    let plan = opened(user).plan_store().load().unwrap().plan;
    plan.tasks.iter().any(|task| task.status == Status::Completed)
}

/// Starts the loop; returns its report, unless it was killed.
fn start(user: &User, after: usize) -> Option<RunReport> {
    let output = Command::new(env::current_exe().unwrap())
        .args(role_args("workspace::lanes_killed::lanes_entry", "as-lanes"))
        .env(HOME, user.path())
        .env(AFTER, after.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        None => None,
        Some(0) => {
            Some(serde_json::from_str(&fs::read_to_string(user.home().join("report")).unwrap()).unwrap())
        }
        Some(code) => panic!("{code}: {text}"),
    }
}

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Returns the numbers of the iterations that were told to begin.
fn begun(user: &User) -> Vec<u32> {
    let history = History::of(&opened(user));
    let runs = history.runs().unwrap().runs;
    let begun =
        runs.iter().rev().flat_map(|run| history.run(&run.run).map(|run| run.iterations).unwrap_or_default());
    begun.filter(|it| it.began_here()).map(|it| it.iteration).collect()
}

/// Returns how many iterations there are where it is said where the project stands.
fn in_status(user: &User) -> usize {
    usize::try_from(opened(user).status().unwrap().progress.total_iterations_run).unwrap()
}

/// Plays one plan to its end, killed so often, and checks what must hold.
fn play(seed: u64) {
    let (tasks_of_plan, kills) = size();
    let mut numbers = Numbers(seed);
    let user = User::new();
    let plan = |numbers: &mut Numbers| {
        let task = |n: u64| {
            let mut depends_on = BTreeSet::new();
            for _ in 0..numbers.below(3) {
                if n > 1 {
                    depends_on.insert(1 + numbers.below(n - 1));
                }
            }
            Task {
                depends_on: depends_on.into_iter().map(|n| TaskId::new(n.to_string())).collect(),
                ..Task::new(TaskId::new(n.to_string()), format!("Task {n}"))
            }
        };
        (1..=tasks_of_plan).map(task).collect::<Vec<_>>()
    };
    let tasks = plan(&mut numbers);
    opened(&user)
        .plan_store()
        .import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse)
        .unwrap();
    let (mut report, mut starts, mut killed, mut had_landed) = (None, 0, 0, false);
    // What has not landed before a start cannot land twice.
    while starts < kills || !(had_landed || has_landed(&user)) && starts < 8 * kills {
        had_landed = has_landed(&user);
        // A task tells of some thirty events in all, and four are at work; each start comes a little further.
        report = start(&user, (5 + numbers.below(8 * tasks_of_plan) + 20 * starts) as usize);
        starts += 1;
        killed += u64::from(report.is_none());
        assert_eq!(user.git("status --porcelain"), "", "the user's tree is not touched");
        if report.is_some() {
            break;
        }
        // One that begins is noted before it is told, in each lane.
        let (told, noted, untold) = (begun(&user).len(), in_status(&user), LANES as usize * killed as usize);
        assert!((told..=told + untold).contains(&noted), "seed {seed}: {noted} of {told}");
    }
    let report = report.unwrap_or_else(|| {
        had_landed = has_landed(&user);
        start(&user, usize::MAX).unwrap()
    });
    assert!(killed > 0, "seed {seed}: it was never killed");
    assert!(had_landed, "seed {seed}: nothing had landed before the last start");
    assert_eq!(report.exit_reason, ExitReason::Completed, "seed {seed}: {report:?}");
    let (plan, into) = (opened(&user).plan_store().load().unwrap().plan, report.into.unwrap());
    assert_eq!(plan.claims, [], "seed {seed}");
    let log = format!("log --first-parent --format='%(trailers:key=Samuel-Task,valueonly)' {into}");
    let mut landed: Vec<u64> = user.git(&log).lines().filter_map(|line| line.trim().parse().ok()).collect();
    landed.sort_unstable();
    assert_eq!(landed, (1..=plan.tasks.len() as u64).collect::<Vec<_>>(), "seed {seed}: each lands once");
    for task in &plan.tasks {
        assert_eq!(task.status, Status::Completed);
        let commit = task.commit_sha.clone().unwrap();
        user.git(&format!("merge-base --is-ancestor {commit} {into}"));
        user.git(&format!("cat-file -e {into}:made-{}.txt", task.id));
        for other in &task.depends_on {
            let before = plan.task(other).unwrap().commit_sha.clone().unwrap();
            // What it began at is in the branch that was merged.
            user.git(&format!("merge-base --is-ancestor {before} {commit}^2"));
        }
    }
    let look = user.path().join("look");
    user.git(&format!("worktree add -q --detach {} {into}", look.display()));
    for head in user.git(&format!("log --first-parent --format=%H {into}")).lines() {
        user.sh(&look, &format!("git checkout -q {head} && {}", ScriptedLanes::CHECK));
    }
    let reachable = user.git("rev-list --all");
    for commit in agents(&user).commits().unwrap() {
        assert!(reachable.contains(&commit), "seed {seed}: {commit} is lost");
    }
    assert!(!user.tree().join(".git/index.lock").exists());
    let numbers = begun(&user);
    let different: BTreeSet<u32> = numbers.iter().copied().collect();
    assert_eq!(different.len(), numbers.len(), "seed {seed}: no number is used twice: {numbers:?}");
    // Where it stands counts all that began, whichever lane was killed in one, and so does the next prompt.
    let (all, in_plan) = (report.iterations as usize, plan.progress.total_iterations_run);
    assert_eq!((in_status(&user), in_plan), (all, all as u64), "seed {seed}");
    assert!(report.iterations as usize >= numbers.len(), "seed {seed}: {} of {numbers:?}", report.iterations);
}

// Takes about 12 s: a plan of six tasks, whose run with four workers is killed twice or more often.
#[test]
fn lanes_that_are_killed_at_any_moment_lose_nothing_and_land_nothing_twice() {
    for seed in plans(35) {
        play(seed);
    }
}
