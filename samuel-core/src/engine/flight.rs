//! What a driver has under way: the effects that run beside the machine, and what is
//! to be written or returned once they are done.

use std::collections::HashMap;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    event::RunReport,
    machine::{EffectId, EffectResult, Input},
    state::ProgressEntry,
};

/// What a driver keeps while it runs.
#[derive(Default)]
pub(super) struct Flight {
    pub(super) tasks: JoinSet<(EffectId, EffectResult)>,
    tokens: HashMap<EffectId, CancellationToken>,
    ids: HashMap<tokio::task::Id, EffectId>,
    pub(super) report: Option<RunReport>,
    /// Lines that were not written to the progress log yet.
    pub(super) lines: Vec<ProgressEntry>,
}

impl Flight {
    /// Returns what ends an effect early.
    pub(super) fn token(&mut self, id: EffectId) -> CancellationToken {
        self.tokens.entry(id).or_default().clone()
    }

    /// Has an effect that takes time done beside the machine.
    pub(super) fn launch(&mut self, id: EffectId, work: impl Future<Output = EffectResult> + Send + 'static) {
        let task = self.tasks.spawn(async move { (id, work.await) });
        self.ids.insert(task.id(), id);
    }

    /// Ends an effect early, if it is under way and can be ended.
    pub(super) fn interrupt(&self, id: EffectId) {
        if let Some(token) = self.tokens.get(&id) {
            token.cancel();
        }
    }

    /// Makes an input of what came of an effect.
    pub(super) fn landed(
        &mut self,
        done: Result<(tokio::task::Id, (EffectId, EffectResult)), tokio::task::JoinError>,
    ) -> Input {
        match done {
            Ok((task, (id, result))) => {
                self.ids.remove(&task);
                self.tokens.remove(&id);
                Input::Done(id, result)
            }
            // Handlers' panics are caught before; this one is Samuel's own.
            Err(error) => {
                let id = self.ids.remove(&error.id()).unwrap_or(EffectId(0));
                self.tokens.remove(&id);
                Input::Done(id, EffectResult::Failed(format!("an effect broke: {error}").into()))
            }
        }
    }
}
