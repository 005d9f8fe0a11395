//! Agents, checks and handlers are told of the place of their turn, and of no other.

use std::{collections::BTreeSet, fs};

use samuel_core::{
    agent::{Script, ScriptedCall},
    engine::RunBuilder,
    hook::{Point, points},
    model::ExitReason,
    project::Project,
    testing::FakeHandler,
};

use crate::workspace::{
    kit::{PATH, User},
    lanes::{lanes, project},
    runs::{played, run},
};

/// The kinds of workspaces.
const KINDS: [&str; 2] = ["clone", "clones"];

/// Begins to build a run in a kind of workspace: of one loop, or of two workers.
fn run_in(kind: &str, user: &User, project: &Project, script: Script, checks: &[&str]) -> RunBuilder {
    match kind {
        "clone" => run(user, project, script, checks),
        _ => lanes(user, project, 2, script, checks),
    }
}

/// Returns what the calls of a handler showed: input, context and workspace.
fn shown<P: Point>(handler: &FakeHandler<P>) -> String {
    let shown = handler.calls().into_iter().map(|call| {
        let context = serde_json::to_string(call.context()).unwrap();
        format!("{:?} {context} at {:?}\n", call.input(), call.workspace())
    });
    shown.collect()
}

// Takes about 9 s: a run of two tasks in each of the two kinds of workspace.
#[tokio::test(flavor = "multi_thread")]
async fn no_path_of_the_checkout_reaches_a_turn() {
    for kind in KINDS {
        let user = User::new();
        user.write("AGENTS.md", "notes\n");
        user.git("add --all");
        user.git("commit --quiet --message Notes");
        let project = project(&user, &[("1", &[]), ("2", &["1"])]);
        let work = "cd .samuel/run && cat task-context.toon progress-context.md project-snapshot.toon ../../AGENTS.md \
                    > /dev/null && cd ../.. && echo x > made-$SAMUEL_TASK_ID && env >> ~/env && touch ~/read-$SAMUEL_TASK_ID";
        let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
        let begins = FakeHandler::<points::BeforeLoop>::passes();
        let iterations = FakeHandler::<points::BeforeIteration>::passes();
        let snapshots = FakeHandler::<points::ContextSnapshot>::passes();
        let logs = FakeHandler::<points::ContextProgress>::passes();
        let checks = FakeHandler::<points::QualityCheck>::passes();
        let ends = FakeHandler::<points::AfterIteration>::passes();
        let root = project.root().display().to_string();
        let env =
            [("CARGO_TARGET_DIR", format!("{root}/target")), ("PWD", root.clone()), ("OLDPWD", root.clone())];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value));
        let home = user.home().display().to_string();
        let env = env.chain([("PATH".to_owned(), PATH.to_owned()), ("HOME".to_owned(), home)]);
        let run = run_in(kind, &user, &project, script, &["env >> ~/env"])
            .env(env)
            .hook("begins", begins.clone())
            .hook("iterations", iterations.clone())
            .hook("snapshots", snapshots.clone())
            .hook("logs", logs.clone())
            .hook("checks", checks.clone())
            .hook("ends", ends.clone());
        let told = played(run).await.unwrap();
        assert_eq!(told.report.exit_reason, ExitReason::Completed, "{kind}: {}", told.text());
        for of_turns in [shown(&iterations), shown(&snapshots), shown(&logs), shown(&checks), shown(&ends)] {
            assert!(of_turns.contains("/workspaces/") && !of_turns.contains(&root), "{kind}: {of_turns}");
            assert!(!of_turns.contains(" at None"), "{kind}: {of_turns}");
        }
        let of_loop = shown(&begins);
        assert!(of_loop.contains(&format!("{root}/.samuel/run/prd.toon")), "{kind}: {of_loop}");
        assert!(of_loop.contains(" at None"), "{kind}: {of_loop}");
        let prompts = user.sh(&user.tree().join(".samuel/run/logs"), "cat */*.prompt");
        assert!(prompts.contains("- `.samuel/run/task-context.toon`: "), "{kind}: {prompts}");
        assert!(prompts.contains("- `AGENTS.md`: ") && !prompts.contains(&root), "{kind}: {prompts}");
        let env = fs::read_to_string(user.home().join("env")).unwrap();
        assert!(!env.contains(&root), "{kind}: {env}");
        for name in ["SAMUEL_PROJECT_ROOT=", "SAMUEL_WORKSPACE=", "PWD=", "CARGO_TARGET_DIR="] {
            let places = env.lines().filter_map(|line| line.strip_prefix(name));
            let of_workspaces = places.filter(|place| place.contains("/workspaces/")).count();
            assert!(of_workspaces >= 4, "{kind}: {name} of two turns and two checks: {env}");
        }
        for id in ["1", "2"] {
            assert!(user.home().join(format!("read-{id}")).exists(), "{kind}: {}", told.text());
        }
    }
}

// Takes about 9 s: a run of two tasks in each of the two kinds of workspace.
#[tokio::test(flavor = "multi_thread")]
async fn appended_learnings_are_read_and_never_merged() {
    for kind in KINDS {
        let user = User::new();
        let project = project(&user, &[("1", &[]), ("2", &["1"])]);
        let work = "mkdir -p .samuel/run; echo \"[2026-11-21T10:00:00Z] LEARNING: from $SAMUEL_TASK_ID\" >> \
                    .samuel/run/progress.md; echo x > made-$SAMUEL_TASK_ID; git add -Af; git commit -qm Work";
        let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
        let told = played(run_in(kind, &user, &project, script, &[])).await.unwrap();
        assert_eq!(told.report.exit_reason, ExitReason::Completed, "{kind}: {}", told.text());
        let log = fs::read_to_string(user.tree().join(".samuel/run/progress.md")).unwrap();
        for id in ["1", "2"] {
            assert_eq!(log.matches(&format!("LEARNING: from {id}\n")).count(), 1, "{kind}: {log}");
        }
        let logs = user.tree().join(".samuel/run/logs");
        assert_eq!(user.sh(&logs, "grep -l 'from 1' */*.prompt | wc -l"), "1", "{kind}");
        let into = told.report.into.clone().unwrap_or_else(|| "main".to_owned());
        let files = user.git(&format!("ls-tree -r --name-only {into}"));
        assert!(files.contains("made-2") && !files.contains(".samuel"), "{kind}: {files}");
        assert_eq!(user.git("status --porcelain"), "", "{kind}");
    }
}

// Takes about 9 s: a run of two tasks in each of the two kinds of workspace.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_where_their_turn_works() {
    let line = "echo \"$SAMUEL_HOOK_POINT $PWD $SAMUEL_WORKSPACE $(git branch --show-current)\" >> ~/hooks";
    let of_session = ["session_start", "pre_iteration", "post_iteration", "on_task_complete", "session_end"];
    let of_session: String =
        of_session.iter().map(|name| format!("  {name}:\n    - command: '{line}'\n")).collect();
    for kind in KINDS {
        let user = User::new();
        user.write(".samuel/hooks.yml", &format!("version: 2\nhooks:\n{of_session}"));
        for (id, event) in [("submit", "PromptSubmit"), ("stop", "SessionStop")] {
            let handler = format!("handler:\n  kind: script\n  command: '{line}; echo \"{{}}\"'\n");
            let hook = format!("id: {id}\nevent_type: {event}\n{handler}");
            user.write(&format!(".system/hooks/{id}.yaml"), &hook);
        }
        user.git("add .system");
        user.git("commit --quiet --message Hooks");
        let project = project(&user, &[("1", &[]), ("2", &[])]);
        let work = "echo x > made-$SAMUEL_TASK_ID";
        let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
        let run = run_in(kind, &user, &project, script, &["true"]).hook_files();
        let told = played(run).await.unwrap();
        assert_eq!(told.report.exit_reason, ExitReason::Completed, "{kind}: {}", told.text());
        let root = project.root().display().to_string();
        let said = fs::read_to_string(user.home().join("hooks")).unwrap();
        let mut points = BTreeSet::new();
        for line in said.lines() {
            let mut words = line.split(' ');
            let [point, directory, workspace, branch] =
                std::array::from_fn(|_| words.next().unwrap_or_default());
            points.insert(point);
            assert_eq!(directory, workspace, "{kind}: {said}");
            match point {
                "session.start" | "session.end" => {
                    assert_eq!((directory, branch), (&*root, "main"), "{said}")
                }
                _ => assert!(directory.contains("/workspaces/"), "{kind}: {said}"),
            }
            if ["before:iteration", "prompt.submit", "after:iteration"].contains(&point) {
                let of_turn = if kind == "clone" { branch == "main" } else { branch.starts_with("samuel/") };
                assert!(of_turn, "{kind}: {said}");
            }
        }
        assert_eq!(points.len(), 7, "{kind}: {said}");
    }
}
