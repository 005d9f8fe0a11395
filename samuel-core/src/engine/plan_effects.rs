//! What the machine wants of the plan: to know what is next, and to change it.

use std::{
    mem,
    sync::{Arc, atomic::Ordering},
};

use super::{follow::Follower, services::Services};
use crate::{
    event::RunFault,
    machine::{EffectResult, WorkLeft},
    model::{Scope, Status, Task, TaskId, payload::Mode},
    plan::{Pilot, Work},
    state::{Actor, JournalEntry, JournalRecord, LoadedPlan, Mutation, StateError, refused_in_discovery},
    text::listed,
};

/// Loads the plan, and looks what others did to it, so that the machine is told of that first.
pub(super) async fn look_and_load(
    services: &Arc<Services>,
    follower: &Follower,
    scope: &Scope,
) -> EffectResult {
    services.reopen_lost().await;
    let mut loaded = load(services, scope).await;
    // What the plan says was completed is told before it.
    let _ = follower.look().await;
    if matches!(loaded, EffectResult::Failed(_)) {
        // What was gone is back by now.
        loaded = load(services, scope).await;
    }
    loaded
}

/// Changes the plan for the machine.
pub(super) async fn change(
    services: &Arc<Services>,
    follower: &Follower,
    mutation: Mutation,
) -> EffectResult {
    let changed = try_to_change(services, follower, mutation).await;
    changed.unwrap_or_else(|error| EffectResult::Failed(RunFault::of(&error)))
}

async fn try_to_change(
    services: &Arc<Services>,
    follower: &Follower,
    mut mutation: Mutation,
) -> Result<EffectResult, StateError> {
    if let Mutation::StartTask { owner, .. } = &mut mutation {
        *owner = Some(services.owner.to_string());
    }
    look_at_work(services, follower, &mutation).await?;
    if let Mutation::TakeBack { ids, .. } = &mut mutation {
        // Somebody skipped it since, so it needs no check.
        let loaded = services.blocking(|services| services.store.load()).await?;
        let plan = loaded?.plan;
        ids.retain(|id| plan.task(id).is_none_or(|task| task.status != Status::Skipped));
    }
    let mut credited = Vec::new();
    if let Mutation::CommitIteration { credits, .. } = &mut mutation {
        if !credits.is_empty() {
            let asked = mem::take(credits);
            *credits = services.blocking(move |services| services.credited(asked)).await?;
            credited.extend(credits.iter().map(|credit| credit.id.clone()));
        }
        // Not every iteration looks at the repository.
        let tell = |services: &Services| services.work_tree.tell_of_loss(|lost| services.warn(lost));
        services.blocking(tell).await?;
    }
    if matches!(mutation, Mutation::CommitIteration { mode: Mode::Discovery, .. }) {
        tell_of_refused(services).await?;
    }
    let mut made = mutate_once(services, follower, mutation.clone()).await;
    if made.as_ref().is_err_and(StateError::is_lost) {
        // What was gone is back after that.
        follower.look().await?;
        made = mutate_once(services, follower, mutation).await;
    }
    if made.is_ok() {
        services.work_tree.forget_work(&credited);
    }
    made
}

/// Looks at what others did to the plan, and, where an iteration begins, at the project. At its end Samuel looks at the
/// project only if its agent was cut off. A worker's work is credited when it is merged.
async fn look_at_work(
    services: &Arc<Services>,
    follower: &Follower,
    mutation: &Mutation,
) -> Result<(), StateError> {
    type Look = Box<dyn FnOnce(&Services) + Send>;
    let look: Option<Look> = match mutation {
        _ if services.in_lane.is_some() => None,
        Mutation::StartTask { id, .. } => {
            let id = id.clone();
            Some(Box::new(move |services: &Services| services.begin_task(Some(&id))))
        }
        Mutation::BeginDiscovery { .. } => Some(Box::new(|services: &Services| services.begin_task(None))),
        Mutation::CommitIteration { .. } => Some(Box::new(Services::end_turn)),
        _ => None,
    };
    let looking = async {
        match look {
            Some(look) => services.blocking(look).await,
            None => Ok(()),
        }
    };
    let (followed, looked) = tokio::join!(follower.look_before_change(mutation), looking);
    followed.and(looked)
}

/// Warns of the tasks that a discovery iteration did not add any more.
async fn tell_of_refused(services: &Arc<Services>) -> Result<(), StateError> {
    let tell = |services: &Services| {
        let refused = refused_in_discovery(&services.store.load()?.plan, &services.store.progress()?);
        refused.into_iter().for_each(|refused| services.warn(refused));
        Ok(())
    };
    // Where they cannot be read, the change says so, or they are in the log all the same.
    services.blocking(tell).await.map(|_: Result<(), StateError>| ())
}

/// Loads the plan, has whoever asks for it later know it, and says which control files were changed, in
/// one line, where any were.
pub(super) async fn read(services: &Arc<Services>) -> Result<(LoadedPlan, Option<String>), StateError> {
    let loaded = services
        .blocking(|services| {
            // An agent may have put links in their place since the start.
            services.run_dir.check()?;
            let loaded = services.store.load()?;
            // Starting git is a good part of an iteration, so it is asked only
            // where somebody wants to know what changed.
            if services.wants_changes() {
                services.work_tree.begin();
            }
            Ok::<_, StateError>((loaded, services.control_files.changes()))
        })
        .await;
    let (loaded, changes) = loaded.and_then(|loaded| loaded)?;
    services.warn_of(&loaded.diagnostics);
    services.known(|known| {
        known.plan = Arc::clone(&loaded.plan);
        known.unread = loaded.unparsed.len();
    });
    services.refresh();
    Ok((loaded, (!changes.is_empty()).then(|| listed(&changes))))
}

/// Loads the plan and says what it leaves to do of a scope.
pub(super) async fn load(services: &Arc<Services>, scope: &Scope) -> EffectResult {
    let (LoadedPlan { plan, unparsed: unread, .. }, changed) = match read(services).await {
        Ok(read) => read,
        Err(error) => return EffectResult::Failed(RunFault::of(&error)),
    };
    let (work, queue) = Work::with_queue(&plan, &unread, scope);
    // A run that is for some tasks looks for no others.
    let pilot = if scope.is_all() { services.pilot } else { Pilot::default() };
    let mode = pilot.mode(&plan.progress, &work);
    let answered = match &work {
        Work::Task(task) => {
            plan.task(&TaskId::new(task.id.as_str())).and_then(Task::answered_question).cloned()
        }
        _ => None,
    };
    EffectResult::Loaded(Box::new(WorkLeft {
        work,
        answered,
        changed,
        queue_size: u32::try_from(queue).unwrap_or(u32::MAX),
        mode,
        // The driver adds it.
        elapsed_ms: 0,
        lane: None,
    }))
}

/// Makes one change, and none that adds figures a second time: an attempt of it may
/// have been stored although it failed, and the journal tells that.
async fn mutate_once(
    services: &Arc<Services>,
    follower: &Follower,
    mutation: Mutation,
) -> Result<EffectResult, StateError> {
    // Whatever else is made once more changes nothing, and a record that
    // somebody forged keeps it from nothing.
    if !matches!(mutation, Mutation::CommitIteration { .. } | Mutation::AddUsage { .. }) {
        return mutate(services, mutation).await;
    }
    if let Some(seq) = follower.attempted(&mutation).await {
        let asked = mutation.clone();
        let is_this = move |record: &JournalRecord| matches!(&record.entry, JournalEntry::Mutation { actor: Actor::Runtime, mutation, .. } if *mutation == asked);
        let journal = services.blocking(move |services| services.store.journal_since(seq)).await??;
        if let Some(made) = journal.records.into_iter().find(is_this) {
            services.known_seq.fetch_max(made.seq, Ordering::Relaxed);
            follower.answered();
            return Ok(EffectResult::Done);
        }
    }
    let made = mutate(services, mutation).await;
    if made.is_ok() {
        follower.answered();
    }
    made
}

/// Makes one change and reads what came of it.
pub(super) async fn mutate(services: &Arc<Services>, mutation: Mutation) -> Result<EffectResult, StateError> {
    let name = mutation.name();
    let gives_back = matches!(mutation, Mutation::ReturnToPending { .. });
    let stored = services
        .blocking(move |services| {
            let applied = services.store.mutate(mutation, Actor::Runtime)?;
            services.known_seq.fetch_max(applied.seq.unwrap_or_default(), Ordering::Relaxed);
            // What is stored stays so, whether or not it can be read back: the
            // next look at the plan tells.
            Ok((applied, services.store.load().ok()))
        })
        .await;
    match stored.and_then(|stored| stored) {
        Ok((applied, loaded)) => {
            services.warn_of(&applied.diagnostics);
            if let Some(loaded) = loaded {
                services.known(|known| known.plan = loaded.plan);
            }
            Ok(EffectResult::Done)
        }
        // Whoever removed the task took it off the hands of the loop.
        Err(StateError::TaskNotFound { id, .. }) if gives_back => {
            services.warn(format!("task {id} was removed while it was worked on"));
            Ok(EffectResult::Done)
        }
        // Somebody else settled or removed the task in the meantime, or gave it back; the machine tells.
        Err(
            error @ (StateError::TaskNotFound { .. }
            | StateError::NotStartable { .. }
            | StateError::ClaimVoid { .. }
            | StateError::IsGroup { .. }),
        ) => {
            tracing::debug!(mutation = name, %error, "a change of the plan was refused");
            Ok(EffectResult::Refused(error.to_string()))
        }
        Err(error) => Err(error),
    }
}
