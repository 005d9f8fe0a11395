//! An image with what it was granted, and the containers that its program runs in.

use std::{
    ffi::OsString,
    fmt,
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value, value::RawValue};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    ImageHandler, ImageMode,
    exchange::{Exchange, Numbered, Said, Saying, numbered, question, read, take_line},
    grants::WORKSPACE,
    host::{HostCalls, UnderWay},
    reach::{egress, mounts},
    socket::HostSocket,
};
use crate::{
    environment::covers_variable,
    fs::Root,
    hook::{AgentPort, BreakClass, Conversation, Heard, HookFailure, Lines as _, Link},
    model::payload::CallHeader,
    plugin::{Capabilities, Capability, LoadOptions, envelope, kv::KvStore},
    process::Supervisor,
    sandbox::{
        Image, Memory, OCI, Program, ProgramParts, SandboxError, Spoken, Start, host_socket, new_token,
    },
    state::RunDir,
    text::last_line,
};

/// What a program that serves is started with.
const SERVE: &str = "serve";
/// How much memory a program has, swap included.
const MEMORY: &str = "512m";
/// How many processes and threads it has.
const PIDS: u32 = 256;
/// How many replies wait for a program to read them before nothing more of it is read.
const MAX_WAITING: usize = 16;
/// How many lines of standard error go into a failure.
const SHOWN_LINES: usize = 10;
/// What is added to the number of a signal in an exit code.
const BY_SIGNAL: u8 = 128;

/// What an image is run as.
#[derive(Clone, Debug)]
pub struct ImageSetup {
    /// The plugin's name, under which it keeps values.
    pub name: String,
    /// The image, pinned by its digest.
    pub image: Image,
    /// How its program is called.
    pub mode: ImageMode,
    /// What it was granted.
    pub granted: Capabilities,
    /// What the user set for the plugin.
    pub config: Map<String, Value>,
}

/// A plugin that is an image, ready to be called.
///
/// Clones are the same plugin, and share its container. Once the last of them and of its handlers is dropped, so is the
/// container; that waits until it is removed, 10 seconds at most.
#[derive(Clone, Debug)]
pub struct ImagePlugin(Arc<Shared>);

struct Shared {
    // Dropped first: it is removed while the program waits for that.
    live: Mutex<Option<Live>>,
    program: Arc<Program>,
    setup: ImageSetup,
    /// What the user set, as it is written into each call.
    config: Box<RawValue>,
    env: Vec<(String, String)>,
    calls: Arc<HostCalls>,
    numbers: AtomicU64,
}

/// A container that serves.
struct Live {
    container: Container,
    /// What it said and nobody has read yet.
    buffer: Vec<u8>,
}

/// A program in its container, with what answers it.
struct Container {
    spoken: Spoken,
    _host: HostSocket,
}

/// A call, as all points have it.
pub(super) struct Asking<'a> {
    pub(super) handler: &'a str,
    pub(super) envelope: Vec<u8>,
    pub(super) header: &'a CallHeader,
    pub(super) link: &'a Arc<Link>,
    /// Variables that say what the call is for, where each has a process of its own.
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) port: Option<&'a Arc<dyn AgentPort>>,
    pub(super) warn: &'a (dyn Fn(String) + Send + Sync),
    pub(super) cancel: &'a CancellationToken,
    /// Whether a program that is called once has its input kept open for replies.
    pub(super) is_interactive: bool,
}

/// What was answered.
pub(super) enum Replied {
    Fields(Map<String, Value>),
    Text(Vec<u8>),
}

impl ImagePlugin {
    /// Gets an image ready in a project, with the environment, the plan and the containers of `options`, and finds out
    /// whether it can be run: engine, guest and image are there, and containers have their limits. Blocks.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] where it cannot.
    pub fn new(setup: ImageSetup, project_root: &Path, options: &LoadOptions) -> Result<Self, SandboxError> {
        let unusable = |problem: String| SandboxError::Unusable { name: OCI.to_owned(), problem };
        let none = || unusable("the program that loads plugins names no engine for containers".to_owned());
        let parts = ProgramParts {
            containers: options.containers.clone().ok_or_else(none)?,
            image: setup.image.clone(),
            mounts: mounts(&setup.granted, project_root),
            egress: egress(&setup.granted).map_err(unusable)?,
            memory: Memory::parse(MEMORY).map_err(unusable)?,
            pids: PIDS,
        };
        let program = Program::new(parts, project_root);
        program.check()?;
        let readable = setup.granted.targets(Capability::Env);
        let granted = options.env.iter().filter(|(name, _)| covers_variable(readable, name)).cloned();
        let project = ("SAMUEL_PROJECT_ROOT".to_owned(), WORKSPACE.to_owned());
        let kv = KvStore::new(Root::new(project_root), RunDir::new(project_root).plugins().join(&setup.name));
        let calls = HostCalls::new(options.store.clone(), &setup.granted, kv, setup.config.clone());
        Ok(Self(Arc::new(Shared {
            live: Mutex::default(),
            program: Arc::new(program),
            env: granted.chain([project]).collect(),
            config: envelope::encode_config(&setup.config),
            setup,
            calls: Arc::new(calls),
            numbers: AtomicU64::new(1),
        })))
    }

    /// Returns the handler of a name, which is the subcommand of a program that is called once.
    pub fn handler(&self, name: impl Into<String>) -> ImageHandler {
        ImageHandler::new(self.clone(), name.into())
    }

    pub(super) fn setup(&self) -> &ImageSetup {
        &self.0.setup
    }

    pub(super) fn config(&self) -> &RawValue {
        &self.0.config
    }

    /// Returns what somebody should know since it was asked last.
    pub(super) fn notices(&self) -> Vec<String> {
        self.0.program.notices()
    }

    /// Asks the program. Whoever drops this ends the container, where the call is under way in it.
    pub(super) async fn ask(&self, asking: Asking<'_>) -> Result<Replied, HookFailure> {
        match self.0.setup.mode {
            ImageMode::Serve => self.ask_one_that_serves(asking).await,
            ImageMode::Call => self.ask_once(asking).await,
        }
    }

    async fn ask_one_that_serves(&self, asking: Asking<'_>) -> Result<Replied, HookFailure> {
        let mut kept = self.0.live.lock().await;
        let live = kept.take().filter(|live| !live.container.spoken.is_over());
        let mut live = match live {
            Some(live) => live,
            None => {
                let container = self.start(SERVE, Vec::new()).await?;
                Live { container, buffer: Vec::new() }
            }
        };
        let _answered = self.under_way(&asking);
        let number = self.0.numbers.fetch_add(1, Ordering::Relaxed);
        let told = live.ask(&asking, number).await;
        match told {
            Ok(told) => {
                *kept = Some(live);
                told
            }
            Err(BrokenOff::Wrong(failure)) => Err(failure),
            Err(BrokenOff::Ended) => Err(live.container.end_before_answer().await),
        }
    }

    async fn ask_once(&self, asking: Asking<'_>) -> Result<Replied, HookFailure> {
        let text = |(name, value): &(OsString, OsString)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        };
        let env = asking.env.iter().filter_map(text).collect();
        let mut container = self.start(asking.handler, env).await?;
        let _answered = self.under_way(&asking);
        let (heard, problem) = container.ask_once(&asking).await?;
        if let Some(problem) = problem {
            return Err(envelope::bad_output(&problem, &heard));
        }
        match container.spoken.exit_code().await {
            Some(0) => Ok(Replied::Text(heard)),
            code => Err(container.failure(code).await),
        }
    }

    fn under_way(&self, asking: &Asking<'_>) -> UnderWay {
        self.0.calls.begin(&asking.header.handler_id, asking.header.iteration, asking.link)
    }

    /// Starts a container.
    async fn start(&self, argument: &str, more: Vec<(String, String)>) -> Result<Container, HookFailure> {
        let not_started = |error: SandboxError| HookFailure::new(BreakClass::Spawn, error.to_string());
        let token = new_token().map_err(not_started)?;
        let own = [("SAMUEL_SOCKET".to_owned(), host_socket()), ("SAMUEL_TOKEN".to_owned(), token.clone())];
        let start = Start {
            arguments: vec![argument.to_owned()],
            env: more.into_iter().chain(self.0.env.iter().cloned()).chain(own).collect(),
        };
        let mut spoken = self.0.program.start(start).await.map_err(not_started)?;
        let listener = spoken.take_host().ok_or_else(|| HookFailure::new(BreakClass::Spawn, "no socket"))?;
        let host = HostSocket::serve(listener, token, Arc::clone(&self.0.calls))?;
        Ok(Container { spoken, _host: host })
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImagePlugin")
            .field("name", &self.setup.name)
            .field("image", &self.setup.image)
            .finish_non_exhaustive()
    }
}

/// Why a program that serves is not spoken with any more.
enum BrokenOff {
    /// It said what it must not.
    Wrong(HookFailure),
    /// It said nothing more.
    Ended,
}

impl Live {
    /// Asks for one answer; a failure that the program tells is one.
    async fn ask(
        &mut self,
        asking: &Asking<'_>,
        number: u64,
    ) -> Result<Result<Replied, HookFailure>, BrokenOff> {
        match asking.port {
            None => self.ask_for_line(asking, number).await,
            Some(_) => self.ask_for_agent(asking, number).await,
        }
    }

    /// Asks for a line, where the question is all that is said. Most programs answer before anybody else is worth
    /// waking, so this thread waits for a moment; only then the runtime does.
    async fn ask_for_line(
        &mut self,
        asking: &Asking<'_>,
        number: u64,
    ) -> Result<Result<Replied, HookFailure>, BrokenOff> {
        let Self { container, buffer } = self;
        let mut question = numbered(number, &question(asking.handler, &asking.envelope));
        let said = container.spoken.say_at_once(&question, buffer);
        let line = match take_line(buffer, 0) {
            Some(line) => line,
            None => {
                let mut stream = container.spoken.stream().map_err(broken)?;
                let saying = Saying::rest(question.split_off(said));
                let line = Exchange::new(stream.split(), buffer, saying, None).next().await;
                container.spoken.keep(stream).map_err(broken)?;
                line.ok_or(BrokenOff::Ended)?
            }
        };
        match read(&line, number).map_err(BrokenOff::Wrong)? {
            Said::Answer(fields) | Said::Report(fields) => Ok(Ok(Replied::Fields(fields))),
            Said::Failure(failure) => Ok(Err(failure)),
        }
    }

    /// Asks in the agent's place, where reports come before the answer, and replies go behind the question.
    async fn ask_for_agent(
        &mut self,
        asking: &Asking<'_>,
        number: u64,
    ) -> Result<Result<Replied, HookFailure>, BrokenOff> {
        let Self { container, buffer } = self;
        let mut stream = container.spoken.stream().map_err(broken)?;
        let (replies, lines) = mpsc::channel(MAX_WAITING);
        let _ = replies.try_send(question(asking.handler, &asking.envelope));
        let saying = Saying { begun: Vec::new(), lines, number: Some(number), ends: false };
        let told = {
            let mut exchange = Exchange::new(stream.split(), buffer, saying, log_of(asking));
            let mut lines = Numbered::new(&mut exchange, number);
            let spoken = &container.spoken;
            let heard = hear(asking, &mut lines, Some(replies), || spoken.end()).await;
            match (heard, lines.ended) {
                (Heard { answer, problem: Some(problem) }, _) => {
                    return Err(BrokenOff::Wrong(envelope::bad_output(&problem, &answer)));
                }
                (_, Some(failure)) if failure.class == BreakClass::BadOutput => {
                    return Err(BrokenOff::Wrong(failure));
                }
                (_, Some(failure)) => Err(failure),
                (Heard { answer, .. }, None) if answer.is_empty() => return Err(BrokenOff::Ended),
                (Heard { answer, .. }, None) => Ok(Replied::Text(answer)),
            }
        };
        container.spoken.keep(stream).map_err(broken)?;
        Ok(told)
    }
}

fn broken(error: std::io::Error) -> BrokenOff {
    BrokenOff::Wrong(error.into())
}

impl Container {
    /// Gives a program its one envelope, and hears all that it says: that, and what is wrong with it.
    async fn ask_once(&mut self, asking: &Asking<'_>) -> Result<(Vec<u8>, Option<String>), HookFailure> {
        let mut stream = self.spoken.stream()?;
        let mut buffer = Vec::new();
        let (replies, lines) = mpsc::channel(MAX_WAITING);
        let _ = replies.try_send(asking.envelope.clone());
        let replies = (asking.port.is_some() && asking.is_interactive).then_some(replies);
        let saying = Saying { begun: Vec::new(), lines, number: None, ends: true };
        let mut exchange = Exchange::new(stream.split(), &mut buffer, saying, log_of(asking));
        if asking.port.is_none() {
            drop(replies);
            return Ok(match exchange.whole().await {
                Ok(heard) => (heard, None),
                Err((problem, heard)) => (heard, Some(problem)),
            });
        }
        let spoken = &self.spoken;
        let Heard { answer, problem } = hear(asking, &mut exchange, replies, || spoken.end()).await;
        Ok((answer, problem))
    }

    /// Says how a program that serves has ended, before it answered.
    async fn end_before_answer(&mut self) -> HookFailure {
        let code = self.spoken.exit_code().await;
        self.failure(code).await
    }

    /// Says how a program has ended that has not answered.
    async fn failure(&mut self, code: Option<u8>) -> HookFailure {
        let stderr = self.spoken.errors().await;
        let (class, how) = match code {
            None => (BreakClass::Failed, "its container was ended".to_owned()),
            Some(code) if code > BY_SIGNAL => {
                (BreakClass::Signaled, format!("ended by signal {}", code - BY_SIGNAL))
            }
            Some(code) => (BreakClass::Failed, format!("exit code {code}")),
        };
        let message = match class {
            BreakClass::Failed => last_line(&stderr).unwrap_or_else(|| how.clone()),
            _ => how.clone(),
        };
        let mut failure = HookFailure::new(class, message);
        failure.details.push(how);
        let lines: Vec<&str> = stderr.lines().collect();
        let last = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default();
        failure.details.extend(last.iter().map(|line| (*line).to_owned()));
        failure
    }
}

/// Hears out a program in the agent's place.
async fn hear(
    asking: &Asking<'_>,
    lines: &mut impl crate::hook::Lines,
    replies: Option<mpsc::Sender<Vec<u8>>>,
    stop: impl Fn() + Send,
) -> Heard {
    let conversation = Conversation {
        supervisor: &Supervisor::GroupOnly,
        cancel: asking.cancel,
        port: asking.port,
        warn: asking.warn,
        question: Vec::new(),
        replies: None,
        max_answer: envelope::MAX_ANSWER_BYTES,
    };
    conversation.hear(lines, replies, stop).await
}

/// Opens the file in which it is kept what an agent says, where there is one.
fn log_of(asking: &Asking<'_>) -> Option<File> {
    let out = asking.port?.logs()?.out;
    OpenOptions::new().create(true).append(true).mode(0o600).open(out).ok()
}
