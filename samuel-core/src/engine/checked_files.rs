//! Holding the control files against what they were, around each check.

use std::sync::Arc;

use super::{control_files::Stamps, services::Services};
use crate::{
    event::RunFault, hook::HookPoint, machine::EffectResult, text::listed, trust::ControlFileChange,
};

impl Services {
    /// Looks at the control files before a check is made. Returns the stamps of the
    /// scripts, or why the check would not count: what decides what runs is not as it
    /// was shown.
    pub(super) async fn look_before_check(
        self: &Arc<Self>,
        point: HookPoint,
    ) -> Result<Stamps, EffectResult> {
        if point != HookPoint::QualityCheck {
            return Ok(Stamps::new());
        }
        let look = |services: &Self| (services.control_files.stamps(), services.control_files.changes());
        match self.blocking(look).await {
            Ok((stamps, changes)) if changes.is_empty() => Ok(stamps),
            Ok((_, changes)) => Err(changed(&changes, false)),
            Err(error) => Err(EffectResult::Failed(RunFault::of(&error))),
        }
    }

    /// Returns why a check that was made does not count.
    pub(super) async fn look_after_check(
        self: &Arc<Self>,
        point: HookPoint,
        stamps: Stamps,
    ) -> Option<EffectResult> {
        if point != HookPoint::QualityCheck {
            return None;
        }
        match self.blocking(move |services| services.control_files.changes_since(&stamps)).await {
            Ok(changes) if changes.is_empty() => None,
            Ok(changes) => Some(changed(&changes, true)),
            Err(error) => Some(EffectResult::Failed(RunFault::of(&error))),
        }
    }
}

fn changed(changes: &[ControlFileChange], during_check: bool) -> EffectResult {
    EffectResult::ControlFilesChanged { files: listed(changes), during_check }
}
