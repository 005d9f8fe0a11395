//! How a lane looks for tasks.
//!
//! Whoever does has claimed the role `@discover`, so that one lane looks at a time; the claim is given back once the
//! iteration has ended. It looks in its work tree, on a branch of its own at the head of the branch that work lands on.
//! What it adds is in the plan at once. What it changes in files never lands: it is kept, and told.
//!
//! When a lane is to look is said by [`sched::step`](crate::sched::step()), and what the iteration does by the machine.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::lane::{Lane, LaneFault};
use crate::{
    engine::services::Services,
    event::PlanChange,
    machine::{Input, PlanChanged},
    model::{ClaimTarget, IterationOutcome, Plan, Role, Status, TaskId},
    plan::Pilot,
    state::{Actor, Edit, JournalEntry, JournalRecord, Mutation, ProgressKind, StateError},
    workspace::{WorkNote, WorkspaceError},
};

/// What whoever looks for tasks has claimed.
const DISCOVER: ClaimTarget = ClaimTarget::Role(Role::Discover);

/// The role, as a lane has just claimed it.
pub(super) struct ClaimedDiscovery {
    token: u64,
    /// The tasks that there are.
    known: HashSet<TaskId>,
}

/// A discovery iteration that a lane makes, or is about to.
#[derive(Clone, Debug)]
pub(super) struct OwnDiscovery {
    token: u64,
    /// The branch that is checked out meanwhile, and the commit that it begins at.
    branch: String,
    base: String,
    /// The number of the iteration.
    number: u32,
    /// The tasks that there were before.
    known: HashSet<TaskId>,
    /// How the iteration ended, once it has.
    outcome: Option<IterationOutcome>,
    /// Whether the machine was told that the claim is gone.
    is_told_gone: bool,
}

impl OwnDiscovery {
    /// Says whether a plan that knows of the claim still has it.
    fn is_current(&self, plan: &Plan) -> bool {
        plan.revision < self.token || token_in(plan) == Some(self.token)
    }

    /// Sees whether a lane may begin to look.
    ///
    /// # Errors
    /// Returns [`StateError::ClaimVoid`] where it has not claimed the role, or not any more.
    pub(super) fn check(own: Option<&Self>, plan: &Plan) -> Result<(), StateError> {
        match own {
            Some(own) if own.is_current(plan) => Ok(()),
            own => {
                let token = own.map_or(0, |own| own.token);
                Err(StateError::ClaimVoid { of: DISCOVER, token, now: token_in(plan) })
            }
        }
    }

    /// Says whether a plan has a task that was not there before and was not left out since.
    fn has_found(&self, plan: &Plan) -> bool {
        plan.tasks.iter().any(|task| task.status != Status::Skipped && !self.known.contains(&task.id))
    }
}

/// Returns the tasks that say something else because of an entry of the journal.
fn changed_in(entry: &JournalEntry) -> impl Iterator<Item = &TaskId> {
    let own = match entry {
        JournalEntry::Mutation { mutation: Mutation::Edit { id, .. }, .. } => Some(id),
        _ => None,
    };
    let edits = match entry {
        JournalEntry::Mutation { change, .. } => change.edits(),
        JournalEntry::Edited { edits, .. } => edits,
        _ => &[],
    };
    own.into_iter().chain(edits.iter().filter_map(|edit| match edit {
        Edit::Changed { id } => Some(id),
        _ => None,
    }))
}

fn token_in(plan: &Plan) -> Option<u64> {
    plan.claim(&DISCOVER).filter(|claim| claim.is_live()).map(|claim| claim.token)
}

impl Lane {
    /// Says how the run looks for tasks: one that is for some of them looks for no others.
    pub(super) fn pilot(&self, services: &Services) -> Pilot {
        if self.shared.setup.scope.is_all() { services.pilot } else { Pilot::default() }
    }

    // What the plan tells of it.

    /// Follows who looks for tasks, and which tasks are as good as new, record by record.
    pub(in crate::engine) fn follows(&self, record: &JournalRecord) {
        if self.leads() {
            for task in changed_in(&record.entry) {
                // It was made for the old description.
                self.shared.take_came_back(task);
            }
        }
        match &record.entry {
            JournalEntry::Mutation { mutation: Mutation::Reset { id }, .. } if self.leads() => {
                self.shared.forgets(Some(id));
            }
            JournalEntry::Imported { .. } if self.leads() => self.shared.forgets(None),
            _ => {}
        }
        let looking = match &record.entry {
            JournalEntry::Mutation { mutation: Mutation::Claim { task: DISCOVER, worker }, .. } => {
                lane_of(worker, &self.shared.setup.run)
            }
            JournalEntry::Mutation { mutation: Mutation::Release { task: DISCOVER, .. }, .. } => 0,
            _ => return,
        };
        self.looking.store(looking, Ordering::Relaxed);
    }

    /// Says whether the lane is told of a task that was added while somebody looks: whoever looks is. Nothing of all
    /// other changes.
    pub(super) fn finds(&self, changed: &PlanChanged) -> Option<bool> {
        let looking = self.looking.load(Ordering::Relaxed);
        (changed.change == PlanChange::Added && looking != 0).then_some(looking == self.number)
    }

    /// Has the lane's agent stopped where somebody gave its role back.
    pub(super) fn look_at_discovery(&self, plan: &Plan) {
        let mut own = self.view.discovery();
        let gone = own.as_mut().filter(|own| !own.is_current(plan));
        if gone.is_some_and(|own| !std::mem::replace(&mut own.is_told_gone, true)) {
            self.view.tell(Input::Unclaimed);
        }
    }

    /// Takes down how an iteration of the lane has ended.
    pub(super) fn iteration_ended(&self, outcome: IterationOutcome) {
        match self.view.discovery().as_mut() {
            Some(own) => own.outcome = Some(outcome),
            None => self.shared.looked(false),
        }
    }

    /// Says who looks for tasks while this lane waits; nothing where the run itself looks for none.
    pub(super) fn who_looks(&self, services: &Services, plan: &Plan) -> Option<String> {
        let is_of_use = self.pilot(services).enabled;
        let claim = plan.claim(&DISCOVER).filter(|claim| claim.is_live() && is_of_use)?;
        let worker = claim.worker.as_deref()?;
        Some(match lane_of(worker, &self.shared.setup.run) {
            0 => format!("{worker} has claimed {DISCOVER}, to look for tasks"),
            lane => format!("lane {lane} looks for tasks"),
        })
    }

    // Its beginning and its end.

    /// Returns the number of the iteration in which the lane is to look, where it was claimed and has not begun.
    pub(super) fn looks_on(&self, plan: &Plan) -> Option<u32> {
        let own = self.view.discovery();
        own.as_ref().filter(|own| own.outcome.is_none() && own.is_current(plan)).map(|own| own.number)
    }

    /// Claims the role; nothing where somebody else has it.
    pub(super) async fn claim_discovery(&self) -> Result<Option<ClaimedDiscovery>, LaneFault> {
        let claim = Mutation::Claim { task: DISCOVER, worker: self.worker() };
        let claimed = self.shared.blocking(move |store| {
            let token = store.mutate(claim, Actor::Runtime)?.revision;
            let known = store.load()?.plan.tasks.iter().map(|task| task.id.clone()).collect();
            Ok::<_, StateError>(ClaimedDiscovery { token, known })
        });
        match claimed.await? {
            Ok(claimed) => Ok(Some(claimed)),
            Err(StateError::Claimed { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gets the work tree ready to look in, and returns the number of the iteration; nothing where a cap is reached, for
    /// which the run then ends.
    pub(super) async fn begin_discovery(
        &self,
        services: &Arc<Services>,
        claimed: ClaimedDiscovery,
        elapsed: Duration,
        cancel: &CancellationToken,
    ) -> Result<Option<u32>, LaneFault> {
        let ClaimedDiscovery { token, known } = claimed;
        let branch = branch_of_discovery(&self.shared.setup.run, token);
        let base = match self.begin_unless(cancel, services, &branch, None).await {
            Ok(base) => base,
            Err(error) => {
                self.remove_empty(&branch, None).await;
                // What is wrong with the work tree is told; a claim that stays is released by the next start.
                let _ = self.give_back(DISCOVER, token, None).await;
                return Err(error);
            }
        };
        let Some(number) = self.shared.next_iteration(elapsed) else {
            self.remove_empty(&branch, Some(&base)).await;
            self.give_back(DISCOVER, token, None).await?;
            return Ok(None);
        };
        let (outcome, is_told_gone) = (None, false);
        *self.view.discovery() =
            Some(OwnDiscovery { token, branch, base, number, known, outcome, is_told_gone });
        Ok(Some(number))
    }

    /// Gives the role back once the iteration has ended, or somebody else has given it back; in any case where the lane
    /// ends. What was changed in files is kept.
    pub(super) async fn end_discovery(
        &self,
        services: &Arc<Services>,
        lane_ends: bool,
    ) -> Result<(), LaneFault> {
        let Some(own) = self.view.discovery().clone() else { return Ok(()) };
        let plan = self.shared.blocking(|store| store.load().map(|loaded| loaded.plan)).await??;
        if own.outcome.is_none() && own.is_current(&plan) && !lane_ends {
            return Ok(());
        }
        if let Some(kept) = self.put_away(services, &own.branch, &own.base).await? {
            self.tree.leave_branch().await?;
            let told = format!(
                "files were changed while lane {} looked for tasks; that does not land, and is kept as {kept}",
                self.number
            );
            services.warn(told.clone());
            services.log(vec![services.note(own.number, None, ProgressKind::Found, told)]).await;
        }
        if own.outcome == Some(IterationOutcome::Succeeded) {
            self.shared.looked(!own.has_found(&plan));
        }
        *self.view.discovery() = None;
        self.give_back(DISCOVER, own.token, None).await?;
        self.shared.wake();
        Ok(())
    }

    /// Takes out of a clone what an agent made there who was to look for tasks.
    pub(super) async fn take_out_of_discovery(&self, services: &Arc<Services>) -> Result<(), WorkspaceError> {
        let title = Some("Keep what was changed while looking for tasks".to_owned());
        let made = self.tree.collect(&WorkNote { title, task: None }).await;
        self.tell_of_tree(services).await;
        made.map(|made| services.work_tree.committed_for_agent(made.left, &made.commit))
    }
}

/// Names the branch that is checked out while a lane looks for tasks.
pub(super) fn branch_of_discovery(run: &str, token: u64) -> String {
    format!("samuel/{run}/{DISCOVER}-{token}")
}

/// Returns the number of the lane of a run that a claim names; 0 where it is no lane of it.
fn lane_of(worker: &str, run: &str) -> u32 {
    let lane = worker.strip_prefix(run).and_then(|rest| rest.strip_prefix("/lane-"));
    lane.and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_name_changed_tasks() {
        let [changed, removed] = ["1", "2"].map(TaskId::new);
        let edits = vec![Edit::Changed { id: changed.clone() }, Edit::Removed { id: removed }];
        let entry = JournalEntry::Edited { actor: Actor::External, edits };
        assert_eq!(changed_in(&entry).collect::<Vec<_>>(), [&changed]);
    }
}
