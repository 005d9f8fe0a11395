//! Session hooks as handlers.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{
    HookType, SessionHook, Variable, hook,
    template::{Template, Values},
};
use crate::{
    dialect::surroundings::Surroundings,
    fs::Root,
    hook::{BreakClass, Call, Handler, HookFailure, Launch, Point, RegistryBuilder, Tier, points},
    model::payload::{
        AfterIterationOutput, BeforeIterationOutput, IterationErrorOutput, SessionEndOutput,
        SessionStartOutput, TaskCompletedOutput, TextItem,
    },
    process::OutputLimits,
    script::{CommandLine, HookCommand, ScriptOutput},
    text::without_odd,
};

/// How much is kept of what a command prints on each stream, for the agent: together with what is
/// said of it less than one text may have.
const LIMITS: OutputLimits = OutputLimits { head: 4 << 10, tail: 10 << 10, line: 1 << 20, spill: 256 << 20 };

/// The namespace of such handlers.
const NAMESPACE: &str = "session";

/// Registers the handler of a hook.
pub(in crate::dialect) fn register(
    hook: &Arc<SessionHook>,
    around: &Arc<Surroundings>,
    registry: &mut RegistryBuilder,
) {
    fn add<P: SessionPoint>(handler: SessionHandler, registry: &mut RegistryBuilder) {
        let entry = Arc::clone(handler.hook.entry());
        registry.hook_file::<P, _>(&handler.hook.id(), NAMESPACE, 0, entry, handler);
    }
    let handler = SessionHandler { hook: Arc::clone(hook), around: Arc::clone(around) };
    match hook.hook_type {
        HookType::SessionStart => add::<points::SessionStart>(handler, registry),
        HookType::PreIteration => add::<points::BeforeIteration>(handler, registry),
        HookType::PostIteration => add::<points::AfterIteration>(handler, registry),
        HookType::SessionEnd => add::<points::SessionEnd>(handler, registry),
        HookType::OnTaskComplete => add::<points::TaskCompleted>(handler, registry),
        HookType::OnError => add::<points::IterationError>(handler, registry),
    }
}

/// A point that session hooks answer at.
trait SessionPoint: Point {
    /// Returns what variables stand for that only this point knows.
    fn values(call: &Call<Self>) -> Vec<(Variable, String)>;

    /// Answers that all is well, with text for the agent.
    fn answer(text: Vec<TextItem>) -> Self::Output;
}

macro_rules! session_points {
    ($($point:ident -> $output:ident { $($field:ident)? }, |$call:pat_param| $values:expr;)+) => {$(
        impl SessionPoint for points::$point {
            fn values($call: &Call<Self>) -> Vec<(Variable, String)> {
                $values
            }

            fn answer(_text: Vec<TextItem>) -> Self::Output {
                $output { $($field: _text,)? ..$output::default() }
            }
        }
    )+};
}

session_points! {
    SessionStart -> SessionStartOutput { text }, |_| Vec::new();
    BeforeIteration -> BeforeIterationOutput { text }, |_| Vec::new();
    AfterIteration -> AfterIterationOutput { text }, |_| Vec::new();
    IterationError -> IterationErrorOutput { text }, |call| vec![(Variable::Error, call.input().error.clone())];
    TaskCompleted -> TaskCompletedOutput { text }, |call| {
        let input = call.input();
        vec![(Variable::TaskId, input.task_id.clone()), (Variable::TaskContent, input.task_content.clone())]
    };
    // The agent is not called any more.
    SessionEnd -> SessionEndOutput {}, |call| {
        let input = call.input();
        let told = |name: &str| {
            let found = input.extensions.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        vec![
            (Variable::ExitReason, input.exit_reason.clone()),
            (Variable::Completed, told("completed")),
            (Variable::CostUsd, told("cost_usd")),
        ]
    };
}

/// A session hook in a project.
#[derive(Clone, Debug)]
struct SessionHandler {
    hook: Arc<SessionHook>,
    around: Arc<Surroundings>,
}

impl SessionHandler {
    /// Describes the command with the values of its variables.
    fn script<P: SessionPoint>(&self, call: &Call<P>) -> Result<HookCommand, HookFailure> {
        let (hook, around, header) = (&*self.hook, &*self.around, call.header());
        let mut values: Values = P::values(call).into_iter().collect();
        values.insert(Variable::Session, header.session.to_string());
        values.insert(Variable::Iteration, header.iteration.to_string());
        if let Some(why) = hook.too_long(&values) {
            return Err(HookFailure::new(BreakClass::Spawn, why));
        }
        let (command, env, stdin) = hook.ready(&values);
        let root = around.root_of(call);
        let cwd = match &hook.cwd {
            None => root.to_owned(),
            Some(cwd) => {
                Root::new(root).check_inside(cwd).map_err(|error| {
                    HookFailure::new(
                        BreakClass::Spawn,
                        format!("cannot run in \"{}\": {error}", cwd.display()),
                    )
                })?;
                root.join(cwd)
            }
        };
        let script = around
            .script(command, cwd, env, call)
            .stdin(stdin)
            .timeout(call.limit(hook.timeout))
            .limits(LIMITS)
            .in_background(hook.background);
        Ok(match &hook.pinned {
            Some(pinned) => script.pinned(Arc::clone(pinned)),
            None => script,
        })
    }

    /// Runs the command, and returns what the agent is told of it.
    async fn run<P: SessionPoint>(&self, call: &Call<P>) -> Result<Option<String>, HookFailure> {
        let ran = match self.script(call) {
            Ok(script) => {
                let script = self.around.spilling(script, self.around.root_of(call));
                let ran = script.run(&self.around.supervisor, call.cancelled()).await;
                ran.inspect(|output| script.tell(call, output))
            }
            Err(failure) => Err(failure),
        };
        let output = match ran {
            Ok(output) => output,
            Err(failure) if failure.class == BreakClass::Cancelled => return Err(failure),
            Err(failure) => {
                call.warn(format!("{}: {failure}", self.place()));
                call.fell_short(&failure);
                return Ok(Some(format!("[not run: {}]", failure.message)));
            }
        };
        if let Some(failure) = output.failure() {
            if failure.class == BreakClass::Cancelled {
                return Err(failure);
            }
            call.fell_short(&failure);
            let status = output.status_line();
            // Where the last line of what it printed says more.
            let said =
                if failure.message == status { String::new() } else { format!(": {}", failure.message) };
            call.warn(format!("{}: {status}{said}", self.place()));
        }
        if let Some(left) = &output.left_running {
            call.warn(format!("{}: the command left {left}", self.place()));
        }
        Ok(told(&output))
    }

    fn place(&self) -> String {
        self.hook.entry().to_string()
    }
}

/// Puts together what the agent reads of a command; nothing where it went well and printed nothing.
fn told(output: &ScriptOutput) -> Option<String> {
    let mut parts = Vec::new();
    let stdout = output.stdout.text();
    if !stdout.trim().is_empty() {
        parts.push(stdout.trim_end().to_owned());
    }
    let stderr = output.stderr.text();
    if !stderr.trim().is_empty() {
        parts.push(format!("[stderr]\n{}", stderr.trim_end()));
    }
    if output.failure().is_some() {
        parts.push(format!("[{}]", output.status_line()));
    }
    (!parts.is_empty()).then(|| without_odd(&parts.join("\n")))
}

#[async_trait]
impl<P: SessionPoint> Handler<P> for SessionHandler {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        // A look ahead starts nothing.
        if call.header().preview {
            return Ok(P::answer(Vec::new()));
        }
        let told = self.run(&call).await?;
        let deliver = self.hook.deliver;
        let text = told.filter(|_| self.hook.pipe_output).map(|content| TextItem { content, deliver });
        Ok(P::answer(text.into_iter().collect()))
    }

    fn tier(&self) -> Tier {
        Tier::Shell
    }

    fn launch(&self, call: &Call<P>) -> Result<Option<Launch>, HookFailure> {
        Ok(Some(self.script(call)?.launch()?))
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.hook.timeout)
    }
}

impl SessionHook {
    /// Says what is too long to be passed with the values of its variables.
    fn too_long(&self, values: &Values) -> Option<String> {
        let variable = |(name, value): &(String, Template)| {
            hook::too_long(&format!("env {name}"), value, &value.fill(values), values)
        };
        self.command.too_long(values).or_else(|| self.env.iter().find_map(variable))
    }

    /// Returns the command with the values of its variables: the command itself, its own
    /// environment variables, and what it reads first.
    fn ready(&self, values: &Values) -> (CommandLine, Vec<(String, String)>, String) {
        let (command, of_values, stdin) = self.command.line(values);
        let env = self.env.iter().map(|(name, value)| (name.clone(), value.fill(values)));
        (command, env.chain(of_values).collect(), stdin)
    }
}
