//! Questions about tasks: who waits for an answer, and whose prompt has it.

use samuel_hook::HookPoint;
use samuel_model::{
    Status,
    payload::{Actor, Turn},
};

use super::{script::*, sim::*, *};
use crate::event::PlanChange;

/// The agent asks about a task, or a person answers.
fn said(change: PlanChange, task: &str, text: &str) -> Input {
    let actor = if change == PlanChange::Answered { Actor::User } else { Actor::Agent };
    let (task, title, reason) = (id(task), format!("task {task}"), Some(text.to_owned()));
    Input::PlanChanged(PlanChanged { change, task, title, reason, actor, others_at_work: false, seq: 0 })
}

fn asks(task: &str) -> Work {
    Work { during: vec![said(PlanChange::Asked, task, "which one?")], ..Default::default() }
}

/// Asks about task 1 in the first iteration; a person answers in the second, of task 2.
fn answered_meanwhile() -> Sim {
    Sim::new(2).agent(|fired, plan| match (fired.turn, fired.iteration) {
        (Turn::Main, 1) => asks("1"),
        (Turn::Main, 2) => {
            let mut work = completes_its_task(fired, plan);
            work.during.push(said(PlanChange::Answered, "1", "the second"));
            work
        }
        _ => completes_its_task(fired, plan),
    })
}

/// Says of each main turn whether its prompt has the question, and the answer as the user's.
fn told(sim: &Sim) -> Vec<(bool, bool)> {
    let main = sim.prompts().into_iter().filter(|(turn, _)| *turn == Turn::Main);
    let answer = quoted("message from the user", "the second");
    main.map(|(_, prompt)| {
        let question = quoted("question about task 1", "which one?");
        (prompt.contains(&question), prompt.contains(&answer))
    })
    .collect()
}

#[test]
fn an_answer_is_in_the_next_prompt_of_its_task_once_and_then_gone() {
    let sim = answered_meanwhile().run();
    assert_eq!(told(&sim), [(false, false), (false, false), (true, true)]);
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    assert!(sim.plan.tasks.iter().all(|task| task.question.is_none()));
}

#[test]
fn an_answer_that_did_not_reach_the_agent_is_delivered_again() {
    let mut sim = answered_meanwhile();
    let agent = sim.clone();
    sim = sim.agent(move |fired, plan| match (fired.turn, fired.iteration) {
        (Turn::Main, 3) => exits(1),
        _ => agent.works(fired, plan),
    });
    let sim = sim.run();
    assert_eq!(told(&sim), [(false, false), (false, false), (true, true), (true, true)]);
}

#[test]
fn an_answer_outlives_a_crash_before_the_prompt_and_one_after_it() {
    let mut sim = answered_meanwhile();
    sim.go_until(|fired| fired.iteration == 3 && fired.point == HookPoint::ContextTask);
    sim.crash_to_checkpoint();
    let before = sim.run();
    assert_eq!(told(&before).iter().filter(|told| **told == (true, true)).count(), 1);
    let mut sim = answered_meanwhile();
    sim.go_until(|fired| fired.iteration == 3 && fired.point == HookPoint::AfterIteration);
    sim.crash(false);
    let after = sim.run();
    assert_eq!(told(&after).iter().filter(|told| **told == (true, true)).count(), 1, "it was heard");
}

#[test]
fn a_question_is_progress_and_its_task_is_left_to_whoever_answers() {
    let sim = Sim::new(1).agent(|_, _| asks("1")).run();
    let report = sim.report();
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Blocked, 1));
    assert_eq!(report.detail.as_deref(), Some("1 waits for an answer: which one?"));
    assert_eq!(sim.plan.tasks.first().map(|task| task.status), Some(Status::Blocked));
    let found = sim.logged(ProgressKind::Found);
    assert!(found.contains(&"asked: which one?"), "{found:?}");
}
