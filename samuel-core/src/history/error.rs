//! Why a record cannot be read.

use crate::{
    event::EVENT_SCHEMA_VERSION,
    machine::ReplayError,
    model::{Coded, ErrorCode},
    state::StateError,
};

/// A question about the past that cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Nothing is recorded at all.
    #[error("no run is recorded here")]
    NoRuns,
    /// No run has this id.
    #[error("no run {run:?} is recorded{}", nearest_words(nearest.as_deref()))]
    UnknownRun {
        /// The id that was asked for.
        run: String,
        /// The nearest one that there is.
        nearest: Option<String>,
    },
    /// Several runs begin like this.
    #[error("{begin:?} is the beginning of several runs: {}", runs.join(", "))]
    SeveralRuns {
        /// What was asked for.
        begin: String,
        /// Some of them.
        runs: Vec<String>,
    },
    /// A part of a run's record is not there.
    #[error("nothing is recorded in {file} of run {run}")]
    NoRecord {
        /// The run.
        run: String,
        /// The file.
        file: &'static str,
    },
    /// A later version of Samuel wrote it.
    #[error(
        "the record of run {run} has version {found}, and this Samuel reads version {EVENT_SCHEMA_VERSION}"
    )]
    LaterVersion {
        /// The run.
        run: String,
        /// The version that it has.
        found: u64,
    },
    /// It cannot be replayed.
    #[error("run {run} cannot be replayed")]
    Replay {
        /// The run.
        run: String,
        /// Why not.
        #[source]
        source: ReplayError,
    },
    /// The state cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
}

fn nearest_words(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; the nearest is {nearest}")).unwrap_or_default()
}

impl Coded for HistoryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoRuns | Self::UnknownRun { .. } | Self::SeveralRuns { .. } | Self::NoRecord { .. } => {
                ErrorCode::RECORD_NOT_FOUND
            }
            Self::LaterVersion { .. } => ErrorCode::RECORD_VERSION,
            Self::Replay { source, .. } => match source {
                ReplayError::NoBeginning => ErrorCode::RECORD_NOT_FOUND,
                ReplayError::Version { .. } | ReplayError::Machine { .. } => ErrorCode::RECORD_VERSION,
            },
            Self::State(error) => error.code(),
        }
    }

    fn help(&self) -> crate::model::Remedy {
        match self {
            Self::State(error) => error.help(),
            _ => self.code().help.clone(),
        }
    }
}
