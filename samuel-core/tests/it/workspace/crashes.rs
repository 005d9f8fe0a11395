//! Samuel is killed at each step, and started again.
//!
//! The loop runs in a process of its own, this test binary in another role, which ends itself by SIGKILL where it
//! is told to: no time decides where that is. By default some of the steps are tried, with `SAMUEL_LONG=1` each.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use samuel_core::{
    agent::{Script, ScriptedCall},
    model::{ExitReason, Status, TaskId},
    workspace::{OnStep, WorkspaceStep},
};

use crate::{
    process_support::{plays, role_args},
    workspace::{
        kit::User,
        runs::{opened, played, project, run},
    },
};

/// Where the process ends: at a step, by its number of times; or while something works.
const WHERE: &str = "SAMUEL_TEST_WHERE";
const HOME: &str = "SAMUEL_TEST_HOME";

/// Not a test of its own: the loop that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn loop_entry() {
    if !plays("as-loop") {
        return;
    }
    let user = User::at(PathBuf::from(env::var_os(HOME).unwrap()));
    let place = env::var(WHERE).unwrap_or_default();
    let own = std::process::id();
    let once = |name: &str, wanted: bool| {
        let mark = user.home().join(name);
        if wanted {
            format!("test -e {0} || {{ touch {0}; kill -9 {own}; sleep 5; }}; ", mark.display())
        } else {
            String::new()
        }
    };
    // The second attempt of a task finds what the first made only where it landed.
    let work = format!(
        "echo x >> t-$SAMUEL_TASK_ID.txt; git add -A; git diff --cached --quiet || git commit -qm \"Task $SAMUEL_TASK_ID\"; git rev-parse HEAD >> {}; {}echo left >> left.txt",
        user.home().join("commits").display(),
        once("in-agent", place == "agent"),
    );
    let check = format!("{}test -f left.txt", once("in-check", place == "check"));
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let count = AtomicU32::new(0);
    let on_step = OnStep::new(move |step| {
        let (name, times) = place.split_once(':').unwrap_or((&place, "1"));
        if format!("{step:?}") == name && (count.fetch_add(1, Ordering::Relaxed) + 1).to_string() == times {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
            std::thread::park();
        }
    });
    let told =
        played(run(&user, &opened(&user), script, &[&check]).on_workspace_step(on_step)).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
}

/// Starts the loop; says whether it was killed.
fn start(user: &User, place: &str) -> bool {
    let output = Command::new(env::current_exe().unwrap())
        .args(role_args("workspace::crashes::loop_entry", "as-loop"))
        .env(HOME, user.path())
        .env(WHERE, place)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() || output.status.code().is_none(), "{place}: {text}");
    output.status.code().is_none()
}

/// Says that the user's tree is one of its commits, and nothing holds it up.
fn is_whole(user: &User, place: &str) {
    assert_eq!(user.git("status --porcelain"), "", "{place}");
    assert!(!user.tree().join(".git/index.lock").exists(), "{place}");
    user.git("fsck --no-dangling --connectivity-only");
}

/// Where the process ends by default: work was bundled, the branch is about to be moved, it was moved and that is not
/// recorded yet, the agent works, and the second bundle was taken in.
const IN_SHORT: [&str; 5] = ["Bundled", "Landing", "Landed", "agent", "TakenIn:2"];

// Takes about 22 s: each of the five places starts the loop twice, and looks at the repository with git.
#[test]
fn a_loop_that_is_killed_at_any_step_loses_nothing_and_leaves_the_tree_old_or_new() {
    let steps = WorkspaceStep::ALL
        .iter()
        .filter(|step| **step != WorkspaceStep::Kept)
        .map(|step| format!("{step:?}"));
    let mut places: Vec<String> = steps.chain(["agent".to_owned(), "check".to_owned()]).collect();
    places.extend(["Landing:2", "TakenIn:2"].map(str::to_owned));
    if env::var_os("SAMUEL_LONG").is_none() {
        places = IN_SHORT.map(str::to_owned).to_vec();
    }
    for place in places {
        let user = User::new();
        project(&user, &["1", "2"]);
        let old = user.head();
        assert!(start(&user, &place), "{place}: it was not killed");
        is_whole(&user, &place);
        let between = user.head();
        let completed = opened(&user).plan_store().load().unwrap().plan.progress.completed_tasks;
        assert!(!start(&user, ""), "{place}");
        is_whole(&user, &place);
        let plan = opened(&user).plan_store().load().unwrap().plan;
        for id in ["1", "2"] {
            assert_eq!(plan.task(&TaskId::new(id)).unwrap().status, Status::Completed, "{place}");
            assert!(user.read(&format!("t-{id}.txt")).is_some(), "{place}");
        }
        assert!(plan.progress.completed_tasks >= completed, "{place}");
        for (one, other) in [(&old, &between), (&between, &user.head())] {
            user.git(&format!("merge-base --is-ancestor {one} {other}"));
        }
        // Whatever the agent committed has a reference.
        let reachable = user.git("rev-list --all");
        for commit in fs::read_to_string(user.home().join("commits")).unwrap().lines() {
            assert!(reachable.contains(commit), "{place}: {commit} is lost");
        }
        assert_eq!(user.clone_of_run(), None, "{place}: nothing is left of it");
        assert!(!user.git("for-each-ref refs/samuel/work").contains("work"), "{place}");
    }
}

#[test]
fn a_loop_that_is_killed_while_it_keeps_work_aside_keeps_it() {
    let user = User::new();
    project(&user, &["1"]);
    assert!(start(&user, "agent"));
    assert!(start(&user, "Kept"), "what the agent had committed was about to be kept");
    is_whole(&user, "Kept");
    assert!(!start(&user, ""));
    let reachable = user.git("rev-list --all");
    for commit in fs::read_to_string(user.home().join("commits")).unwrap().lines() {
        assert!(reachable.contains(commit), "{commit} is lost");
    }
    assert!(!user.kept().is_empty());
}
