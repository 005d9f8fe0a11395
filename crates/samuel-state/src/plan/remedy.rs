//! What has claimed work go on that does not go on by itself.
//!
//! A [`WorkRemedy`] is a step that [`WorkUnderWay`](super::WorkUnderWay) finds for claims; as a [`Remedy`] each edge
//! words it in its terms.

use serde::{Deserialize, Serialize};

use samuel_model::{Remedy, TaskId};

/// A step that has claimed work go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkRemedy {
    /// Start a run, which frees what lanes of a run that is gone were working on.
    FreeByStart,
    /// Land what lanes have submitted, without a loop or by a start with several lanes.
    Land,
    /// Do that once the run at work has ended, which has no lanes and lands nothing.
    LandAfterRun,
    /// Let go of work that somebody holds, so that it lands.
    LetLand {
        /// The task.
        task: TaskId,
    },
}

impl WorkRemedy {
    /// Returns what to do, which whoever shows it words.
    pub fn help(&self) -> Remedy {
        match self {
            Self::FreeByStart => Remedy::FreeByStart,
            Self::Land => Remedy::LandQueue,
            Self::LandAfterRun => Remedy::LandQueue.after("Once the run at work has ended:"),
            Self::LetLand { task } => Remedy::LetLand { task: task.clone() },
        }
    }

    /// Returns what to do, one step after the other; nothing where there is none.
    pub fn help_of(steps: &[Self]) -> Option<Remedy> {
        let mut help: Vec<Remedy> = steps.iter().map(Self::help).collect();
        if help.len() > 1 { Some(Remedy::All(help)) } else { help.pop() }
    }
}
