//! A session that is open.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{Feedback, SessionBuilder, SessionError, SessionState};
use crate::{
    engine::{Events, Points},
    event::Event,
    hook::{HookCall, HookPoint, Point, points},
    machine::{HookReply, MAX_STOP_BLOCKS},
    model::payload::{
        IterationErrorInput, PromptSubmitInput, SessionEndInput, SessionSource, SessionStartInput,
        SessionStopInput, TaskCompletedInput,
    },
    project::Project,
};

/// The points that a session fires.
pub(super) const POINTS: [HookPoint; 8] = [
    HookPoint::SessionStart,
    HookPoint::PromptSubmit,
    HookPoint::IterationError,
    HookPoint::TaskCompleted,
    HookPoint::AbilityBefore,
    HookPoint::AbilityAfter,
    HookPoint::SessionStop,
    HookPoint::SessionEnd,
];

/// How long a text or the arguments of a call are at most, in bytes.
pub(super) const MAX_TEXT: usize = 1 << 20;
/// How many files are passed on that changed; of more it counts as unknown which they are.
pub(super) const MAX_FILES: usize = 10_000;
/// How long handlers may take that are told of the end of what was cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(10);

/// A session that is open. See the [module](super). It is cheap to clone, and its methods can be
/// called from any thread and at the same time: one point fires after the other, in the order of
/// the calls, while abilities run beside each other. A handler must not fire points of the session
/// that it is called by: it would wait for itself until its deadline.
///
/// [`end`](Self::end) fires `session.end`. Where all clones are dropped before, that point does not
/// fire and the streams of events end: so a session goes on elsewhere
/// ([`state`](Self::state), [`resume`](SessionBuilder::resume)). A future that is dropped ends the
/// handlers that it waits for, and their processes.
#[derive(Clone)]
pub struct Session {
    pub(super) points: Arc<Points>,
    state: Arc<Mutex<SessionState>>,
    pub(super) cancel: CancellationToken,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("state", &*self.kept()).finish_non_exhaustive()
    }
}

impl Session {
    /// Begins to build a session of a project.
    pub fn builder(project: Project) -> SessionBuilder {
        SessionBuilder::new(project)
    }

    pub(super) fn new(points: Points, state: SessionState) -> Self {
        let (points, state) = (Arc::new(points), Arc::new(Mutex::new(state)));
        Self { points, state, cancel: CancellationToken::new() }
    }

    /// Returns the same session, whose calls end when a token is cancelled: handlers under way end,
    /// what they were asked about is [blocked](Feedback::blocked), and an ability under way counts
    /// as cancelled. Handlers of `ability.after` and `session.end` are told of it all the same, and
    /// have 10 seconds.
    #[must_use]
    pub fn cancelled_by(&self, cancel: CancellationToken) -> Self {
        Self { cancel, ..self.clone() }
    }

    /// Returns the id that events and the log of hooks carry.
    pub fn id(&self) -> &str {
        self.points.id()
    }

    /// Returns the name of the session: the builder's, else the project's.
    pub fn name(&self) -> &str {
        self.points.session()
    }

    /// Returns what is to be known of the chains and of the hook files, such as entries that are
    /// left out.
    pub fn warnings(&self) -> &[String] {
        self.points.warnings()
    }

    /// Returns a stream of events, the same that a run tells of its points: from the moment of the
    /// call on, before any point fires from the beginning. It ends with the session. A stream that
    /// nobody reads grows.
    pub fn events(&self) -> Events {
        self.points.events()
    }

    /// Returns what goes on in another process, as it is now.
    pub fn state(&self) -> SessionState {
        self.kept().clone()
    }

    /// Fires `session.start`.
    ///
    /// # Errors
    /// Returns [`SessionError::Ended`] where the session has ended.
    pub async fn start(&self, source: SessionSource) -> Result<Feedback, SessionError> {
        let input = SessionStartInput { session: self.name().to_owned(), source, ..Default::default() };
        self.told::<points::SessionStart>(input).await
    }

    /// Fires `prompt.submit` with what a user asks for; `source` says where it comes from, such as
    /// `user`. From here on stops count anew, and handlers are shown the plan as it is now.
    ///
    /// # Errors
    /// Returns [`SessionError::TooLong`] where the text has more than 1 MiB, and
    /// [`SessionError::Ended`] where the session has ended.
    pub async fn submit_prompt(&self, source: &str, text: &str) -> Result<Feedback, SessionError> {
        at_most("the source of the prompt", source.len(), super::state::MAX_NAME)?;
        at_most("the prompt", text.len(), MAX_TEXT)?;
        self.check_open()?;
        self.points.read_plan().await?;
        self.kept().stop_block_count = 0;
        let (source, user_raw_input) = (source.to_owned(), text.to_owned());
        let input = PromptSubmitInput { source, user_raw_input, ..Default::default() };
        let mut feedback = self.told::<points::PromptSubmit>(input).await?;
        if self.cancel.is_cancelled() {
            feedback.blocked.get_or_insert_with(|| CANCELLED.to_owned());
        }
        Ok(feedback)
    }

    /// Fires `task.completed`.
    ///
    /// # Errors
    /// Returns [`SessionError::TooLong`] where the text of the task has more than 1 MiB, and
    /// [`SessionError::Ended`] where the session has ended.
    pub async fn task_completed(&self, task: TaskCompletedInput) -> Result<Feedback, SessionError> {
        at_most("the task", task.task_id.len() + task.task_content.len(), MAX_TEXT)?;
        self.told::<points::TaskCompleted>(task).await
    }

    /// Fires `iteration.error`: what the caller was at went wrong.
    ///
    /// # Errors
    /// Returns [`SessionError::TooLong`] where the text of the error has more than 1 MiB, and
    /// [`SessionError::Ended`] where the session has ended.
    pub async fn iteration_error(&self, error: IterationErrorInput) -> Result<Feedback, SessionError> {
        at_most("the error", error.error.len() + error.class.len(), MAX_TEXT)?;
        self.told::<points::IterationError>(error).await
    }

    /// Fires `session.stop`: the caller is about to stop for a reason, such as `completed`. Which
    /// files have changed is found out where nothing is said of it: those that differ from the
    /// commit at the start, committed or not, and unknown outside of a repository.
    ///
    /// A stop that is [blocked](Feedback::blocked) can be tried again once what the reason asks for
    /// is done; after eight in a row the ninth is [not heard](Feedback::unheard).
    ///
    /// # Errors
    /// Returns [`SessionError::TooLong`] where the reason has more than 1 MiB, and
    /// [`SessionError::Ended`] where the session has ended.
    pub async fn stop(
        &self,
        reason: &str,
        changed_files: Option<Vec<String>>,
    ) -> Result<Feedback, SessionError> {
        at_most("the reason", reason.len(), MAX_TEXT)?;
        let stop_block_count = self.kept().stop_block_count;
        let changed_files = changed_files.filter(|files| files.len() <= MAX_FILES);
        let reason = reason.to_owned();
        let input = SessionStopInput { reason, changed_files, stop_block_count, ..Default::default() };
        let mut feedback = self.told::<points::SessionStop>(input).await?;
        if feedback.aborted.is_some() || self.cancel.is_cancelled() {
            // A handler that breaks here has nothing left to abort.
            feedback.blocked = None;
        }
        let mut kept = self.kept();
        match &feedback.blocked {
            None => kept.stop_block_count = 0,
            Some(_) if kept.stop_block_count < MAX_STOP_BLOCKS => kept.stop_block_count += 1,
            Some(_) => feedback.unheard = feedback.blocked.take(),
        }
        drop(kept);
        if let Some(reason) = &feedback.unheard {
            let message = format!("session.stop was blocked {MAX_STOP_BLOCKS} times in a row: {reason}");
            self.points.emit(Event::Warning { message });
        }
        Ok(feedback)
    }

    /// Fires `session.end` and closes the session. Of a session that has ended before, nothing is
    /// fired and nothing is said.
    ///
    /// # Errors
    /// Returns [`SessionError::TooLong`] where the reason has more than 1 MiB.
    pub async fn end(&self, exit_reason: &str) -> Result<Feedback, SessionError> {
        at_most("the reason", exit_reason.len(), MAX_TEXT)?;
        if std::mem::replace(&mut self.kept().ended, true) {
            return Ok(Feedback::default());
        }
        let input = SessionEndInput { exit_reason: exit_reason.to_owned(), ..Default::default() };
        let cancel = CancellationToken::new();
        let fired = self.points.fire_last(points::SessionEnd::wrap(input), &cancel);
        let reply = self.to_the_end(fired, &cancel).await;
        Ok(reply.map(|reply| Feedback::of(reply.outcome)).unwrap_or_default())
    }

    /// Fires a point and returns what its handlers said.
    async fn told<P: Point>(&self, input: P::Input) -> Result<Feedback, SessionError> {
        Ok(Feedback::of(self.fire(P::wrap(input)).await?.outcome))
    }

    /// Fires a point.
    pub(super) async fn fire(&self, call: HookCall) -> Result<HookReply, SessionError> {
        self.check_open()?;
        self.points.fire(call, &self.cancel).await.ok_or_else(|| self.has_ended())
    }

    /// Fires a point that tells of an end, for a moment also where the caller has given up.
    pub(super) async fn fire_to_the_end(&self, call: HookCall) -> Result<HookReply, SessionError> {
        let cancel = CancellationToken::new();
        let fired = self.to_the_end(self.points.fire(call, &cancel), &cancel).await;
        fired.ok_or_else(|| self.has_ended())
    }

    /// Waits for a point that ends by a token, which is cancelled a moment after the caller has
    /// given up.
    async fn to_the_end<T>(&self, fired: impl Future<Output = T>, cancel: &CancellationToken) -> T {
        let mut fired = std::pin::pin!(fired);
        let given_up = async {
            self.cancel.cancelled().await;
            self.points.clock().sleep(AFTER_CANCEL).await;
        };
        tokio::select! {
            biased;
            fired = &mut fired => return fired,
            () = given_up => cancel.cancel(),
        }
        fired.await
    }

    pub(super) fn check_open(&self) -> Result<(), SessionError> {
        match self.kept().ended {
            true => Err(self.has_ended()),
            false => Ok(()),
        }
    }

    fn has_ended(&self) -> SessionError {
        SessionError::Ended { session: self.name().to_owned() }
    }

    pub(super) fn kept(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why nothing goes on that was cancelled.
pub(super) const CANCELLED: &str = "the call was cancelled";

/// Refuses a text that is too long to be passed on.
pub(super) fn at_most(what: &'static str, bytes: usize, most: usize) -> Result<(), SessionError> {
    if bytes <= most { Ok(()) } else { Err(SessionError::TooLong { what, bytes, most }) }
}
