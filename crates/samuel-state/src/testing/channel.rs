//! A store of plans that somebody else has.

use std::{
    sync::{Arc, mpsc},
    thread,
};

use jiff::Timestamp;

use crate::{
    Actor, Applied, Asker, CaughtUp, Existing, Imported, JournalPart, LastWritten, LoadedPlan, Mutation,
    PlanStore, ProgressEntry, ProgressLog, StateError, Watch,
};
use samuel_model::Plan;

/// By how much the numbers of its journal grow.
const STEP: u64 = 7;

/// A call, for the thread that has the store.
type Call = Box<dyn FnOnce(&dyn PlanStore) + Send>;

/// Stands for a store of plans that is reached over a connection: every call is a message
/// to the thread that has it. The numbers of its journal grow by seven, as those of a log
/// do that others write to as well.
#[derive(Debug)]
pub struct ChannelStore {
    calls: mpsc::Sender<Call>,
}

impl ChannelStore {
    /// Starts the thread that has a store. It ends with this one.
    pub fn over(store: Arc<dyn PlanStore>) -> Self {
        let (calls, received) = mpsc::channel::<Call>();
        thread::spawn(move || received.into_iter().for_each(|call| call(&*store)));
        Self { calls }
    }

    fn ask<R: Send + 'static>(&self, call: impl FnOnce(&dyn PlanStore) -> R + Send + 'static) -> R {
        let (answer, answered) = mpsc::channel();
        // Where the store has panicked, waiting for its answer fails.
        let _ = self.calls.send(Box::new(move |store| drop(answer.send(call(store)))));
        answered.recv().expect("the store does not panic")
    }
}

fn renumbered(journal: JournalPart) -> JournalPart {
    let mut journal = journal;
    journal.records.iter_mut().for_each(|record| record.seq *= STEP);
    journal
}

impl PlanStore for ChannelStore {
    fn exists(&self) -> Result<bool, StateError> {
        self.ask(|store| store.exists())
    }

    fn load(&self) -> Result<LoadedPlan, StateError> {
        self.ask(|store| store.load())
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        self.ask(move |store| store.import(plan, actor, existing))
    }

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        let asker = asker.clone();
        let applied = self.ask(move |store| store.mutate_as(made_at, mutation, &asker))?;
        Ok(Applied { seq: applied.seq.map(|seq| seq * STEP), ..applied })
    }

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        self.ask(move |store| store.journal_since(seq / STEP)).map(renumbered)
    }

    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        let caught = self.ask(move |store| store.catch_up(seq / STEP))?;
        Ok(CaughtUp { journal: renumbered(caught.journal), ..caught })
    }

    fn last_written(&self) -> Result<LastWritten, StateError> {
        self.ask(|store| store.last_written())
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        let entries = entries.to_vec();
        self.ask(move |store| store.append_progress(&entries))
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        self.ask(|store| store.progress())
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        self.ask(move |store| store.rotate_progress(max_lines))
    }

    fn watch(&self) -> Watch {
        self.ask(|store| store.watch())
    }
}
