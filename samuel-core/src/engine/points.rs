//! The hook points of a project, fired without a loop.
//!
//! [`Points`] has what a run has around its points: the handlers, the prompt context, the events
//! and the log of hooks. Which points fire, and what follows from them, is its owner's to say.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::{
    error::{RunError, blocking, described},
    fire::Place,
    hub::{Events, Hub},
    run::Run,
    services::{Known, Purpose, Services},
};
use crate::{
    clock::Clock,
    event::Event,
    hook::{API_NAMESPACE, HookCall, HookPoint, owner_of},
    machine::HookReply,
    model::payload::{Mode, Turn},
    process::Supervisor,
    trust::{Executable, ExecutableKind, Executables},
};

/// The hook points of a project, fired one after the other by a caller.
#[derive(Debug)]
pub(crate) struct Points {
    services: Arc<Services>,
    /// The stream that begins with the first event, as long as no point has fired: nobody may ask
    /// for it.
    first: Mutex<Option<Events>>,
    warnings: Vec<String>,
    supervisor: Supervisor,
    /// Whether calls are written to the log of hooks, where there is a run directory.
    is_logged: bool,
    /// Whether they are closed; held while a point fires.
    closed: tokio::sync::Mutex<bool>,
}

/// What of points goes on in another process.
#[derive(Clone, Debug)]
pub(crate) struct KeptPoints {
    pub(crate) id: Arc<str>,
    pub(crate) session: String,
    /// The commit at the start, in hexadecimal digits.
    pub(crate) start: Option<String>,
}

impl Run {
    /// Gets some points ready, once the policy has allowed what they execute: those of a new
    /// session, or of one that goes on.
    ///
    /// # Errors
    /// Returns [`RunError::Untrusted`] where the policy refuses, and [`RunError::State`] where what
    /// the last run saved cannot be read.
    pub(crate) async fn points(
        mut self,
        points: &[HookPoint],
        kept: Option<KeptPoints>,
    ) -> Result<Points, RunError> {
        self.ensure_compared().await?;
        let executables = self.executables_of(points)?;
        let (trust, project) = (self.frozen.trust.clone(), self.frozen.project.clone());
        let decide = move || {
            let (root, now) = (project.root(), project.clock().now());
            match is_brought(&executables) {
                true => trust.decide(root, &executables, now),
                false => trust.decide_on_gone(root, &executables, now),
            }
        };
        blocking(decide).await?.map_err(RunError::from)?;
        let clock = self.frozen.project.clock();
        if let Some(kept) = &kept {
            let secrets = Arc::clone(&self.frozen.secrets);
            self.hub = Arc::new(Hub::new(Arc::clone(&kept.id), Arc::clone(&clock), secrets));
            (self.frozen.run_id, self.frozen.session) = (Arc::clone(&kept.id), kept.session.clone());
        }
        let of_chains = self.registry.warnings().map(str::to_owned);
        let mut warnings: Vec<String> = of_chains.collect();
        let of_chains = warnings.len();
        warnings.extend(self.hook_files.warnings());
        let repository = match self.repository(self.directory_of(false)).await? {
            Ok(repository) => repository,
            Err(error) => {
                let unread = described(&error);
                warnings.push(format!("{unread}: no handler is told of files that changed"));
                None
            }
        };
        let (store, lane) = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let (frozen, services, events, _) =
            self.equip((store, lane), repository, Known::default(), Purpose::Session, None, None);
        // Those of the chains it has told already.
        warnings.iter().skip(of_chains).for_each(|warning| services.warn(warning));
        let points = Points {
            first: Mutex::new(Some(events)),
            warnings,
            supervisor: frozen.supervisor,
            is_logged: !frozen.project.is_in_memory(),
            closed: tokio::sync::Mutex::default(),
            services,
        };
        points.read_plan().await?;
        let before = kept.and_then(|kept| kept.start);
        let begin = move |services: &Services| services.work_tree.begin_run(before.as_deref());
        points.services.blocking(begin).await?;
        Ok(points)
    }
}

/// Says whether anything executes that is not the program's own.
pub(crate) fn is_brought(executables: &Executables) -> bool {
    let is_own =
        |entry: &Executable| entry.kind == ExecutableKind::Handler && owner_of(&entry.id) == API_NAMESPACE;
    !executables.changes.is_empty() || !executables.entries.iter().all(is_own)
}

impl Points {
    /// Returns the id that events and the log of hooks carry.
    pub(crate) fn id(&self) -> &Arc<str> {
        &self.services.run_id
    }

    /// Returns the session's name.
    pub(crate) fn session(&self) -> &str {
        &self.services.session
    }

    /// Returns the commit at the start, in hexadecimal digits.
    pub(crate) fn start(&self) -> Option<String> {
        self.services.work_tree.run_start()
    }

    /// Returns the project's root.
    pub(crate) fn root(&self) -> PathBuf {
        self.services.project.root().to_owned()
    }

    /// Returns what is to be known of the chains and of the hook files.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.services.clock
    }

    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Returns the events: those of the first call, if it comes before a point fires, begin with
    /// what was warned of when the points were made ready; later ones' with the moment of the call.
    pub(crate) fn events(&self) -> Events {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.services.hub.subscribe())
    }

    pub(crate) fn emit(&self, event: Event) {
        self.services.emit(event);
    }

    /// Reads the plan anew, which handlers are shown; an empty one where there is none.
    ///
    /// # Errors
    /// Returns a [`RunError`] where no thread is left that may block.
    pub(crate) async fn read_plan(&self) -> Result<(), RunError> {
        let read = |services: &Services| {
            let plan = services.store.load().map(|loaded| loaded.plan).unwrap_or_default();
            services.known(|known| known.plan = plan);
            // Tool calls are of the place that was seen last.
            let at = services.place_at(HookPoint::PromptSubmit);
            services.contexts(|contexts| contexts.placed(at));
            services.refresh();
        };
        Ok(self.services.blocking(read).await?)
    }

    /// Fires a point once those before it are done; nothing where the last one was among them.
    /// Handlers that break are in the reply's outcome.
    pub(crate) async fn fire(&self, call: HookCall, cancel: &CancellationToken) -> Option<HookReply> {
        let closed = self.closed.lock().await;
        if *closed { None } else { Some(self.fire_now(call, cancel).await) }
    }

    /// Fires the last point as [`fire`](Self::fire) does, and ends every stream of events once it
    /// has been read.
    pub(crate) async fn fire_last(&self, call: HookCall, cancel: &CancellationToken) -> Option<HookReply> {
        let mut closed = self.closed.lock().await;
        if std::mem::replace(&mut *closed, true) {
            return None;
        }
        let reply = self.fire_now(call, cancel).await;
        self.end_events();
        Some(reply)
    }

    async fn fire_now(&self, call: HookCall, cancel: &CancellationToken) -> HookReply {
        self.forget_first_events();
        let place = Place {
            iteration: 0,
            in_iteration: false,
            mode: Mode::default(),
            turn: Turn::Main,
            cancel: cancel.child_token(),
        };
        // Each call is written before whoever fired the point goes on, who may end at any time.
        let writing = self.is_logged.then(|| self.services.begin_hook_log());
        let reply = self.services.fire(call, &place).await;
        if let Some(writing) = writing {
            self.services.end_hook_log(writing).await;
        }
        reply
    }

    fn end_events(&self) {
        self.services.hub.close();
        self.forget_first_events();
    }

    fn forget_first_events(&self) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Points {
    fn drop(&mut self) {
        self.end_events();
        // What was under way may have been dropped in mid-write.
        self.services.give_up_hook_log();
    }
}
