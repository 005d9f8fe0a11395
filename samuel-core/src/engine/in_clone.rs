//! What a run does with a workspace that is a clone.
//!
//! The machine knows nothing of it. Around the points at which something happens in the
//! workspace, the driver gets it ready, takes the work out, and lands it once a check has passed;
//! work that must not come out fails the iteration, and the check behind it is not made.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    control_files::ControlFiles,
    error::{RunError, blocking},
    fire::Place,
    frozen::Frozen,
    lanes::Looker,
    run::Run,
    services::Services,
};
use crate::{
    event::{IterationFailure, RunFault},
    hook::{BreakClass, HookPoint, Outcome},
    machine::{AgentEnd, EffectResult, HookReply, ReplyData},
    model::{Coded as _, FailureClass, TaskId, payload::Turn},
    state::{ProgressEntry, ProgressKind, RunDir, StateError, TurnFiles},
    text::{described, listed},
    workspace::{
        CloneWorkspace, Collected, ControlLook, WorkNote, WorkspaceError, WorkspaceKind, WorkspaceLimits,
        WorkspaceSetup, note_project,
    },
};

/// The clone that a run works in.
#[derive(Debug)]
pub(super) struct InClone {
    workspace: CloneWorkspace,
    /// Removes what is merged, once the plan is completed.
    looker: Looker,
    /// Why the work of the iteration under way was refused, if it was.
    refused: Mutex<Option<String>>,
}

/// The control files of a run, as a workspace asks for them.
#[derive(Debug)]
pub(super) struct OfRun(pub(super) Arc<ControlFiles>);

impl ControlLook for OfRun {
    fn look(&self, root: &Path) -> BTreeMap<String, String> {
        self.0.look_below(root)
    }

    fn covers(&self, path: &str) -> bool {
        is_above_runs(path) || self.0.covers(path)
    }
}

/// The control files of a run with lanes: no lane lands what Samuel itself keeps in the project, nor what was copied
/// into its work tree.
#[derive(Debug)]
pub(super) struct OfLanes {
    pub(super) of_run: OfRun,
    /// What is copied, by plain paths from the root of the project.
    pub(super) copied: Vec<String>,
}

impl ControlLook for OfLanes {
    fn look(&self, root: &Path) -> BTreeMap<String, String> {
        self.of_run.look(root)
    }

    fn covers(&self, path: &str) -> bool {
        let is_copied = |copied: &String| copied == path || path.ends_with('/') && copied.starts_with(path);
        Path::new(path).starts_with(RunDir::new("").path())
            || self.copied.iter().any(is_copied)
            || self.of_run.covers(path)
    }
}

/// Returns whether a path is that of a directory above Samuel's own files. Something else in its place, as a file
/// `.samuel`, would take the place of all of them where it arrives.
fn is_above_runs(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    !path.is_empty() && RunDir::new("").path().starts_with(path)
}

impl InClone {
    /// Names the file that says what the progress log in the workspace begins with.
    pub(super) fn shown_log(&self) -> PathBuf {
        self.workspace.shown_log()
    }

    fn refused(&self, why: Option<String>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    fn is_refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Run {
    /// Gets the clone ready where the run is to work in one, and says what people should know of it.
    pub(super) async fn open_clone(&self) -> Result<Option<(InClone, Vec<String>)>, RunError> {
        let frozen = &self.frozen;
        // Each of several lanes has its own.
        if frozen.workspace != WorkspaceKind::Clone || frozen.settings.parallel.jobs > 1 {
            return Ok(None);
        }
        let root = frozen.project.root().to_owned();
        let state_dir = self.state_dir_of_clone()?;
        let setup = WorkspaceSetup {
            directory: WorkspaceKind::directory_of(state_dir, &root),
            root,
            caller: frozen.project.caller().clone(),
            env: frozen.env.clone(),
            supervisor: frozen.supervisor.clone(),
            run: frozen.run_id.to_string(),
            limits: WorkspaceLimits::default(),
            preparation: self.preparation(&frozen.sandboxes),
            control: Arc::new(OfRun(Arc::clone(&self.control_files))),
            on_step: frozen.on_step.clone(),
        };
        let (state_dir, project) = (state_dir.to_owned(), setup.root.clone());
        blocking(move || note_project(&state_dir, &project)).await??;
        let (workspace, told) = CloneWorkspace::open(setup).await?;
        let directory = workspace.work_dir();
        // A project that is only a part of its repository may not be in it.
        blocking(move || std::fs::create_dir_all(&directory))
            .await?
            .map_err(|source| WorkspaceError::Io { action: "create", path: workspace.work_dir(), source })?;
        Ok(Some((InClone { workspace, looker: self.looker(), refused: Mutex::default() }, told)))
    }

    /// Checks that a clone can be made, if the run is to work in one. Starts no process and writes nothing. Blocks.
    ///
    /// # Errors
    /// Returns the error of [`open_clone`](Self::open_clone).
    pub(super) fn check_clone(&self) -> Result<(), WorkspaceError> {
        let Frozen { project, settings, env, workspace, .. } = &self.frozen;
        if *workspace != WorkspaceKind::Clone {
            return Ok(());
        }
        let (root, caller) = (project.root(), project.caller());
        let directory = WorkspaceKind::directory_of(self.state_dir_of_clone()?, root);
        CloneWorkspace::check(root, caller, env, &directory, &settings.parallel.copy)
    }

    /// Returns the directory below which a clone can be.
    fn state_dir_of_clone(&self) -> Result<&Path, WorkspaceError> {
        let project = &self.frozen.project;
        let state_dir = project.state_dir().filter(|_| !project.is_in_memory());
        state_dir.ok_or_else(|| WorkspaceError::no_place(project.root()))
    }
}

impl Services {
    /// Gets the workspace ready for what a point is about to do there. Returns what comes of the point
    /// where it is not fired.
    pub(super) async fn enter_workspace(
        self: &Arc<Self>,
        point: HookPoint,
        place: &Place,
    ) -> Result<(), EffectResult> {
        self.ready_workspace(point, place).await?;
        if point == HookPoint::BeforeIteration {
            self.begin_turn_files().await;
        }
        Ok(())
    }

    /// Writes the files that agents find in the workspace, and logs what a turn left there that was cut off.
    async fn begin_turn_files(self: &Arc<Self>) {
        // Whose turn left them is not known.
        self.take_over(0, None, |services, files| files.begin(&services.store.progress()?)).await;
    }

    /// Logs what agents appended to the progress log in the workspace in a turn, if the run works in one. A failure is
    /// a warning.
    async fn take_over(
        self: &Arc<Self>,
        iteration: u32,
        task: Option<&TaskId>,
        read: fn(&Self, &TurnFiles) -> Result<Vec<ProgressEntry>, StateError>,
    ) {
        if self.turn_files.is_none() {
            return;
        }
        let entries = self.blocking(move |services| match &services.turn_files {
            Some(files) => read(services, files),
            None => Ok(Vec::new()),
        });
        let taken = match entries.await.and_then(|entries| entries) {
            Ok(entries) if entries.is_empty() => return,
            Ok(entries) => {
                let iteration = (iteration > 0).then_some(iteration);
                let of_turn =
                    |entry: ProgressEntry| ProgressEntry { iteration, task: task.cloned(), ..entry };
                if !self.log(entries.into_iter().map(of_turn).collect()).await {
                    // A later process takes them over.
                    return;
                }
                let logged = |services: &Self| services.turn_files.as_ref().map_or(Ok(()), TurnFiles::logged);
                self.blocking(logged).await.and_then(|logged| logged)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            self.warn(format!("the workspace's progress log cannot be used: {}", described(&error)));
        }
    }

    async fn ready_workspace(self: &Arc<Self>, point: HookPoint, place: &Place) -> Result<(), EffectResult> {
        if let Some(lane) = &self.in_lane {
            let ready = lane.enter(point, self).await;
            return ready.map_err(|error| EffectResult::Failed(RunFault::of(&error)));
        }
        let Some(clone) = &self.in_clone else { return Ok(()) };
        let ready = match point {
            HookPoint::BeforeIteration => {
                clone.refused(None);
                match clone.workspace.begin().await {
                    Ok(told) => {
                        self.tell_of_work(place, told).await;
                        Ok(())
                    }
                    Err(error) => Err(error),
                }
            }
            HookPoint::AgentInvoke => clone.workspace.turn_begins().await,
            HookPoint::QualityCheck => match clone.is_refused() {
                Some(why) => return Err(EffectResult::Hook(Box::new(refusal(why)))),
                None => Ok(()),
            },
            _ => Ok(()),
        };
        ready.map_err(|error| EffectResult::Failed(RunFault::of(&error)))
    }

    /// Sees to what a point did in the workspace: the work of an agent is taken out, and that which has
    /// passed its check reaches the user's branch.
    pub(super) async fn leave_workspace(
        self: &Arc<Self>,
        point: HookPoint,
        task: Option<&TaskId>,
        place: &Place,
        mut reply: HookReply,
    ) -> EffectResult {
        if point == HookPoint::AgentInvoke {
            self.take_over(place.iteration, task, |_, files| files.appended()).await;
        }
        if let Some(lane) = &self.in_lane {
            lane.leave(point, place.turn, self, &mut reply).await;
        }
        let left = match point {
            HookPoint::AgentInvoke => self.take_out(task, place, &mut reply).await,
            HookPoint::QualityCheck => self.judge_work(place, &mut reply).await,
            _ => Ok(()),
        };
        match left {
            Ok(()) => EffectResult::Hook(Box::new(reply)),
            Err(error) => EffectResult::Failed(RunFault::of(&error)),
        }
    }

    async fn take_out(
        self: &Arc<Self>,
        task: Option<&TaskId>,
        place: &Place,
        reply: &mut HookReply,
    ) -> Result<(), WorkspaceError> {
        let Some(clone) = &self.in_clone else { return Ok(()) };
        let title = self.task_title(task);
        let note = WorkNote { title, task: task.map(ToString::to_string) };
        let ReplyData::Agent(end) = &mut reply.data else { return Ok(()) };
        let collected = clone.workspace.collect(&note).await;
        self.tell_of_work(place, clone.workspace.take_told()).await;
        match collected {
            Ok(collected) => {
                if let Some(Collected { commit, left, .. }) = collected {
                    self.work_tree.committed_for_agent(left, &commit);
                }
                match place.turn == Turn::Main && has_failed(end) {
                    true => clone.workspace.fail().await,
                    false => Ok(()),
                }
            }
            Err(error) if error.is_of_the_work() => {
                let message = told(&error);
                clone.refused(Some(message.clone()));
                self.tell_of_work(place, vec![message.clone()]).await;
                end.failure.get_or_insert(IterationFailure { class: FailureClass::Refused, message });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn judge_work(
        self: &Arc<Self>,
        place: &Place,
        reply: &mut HookReply,
    ) -> Result<(), WorkspaceError> {
        let Some(clone) = &self.in_clone else { return Ok(()) };
        let outcome = &reply.outcome;
        if outcome.skipped.is_some() || is_cancelled(outcome) {
            return Ok(());
        }
        if outcome.refused.is_some() || outcome.abort.is_some() {
            return clone.workspace.fail().await;
        }
        let changed = clone.workspace.changed_control_files().await?;
        if !changed.is_empty() {
            let why = format!(
                "files that decide what runs were changed while the checks ran: {}",
                listed(&changed)
            );
            reply.outcome.refused = Some(why);
            return clone.workspace.fail().await;
        }
        // Whoever gives up the run does not cut off what is half done.
        let services = Arc::clone(self);
        let landing = tokio::spawn(async move {
            match &services.in_clone {
                Some(clone) => clone.workspace.land().await,
                None => Ok(None),
            }
        });
        let landed = match landing.await {
            Ok(landed) => landed,
            Err(error) => {
                let (action, path) = ("land the work of", clone.workspace.work_dir());
                Err(WorkspaceError::Io { action, path, source: std::io::Error::other(error) })
            }
        };
        match landed {
            Ok(Some(commit)) => {
                let text = format!("{commit} reached the branch");
                self.log(vec![self.note(place.iteration, None, ProgressKind::Commit, text)]).await;
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.is_of_the_work() => {
                let message = told(&error);
                self.tell_of_work(place, vec![message.clone()]).await;
                reply.outcome.refused = Some(message);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the work in the clone, before the run says that it has ended.
    pub(super) async fn close_workspace(self: &Arc<Self>, is_done: bool) {
        if let Some(lane) = self.in_lane.as_ref().filter(|lane| lane.leads() && is_done) {
            lane.shared.remove_trees().await.into_iter().for_each(|told| self.warn(told));
        }
        let Some(clone) = &self.in_clone else { return };
        match clone.workspace.close(is_done).await {
            Ok(told) => told.into_iter().for_each(|told| self.warn(told)),
            Err(error) => self.warn(told(&error)),
        }
        if is_done {
            clone.looker.clean_at_end().await.into_iter().for_each(|told| self.warn(told));
        }
    }

    /// Warns of what became of work, and writes it where the next attempt reads it.
    async fn tell_of_work(self: &Arc<Self>, place: &Place, told: Vec<String>) {
        let lines =
            told.iter().map(|text| self.note(place.iteration, None, ProgressKind::Error, text.clone()));
        let lines = lines.collect();
        told.iter().for_each(|told| self.warn(told));
        self.log(lines).await;
    }

    fn task_title(&self, task: Option<&TaskId>) -> Option<String> {
        let title = self.task(task?)?.title;
        Some(title.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Says what went wrong, by which code it is known, and what to do.
pub(super) fn told(error: &WorkspaceError) -> String {
    let message = crate::text::described(error);
    format!("{message} ({}). {}", error.code().name, error.help().prose())
}

fn has_failed(end: &AgentEnd) -> bool {
    end.failure.is_some()
        || end.output.as_ref().is_none_or(|output| output.failure.is_some() || output.exit_code != 0)
}

fn is_cancelled(outcome: &Outcome) -> bool {
    outcome.broken.iter().any(|broken| broken.failure.class == BreakClass::Cancelled)
}

/// The answer of a check that was not made.
pub(super) fn refusal(why: String) -> HookReply {
    let outcome = Outcome { refused: Some(why), ..Outcome::default() };
    HookReply { outcome, data: ReplyData::Checks(Vec::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_file_in_place_of_own_directory() {
        for path in [".samuel", ".samuel/", ".samuel/run"] {
            assert!(is_above_runs(path), "{path}");
        }
        for path in ["", "/", ".samuel/hooks", ".samuel/run/prd.toon", ".samuel2", "src"] {
            assert!(!is_above_runs(path), "{path}");
        }
    }
}
