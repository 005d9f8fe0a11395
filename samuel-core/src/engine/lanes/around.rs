//! What a lane does around a point: which ones fire there, and what becomes of what was done.

use std::sync::Arc;

use super::lane::{Lane, LaneFault};
use crate::{
    engine::{error::described, fire::Place, services::Services},
    event::IterationFailure,
    hook::{HookPoint, Outcome},
    machine::{HookReply, ReplyData},
    model::{Coded as _, FailureClass, payload::Turn},
    workspace::WorkspaceError,
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
                None
            }
            (true, HookPoint::QualityCheck) if !place.in_iteration => self.last_check(services).await,
            _ => None,
        }
    }

    /// Goes to what has landed for a check that is of no task. What the queue has checked there need not be
    /// checked once more.
    async fn last_check(&self, services: &Arc<Services>) -> Option<HookReply> {
        let head = self.shared.repository.head(&self.shared.into).await.ok().flatten()?;
        if self.shared.has_passed(&head) {
            return Some(HookReply { data: ReplyData::Checks(Vec::new()), ..HookReply::default() });
        }
        if self.view.own().is_none() {
            let gone = match self.rescue(services).await {
                Ok(_) => self.tree.check_out(&head).await.map_err(LaneFault::from),
                Err(fault) => Err(fault),
            };
            if let Err(fault) = gone {
                let why = format!("what has landed cannot be checked: {}", described(&fault));
                let outcome = Outcome { refused: Some(why), ..Outcome::default() };
                return Some(HookReply { outcome, data: ReplyData::Checks(Vec::new()) });
            }
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
            // What is done after the check, nobody has checked.
            HookPoint::AgentInvoke if turn != Turn::Main => {
                if let Some(own) = self.view.own().as_mut() {
                    own.is_beyond = true;
                }
            }
            HookPoint::AgentInvoke => {
                if let Err(error) = self.take_down(services).await
                    && let ReplyData::Agent(end) = &mut reply.data
                {
                    let message = format!("{} ({})", described(&error), error.code().name);
                    end.failure.get_or_insert(IterationFailure { class: FailureClass::Refused, message });
                }
            }
            HookPoint::QualityCheck => {
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

    /// Commits what the agent left, where it said that its task is done.
    async fn take_down(&self, services: &Arc<Services>) -> Result<(), WorkspaceError> {
        let own = self.view.own().clone();
        let Some(own) = own.filter(|own| own.is_done) else { return Ok(()) };
        let title = services.task(&own.task).map(|task| task.title).unwrap_or_default();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = if title.is_empty() { format!("Task {}", own.task) } else { title };
        let made = self.tree.commit(&title).await?;
        if let Some(kept) = self.view.own().as_mut().filter(|kept| kept.token == own.token) {
            (kept.made, kept.has_passed) = (Some(made), false);
        }
        Ok(())
    }
}
