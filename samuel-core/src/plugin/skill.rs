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
use serde_json::{Map, value::RawValue};

use super::{
    Binding, Capabilities, Capability, LoadOptions, Plugin, agent_env, check::needs_exec, envelope,
    log_lines::LogLines,
};
use crate::{
    environment::plugin_env,
    hook::{
        BreakClass, Call, ChainSpec, Conversation, Handler, HookFailure, HookPoint, Launch, LogLevel, Point,
        Tier, Told,
    },
    process::{OutputLimits, Supervisor},
    script::{CommandLine, HookCommand, PrivateCopy, ScriptOutput, depth_of, env_in, hold, hook_env},
};

/// How much of what a script says beside its answer is kept, in bytes.
const MAX_STDERR: usize = 16 << 10;

/// A script of a plugin, as a handler of any point.
#[derive(Clone, Debug)]
pub struct Skill {
    script: PathBuf,
    /// Where the script is, if it is a plugin's.
    copy: Option<Arc<PrivateCopy>>,
    project_root: PathBuf,
    env: Vec<(String, String)>,
    /// What the user set for the plugin, as it is written into each call.
    config: Box<RawValue>,
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
            config: envelope::encode_config(&Map::new()),
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
            config: envelope::encode_config(&plugin.config),
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
        Ok(())
    }

    /// Refuses a call where a look at the copy tells of a difference.
    async fn hold(
        &self,
        look: impl FnOnce(&PrivateCopy) -> Option<String> + Send + 'static,
    ) -> Result<(), HookFailure> {
        match &self.copy {
            Some(copy) => hold(copy, "the files that the plugin runs from", look).await,
            None => Ok(()),
        }
    }

    fn command<P: Point>(&self, call: &Call<P>, limit: Duration) -> HookCommand {
        let limits =
            OutputLimits { head: envelope::MAX_ANSWER_BYTES, tail: MAX_STDERR, ..OutputLimits::default() };
        let root = call.workspace().unwrap_or(&self.project_root);
        HookCommand::new(CommandLine::words([&self.script]), root)
            .envs(env_in(&self.env, &self.project_root, root))
            .envs(hook_env(call.header(), root, &call.context().base().methodology.name, self.depth))
            .env("PWD", root)
            // What a script leaves in its directory would count as a change.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .timeout(limit)
            .limits(limits)
    }

    /// Runs the script.
    async fn run<P: Point>(&self, call: &Call<P>, limit: Duration) -> Result<Ran, HookFailure> {
        let question = envelope::encode(call, &self.config)?;
        let script = self.command(call, limit).stdin(question.clone());
        if let Some(port) = call.port() {
            let warn = |message| call.warn(message);
            let hold = |spec| {
                let conversation = Conversation {
                    supervisor: &self.supervisor,
                    cancel: call.cancelled(),
                    port: Some(port),
                    warn: &warn,
                    question: question.clone(),
                    replies: self.is_interactive.then_some(limit),
                    max_answer: envelope::MAX_ANSWER_BYTES,
                };
                conversation.hold(spec)
            };
            let Told { output, answer, problem } = script.start(hold).await?;
            let output = script.ended(output);
            script.tell(call, &output);
            return Ok(Ran { output, answer, problem });
        }
        let output = script.run(&self.supervisor, call.cancelled()).await?;
        script.tell(call, &output);
        let problem = format!("it is longer than {} bytes", envelope::MAX_ANSWER_BYTES);
        let problem = output.stdout.is_truncated().then_some(problem);
        let answer = [output.stdout.head.as_slice(), &output.stdout.tail].concat();
        Ok(Ran { output, answer, problem })
    }

    async fn answer<P: Point>(&self, call: &Call<P>) -> Result<P::Output, HookFailure> {
        self.admit(P::POINT)?;
        let shown = agent_env::shown(call, &self.granted);
        let call = shown.as_ref().unwrap_or(call);
        let limit = call.limit(ChainSpec::TIMEOUT);
        self.hold(PrivateCopy::difference).await?;
        let Ran { output, answer, problem } = self.run(call, limit).await?;
        if let Some(left) = &output.left_running {
            call.warn(format!("the script left {left}"));
        }
        // What ran beside a change may be the change.
        self.hold(PrivateCopy::touched).await?;
        // For this it may have been ended.
        if let Some(problem) = problem {
            return Err(envelope::bad_output(&problem, &answer));
        }
        if let Some(failure) = output.failure() {
            return Err(failure);
        }
        // In the agent's place it is the agent's, and kept with its output.
        if call.port().is_none() {
            let (said, link) = (output.stderr.text(), Some(Arc::clone(call.link())));
            let mut log = LogLines::new(Arc::clone(&call.header().handler_id), link);
            said.lines().for_each(|line| log.write(LogLevel::Info, line));
        }
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

    fn launch(&self, call: &Call<P>) -> Result<Option<Launch>, HookFailure> {
        let shown = agent_env::shown(call, &self.granted);
        let call = shown.as_ref().unwrap_or(call);
        let question = envelope::encode(call, &self.config)?;
        Ok(Some(self.command(call, call.limit(ChainSpec::TIMEOUT)).stdin(question).launch()?))
    }
}

/// What came of the script.
struct Ran {
    output: ScriptOutput,
    /// What it printed, without the reports of one in the agent's place.
    answer: Vec<u8>,
    /// Why that cannot be used.
    problem: Option<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::{
        clock::SystemClock,
        hook::{CallScope, Registry, points},
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
        let scope = CallScope::new(Arc::new(SystemClock::new()));
        let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
        let failure = &done.outcome.broken[0].failure;
        assert_eq!(failure.class, BreakClass::BadOutput, "{failure}");
        assert!(failure.message.contains("a report before it is wrong: "), "{failure}");
    }
}
