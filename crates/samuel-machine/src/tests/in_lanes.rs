//! A machine that is one of several lanes: what it does before it holds, and what the user says to all lanes.

use samuel_hook::HookPoint;
use samuel_model::{
    Completes, Status,
    payload::{Actor, Turn},
};

use super::{script::*, sim::*, *};

/// A lane that leads, or one that does not, with so many tasks.
fn lane(tasks: usize, follows: bool) -> Sim {
    let mut sim = Sim::new(tasks);
    (sim.machine.core.setup.in_lane, sim.machine.core.setup.follows) = (true, follows);
    sim
}

fn place(sim: &Sim, wanted: impl Fn(&Effect) -> bool) -> Option<usize> {
    sim.trace.iter().position(wanted)
}

fn is_paused(effect: &Effect) -> bool {
    *effect == Effect::Emit(Event::Paused)
}

/// Has the user say something while the agent is at work in an iteration.
fn steered(sim: &mut Sim, iteration: u32, text: &str) {
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke && fired.iteration == iteration);
    sim.feed(Input::Command(Command::Steer(text.to_owned())));
}

fn last_turns(sim: &Sim) -> Vec<String> {
    sim.prompts().into_iter().filter(|(turn, _)| *turn == Turn::Final).map(|(_, prompt)| prompt).collect()
}

fn warnings(sim: &Sim) -> usize {
    sim.events().filter(|event| matches!(event, Event::Warning { .. })).count()
}

#[test]
fn what_is_done_is_handed_in_before_a_lane_holds() {
    let held = |mut sim: Sim| {
        sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
        sim.feed(Input::Command(Command::Pause));
        sim.go(usize::MAX);
        sim
    };
    let sim = held(lane(2, false));
    assert_eq!(sim.machine.state, State::Paused);
    let closed = place(&sim, |effect| matches!(effect, Effect::Emit(Event::IterationFinished { .. })));
    let (handed_in, paused) = (place(&sim, |effect| *effect == Effect::HandIn), place(&sim, is_paused));
    assert!(
        closed < handed_in && handed_in < paused && closed.is_some(),
        "{closed:?} {handed_in:?} {paused:?}"
    );
    // A single loop has nothing to hand in.
    let sim = held(Sim::new(2));
    assert!(sim.machine.state == State::Paused && !sim.trace.contains(&Effect::HandIn));
}

#[test]
fn a_lane_whose_hold_is_over_once_its_work_is_handed_in_goes_on_or_ends() {
    for (command, reason, prompts) in
        [(Command::Resume, ExitReason::Completed, 2), (Command::Cancel, ExitReason::Cancelled, 1)]
    {
        let mut sim = lane(2, false);
        sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
        sim.feed(Input::Command(Command::Pause));
        sim.go_until_it(|machine| machine.state == State::HandIn);
        sim.feed(Input::Command(command));
        let sim = sim.run();
        assert_eq!((sim.report().exit_reason, sim.prompts().len()), (reason, prompts));
        assert_eq!(place(&sim, is_paused), None);
    }
}

#[test]
fn a_lane_says_what_of_the_user_its_agent_was_given() {
    let delivered = |sim: &Sim| {
        let texts = |effect: &Effect| match effect {
            Effect::Delivered(texts) => Some(texts.clone()),
            _ => None,
        };
        sim.trace.iter().filter_map(texts).collect::<Vec<_>>()
    };
    for follows in [false, true] {
        let mut sim = lane(3, follows).agent(|fired, plan| {
            if fired.iteration == 2 && fired.nth == 1 { exits(7) } else { completes_its_task(fired, plan) }
        });
        steered(&mut sim, 1, "use tabs");
        let sim = sim.run();
        // The first call that had it failed.
        assert_eq!(delivered(&sim), [["use tabs"]]);
        let given = sim.prompts().iter().filter(|(_, prompt)| prompt.contains("use tabs")).count();
        assert_eq!((given, last_turns(&sim).len(), sim.report().undelivered), (2, 0, 0));
    }
    let mut alone = Sim::new(2);
    steered(&mut alone, 1, "use tabs");
    assert!(delivered(&alone.run()).is_empty());
}

#[test]
fn what_the_user_says_and_no_prompt_has_only_the_lane_that_leads_gives_in_a_last_turn() {
    for (follows, turns) in [(false, 1), (true, 0)] {
        let mut sim = lane(1, follows);
        steered(&mut sim, 1, "use tabs");
        let sim = sim.run();
        assert_eq!((last_turns(&sim).len(), sim.report().undelivered, warnings(&sim)), (turns, 0, 0));
    }
    // Where the run was ended there is none, and it is told of once.
    for (follows, left) in [(false, 1), (true, 0)] {
        let mut sim = lane(2, follows);
        steered(&mut sim, 1, "use tabs");
        sim.feed(Input::Command(Command::Cancel));
        let sim = sim.run();
        assert_eq!(
            (last_turns(&sim).len(), sim.report().undelivered, warnings(&sim)),
            (0, left, left as usize)
        );
    }
}

#[test]
fn what_agents_of_other_lanes_were_given_is_given_in_no_last_turn() {
    let mut sim = lane(1, false);
    steered(&mut sim, 1, "use tabs");
    sim.feed(Input::Command(Command::Steer("and a newline".to_owned())));
    sim.go_until(|fired| fired.point == HookPoint::SessionStop);
    sim.feed(Input::DeliveredElsewhere(vec!["use tabs".to_owned(), "gone".to_owned()]));
    let sim = sim.run();
    let turns = last_turns(&sim);
    assert!(
        turns.len() == 1 && turns[0].contains("and a newline") && !turns[0].contains("use tabs"),
        "{turns:?}"
    );
    assert_eq!((sim.report().undelivered, warnings(&sim)), (0, 0));
}

#[test]
fn leader_reopens_completion_of_another_task() {
    let mut sim = lane(2, false);
    sim.machine.core.setup.completes = Completes::OwnTask;
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.feed(edited("2"));
    let reasons = vec!["an edit of prd.toon completed it".to_owned()];
    assert!(sim.trace.contains(&Effect::Reopen { tasks: vec![id("2")], reasons: reasons.clone() }));
    assert!(
        sim.events()
            .any(|event| *event == Event::TasksTakenBack { tasks: vec![id("2")], reasons: reasons.clone() })
    );
    assert!(!sim.events().any(|event| matches!(event, Event::TaskCompleted { .. })));
    assert_eq!(sim.fired.last().unwrap().point, HookPoint::AgentInvoke, "no hook fires");
    assert_eq!(sim.plan.task(&id("2")).unwrap().status, Status::Pending);
    // The agent of the task itself completes it.
    let sim = sim.run();
    assert_eq!((sim.report().exit_reason, sim.prompts().len()), (ExitReason::Completed, 2));
}

#[test]
fn check_of_merged_work_decides_on_persons_completion() {
    for (passes, prompts) in [(true, 1), (false, 2)] {
        let mut sim = lane(2, false).hook(HookPoint::QualityCheck, move |fired| {
            // The second one is no check of an iteration.
            if passes || fired.nth != 1 { HookReply::default() } else { fails_check("red") }
        });
        sim.machine.core.setup.completes = Completes::OwnTask;
        sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
        sim.completed_by_hand("2");
        let sim = sim.run();
        assert_eq!((sim.report().exit_reason, sim.prompts().len()), (ExitReason::Completed, prompts));
        let taken_back =
            |event: &Event| matches!(event, Event::TasksTakenBack { tasks, .. } if *tasks == [id("2")]);
        assert_eq!(sim.events().any(taken_back), !passes);
    }
}

#[test]
fn leader_reopens_task_skipped_by_edit() {
    for (completes, refuses) in [(Completes::OwnTask, true), (Completes::Plan, false)] {
        let mut sim = lane(2, false);
        sim.machine.core.setup.completes = completes;
        sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
        let Input::PlanChanged(changed) = skipped("2") else { unreachable!() };
        sim.feed(Input::PlanChanged(PlanChanged { actor: Actor::External, ..changed }));
        let status = if refuses { Status::Pending } else { Status::Skipped };
        assert_eq!(sim.plan.task(&id("2")).unwrap().status, status);
        let sim = sim.run();
        assert_eq!(sim.prompts().len(), if refuses { 2 } else { 1 });
    }
}

#[test]
fn resume_reopens_tasks_skipped_by_edit() {
    for (completes, began, refuses) in
        [(Completes::OwnTask, true, true), (Completes::OwnTask, false, false), (Completes::Plan, true, false)]
    {
        let mut sim = Sim::new(2);
        sim.machine.core.setup.completes = completes;
        sim.go_until(|fired| fired.point == HookPoint::SessionStart);
        // An agent skips it and kills the run.
        let task = sim.plan.tasks.iter_mut().find(|task| task.id == id("2")).unwrap();
        task.status = Status::Skipped;
        let (completed, skipped) = (Vec::new(), vec![id("2")]);
        sim.resume(Input::Resume { completed, skipped, committed: false, began });
        let sim = sim.run();
        assert_eq!(sim.prompts().len(), if refuses { 2 } else { 1 }, "{completes:?} {began}");
        let taken_back =
            |event: &Event| matches!(event, Event::TasksTakenBack { tasks, .. } if *tasks == [id("2")]);
        assert_eq!(sim.events().any(taken_back), refuses);
    }
}
