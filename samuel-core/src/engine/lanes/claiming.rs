//! The claims of a lane: how it takes a task, hands in what is done, and gives back what is not.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{
    lane::{Lane, LaneFault},
    shared::{CameBack, LanesSetup},
    view::OwnClaim,
};
use crate::{
    engine::{error::described, services::Services},
    event::Event,
    hook::{HookPoint, Said, Speaker},
    machine::Input,
    model::{
        Claim, ClaimPhase, ClaimTarget, Plan, ReleaseReason, TaskId,
        payload::{Deliver, TextItem},
    },
    state::{Actor, Mutation, ProgressKind, StateError},
    workspace::MadeWork,
};

/// A task that a lane has just claimed, and what is kept of earlier attempts.
pub(super) struct Claimed {
    task: TaskId,
    token: u64,
    attempt: u32,
    earlier: Option<Claim>,
}

impl Lane {
    /// Claims a task; nothing where somebody settled it in this moment.
    pub(super) async fn claim(&self, plan: &Plan, task: TaskId) -> Result<Option<Claimed>, LaneFault> {
        let target = ClaimTarget::Task(task.clone());
        let earlier = plan.claim(&target).filter(|claim| claim.phase == ClaimPhase::Released).cloned();
        let claim = Mutation::Claim { task: target.clone(), worker: self.worker() };
        let claimed = self.shared.blocking(move |store| {
            let applied = store.mutate(claim, Actor::Runtime)?;
            Ok::<_, StateError>((applied.revision, store.load()?.plan))
        });
        let (token, now) = match claimed.await? {
            Ok(claimed) => claimed,
            Err(
                StateError::Claimed { .. }
                | StateError::NotReady { .. }
                | StateError::NotStartable { .. }
                | StateError::IsGroup { .. }
                | StateError::TaskNotFound { .. },
            ) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let attempt = now.claim(&target).map_or(1, |claim| claim.attempt);
        Ok(Some(Claimed { task, token, attempt, earlier }))
    }

    /// Submits work of an earlier attempt without a call of an agent, if it came back because of the branch and can be
    /// merged by now. Returns whether it was submitted, or the claim is gone.
    pub(super) async fn submits_again(
        &self,
        services: &Arc<Services>,
        plan: &Plan,
        claimed: &Claimed,
    ) -> Result<bool, LaneFault> {
        let Some(work) = self.shared.take_came_back(&claimed.task) else { return Ok(false) };
        match self.submit_again(services, plan, claimed, work).await {
            Err(error) => {
                self.give_back(claimed.task.clone().into(), claimed.token, None).await?;
                Err(error)
            }
            submitted => submitted,
        }
    }

    async fn submit_again(
        &self,
        services: &Arc<Services>,
        plan: &Plan,
        claimed: &Claimed,
        work: CameBack,
    ) -> Result<bool, LaneFault> {
        let LanesSetup { into, run, repository, .. } = &self.shared.setup;
        let Claimed { task, token, attempt, .. } = claimed;
        let base = repository.head(into).await?.ok_or_else(|| self.shared.gone())?;
        let Some(MadeWork { commit, .. }) = repository.made_again(&base, &work.base, &work.commit).await?
        else {
            return Ok(false);
        };
        let branch = branch_of(run, task, *token);
        if !repository.make_branch(&branch, &commit).await? {
            return Ok(false);
        }
        self.shared.begins_with(task, false);
        let title = plan.task(task).map(|task| task.title.clone()).unwrap_or_default();
        services.emit(Event::TaskClaimed {
            task: task.clone(),
            title,
            attempt: *attempt,
            branch: branch.clone(),
            base: base.clone(),
        });
        let submit = Mutation::Submit {
            task: task.clone(),
            token: *token,
            branch: branch.clone(),
            commit: commit.clone(),
            base,
            // The queue checks it.
            tree: None,
            iteration: work.iteration,
        };
        match self.shared.blocking(move |store| store.mutate(submit, Actor::Runtime)).await? {
            Ok(_) => {
                let text = "its kept work can be merged by now and is submitted again".to_owned();
                let line = services.note(0, Some(task.clone()), ProgressKind::Found, text);
                services.log(vec![line]).await;
                services.emit(Event::TaskSubmitted { task: task.clone(), branch, commit });
            }
            // Somebody settled it in this moment.
            Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.shared.wake();
        Ok(true)
    }

    /// Gives a task that was claimed its branch; it is given back where that fails, or the lane is to stop.
    pub(super) async fn begin_with(
        &self,
        services: &Arc<Services>,
        plan: &Plan,
        claimed: Claimed,
        cancel: &CancellationToken,
    ) -> Result<OwnClaim, LaneFault> {
        let Claimed { task, token, attempt, earlier } = claimed;
        self.shared.begins_with(&task, earlier.is_none());
        let title = plan.task(&task).map(|task| task.title.clone()).unwrap_or_default();
        let branch = branch_of(&self.shared.setup.run, &task, token);
        let base = match self.begin_unless(cancel, services, &branch, earlier.as_ref()).await {
            Ok(base) => base,
            Err(error) => {
                self.remove_empty(&branch, None).await;
                let reason = ReleaseReason::Stopped;
                let release = Mutation::Release { task: task.into(), token, reason, kept: None };
                // What is wrong with the clone is told; a claim that stays is released by the next start.
                let _ = self.shared.blocking(move |store| store.mutate(release, Actor::Runtime)).await?;
                return Err(error);
            }
        };
        let own = OwnClaim::new(task.clone(), token, branch.clone(), base.clone(), attempt);
        *self.view.own() = Some(own.clone());
        self.shared.works_on(self.number, Some(task.clone()));
        services.emit(Event::TaskClaimed { task, title, attempt, branch, base });
        if let Some(said) = earlier.and_then(|earlier| of_earlier(&earlier)) {
            self.view.tell(Input::Undelivered(vec![said]));
        }
        Ok(own)
    }

    /// Gets the clone ready as [`begin`](Self::begin) does, unless it is stopped meanwhile: a command that gets it
    /// ready may hang.
    pub(super) async fn begin_unless(
        &self,
        cancel: &CancellationToken,
        services: &Arc<Services>,
        branch: &str,
        earlier: Option<&Claim>,
    ) -> Result<String, LaneFault> {
        tokio::select! {
            begun = self.begin(services, branch, earlier) => begun,
            () = cancel.cancelled() => Err(LaneFault::Stopped),
        }
    }

    /// Gets the clone ready for a branch, and returns the commit that it begins at.
    async fn begin(
        &self,
        services: &Arc<Services>,
        branch: &str,
        earlier: Option<&Claim>,
    ) -> Result<String, LaneFault> {
        let into = &self.shared.setup.into;
        let base = self.shared.setup.repository.head(into).await?.ok_or_else(|| self.shared.gone())?;
        let begun = self.tree.begin(branch, &base).await;
        self.tell_of_tree(services).await;
        begun?;
        if let Some(kept) = earlier.and_then(|earlier| earlier.branch.as_deref()) {
            self.tree.show(kept).await?;
        }
        Ok(base)
    }

    /// Warns of what became of a clone, and writes it where the next attempt reads it.
    pub(super) async fn tell_of_tree(&self, services: &Arc<Services>) {
        for told in self.tree.take_told() {
            services.warn(told.clone());
            services.log(vec![services.note(0, None, ProgressKind::Error, told)]).await;
        }
    }

    /// Puts what the agent made and was not taken out on the branch of its task.
    pub(super) async fn rescue(&self, services: &Arc<Services>) -> Result<(), LaneFault> {
        let rescued = self.tree.rescue().await;
        self.tell_of_tree(services).await;
        Ok(rescued?)
    }

    /// Hands in what the lane has done, or lets go of what is not its own any more.
    pub(super) async fn hand_in(self: &Arc<Self>, services: &Arc<Services>) -> Result<(), LaneFault> {
        self.end_discovery(services, false).await?;
        let Some(own) = self.view.own().clone() else { return Ok(()) };
        let plan = self.shared.caught_up(services).await?;
        if !own.is_current(&plan) {
            self.let_go();
            self.shared.came_back();
            self.rescue(services).await?;
            self.remove_empty(&own.branch, Some(&own.base)).await;
            return Ok(());
        }
        let Some(made) = own.made.clone().filter(|_| own.is_done && own.has_passed) else { return Ok(()) };
        self.tree.put_on(&own.branch, &made.commit).await?;
        self.tell_of_tree(services).await;
        let submit = Mutation::Submit {
            task: own.task.clone(),
            token: own.token,
            branch: own.branch.clone(),
            commit: made.commit.clone(),
            base: own.base.clone(),
            tree: Some(made.tree.clone()),
            iteration: own.iteration,
        };
        self.shared.submits(own.token, made.tree.clone());
        let submitted = self.shared.blocking(move |store| store.mutate(submit, Actor::Runtime)).await?;
        self.let_go();
        match submitted {
            Ok(_) => {
                // So that the branch can go once it has landed.
                self.tree.leave_branch().await?;
                let (task, branch, commit) = (own.task, own.branch, made.commit);
                services.emit(Event::TaskSubmitted { task, branch, commit });
                self.shared.wake();
                Ok(())
            }
            // Somebody settled it in this moment.
            Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => {
                self.rescue(services).await?;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the branch of a claim on which nothing was made; one that has something, or cannot be removed, stays.
    pub(super) async fn remove_empty(&self, branch: &str, base: Option<&str>) {
        let (into, repository) = (&self.shared.setup.into, &self.shared.setup.repository);
        let base = match base {
            Some(base) => Some(base.to_owned()),
            None => repository.head(into).await.ok().flatten(),
        };
        let Some(base) = base else { return };
        let is_empty = repository.head(branch).await.is_ok_and(|head| head.as_deref() == Some(base.as_str()));
        if is_empty && self.tree.leave_branch().await.is_ok() {
            // `samuel run lanes` lists one that stays.
            let _ = repository.remove_branch(branch, &base).await;
        }
    }

    fn let_go(&self) {
        *self.view.own() = None;
        self.shared.works_on(self.number, None);
    }

    /// Ends the lane: what is done is handed in, what is not is kept and its claim released.
    pub(in crate::engine) async fn end(self: &Arc<Self>, services: &Arc<Services>) {
        if let Err(fault) = self.try_to_end(services).await {
            services.warn(format!("lane {} could not put its work away: {}", self.number, described(&fault)));
        }
        self.shared.wake();
    }

    async fn try_to_end(self: &Arc<Self>, services: &Arc<Services>) -> Result<(), LaneFault> {
        self.hand_in(services).await?;
        self.end_discovery(services, true).await?;
        let Some(own) = self.view.own().clone() else { return Ok(()) };
        let kept = self.put_away(services, &own.branch, &own.base).await?;
        self.let_go();
        self.give_back(own.task.into(), own.token, kept).await
    }

    /// Keeps what was made in the clone since a branch began at a commit, and returns where; the branch goes where
    /// nothing was.
    pub(super) async fn put_away(
        &self,
        services: &Arc<Services>,
        branch: &str,
        base: &str,
    ) -> Result<Option<String>, LaneFault> {
        self.rescue(services).await?;
        let kept = (self.tree.head().await != base).then(|| branch.to_owned());
        if kept.is_none() {
            self.remove_empty(branch, Some(base)).await;
        }
        Ok(kept)
    }

    /// Returns a claim of a task that the lane has and does not know of: an edit of prd.toon hid it while the lane let
    /// go of it, and was undone since.
    pub(super) fn forgotten(&self, plan: &Plan) -> Option<(ClaimTarget, u64)> {
        let worker = self.worker();
        let is_it = |claim: &&Claim| {
            claim.phase == ClaimPhase::Working
                && claim.task.task().is_some()
                && claim.worker.as_deref() == Some(worker.as_str())
        };
        plan.claims.iter().find(is_it).map(|claim| (claim.task.clone(), claim.token))
    }

    /// Gives a claim back, unless it is void by now.
    pub(super) async fn give_back(
        &self,
        task: ClaimTarget,
        token: u64,
        kept: Option<String>,
    ) -> Result<(), LaneFault> {
        let release = Mutation::Release { task, token, reason: ReleaseReason::Stopped, kept };
        match self.shared.blocking(move |store| store.mutate(release, Actor::Runtime)).await? {
            Ok(_) | Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn worker(&self) -> String {
        worker_of(&self.shared.setup.run, self.number)
    }
}

/// Names the branch of a task.
pub(super) fn branch_of(run: &str, task: &TaskId, token: u64) -> String {
    format!("samuel/{run}/{}-{token}", in_branch(task))
}

/// Returns a task's id as the names of branches have it: `1-2` for 1.2.
pub(super) fn in_branch(task: &TaskId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    task.as_str().chars().map(plain).take(60).collect()
}

/// Names a lane as claims do.
pub(super) fn worker_of(run: &str, lane: u32) -> String {
    format!("{run}/lane-{lane}")
}

/// Tells an agent what came of earlier attempts at its task.
fn of_earlier(earlier: &Claim) -> Option<Said> {
    let why = earlier.why.as_deref()?;
    let mut content = format!("An earlier attempt at this task did not land: {why}.");
    if let Some(kept) = &earlier.branch {
        content.push_str(&format!(
            " Its work is kept as {kept}: look at it with `git log {kept}` and `git diff HEAD...{kept}`, and take over \
             what is good, on top of what is checked out here."
        ));
    }
    Some(Said {
        handler: "samuel:lanes".into(),
        point: HookPoint::BeforeIteration,
        item: TextItem { content, deliver: Deliver::Next },
        speaker: Speaker::Handler,
    })
}
