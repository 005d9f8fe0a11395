//! Scripts as handlers.
//!
//! A [`Skill`] answers at every point: it starts its script in the project,
//! writes the [envelope](super::envelope) to its standard input and reads the
//! answer from its standard output. The script of an installed plugin is run
//! from a [`PrivateCopy`], never from where it is installed. The process runner
//! sees to it that nothing of it outlives the call. What a script does is bounded by the rights of the
//! user alone: its capabilities are declared, shown and recorded, and enforced
//! only under a sandbox. Without `exec` it stands for no agent.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    Binding, Capabilities, Capability, LoadOptions, Plugin, agent_env, check::needs_exec, envelope,
    private_copy::PrivateCopy, source::last_line,
};
use crate::{
    environment::plugin_env,
    hook::{BreakClass, Call, ChainSpec, Conversation, Handler, HookFailure, HookPoint, Point, Tier, Told},
    process::{self, CommandOutput, CommandSpec, End, ExitStatus, OutputLimits, ProcessError, Supervisor},
};

/// How many levels of hooks may start each other through the command line.
const MAX_DEPTH: u32 = 3;
/// The variable that counts them.
const DEPTH: &str = "SAMUEL_HOOK_DEPTH";
/// How much of what a script says beside its answer is kept, in bytes.
const MAX_STDERR: usize = 16 << 10;
/// How many lines of it go into a failure.
const SHOWN_LINES: usize = 10;
/// How often, and after which pause, a script that is still being written is
/// tried again.
const BUSY_TRIES: usize = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// A script of a plugin, as a handler of any point.
#[derive(Clone, Debug)]
pub struct Skill {
    script: PathBuf,
    /// Where the script is, if it is a plugin's.
    copy: Option<Arc<PrivateCopy>>,
    project_root: PathBuf,
    env: Vec<(String, String)>,
    /// What the user set for the plugin.
    config: Map<String, Value>,
    depth: u32,
    supervisor: Supervisor,
    /// Whether the script may stand for the agent.
    starts_agents: bool,
    /// Whether its input stays open there, for replies to what it asks.
    is_interactive: bool,
    granted: Capabilities,
}

impl Skill {
    /// Makes a handler of a script that is not installed, such as one under
    /// test. `script` is absolute, `env` its whole environment beside what
    /// Samuel adds.
    pub fn new(
        script: impl Into<PathBuf>,
        project_root: impl Into<PathBuf>,
        env: Vec<(String, String)>,
        supervisor: Supervisor,
        granted: &Capabilities,
    ) -> Self {
        Self {
            script: script.into(),
            copy: None,
            project_root: project_root.into(),
            depth: depth_of(&env),
            env,
            config: Map::new(),
            supervisor,
            starts_agents: granted.has(Capability::Exec),
            is_interactive: false,
            granted: granted.clone(),
        }
    }

    /// Keeps the script's standard input open in the agent's place, for replies to what it asks,
    /// as `interactive` does in a manifest.
    #[must_use]
    pub fn interactive(self) -> Self {
        Self { is_interactive: true, ..self }
    }

    /// Makes the handler of a binding of an installed plugin.
    pub(super) fn of(
        plugin: &Plugin,
        binding: &Binding,
        copy: Arc<PrivateCopy>,
        project_root: &Path,
        options: &LoadOptions,
    ) -> Self {
        let mut env = plugin_env(&options.env, plugin.granted().targets(Capability::Env));
        env.push(("SAMUEL_PLUGIN_DIR".to_owned(), copy.root().display().to_string()));
        Self {
            script: copy.root().join(&binding.handler),
            copy: Some(copy),
            project_root: project_root.to_owned(),
            depth: depth_of(&options.env),
            env,
            config: plugin.config.clone(),
            supervisor: options.supervisor.clone(),
            starts_agents: !needs_exec(&plugin.manifest, HookPoint::AgentInvoke)
                && plugin.granted().has(Capability::Exec),
            is_interactive: binding.interactive,
            granted: plugin.granted().clone(),
        }
    }

    /// Refuses a call that must not be made.
    fn admit(&self, point: HookPoint) -> Result<(), HookFailure> {
        if point == HookPoint::AgentInvoke && !self.starts_agents {
            let message = "a handler of agent.invoke needs the capability exec, which was not granted";
            return Err(HookFailure::new(BreakClass::Denied, message));
        }
        if self.depth >= MAX_DEPTH {
            let message = format!("hooks have started hooks {MAX_DEPTH} levels deep");
            return Err(HookFailure::new(BreakClass::Failed, message));
        }
        Ok(())
    }

    /// Refuses a call where a look at the copy tells of a difference.
    async fn hold(
        &self,
        look: impl FnOnce(&PrivateCopy) -> Option<String> + Send + 'static,
    ) -> Result<(), HookFailure> {
        let Some(copy) = self.copy.clone() else { return Ok(()) };
        let looked = tokio::task::spawn_blocking(move || look(&copy)).await;
        match looked.unwrap_or_else(|error| Some(error.to_string())) {
            None => Ok(()),
            Some(difference) => {
                let message = "the files that the plugin runs from were changed since they were checked";
                let mut failure = HookFailure::new(BreakClass::Untrusted, message);
                failure.details.push(difference);
                Err(failure)
            }
        }
    }

    fn command<P: Point>(&self, call: &Call<P>, limit: Duration) -> CommandSpec {
        let header = call.header();
        CommandSpec::new(&self.script, &self.project_root)
            .envs(self.env.iter().cloned())
            .env("SAMUEL_PROJECT_ROOT", &self.project_root)
            .env("SAMUEL_HOOK_POINT", &*header.point)
            .env("SAMUEL_HANDLER_ID", &*header.handler_id)
            .env("SAMUEL_RUN_ID", &*header.run_id)
            .env("SAMUEL_ITERATION", header.iteration.to_string())
            .env(DEPTH, (self.depth + 1).to_string())
            // What a script leaves in its directory would count as a change.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .timeout(limit)
            .grace_when_dropped(true)
    }

    /// Runs the script. One that was written a moment ago may still be open in a
    /// process that another thread is starting; that passes.
    async fn run<P: Point>(&self, call: &Call<P>, limit: Duration) -> Result<Told, HookFailure> {
        let question = envelope::encode(call, &self.config)?;
        let spec = self.command(call, limit);
        let mut ran = self.run_once(call, &spec, &question, limit).await;
        for _ in 0..BUSY_TRIES {
            let Err(ProcessError::Busy { .. }) = ran else { break };
            tokio::time::sleep(BUSY_PAUSE).await;
            ran = self.run_once(call, &spec, &question, limit).await;
        }
        let told = ran.map_err(not_run)?;
        call.ran(&spec.stdin(question), &told.output);
        Ok(told)
    }

    async fn run_once<P: Point>(
        &self,
        call: &Call<P>,
        spec: &CommandSpec,
        question: &[u8],
        limit: Duration,
    ) -> Result<Told, ProcessError> {
        if let Some(port) = call.port() {
            let conversation = Conversation {
                supervisor: &self.supervisor,
                cancel: call.cancelled(),
                port: Some(port),
                warn: &|message| call.warn(message),
                question: question.to_owned(),
                replies: self.is_interactive.then_some(limit),
                max_answer: envelope::MAX_ANSWER_BYTES,
            };
            return conversation.hold(spec.clone()).await;
        }
        let limits =
            OutputLimits { head: envelope::MAX_ANSWER_BYTES, tail: MAX_STDERR, ..OutputLimits::default() };
        let spec = spec.clone().stdin(question).limits(limits);
        let output = process::run(spec, &self.supervisor, call.cancelled()).await?;
        let problem = format!("it is longer than {} bytes", envelope::MAX_ANSWER_BYTES);
        let problem = output.stdout.is_truncated().then_some(problem);
        let answer = [output.stdout.head.as_slice(), &output.stdout.tail].concat();
        Ok(Told { output, answer, problem })
    }

    async fn answer<P: Point>(&self, call: &Call<P>) -> Result<P::Output, HookFailure> {
        self.admit(P::POINT)?;
        let shown = agent_env::shown(call, &self.granted);
        let call = shown.as_ref().unwrap_or(call);
        let limit = limit_of(call);
        self.hold(PrivateCopy::difference).await?;
        let Told { output, answer, problem } = self.run(call, limit).await?;
        if let Some(left) = &output.left_running {
            call.warn(format!("the script left {left}"));
        }
        // What ran beside a change may be the change.
        self.hold(PrivateCopy::touched).await?;
        // For this it may have been ended.
        if let Some(problem) = problem {
            return Err(envelope::bad_output(&problem, &answer));
        }
        ended_well(&output, limit)?;
        let answer = envelope::decode::<P>(&answer)?;
        answer.warnings.into_iter().for_each(|message| call.warn(message));
        agent_env::admit(call, &answer.output, &self.granted)?;
        for (key, value) in answer.contributed {
            call.contribute(key, value)?;
        }
        Ok(answer.output)
    }
}

#[async_trait]
impl<P: Point> Handler<P> for Skill {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        self.answer(&call).await
    }

    fn tier(&self) -> Tier {
        Tier::Skill
    }

    fn command(&self, call: &Call<P>) -> Result<Option<CommandSpec>, HookFailure> {
        let shown = agent_env::shown(call, &self.granted);
        let call = shown.as_ref().unwrap_or(call);
        let question = envelope::encode(call, &self.config)?;
        Ok(Some(Self::command(self, call, limit_of(call)).stdin(question)))
    }
}

/// Returns how long the script of a call may run.
fn limit_of<P: Point>(call: &Call<P>) -> Duration {
    match call.header().deadline_ms {
        0 => ChainSpec::TIMEOUT,
        millis => Duration::from_millis(millis),
    }
}

fn not_run(error: ProcessError) -> HookFailure {
    HookFailure::new(BreakClass::Spawn, error.explained())
}

/// Refuses a script that did not exit with 0: only then it has answered.
fn ended_well(output: &CommandOutput, limit: Duration) -> Result<(), HookFailure> {
    let stderr = output.stderr.text();
    let said = last_line(&stderr);
    let (class, message) = match (output.end, output.status) {
        (End::TimedOut, _) => {
            (BreakClass::Timeout, format!("no answer within {}", crate::hook::seconds(limit)))
        }
        (End::Cancelled, _) => (BreakClass::Cancelled, "the run was cancelled".to_owned()),
        (_, ExitStatus::Exited(0)) => return Ok(()),
        (_, ExitStatus::Exited(code)) => {
            (BreakClass::Failed, said.unwrap_or_else(|| format!("exit code {code}")))
        }
        (_, ExitStatus::Signaled(signal)) => (BreakClass::Signaled, format!("ended by signal {signal}")),
    };
    let mut failure = HookFailure::new(class, message);
    failure.details.push(output.status.to_string());
    let lines: Vec<&str> = stderr.lines().collect();
    let last = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default();
    failure.details.extend(last.iter().map(|line| (*line).to_owned()));
    Err(failure)
}

fn depth_of(env: &[(String, String)]) -> u32 {
    let depth = env.iter().find(|(name, _)| name == DEPTH).and_then(|(_, value)| value.parse().ok());
    depth.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::{
        clock::SystemClock,
        hook::{Registry, Scope, points},
    };

    #[tokio::test]
    async fn what_is_wrong_with_a_question_is_told_and_not_how_the_script_was_ended_for_it() {
        let root = tempfile::tempdir().unwrap();
        let script = root.path().join("agent.sh");
        let asks = r#"echo '{"before_ability": {"call_id": 1}}'"#;
        fs::write(&script, format!("#!/bin/sh\n{asks}\nread -r question\nread -r decision\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let granted = Capabilities::default().with(Capability::Exec, ["x"]);
        let skill = Skill::new(&script, root.path(), Vec::new(), Supervisor::GroupOnly, &granted);
        let mut handlers = Registry::builder();
        handlers.api::<points::AgentInvoke, _>("agent", None, skill.interactive());
        let spec = ChainSpec { timeout: Some(Duration::from_secs(20)), ..ChainSpec::default() };
        let registry = handlers.build(&BTreeMap::from([(HookPoint::AgentInvoke, spec)])).unwrap();
        let scope = Scope::new(Arc::new(SystemClock::new()));
        let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
        let failure = &done.outcome.broken[0].failure;
        assert_eq!(failure.class, BreakClass::BadOutput, "{failure}");
        assert!(failure.message.contains("a report before it is wrong: "), "{failure}");
    }
}
