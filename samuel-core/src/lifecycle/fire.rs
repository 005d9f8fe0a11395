//! Building a [`Lifecycle`], and firing its points.

use std::sync::Arc;

use serde::Serialize;

use super::LifecycleError;
use crate::{
    context::{ContextView, PromptContext},
    hook::{CallScope, HookPoint, Point, Registry, RegistryBuilder, handler_methods},
    model::run_blocking,
    project::Project,
};

/// The points that lifecycle commands fire.
const POINTS: [HookPoint; 4] =
    [HookPoint::InitBefore, HookPoint::InitAfter, HookPoint::SyncBefore, HookPoint::SyncAfter];

/// A project's lifecycle commands, with their handlers.
///
/// ```
/// use std::sync::Arc;
/// use samuel_core::{
///     clock::SystemClock,
///     hook::{Answer, Call, points},
///     lifecycle::{Lifecycle, LifecycleError, SyncOptions},
///     model::payload::SyncBeforeOutput,
///     project::Project,
/// };
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let dir = tempfile::tempdir()?;
/// # std::fs::create_dir(dir.path().join(".samuel"))?;
/// let project = Project::open(dir.path(), None, Arc::new(SystemClock::new()))?;
/// let lifecycle = Lifecycle::builder(project)
///     .hook::<points::SyncBefore, _>("freeze", async |_: Call<points::SyncBefore>| {
///         Ok(SyncBeforeOutput::refuse("the release is frozen"))
///     })
///     .build()?;
/// let refused = lifecycle.sync(&SyncOptions::default()).await;
/// assert!(matches!(refused, Err(LifecycleError::Refused { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lifecycle {
    pub(super) project: Project,
    pub(super) registry: Registry,
    pub(super) binary: String,
    session: Arc<str>,
}

/// Collects what lifecycle commands need. Context files name the command that
/// [`binary`](Self::binary) gives and are committed, so it should be no path of this machine.
#[derive(Debug)]
pub struct LifecycleBuilder {
    project: Project,
    handlers: RegistryBuilder,
    binary: String,
    session: Option<String>,
}

/// A point that fired, and what its handlers said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fired {
    /// The point.
    pub point: HookPoint,
    /// The handlers that ran, in order.
    pub handlers: Vec<Answered>,
}

/// A handler that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// Its id.
    pub id: String,
    /// `ok`, `refused` or the class of its failure.
    pub result: String,
}

impl Lifecycle {
    /// Begins to build the lifecycle commands of a project.
    pub fn builder(project: Project) -> LifecycleBuilder {
        let (handlers, binary) = (Registry::builder(), "samuel".to_owned());
        LifecycleBuilder { project, handlers, binary, session: None }
    }

    /// Returns the chains of the lifecycle points. Those of the others are a
    /// run's.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl LifecycleBuilder {
    handler_methods!();

    /// Puts the chains in order.
    ///
    /// # Errors
    /// Returns [`LifecycleError::Config`] where samuel.toml names a handler
    /// that does not exist, and [`LifecycleError::Registry`] where two have
    /// one id.
    pub fn build(self) -> Result<Lifecycle, LifecycleError> {
        let Self { project, handlers, binary, session } = self;
        let registry = project.registry::<LifecycleError>(handlers, &POINTS)?;
        let session = session.unwrap_or_else(|| project.name()).into();
        Ok(Lifecycle { project, registry, binary, session })
    }
}

/// The points of one command, as they fire.
pub(super) struct Firing<'a> {
    lifecycle: &'a Lifecycle,
    pub(super) context: ContextView,
    pub(super) fired: Vec<Fired>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Firing<'a> {
    pub(super) fn new(lifecycle: &'a Lifecycle, base: PromptContext) -> Self {
        let context = ContextView::new(Arc::new(base));
        let of_chains = lifecycle.registry.warnings().map(str::to_owned);
        Self { lifecycle, context, fired: Vec::new(), warnings: of_chains.collect() }
    }

    /// Fires a point. A refusal that counts and a broken handler that aborts
    /// end the command.
    pub(super) async fn fire<P: Point>(&mut self, input: P::Input) -> Result<P::Output, LifecycleError> {
        let scope = CallScope {
            session: Arc::clone(&self.lifecycle.session),
            context: self.context.clone(),
            ..CallScope::new(self.lifecycle.project.clock())
        };
        let done = self.lifecycle.registry.dispatch::<P>(input, &scope).await;
        self.context = done.context;
        let answered = done.outcome.timings.iter();
        let handlers = answered
            .map(|timing| Answered { id: timing.handler.to_string(), result: timing.ended().to_owned() });
        self.fired.push(Fired { point: P::POINT, handlers: handlers.collect() });
        self.warnings.extend(done.outcome.warnings.iter().map(|warning| {
            format!("{} {} {}: {}", P::POINT, warning.handler, warning.class, warning.message)
        }));
        if let Some(abort) = done.outcome.abort {
            let (handler, failure) = (abort.handler.to_string(), abort.failure);
            return Err(LifecycleError::Broke { point: P::POINT, handler, failure });
        }
        match done.outcome.refused {
            Some(reason) => Err(LifecycleError::Refused { point: P::POINT, reason }),
            None => Ok(done.output),
        }
    }
}

/// Does what blocks on a thread of its own kind.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LifecycleError> {
    let done = run_blocking(work).await;
    done.map_err(|error| LifecycleError::Broken { message: error.to_string() })
}
