//! Agents that are programs.
//!
//! A [`CliAgent`] starts the program of a [`Cli`] through the process module,
//! hands each line to its parser and the events to the port, and turns the end
//! into an outcome. What an agent says about its own end comes before what its
//! exit code says: some exit with 0 after a failure, and one that has finished
//! its work has succeeded even if it must be ended because it lingers.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use samuel_hook::sandbox::Sandbox;
use samuel_model::{Usage, clock::Clock, payload::AgentInvokeOutput};
use samuel_process::{
    Clocks, CommandOutput, CommandSpec, End, ExitStatus, OutputLimits, ProcessError, Supervisor,
    find_on_path, find_program, problem_of_program, spawn,
};

use super::{
    Agent, AgentConfig, AgentError, AgentPort, AgentRequest, ConversationId, Provider, Reports,
    adapter::Cli,
    bridge::{self, Wiring},
    config::{Deadlines, GRACE},
    prompt_file::PromptFile,
    settings::{Settings, write_wiring},
    stream::{Ending, Progress, StreamParser},
    text::{MAX_SUMMARY, excerpt, last_words},
    watch::Watch,
};

/// The longest line that is read whole: a line may hold a file.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Stands for the file that holds the prompt.
const PROMPT_FILE: &str = "{prompt_file}";
/// Stands for the name of the conversation to go on in.
const CONVERSATION: &str = "{conversation}";

/// Conversations of which is known what was consumed in them.
const MAX_CONVERSATIONS: usize = 16;

/// An agent that is a program.
pub(super) struct CliAgent {
    cli: &'static Cli,
    command: Vec<String>,
    deadlines: Deadlines,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    /// What was consumed in the last conversations, where the agent counts over all calls of one.
    /// What is not known, such as of a run before, counts as nothing.
    consumed: Mutex<VecDeque<(ConversationId, Usage)>>,
}

impl CliAgent {
    /// Puts the command line together.
    pub(super) fn new(
        cli: &'static Cli,
        config: &AgentConfig,
        supervisor: Supervisor,
    ) -> Result<Self, AgentError> {
        let mut command = config.command.clone();
        if let (true, Some(program)) = (command.is_empty(), cli.program) {
            command.push(program.to_owned());
        }
        if command.is_empty() {
            let problem = "agent_command names no program".to_owned();
            return Err(AgentError::Config { agent: cli.name.to_owned(), problem });
        }
        command.extend(owned(cli.args));
        // In one word, so that no name of a model is an option of its own.
        command
            .extend(config.model.iter().zip(cli.model_flag).map(|(model, flag)| format!("{flag}={model}")));
        command.extend(config.args.iter().cloned());
        Ok(Self {
            cli,
            command,
            deadlines: config.clocks.resolve(cli.speaks),
            clock: Arc::clone(&config.clock),
            supervisor,
            consumed: Mutex::default(),
        })
    }

    /// Returns what was consumed in a conversation, as far as it is known.
    fn consumed_in(&self, conversation: &ConversationId) -> Usage {
        let known = self.consumed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().rev().find(|(known, _)| known == conversation);
        found.map(|(_, usage)| *usage).unwrap_or_default()
    }

    fn note_consumed(&self, progress: &Progress) {
        let conversation = progress.conversation.as_deref().and_then(ConversationId::new);
        let Some(told) = conversation.zip(progress.in_all) else { return };
        let mut known = self.consumed.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back(told);
        if known.len() > MAX_CONVERSATIONS {
            known.pop_front();
        }
    }

    fn program(&self) -> &str {
        self.command.first().map(String::as_str).unwrap_or_default()
    }

    /// Returns the program to start: a name is looked up by
    /// [`locate`](Agent::locate) alone, so that none is found in the project.
    fn program_for(&self, request: &AgentRequest) -> Result<PathBuf, AgentError> {
        let program = self.program();
        let located = request.program.clone().or_else(|| self.locate(&request.env, &request.project_root));
        match located {
            Some(path) => Ok(path),
            // Starting it says what is wrong with it.
            None if program.contains('/') => Ok(request.project_root.join(program)),
            None => Err(self.not_found(&request.project_root)),
        }
    }

    fn not_found(&self, project_root: &Path) -> AgentError {
        let program = self.program().to_owned();
        let is_in_project = project_root.join(&program).is_file();
        AgentError::NotFound { agent: self.cli.name.to_owned(), program, place: None, is_in_project }
    }

    /// Returns the words that start the program, which is the first, from those that come before a
    /// conversation to go on in.
    fn words(&self, command: &[String], conversation: Option<&ConversationId>) -> Vec<String> {
        let resume = conversation.into_iter().flat_map(|id| {
            self.cli.resume_args.iter().map(move |arg| arg.replace(CONVERSATION, id.as_str()))
        });
        command.iter().cloned().chain(resume).chain(owned(self.cli.last_args)).collect()
    }

    /// Wires the agent's own hooks into its command line and its environment, where the run asks for
    /// it and the agent has hooks.
    fn wire(&self, request: &mut AgentRequest) -> Result<Vec<String>, AgentError> {
        let wired = request.bridge.as_ref().zip(bridge::wire(self.cli.name));
        let Some((bridge, protocol)) = wired else { return Ok(self.command.clone()) };
        let failed = |cause| AgentError::Start { agent: self.cli.name.to_owned(), cause };
        let settings = Settings { directory: &request.project_root };
        let mut wiring =
            Wiring::new(bridge, self.command.clone(), std::mem::take(&mut request.env), &settings);
        protocol.wire(&mut wiring).map_err(|error| failed(error.into()))?;
        write_wiring(&wiring.files).map_err(|error| failed(error.into()))?;
        request.env = wiring.env;
        Ok(wiring.words)
    }

    /// Returns the arguments by which it finds its provider through a gateway of the sandbox.
    fn way_to_provider(&self, sandbox: &dyn Sandbox) -> Vec<String> {
        let provider = self.cli.provider.as_ref();
        let found = provider.and_then(|provider| Some((provider, sandbox.base_url(provider.name)?)));
        found.map(|(provider, url)| provider.arguments(&url)).unwrap_or_default()
    }

    fn spec(
        &self,
        program: &Path,
        command: &[String],
        request: &AgentRequest,
        prompt: Option<&PromptFile>,
    ) -> CommandSpec {
        let words = self.words(command, request.conversation.as_ref());
        let args = words.into_iter().skip(1).map(|arg| match prompt {
            Some(file) => arg.replace(PROMPT_FILE, &file.path().to_string_lossy()),
            None => arg,
        });
        let mut spec = CommandSpec::new(program, &request.project_root)
            .args(args)
            .envs(request.env.iter().cloned())
            .grace(GRACE)
            .limits(OutputLimits { line: MAX_LINE, ..OutputLimits::default() })
            .clocks(Clocks {
                first_byte: self.deadlines.first_byte,
                idle: self.deadlines.idle,
                linger: self.deadlines.linger,
            });
        if prompt.is_none() {
            spec = spec.stdin(request.prompt.as_bytes());
        }
        if let Some(wall) = self.deadlines.wall {
            spec = spec.timeout(wall);
        }
        match &request.logs {
            Some(logs) => logs.keep(spec),
            None => spec,
        }
    }

    fn prompt_file(&self, request: &AgentRequest) -> Result<Option<PromptFile>, AgentError> {
        if !self.command.iter().any(|arg| arg.contains(PROMPT_FILE)) {
            return Ok(None);
        }
        PromptFile::create(request)
            .map(Some)
            .map_err(|source| AgentError::Start { agent: self.cli.name.to_owned(), cause: Box::new(source) })
    }

    fn start_error(&self, error: ProcessError) -> AgentError {
        let agent = self.cli.name.to_owned();
        match error {
            ProcessError::ProgramNotFound { program, missing_directory: None } => {
                let place = program.is_absolute().then(|| program.components().collect());
                AgentError::NotFound {
                    agent,
                    program: self.program().to_owned(),
                    place,
                    is_in_project: false,
                }
            }
            error @ ProcessError::SupervisorLost { .. } => AgentError::Lost { agent, cause: Box::new(error) },
            error => AgentError::Start { agent, cause: Box::new(error) },
        }
    }

    /// Makes the outcome of a program that has ended.
    fn outcome(
        &self,
        output: &CommandOutput,
        parser: &dyn StreamParser,
        cancelled: bool,
    ) -> Result<AgentInvokeOutput, AgentError> {
        let progress = parser.progress();
        let (agent, usage) = (self.cli.name.to_owned(), progress.usage);
        match &progress.ending {
            Some(Ending::Done) => return Ok(self.success(output, parser)),
            Some(Ending::Failed { message }) => {
                return Err(AgentError::Reported { agent, message: message.clone(), usage });
            }
            Some(Ending::RateLimited { message, resets_at }) => {
                let (message, resets_at) = (message.clone(), *resets_at);
                return Err(AgentError::RateLimited { agent, message, resets_at, usage });
            }
            None if cancelled => return Err(AgentError::Cancelled { agent, usage }),
            None => {}
        }
        if let Some(error) = self.ended_by_clock(output.end, usage) {
            return Err(error);
        }
        match output.status {
            ExitStatus::Signaled(signal) => {
                let words = last_words(&output.stderr.text(), &output.stdout.text());
                Err(AgentError::Signal { agent, signal, words, usage })
            }
            ExitStatus::Exited(0) if self.cli.final_event => {
                let words = last_words(&output.stderr.text(), &output.stdout.text());
                let words = words.map(|words| format!(": {words}")).unwrap_or_default();
                let message = format!("the stream ended without a final event{words}");
                Err(AgentError::Reported { agent, message, usage })
            }
            ExitStatus::Exited(_) => Ok(self.success(output, parser)),
        }
    }

    /// Sees whether a call that failed was to go on in a conversation that is not there: the agent
    /// was never ready, and says so in its own words. Any other failure is passed on.
    fn lost(
        &self,
        conversation: &ConversationId,
        output: &CommandOutput,
        parser: &dyn StreamParser,
        outcome: &Result<AgentInvokeOutput, AgentError>,
    ) -> Option<AgentError> {
        let has_failed = match outcome {
            Ok(ended) => ended.exit_code != 0,
            Err(error) => matches!(error, AgentError::Reported { .. }),
        };
        if parser.progress().ready || !has_failed {
            return None;
        }
        let told = match outcome {
            Err(AgentError::Reported { message, .. }) => message.as_str(),
            _ => "",
        };
        let (stderr, stdout) = (output.stderr.text(), output.stdout.text());
        let says_so = |line: &&str| self.cli.lost_words.iter().any(|words| line.contains(words));
        let line = [told, &stderr, &stdout].iter().flat_map(|text| text.lines()).find(says_so)?;
        let (agent, conversation) = (self.cli.name.to_owned(), conversation.as_str().to_owned());
        let message = excerpt(line.trim(), MAX_SUMMARY);
        Some(AgentError::ConversationLost { agent, conversation, message })
    }

    fn ended_by_clock(&self, end: End, usage: Option<Usage>) -> Option<AgentError> {
        let (clock, limit) = match end {
            End::TimedOut => ("wall", self.deadlines.wall),
            End::NoFirstByte => ("first_byte", self.deadlines.first_byte),
            End::Idle => ("idle", self.deadlines.idle),
            _ => return None,
        };
        let agent = self.cli.name.to_owned();
        Some(AgentError::Clock { agent, clock, limit: limit.unwrap_or_default(), usage })
    }

    /// Returns what an agent printed: its words where they could be read, which
    /// are of more use than its events, else its raw output.
    fn success(&self, output: &CommandOutput, parser: &dyn StreamParser) -> AgentInvokeOutput {
        let progress = parser.progress();
        let words = progress.answer.as_str();
        let stdout = if words.is_empty() { output.stdout.text() } else { words.to_owned() };
        // One that had to be ended after its final event has no exit code of its own.
        let exit_code = match output.end {
            End::Exited => output.status.code().unwrap_or(0),
            _ => 0,
        };
        AgentInvokeOutput {
            exit_code,
            stdout,
            stderr: output.stderr.text(),
            usage: progress.usage,
            ..AgentInvokeOutput::default()
        }
    }
}

#[async_trait]
impl Agent for CliAgent {
    fn name(&self) -> &str {
        self.cli.name
    }

    fn declared_env(&self) -> &[&str] {
        self.cli.env
    }

    fn command_line(&self) -> Vec<String> {
        self.words(&self.command, None)
    }

    fn permission_notice(&self) -> Option<String> {
        self.cli.notice.map(str::to_owned)
    }

    fn hooks_notice(&self) -> Option<String> {
        bridge::wire(self.cli.name).map(|protocol| protocol.notice().to_owned())
    }

    fn reports(&self) -> Reports {
        self.cli.reports
    }

    fn provider(&self) -> Option<Provider> {
        self.cli.provider
    }

    fn resumes(&self) -> bool {
        !self.cli.resume_args.is_empty()
    }

    fn check(&self, env: &[(String, String)], project_root: &Path) -> Result<(), AgentError> {
        let program = self.program();
        let program = match self.locate(env, project_root) {
            Some(path) => path,
            None if program.contains('/') => project_root.join(program).components().collect(),
            None => return Err(self.not_found(project_root)),
        };
        let problem = problem_of_program(program.as_os_str(), path_of(env).map(OsStr::new), project_root);
        problem.map_or(Ok(()), |problem| Err(self.start_error(problem)))
    }

    fn locate(&self, env: &[(String, String)], project_root: &Path) -> Option<PathBuf> {
        let program = self.program();
        if program.contains('/') {
            return find_program(program, "", project_root);
        }
        find_on_path(program, path_of(env), None)
    }

    async fn invoke(
        &self,
        mut request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        let prompt = self.prompt_file(&request)?;
        let program = self.program_for(&request)?;
        let mut command = self.wire(&mut request)?;
        command.extend(self.way_to_provider(&*request.sandbox));
        let spec = request.sandbox.wrap(self.spec(&program, &command, &request, prompt.as_ref()));
        let spec = spec.map_err(|source| AgentError::Sandbox { agent: self.cli.name.to_owned(), source })?;
        let running = spawn(spec, &self.supervisor).await.map_err(|error| self.start_error(error))?;
        if let Some(id) = running.supervisor() {
            port.supervised_by(id.pid, id.start_time).await;
        }
        let before = request.conversation.as_ref().map(|id| self.consumed_in(id)).unwrap_or_default();
        let mut parser = (self.cli.parser)(Arc::clone(&self.clock), before);
        let mut watch = Watch { cancel: &request.cancel, deadlines: self.deadlines, port, cancelled: false };
        let followed = watch.follow(running, parser.as_mut(), self.clock.as_ref()).await;
        tell_of_left(port, &followed).await;
        let output = followed.map_err(|error| self.start_error(error))?;
        self.note_consumed(parser.progress());
        let outcome = self.outcome(&output, parser.as_ref(), watch.cancelled);
        let conversation = request.conversation.as_ref();
        let lost = conversation.and_then(|id| self.lost(id, &output, parser.as_ref(), &outcome));
        lost.map_or(outcome, Err)
    }
}

fn owned(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

/// Returns the `PATH` of an environment.
fn path_of(env: &[(String, String)]) -> Option<&str> {
    env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str())
}

/// Tells the port where processes may be left.
pub(super) async fn tell_of_left(port: &dyn AgentPort, ended: &Result<CommandOutput, ProcessError>) {
    let left = match ended {
        Ok(output) => output.left_behind.clone(),
        Err(error) => error.left_behind().map(<[_]>::to_vec),
    };
    if let Some(left) = left {
        port.left_behind(left).await;
    }
    if let Some(left) = ended.as_ref().ok().and_then(|output| output.left_running.clone()) {
        port.left_running(left).await;
    }
    let lost = |output: &CommandOutput| {
        [&output.stdout, &output.stderr].map(|captured| captured.spill_problem.clone())
    };
    for problem in ended.as_ref().ok().map(lost).into_iter().flatten().flatten() {
        port.log_lost(problem).await;
    }
}

impl std::fmt::Debug for CliAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CliAgent").field("name", &self.cli.name).field("command", &self.command).finish()
    }
}
