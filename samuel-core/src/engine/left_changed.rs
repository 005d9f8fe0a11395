//! The control files that the last run left changed, of which the next start asks.

use std::sync::Arc;

use super::{
    begin::last_control_record,
    control_files::ControlFiles,
    error::{RunError, blocking},
    run::Run,
};
use crate::{
    state::{LaneStore, PlanStore, ProgressEntry, ProgressKind, StateError},
    trust::{ControlFileChange, Executables, TrustRefusal},
};

impl Run {
    /// Returns what the run would execute, with the control files that the last run
    /// left changed: all that the [policy](Run::trusting) is shown. Blocks at the first
    /// call, for as long as somebody changes the plan.
    ///
    /// # Errors
    /// Returns [`RunError::State`] where what the last run saved cannot be read.
    pub fn executables(&mut self) -> Result<&Executables, RunError> {
        if !self.is_compared {
            self.executables.changes =
                left_changed(&*self.frozen.store, &*self.frozen.lane, &self.control_files)?;
            self.is_compared = true;
        }
        Ok(&self.executables)
    }

    /// Says whether what the run would execute may run as far as the [policy](Run::trusting)
    /// asks nobody. Blocks as [`executables`](Self::executables) does.
    ///
    /// # Errors
    /// Returns [`RunError::State`] where what the last run saved cannot be read.
    pub fn trusted(&mut self) -> Result<Result<(), Box<TrustRefusal>>, RunError> {
        self.executables()?;
        let (project, trust) = (&self.frozen.project, self.frozen.trust.unasked());
        Ok(trust.decide(project.root(), &self.executables, project.clock().now()))
    }

    /// Looks what the last run left changed without holding up other work, once.
    pub(super) async fn ensure_compared(&mut self) -> Result<(), RunError> {
        if self.is_compared {
            return Ok(());
        }
        let (store, lane) = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let control_files = Arc::clone(&self.control_files);
        let compared = blocking(move || left_changed(&*store, &*lane, &control_files));
        self.executables.changes = compared.await??;
        self.is_compared = true;
        Ok(())
    }

    /// Says in the progress log which changes of control files were accepted.
    pub(super) async fn log_accepted(&self) -> Result<(), RunError> {
        let now = self.frozen.project.clock().now();
        let line = |change: &ControlFileChange| {
            let text = format!("control file accepted: {change}: {}", change.digests());
            ProgressEntry::note(now, ProgressKind::Started, text)
        };
        let lines: Vec<ProgressEntry> = self.executables.changes.iter().map(line).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let store = Arc::clone(&self.frozen.store);
        Ok(blocking(move || store.append_progress(&lines)).await??)
    }
}

/// Returns the control files that the last run left changed.
fn left_changed(
    store: &dyn PlanStore,
    lane: &dyn LaneStore,
    control_files: &ControlFiles,
) -> Result<Vec<ControlFileChange>, StateError> {
    if !store.exists()? {
        return Ok(Vec::new());
    }
    Ok(control_files.changes_of(&last_control_record(lane)?))
}
