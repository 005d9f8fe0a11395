//! Whether a run listens for other processes, and what that means for its agent's hooks.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    error::{RunError, blocking},
    frozen::Frozen,
    handle::Controller,
    people::People,
    refusals::Refused,
    run::Run,
    socket::{Refusal, RunSocket},
};
use crate::{
    agent::Agent,
    event::Event,
    hook::{HookPoint, Registry},
    state::LoopLock,
    text::described,
};

impl Frozen {
    /// Says what it means that an agent's own hooks ask about its tool calls; nothing where they
    /// do not.
    pub(super) fn hooks_notice(&self, agent: &dyn Agent, registry: &Registry) -> Option<String> {
        let can_ask = !self.bridge.is_empty() && self.socket_dir.is_some();
        let asks = [HookPoint::AbilityBefore, HookPoint::AbilityAfter];
        let is_asked = asks.iter().any(|point| registry.has_handlers(*point));
        agent.hooks_notice().filter(|_| can_ask && is_asked)
    }
}

impl Run {
    /// Listens where the caller said that it may. A run whose handlers gate tool calls does not go
    /// on without.
    pub(super) async fn listen(&mut self, lock: &Arc<dyn LoopLock>) -> Result<(), RunError> {
        let Some(directory) = self.frozen.socket_dir.clone() else { return Ok(()) };
        let hub = Arc::clone(&self.hub);
        let (told, refusals) = (Mutex::new(BTreeSet::new()), Arc::clone(&self.refusals));
        let control = Controller::new(self.inputs.0.clone(), Arc::clone(&self.hub));
        let people = Arc::new(People::new(Arc::clone(&self.hub), control, Arc::clone(&refusals)));
        let refused = move |refusal: &Refusal, is_told: bool| {
            if !is_told {
                refusals.tell(Refused::default(), refusal);
            }
            let is_first = told.lock().unwrap_or_else(PoisonError::into_inner).insert(refusal.code.clone());
            if is_first {
                let Refusal { code, message, .. } = refusal;
                let message = format!("the run's socket refused a connection: {message} ({code})");
                hub.send(Event::Warning { message });
            }
        };
        let asks = |agent: &dyn Agent| self.frozen.hooks_notice(agent, &self.registry).is_some();
        let must_listen = self.frozen.choices()?.iter().any(|(_, agent)| asks(&**agent));
        let lock = Arc::clone(lock);
        let opened = blocking(move || {
            let opened = RunSocket::open(&directory, people, refused);
            // Who cannot be told where the run listens finds no run that does.
            let told = opened.as_ref().ok().map(|socket| lock.listens_at(socket.path()));
            (opened, told)
        });
        let (opened, told) = opened.await?;
        if let Some(Err(error)) = told {
            self.hub
                .send(Event::Warning { message: format!("{}; no command finds the run", described(&error)) });
        }
        self.listening = match opened {
            Err(error) if must_listen => return Err(error.into()),
            opened => opened.map(Some),
        };
        Ok(())
    }
}
