//! What stands in the place of the sandboxes of samuel.toml where this crate is built without the feature `sandbox`.

use std::sync::Arc;

use super::builder::RunBuilder;
use crate::{
    sandbox::{ProbeGround, Sandbox, SandboxError, Sandboxes},
    workspace::WorkspaceKind,
};

impl RunBuilder {
    /// Returns those that are known: nothing is described that could run.
    #[expect(clippy::unused_self, reason = "with the feature it is the builder that describes them")]
    pub(super) fn described(&self, known: Sandboxes, _kind: WorkspaceKind) -> Sandboxes {
        known
    }

    /// Returns the sandbox that was chosen: it is the program's own.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "with the feature it is made anew")]
    pub(super) fn on_ground(
        &self,
        _ground: &ProbeGround,
        chosen: Arc<dyn Sandbox>,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        Ok(chosen)
    }
}
