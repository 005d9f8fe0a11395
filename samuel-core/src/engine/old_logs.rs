//! The logs of earlier runs, of which only some are kept.

use super::{begin::Begin, error::described, run::Run};
use crate::{
    model::run_blocking,
    state::{KeptLogs, prune},
};

/// What came of the logs of earlier runs.
#[derive(Debug, Default)]
pub(super) struct OldLogs {
    /// What was removed, in words.
    pub(super) removed: Option<String>,
    /// Why something that should have been is still there.
    pub(super) failure: Option<String>,
}

impl Run {
    /// Removes the logs of earlier runs beyond what is kept. That it fails is no
    /// reason not to run.
    pub(super) async fn prune_logs(&self, begin: &Begin) -> OldLogs {
        let settings = &self.frozen.settings;
        let keep = KeptLogs { runs: settings.keep_runs, bytes: settings.keep_bytes };
        let (run_dir, resumed) = (self.frozen.run_dir.clone(), begin.resumed.clone());
        let pruned = run_blocking(move || prune(&run_dir, keep, resumed.as_deref())).await;
        match pruned {
            Ok(Ok(pruned)) => {
                OldLogs { removed: (pruned.runs > 0).then(|| pruned.to_string()), failure: pruned.failure }
            }
            Ok(Err(error)) => OldLogs { removed: None, failure: Some(described(&error)) },
            Err(error) => OldLogs { removed: None, failure: Some(error.to_string()) },
        }
    }
}
