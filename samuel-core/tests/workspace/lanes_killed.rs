//! Samuel is killed at any moment while several lanes work, and started again until the plan is done.
//!
//! The loop runs in a process of its own, this test binary in another role, which ends itself by SIGKILL
//! when it has told so many events: no time decides where that is. `SAMUEL_LONG=1` runs the whole campaign.

use std::{
    collections::BTreeSet,
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use samuel_core::{
    agent::{Script, ScriptedCall},
    config::{CheckCommand, MethodologySettings},
    engine::Run,
    event::RunReport,
    model::{ExitReason, Plan, Status, Task, TaskId},
    state::{Actor, Existing},
    trust::TrustPolicy,
};

use crate::{
    kit::{PATH, User},
    process_support::{plays, role_args, supervisor},
    runs::opened,
};

/// After how many events the process ends.
const AFTER: &str = "SAMUEL_TEST_AFTER";
const HOME: &str = "SAMUEL_TEST_HOME";

/// What every agent does, by the number of its task: all commit or forget to, some are in conflict with others, and some
/// pass alone and not together.
const WORK: &str = r#"
n=$SAMUEL_TASK_ID
echo $n > task-$n.txt
case $((n % 4)) in 0) echo $n >> shared-$((n % 3)).txt;; esac
case $((n % 5)) in
  1) touch left-$((n / 10));;
  2) touch right-$((n / 10)); if test -e left-$((n / 10)); then touch both-$((n / 10)); fi;;
esac
if test $((n % 5)) = 1 && test -e right-$((n / 10)); then touch both-$((n / 10)); fi
if test $((n % 3)) != 0; then git add -A; git commit -qm "Work on $n"; git rev-parse HEAD >> ~/commits; fi
"#;
/// What every landed head passes.
const CHECK: &str = "for l in left-*; do k=${l#left-}; if test -e $l && test -e right-$k; then test -e both-$k || exit 1; fi; done";

/// Not a test of its own: the loop that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn lanes_entry() {
    if !plays("as-lanes") {
        return;
    }
    let user = User::at(PathBuf::from(env::var_os(HOME).unwrap()));
    let after: usize = env::var(AFTER).unwrap().parse().unwrap();
    let script = Script::default().call(ScriptedCall::any().repeated().run(WORK).done());
    let run = Run::builder(opened(&user))
        .script(script)
        .supervisor(supervisor())
        .trust(TrustPolicy::TrustAll)
        .env([("PATH".to_owned(), PATH.to_owned()), ("HOME".to_owned(), user.home().display().to_string())])
        .settings(|settings: &mut MethodologySettings| {
            settings.pause = Duration::ZERO;
            settings.quality_checks = vec![CheckCommand::new(CHECK)];
            settings.parallel.jobs = 4;
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

/// Starts the loop; returns its report, unless it was killed.
fn start(user: &User, after: usize) -> Option<RunReport> {
    let output = Command::new(env::current_exe().unwrap())
        .args(role_args("lanes_killed::lanes_entry", "as-lanes"))
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

/// Plays one plan to its end, killed so often, and checks what must hold.
fn play(seed: u64, tasks: u64, kills: u64) {
    let mut numbers = Numbers(seed);
    let user = User::new();
    for name in ["shared-0.txt", "shared-1.txt", "shared-2.txt"] {
        user.write(name, "start\n");
    }
    user.git("add -A");
    user.git("commit -qm Shared");
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
        (1..=tasks).map(task).collect::<Vec<_>>()
    };
    let (tasks, plan_size) = (plan(&mut numbers), tasks);
    opened(&user)
        .plan_store()
        .import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse)
        .unwrap();
    let (mut report, mut killed) = (None, 0);
    for _ in 0..kills {
        // A task tells of some thirty events in all.
        report = start(&user, 5 + numbers.below(8 * plan_size) as usize);
        killed += u64::from(report.is_none());
        assert_eq!(user.git("status --porcelain"), "?? .samuel/", "the user's tree is not touched");
        if report.is_some() {
            break;
        }
    }
    let report = report.unwrap_or_else(|| start(&user, usize::MAX).unwrap());
    assert!(killed > 0, "seed {seed}: it was never killed");
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
        user.git(&format!("cat-file -e {into}:task-{}.txt", task.id));
        for other in &task.depends_on {
            let before = plan.task(other).unwrap().commit_sha.clone().unwrap();
            // What it began at is in the branch that was merged.
            user.git(&format!("merge-base --is-ancestor {before} {commit}^2"));
        }
    }
    let look = user.path().join("look");
    user.git(&format!("worktree add -q --detach {} {into}", look.display()));
    for head in user.git(&format!("log --first-parent --format=%H {into}")).lines() {
        user.sh(&look, &format!("git checkout -q {head} && {CHECK}"));
    }
    let reachable = user.git("rev-list --all");
    for commit in fs::read_to_string(user.home().join("commits")).unwrap().lines() {
        assert!(reachable.contains(commit), "seed {seed}: {commit} is lost");
    }
    assert!(!user.tree().join(".git/index.lock").exists());
}

#[test]
fn lanes_that_are_killed_at_any_moment_lose_nothing_and_land_nothing_twice() {
    let (plans, tasks, kills) = if env::var_os("SAMUEL_LONG").is_some() { (200, 30, 5) } else { (2, 8, 3) };
    for seed in 1..=plans {
        play(seed, tasks, kills);
    }
}
