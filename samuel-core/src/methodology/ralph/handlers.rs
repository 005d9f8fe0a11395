//! The default handlers: ralph's functions, attached to the hook points.

use std::{
    collections::BTreeMap,
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Check, CheckSetting, Failures, PromptParts, QuotedBlob as Part, SourcePrd, ToldIn, agent_summary,
    check_plan, checks::place_of_log, compose_prompt, discovery_context, fold_markdown, fold_toon,
    implementation_context, loop_summary, progress_context, run_checks, templates::PROMPTS,
};
use crate::{
    agent::{ARGUMENT, Agent, AgentError, AgentRequest, Choice, ConversationId, MODEL, compose_agent_env},
    config::CheckCommand,
    environment::{apply_deny_list, check_env, moved},
    git::Repository,
    hook::{
        AgentPort, Answer, BreakClass, Call, CallLogs, HookFailure, Point, RegistryBuilder, RunAccess,
        catch_panic, points,
    },
    methodology::{Kit, LoadedTemplate},
    model::{
        ExitReason, TaskId,
        payload::{
            AfterAgentInvokeOutput, AfterLoopOutput, AgentFailure, AgentInvokeInput, AgentInvokeOutput,
            BeforeAgentInvokeOutput, BeforeLoopOutput, ContextProgressOutput, ContextSnapshotOutput,
            ContextTaskOutput, IterationGateOutput, Mode, QualityCheckOutput, Turn,
        },
        run_blocking,
    },
    sandbox::Sandbox,
    snapshot::{SnapshotOptions, take_snapshot},
    state::{ProgressEntry, ProgressKind},
};

/// What the default handlers work with: the kit, whose fields they read as their own.
#[derive(Clone)]
pub(super) struct Handlers {
    kit: Kit,
    /// Those of implementation and of discovery.
    prompts: [LoadedTemplate; 2],
    /// How many checks each iteration had, by which the files of their logs are numbered.
    checks: Arc<Mutex<BTreeMap<u32, u32>>>,
}

impl Deref for Handlers {
    type Target = Kit;

    fn deref(&self) -> &Kit {
        &self.kit
    }
}

/// Registers a method as the default of a point.
macro_rules! defaults {
    ($ralph:ident, $handlers:ident; $($point:ident => $method:ident,)+) => {
        $({
            let ralph = Arc::clone(&$ralph);
            $handlers.default_handler::<points::$point, _>(move |call: Call<points::$point>| {
                let ralph = Arc::clone(&ralph);
                async move { ralph.$method(call).await }
            });
        })+
    };
}

/// Whom one call is made of.
struct Chosen {
    agent: Arc<dyn Agent>,
    sandbox: Arc<dyn Sandbox>,
}

impl Handlers {
    /// Takes the built-in prompts where a methodology that stands on this one has none.
    pub(super) fn new(kit: Kit) -> Self {
        let prompt = |(name, text)| {
            let built_in = || LoadedTemplate::load(&[], name, text).expect("the built-in templates parse");
            kit.templates.get(name).cloned().unwrap_or_else(built_in)
        };
        Self { prompts: PROMPTS.map(prompt), kit, checks: Arc::default() }
    }

    /// Registers the default of every point that has one.
    pub(super) fn register(self: Arc<Self>, handlers: &mut RegistryBuilder) {
        let ralph = self;
        defaults! { ralph, handlers;
            BeforeLoop => before_loop,
            IterationGate => gate,
            ContextSnapshot => snapshot,
            ContextProgress => progress,
            ContextTask => task,
            BeforeAgentInvoke => before_agent,
            AgentInvoke => invoke,
            AfterAgentInvoke => after_agent,
            QualityCheck => quality,
            AfterLoop => after_loop,
        }
    }

    async fn before_loop(&self, call: Call<points::BeforeLoop>) -> Result<BeforeLoopOutput, HookFailure> {
        let check = check_plan(call.plan(), self.settings.pilot.enabled);
        warn(&call, check.warnings);
        self.log(&call, ProgressKind::Started, format!("run {}", self.run_id)).await?;
        Ok(check.output)
    }

    async fn gate(&self, call: Call<points::IterationGate>) -> Result<IterationGateOutput, HookFailure> {
        // The schedule is the runtime's, which keeps to it where a chain has no default.
        Ok(IterationGateOutput { mode: Some(call.input().mode), ..IterationGateOutput::default() })
    }

    async fn snapshot(
        &self,
        call: Call<points::ContextSnapshot>,
    ) -> Result<ContextSnapshotOutput, HookFailure> {
        let preview = call.header().preview;
        let keeps = !preview && !self.in_memory;
        // A preview makes no workspace.
        let root = if preview { &*self.project_root } else { self.root_of(&call) };
        let root = root.to_owned();
        let taken = self
            .blocking(move |ralph| {
                let options = SnapshotOptions {
                    caller: ralph.caller.clone(),
                    // Without a cache the snapshot only takes longer.
                    cache_dir: keeps.then(|| ralph.run_dir.make_cache().ok()).flatten(),
                    max_tokens: ralph.settings.context.snapshot_tokens as usize,
                    max_file_lines: ralph.guardrails.max_file_lines,
                    ..SnapshotOptions::new(ralph.clock.now())
                };
                let taken = take_snapshot(&root, &options)?;
                Ok::<_, HookFailure>(taken.encode()?)
            })
            .await??;
        Ok(ContextSnapshotOutput::from_blob(folded(&call, call.previous().map(|p| &*p.toon_blob), &taken)))
    }

    async fn progress(
        &self,
        call: Call<points::ContextProgress>,
    ) -> Result<ContextProgressOutput, HookFailure> {
        let limits = self.settings.vars(self.agents.configured().name()).context;
        let max_lines = limits.max_progress_lines as usize;
        let preview = call.header().preview;
        let log = self
            .blocking(move |ralph| {
                if !preview {
                    ralph.store.rotate_progress(max_lines)?;
                }
                ralph.store.progress()
            })
            .await??;
        let failures = &call.context().base().state.last_failures;
        let told = match self.prompt_template(call.header().mode).tells_failures {
            true => ToldIn::InTheTemplate,
            false => ToldIn::Here,
        };
        let own = progress_context(call.plan(), &log, Failures { of_check: failures, told }, &limits);
        let previous = call.previous().map(|previous| previous.md_blob.as_str()).unwrap_or_default();
        Ok(ContextProgressOutput::from_blob(fold_markdown(previous, &own)))
    }

    async fn task(&self, call: Call<points::ContextTask>) -> Result<ContextTaskOutput, HookFailure> {
        let input = call.input();
        let plan = call.plan();
        let task = input.task.as_ref().and_then(|task| plan.task(&TaskId::new(task.id.clone())));
        let mut own = match task {
            Some(task) => implementation_context(plan, task),
            None => discovery_context(plan),
        };
        // The agent finds no file that is not where it works.
        own.prd = own.prd.filter(|_| !call.context().base().paths.source_prd.is_empty());
        Ok(ContextTaskOutput::from_blob(folded(
            &call,
            call.previous().map(|p| &*p.toon_blob),
            &own.encode()?,
        )))
    }

    /// Composes the prompt of a main turn, and the environment of every turn.
    async fn before_agent(
        &self,
        call: Call<points::BeforeAgentInvoke>,
    ) -> Result<BeforeAgentInvokeOutput, HookFailure> {
        let header = call.header();
        let mut set = self.variables(&call);
        set.extend(call.input().env.iter().cloned());
        let agent = self.agents.named(&call.input().agent);
        // Who calls one that there is not says so.
        let agent = agent.as_ref().unwrap_or(self.agents.configured());
        let env = compose_agent_env(&self.env_of(&call), &**agent, &set);
        let env = env.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let prompt = match header.turn {
            Turn::Main => Some(self.compose(&call).await?),
            Turn::Recovery | Turn::Immediate | Turn::Final => None,
        };
        Ok(BeforeAgentInvokeOutput { prompt, env, ..Default::default() })
    }

    /// Returns the directory in which the turn of a call works.
    fn root_of<'c, P: Point>(&'c self, call: &'c Call<P>) -> &'c Path {
        call.workspace().unwrap_or(&self.project_root)
    }

    /// Returns the environment that the caller gave, with the places of the turn of a call.
    fn env_of<P: Point>(&self, call: &Call<P>) -> Vec<(String, String)> {
        moved(self.env.iter().cloned(), &self.project_root, self.root_of(call))
    }

    /// Returns the variables that tell what a process works on, and where.
    fn variables<P: Point>(&self, call: &Call<P>) -> Vec<(String, String)> {
        let (iteration, base) = (call.header().iteration, call.context().base());
        let mut set = vec![
            ("SAMUEL_RUN_ID".to_owned(), self.run_id.to_string()),
            ("SAMUEL_METHODOLOGY".to_owned(), base.methodology.name.clone()),
            ("SAMUEL_BINARY".to_owned(), self.binary.clone()),
            ("SAMUEL_ITERATION".to_owned(), iteration.to_string()),
        ];
        let root = self.root_of(call).display().to_string();
        let places = ["SAMUEL_PROJECT_ROOT", "SAMUEL_WORKSPACE", "PWD"];
        set.extend(places.map(|name| (name.to_owned(), root.clone())));
        if !base.iteration.task_id.is_empty() {
            set.push(("SAMUEL_TASK_ID".to_owned(), base.iteration.task_id.clone()));
        }
        let (made, name) = (call.plan().project.created_at, &base.methodology.name);
        // Tells what a leftover of this call may change: this plan, no later one.
        set.extend(made.map(|made| ("SAMUEL_PLAN".to_owned(), format!("{name}@{made}"))));
        set
    }

    async fn compose(&self, call: &Call<points::BeforeAgentInvoke>) -> Result<String, HookFailure> {
        let input = call.input();
        let plan = Arc::clone(call.plan());
        let task = Some(&call.context().base().iteration.task_id).filter(|id| !id.is_empty());
        let task = task.map(|id| TaskId::new(id.clone()));
        let workspace = call.workspace().map(Path::to_owned);
        let prd = self.blocking(move |ralph| {
            let max_tokens = ralph.settings.context.prd_tokens;
            SourcePrd::find(workspace.as_deref(), &ralph.project_root, &plan, task.as_ref(), max_tokens)
        });
        let prd = prd.await?;
        let (root, paths) = (self.root_of(call), &call.context().base().paths);
        let path =
            |path: &str| Path::new(path).strip_prefix(root).unwrap_or(Path::new(path)).display().to_string();
        let (task, progress, snapshot) =
            (path(&paths.task_context_file), path(&paths.progress_context_file), path(&paths.snapshot_file));
        let part = |title, source, path, language, text| Part { title, source, path, language, text };
        let blobs = [
            part("Task context", "the plan", &*task, "toon", &*input.task_context),
            part("Progress", "earlier agents, checks and hooks", &*progress, "markdown", &*input.progress),
            part("Project snapshot", "files and commits", &*snapshot, "toon", &*input.snapshot),
        ];
        let pending: Vec<String> =
            Some(input.prompt.clone()).filter(|text| !text.is_empty()).into_iter().collect();
        let (extras, framing) = (&*input.extras, &self.framing);
        let control_files = &*self.control_files.names;
        // One that cannot be read here is one all the same.
        let has_repository = !matches!(Repository::open(&self.project_root, &self.caller), Ok(None));
        let (blobs, prd, pending) = (&blobs[..], prd.as_ref(), &pending[..]);
        let parts = PromptParts { blobs, prd, extras, pending, control_files, has_repository, framing };
        let composed =
            compose_prompt(&self.prompt_template(call.header().mode).template, call.context(), parts)?;
        warn(call, composed.warnings);
        Ok(composed.text)
    }

    /// Returns the prompt template of a mode.
    fn prompt_template(&self, mode: Mode) -> &LoadedTemplate {
        let [implementation, discovery] = &self.prompts;
        match mode {
            Mode::Implementation => implementation,
            Mode::Discovery => discovery,
        }
    }

    async fn invoke(&self, call: Call<points::AgentInvoke>) -> Result<AgentInvokeOutput, HookFailure> {
        let header = call.header();
        let input = call.input();
        let Chosen { agent, sandbox } = match self.chosen(input) {
            Ok(chosen) => chosen,
            Err(failure) => return Ok(failed(failure)),
        };
        let mut env = input.env.clone();
        apply_deny_list(&mut env, agent.declared_env(), &[]);
        // No handler sees the token, nor puts another one in its place.
        env.extend(call.access().iter().flat_map(RunAccess::env));
        env.push((RunAccess::SANDBOX.to_owned(), sandbox.name().to_owned()));
        let is_configured = Arc::ptr_eq(&agent, self.agents.configured());
        let program = match sandbox.brings_programs() {
            true => agent.command_line().into_iter().next().map(PathBuf::from),
            false => self.program.clone().filter(|_| is_configured).or_else(|| self.locate(&*agent)),
        };
        let conversation = input.conversation.as_deref().filter(|_| agent.resumes());
        // Who takes it wires it.
        let bridge = match agent.hooks_notice() {
            Some(_) => call.bridge().await,
            None => None,
        };
        let request = AgentRequest {
            prompt: input.prompt.clone(),
            env,
            program,
            project_root: self.root_of(&call).to_owned(),
            sandbox: Arc::clone(&sandbox),
            logs: call.logs(),
            iteration: header.iteration,
            turn: header.turn,
            task: input.task.clone(),
            conversation: conversation.and_then(ConversationId::new),
            bridge,
            cancel: call.cancelled().clone(),
        };
        let mut logs: Vec<CallLogs> = request.logs.iter().cloned().collect();
        let mut answered = answer_of(&*agent, request.clone(), &call).await?;
        if let Err(lost @ AgentError::ConversationLost { .. }) = &answered {
            warn(&call, [format!("{lost}; it was called once more, without it")]);
            let again = request.logs.as_ref().map(CallLogs::of_second_call);
            logs.extend(again.clone());
            let anew = AgentRequest { conversation: None, logs: again, ..request };
            answered = answer_of(&*agent, anew, &call).await?;
        }
        warn(&call, sandbox.notices());
        let logs = logs.iter().flat_map(|CallLogs { out, err, .. }| [out, err]);
        let logs = logs.filter_map(|path| place_of_log(path, &self.project_root)).collect();
        let failed =
            |error: AgentError| AgentInvokeOutput { usage: error.usage(), ..failed(error.failure()) };
        Ok(AgentInvokeOutput { logs, ..answered.unwrap_or_else(failed) })
    }

    /// Counts a check, and returns which one of its iteration it is, from 1.
    fn next_check(&self, iteration: u32) -> u32 {
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        let count = checks.entry(iteration).or_default();
        *count += 1;
        *count
    }

    /// Returns the agent that is to be called and the sandbox it is to run in, where there
    /// are such by these names.
    fn chosen(&self, input: &AgentInvokeInput) -> Result<Chosen, AgentFailure> {
        let of = |name: &str| -> Vec<String> {
            let named = input.extensions.iter().filter(|(key, _)| key == name);
            named.map(|(_, value)| value.clone()).collect()
        };
        let choice = Choice {
            agent: input.agent.clone(),
            model: of(MODEL).pop(),
            args: of(ARGUMENT),
            ..Choice::default()
        };
        let agent = self.agents.chosen(&choice).map_err(|error| error.failure())?;
        let sandbox = self.sandboxes.find(&input.sandbox).map_err(|error| {
            let message = format!("{error}; agents can run in {}", self.sandboxes.names().join(", "));
            AgentFailure { message, ..AgentFailure::default() }
        })?;
        Ok(Chosen { agent, sandbox })
    }

    /// Looks up an agent's program in the environment that the caller gave.
    fn locate(&self, agent: &dyn Agent) -> Option<PathBuf> {
        let env = compose_agent_env(&self.env, agent, &[]);
        agent.locate(&env, &self.project_root)
    }

    async fn after_agent(
        &self,
        call: Call<points::AfterAgentInvoke>,
    ) -> Result<AfterAgentInvokeOutput, HookFailure> {
        let task = &*call.context().base().iteration.task_id;
        let (iteration, summary) = (call.header().iteration, agent_summary(call.input()));
        tracing::info!(iteration, task, summary, "agent call ended");
        Ok(AfterAgentInvokeOutput::default())
    }

    async fn quality(&self, call: Call<points::QualityCheck>) -> Result<QualityCheckOutput, HookFailure> {
        let timeout_of = |command: &String| {
            let configured = self.settings.quality_checks.iter().find(|check| check.command == *command);
            configured.map(|check| check.timeout)
        };
        let iteration = call.header().iteration;
        let check = |command: &String| {
            let number = self.next_check(iteration);
            Check {
                timeout: timeout_of(command).unwrap_or(CheckCommand::TIMEOUT),
                log: (!self.in_memory).then(|| self.run_dir.check_log(&self.run_id, iteration, number)),
                ..Check::new(command.clone())
            }
        };
        let checks: Vec<Check> = call.input().commands.iter().map(check).collect();
        let env = check_env(&self.env_of(&call), self.variables(&call));
        let warnings = Mutex::default();
        let sandbox = self.sandboxes.find(&self.settings.sandbox)?;
        let setting = CheckSetting {
            project_root: &self.project_root,
            work_dir: self.root_of(&call),
            logs: (&self.run_dir, &self.run_id),
            env: &env,
            secrets: &self.secrets,
            supervisor: &self.supervisor,
            sandbox: &*sandbox,
            cancel: call.cancelled(),
            control_files: &self.control_files,
            warnings: &warnings,
        };
        let checked = run_checks(&checks, setting).await;
        warn(&call, warnings.into_inner().unwrap_or_default());
        warn(&call, sandbox.notices());
        checked.map_err(|cancelled| HookFailure::new(BreakClass::Cancelled, cancelled.to_string()))
    }

    async fn after_loop(&self, call: Call<points::AfterLoop>) -> Result<AfterLoopOutput, HookFailure> {
        let kind = match call.input().exit_reason == ExitReason::Completed.as_str() {
            true => ProgressKind::Completed,
            // Not an error: prompts list those.
            false => ProgressKind::Found,
        };
        self.log(&call, kind, loop_summary(call.input(), call.plan())).await?;
        Ok(AfterLoopOutput::default())
    }

    /// Writes to the progress log, except in a look ahead.
    async fn log<P: Point>(
        &self,
        call: &Call<P>,
        kind: ProgressKind,
        text: String,
    ) -> Result<(), HookFailure> {
        if !call.header().preview {
            let entry = ProgressEntry::note(self.clock.now(), kind, text);
            self.blocking(move |ralph| ralph.store.append_progress(&[entry])).await??;
        }
        Ok(())
    }

    async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> R + Send + 'static,
    ) -> Result<R, tokio::task::JoinError> {
        let ralph = self.clone();
        run_blocking(move || work(&ralph)).await
    }
}

/// Keeps what handlers before the default produced.
fn folded<P: Point>(call: &Call<P>, previous: Option<&str>, own: &str) -> String {
    let folded = fold_toon(previous.unwrap_or_default(), own);
    warn(call, folded.warnings);
    folded.text
}

fn warn<P: Point>(call: &Call<P>, warnings: impl IntoIterator<Item = String>) {
    warnings.into_iter().for_each(|warning| call.warn(warning));
}

/// Calls an agent. A panic is the agent's, not that of the handler.
async fn answer_of(
    agent: &dyn Agent,
    request: AgentRequest,
    call: &Call<points::AgentInvoke>,
) -> Result<Result<AgentInvokeOutput, AgentError>, HookFailure> {
    catch_panic(agent.invoke(request, call)).await.map_err(|failure| HookFailure {
        message: format!("agent \"{}\": {}", agent.name(), failure.message),
        ..failure
    })
}

/// Answers for an agent that did not come to its own end.
fn failed(failure: AgentFailure) -> AgentInvokeOutput {
    AgentInvokeOutput { exit_code: -1, failure: Some(failure), ..AgentInvokeOutput::default() }
}
