//! Whether a run listens for other processes, and what that means for its agent's hooks.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    error::{RunError, blocking},
    run::{Frozen, Run},
    socket::{Refusal, RunSocket},
};
use crate::{
    event::Event,
    hook::{HookPoint, Registry},
};

impl Frozen {
    /// Says what it means that the agent's own hooks ask about its tool calls; nothing where they
    /// do not.
    pub(super) fn hooks_notice(&self, registry: &Registry) -> Option<String> {
        let can_ask = !self.bridge.is_empty() && self.socket_dir.is_some();
        let asks = [HookPoint::AbilityBefore, HookPoint::AbilityAfter];
        let is_asked = asks.iter().any(|point| registry.has_handlers(*point));
        self.agent.hooks_notice().filter(|_| can_ask && is_asked)
    }
}

impl Run {
    /// Listens where the caller said that it may. A run whose handlers gate tool calls does not go
    /// on without.
    pub(super) async fn listen(&mut self) -> Result<(), RunError> {
        let Some(directory) = self.frozen.socket_dir.clone() else { return Ok(()) };
        let (run_id, hub) = (Arc::clone(&self.frozen.run_id), Arc::clone(&self.hub));
        let told = Mutex::new(BTreeSet::new());
        let refused = move |refusal: &Refusal| {
            let is_first = told.lock().unwrap_or_else(PoisonError::into_inner).insert(refusal.code.clone());
            if is_first {
                let Refusal { code, message, .. } = refusal;
                let message = format!("the run's socket refused a connection: {message} ({code})");
                hub.send(Event::Warning { message });
            }
        };
        let opened = blocking(move || RunSocket::open(&directory, &run_id, refused)).await?;
        self.listening = match opened {
            Err(error) if self.frozen.hooks_notice(&self.registry).is_some() => return Err(error.into()),
            opened => opened.map(Some),
        };
        Ok(())
    }
}
