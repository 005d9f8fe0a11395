//! Why a record cannot be read.

use crate::{
    event::EVENT_SCHEMA_VERSION,
    machine::ReplayError,
    model::{Coded, ErrorCode, Remedy},
    state::{RecordPart, StateError},
    text::{counted, names},
};

/// How many runs are named one by one.
const MAX_NAMED: usize = 5;

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
    #[error("{begin:?} is the beginning of several runs: {}", names(runs, MAX_NAMED))]
    SeveralRuns {
        /// What was asked for.
        begin: String,
        /// The runs, the oldest first.
        runs: Vec<String>,
    },
    /// No run that is looked through called this handler, and none tells why.
    #[error("handler {handler} was not called in {runs}: no chain that fired has it")]
    NotCalled {
        /// The id that was asked for.
        handler: String,
        /// The runs, such as `the last 2 runs`.
        runs: String,
        /// The nearest id that was called, if one is near.
        nearest: Option<String>,
    },
    /// A part of a run's record is not there, or nothing in it can be read.
    #[error("{}", no_record(run, file, *unreadable))]
    NoRecord {
        /// The run.
        run: String,
        /// The file.
        file: &'static str,
        /// How many lines it has, none of which can be read.
        unreadable: u64,
    },
    /// The run is under way, gets ready, and has told no event.
    #[error("run {run} gets ready, and has told nothing yet")]
    NothingYet {
        /// The run.
        run: String,
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
    /// Whatever reads the record broke off.
    #[error("reading the record of run {run} broke off")]
    Broken {
        /// The run.
        run: String,
    },
    /// The state cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
}

fn no_record(run: &str, file: &str, unreadable: u64) -> String {
    match unreadable {
        0 => format!("nothing is recorded in {file} of run {run}"),
        lines => format!("nothing can be read in {file} of run {run}, of {}", counted(lines, "line")),
    }
}

fn nearest_words(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; the nearest is {nearest}")).unwrap_or_default()
}

impl HistoryError {
    /// Returns the error of a run whose events, or so many lines of them, say nothing.
    pub(super) fn no_events(run: &str, unreadable: u64) -> Self {
        Self::NoRecord { run: run.to_owned(), file: RecordPart::Events.file_name(), unreadable }
    }
}

impl Coded for HistoryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoRuns
            | Self::UnknownRun { .. }
            | Self::SeveralRuns { .. }
            | Self::NotCalled { .. }
            | Self::NoRecord { .. }
            | Self::NothingYet { .. } => ErrorCode::RECORD_NOT_FOUND,
            Self::LaterVersion { .. } => ErrorCode::RECORD_VERSION,
            Self::Replay { source, .. } => match source {
                ReplayError::NoBeginning => ErrorCode::RECORD_NOT_FOUND,
                ReplayError::Altered => ErrorCode::RECORD_DIFFERS,
                // It is of another version, or its machine is.
                _ => ErrorCode::RECORD_VERSION,
            },
            Self::Broken { .. } => ErrorCode::INTERNAL,
            Self::State(error) => error.code(),
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::State(error) => error.help(),
            Self::NoRuns => Remedy::StartRun,
            Self::NotCalled { nearest: None, .. } => Remedy::SeeChains,
            Self::NotCalled { nearest: Some(nearest), .. } => {
                Remedy::SeeChains.after(format!("Did you mean \"{nearest}\"?"))
            }
            _ => self.code().help.clone(),
        }
    }
}
