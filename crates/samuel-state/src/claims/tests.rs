#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{NewTask, Parts, TaskEdit, apply};
use samuel_model::{Plan, Priority, ProgressStatus, Task, Usage, payload::Mode};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A plan that counts its revisions as a store does.
#[derive(Clone)]
struct Counted(Plan);

impl Counted {
    /// Tasks 1 and 2, and 3, which waits for 1.
    fn new() -> Self {
        let mut tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        tasks[2].depends_on = vec![TaskId::new("1")];
        Self(Plan { tasks, revision: 1, ..Plan::default() })
    }

    fn change(&mut self, mutation: Mutation) -> Result<TaskChange, StateError> {
        let change = apply(&mut self.0, &mutation, NOW)?;
        self.0.revision += u64::from(change != TaskChange::Unchanged);
        Ok(change)
    }

    fn claim(&mut self, of: &str) -> Result<u64, StateError> {
        self.change(Mutation::Claim { task: of.parse().unwrap(), worker: "lane-1".to_owned() })?;
        Ok(self.0.revision)
    }

    fn submit(&mut self, id: &str, token: u64, commit: &str) -> Result<TaskChange, StateError> {
        self.change(Mutation::Submit {
            task: TaskId::new(id),
            token,
            branch: format!("samuel/run/{id}-{token}"),
            commit: commit.to_owned(),
            base: "0000".to_owned(),
            tree: None,
            iteration: Some(7),
        })
    }

    fn landing(&mut self, role: u64, claims: &[(&str, u64, &str)]) -> Result<TaskChange, StateError> {
        let claims = claims.iter().map(|(id, token, commit)| LandingClaim {
            task: TaskId::new(*id),
            token: *token,
            commit: (*commit).to_owned(),
            landed: format!("{commit}ff"),
        });
        self.change(Mutation::Landing {
            role,
            into: "main".to_owned(),
            old: "0000".to_owned(),
            new: "ffff".to_owned(),
            claims: claims.collect(),
        })
    }

    fn release(&mut self, of: &str, token: u64, reason: ReleaseReason) -> Result<TaskChange, StateError> {
        self.change(Mutation::Release { task: of.parse().unwrap(), token, reason, kept: None })
    }

    fn task(&self, id: &str) -> &Task {
        self.0.task(&TaskId::new(id)).unwrap()
    }

    fn row(&self, of: &str) -> Option<&Claim> {
        self.0.claim(&of.parse().unwrap())
    }
}

#[test]
fn reopened_skip_gets_no_new_attempts() {
    let mut plan = Counted::new();
    let token = plan.claim("1").unwrap();
    plan.release("1", token, ReleaseReason::Failed { reason: "red".to_owned() }).unwrap();
    // An edit of prd.toon.
    plan.0.tasks[0].status = Status::Skipped;
    let ids = vec![TaskId::new("1")];
    plan.change(Mutation::TakeBack { ids, failures: Vec::new() }).unwrap();
    assert_eq!(plan.task("1").status, Status::Pending);
    assert!(plan.row("1").is_some());
    plan.change(Mutation::Reset { id: TaskId::new("1") }).unwrap();
    assert!(plan.row("1").is_none());
}

fn conflict() -> ReleaseReason {
    ReleaseReason::Conflict { files: vec!["a.rs".to_owned()] }
}

fn red() -> ReleaseReason {
    ReleaseReason::Checks { failures: vec!["red".to_owned()] }
}

#[test]
fn a_task_is_claimed_submitted_and_completed_once_it_has_landed() {
    let mut plan = Counted::new();
    let (token, role) = (plan.claim("1").unwrap(), plan.claim("@merge").unwrap());
    assert_eq!(
        (token, plan.task("1").status, plan.task("1").owner.as_deref()),
        (2, Status::InProgress, Some("lane-1"))
    );
    plan.submit("1", token, "abcd").unwrap();
    assert_eq!(plan.task("1").status, Status::InProgress, "submitted is not completed");
    plan.landing(role, &[("1", token, "abcd")]).unwrap();
    assert_eq!(plan.task("1").status, Status::InProgress, "nor is what may have landed");
    assert_eq!(plan.row("@merge").unwrap().commit.as_deref(), Some("ffff"));
    let change = plan.change(Mutation::Land { role, unchanged: Vec::new() }).unwrap();
    assert!(change.completed().eq([&TaskId::new("1")]), "{change:?}");
    let task = plan.task("1");
    assert_eq!(
        (task.status, task.commit_sha.as_deref(), &task.owner),
        (Status::Completed, Some("abcdff"), &None)
    );
    assert_eq!((plan.row("1"), plan.0.progress.completed_tasks), (None, 1));
    assert_eq!(
        plan.row("@merge").map(|claim| (claim.phase, claim.commit.clone())),
        Some((ClaimPhase::Working, None))
    );
    plan.claim("3").unwrap();
}

#[test]
fn a_merged_task_keeps_the_iteration_that_submitted_it() {
    let mut plan = Counted::new();
    let (token, role) = (plan.claim("1").unwrap(), plan.claim("@merge").unwrap());
    plan.submit("1", token, "abcd").unwrap();
    plan.release("1", token, ReleaseReason::Lost).unwrap();
    assert_eq!(plan.task("1").iteration, None, "it was not merged");
    let token = plan.claim("1").unwrap();
    plan.submit("1", token, "abce").unwrap();
    plan.landing(role, &[("1", token, "abce")]).unwrap();
    plan.change(Mutation::Land { role, unchanged: Vec::new() }).unwrap();
    assert_eq!((plan.task("1").status, plan.task("1").iteration), (Status::Completed, Some(7)));
}

#[test]
fn what_names_another_token_than_the_present_one_is_void() {
    let mut plan = Counted::new();
    let first = plan.claim("1").unwrap();
    plan.release("1", first, ReleaseReason::Lost).unwrap();
    let late = plan.submit("1", first, "abcd").unwrap_err();
    assert_eq!(late.to_string(), "the claim 2 of task 1 is void: nobody has it any more");
    let second = plan.claim("1").unwrap();
    let late = plan.submit("1", first, "abcd").unwrap_err();
    assert_eq!(
        late.to_string(),
        format!("the claim 2 of task 1 is void: claim {second} has taken its place")
    );
    let late = plan.release("1", first, ReleaseReason::Stopped).unwrap_err();
    assert!(matches!(late, StateError::ClaimVoid { now: Some(now), .. } if now == second), "{late:?}");
    plan.submit("1", second, "abcd").unwrap();
    let role = plan.claim("@merge").unwrap();
    assert!(plan.landing(role, &[("1", first, "abcd")]).is_err());
    assert!(plan.landing(second, &[("1", second, "abcd")]).is_err(), "the token of another claim");
    assert!(plan.landing(role, &[("1", second, "abce")]).is_err(), "another commit");
    plan.landing(role, &[("1", second, "abcd")]).unwrap();
    assert!(plan.change(Mutation::Land { role: role + 1, unchanged: Vec::new() }).is_err());
    assert!(plan.change(Mutation::Drop { role: first, reason: String::new() }).is_err());
}

#[test]
fn the_last_attempt_blocks_the_task_by_the_change_that_releases_it() {
    let mut plan = Counted::new();
    let token = plan.claim("1").unwrap();
    plan.submit("1", token, "abcd").unwrap();
    let last = ReleaseReason::Exhausted { attempts: 3, last: Box::new(red()) };
    let change = plan.release("1", token, last).unwrap();
    let id = TaskId::new("1");
    assert_eq!(change, TaskChange::Task { id, from: Status::InProgress, to: Status::Blocked });
    let task = plan.task("1");
    let why = "3 attempts did not land; the last one: the checks failed with it: red";
    assert_eq!((task.skip_reason.as_deref(), &task.owner), (Some(why), &None));
    let row = plan.row("1").unwrap();
    assert_eq!((row.phase, row.branch.as_deref()), (ClaimPhase::Released, Some("samuel/run/1-2")));
}

#[test]
fn work_that_is_submitted_again_while_it_is_landing_changes_nothing() {
    let mut plan = Counted::new();
    let (token, role) = (plan.claim("1").unwrap(), plan.claim("@merge").unwrap());
    plan.submit("1", token, "abcd").unwrap();
    plan.landing(role, &[("1", token, "abcd")]).unwrap();
    assert_eq!(plan.submit("1", token, "abcd").unwrap(), TaskChange::Unchanged);
    assert!(matches!(plan.submit("1", token, "abce"), Err(StateError::ClaimPhase { .. })));
}

#[test]
fn a_branch_is_refused_of_which_the_row_could_not_be_read_again() {
    let mut plan = Counted::new();
    let (token, role) = (plan.claim("1").unwrap(), plan.claim("@merge").unwrap());
    let refused = |change: Result<TaskChange, StateError>| {
        matches!(change, Err(StateError::TaskInvalid { source: InvalidTask::Branch, .. }))
    };
    let submit = |branch: String| Mutation::Submit {
        task: TaskId::new("1"),
        token,
        branch,
        commit: "abcd".to_owned(),
        base: "0000".to_owned(),
        tree: None,
        iteration: None,
    };
    for name in [String::new(), "a\nb".to_owned(), "x".repeat(1_001)] {
        assert!(refused(plan.change(submit(name.clone()))), "{name}");
        let kept = Some(name.clone());
        let (task, reason) = (TaskId::new("1").into(), ReleaseReason::Lost);
        assert!(refused(plan.change(Mutation::Release { task, token, reason, kept })), "{name}");
    }
    plan.change(submit("x".repeat(1_000))).unwrap();
    let claims = vec![LandingClaim {
        task: TaskId::new("1"),
        token,
        commit: "abcd".to_owned(),
        landed: "abcdff".to_owned(),
    }];
    let (old, new) = ("0000".to_owned(), "ffff".to_owned());
    assert!(refused(plan.change(Mutation::Landing { role, into: "x".repeat(1_001), old, new, claims })));
}

#[test]
fn what_is_being_landed_by_nobodys_landing_can_be_given_back() {
    let mut plan = Counted::new();
    let (token, role) = (plan.claim("1").unwrap(), plan.claim("@merge").unwrap());
    plan.submit("1", token, "abcd").unwrap();
    plan.landing(role, &[("1", token, "abcd")]).unwrap();
    assert!(matches!(plan.release("1", token, ReleaseReason::Lost), Err(StateError::Landing { .. })));
    // Somebody took the row of the role out of the file.
    plan.0.claims.retain(|claim| claim.task.task().is_some());
    plan.release("1", token, ReleaseReason::Lost).unwrap();
    assert_eq!(plan.task("1").status, Status::Pending);
}

#[test]
fn a_task_has_one_claim_and_waits_for_what_it_depends_on() {
    let mut plan = Counted::new();
    let told = |error: StateError| error.to_string();
    assert_eq!(told(plan.claim("3").unwrap_err()), "task 3 waits for 1 and cannot be claimed");
    assert_eq!(told(plan.claim("9").unwrap_err()), "there is no task 9");
    plan.claim("1").unwrap();
    assert_eq!(told(plan.claim("1").unwrap_err()), "task 1 is claimed by lane-1 since 1970-01-01T00:00:00Z");
    plan.claim("@discover").unwrap();
    assert!(plan.claim("@discover").is_err());
    // A part of a group waits for what the group waits for, and the group is nobody's.
    for (id, parent) in [("4", None), ("4.1", Some("4"))] {
        let parent_id = parent.map(TaskId::new);
        let depends_on = if parent.is_none() { vec![TaskId::new("1")] } else { Vec::new() };
        let task = Task { parent_id, depends_on, ..Task::new(TaskId::new(id), "t") };
        plan.change(Mutation::Add { task: Box::new(task) }).unwrap();
    }
    assert_eq!(told(plan.claim("4.1").unwrap_err()), "task 4.1 waits for 1 and cannot be claimed");
    assert!(matches!(plan.claim("4"), Err(StateError::IsGroup { .. })));
    plan.change(Mutation::Done { id: TaskId::new("1"), commit_sha: None, iteration: None }).unwrap();
    plan.claim("4.1").unwrap();
    plan.change(Mutation::StartTask { id: TaskId::new("2"), owner: Some("run".to_owned()) }).unwrap();
    assert!(matches!(plan.claim("2"), Err(StateError::NotStartable { status: Status::InProgress, .. })));
}

#[test]
fn attempts_that_failed_count_and_those_that_were_cut_off_do_not() {
    let mut plan = Counted::new();
    let attempt = |plan: &Counted| plan.row("1").map(|claim| (claim.attempt, claim.phase));
    let mut token = plan.claim("1").unwrap();
    plan.release("1", token, ReleaseReason::Lost).unwrap();
    assert_eq!(attempt(&plan), None, "there is nothing to be kept");
    token = plan.claim("1").unwrap();
    assert_eq!(attempt(&plan), Some((1, ClaimPhase::Working)));
    plan.submit("1", token, "abcd").unwrap();
    plan.release("1", token, conflict()).unwrap();
    let kept = plan.row("1").unwrap();
    assert_eq!((kept.attempt, kept.phase, &kept.worker), (0, ClaimPhase::Released, &None));
    assert_eq!(kept.branch, Some(format!("samuel/run/1-{token}")), "the work is kept");
    assert_eq!(
        (kept.commit.as_deref(), kept.why.as_deref()),
        (Some("abcd"), Some("it is in conflict in a.rs"))
    );
    assert_eq!(plan.task("1").status, Status::Pending);
    token = plan.claim("1").unwrap();
    assert_eq!(attempt(&plan), Some((1, ClaimPhase::Working)), "a conflict is no attempt");
    plan.release("1", token, red()).unwrap();
    token = plan.claim("1").unwrap();
    assert_eq!(attempt(&plan), Some((2, ClaimPhase::Working)));
    plan.release("1", token, ReleaseReason::Stopped).unwrap();
    assert_eq!(attempt(&plan), Some((1, ClaimPhase::Released)));
    let why = "the checks failed with it: red";
    assert_eq!(plan.row("1").unwrap().why.as_deref(), Some(why), "the last that failed");
    for (reason, why) in [(None, why), (Some("not like this"), "not like this")] {
        token = plan.claim("1").unwrap();
        plan.release("1", token, ReleaseReason::Asked { reason: reason.map(str::to_owned) }).unwrap();
        assert_eq!(plan.row("1").unwrap().why.as_deref(), Some(why), "what a person says counts");
    }
    plan.change(Mutation::Reset { id: TaskId::new("1") }).unwrap();
    assert_eq!(attempt(&plan), None, "a reset begins anew");
}

#[test]
fn keeps_files_of_conflicts_until_reset() {
    let mut plan = Counted::new();
    let files = |plan: &Counted| plan.row("1").map(|claim| claim.files.clone());
    for reason in [conflict(), red(), conflict(), ReleaseReason::Lost] {
        let token = plan.claim("1").unwrap();
        plan.release("1", token, reason).unwrap();
        assert_eq!(files(&plan), Some(vec!["a.rs".to_owned()]));
    }
    plan.claim("1").unwrap();
    assert_eq!(files(&plan), Some(vec!["a.rs".to_owned()]), "also while somebody works on it");
    plan.change(Mutation::Reset { id: TaskId::new("1") }).unwrap();
    assert_eq!(files(&plan), None);
}

#[test]
fn work_whose_landing_is_withdrawn_waits_since_it_was_submitted() {
    let mut plan = Counted::new();
    let token = plan.claim("1").unwrap();
    plan.submit("1", token, "abcd").unwrap();
    let role = plan.claim("@merge").unwrap();
    plan.landing(role, &[("1", token, "abcd")]).unwrap();
    let later = Timestamp::from_second(60).unwrap();
    apply(&mut plan.0, &Mutation::Drop { role, reason: "a file is in the way".to_owned() }, later).unwrap();
    let claim = plan.row("1").unwrap();
    assert_eq!((claim.phase, claim.since), (ClaimPhase::Submitted, NOW));
}

#[test]
fn whoever_settles_a_claimed_task_takes_the_claim_away() {
    let id = || TaskId::new("1");
    let done = Mutation::Done { id: id(), commit_sha: None, iteration: None };
    let changes = [
        done,
        Mutation::Skip { id: id(), reason: None },
        Mutation::Reset { id: id() },
        Mutation::Block { id: id(), reason: None },
        Mutation::Enqueue { task: NewTask { parent_id: Some(id()), ..NewTask::new("a part") } },
    ];
    for change in changes {
        let mut plan = Counted::new();
        let token = plan.claim("1").unwrap();
        plan.change(change.clone()).unwrap();
        assert_eq!(plan.row("1"), None, "{}", change.name());
        assert!(
            matches!(plan.submit("1", token, "abcd"), Err(StateError::ClaimVoid { .. })),
            "{}",
            change.name()
        );
    }
    let mut plan = Counted::new();
    plan.claim("2").unwrap();
    plan.change(Mutation::Remove { ids: vec![TaskId::new("2")], parts: Parts::Refuse }).unwrap();
    assert_eq!(plan.0.claims, []);
    // What only says something else of it does not.
    plan.claim("1").unwrap();
    let edit = TaskEdit { priority: Some(Priority::Low), ..TaskEdit::default() };
    plan.change(Mutation::Edit { id: id(), edit: Box::new(edit) }).unwrap();
    assert!(plan.row("1").is_some());
    // Nor does a loop that does not know of claims.
    let back = plan.change(Mutation::ReturnToPending { id: id() }).unwrap();
    assert_eq!((back, plan.task("1").status), (TaskChange::Unchanged, Status::InProgress));
    let start = |owner: &str| Mutation::StartTask { id: id(), owner: Some(owner.to_owned()) };
    assert!(matches!(plan.change(start("run-2")), Err(StateError::Claimed { .. })));
    plan.change(start("lane-1")).unwrap();
}

#[test]
fn nobody_settles_what_may_have_landed_but_whoever_lands_it() {
    let mut plan = Counted::new();
    let (token, role) = (plan.claim("1").unwrap(), plan.claim("@merge").unwrap());
    plan.submit("1", token, "abcd").unwrap();
    plan.landing(role, &[("1", token, "abcd")]).unwrap();
    let id = || TaskId::new("1");
    let add_part = NewTask { parent_id: Some(id()), ..NewTask::new("a part") };
    for change in [
        Mutation::Done { id: id(), commit_sha: None, iteration: None },
        Mutation::Skip { id: id(), reason: None },
        Mutation::Reset { id: id() },
        Mutation::Block { id: id(), reason: None },
        Mutation::Enqueue { task: add_part },
        Mutation::Release { task: id().into(), token, reason: ReleaseReason::Lost, kept: None },
    ] {
        let before = plan.0.clone();
        let refused = plan.change(change.clone()).unwrap_err();
        assert!(matches!(refused, StateError::Landing { .. }), "{}: {refused}", change.name());
        assert_eq!(plan.0, before, "{}", change.name());
    }
    plan.change(Mutation::Skip { id: TaskId::new("2"), reason: None }).unwrap();
    // Whoever merges is gone; the next one finds what was being landed.
    plan.release("@merge", role, ReleaseReason::Lost).unwrap();
    assert!(plan.change(Mutation::Land { role, unchanged: Vec::new() }).is_err());
    let next = plan.claim("@merge").unwrap();
    let found = plan.row("@merge").unwrap();
    assert_eq!((found.phase, found.commit.as_deref()), (ClaimPhase::Landing, Some("ffff")));
    plan.change(Mutation::Drop { role: next, reason: "it has not landed".to_owned() }).unwrap();
    let back = plan.row("1").unwrap();
    assert_eq!(
        (back.phase, back.commit.as_deref(), &back.landed),
        (ClaimPhase::Submitted, Some("abcd"), &None)
    );
    assert_eq!(plan.row("@merge").unwrap().phase, ClaimPhase::Working);
    plan.landing(next, &[("1", token, "abcd")]).unwrap();
    plan.change(Mutation::Land { role: next, unchanged: Vec::new() }).unwrap();
    assert_eq!(plan.task("1").status, Status::Completed);
}

#[test]
fn to_submit_the_same_again_changes_nothing_and_something_else_is_refused() {
    let mut plan = Counted::new();
    let token = plan.claim("1").unwrap();
    plan.submit("1", token, "abcd").unwrap();
    assert_eq!(plan.submit("1", token, "abcd").unwrap(), TaskChange::Unchanged);
    assert!(matches!(plan.submit("1", token, "abce"), Err(StateError::ClaimPhase { .. })));
    let mut plan = Counted::new();
    let token = plan.claim("1").unwrap();
    for bad in ["", "HEAD", "--upload-pack=x"] {
        assert!(matches!(plan.submit("1", token, bad), Err(StateError::TaskInvalid { .. })), "{bad}");
    }
    let role = plan.claim("@merge").unwrap();
    assert!(plan.landing(role, &[]).is_err(), "nothing lands");
    assert!(plan.change(Mutation::Land { role, unchanged: Vec::new() }).is_err(), "nothing is being landed");
}

/// A step that somebody takes, right or wrong, early or late.
#[derive(Clone, Debug)]
enum Step {
    Claim(usize),
    Submit(usize, u64),
    Release(usize, u64, bool),
    Role,
    ReleaseRole(u64),
    Landing(u64, Vec<(usize, u64)>),
    Land(u64),
    Drop(u64),
    Done(usize),
    Skip(usize),
    Reset(usize),
}

const IDS: [&str; 3] = ["1", "2", "3"];

fn step() -> impl Strategy<Value = Step> {
    let (task, token) = (0..IDS.len(), 1..14u64);
    prop_oneof![
        4 => task.clone().prop_map(Step::Claim),
        4 => (task.clone(), token.clone()).prop_map(|(task, token)| Step::Submit(task, token)),
        1 => (task.clone(), token.clone(), any::<bool>()).prop_map(|(task, token, counts)| Step::Release(task, token, counts)),
        2 => Just(Step::Role),
        1 => token.clone().prop_map(Step::ReleaseRole),
        4 => (token.clone(), vec((task.clone(), token.clone()), 1..3)).prop_map(|(role, claims)| Step::Landing(role, claims)),
        2 => token.clone().prop_map(Step::Land),
        1 => token.prop_map(Step::Drop),
        1 => task.clone().prop_map(Step::Done),
        1 => task.clone().prop_map(Step::Skip),
        1 => task.prop_map(Step::Reset),
    ]
}

impl Counted {
    fn take(&mut self, step: &Step) -> Result<TaskChange, StateError> {
        let id = |place: &usize| TaskId::new(IDS[*place]);
        match step {
            Step::Claim(task) => self.claim(IDS[*task]).map(|_| TaskChange::Progress),
            Step::Submit(task, token) => self.submit(IDS[*task], *token, "abcd"),
            Step::Release(task, token, counts) => {
                self.release(IDS[*task], *token, if *counts { red() } else { conflict() })
            }
            Step::Role => self.claim("@merge").map(|_| TaskChange::Progress),
            Step::ReleaseRole(token) => self.release("@merge", *token, ReleaseReason::Lost),
            Step::Landing(role, claims) => {
                let claims: Vec<_> =
                    claims.iter().map(|(task, token)| (IDS[*task], *token, "abcd")).collect();
                self.landing(*role, &claims)
            }
            Step::Land(role) => self.change(Mutation::Land { role: *role, unchanged: Vec::new() }),
            Step::Drop(role) => self.change(Mutation::Drop { role: *role, reason: String::new() }),
            Step::Done(task) => {
                self.change(Mutation::Done { id: id(task), commit_sha: None, iteration: None })
            }
            Step::Skip(task) => self.change(Mutation::Skip { id: id(task), reason: None }),
            Step::Reset(task) => self.change(Mutation::Reset { id: id(task) }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn whatever_is_asked_for_claims_hold_together(steps in vec(step(), 0..40)) {
        let mut plan = Counted::new();
        for step in steps {
            let before = plan.0.clone();
            if plan.take(&step).is_err() {
                prop_assert_eq!(&plan.0, &before, "{:?}", step);
                continue;
            }
            let claims = &plan.0.claims;
            for claim in claims {
                prop_assert_eq!(claims.iter().filter(|other| other.task == claim.task).count(), 1);
                let Some(id) = claim.task.task() else { continue };
                let status = plan.task(id.as_str()).status;
                prop_assert_eq!(claim.is_live(), status == Status::InProgress, "{:?} {:?}", step, claim);
                prop_assert_eq!(claim.worker.is_some(), claim.is_live());
            }
            // What was landing is landing, has landed, or waits again.
            for claim in before.claims.iter().filter(|claim| claim.is_landing()) {
                let Some(id) = claim.task.task() else { continue };
                let now = plan.row(id.as_str()).map(|now| (now.token, now.phase));
                let landed = plan.task(id.as_str()).commit_sha.as_deref() == Some("abcdff");
                let waits = now == Some((claim.token, ClaimPhase::Submitted));
                prop_assert!(landed || waits || now == Some((claim.token, ClaimPhase::Landing)), "{:?}", step);
            }
            // A dependent is begun once what it waits for is settled.
            if plan.task("3").status == Status::InProgress && before.task(&TaskId::new("3")).unwrap().status == Status::Pending {
                prop_assert!(plan.task("1").is_settled());
            }
        }
    }
}

#[test]
fn a_look_for_tasks_by_one_lane_lasts_until_its_own_iteration_ends_or_the_run_does() {
    let mut plan = Counted::new();
    let room = |plan: &Counted| plan.0.progress.discovery_room;
    let commit =
        |mode| Mutation::CommitIteration { iteration: 1, mode, usage: Usage::default(), credits: Vec::new() };
    let status = |status| Mutation::SetProgressStatus { status };
    for ends in [commit(Mode::Discovery), status(ProgressStatus::Stopped)] {
        let token = plan.claim("@discover").unwrap();
        plan.change(Mutation::BeginDiscovery { room: 5 }).unwrap();
        plan.change(commit(Mode::Implementation)).unwrap();
        plan.change(status(ProgressStatus::Running)).unwrap();
        assert_eq!(plan.change(status(ProgressStatus::Running)).unwrap(), TaskChange::Unchanged);
        assert_eq!(room(&plan), Some(5));
        plan.change(ends).unwrap();
        assert_eq!(room(&plan), None);
        plan.release("@discover", token, ReleaseReason::Stopped).unwrap();
    }
    // Without lanes whatever comes next ends it.
    for ends in [commit(Mode::Implementation), status(ProgressStatus::Running)] {
        plan.change(Mutation::BeginDiscovery { room: 5 }).unwrap();
        plan.change(ends).unwrap();
        assert_eq!(room(&plan), None);
    }
}
