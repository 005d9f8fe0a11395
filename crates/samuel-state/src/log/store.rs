//! The plan store over a log.
//!
//! A [`LogStore`] appends each requested change regardless of the current plan, reads the log up to the change, and
//! returns the result. Only one change is in flight at a time, over all threads. Readers do not wait for it.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::{
    LogContent, LogError, LogFold, LogMirror, LogOutcome, LogRecord, PlanLog, VoidRecord,
    attempts::{GaveUp, attempts},
    import::parts,
    record::check_name,
    replica::Replica,
};
use crate::{
    Actor, Applied, Asker, Existing, Imported, JournalPart, LoadedPlan, Mutation, PlanStore, ProgressEntry,
    ProgressLog, StateError, Watch, locked::locked, refused,
};
use samuel_model::{Plan, clock::Clock, hex};

/// The maximum size of the part of the progress log in one record, in bytes.
const PROGRESS_BYTES: usize = 256 << 10;

/// The settings of a plan store over a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSetup {
    /// The name of the plan, 1 to 200 characters.
    pub plan: String,
    /// The name under which this process writes, 1 to 200 characters. It must be unique: no other process may ever
    /// have used it.
    pub writer: String,
    /// The time during which the store offers a change to a log that does not acknowledge it; 10 minutes by default. If
    /// it is zero, the store offers the change once.
    pub patience: Duration,
    /// The time after a read during which the store assumes that the log is still the same; one second by default. After
    /// that time the store reads the log before it appends, so that it appends nothing to a log that was restored from
    /// a backup.
    pub trusted_for: Duration,
}

impl LogSetup {
    /// Creates the setup of a process that started now, for a worker with a name that others know.
    pub fn new(plan: impl Into<String>, worker: &str, now: Timestamp) -> Self {
        let mut start = [0; 8];
        // If the system has no random numbers, the time distinguishes one start from the next.
        if getrandom::fill(&mut start).is_err() {
            let now = now.as_nanosecond().to_le_bytes();
            start.iter_mut().zip(now).for_each(|(to, from)| *to = from);
        }
        Self {
            plan: plan.into(),
            writer: format!("{worker}/{}", hex(&start)),
            patience: Duration::from_secs(600),
            trusted_for: Duration::from_secs(1),
        }
    }
}

/// A store that keeps a plan in a log that several machines write to.
#[derive(Debug)]
pub struct LogStore<L> {
    log: L,
    setup: LogSetup,
    clock: Arc<dyn Clock>,
    /// The thread that holds it writes.
    writing: Mutex<Writing>,
    /// The thread that holds it reads, and may wait for the log meanwhile.
    replica: Mutex<Replica>,
    /// The result of the last read, for callers that do not wait.
    known: Mutex<Known>,
}

/// The position up to which a log was read, and the resulting plan.
#[derive(Clone, Debug, Default)]
struct Known {
    plan: Option<Arc<Plan>>,
    read_to: u64,
}

/// The state of a writer.
#[derive(Debug, Default)]
struct Writing {
    /// The number of its last record.
    last: u64,
    /// The last record, while its outcome is not known.
    outstanding: Option<Vec<u8>>,
}

/// A requested change and its asker.
struct Wanted<'a> {
    made_at: Option<Timestamp>,
    asker: &'a Asker,
    content: LogContent,
}

impl<L: PlanLog> LogStore<L> {
    /// Opens the plan of a log, starting from the records in a mirror. Does not contact the log yet.
    ///
    /// # Errors
    /// Returns [`LogError::Name`], [`LogError::Mirror`], [`LogError::MirrorHeld`], [`LogError::MirrorIo`] and
    /// [`LogError::Format`], as [`StateError::Log`].
    pub fn open(
        log: L,
        setup: LogSetup,
        mirror: LogMirror,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StateError> {
        let fold = LogFold::new(setup.plan.clone());
        Self::with_fold(log, setup, mirror, clock, fold)
    }

    /// Opens a store on a log as [`open`](Self::open) does, but with the caller's fold.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    #[doc(hidden)]
    pub fn with_fold(
        log: L,
        setup: LogSetup,
        mirror: LogMirror,
        clock: Arc<dyn Clock>,
        fold: LogFold,
    ) -> Result<Self, StateError> {
        check_name("plan", &setup.plan).map_err(StateError::log)?;
        check_name("writer", &setup.writer).map_err(StateError::log)?;
        let replica = Replica::open(fold, &setup.plan, &setup.writer, mirror, clock.now());
        let replica = replica.map_err(StateError::log)?;
        let known = Mutex::new(Known::of(&replica));
        Ok(Self { log, setup, clock, writing: Mutex::default(), replica: Mutex::new(replica), known })
    }

    /// Reads the log to its end.
    ///
    /// # Errors
    /// Returns [`LogError::Unreachable`], [`LogError::Denied`] or [`LogError::MirrorIo`]. The errors
    /// [`LogError::Lost`], [`LogError::Format`] and [`LogError::WriterTaken`] are permanent.
    pub fn read_on(&self) -> Result<(), LogError> {
        self.read(&mut self.replica())
    }

    /// Returns the plan up to the last read of the log. Does not contact the log, and does not wait for a thread that
    /// reads it.
    pub fn folded(&self) -> Option<Arc<Plan>> {
        locked(&self.known).plan.clone()
    }

    /// Returns the number up to which the log was read.
    pub fn read_to(&self) -> u64 {
        locked(&self.known).read_to
    }

    /// Returns the digest of all folded records, which is the same for all readers at the same position. Waits for a
    /// thread that reads the log.
    pub fn digest(&self) -> String {
        self.replica().fold.digest()
    }

    /// Returns the last records that change nothing in any plan, at most 100.
    pub fn void_records(&self) -> Vec<VoidRecord> {
        self.replica().voids().cloned().collect()
    }

    /// Returns how many repeated copies of records this process has read.
    pub fn repeated(&self) -> u64 {
        self.replica().repeated()
    }

    /// Offers the last change again if its outcome is not known, which is the case after [`LogError::Unacknowledged`].
    /// Returns `None` if no change is outstanding. If you make another change instead of this call, the store stops
    /// offering the last one, and the plan then shows whether it took effect.
    ///
    /// # Errors
    /// Returns the errors of [`PlanStore::mutate`].
    pub fn retry(&self) -> Result<Option<LogOutcome>, StateError> {
        let mut writing = locked(&self.writing);
        match writing.outstanding.is_some() {
            true => self.until_seen(&mut writing).map(Some),
            false => Ok(None),
        }
    }

    #[cfg(test)]
    pub(super) fn log(&self) -> &L {
        &self.log
    }

    /// Returns the name of the writer and the number of its last record.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub fn last_own(&self) -> (String, u64) {
        (self.setup.writer.clone(), locked(&self.writing).last)
    }

    /// Appends a record and returns its outcome.
    fn offer(&self, writing: &mut Writing, wanted: Wanted<'_>) -> Result<LogOutcome, StateError> {
        let Wanted { made_at, asker, content } = wanted;
        let mut replica = self.replica();
        if let Some(fault) = &replica.fault {
            return Err(StateError::log(fault.clone()));
        }
        let n = writing.last.max(replica.fold.last_of(&self.setup.writer)) + 1;
        let LogSetup { plan, writer, .. } = &self.setup;
        let record = LogRecord::new(plan, writer, n, self.clock.now(), asker, content);
        let bytes = LogRecord { made_at, ..record }.encode().map_err(StateError::log)?;
        replica.expect(n, &bytes);
        drop(replica);
        (writing.last, writing.outstanding) = (n, Some(bytes));
        self.until_seen(writing)
    }

    /// Appends the outstanding record until a read of the log returns it.
    fn until_seen(&self, writing: &mut Writing) -> Result<LogOutcome, StateError> {
        let Some(record) = writing.outstanding.clone() else { return Ok(LogOutcome::Part) };
        let mut is_acknowledged = false;
        let seen = attempts(self.setup.patience, |until| {
            let tried = self.try_once(&record, until, &mut is_acknowledged);
            // An outcome is returned only after its record is mirrored.
            let is_mirrored = !matches!(tried, Err(LogError::MirrorIo { .. }));
            if let Some(outcome) = is_mirrored.then(|| self.replica().take_outcome()).flatten() {
                return ControlFlow::Break(Ok(outcome));
            }
            match tried {
                Err(error) if !error.is_transient() => ControlFlow::Break(Err(error)),
                Err(error) => ControlFlow::Continue(error.to_string()),
                Ok(()) => ControlFlow::Continue("it is not in the log yet".to_owned()),
            }
        });
        match seen {
            Ok(Ok(outcome)) => {
                writing.outstanding = None;
                outcome
            }
            Ok(Err(error)) => Err(StateError::log(error)),
            Err(GaveUp { reason, waited }) => {
                let plan = self.setup.plan.clone();
                Err(StateError::log(LogError::Unacknowledged { plan, waited, reason }))
            }
        }
    }

    /// Appends a record, unless it is in the log or was acknowledged before, and reads the log.
    fn try_once(&self, record: &[u8], until: Instant, is_acknowledged: &mut bool) -> Result<(), LogError> {
        let mut replica = self.replica();
        let is_trusted = replica.read_at.is_some_and(|read| read.elapsed() < self.setup.trusted_for);
        // A record that was read may still have to be mirrored.
        if !is_trusted || replica.has_outcome() || replica.fault.is_some() {
            self.read(&mut replica)?;
        }
        if replica.has_outcome() {
            return Ok(());
        }
        drop(replica);
        let appended = if *is_acknowledged { Ok(0) } else { self.log.append(record, until) };
        *is_acknowledged |= appended.is_ok();
        // The record may be in the log even if the append returned an error.
        self.read(&mut self.replica())?;
        appended.map(drop)
    }

    /// Reads the log to its end, and publishes the result for callers that do not wait.
    fn read(&self, replica: &mut Replica) -> Result<(), LogError> {
        let read = replica.read_on(&self.log);
        *locked(&self.known) = Known::of(replica);
        read
    }

    pub(super) fn replica(&self) -> MutexGuard<'_, Replica> {
        locked(&self.replica)
    }

    /// Reads the log if it can be reached, and calls `look` with everything that has been read.
    fn looked<R>(&self, look: impl FnOnce(&LogFold) -> R) -> Result<R, StateError> {
        let mut replica = self.replica();
        match self.read(&mut replica) {
            // If there is a plan, the caller continues with its known state.
            Err(error) if !error.is_transient() || replica.fold.plan().is_none() => {
                Err(StateError::log(error))
            }
            _ => Ok(look(&replica.fold)),
        }
    }

    fn change(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        asker.may(&mutation)?;
        let wanted = Wanted { made_at, asker, content: LogContent::Mutation(mutation) };
        match self.offer(&mut locked(&self.writing), wanted)? {
            LogOutcome::Applied(applied) => Ok(*applied),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(outcome: &LogOutcome) -> StateError {
    StateError::Encode { what: "log record", reason: format!("it came to {outcome:?}") }
}

impl Known {
    fn of(replica: &Replica) -> Self {
        Self { plan: replica.fold.plan().cloned(), read_to: replica.read_to }
    }
}

impl<L: PlanLog> PlanStore for LogStore<L> {
    fn exists(&self) -> Result<bool, StateError> {
        self.looked(|fold| fold.plan().is_some())
    }

    fn load(&self) -> Result<LoadedPlan, StateError> {
        let plan = self.looked(|fold| fold.plan().cloned().ok_or_else(|| fold.no_plan()))??;
        Ok(LoadedPlan { revision: plan.revision, plan, diagnostics: Vec::new(), unparsed: Vec::new() })
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        let taken = |fold: &LogFold| fold.plan().is_some().then(|| fold.has_plan());
        // Another writer may import a plan meanwhile, so the log decides. In most cases, this check fails before the
        // whole plan is written.
        if existing == Existing::Refuse
            && let Ok(Some(taken)) = self.looked(taken)
        {
            return Err(taken);
        }
        let encoded = parts(&plan, existing == Existing::Replace);
        let parts =
            encoded.map_err(|error| StateError::Encode { what: "plan", reason: error.to_string() })?;
        let (mut writing, asker) = (locked(&self.writing), Asker::from(actor));
        for part in parts {
            let wanted = Wanted { made_at: None, asker: &asker, content: LogContent::Import(part) };
            match self.offer(&mut writing, wanted)? {
                LogOutcome::Part => {}
                LogOutcome::Imported(imported) => return Ok(imported),
                other => return Err(unexpected(&other)),
            }
        }
        Err(unexpected(&LogOutcome::Part))
    }

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        let changed = self.change(made_at, mutation.clone(), asker);
        if let Err(StateError::DiscoveryFull { .. }) = &changed {
            refused::note(self, &mutation, self.clock.now());
        }
        changed
    }

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        self.looked(|fold| fold.journal_since(seq))
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        let (mut writing, asker) = (locked(&self.writing), Asker::from(Actor::Runtime));
        let mut lines = entries.iter().map(ToString::to_string).peekable();
        while lines.peek().is_some() {
            let mut bytes = 0;
            let mut some = Vec::new();
            while let Some(line) =
                lines.next_if(|line| some.is_empty() || bytes + line.len() < PROGRESS_BYTES)
            {
                bytes += line.len();
                some.push(line);
            }
            let wanted = Wanted { made_at: None, asker: &asker, content: LogContent::Progress(some) };
            self.offer(&mut writing, wanted)?;
        }
        Ok(())
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        self.looked(LogFold::progress)
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        if self.progress()?.lines.len() <= max_lines {
            return Ok(0);
        }
        let asker = Asker::from(Actor::Runtime);
        let wanted = Wanted { made_at: None, asker: &asker, content: LogContent::RotateProgress(max_lines) };
        match self.offer(&mut locked(&self.writing), wanted)? {
            LogOutcome::Rotated(lines) => Ok(lines),
            other => Err(unexpected(&other)),
        }
    }

    fn watch(&self) -> Watch {
        // A watch without notifications only delays reads.
        self.log.watch(self.read_to()).unwrap_or_else(|_| Watch::new().1)
    }
}
