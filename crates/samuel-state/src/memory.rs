//! A plan in memory.
//!
//! [`MemoryStore`] behaves like [`FileStore`](super::FileStore) as far as
//! there are no files to speak of. Clones share their state.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
};

use jiff::Timestamp;

use super::{
    Actor, Applied, Asker, Existing, Imported, JournalEntry, JournalPart, JournalRecord, LaneStore as _,
    LoadedPlan, MemoryLane, Mutation, PlanStore, ProgressEntry, ProgressLog, ReadOn, StateDiagnostic,
    StateError, Watch,
    change::{Asked, change},
    import,
    locked::locked,
    progress, refused,
};
use samuel_model::{Plan, ProgressStatus, clock::Clock};

/// Keeps a plan in memory; for tests and for programs that keep it elsewhere.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    is_silent: bool,
    /// Where a loop on this plan is locked.
    lane: Option<MemoryLane>,
}

#[derive(Debug, Default)]
struct State {
    plan: Option<Arc<Plan>>,
    /// What was wrong with the file that the plan is from.
    diagnostics: Vec<StateDiagnostic>,
    unparsed: Vec<String>,
    journal: Vec<JournalRecord>,
    progress: String,
    archive: String,
    listeners: Vec<ReadOn>,
}

impl MemoryStore {
    /// Creates a store without a plan.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::default(), is_silent: false, lane: None }
    }

    /// Creates a store with a plan that another store has loaded. Journal and progress log are empty, and
    /// watchers are not notified.
    #[doc(hidden)]
    pub fn holding(loaded: LoadedPlan, clock: Arc<dyn Clock>) -> Self {
        let LoadedPlan { plan, diagnostics, unparsed, .. } = loaded;
        let state = State { plan: Some(plan), diagnostics, unparsed, ..State::default() };
        Self { clock, state: Arc::new(Mutex::new(state)), is_silent: true, lane: None }
    }

    /// Says nothing to those who watch, so that a loop looks at its own turns alone and is
    /// the same each time.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.is_silent = true;
        self
    }

    /// Knows by the lane of the loop whether one is at work, so that one which died in a discovery
    /// iteration keeps nobody from adding tasks. By default its limit holds until the next run begins.
    #[must_use]
    pub fn beside(self, lane: &MemoryLane) -> Self {
        Self { lane: Some(lane.clone()), ..self }
    }

    /// Says whether nobody runs a loop on the plan, as far as that is known.
    fn has_no_loop(&self) -> Result<bool, StateError> {
        self.lane.as_ref().map_or(Ok(false), |lane| Ok(lane.loop_holder()?.is_none()))
    }

    /// Returns the lines of the progress log that were archived.
    pub fn progress_archive(&self) -> String {
        self.state().archive.clone()
    }

    fn change(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        asker.may(&mutation)?;
        let mut state = self.state();
        let at = self.clock.now();
        let mut plan = Arc::clone(state.plan()?);
        let asked = Asked { made_at, mutation, asker, at };
        let (applied, entry) = change(&mut plan, &name(), asked, || state.journal.clone())?;
        let Some(entry) = entry else { return Ok(applied) };
        let seq = state.append(at, plan.revision, entry)?;
        state.plan = Some(plan);
        Ok(Applied { seq: Some(seq), ..applied })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

impl State {
    fn plan(&self) -> Result<&Arc<Plan>, StateError> {
        self.plan.as_ref().ok_or_else(|| StateError::NotInitialised { path: name() })
    }

    fn append(&mut self, at: Timestamp, revision: u64, entry: JournalEntry) -> Result<u64, StateError> {
        let seq = self.journal.last().map_or(0, |record| record.seq) + 1;
        let record = JournalRecord { seq, at, revision, digest: None, entry };
        // Keeps the limits of the file store.
        record.to_line()?;
        self.journal.push(record);
        self.listeners.retain(ReadOn::tell);
        Ok(seq)
    }

    fn revision(&self) -> u64 {
        self.journal.last().map_or(0, |record| record.revision)
    }
}

fn name() -> PathBuf {
    PathBuf::from("prd.toon")
}

impl PlanStore for MemoryStore {
    fn exists(&self) -> Result<bool, StateError> {
        Ok(self.state().plan.is_some())
    }

    fn load(&self) -> Result<LoadedPlan, StateError> {
        let state = self.state();
        let plan = Arc::clone(state.plan()?);
        let (diagnostics, unparsed) = (state.diagnostics.clone(), state.unparsed.clone());
        Ok(LoadedPlan { revision: plan.revision, plan, diagnostics, unparsed })
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        let mut state = self.state();
        if state.plan.is_some() && existing == Existing::Refuse {
            return Err(StateError::Exists { path: name() });
        }
        let (now, revision) = (self.clock.now(), state.revision() + 1);
        let plan = import::prepare(plan, revision, now)?;
        state.append(
            now,
            revision,
            JournalEntry::Imported { actor, tasks: plan.tasks.len(), backup: None },
        )?;
        state.plan = Some(Arc::new(plan));
        Ok(Imported { revision, backup: None, kept: None })
    }

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        match self.change(made_at, mutation.clone(), asker) {
            Err(StateError::DiscoveryFull { .. }) if self.has_no_loop()? => {
                let stopped = Mutation::SetProgressStatus { status: ProgressStatus::Stopped };
                self.change(made_at, stopped, &Asker::from(Actor::Runtime))?;
                self.change(made_at, mutation, asker)
            }
            Err(error @ StateError::DiscoveryFull { .. }) => {
                refused::note(self, &mutation, self.clock.now());
                Err(error)
            }
            changed => changed,
        }
    }

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        let state = self.state();
        let records = state.journal.iter().filter(|record| record.seq > seq).cloned().collect();
        Ok(JournalPart { records, has_gap: false })
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        let mut state = self.state();
        for entry in entries {
            state.progress.push_str(&format!("{entry}\n"));
        }
        Ok(())
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        Ok(ProgressLog::parse(&self.state().progress))
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        let mut state = self.state();
        let content = std::mem::take(&mut state.progress);
        let Some(rotation) = progress::split_for_rotation(content.as_bytes(), max_lines) else {
            state.progress = content;
            return Ok(0);
        };
        let text = |lines: &[&[u8]]| -> String {
            lines.iter().map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect()
        };
        state.archive.push_str(&text(&rotation.archive));
        state.progress = text(&rotation.keep);
        Ok(rotation.archive.len())
    }

    fn watch(&self) -> Watch {
        let (read_on, watch) = Watch::new();
        if !self.is_silent {
            self.state().listeners.push(read_on);
        }
        watch
    }
}
