//! What a plan does not say of the work that is under way on it.
//!
//! [`WorkUnderWay`] has what is known of those who claimed tasks: which loop is at work here, and which tasks wait for
//! files of others. A run asks nothing of it, since it knows itself; where a project
//! stands and [why](super::TaskChoice) are told with it.
//!
//! Where no loop is at work, lanes that were working on tasks are gone with their run, and the next start frees these:
//! [`WorkUnderWay::freed`] does that to a copy of the plan. What has such work go on, a [`WorkRemedy`] says.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;

use super::WorkRemedy;
use crate::{Mutation, apply};
use samuel_model::{Claim, ClaimPhase, Plan, ReleaseReason, TaskId};

/// The loop that is at work on a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopAtWork {
    /// Whether there is one is not known. The default.
    #[default]
    Unknown,
    /// There is none.
    None,
    /// There is one without lanes, which leaves alone what lanes of earlier runs have submitted.
    WithoutLanes,
    /// There is one with lanes, or one that lands what lanes have submitted.
    WithLanes,
}

impl LoopAtWork {
    /// Says what is at work where a loop is, whose run may be known. What lanes of earlier runs have submitted is
    /// still claimed by these, so only claims of that run tell of its lanes.
    pub fn of_run(run: Option<&str>, plan: &Plan) -> Self {
        let is_of_run = |claim: &Claim| claim.is_live() && claim.run().is_some() && claim.run() == run;
        if plan.claims.iter().any(is_of_run) { Self::WithLanes } else { Self::WithoutLanes }
    }
}

/// What is known beside a plan of who works on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkUnderWay {
    /// The loop that is at work here.
    pub at_work: LoopAtWork,
    /// The tasks that are ready and that no lane takes up, each with what it waits for, in one line.
    pub left_out: BTreeMap<TaskId, String>,
}

impl WorkUnderWay {
    /// Returns the plan as the next start has it: what lanes of runs that are gone were working on is free.
    pub fn freed<'a>(&self, plan: &'a Plan) -> Cow<'a, Plan> {
        let gone: Vec<&Claim> = plan.claims.iter().filter(|claim| self.lane_of(claim).is_some()).collect();
        if gone.is_empty() {
            return Cow::Borrowed(plan);
        }
        let mut freed = plan.clone();
        for claim in gone {
            let (task, reason) = (claim.task.clone(), ReleaseReason::Lost);
            let release = Mutation::Release { task, token: claim.token, reason, kept: None };
            // A claim that cannot be released stays as it is.
            let _ = apply(&mut freed, &release, claim.since);
        }
        Cow::Owned(freed)
    }

    /// Returns the run and the lane that was working on a claimed task and is gone.
    fn lane_of<'a>(&self, claim: &'a Claim) -> Option<(&'a str, &'a str)> {
        let is_gone = self.at_work == LoopAtWork::None && claim.phase == ClaimPhase::Working;
        claim.lane().filter(|_| is_gone && claim.task.task().is_some())
    }

    /// Says in one line that whoever claimed a task or a role is gone: the lane that was working on the task, or the lane
    /// or the queue that had the role. Nothing where it is not.
    pub fn gone(&self, claim: &Claim) -> Option<String> {
        if let Some((run, part)) = self.part_of(claim) {
            return Some(format!(
                "{part} of the run {run} had it and is gone, so the next start with lanes frees it"
            ));
        }
        let (run, lane) = self.lane_of(claim)?;
        Some(format!("{lane} of the run {run} was at work on it and is gone, so the next start frees it"))
    }

    /// Returns the run that had a role and is gone, and the part of it that did.
    fn part_of<'a>(&self, claim: &'a Claim) -> Option<(&'a str, &'a str)> {
        let is_gone = self.at_work == LoopAtWork::None && claim.is_live() && claim.task.task().is_none();
        let (run, part) = claim.worker.as_deref().filter(|_| is_gone)?.rsplit_once('/')?;
        (part == "queue" || part.starts_with("lane-")).then_some((run, part))
    }

    /// Counts the tasks that lanes of the loop at work are at, or that wait to be landed by it, so that what waits for
    /// them may go on by itself.
    pub fn tasks(&self, plan: &Plan) -> usize {
        let moves = |claim: &Claim| claim.phase != ClaimPhase::Held && claim.lane().is_some();
        match self.at_work {
            LoopAtWork::WithLanes => plan.claimed_tasks().filter(|(_, claim)| moves(claim)).count(),
            LoopAtWork::Unknown | LoopAtWork::None | LoopAtWork::WithoutLanes => 0,
        }
    }

    /// Says whether it is known that nothing lands what was submitted.
    fn lands_nothing(&self) -> bool {
        matches!(self.at_work, LoopAtWork::None | LoopAtWork::WithoutLanes)
    }

    /// Says in one line why a task that is claimed is not free.
    pub fn why_claimed(&self, claim: &Claim) -> String {
        let (task, since) = (&claim.task, moment(claim.since));
        let worker = claim.worker.as_deref().unwrap_or("nobody who is still there");
        match claim.phase {
            ClaimPhase::Working => match self.gone(claim) {
                Some(gone) => format!("{task} is claimed, but {gone}"),
                None => format!("{task} is claimed by {worker} since {since}"),
            },
            ClaimPhase::Submitted if self.lands_nothing() => {
                format!(
                    "{task} was submitted at {since} and waits to be landed, and no loop is at work that lands it"
                )
            }
            ClaimPhase::Submitted => format!("{task} waits to be landed since {since}"),
            ClaimPhase::Held => format!("{task} was submitted and is held"),
            ClaimPhase::Landing if self.lands_nothing() => {
                format!(
                    "{task} was being landed when its run ended, and whether it has landed is not known yet"
                )
            }
            ClaimPhase::Landing => format!("{task} is being landed"),
            ClaimPhase::Released => format!("{task} is free"),
        }
    }

    /// Returns what has a claimed task go on that does not by itself; nothing where it does, and of what a program has
    /// claimed that is no lane.
    pub fn remedy(&self, claim: &Claim) -> Option<WorkRemedy> {
        let task = claim.task.task()?;
        match (claim.phase, self.at_work) {
            (ClaimPhase::Held, _) => Some(WorkRemedy::LetLand { task: task.clone() }),
            (ClaimPhase::Submitted | ClaimPhase::Landing, LoopAtWork::None) => Some(WorkRemedy::Land),
            (ClaimPhase::Submitted | ClaimPhase::Landing, LoopAtWork::WithoutLanes) => {
                Some(WorkRemedy::LandAfterRun)
            }
            (ClaimPhase::Working, _) => self.lane_of(claim).map(|_| WorkRemedy::FreeByStart),
            _ => None,
        }
    }

    /// Returns what has claimed tasks go on that do not by themselves, each step once: of many tasks that are held the
    /// first one shows how.
    pub fn remedies(&self, claims: &[Claim]) -> Vec<WorkRemedy> {
        let mut steps: Vec<WorkRemedy> = Vec::new();
        for step in claims.iter().filter_map(|claim| self.remedy(claim)) {
            let is_told =
                |before: &WorkRemedy| std::mem::discriminant(before) == std::mem::discriminant(&step);
            if !steps.iter().any(is_told) {
                steps.push(step);
            }
        }
        steps
    }
}

/// Writes a time to the second, as texts of the library have it.
fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use samuel_model::{Role, Status, Task};

    const RUN: &str = "20260101T000000Z-0a1b2c3d";

    fn claimed(workers: &[&str]) -> Plan {
        let tasks = (1..=workers.len()).map(|id| Task::new(TaskId::new(id.to_string()), "t")).collect();
        let mut plan = Plan { tasks, ..Plan::default() };
        for (id, worker) in (1..).zip(workers) {
            let (task, worker) = (TaskId::new(id.to_string()).into(), (*worker).to_owned());
            apply(&mut plan, &Mutation::Claim { task, worker }, Timestamp::UNIX_EPOCH).unwrap();
            plan.revision += 1;
        }
        plan
    }

    fn statuses(plan: &Plan) -> Vec<Status> {
        plan.tasks.iter().map(|task| task.status).collect()
    }

    fn under_way(at_work: LoopAtWork) -> WorkUnderWay {
        WorkUnderWay { at_work, ..WorkUnderWay::default() }
    }

    #[test]
    fn what_lanes_of_a_run_that_is_gone_worked_on_is_free_for_the_next_start_and_nothing_else() {
        let plan = claimed(&[&format!("{RUN}/lane-2"), "a-program", &format!("{RUN}/other-1")]);
        for at_work in [LoopAtWork::Unknown, LoopAtWork::WithoutLanes, LoopAtWork::WithLanes] {
            assert!(matches!(under_way(at_work).freed(&plan), Cow::Borrowed(_)));
        }
        let (gone, at_work) = (under_way(LoopAtWork::None), under_way(LoopAtWork::WithLanes));
        let freed = gone.freed(&plan);
        assert_eq!(statuses(&freed), [Status::Pending, Status::InProgress, Status::InProgress]);
        let claim = |id: &str| plan.live_claim(&TaskId::new(id)).unwrap();
        assert_eq!(
            gone.why_claimed(claim("1")),
            format!(
                "1 is claimed, but lane-2 of the run {RUN} was at work on it and is gone, so the next start frees it"
            )
        );
        assert_eq!(
            at_work.why_claimed(claim("1")),
            format!("1 is claimed by {RUN}/lane-2 since 1970-01-01 00:00:00 UTC")
        );
        assert_eq!(gone.remedy(claim("1")), Some(WorkRemedy::FreeByStart));
        assert_eq!(gone.remedy(claim("2")), None, "a program goes on by itself");
        assert_eq!(at_work.remedy(claim("1")), None);
    }

    #[test]
    fn a_role_that_a_run_left_behind_says_so() {
        let mut plan = Plan::default();
        let claims = [(Role::Discover, "lane-2"), (Role::Merge, "queue")];
        for (role, part) in claims {
            let (task, worker) = (role.into(), format!("{RUN}/{part}"));
            apply(&mut plan, &Mutation::Claim { task, worker }, Timestamp::UNIX_EPOCH).unwrap();
            plan.revision += 1;
        }
        let gone = |plan: &Plan, at_work| {
            plan.claims.iter().map(|claim| under_way(at_work).gone(claim)).collect::<Vec<_>>()
        };
        let told = |part: &str| {
            Some(format!("{part} of the run {RUN} had it and is gone, so the next start with lanes frees it"))
        };
        assert_eq!(gone(&plan, LoopAtWork::None), [told("lane-2"), told("queue")]);
        assert_eq!(gone(&plan, LoopAtWork::WithLanes), [None, None]);
        plan.claims.iter_mut().for_each(|claim| claim.worker = Some(format!("{RUN}/a-program")));
        assert_eq!(gone(&plan, LoopAtWork::None), [None, None]);
    }

    #[test]
    fn a_run_has_lanes_where_claims_are_its_own_and_not_for_what_earlier_lanes_submitted() {
        let plan = claimed(&[&format!("{RUN}/lane-1"), "a-program", "another/queue"]);
        assert_eq!(LoopAtWork::of_run(Some(RUN), &plan), LoopAtWork::WithLanes);
        assert_eq!(LoopAtWork::of_run(Some("another"), &plan), LoopAtWork::WithLanes);
        for run in [Some("20260101T000001Z-0a1b2c3d"), Some("a-program"), None] {
            assert_eq!(LoopAtWork::of_run(run, &plan), LoopAtWork::WithoutLanes, "{run:?}");
        }
        assert_eq!(under_way(LoopAtWork::WithLanes).tasks(&plan), 1, "a program's claim is not the loop's");
        assert_eq!(under_way(LoopAtWork::WithoutLanes).tasks(&plan), 0);
    }

    #[test]
    fn what_was_submitted_says_who_lands_it_and_each_step_is_told_once() {
        let mut plan = claimed(&["r/lane-1", "r/lane-2", "r/lane-3"]);
        for claim in &mut plan.claims {
            claim.phase = ClaimPhase::Submitted;
        }
        let gone = under_way(LoopAtWork::None);
        let claim = plan.live_claim(&TaskId::new("1")).unwrap();
        let nobody = "1 was submitted at 1970-01-01 00:00:00 UTC and waits to be landed, and no loop is at work that \
                      lands it";
        assert_eq!(gone.why_claimed(claim), nobody);
        assert_eq!(gone.remedies(&plan.claims), [WorkRemedy::Land]);
        let without = under_way(LoopAtWork::WithoutLanes);
        assert_eq!(without.why_claimed(claim), nobody);
        assert_eq!(without.remedies(&plan.claims), [WorkRemedy::LandAfterRun]);
        let at_work = under_way(LoopAtWork::WithLanes);
        assert_eq!(at_work.why_claimed(claim), "1 waits to be landed since 1970-01-01 00:00:00 UTC");
        assert_eq!(at_work.remedies(&plan.claims), []);
        for claim in plan.claims.iter_mut().take(2) {
            claim.phase = ClaimPhase::Held;
        }
        let release = WorkRemedy::LetLand { task: TaskId::new("1") };
        assert_eq!(at_work.remedies(&plan.claims), std::slice::from_ref(&release));
        assert_eq!(gone.remedies(&plan.claims), [release, WorkRemedy::Land]);
    }
}
