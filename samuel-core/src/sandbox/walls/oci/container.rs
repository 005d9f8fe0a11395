//! One container: what lies ready for it before it starts, and its removal after.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
};

use samuel_guest::{Ended, Launch, NOT_STARTED};
use tokio::sync::watch;

use super::{Containers, Engine, SandboxError, Stuck, engine, unusable};
use crate::{
    process::{CommandOutput, Companion, End, ExitStatus, ProcessError},
    sandbox::walls::{
        outlet::Outlets,
        sockets::{Sockets, random},
    },
};

/// A container, from before it starts until it is gone.
#[derive(Debug)]
pub(super) struct Container {
    name: String,
    engine: Engine,
    sockets: Sockets,
    stuck: Stuck,
}

impl Container {
    /// Makes what lies ready for it, and begins to listen.
    pub(super) fn prepare(
        containers: &Containers,
        launch: &Launch,
        outlets: &Outlets,
    ) -> Result<Self, SandboxError> {
        let sockets = Sockets::prepare(&containers.directory, launch, outlets).map_err(unusable)?;
        let unique = random(6).map_err(|error| unusable(error.to_string()))?;
        let (engine, stuck) = (containers.engine()?.clone(), Arc::clone(&containers.stuck));
        Ok(Self { name: engine::new_name(&unique), engine, sockets, stuck })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn directory(&self) -> &Path {
        self.sockets.directory()
    }

    /// Returns where it is told how its command ended.
    pub(super) fn ended(&self) -> watch::Receiver<Option<Ended>> {
        self.sockets.ended()
    }

    /// Ends what runs in it, without waiting for it.
    pub(super) fn end(&self) {
        self.sockets.end();
    }

    /// Ends what runs in it, and removes it.
    pub(super) fn remove(&self) {
        self.sockets.end();
        if self.engine.remove(&self.name).is_err() {
            let mut stuck = self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
            stuck.get_or_insert_with(|| self.name.clone());
        }
    }
}

impl Companion for Container {
    fn release(&self, ended: &Result<CommandOutput, ProcessError>) {
        self.sockets.end();
        // The engine's command ends by itself once it has removed the container.
        let is_removed = ended.as_ref().is_ok_and(|output| {
            let by_itself = |code: i32| code != i32::from(NOT_STARTED);
            output.end == End::Exited && matches!(output.status, ExitStatus::Exited(code) if by_itself(code))
        });
        if !is_removed {
            self.remove();
        }
    }
}
