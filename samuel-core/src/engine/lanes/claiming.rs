//! The claims of a lane: how it takes a task, hands in what is done, and gives back what is not.

use std::sync::Arc;

use super::{
    lane::{Lane, LaneFault},
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
    workspace::WorkspaceError,
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

    /// Gives a task that was claimed its branch.
    pub(super) async fn begin_with(
        &self,
        services: &Arc<Services>,
        plan: &Plan,
        claimed: Claimed,
    ) -> Result<OwnClaim, LaneFault> {
        let Claimed { task, token, attempt, earlier } = claimed;
        let title = plan.task(&task).map(|task| task.title.clone()).unwrap_or_default();
        let branch = branch_of(&self.shared.run, &task, token);
        let begun = self.begin(services, &branch).await;
        let base = match begun {
            Ok(base) => base,
            Err(error) => {
                let reason = ReleaseReason::Stopped;
                let release = Mutation::Release { task: task.into(), token, reason, kept: None };
                // What is wrong with the work tree is told; a claim that stays is released by the next start.
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

    /// Gets the work tree ready for a branch, and returns the commit that it begins at.
    async fn begin(&self, services: &Arc<Services>, branch: &str) -> Result<String, LaneFault> {
        let into = &self.shared.into;
        let base = self.shared.repository.head(into).await?.ok_or_else(|| WorkspaceError::Unfit {
            root: self.tree.work_dir(),
            problem: format!("the branch {into} is gone"),
            help: "Make it again, or start with another one.".to_owned(),
        })?;
        self.rescue(services).await?;
        self.tree.begin(branch, &base).await?;
        Ok(base)
    }

    /// Keeps what is in the work tree and in no branch.
    pub(super) async fn rescue(&self, services: &Arc<Services>) -> Result<Option<String>, LaneFault> {
        let name = self.tree.branch().await;
        let name = name.unwrap_or_else(|| format!("samuel/{}/lane-{}", self.shared.run, self.number));
        let reference = rescue_of(&name);
        let kept = self.tree.rescue(&reference).await?;
        if let Some(kept) = &kept {
            let text = format!("what was left uncommitted in a work tree is kept as {kept}");
            services.log(vec![services.note(0, None, ProgressKind::Found, text)]).await;
        }
        Ok(kept)
    }

    /// Hands in what the lane has done, or lets go of what is not its own any more.
    pub(super) async fn hand_in(self: &Arc<Self>, services: &Arc<Services>) -> Result<(), LaneFault> {
        let Some(own) = self.view.own().clone() else { return Ok(()) };
        let plan = self.shared.blocking(|store| store.load().map(|loaded| loaded.plan)).await??;
        if !own.is_current(&plan) {
            self.let_go();
            self.rescue(services).await?;
            return Ok(());
        }
        let Some(made) = own.made.clone().filter(|_| own.is_done && own.has_passed) else { return Ok(()) };
        let submit = Mutation::Submit {
            task: own.task.clone(),
            token: own.token,
            branch: own.branch.clone(),
            commit: made.commit.clone(),
            base: own.base.clone(),
            tree: Some(made.tree.clone()),
        };
        self.shared.submits(own.token, made.tree.clone());
        let submitted = self.shared.blocking(move |store| store.mutate(submit, Actor::Runtime)).await?;
        self.let_go();
        match submitted {
            Ok(_) => {
                if !own.is_beyond {
                    // The checks alone have written since.
                    self.tree.discard().await?;
                }
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
        let Some(own) = self.view.own().clone() else { return Ok(()) };
        let kept = self.rescue(services).await?;
        let head = self.tree.head().await?;
        let kept = kept.or((head != own.base).then(|| own.branch.clone()));
        let (task, token) = (own.task.clone().into(), own.token);
        let release = Mutation::Release { task, token, reason: ReleaseReason::Stopped, kept };
        self.let_go();
        match self.shared.blocking(move |store| store.mutate(release, Actor::Runtime)).await? {
            Ok(_) | Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn worker(&self) -> String {
        worker_of(&self.shared.run, self.number)
    }
}

/// Names the branch of a task.
pub(super) fn branch_of(run: &str, task: &TaskId, token: u64) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let task: String = task.as_str().chars().map(plain).take(60).collect();
    format!("samuel/{run}/{task}-{token}")
}

/// Names the reference under which what is left of a branch is kept.
pub(super) fn rescue_of(branch: &str) -> String {
    format!("refs/samuel/rescue/{}", branch.trim_start_matches("samuel/"))
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
