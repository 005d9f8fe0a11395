//! What the plan tells beside the record: what waits, what landed without a loop, and who said that a task is done.

use samuel_core::{
    event::{Event, PlanChange},
    history::WhyQuestion,
    model::{
        Role, TaskId,
        payload::{self, Mode},
    },
    state::{Actor, LandingClaim, Mutation},
    testing::Bench,
};

use crate::history::kit::{RUN, begins, finished, history, on_disk, started, tell, tell_by};

fn runtime(bench: &Bench, mutation: Mutation) -> u64 {
    bench.store().mutate(mutation, Actor::Runtime).unwrap().revision
}

fn commit(digit: char) -> String {
    digit.to_string().repeat(40)
}

/// Has a lane work on a task, and submit it; returns the token of its claim.
fn submitted(bench: &Bench, id: &str) -> u64 {
    let task = TaskId::new(id);
    let claim = Mutation::Claim { task: task.clone().into(), worker: "r/lane-1".to_owned() };
    let token = runtime(bench, claim);
    let (branch, commit, base) = (format!("samuel/r/{id}-{token}"), commit('b'), commit('a'));
    runtime(bench, Mutation::Submit { task, token, branch, commit, base, tree: None, iteration: None });
    token
}

#[test]
fn what_waits_to_be_landed_takes_no_more_time() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let left = || history(&bench).activity().unwrap().eta.tasks;
    assert_eq!(left(), 2);
    submitted(&bench, "1");
    assert_eq!(left(), 1);
}

#[test]
fn the_page_of_a_run_says_what_its_tasks_wait_for() {
    let bench = on_disk(&[("1", "First"), ("2", "Second"), ("3", "Third"), ("4", "Fourth")]);
    submitted(&bench, "1");
    let block = Mutation::Block { id: TaskId::new("4"), reason: Some("no key".to_owned()) };
    bench.store().mutate(block, Actor::Agent).unwrap();
    let (question, options) = ("Which database?".to_owned(), Vec::new());
    bench.store().mutate(Mutation::Ask { id: TaskId::new("2"), question, options }, Actor::Agent).unwrap();
    let of = |task: &str, number| [started(number, task), finished(number, false, 0)];
    let of_tasks = (1..).zip(["1", "2", "3", "4"]).flat_map(|(number, task)| of(task, number));
    let events = [begins(None)].into_iter().chain(of_tasks).collect();
    tell(&*bench.lane(), RUN, events);
    let page = history(&bench).report(RUN).unwrap();
    let (markdown, html) = (page.to_markdown(), page.to_html());
    for (task, waits) in [
        ("1 First", "not completed, its work waits to be landed"),
        ("2 Second", "not completed, it waits for an answer"),
        ("3 Third", "not completed, 1 iteration"),
        ("4 Fourth", "not completed, blocked\\: no key, 1 iteration"),
    ] {
        assert!(markdown.contains(&format!("- [ ] {task}: {waits}")), "{markdown}");
    }
    assert!(html.contains("not completed, it waits for an answer: Which database?"), "{html}");
}

#[test]
fn the_page_of_a_landing_begins_at_the_commit_that_the_first_work_landed_on() {
    let bench = on_disk(&[("1", "First")]);
    let token = submitted(&bench, "1");
    let role = runtime(&bench, Mutation::Claim { task: Role::Merge.into(), worker: "r/queue".to_owned() });
    let into = "samuel/r/result".to_owned();
    let (task, landed) = (TaskId::new("1"), commit('d'));
    let claim = LandingClaim { task: task.clone(), token, commit: commit('b'), landed: landed.clone() };
    let (old, new, claims) = (commit('c'), landed.clone(), vec![claim]);
    runtime(&bench, Mutation::Landing { role, into: into.clone(), old, new, claims });
    runtime(&bench, Mutation::Land { role, unchanged: Vec::new() });
    let events =
        vec![Event::LandingStarted { into: into.clone() }, Event::TaskLanded { task, into, commit: landed }];
    tell(&*bench.lane(), RUN, events);
    let run = history(&bench).report(RUN).unwrap().run;
    assert_eq!((run.first_commit, run.last_commit), (Some(commit('c')), Some(commit('d'))));
}

#[test]
fn the_page_of_a_run_that_looked_for_tasks_has_what_it_found_and_where() {
    let bench = on_disk(&[("1", "First")]);
    let looks = |iteration| Event::IterationStarted { iteration, mode: Mode::Discovery, task: None };
    let added = |task: &str, actor| Event::PlanChanged {
        change: PlanChange::Added,
        task: TaskId::new(task),
        title: format!("Found {task}"),
        reason: None,
        actor,
    };
    let (agent, user) = (payload::Actor::Agent, payload::Actor::User);
    let events = vec![
        (None, begins(None)),
        (Some(1), looks(1)),
        (Some(2), started(2, "1")),
        (Some(1), added("2", agent)),
        (Some(2), added("3", agent)),
        (Some(1), added("4", user)),
        (Some(1), finished(1, false, 0)),
        (Some(1), added("5", agent)),
    ];
    tell_by(&*bench.lane(), RUN, 0, events);
    let page = history(&bench).report(RUN).unwrap();
    let markdown = page.to_markdown();
    assert!(
        markdown.contains("- [ ] 2 Found 2: not completed, found in iteration 1, 0 iterations"),
        "{markdown}"
    );
    assert!(page.to_html().contains("Found 2") && page.to_html().contains("found in iteration 1"));
    let tasks: Vec<&str> = page.tasks.iter().map(|task| task.task.as_str()).collect();
    assert_eq!(tasks, ["1", "2"]);
}

#[test]
fn why_a_task_is_completed_names_the_person_who_said_so() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    tell(&*bench.lane(), RUN, vec![begins(None), started(1, "1"), started(2, "2")]);
    for (task, actor) in [("1", Actor::User), ("2", Actor::Agent)] {
        let done = Mutation::Done { id: TaskId::new(task), commit_sha: None, iteration: None };
        bench.store().mutate(done, actor).unwrap();
    }
    let first = |task: &str| {
        let why = history(&bench).why(&WhyQuestion::Task(TaskId::new(task))).unwrap();
        why.reasons.first().unwrap().text.clone()
    };
    assert!(first("1").starts_with("a person said that it is done, at "), "{}", first("1"));
    assert!(!first("2").contains("person"), "{}", first("2"));
}
