//! What people say to a run with several lanes from elsewhere: commands at random, and answers.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use jiff::Timestamp;
use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    engine::LiveRun,
    event::{Event, PlanChange},
    hook::points,
    model::{Claim, ClaimTarget, ExitReason, Plan, Status, Task, TaskId},
    project::ChangeOrigin,
    state::{
        Actor, Applied, Asker, CaughtUp, Existing, Imported, JournalPart, LoadedPlan, Mutation, PlanStore,
        ProgressEntry, ProgressLog, StateError, Watch,
    },
    testing::FakeHandler,
};

use crate::{
    live_support::{commands, completes_meanwhile},
    workspace::{
        kit::User,
        lanes::{lanes, plan, project, replays_whole, until},
        runs::{Told, opened},
    },
};

// Takes about 9 s: 48 commands are sent to runs with three workers.
#[tokio::test(flavor = "multi_thread")]
async fn random_commands_from_eight_terminals_lose_no_task_of_three_lanes_and_hang_none() {
    let (user, sockets) = (User::new(), tempfile::tempdir().unwrap());
    fs::set_permissions(sockets.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let tasks: Vec<String> = (1..=8).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &[&str])> = tasks.iter().map(|id| (id.as_str(), &[][..])).collect();
    let project = project(&user, &tasks);
    let makes = "echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID.txt";
    // The last task is not done before all was said.
    let enough = user.home().join("enough");
    let waits =
        format!("while ! test -e {}; do test -d ~ || exit 1; sleep 0.02; done; {makes}", enough.display());
    let script = Script::default()
        .call(ScriptedCall::for_task("8").repeated().run(waits).done())
        .call(ScriptedCall::any().repeated().run(makes).done());
    let elsewhere = user.tree();
    let find = move || {
        let project = samuel_core::project::Project::at(&elsewhere).unwrap();
        LiveRun::find(&project, &ChangeOrigin::default(), "0/pts-7")
    };
    let runs = completes_meanwhile(Arc::new(find), commands(48), enough, || {
        lanes(&user, &project, 3, script.clone(), &["true"]).socket_dir(sockets.path()).settings(|settings| {
            settings.max_iterations = None;
            settings.task_budget.max_attempts = None;
        })
    });
    let runs = runs.await;
    let plan = plan(&project);
    let all = (plan.tasks.len(), plan.count(Status::Completed), plan.claims.len());
    assert_eq!(all, (8, 8, 0), "after {runs} runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_one_lane_that_is_answered_while_another_works_is_in_the_next_prompt_of_its_task_once()
{
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let home = user.home().display().to_string();
    let waits = format!(
        ": > {home}/up; while ! test -e {home}/go; do test -d {home} || exit 1; sleep 0.02; done; echo 2 > made-2.txt"
    );
    let ask = Step::Ask { task: "1".into(), question: "Which colour?".into(), options: vec!["red".into()] };
    let script = Script::default()
        .call(ScriptedCall::for_task("1").step(ask))
        .call(ScriptedCall::for_task("1").run("echo 1 > made-1.txt").done())
        .call(ScriptedCall::for_task("2").run(waits).done());
    let prompts = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = lanes(&user, &project, 2, script, &["true"]).hook_at("prompts", 500, prompts.clone());
    let mut run = run.build().unwrap().start().await.unwrap();
    let (mut stream, mut events) = (run.events(), Vec::new());
    let is_up = user.home().join("up");
    while let Some(record) = stream.next().await {
        match &record.event {
            Event::PlanChanged { change: PlanChange::Asked, .. } => {
                until("the other lane is at work", || is_up.exists()).await;
                let answer = Mutation::Answer { id: TaskId::new("1"), answer: "blue, not red".to_owned() };
                opened(&user).plan_store().mutate(answer, Actor::User).unwrap();
            }
            // The other one worked all the time.
            Event::TaskLanded { task, .. } if task.as_str() == "1" => {
                fs::write(user.home().join("go"), "").unwrap();
            }
            _ => {}
        }
        events.push(record);
    }
    let told = Told { events, report: run.wait().await.unwrap() };
    assert_eq!(
        (told.report.exit_reason, told.report.completed.len()),
        (ExitReason::Completed, 2),
        "{}",
        told.text()
    );
    let with_answer = prompts.calls().into_iter().map(|call| call.input().prompt.clone());
    let with_answer: Vec<String> = with_answer.filter(|prompt| prompt.contains("blue, not red")).collect();
    let [prompt] = &with_answer[..] else { panic!("{with_answer:#?}") };
    assert!(prompt.contains(" begin: question about task 1]\nWhich colour?\n\n- red\n"), "{prompt}");
    assert!(prompt.contains(" begin: message from the user]\nblue, not red\n"), "{prompt}");
    assert!(plan(&project).tasks.iter().all(|task| task.question.is_none()));
    replays_whole(&project, &told);
}

/// A store that answers the question right after the n-th read in which the question is open and its task unclaimed.
#[derive(Debug)]
struct AnswersAfterReads {
    inner: Arc<dyn PlanStore>,
    n: u32,
    reads: AtomicU32,
}

impl PlanStore for AnswersAfterReads {
    fn load(&self) -> Result<LoadedPlan, StateError> {
        let loaded = self.inner.load()?;
        let is_open = |task: &Task| task.question.as_ref().is_some_and(|question| question.answer.is_none());
        let asked = TaskId::new("1");
        let is_claimed = loaded.plan.claim(&ClaimTarget::Task(asked.clone())).is_some_and(Claim::is_live);
        let asks = !is_claimed && loaded.plan.task(&asked).is_some_and(is_open);
        if asks && self.reads.fetch_add(1, Ordering::Relaxed) + 1 == self.n {
            let answer = Mutation::Answer { id: asked, answer: "blue, not red".to_owned() };
            self.inner.mutate(answer, Actor::User)?;
        }
        Ok(loaded)
    }

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        self.inner.mutate_as(made_at, mutation, asker)
    }

    fn exists(&self) -> Result<bool, StateError> {
        self.inner.exists()
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        self.inner.import(plan, actor, existing)
    }

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        self.inner.journal_since(seq)
    }

    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        self.inner.catch_up(seq)
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        self.inner.append_progress(entries)
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        self.inner.progress()
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        self.inner.rotate_progress(max_lines)
    }

    fn watch(&self) -> Watch {
        self.inner.watch()
    }
}

// Takes about 25 s: four runs with two workers, in which an agent waits up to 3 s for an answer.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_between_any_two_reads_of_the_plan_is_in_the_next_prompt() {
    // A lane reads the plan twice when it chooses a task. These are about reads 10 to 12.
    let mut reached = 0;
    for n in 9..=12 {
        reached += u32::from(answered_after(n).await);
    }
    assert!(reached > 0);
}

/// Plays a run that is answered after the n-th read. Returns false if there were fewer reads.
async fn answered_after(n: u32) -> bool {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let store = Arc::new(AnswersAfterReads { inner: project.plan_store(), n, reads: AtomicU32::default() });
    let project = project.with_plan_store(store.clone());
    let home = user.home().display().to_string();
    // Ends after 3 s if no answer comes.
    let waits =
        format!("for i in $(seq 150); do test -e {home}/go && break; sleep 0.02; done; echo 2 > made-2.txt");
    let ask = Step::Ask { task: "1".into(), question: "Which colour?".into(), options: vec!["red".into()] };
    let script = Script::default()
        .call(ScriptedCall::for_task("1").step(ask))
        .call(ScriptedCall::for_task("1").run(format!("echo 1 > made-1.txt; : > {home}/go")).done())
        .call(ScriptedCall::for_task("2").run(waits).done());
    let prompts = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = lanes(&user, &project, 2, script, &["true"]).hook_at("prompts", 500, prompts.clone());
    let report = run.build().unwrap().start().await.unwrap().wait().await.unwrap();
    if store.reads.load(Ordering::Relaxed) < n {
        return false;
    }
    assert_eq!((report.exit_reason, report.completed.len()), (ExitReason::Completed, 2), "{n}");
    let prompts: Vec<String> = prompts.calls().into_iter().map(|call| call.input().prompt.clone()).collect();
    let with_answer = prompts.iter().filter(|prompt| prompt.contains("]\nblue, not red\n")).count();
    assert_eq!(with_answer, 1, "{n}: {prompts:#?}");
    true
}
