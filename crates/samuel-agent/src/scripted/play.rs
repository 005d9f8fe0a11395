//! Playing the steps of one call.

use std::time::Duration;

use samuel_model::{
    Usage,
    payload::{AbilityStatus, AgentInvokeOutput},
};
use samuel_process::{CommandSpec, End, ExitStatus, spawn};
use samuel_state::{Mutation, NewTask};

use super::{
    NAME, ScriptedAgent, Step,
    action::{Action, ActionError, DeleteFile, EditFile, RunCommand, WriteFile},
    fill,
};
use crate::{
    AbilityCall, AbilityDecision, AbilityResult, AgentError, AgentEvent, AgentPort, AgentRequest,
    MutationRoute,
    mutation::to_args,
    run::tell_of_left,
    text::{Answer, MAX_SUMMARY, MAX_TEXT, excerpt},
};

/// One call of the scripted agent while it is played.
pub(super) struct Play<'a> {
    agent: &'a ScriptedAgent,
    request: &'a AgentRequest,
    port: &'a dyn AgentPort,
    started: Duration,
    noticed: bool,
    calls: u32,
    answer: Answer,
    /// The commit that was checked out when a text last asked for it.
    head: Option<String>,
    /// What was consumed so far.
    pub(super) usage: Option<Usage>,
}

/// Why a call ended.
#[derive(Debug)]
pub(super) enum Stop {
    Exit { code: i32, stderr: String },
    Clock { clock: &'static str, limit: Duration },
    Cancelled,
    Signal(i32),
    RateLimited { message: String, resets_at: Option<jiff::Timestamp> },
    Failed(String),
}

impl Stop {
    /// Makes the outcome of the call.
    pub(super) fn outcome(
        self,
        usage: Option<Usage>,
        stdout: String,
    ) -> Result<AgentInvokeOutput, AgentError> {
        let agent = NAME.to_owned();
        Err(match self {
            Self::Exit { code: exit_code, stderr } => {
                return Ok(AgentInvokeOutput { exit_code, stdout, stderr, usage, ..Default::default() });
            }
            Self::Clock { clock, limit } => AgentError::Clock { agent, clock, limit, usage },
            Self::Cancelled => AgentError::Cancelled { agent, usage },
            Self::Signal(signal) => AgentError::Signal { agent, signal, words: None, usage },
            Self::RateLimited { message, resets_at } => {
                AgentError::RateLimited { agent, message, resets_at, usage }
            }
            Self::Failed(message) => AgentError::Reported { agent, message, usage },
        })
    }
}

/// How an action went: an error ends the call unless the step allows it, a
/// stop ends it in any case.
enum Failure {
    Action(ActionError),
    Stop(Stop),
}

impl<E: Into<ActionError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Action(error.into())
    }
}

impl<'a> Play<'a> {
    pub(super) fn new(agent: &'a ScriptedAgent, request: &'a AgentRequest, port: &'a dyn AgentPort) -> Self {
        let started = agent.clock.elapsed();
        let (noticed, calls, answer, head, usage) = (false, 0, Answer::default(), None, None);
        Self { agent, request, port, started, noticed, calls, answer, head, usage }
    }

    /// Returns everything that was said.
    pub(super) fn said(&self) -> String {
        self.answer.as_str().to_owned()
    }

    pub(super) fn say(&mut self, text: &str) {
        self.answer.push_line(text);
        self.port.emit(AgentEvent::Text { text: excerpt(text, MAX_TEXT) });
    }

    /// Plays steps until one ends the call.
    pub(super) async fn all(&mut self, steps: &[Step]) -> Stop {
        for step in steps {
            if let Err(stop) = self.check() {
                return stop;
            }
            if let Err(stop) = self.step(step).await {
                return stop;
            }
        }
        Stop::Exit { code: 0, stderr: String::new() }
    }

    fn check(&mut self) -> Result<(), Stop> {
        if self.request.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let elapsed = self.agent.clock.elapsed().saturating_sub(self.started);
        if let Some((after, left)) = self.agent.deadlines.notice()
            && elapsed >= after
            && !std::mem::replace(&mut self.noticed, true)
        {
            let remaining_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            self.port.emit(AgentEvent::SoftDeadline { remaining_ms });
        }
        match self.agent.deadlines.wall {
            Some(limit) if elapsed >= limit => Err(Stop::Clock { clock: "wall", limit }),
            _ => Ok(()),
        }
    }

    async fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Say(text) => {
                let text = self.filled(text).await?;
                self.say(&text);
            }
            Step::Usage(usage) => {
                let mut total = self.usage.unwrap_or_default();
                total += *usage;
                self.usage = Some(total);
                self.port.emit(AgentEvent::Usage(total));
            }
            Step::Sleep { ms } => self.sleep(Duration::from_millis(*ms)).await?,
            Step::DenyPermission { tool, message } => {
                let message = excerpt(message, MAX_SUMMARY);
                self.port.emit(AgentEvent::PermissionDenied { tool: tool.clone(), message });
            }
            Step::RateLimit { message, resets_at } => {
                let (message, resets_at) = (message.clone(), *resets_at);
                self.port.emit(AgentEvent::RateLimited { resets_at, message: message.clone() });
                return Err(Stop::RateLimited { message, resets_at });
            }
            Step::Fail { message } => return Err(Stop::Failed(message.clone())),
            Step::Exit { code } => return Err(Stop::Exit { code: *code, stderr: String::new() }),
            Step::Crash { signal } => return Err(Stop::Signal(*signal)),
            Step::Run { allow_failure, .. } => {
                let action = self.action(step).await?;
                self.perform(action, *allow_failure).await?;
            }
            _ => {
                let action = self.action(step).await?;
                self.perform(action, false).await?;
            }
        }
        Ok(())
    }

    /// Makes a step's tool call, with its texts filled in.
    async fn action(&mut self, step: &Step) -> Result<Action, Stop> {
        Ok(match step {
            Step::Write { path, content } => Action::Write(WriteFile {
                file_path: self.filled(path).await?,
                content: self.filled(content).await?,
            }),
            Step::Edit { path, old, new } => Action::Edit(EditFile {
                file_path: self.filled(path).await?,
                old_string: self.filled(old).await?,
                new_string: self.filled(new).await?,
            }),
            Step::Delete { path } => Action::Delete(DeleteFile { file_path: self.filled(path).await? }),
            Step::Run { command, .. } => {
                self.look_up_head(command).await?;
                Action::Run(RunCommand { command: fill::command(command) })
            }
            step => Action::Mutate(self.mutation(step).await?),
        })
    }

    async fn mutation(&mut self, step: &Step) -> Result<Mutation, Stop> {
        Ok(match step {
            Step::Done { task, commit_sha } => Mutation::Done {
                id: self.task(task).await?,
                commit_sha: match commit_sha {
                    Some(sha) => Some(self.filled(sha).await?),
                    None => None,
                },
                iteration: Some(self.request.iteration),
            },
            Step::Skip { task, reason } => Mutation::Skip {
                id: self.task(task).await?,
                reason: match reason {
                    Some(reason) => Some(self.filled(reason).await?),
                    None => None,
                },
            },
            Step::Reset { task } => Mutation::Reset { id: self.task(task).await? },
            Step::Ask { task, question, options } => Mutation::Ask {
                id: self.task(task).await?,
                question: self.filled(question).await?,
                options: options.clone(),
            },
            Step::Enqueue { title, priority, complexity, source } => {
                let title = self.filled(title).await?;
                let task = NewTask {
                    priority: *priority,
                    complexity: *complexity,
                    source: *source,
                    ..NewTask::new(title)
                };
                Mutation::Enqueue { task }
            }
            other => return Err(broken(format!("{other:?} is not a tool call"))),
        })
    }

    async fn task(&mut self, text: &str) -> Result<samuel_model::TaskId, Stop> {
        let id = self.filled(text).await?;
        id.parse().map_err(|error| broken(format!("the call has no task for the step: {error}")))
    }

    /// Replaces the placeholders of a text.
    async fn filled(&mut self, text: &str) -> Result<String, Stop> {
        self.look_up_head(text).await?;
        Ok(fill::text(text, |name| self.value(name)))
    }

    /// Finds out which commit is checked out, if a text asks for it.
    async fn look_up_head(&mut self, text: &str) -> Result<(), Stop> {
        if !fill::asks_for(text, fill::HEAD) {
            return Ok(());
        }
        let spec = self.command("git").args(["rev-parse", "HEAD"]);
        match self.run(spec).await {
            Ok(output) => self.head = Some(output.trim().to_owned()),
            Err(Failure::Stop(stop)) => return Err(stop),
            Err(Failure::Action(error)) => return Err(broken(format!("there is no commit: {error}"))),
        }
        Ok(())
    }

    fn value(&self, name: fill::Name) -> String {
        let task = self.request.task.as_ref();
        match name {
            fill::TASK_ID => task.map(|task| task.id.clone()).unwrap_or_default(),
            fill::TASK_TITLE => task.map(|task| task.title.clone()).unwrap_or_default(),
            fill::ITERATION => self.request.iteration.to_string(),
            _ => self.head.clone().unwrap_or_default(),
        }
    }

    /// Returns the variables by which a command line reads the call's values.
    fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let names = [fill::TASK_ID, fill::TASK_TITLE, fill::ITERATION, fill::HEAD];
        names.map(|name| (name.variable, self.value(name))).into_iter()
    }

    /// Asks for a tool call, makes it and reports how it went.
    async fn perform(&mut self, action: Action, allow_failure: bool) -> Result<(), Stop> {
        self.calls += 1;
        let call_id = format!("call-{}", self.calls);
        let ability_id = action.tool();
        let input = action.input().to_string();
        let asked =
            AbilityCall { call_id: call_id.clone(), ability_id: ability_id.clone(), input, parent_id: None };
        let input = match self.port.before_ability(asked).await {
            AbilityDecision::Allow { input } => input,
            AbilityDecision::Block { reason } => {
                self.say(&format!("{ability_id} was blocked: {reason}"));
                return Ok(());
            }
        };
        let before = self.agent.clock.elapsed();
        let result = match action.with_input(&input) {
            Ok(action) => self.act(action).await,
            Err(error) => Err(Failure::Action(format!("handlers left unusable arguments: {error}").into())),
        };
        let took = self.agent.clock.elapsed().saturating_sub(before);
        let (status, output) = match &result {
            Ok(output) => (AbilityStatus::Success, output.clone()),
            Err(Failure::Action(error)) => (AbilityStatus::Error, error.to_string()),
            Err(Failure::Stop(_)) => (AbilityStatus::Cancelled, String::new()),
        };
        let ended = AbilityResult {
            call_id,
            ability_id: ability_id.clone(),
            status,
            duration_ms: u64::try_from(took.as_millis()).ok(),
            output_summary: (!output.is_empty()).then(|| excerpt(&output, MAX_SUMMARY)),
            ..AbilityResult::default()
        };
        self.port.after_ability(ended).await;
        match result {
            Ok(_) => Ok(()),
            Err(Failure::Stop(stop)) => Err(stop),
            Err(Failure::Action(_)) if allow_failure => Ok(()),
            Err(Failure::Action(error)) => {
                Err(Stop::Exit { code: 1, stderr: excerpt(&format!("{ability_id}: {error}\n"), MAX_TEXT) })
            }
        }
    }

    async fn act(&mut self, action: Action) -> Result<String, Failure> {
        let root = &self.request.project_root;
        match action {
            Action::Write(file) => Ok(file.apply(root).await?),
            Action::Edit(file) => Ok(file.apply(root).await?),
            Action::Delete(file) => Ok(file.apply(root).await?),
            Action::Run(run) => {
                let spec = CommandSpec::shell(run.command, root).envs(self.request.env.iter().cloned());
                let spec = spec.envs(self.variables());
                self.run(spec).await
            }
            Action::Mutate(mutation) => match &self.agent.mutations {
                MutationRoute::None => {
                    Err(Failure::Action("the script changes tasks but has no way to".into()))
                }
                MutationRoute::Sink(sink) => Ok(sink.apply(mutation).await?),
                MutationRoute::Command(samuel) => {
                    let args = to_args(&mutation).ok_or("no command makes this change")?;
                    let spec = self.command(samuel).args(args);
                    self.run(spec).await
                }
            },
        }
    }

    fn command(&self, program: impl Into<std::ffi::OsString>) -> CommandSpec {
        CommandSpec::new(program, &self.request.project_root).envs(self.request.env.iter().cloned())
    }

    /// Runs a command to its end, within what is left of the wall clock.
    async fn run(&mut self, spec: CommandSpec) -> Result<String, Failure> {
        let wrapped = self.request.sandbox.wrap(spec.merge_stderr(true));
        let mut spec = wrapped.map_err(|error| Failure::Action(error.to_string().as_str().into()))?;
        let elapsed = self.agent.clock.elapsed().saturating_sub(self.started);
        let wall = self.agent.deadlines.wall;
        if let Some(limit) = wall {
            spec = spec.timeout(limit.saturating_sub(elapsed));
        }
        let running = spawn(spec, &self.agent.supervisor).await?;
        if let Some(id) = running.supervisor() {
            self.port.supervised_by(id.pid, id.start_time).await;
        }
        let stopper = running.stopper();
        let end = running.wait();
        tokio::pin!(end);
        let output = tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => {
                stopper.kill();
                // Its processes are gone when this returns.
                tell_of_left(self.port, &end.await).await;
                return Err(Failure::Stop(Stop::Cancelled));
            }
            output = &mut end => output,
        };
        tell_of_left(self.port, &output).await;
        let output = output?;
        match (output.end, output.status) {
            (End::Exited, ExitStatus::Exited(0)) => Ok(output.stdout.text()),
            (End::TimedOut, _) => {
                Err(Failure::Stop(Stop::Clock { clock: "wall", limit: wall.unwrap_or_default() }))
            }
            (_, status) => Err(Failure::Action(format!("{status}\n{}", output.stdout.text()).into())),
        }
    }

    /// Waits, and ends as an agent does that is silent for too long.
    async fn sleep(&mut self, wanted: Duration) -> Result<(), Stop> {
        let elapsed = self.agent.clock.elapsed().saturating_sub(self.started);
        let deadlines = self.agent.deadlines;
        let idle = deadlines.idle.map(|limit| ("idle", limit, limit));
        let wall = deadlines.wall.map(|limit| ("wall", limit, limit.saturating_sub(elapsed)));
        let first = idle.into_iter().chain(wall).min_by_key(|(_, _, left)| *left);
        let cut = first.filter(|(_, _, left)| *left < wanted);
        tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => return Err(Stop::Cancelled),
            () = self.agent.clock.sleep(cut.map_or(wanted, |(_, _, left)| left)) => {}
        }
        match cut {
            Some((clock, limit, _)) => Err(Stop::Clock { clock, limit }),
            None => Ok(()),
        }
    }
}

/// Ends a call whose script cannot be played.
fn broken(stderr: String) -> Stop {
    Stop::Exit { code: 1, stderr }
}
