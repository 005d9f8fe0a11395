//! Single decisions of the machine.

use std::num::{NonZeroU32, NonZeroUsize};

use jiff::Timestamp;

use super::super::*;
use crate::{
    model::{Claim, ClaimPhase, Plan, Priority, QueuePlace, Role, Task, TaskId},
    state::{Mutation, apply},
};

fn key(id: u64) -> ClaimKey {
    ClaimKey { task: TaskId::new(id.to_string()), token: id }
}

fn work(id: u64) -> Submission {
    Submission {
        key: key(id),
        branch: format!("samuel/run/{id}-{id}"),
        commit: format!("c00{id}"),
        base: "0000".to_owned(),
        tree: None,
        attempt: 1,
        is_critical: false,
        since: Timestamp::UNIX_EPOCH,
    }
}

fn merged(ids: &[u64]) -> Built {
    let merged = |id: &u64| MergedWork {
        key: key(*id),
        commit: format!("c00{id}"),
        landed: format!("d00{id}"),
        tree: format!("e00{id}"),
    };
    Built { base: "0000".to_owned(), merged: ids.iter().map(merged).collect(), ..Built::default() }
}

fn setup() -> MergeSetup {
    MergeSetup {
        role: 99,
        into: "main".to_owned(),
        batch: NonZeroUsize::new(4).unwrap(),
        max_attempts: NonZeroU32::new(3),
        is_alone: false,
    }
}

/// A machine that looked at a queue, with what it builds.
fn looked(queue: Vec<Submission>) -> (MergeMachine, Vec<u64>) {
    let mut machine = MergeMachine::new(setup());
    assert_eq!(machine.step(MergeInput::Wake), MergeEffect::Look);
    let built = builds(machine.step(MergeInput::Queue(Queue { submissions: queue, landing: None })));
    (machine, built)
}

fn builds(effect: MergeEffect) -> Vec<u64> {
    match effect {
        MergeEffect::Build { submissions, .. } => submissions.iter().map(|work| work.key.token).collect(),
        other => panic!("{other:?}"),
    }
}

fn red() -> MergeInput {
    MergeInput::Checked(vec!["tests failed".to_owned()])
}

/// Says what a change does, in a word.
fn change(effect: &MergeEffect) -> String {
    match effect {
        MergeEffect::Change(Mutation::Release { task, reason, .. }) => format!("release {task}: {reason}"),
        MergeEffect::Change(Mutation::Landing { claims, old, new, .. }) => {
            format!("landing {} {old}..{new}", claims.len())
        }
        MergeEffect::Change(change) => change.name().to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn four_are_taken_the_critical_ones_first_and_then_those_that_wait_longest() {
    let ids = ["1", "2", "3"];
    let mut plan = Plan { tasks: ids.map(|id| Task::new(TaskId::new(id), "t")).to_vec(), ..Plan::default() };
    plan.tasks[2].priority = Priority::Critical;
    for (second, id) in ["2", "1", "3"].into_iter().enumerate() {
        let now = Timestamp::from_second(i64::try_from(second).unwrap()).unwrap();
        let task = TaskId::new(id);
        let claim = Mutation::Claim { task: task.clone().into(), worker: "lane".to_owned() };
        apply(&mut plan, &claim, now).unwrap();
        let (token, commit, base) = (plan.claims.last().unwrap().token, "abcd".to_owned(), "0000".to_owned());
        let submit = Mutation::Submit {
            task,
            token,
            branch: "b".to_owned(),
            commit,
            base,
            tree: None,
            iteration: None,
        };
        apply(&mut plan, &submit, now).unwrap();
    }
    apply(
        &mut plan,
        &Mutation::Claim { task: Role::Merge.into(), worker: "m".to_owned() },
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    let queue = Queue::of(&plan);
    let order: Vec<&str> = queue.submissions.iter().map(|work| work.key.task.as_str()).collect();
    assert_eq!((order, queue.landing), (vec!["3", "2", "1"], None));
    assert_eq!(looked((1..=6).map(work).collect()).1, [1, 2, 3, 4]);
}

#[test]
fn a_batch_that_passes_lands_at_once() {
    let (mut machine, _) = looked(vec![work(1), work(2)]);
    let check = MergeEffect::Check { commit: "d002".to_owned(), tree: "e002".to_owned() };
    assert_eq!(machine.step(MergeInput::Built(merged(&[1, 2]))), check);
    assert_eq!(machine.place(&key(1)), QueuePlace::Checking);
    assert_eq!(change(&machine.step(MergeInput::Checked(Vec::new()))), "landing 2 0000..d002");
    assert_eq!(machine.place(&key(1)), QueuePlace::Landing);
    assert!(matches!(machine.step(MergeInput::Changed(Ok(()))), MergeEffect::Move(_)));
    assert_eq!(change(&machine.step(MergeInput::Moved(Moved::Done))), "land");
    assert_eq!(machine.step(MergeInput::Changed(Ok(()))), MergeEffect::Look);
}

#[test]
fn of_a_batch_that_fails_twice_the_culprit_alone_goes_back() {
    let (mut machine, _) = looked((1..=4).map(work).collect());
    let queue = |ids: &[u64]| {
        MergeInput::Queue(Queue { submissions: ids.iter().copied().map(work).collect(), landing: None })
    };
    machine.step(MergeInput::Built(merged(&[1, 2, 3, 4])));
    assert!(matches!(machine.step(red()), MergeEffect::Check { .. }), "once more whole");
    assert_eq!(machine.step(red()), MergeEffect::Look);
    assert_eq!(machine.place(&key(4)), QueuePlace::Suspect);
    assert_eq!(builds(machine.step(queue(&[1, 2, 3, 4, 5]))), [1, 2], "a half, and no others");
    machine.step(MergeInput::Built(merged(&[1, 2])));
    assert!(change(&machine.step(MergeInput::Checked(Vec::new()))).starts_with("landing 2"));
    machine.step(MergeInput::Changed(Ok(())));
    machine.step(MergeInput::Moved(Moved::Done));
    machine.step(MergeInput::Changed(Ok(())));
    assert_eq!(builds(machine.step(queue(&[3, 4, 5]))), [3, 4]);
    machine.step(MergeInput::Built(merged(&[3, 4])));
    assert_eq!(machine.step(red()), MergeEffect::Look, "a half fails once");
    assert_eq!(builds(machine.step(queue(&[3, 4, 5]))), [3]);
    machine.step(MergeInput::Built(merged(&[3])));
    assert!(matches!(machine.step(red()), MergeEffect::Check { .. }), "nobody is blamed for one failure");
    assert_eq!(change(&machine.step(red())), "release 3: the checks failed with it: tests failed");
    assert_eq!(machine.step(MergeInput::Changed(Ok(()))), MergeEffect::Look);
    assert_eq!(builds(machine.step(queue(&[4, 5]))), [4]);
}

#[test]
fn what_is_in_conflict_with_the_branch_goes_back_and_with_others_it_waits() {
    let (mut machine, _) = looked((1..=3).map(work).collect());
    let conflict =
        |id, is_with_branch| Conflict { key: key(id), files: vec!["a.rs".to_owned()], is_with_branch };
    let built = Built { conflicts: vec![conflict(1, true), conflict(3, false)], ..merged(&[2]) };
    assert_eq!(change(&machine.step(MergeInput::Built(built))), "release 1: it is in conflict in a.rs");
    assert_eq!(machine.place(&key(1)), QueuePlace::Waits, "the change is on its way");
    assert!(
        matches!(machine.step(MergeInput::Changed(Ok(()))), MergeEffect::Check { .. }),
        "the innocent goes on"
    );
    assert_eq!(machine.place(&key(3)), QueuePlace::Waits);
}

#[test]
fn conflict_is_never_the_last_attempt() {
    let (mut machine, _) = looked(vec![Submission { attempt: 3, ..work(1) }]);
    let conflict = Conflict { key: key(1), files: vec!["a.rs".to_owned()], is_with_branch: true };
    let built = Built { base: "0000".to_owned(), conflicts: vec![conflict], ..Built::default() };
    let back = machine.step(MergeInput::Built(built));
    assert!(
        matches!(&back, MergeEffect::Change(Mutation::Release { reason, .. }) if !reason.blocks()),
        "{back:?}"
    );
}

#[test]
fn work_on_lost_commit_goes_back_without_attempt() {
    let (mut machine, _) = looked((1..=2).map(|id| Submission { attempt: 3, ..work(id) }).collect());
    let built = Built { moved_back: vec![key(1)], ..merged(&[2]) };
    let back = machine.step(MergeInput::Built(built));
    assert_eq!(change(&back), "release 1: the branch no longer has the commit that it began at");
    assert!(
        matches!(&back, MergeEffect::Change(Mutation::Release { reason, .. }) if !reason.counts()),
        "{back:?}"
    );
    assert!(matches!(machine.step(MergeInput::Changed(Ok(()))), MergeEffect::Check { .. }));
}

#[test]
fn one_whose_attempts_are_used_up_is_blocked_by_the_change_that_gives_it_back() {
    for released in [Ok(()), Err(ClaimRefusal::Void)] {
        let (mut machine, _) = looked(vec![Submission { attempt: 3, ..work(1) }]);
        let refused = vec![RefusedSubmission { key: key(1), reason: "it changes samuel.toml".to_owned() }];
        let built = Built { base: "0000".to_owned(), refused, ..Built::default() };
        let back = machine.step(MergeInput::Built(built));
        assert_eq!(change(&back), "release 1: 3 attempts did not land; the last one: it changes samuel.toml");
        assert!(matches!(&back, MergeEffect::Change(Mutation::Release { reason, .. }) if reason.blocks()));
        assert_eq!(machine.step(MergeInput::Changed(released)), MergeEffect::Look, "nothing comes after it");
    }
}

#[test]
fn a_tree_that_has_passed_is_not_checked_again() {
    let checked = Submission { tree: Some("e001".to_owned()), ..work(1) };
    let (mut machine, _) = looked(vec![checked]);
    assert!(change(&machine.step(MergeInput::Built(merged(&[1])))).starts_with("landing 1"));
    // Somebody pushed: what was built is built anew, and the same tree has passed still.
    machine.step(MergeInput::Changed(Ok(())));
    assert!(matches!(machine.step(MergeInput::Moved(Moved::Stale)), MergeEffect::Ask(_)));
    assert_eq!(machine.place(&key(1)), QueuePlace::Landing);
    assert_eq!(change(&machine.step(MergeInput::Stands(BranchStanding::Elsewhere))), "drop");
    assert_eq!(machine.step(MergeInput::Changed(Ok(()))), MergeEffect::Look);
    assert_eq!(
        builds(machine.step(MergeInput::Queue(Queue { submissions: vec![work(1)], landing: None }))),
        [1]
    );
    assert!(change(&machine.step(MergeInput::Built(merged(&[1])))).starts_with("landing 1"));
}

#[test]
fn what_is_in_the_way_holds_the_landing_until_it_is_gone() {
    let (mut machine, _) = looked(vec![work(1)]);
    machine.step(MergeInput::Built(merged(&[1])));
    machine.step(MergeInput::Checked(Vec::new()));
    machine.step(MergeInput::Changed(Ok(())));
    let held = Moved::Held { reason: "these files were changed there: a.rs".to_owned() };
    assert_eq!(change(&machine.step(MergeInput::Moved(held))), "drop");
    assert_eq!(machine.step(MergeInput::Changed(Ok(()))), MergeEffect::Wait);
    assert!(machine.held().unwrap().reason.ends_with("a.rs"));
    assert_eq!(machine.place(&key(1)), QueuePlace::Held);
    assert_eq!(machine.step(MergeInput::Wake), MergeEffect::Look);
    assert!(machine.held().is_some(), "it is, until somebody finds the way free");
}

#[test]
fn what_waits_is_neither_built_nor_checked_nor_announced_again_while_nothing_changes() {
    let queue = |ids: &[u64]| {
        let submissions = ids.iter().map(|id| work(*id)).collect();
        MergeInput::Queue(Queue { submissions, landing: None })
    };
    let held = |reason: &str| LandingWay::Held { reason: reason.to_owned() };
    let waiting = || {
        let (mut machine, _) = looked(vec![work(1), work(2)]);
        machine.step(MergeInput::Built(merged(&[1, 2])));
        machine.step(MergeInput::Checked(Vec::new()));
        machine.step(MergeInput::Changed(Ok(())));
        machine.step(MergeInput::Moved(Moved::Held { reason: "a.rs".to_owned() }));
        machine.step(MergeInput::Changed(Ok(())));
        for reason in ["a.rs", "b.rs"] {
            assert_eq!(machine.step(MergeInput::Wake), MergeEffect::Look);
            let tried = machine.step(queue(&[1, 2, 3]));
            let MergeEffect::Try(landing) = tried else { panic!("{tried:?}") };
            assert_eq!((landing.old.as_str(), landing.new.as_str()), ("0000", "d002"));
            assert_eq!(machine.place(&key(2)), QueuePlace::Held);
            assert_eq!(machine.step(MergeInput::Way(held(reason))), MergeEffect::Wait);
            assert_eq!(machine.held().map(|held| held.reason.as_str()), Some(reason));
        }
        machine.step(MergeInput::Wake);
        machine
    };
    let mut machine = waiting();
    machine.step(queue(&[1, 2]));
    assert!(change(&machine.step(MergeInput::Way(LandingWay::Free))).starts_with("landing 2"));
    let mut machine = waiting();
    machine.step(queue(&[1, 2]));
    assert_eq!(machine.step(MergeInput::Way(LandingWay::Stale)), MergeEffect::Look);
    assert_eq!(builds(machine.step(queue(&[1, 2]))), [1, 2], "it is built on what is there now");
    assert_eq!(builds(waiting().step(queue(&[2, 3]))), [2], "somebody dropped the first");
}

#[test]
fn a_landing_that_somebody_else_began_is_held_and_not_given_up() {
    let landing =
        || UnsettledLanding { into: "main".to_owned(), old: "0000".to_owned(), new: "d001".to_owned() };
    let queue = || MergeInput::Queue(Queue { submissions: Vec::new(), landing: Some(landing()) });
    let mut machine = looked(vec![work(1)]).0.resumed(100);
    machine.step(MergeInput::Wake);
    machine.step(queue());
    assert_eq!(machine.step(MergeInput::Stands(BranchStanding::Untouched)), MergeEffect::Move(landing()));
    let held = Moved::Held { reason: "these files were changed there: a.rs".to_owned() };
    assert_eq!(machine.step(MergeInput::Moved(held)), MergeEffect::Wait, "whoever began it may move it yet");
    assert!(machine.held().unwrap().reason.ends_with("a.rs"));
    assert_eq!(machine.step(MergeInput::Wake), MergeEffect::Look);
    assert_eq!(machine.step(queue()), MergeEffect::Ask(landing()));
    assert_eq!(change(&machine.step(MergeInput::Stands(BranchStanding::Landed))), "land");
}

#[test]
fn a_landing_of_somebody_who_is_gone_is_withdrawn_where_something_is_in_the_way() {
    let landing =
        UnsettledLanding { into: "main".to_owned(), old: "0000".to_owned(), new: "d001".to_owned() };
    let mut machine = MergeMachine::new(MergeSetup { is_alone: true, ..setup() });
    machine.step(MergeInput::Wake);
    machine.step(MergeInput::Queue(Queue { submissions: Vec::new(), landing: Some(landing) }));
    machine.step(MergeInput::Stands(BranchStanding::Untouched));
    let held = Moved::Held { reason: "these files were changed there: a.rs".to_owned() };
    assert_eq!(change(&machine.step(MergeInput::Moved(held))), "drop");
    assert_eq!(
        machine.step(MergeInput::Changed(Ok(()))),
        MergeEffect::Wait,
        "and people may drop or hold it"
    );
    assert!(machine.held().unwrap().reason.ends_with("a.rs"));
    assert_eq!(machine.step(MergeInput::Wake), MergeEffect::Look);
    assert_eq!(
        builds(machine.step(MergeInput::Queue(Queue { submissions: vec![work(1)], landing: None }))),
        [1]
    );
}

#[test]
fn a_landing_that_is_stale_because_it_was_made_is_settled_as_landed() {
    let (mut machine, _) = looked(vec![work(1)]);
    machine.step(MergeInput::Built(merged(&[1])));
    machine.step(MergeInput::Checked(Vec::new()));
    machine.step(MergeInput::Changed(Ok(())));
    assert!(matches!(machine.step(MergeInput::Moved(Moved::Stale)), MergeEffect::Ask(_)));
    assert_eq!(change(&machine.step(MergeInput::Stands(BranchStanding::Landed))), "land");
}

#[test]
fn what_nobody_has_any_more_is_not_in_the_queue() {
    let mut claim = Claim {
        phase: ClaimPhase::Submitted,
        branch: Some("b".to_owned()),
        commit: Some("abcd".to_owned()),
        base: Some("0000".to_owned()),
        ..Claim::begun(TaskId::new("1").into(), 7, "lane", Timestamp::UNIX_EPOCH)
    };
    let queue = |claim: &Claim| {
        let tasks = vec![Task::new(TaskId::new("1"), "t")];
        Queue::of(&Plan { tasks, claims: vec![claim.clone()], ..Plan::default() })
    };
    assert_eq!(queue(&claim).submissions.len(), 1);
    claim.worker = None;
    assert_eq!(queue(&claim), Queue::default(), "it would be merged and checked, and never land");
}

#[test]
fn a_landing_that_was_cut_off_is_settled_by_what_the_branch_says() {
    let landing =
        || UnsettledLanding { into: "main".to_owned(), old: "0000".to_owned(), new: "d001".to_owned() };
    for (standing, then) in [(BranchStanding::Landed, "land"), (BranchStanding::Elsewhere, "drop")] {
        let (mut machine, _) = looked(vec![work(1)]);
        machine = machine.resumed(100);
        machine.step(MergeInput::Wake);
        let queue = Queue { submissions: Vec::new(), landing: Some(landing()) };
        assert_eq!(machine.step(MergeInput::Queue(queue)), MergeEffect::Ask(landing()));
        assert_eq!(change(&machine.step(MergeInput::Stands(standing))), then);
    }
    let mut machine = looked(vec![work(1)]).0.resumed(100);
    machine.step(MergeInput::Wake);
    machine.step(MergeInput::Queue(Queue { submissions: Vec::new(), landing: Some(landing()) }));
    assert_eq!(machine.step(MergeInput::Stands(BranchStanding::Untouched)), MergeEffect::Move(landing()));
    assert_eq!(
        machine.step(MergeInput::Moved(Moved::Done)),
        MergeEffect::Change(Mutation::Land { role: 100, unchanged: Vec::new() })
    );
    assert!(matches!(
        machine.step(MergeInput::Changed(Err(ClaimRefusal::RoleLost))),
        MergeEffect::End { .. }
    ));
    assert!(matches!(machine.step(MergeInput::Wake), MergeEffect::End { .. }));
}

#[test]
fn an_answer_to_nothing_that_was_asked_begins_with_a_look() {
    let (mut machine, _) = looked(vec![work(1)]);
    assert_eq!(machine.step(MergeInput::Moved(Moved::Done)), MergeEffect::Look);
}
