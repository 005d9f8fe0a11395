//! How one call of an agent reaches the run: its token, and what that leads to.
//!
//! Each call has a token of its own as long as it lasts. It leads to the plan, by the call's
//! [`Broker`](super::broker::Broker), and where the agent's hooks are wired to the handlers of its tool calls. An agent in a sandbox
//! has a listening path of its own beside it, which can be shown to it without another one's.

use std::sync::{Arc, PoisonError, Weak};

use super::{
    port::Port,
    refusals::Refused,
    socket::{Peer, Refusal, Routes, Serve, Way, Welcome},
};
use crate::{sandbox::HOST, text::described};

/// What the token of a call leads to.
struct OfCall(Weak<Port>);

impl Serve for OfCall {
    fn open(&self, peer: Peer) -> (Welcome, Routes) {
        let Some(port) = self.0.upgrade() else { return Default::default() };
        let welcome = Welcome {
            run: port.services.run_id.to_string(),
            iteration: Some(port.place.iteration),
            task: port.task.clone(),
            plan: Some(port.broker.plan()),
            ..Welcome::default()
        };
        let is_wired = port.bridged.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let routes = port.broker.clone().routes(peer);
        (welcome, if is_wired { port.hook_routes(routes) } else { routes })
    }

    fn refused(&self, verb: Option<&str>, refusal: &Refusal) {
        let Some(port) = self.0.upgrade() else { return };
        let (iteration, task) = (port.place.iteration, port.task.as_deref());
        port.services.refusals.tell(Refused { iteration, task, verb }, refusal);
    }
}

impl Port {
    /// Lets the agent in, where the run listens. Blocks.
    pub(super) fn admit(&self, sandbox: &str) {
        let services = &self.services;
        let Some(socket) = services.socket.get() else { return };
        let way = match sandbox {
            HOST => Way::OfRun,
            other => Way::Own { uid: services.sandboxes.named(other).ok().and_then(|one| one.peer_uid()) },
        };
        match socket.admit(Arc::new(OfCall(Weak::clone(&self.me))), way) {
            Ok(admitted) => {
                *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(admitted);
            }
            Err(error) => {
                let agent = &self.agent;
                services.warn(format!("{agent} cannot reach the run by its socket: {}", described(&error)));
            }
        }
    }
}
