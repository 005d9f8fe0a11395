//! A store whose plan another process keeps: the loop that called this agent.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::{
    BrokerAddress,
    told::{unanswered, unreachable, unread},
};
use crate::{
    engine::socket::{ReadPlan, RunClient, RunClientError, Welcome},
    model::{Coded as _, ErrorCode, Plan, Question, TaskId},
    project::{ProjectStatus, TaskHistory},
    state::{
        Actor, Applied, Asker, Existing, Imported, JournalPart, Learned, LoadedPlan, Mutation, PlanStore,
        ProgressEntry, ProgressLog, StateError, ToldError, Watch,
    },
};

/// How long the run may take for an answer. A change waits for the plan's lock for half of that.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long an unused connection is kept, which is less than the run keeps it.
const KEEP: Duration = Duration::from_secs(5);
/// How often a plan is read again that is changed while its pages are.
const MAX_READS: usize = 20;

/// A plan that the loop keeps which called this agent.
///
/// What an agent may ask of it is answered as a [`FileStore`](crate::state::FileStore) would: tasks can be
/// completed, skipped, reset, blocked, asked about and added, the plan can be read, and learnings can be recorded
/// ([`BrokerStore::learn`]). Everything else is
/// [`E_BROKER_VERB`](ErrorCode::BROKER_VERB). A change that was acknowledged is on the disk of the loop; one
/// whose answer is lost may be, which the error says ([`E_BROKER_UNANSWERED`](ErrorCode::BROKER_UNANSWERED)).
/// Connections are made as they are needed, one at a time.
pub struct BrokerStore {
    address: BrokerAddress,
    welcome: Welcome,
    /// A connection that is not in use, and since when.
    idle: Mutex<Option<(RunClient, Instant)>>,
}

impl BrokerStore {
    /// Connects to the run.
    ///
    /// # Errors
    /// Returns a [`StateError::Told`] with the code [`E_BROKER_GONE`](ErrorCode::BROKER_GONE) where nobody
    /// listens any more, and with that of the refusal where the run does not let the caller in.
    pub fn connect(address: BrokerAddress) -> Result<Self, StateError> {
        let client = connect(&address).map_err(unreachable)?;
        let welcome = client.welcome().clone();
        Ok(Self { address, welcome, idle: Mutex::new(Some((client, Instant::now()))) })
    }

    /// Returns what the run said of itself and of the call.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Says where the project stands, as [`Project::status`](crate::project::Project::status) does.
    ///
    /// # Errors
    /// Returns what that returns, and [`StateError::Told`] where the run cannot be asked.
    pub fn status(&self) -> Result<ProjectStatus, StateError> {
        self.ask(RunClient::status, unread)
    }

    /// Says all that is known of a task, as
    /// [`History::task`](crate::history::History::task) does.
    ///
    /// # Errors
    /// Returns what that returns, and [`StateError::Told`] where the run cannot be asked.
    pub fn task_history(&self, id: &TaskId) -> Result<TaskHistory, StateError> {
        self.ask(|client| client.history(id), unread)
    }

    /// Records a line in the progress log, as of the iteration and the task of the call.
    ///
    /// # Errors
    /// Returns a [`StateError::Told`] if the run refuses or cannot be asked.
    pub fn learn(&self, learned: &Learned) -> Result<(), StateError> {
        self.ask(|client| client.learn(learned), unanswered).map(drop)
    }

    /// Asks something over a connection of its own.
    fn ask<R>(
        &self,
        ask: impl FnOnce(&mut RunClient) -> Result<R, RunClientError>,
        failed: fn(RunClientError) -> StateError,
    ) -> Result<R, StateError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut client = match idle.filter(|(_, since)| since.elapsed() < KEEP) {
            Some((client, _)) => client,
            None => connect(&self.address).map_err(unreachable)?,
        };
        client.allow(PATIENCE);
        let answer = ask(&mut client);
        if answer.is_ok() {
            *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some((client, Instant::now()));
        }
        answer.map_err(failed)
    }

    /// Reads all pages of the plan; nothing where it was changed in between.
    fn read(&self) -> Result<Option<LoadedPlan>, StateError> {
        let first = self.ask(|client| client.plan(ReadPlan::default()), unread)?;
        let (mut plan, mut unparsed): (Plan, _) = (first.plan, first.unparsed);
        let (mut next, mut next_line) = (first.next, first.next_line);
        while next.is_some() || next_line.is_some() {
            let read = ReadPlan {
                from: next.unwrap_or(plan.tasks.len()),
                lines: next_line.unwrap_or(unparsed.len()),
            };
            let page = self.ask(|client| client.plan(read), unread)?;
            // One that does not get further is none of a run's.
            let goes_on = page.next.is_none_or(|next| next > read.from)
                && page.next_line.is_none_or(|next| next > read.lines);
            if page.plan.revision != plan.revision || !goes_on {
                return Ok(None);
            }
            plan.tasks.extend(page.plan.tasks);
            unparsed.extend(page.unparsed);
            (next, next_line) = (page.next, page.next_line);
        }
        let (revision, plan) = (plan.revision, Arc::new(plan));
        Ok(Some(LoadedPlan { plan, revision, diagnostics: first.diagnostics, unparsed }))
    }

    /// Refuses what is not an agent's.
    fn refuse<R>(what: &str) -> Result<R, StateError> {
        let code = ErrorCode::BROKER_VERB;
        let message = format!("an agent may not {what}");
        let (cause, help, location) = (None, code.help.clone(), None);
        Err(StateError::Told(Box::new(ToldError { code, message, cause, help, location })))
    }
}

fn connect(address: &BrokerAddress) -> Result<RunClient, RunClientError> {
    RunClient::connect(&address.socket, &address.token, PATIENCE)
}

impl PlanStore for BrokerStore {
    fn exists(&self) -> Result<bool, StateError> {
        match self.ask(|client| client.plan(ReadPlan { from: usize::MAX, lines: usize::MAX }), unread) {
            Err(error) if error.code() == ErrorCode::STATE_NOT_INITIALISED => Ok(false),
            Err(error) if [ErrorCode::STATE_CORRUPT, ErrorCode::STATE_VERSION].contains(&error.code()) => {
                Ok(true)
            }
            read => read.map(|_| true),
        }
    }

    /// Loads the plan, without what its PRD said last ([`Plan::baseline`]).
    fn load(&self) -> Result<LoadedPlan, StateError> {
        for _ in 0..MAX_READS {
            if let Some(loaded) = self.read()? {
                return Ok(loaded);
            }
        }
        let code = ErrorCode::STATE_LOCKED;
        let message = "the plan is changed faster than it can be read".to_owned();
        let (cause, help, location) = (None, "Try again.".into(), None);
        Err(StateError::Told(Box::new(ToldError { code, message, cause, help, location })))
    }

    fn import(&self, _: Plan, _: Actor, _: Existing) -> Result<Imported, StateError> {
        Self::refuse("store a plan")
    }

    /// Asks for the change on behalf of the agent, whoever the asker is said to be.
    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        _: &Asker,
    ) -> Result<Applied, StateError> {
        let plan = self.welcome.plan.as_ref();
        if made_at.is_some() && made_at != plan.and_then(|plan| plan.made_at) {
            let path = plan.map(|plan| plan.file.clone()).unwrap_or_default();
            return Err(StateError::Replaced { path });
        }
        match (self.ask(|client| client.mutate(&mutation), unanswered), &mutation) {
            (Err(error), Mutation::Ask { id, question, options })
                if error.code() == ErrorCode::SOCKET_TOO_LARGE =>
            {
                // What no request holds is no question either.
                let invalid = Question::new(question, options.clone()).err();
                Err(invalid.map_or(error, |source| StateError::QuestionInvalid { id: id.clone(), source }))
            }
            (applied, _) => applied,
        }
    }

    fn journal_since(&self, _: u64) -> Result<JournalPart, StateError> {
        Self::refuse("read the journal; ask for the history of a task")
    }

    fn append_progress(&self, _: &[ProgressEntry]) -> Result<(), StateError> {
        Self::refuse("write the progress log; a learning is recorded by the verb for it")
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        Self::refuse("read the progress log over the socket")
    }

    fn rotate_progress(&self, _: usize) -> Result<usize, StateError> {
        Self::refuse("archive the progress log")
    }

    /// Tells of nothing: an agent asks.
    fn watch(&self) -> Watch {
        Watch::new().1
    }
}

impl fmt::Debug for BrokerStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerStore").field("address", &self.address).field("run", &self.welcome.run).finish()
    }
}
