//! Putting a session together.

use super::{
    SessionError, SessionState,
    live::{POINTS, Session},
};
use crate::{
    engine::{Run, RunBuilder, is_brought},
    hook::handler_methods,
    process::Supervisor,
    project::Project,
    trust::{Executables, TrustPolicy},
};

/// Collects what a session needs. A [`RunBuilder`] with handlers that a run would have becomes one
/// too.
#[derive(Debug)]
pub struct SessionBuilder {
    run: RunBuilder,
}

/// A session that is put together, and of which nothing has run yet.
#[derive(Debug)]
pub struct ReadySession {
    run: Run,
}

impl From<RunBuilder> for SessionBuilder {
    /// Takes over the project, the handlers, the hook files, the trust, the supervisor, the
    /// environment and the name; what is said of an agent and of tasks has no meaning in a session.
    fn from(run: RunBuilder) -> Self {
        Self { run }
    }
}

impl SessionBuilder {
    /// Starts with the settings of a project.
    pub(super) fn new(project: Project) -> Self {
        Self::from(Run::builder(project))
    }

    handler_methods!(run.);

    /// Has the commands of the project's [hook files](crate::dialect) run at their hook points, in the
    /// environment and below the supervisor of the session.
    #[must_use]
    pub fn hook_files(self) -> Self {
        Self::from(self.run.hook_files())
    }

    /// Says who decides whether what the repository brings may run. By default nothing may; the
    /// handlers that the program itself [registers](Self::hook) need nobody's leave.
    #[must_use]
    pub fn trust(self, trust: TrustPolicy) -> Self {
        Self::from(self.run.trust(trust))
    }

    /// Says how the processes of handlers are looked after. By default only as groups
    /// ([`Supervisor::GroupOnly`]).
    #[must_use]
    pub fn supervisor(self, supervisor: Supervisor) -> Self {
        Self::from(self.run.supervisor(supervisor))
    }

    /// Gives the environment that the commands of hook files get parts of. By default it is empty.
    #[must_use]
    pub fn env(self, env: impl IntoIterator<Item = (String, String)>) -> Self {
        Self::from(self.run.env(env))
    }

    /// Puts everything together, for whoever wants to see what would run. Blocks while files are
    /// read. The agent that samuel.toml names need not be there.
    ///
    /// # Errors
    /// Returns [`SessionError::Run`] where a hook file or the handlers of a point cannot be used.
    pub fn build(self) -> Result<ReadySession, SessionError> {
        Ok(ReadySession { run: self.run.build_idle()?.0 })
    }

    /// Puts everything together and begins a session.
    ///
    /// # Errors
    /// Returns what [`build`](Self::build) and [`ReadySession::open`] return.
    pub async fn open(self) -> Result<Session, SessionError> {
        self.build()?.open().await
    }

    /// Puts everything together and goes on with a session of another process.
    ///
    /// # Errors
    /// Returns what [`build`](Self::build) and [`ReadySession::resume`] return.
    pub async fn resume(self, state: SessionState) -> Result<Session, SessionError> {
        self.build()?.resume(state).await
    }
}

impl ReadySession {
    /// Returns what the session would execute, with the control files that the last run left
    /// changed: all that the [policy](Self::trusting) is shown. Blocks at the first call, for as
    /// long as somebody changes the plan.
    ///
    /// # Errors
    /// Returns [`SessionError::Run`] where what the last run saved cannot be read.
    pub fn executables(&mut self) -> Result<Executables, SessionError> {
        Ok(self.run.executables_of(&POINTS)?)
    }

    /// Says whether what the project brings would execute, which takes somebody's trust. Blocks as
    /// [`executables`](Self::executables) does.
    pub(super) fn brings(&mut self) -> Result<bool, SessionError> {
        Ok(is_brought(&self.executables()?))
    }

    /// Puts another trust policy in place of the builder's, for whoever decides after a look at
    /// what would execute.
    #[must_use]
    pub fn trusting(self, trust: TrustPolicy) -> Self {
        Self { run: self.run.trusting(trust) }
    }

    /// Begins a session, which fires no point yet.
    ///
    /// # Errors
    /// Returns [`SessionError::Run`] where the policy refuses what would execute, or where what the
    /// last run saved cannot be read.
    pub async fn open(self) -> Result<Session, SessionError> {
        let points = self.run.points(&POINTS, None).await?;
        let state = SessionState::new(points.id(), points.session(), points.start());
        Ok(Session::new(points, state))
    }

    /// Goes on with a session of another process, under its name and its id.
    ///
    /// # Errors
    /// Returns [`SessionError::State`] where what was kept cannot be gone on with,
    /// [`SessionError::Ended`] where it has ended, and what [`open`](Self::open) returns.
    pub async fn resume(self, state: SessionState) -> Result<Session, SessionError> {
        let points = self.run.points(&POINTS, Some(state.check()?)).await?;
        Ok(Session::new(points, state))
    }
}
