//! What a run leaves behind about its control files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trust::ControlFileChange;

/// What a run saves of its control files, for the next start.
///
/// A run that is under way saves what it was built from: whatever is different when
/// it is taken up after a crash may be the agent's doing. A run that has ended saves
/// only what had changed by then, since what changes later is the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct ControlRecord {
    /// The digests of the files; nothing for one that does not exist.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) files: BTreeMap<String, Option<String>>,
    /// What had changed when the run ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changed: Vec<ControlFileChange>,
}

impl ControlRecord {
    /// Says of each file what it has to be, to be no change.
    pub(super) fn expected(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let files = self.files.iter().map(|(path, digest)| (path.as_str(), digest.as_deref()));
        files.chain(self.changed.iter().map(|change| (change.path.as_str(), change.before.as_deref())))
    }
}
