//! What a lane does around a point: which ones fire there, and what becomes of what was done.

use std::sync::{Arc, atomic::Ordering};

use super::{
    lane::{Lane, LaneFault},
    view::OwnClaim,
};
use crate::{
    engine::{
        error::described,
        fire::Place,
        in_clone::{refusal, told},
        services::Services,
    },
    event::IterationFailure,
    hook::{HookPoint, Outcome},
    machine::{HookReply, Input, ReplyData},
    model::{Coded as _, FailureClass, payload::Turn},
    text::listed,
    workspace::{WorkNote, WorkspaceError},
};

impl Lane {
    /// Returns what comes of a point that does not fire in this lane, or not now.
    pub(in crate::engine) async fn instead_of(
        self: &Arc<Self>,
        point: HookPoint,
        place: &Place,
        services: &Arc<Services>,
    ) -> Option<HookReply> {
        match (self.leads(), point) {
            (false, HookPoint::SessionStart | HookPoint::BeforeLoop) => Some(self.shared.heard(point).await),
            (false, HookPoint::SessionStop | HookPoint::AfterLoop | HookPoint::SessionEnd) => {
                Some(HookReply::default())
            }
            (true, HookPoint::SessionStop | HookPoint::AfterLoop) => {
                self.end(services).await;
                self.shared.close().await;
                let texts = self.shared.user_texts(|said| said.delivered_elsewhere(self.number));
                if !texts.is_empty() {
                    self.view.tell(Input::DeliveredElsewhere(texts));
                }
                if point == HookPoint::SessionStop && services.registry.has_handlers(point) {
                    self.show_merged(services).await;
                }
                None
            }
            (true, HookPoint::QualityCheck) if !place.in_iteration => self.last_check(services).await,
            // What must not come out of the clone is not checked.
            (_, HookPoint::QualityCheck) => {
                let refused = self.view.own().as_ref().and_then(|own| own.refused.clone());
                refused.map(refusal)
            }
            _ => None,
        }
    }

    /// Returns whether the agent said that its task is done, and made nothing.
    pub(in crate::engine) async fn is_unchanged(&self) -> bool {
        let own = self.view.own().clone().filter(|own| own.is_done);
        let Some((base, made)) = own.and_then(|own| Some((own.base, own.made?))) else { return false };
        self.shared.setup.repository.have_one_tree(&base, &made.commit).await
    }

    /// Gets a clone ready for an agent.
    pub(in crate::engine) async fn enter(
        &self,
        point: HookPoint,
        services: &Arc<Services>,
    ) -> Result<(), WorkspaceError> {
        if point != HookPoint::AgentInvoke {
            return Ok(());
        }
        if let Some(own) = self.view.own().as_mut() {
            own.refused = None;
        }
        let ready = self.tree.turn_begins().await;
        self.tell_of_tree(services).await;
        ready
    }

    /// Checks out what was merged, so that handlers at the end of the session see that.
    async fn show_merged(&self, services: &Arc<Services>) {
        let Some(head) = self.shared.setup.repository.head(&self.shared.setup.into).await.ok().flatten()
        else {
            return;
        };
        if let Err(fault) = self.go_to(&head, services).await {
            services.warn(format!("what was merged could not be checked out: {}", described(&fault)));
        }
    }

    /// Checks out a commit that is no task's. What the agent left is on the branch of its task then.
    async fn go_to(&self, commit: &str, services: &Arc<Services>) -> Result<(), LaneFault> {
        let gone = self.tree.check_out(commit).await;
        self.tell_of_tree(services).await;
        Ok(gone?)
    }

    /// Goes to what has landed for a check that is of no task. What the queue has checked there need not be
    /// checked once more.
    async fn last_check(&self, services: &Arc<Services>) -> Option<HookReply> {
        let head = self.shared.setup.repository.head(&self.shared.setup.into).await.ok().flatten()?;
        let has_passed = self.shared.has_passed(&head);
        self.is_told.store(has_passed, Ordering::Relaxed);
        if has_passed {
            return Some(HookReply { data: ReplyData::Checks(Vec::new()), ..HookReply::default() });
        }
        if self.view.own().is_none()
            && let Err(fault) = self.go_to(&head, services).await
        {
            let why = format!("what has landed cannot be checked: {}", described(&fault));
            let outcome = Outcome { refused: Some(why), ..Outcome::default() };
            return Some(HookReply { outcome, data: ReplyData::Checks(Vec::new()) });
        }
        None
    }

    /// Sees to what a point did: what is done is committed, and what has passed is known to have.
    pub(in crate::engine) async fn leave(
        self: &Arc<Self>,
        point: HookPoint,
        turn: Turn,
        services: &Arc<Services>,
        reply: &mut HookReply,
    ) {
        match point {
            HookPoint::SessionStart | HookPoint::BeforeLoop if self.leads() => {
                self.shared.said(point, reply.clone());
            }
            HookPoint::AgentInvoke => {
                // What is done after the check, nobody has checked.
                let is_main = turn == Turn::Main;
                if let Err(error) = self.take_down(is_main, services).await
                    && let ReplyData::Agent(end) = &mut reply.data
                {
                    let message = format!("{} ({})", described(&error), error.code().name);
                    if let Some(own) = self.view.own().as_mut().filter(|_| error.is_of_the_work()) {
                        own.refused = Some(told(&error));
                    }
                    end.failure.get_or_insert(IterationFailure { class: FailureClass::Refused, message });
                }
            }
            HookPoint::QualityCheck => {
                self.look_at_control_files(reply).await;
                let outcome = &reply.outcome;
                let passes =
                    outcome.refused.is_none() && outcome.abort.is_none() && outcome.broken.is_empty();
                if let Some(own) = self.view.own().as_mut() {
                    own.has_passed = passes && own.made.is_some();
                }
            }
            _ => {}
        }
    }

    /// Takes out whatever the agent made, whether it said that its task is done or not.
    async fn take_down(&self, is_main: bool, services: &Arc<Services>) -> Result<(), WorkspaceError> {
        if self.view.discovery().is_some() {
            return self.take_out_of_discovery(services).await;
        }
        let Some(own) = self.view.own().clone() else { return Ok(()) };
        let title = services.task(&own.task).map(|task| task.title).unwrap_or_default();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = if title.is_empty() { format!("Task {}", own.task) } else { title };
        let made = self.tree.collect(&WorkNote { title: Some(title), task: None }).await;
        self.tell_of_tree(services).await;
        let made = made?;
        services.work_tree.committed_for_agent(made.left.clone(), &made.commit);
        let is_made = |kept: &&mut OwnClaim| kept.token == own.token && is_main && own.is_done;
        if let Some(kept) = self.view.own().as_mut().filter(is_made) {
            (kept.made, kept.has_passed) = (Some(made), false);
        }
        Ok(())
    }

    /// Has a check fail in which files were changed that decide what runs.
    async fn look_at_control_files(&self, reply: &mut HookReply) {
        let changed = match self.tree.changed_control_files().await {
            Ok(changed) if changed.is_empty() => return,
            // It was not the agent who changed them.
            Ok(changed) => self.tree.leave_behind().await.map(|()| listed(&changed)),
            Err(error) => Err(error),
        };
        let changed = changed.unwrap_or_else(|error| described(&error));
        let why = format!("files that decide what runs were changed while the checks ran: {changed}");
        reply.outcome.refused.get_or_insert(why);
    }
}
