//! What one call of an agent reaches of the plan, over the run's socket.
//!
//! A [`Broker`] answers the verbs of the plan (docs/broker.md): it decides which changes are an agent's
//! to make, and of which tasks, and hands them to the store of the run. Who may connect, how
//! often and with how much, was decided before that.

use std::{
    collections::HashSet,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::to_vec;
use tokio::sync::Semaphore;

use super::socket::{
    HistoryVerb, LearnVerb, MutateVerb, Peer, PlanOfRun, PlanPage, PlanVerb, ReadHistory, ReadPlan, Receipt,
    Refusal, Replied, Routes, StatusVerb,
};
use crate::{
    environment::Secrets,
    history::History,
    model::{Completes, ErrorCode, Plan, Status, Task, TaskId, run_blocking},
    project::{NextStep, Project, ProjectStatus, TaskHistory},
    state::{Actor, Applied, Asker, Learned, LoadedPlan, Mutation, NewTask, StateError, TaskChange},
    text::excerpt,
};

/// How much is answered at the same time: who hangs up leaves it under way, and the loop needs threads, too.
const AT_ONCE: usize = 8;
/// How many bytes of tasks a page of the plan has before its last one.
const PAGE: usize = 512 << 10;
/// How many bytes the questions of a status have, and the reasons why nothing is next.
const LISTED: usize = 256 << 10;
/// How many lines that could not be understood a page has, and how much of each, in bytes.
const MAX_UNPARSED: usize = 2_000;
const MAX_UNPARSED_BYTES: usize = 100;
/// The most lines that a call records in the progress log.
const MAX_LEARNED: usize = 100;

/// What a call of an agent reaches of the plan.
#[derive(Clone, Debug)]
pub(super) struct Broker {
    project: Project,
    /// When the plan was made that the call is for.
    made_at: Option<Timestamp>,
    completes: Completes,
    /// The task that the call is for.
    task: Option<TaskId>,
    /// The iteration of the call, from 1.
    iteration: Option<u32>,
    /// How many lines the call has asked to record in the progress log.
    learned: Arc<AtomicUsize>,
    /// The tasks that the call has added, which it may ask about.
    added: Arc<Mutex<HashSet<TaskId>>>,
    /// The values that no change brings into the plan.
    secrets: Arc<Secrets>,
    /// Room for what is asked at the same time, over all connections.
    room: Arc<Semaphore>,
}

impl Broker {
    /// Makes one for a call that is for a task of a plan, or for none, in an iteration from 1.
    pub(super) fn new(
        project: Project,
        plan: &Plan,
        task: Option<TaskId>,
        iteration: u32,
        completes: Completes,
    ) -> Self {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        Self {
            project,
            made_at: plan.project.created_at,
            completes,
            task,
            iteration: (iteration > 0).then_some(iteration),
            learned: Arc::default(),
            added: Arc::default(),
            secrets: Arc::default(),
            room,
        }
    }

    /// Hides values in what the call changes.
    pub(super) fn hiding(self, secrets: Arc<Secrets>) -> Self {
        Self { secrets, ..self }
    }

    /// Says which plan it is.
    pub(super) fn plan(&self) -> PlanOfRun {
        PlanOfRun {
            root: self.project.root().to_owned(),
            file: self.project.run_dir().prd(),
            methodology: self.project.methodology().to_owned(),
            made_at: self.made_at,
        }
    }

    /// Answers the verbs of the plan.
    pub(super) fn routes(self, peer: Peer) -> Routes {
        let broker = Arc::new(self);
        let same = || Arc::clone(&broker);
        let (mutates, reads, stands, tells, learns) = (same(), same(), same(), same(), same());
        Routes::default()
            .with::<MutateVerb, _>(move |mutation| {
                answered(Arc::clone(&mutates), move |broker| broker.mutate(mutation, peer))
            })
            .with::<PlanVerb, _>(move |read| answered(Arc::clone(&reads), move |broker| broker.page(read)))
            .with::<StatusVerb, _>(move |_| answered(Arc::clone(&stands), Broker::status))
            .with::<HistoryVerb, _>(move |read| {
                answered(Arc::clone(&tells), move |broker| broker.history(&read))
            })
            .with::<LearnVerb, _>(move |learned| {
                answered(Arc::clone(&learns), move |broker| broker.learn(learned))
            })
    }

    /// Makes a change, if it is an agent's and within the scope of its call.
    fn mutate(&self, mutation: Mutation, peer: Peer) -> Result<Applied, Refusal> {
        if !is_for_agents(&mutation) {
            let message = format!("{} is no change that an agent makes", described(&mutation));
            return Err(Refusal::new(ErrorCode::BROKER_VERB, message));
        }
        self.check_scope(&mutation)?;
        let mutation = self.secrets.hidden(mutation);
        let asker = Asker { actor: Actor::Agent, name: Some(name_of(peer)), worker: None };
        let applied = self.project.plan_store().mutate_as(self.made_at, mutation, &asker).map_err(refused)?;
        if let TaskChange::Added { id } = &applied.change {
            self.added.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        }
        Ok(applied)
    }

    /// Refuses a change that settles another task than the call's, where that is its scope.
    fn check_scope(&self, mutation: &Mutation) -> Result<(), Refusal> {
        if self.completes == Completes::Plan {
            return Ok(());
        }
        let own = match &self.task {
            Some(task) => format!("its own is {task}"),
            None => "it has none of its own".to_owned(),
        };
        let outside = |what: String| Err(Refusal::new(ErrorCode::BROKER_SCOPE, format!("{what}; {own}")));
        match mutation {
            Mutation::Ask { id, .. } if self.has_added(id) => Ok(()),
            Mutation::Done { id, .. }
            | Mutation::Skip { id, .. }
            | Mutation::Reset { id }
            | Mutation::Block { id, .. }
            | Mutation::Ask { id, .. } => match self.task.as_ref() == Some(id) {
                true => Ok(()),
                false => outside(format!("the call of the agent may not settle task {id}")),
            },
            // A task that gets a part is a group from then on, on which nobody works any more.
            Mutation::Enqueue { task } => match self.may_have_parts(task.parent_id.as_ref())? {
                true => Ok(()),
                false => outside("the call of the agent may not make a group of another task".to_owned()),
            },
            Mutation::Add { task } => {
                let parent = task.parent_id.clone().or_else(|| task.id.numbered_parent());
                match self.may_have_parts(parent.as_ref())? {
                    true => Ok(()),
                    false => outside("the call of the agent may not make a group of another task".to_owned()),
                }
            }
            _ => Ok(()),
        }
    }

    fn has_added(&self, id: &TaskId) -> bool {
        self.added.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    /// Says whether a new task may be a part of another one: of the call's own, or of one that has parts
    /// already. One that there is not is refused by the store.
    fn may_have_parts(&self, parent: Option<&TaskId>) -> Result<bool, Refusal> {
        let Some(parent) = parent.filter(|parent| self.task.as_ref() != Some(*parent)) else {
            return Ok(true);
        };
        let plan = self.project.plan_store().load().map_err(refused)?.plan;
        let is_part = |task: &Task| task.parent_id.as_ref() == Some(parent);
        Ok(plan.task(parent).is_none() || plan.tasks.iter().any(is_part))
    }

    /// Reads the plan from a task on, as far as an answer holds it.
    fn page(&self, read: ReadPlan) -> Result<PlanPage, Refusal> {
        let LoadedPlan { plan, diagnostics, unparsed, .. } =
            self.project.plan_store().load().map_err(refused)?;
        let (mut tasks, mut bytes) = (Vec::new(), 0);
        for task in plan.tasks.iter().skip(read.from) {
            bytes += to_vec(task).map_or(0, |task| task.len());
            if bytes > PAGE && !tasks.is_empty() {
                break;
            }
            tasks.push(task.clone());
        }
        let end = read.from.saturating_add(tasks.len());
        let is_first = read.from == 0 && read.lines == 0;
        let lines = unparsed.iter().skip(read.lines).take(MAX_UNPARSED);
        let lines: Vec<String> = lines.map(|line| excerpt(line, MAX_UNPARSED_BYTES)).collect();
        let last_line = read.lines.saturating_add(lines.len());
        Ok(PlanPage {
            next: (end < plan.tasks.len()).then_some(end),
            next_line: (last_line < unparsed.len()).then_some(last_line),
            diagnostics: if is_first { diagnostics } else { Vec::new() },
            unparsed: lines,
            plan: Plan {
                version: plan.version.clone(),
                revision: plan.revision,
                project: plan.project.clone(),
                progress: plan.progress.clone(),
                claims: if is_first { plan.claims.clone() } else { Vec::new() },
                tasks,
                baseline: String::new(),
            },
        })
    }

    /// Says where the project stands, with as many questions and reasons as an answer holds.
    fn status(&self) -> Result<ProjectStatus, Refusal> {
        let mut status = self.project.status().map_err(refused)?;
        status.more_questions += shorten(&mut status.questions, LISTED);
        if let NextStep::Blocked { reasons } | NextStep::UnderWay { reasons, .. } = &mut status.next {
            let more = shorten(reasons, LISTED);
            reasons.extend((more > 0).then(|| format!("and {more} more")));
        }
        Ok(status)
    }

    fn history(&self, read: &ReadHistory) -> Result<TaskHistory, Refusal> {
        History::of(&self.project).task(&read.id).map_err(refused)
    }

    /// Records a line of the agent in the progress log. The agent names neither the iteration nor the task.
    fn learn(&self, learned: Learned) -> Result<Learned, Refusal> {
        if self.learned.fetch_add(1, Ordering::Relaxed) >= MAX_LEARNED {
            let message =
                format!("the call of the agent has recorded {MAX_LEARNED} learnings, the most of a call");
            let help = "Go on without it.".to_owned();
            return Err(Refusal { help, retryable: false, ..Refusal::new(ErrorCode::BROKER_RATE, message) });
        }
        let learned = self.secrets.hidden(learned);
        let entry = learned.entry(self.project.clock().now(), self.iteration, self.task.clone());
        self.project.plan_store().append_progress(&[entry]).map_err(refused)?;
        Ok(learned)
    }
}

/// Does what blocks where that is allowed, once there is room for it, and answers with what comes of it.
async fn answered<R: Send + 'static>(
    broker: Arc<Broker>,
    work: impl FnOnce(&Broker) -> Result<R, Refusal> + Send + 'static,
) -> Replied<R> {
    let room = Arc::clone(&broker.room).acquire_owned().await;
    let done = run_blocking(move || {
        let _room = room;
        work(&broker)
    });
    let broken = |error: tokio::task::JoinError| Err(Refusal::new(ErrorCode::INTERNAL, error.to_string()));
    (done.await.unwrap_or_else(broken), Receipt::none())
}

/// Leaves the first of a list, as many as so many bytes of JSON hold, and says how many went.
fn shorten<T: Serialize>(list: &mut Vec<T>, most: usize) -> usize {
    let mut bytes = 0;
    let fits = |one: &&T| {
        bytes += to_vec(one).map_or(most, |one| one.len() + 1);
        bytes <= most
    };
    let (all, left) = (list.len(), list.iter().take_while(fits).count());
    list.truncate(left);
    all - left
}

fn refused(error: StateError) -> Refusal {
    Refusal::of(&error)
}

/// Says whether a change is one of those that agents make, in the form in which they do: what is added
/// waits, and was settled by nobody.
fn is_for_agents(mutation: &Mutation) -> bool {
    match mutation {
        Mutation::Done { .. }
        | Mutation::Skip { .. }
        | Mutation::Reset { .. }
        | Mutation::Block { .. }
        | Mutation::Ask { .. }
        | Mutation::Enqueue { .. } => true,
        Mutation::Add { task } => **task == as_new(task),
        _ => false,
    }
}

/// Returns what of a task its adding says.
fn as_new(task: &Task) -> Task {
    let new = NewTask {
        title: task.title.clone(),
        parent_id: task.parent_id.clone(),
        description: task.description.clone(),
        priority: task.priority,
        complexity: task.complexity,
        source: task.source,
        depends_on: task.depends_on.clone(),
        files_to_create: task.files_to_create.clone(),
        files_to_modify: task.files_to_modify.clone(),
        guardrails: task.guardrails.clone(),
        acceptance: task.acceptance.clone(),
    };
    new.with_id(task.id.clone())
}

fn described(mutation: &Mutation) -> String {
    match mutation {
        Mutation::Add { task } if task.status != Status::Pending => {
            format!("adding a task that is {}", task.status)
        }
        Mutation::Add { .. } => "adding a task with more than its description".to_owned(),
        mutation => format!("\"{}\"", mutation.name()),
    }
}

/// Names who connected as a command names itself: the user, and the session of the process.
fn name_of(peer: Peer) -> String {
    match peer.pid.and_then(session_of) {
        Some(session) => format!("{}/{session}", peer.uid),
        None => peer.uid.to_string(),
    }
}

/// Returns the session of a process, where the system tells.
fn session_of(pid: i32) -> Option<i32> {
    let told = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The name of the program can hold anything, and ends at the last parenthesis.
    let (_, fields) = told.rsplit_once(')')?;
    fields.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
#[path = "tests/broker.rs"]
mod tests;
