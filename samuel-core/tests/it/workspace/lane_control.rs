//! A word with a run that has several lanes: what it does before it holds, and what becomes of a text.

use std::{fs, time::Duration};

use samuel_core::{
    agent::{Script, ScriptedCall},
    engine::{Events, RunHandle},
    event::{Event, EventRecord},
    hook::points,
    machine::Command,
    model::{ExitReason, payload::Turn},
    project::Project,
    testing::FakeHandler,
};

use crate::workspace::{
    kit::User,
    lanes::{lanes, project, until},
};

/// A run under way, and what it told so far.
struct Beside {
    handle: RunHandle,
    stream: Events,
    events: Vec<EventRecord>,
}

impl Beside {
    /// Waits until so many events of a kind were told, for a minute at most.
    async fn has_told(&mut self, count: usize, is_one: impl Fn(&Event) -> bool) {
        let waits = async {
            while self.count(&is_one) < count {
                self.events.push(self.stream.next().await.unwrap());
            }
        };
        let told = tokio::time::timeout(Duration::from_secs(60), waits).await;
        told.unwrap_or_else(|_| panic!("{:#?}", self.events.last()));
    }

    /// Gives a command, and waits until all lanes have it.
    async fn is_told(&mut self, command: Command) {
        let before = self.count(is_command);
        self.handle.controller().send_for("1000/pts-3", command);
        self.has_told(before + 1, is_command).await;
    }

    fn count(&self, is_one: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|record| is_one(&record.event)).count()
    }

    /// Lets it come to its end, and returns the report's end and how many texts reached no agent.
    async fn ends(&mut self) -> (ExitReason, u32) {
        while let Some(record) = self.stream.next().await {
            self.events.push(record);
        }
        let finished = self.events.iter().find_map(|record| match &record.event {
            Event::RunFinished(report) => Some((report.exit_reason, report.undelivered)),
            _ => None,
        });
        finished.unwrap()
    }
}

type Prompts = FakeHandler<points::BeforeAgentInvoke>;

/// Starts a run whose agents wait for a file `go-` with their task's id, and one that keeps their prompts.
async fn at_work(user: &User, project: &Project, jobs: u32) -> (Beside, Prompts) {
    let home = user.home().display().to_string();
    let work = format!(
        ": > {home}/up-$SAMUEL_TASK_ID; \
         while ! test -e {home}/go-$SAMUEL_TASK_ID; do test -d {home} || exit 1; sleep 0.02; done; \
         echo made > made-$SAMUEL_TASK_ID.txt"
    );
    // A turn after all iterations is for no task.
    let last = ScriptedCall::any().in_turn(Turn::Final).repeated();
    let script = Script::default().call(last).call(ScriptedCall::any().repeated().run(work).done());
    let prompts = Prompts::passes();
    let run = lanes(user, project, jobs, script, &["true"]).hook("prompts", prompts.clone());
    let mut handle = run.build().unwrap().start().await.unwrap();
    let stream = handle.events();
    (Beside { handle, stream, events: Vec::new() }, prompts)
}

async fn is_up(user: &User, tasks: &[&str]) {
    for task in tasks {
        let up = user.home().join(format!("up-{task}"));
        until("its agent is at work", || up.exists()).await;
    }
}

fn let_go(user: &User, tasks: &[&str]) {
    for task in tasks {
        fs::write(user.home().join(format!("go-{task}")), "").unwrap();
    }
}

/// Returns how many prompts have a text.
fn given(prompts: &Prompts, text: &str) -> usize {
    prompts.calls().iter().filter(|call| call.input().prompt.contains(text)).count()
}

fn is_command(event: &Event) -> bool {
    matches!(event, Event::Commanded { .. })
}

fn steer(text: &str) -> Command {
    Command::Steer(text.to_owned())
}

fn is_last_turn(event: &Event) -> bool {
    matches!(event, Event::AgentStarted { turn: Turn::Final, .. })
}

fn is_warning_of_text(event: &Event) -> bool {
    matches!(event, Event::Warning { message } if message.contains("did not reach the agent"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_lands_while_the_run_holds() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[])]);
    let (mut run, _) = at_work(&user, &project, 2).await;
    is_up(&user, &["1", "2"]).await;
    run.is_told(Command::Pause).await;
    let_go(&user, &["1", "2"]);
    run.has_told(2, |event| matches!(event, Event::TaskLanded { .. })).await;
    run.has_told(1, |event| *event == Event::Paused).await;
    assert_eq!(run.count(|event| matches!(event, Event::Stopping { .. } | Event::Resumed)), 0);
    run.handle.resume();
    assert_eq!(run.ends().await, (ExitReason::Completed, 0));
}

// Takes about 8 s: two runs with two workers, each of which waits up to 2 s for a pause.
#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_run_ends_whichever_lane_held_first() {
    // Whichever lane leads: the second time the other task is done first.
    for (first, second) in [("1", "2"), ("2", "1")] {
        let user = User::new();
        let project = project(&user, &[("1", &[]), ("2", &[])]);
        let (mut run, _) = at_work(&user, &project, 2).await;
        is_up(&user, &["1", "2"]).await;
        run.is_told(Command::Pause).await;
        let_go(&user, &[first]);
        run.has_told(1, |event| matches!(event, Event::TaskLanded { .. })).await;
        // That it holds is told of the lane that leads alone, which may be the one that still works.
        let holds = run.has_told(1, |event| *event == Event::Paused);
        if tokio::time::timeout(Duration::from_secs(2), holds).await.is_ok() {
            run.handle.resume();
            run.has_told(1, |event| *event == Event::Resumed).await;
        }
        let_go(&user, &[second]);
        let ends = async {
            while let Some(record) = run.stream.next().await {
                if record.event == Event::Paused {
                    run.handle.resume();
                }
                run.events.push(record);
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ends).await.expect("it ends");
        assert_eq!(run.ends().await, (ExitReason::Completed, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_no_prompt_had_is_given_in_one_last_turn_of_one_lane() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    let (mut run, prompts) = at_work(&user, &project, 3).await;
    is_up(&user, &["1", "2", "3"]).await;
    run.is_told(steer("mind the gap")).await;
    let_go(&user, &["1", "2", "3"]);
    assert_eq!(run.ends().await, (ExitReason::Completed, 0));
    assert_eq!((run.count(is_last_turn), given(&prompts, "mind the gap")), (1, 1));
    assert_eq!(run.count(is_warning_of_text), 0);
}

// Takes about 9 s: two runs of three tasks with two workers.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_the_prompt_of_one_lane_had_is_told() {
    // Whichever lane leads: the second time the other task waits.
    for (first, second) in [("1", "2"), ("2", "1")] {
        let user = User::new();
        let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
        let (mut run, prompts) = at_work(&user, &project, 2).await;
        is_up(&user, &["1", "2"]).await;
        run.is_told(steer("mind the gap")).await;
        let_go(&user, &[first]);
        is_up(&user, &["3"]).await;
        let_go(&user, &["3", second]);
        assert_eq!(run.ends().await, (ExitReason::Completed, 0));
        assert_eq!((run.count(is_last_turn), given(&prompts, "mind the gap")), (0, 1));
        assert_eq!(run.count(is_warning_of_text), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_reached_no_agent_are_counted_once_each() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    let (mut run, prompts) = at_work(&user, &project, 3).await;
    is_up(&user, &["1", "2", "3"]).await;
    run.is_told(steer("mind the gap")).await;
    run.is_told(steer("and the doors")).await;
    run.is_told(Command::Cancel).await;
    let_go(&user, &["1", "2", "3"]);
    assert_eq!(run.ends().await, (ExitReason::Cancelled, 2));
    assert_eq!((run.count(is_last_turn), given(&prompts, "mind the gap")), (0, 0));
    assert_eq!(run.count(is_warning_of_text), 2);
}
