//! Repository hooks as handlers.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize as _;
use serde_json::Value;

use super::{Builtin, EventType, RepositoryHook, builtin, context, hook::Action, matching::Facts, result};
use crate::{
    clock::Clock,
    dialect::surroundings::Surroundings,
    fs::Root,
    hook::{BreakClass, Call, Handler, HookFailure, Launch, Point, RegistryBuilder, Tier, points},
    model::payload::{
        AbilityAfterInput, AbilityAfterOutput, AbilityBeforeOutput, HookResults, PromptSubmitOutput,
        SessionEndOutput, SessionStartOutput, SessionStopOutput,
    },
    model::run_blocking,
    process::OutputLimits,
    script::{CommandLine, HookCommand},
};

/// How much is kept of what a command prints on each stream: a whole result, and the end of what it
/// says beside it.
const LIMITS: OutputLimits =
    OutputLimits { head: result::MAX_BYTES, tail: 16 << 10, line: 1 << 20, spill: 256 << 20 };
/// The namespace of such handlers.
const NAMESPACE: &str = "repo";
/// The place of their files among those of a project, after that of session hooks.
const SOURCE: u32 = 1;

/// Registers the handler of a hook.
pub(in crate::dialect) fn register(
    hook: &Arc<RepositoryHook>,
    around: &Arc<Surroundings>,
    clock: &Arc<dyn Clock>,
    registry: &mut RegistryBuilder,
) {
    fn add<P: RepositoryPoint>(
        handler: impl Handler<P> + 'static,
        hook: &RepositoryHook,
        registry: &mut RegistryBuilder,
    ) {
        let entry = Arc::clone(&hook.entry);
        registry.hook_file::<P, _>(&hook.handler_id(), NAMESPACE, SOURCE, entry, handler);
    }
    let command = match &hook.action {
        Action::Script(command) => command.clone(),
        Action::Builtin(builtin) => {
            let (hook, builtin, clock) = (Arc::clone(hook), builtin.clone(), Arc::clone(clock));
            let root = Root::new(&around.project_root);
            let handler = BuiltinHandler { hook: Arc::clone(&hook), builtin, root, clock };
            return add::<points::AbilityAfter>(handler, &hook, registry);
        }
    };
    let handler = ScriptHandler { hook: Arc::clone(hook), command, around: Arc::clone(around) };
    match hook.event_type {
        EventType::PromptSubmit => add::<points::PromptSubmit>(handler, hook, registry),
        EventType::PreAbilityCall => add::<points::AbilityBefore>(handler, hook, registry),
        EventType::PostAbilityCall => add::<points::AbilityAfter>(handler, hook, registry),
        EventType::SessionStart => add::<points::SessionStart>(handler, hook, registry),
        EventType::SessionEnd => add::<points::SessionEnd>(handler, hook, registry),
        EventType::SessionStop => add::<points::SessionStop>(handler, hook, registry),
    }
}

/// Says whether the input of its point, as JSON, is an event that a hook is for.
pub(super) fn is_for(hook: &RepositoryHook, input: &Value) -> bool {
    fn matches<P: RepositoryPoint>(hook: &RepositoryHook, input: &Value) -> bool {
        let input = P::Input::deserialize(input);
        input.is_ok_and(|input| hook.matching.matches(hook.event_type, &P::facts(&input)))
    }
    match hook.event_type {
        EventType::PromptSubmit => matches::<points::PromptSubmit>(hook, input),
        EventType::PreAbilityCall => matches::<points::AbilityBefore>(hook, input),
        EventType::PostAbilityCall => matches::<points::AbilityAfter>(hook, input),
        EventType::SessionStart => matches::<points::SessionStart>(hook, input),
        EventType::SessionEnd => matches::<points::SessionEnd>(hook, input),
        EventType::SessionStop => matches::<points::SessionStop>(hook, input),
    }
}

/// A point that repository hooks answer at.
trait RepositoryPoint: Point {
    /// Returns what the conditions of hooks are about.
    fn facts(input: &Self::Input) -> Facts<'_>;

    /// Answers with a result; with a reason, it stops what the point is about.
    fn answer(results: HookResults, block: Option<String>) -> Self::Output;
}

macro_rules! blocking_points {
    ($($point:ident -> $output:ident, |$input:pat_param| $facts:expr;)+) => {$(
        impl RepositoryPoint for points::$point {
            fn facts($input: &Self::Input) -> Facts<'_> {
                $facts
            }

            fn answer(results: HookResults, reason: Option<String>) -> Self::Output {
                $output { block: reason.is_some(), reason, results, ..$output::default() }
            }
        }
    )+};
}

blocking_points! {
    PromptSubmit -> PromptSubmitOutput, |_| Facts::default();
    AbilityBefore -> AbilityBeforeOutput, |input| {
        Facts { ability_id: Some(&input.ability_id), ..Facts::default() }
    };
    SessionStop -> SessionStopOutput, |input| {
        Facts { changed_files: input.changed_files.as_deref(), ..Facts::default() }
    };
}

impl RepositoryPoint for points::AbilityAfter {
    fn facts(input: &AbilityAfterInput) -> Facts<'_> {
        Facts {
            ability_id: Some(&input.ability_id),
            duration_ms: input.duration_ms,
            changed_files: input.changed_files.as_deref(),
        }
    }

    fn answer(results: HookResults, _: Option<String>) -> AbilityAfterOutput {
        AbilityAfterOutput { results, ..AbilityAfterOutput::default() }
    }
}

impl RepositoryPoint for points::SessionStart {
    fn facts(_: &Self::Input) -> Facts<'_> {
        Facts::default()
    }

    fn answer(results: HookResults, _: Option<String>) -> SessionStartOutput {
        SessionStartOutput { results, ..SessionStartOutput::default() }
    }
}

/// The session is over: nobody reads results any more.
impl RepositoryPoint for points::SessionEnd {
    fn facts(_: &Self::Input) -> Facts<'_> {
        Facts::default()
    }

    fn answer(_: HookResults, _: Option<String>) -> SessionEndOutput {
        SessionEndOutput::default()
    }
}

/// A repository hook that starts a command.
#[derive(Clone, Debug)]
struct ScriptHandler {
    hook: Arc<RepositoryHook>,
    command: CommandLine,
    around: Arc<Surroundings>,
}

impl ScriptHandler {
    fn script<P: RepositoryPoint>(&self, call: &Call<P>) -> Result<HookCommand, HookFailure> {
        let (hook, around) = (&*self.hook, &*self.around);
        let script = around
            .script(self.command.clone(), around.root_of(call).to_owned(), Vec::new(), call)
            .stdin(context::encode(call, hook.event_type)?)
            .timeout(call.limit(hook.timeout))
            .limits(LIMITS);
        Ok(match &hook.pinned {
            Some(pinned) => script.pinned(Arc::clone(pinned)),
            None => script,
        })
    }

    /// Runs the command, and returns its result.
    async fn run<P: RepositoryPoint>(&self, call: &Call<P>) -> Result<HookResults, HookFailure> {
        let script = self.around.spilling(self.script(call)?, self.around.root_of(call));
        let output = script.run(&self.around.supervisor, call.cancelled()).await?;
        script.tell(call, &output);
        if let Some(left) = &output.left_running {
            call.warn(format!("{}: the command left {left}", self.hook.entry));
        }
        match output.failure() {
            Some(failure) => Err(failure),
            None => result::of_output(&self.hook.id, &output),
        }
    }

    /// Makes the answer of a result.
    fn answer<P: RepositoryPoint>(&self, call: &Call<P>, mut results: HookResults) -> P::Output {
        let hook = &*self.hook;
        if results.block_execution && !hook.blocking {
            let why = match hook.event_type.can_block() {
                true => "without blocking: true".to_owned(),
                false => format!("at {}, where nothing can be stopped", hook.event_type.as_str()),
            };
            call.warn(format!("{}: block_execution has no effect {why}", hook.entry));
            results.block_execution = false;
        }
        if hook.event_type == EventType::SessionEnd {
            // Nobody is told of results any more.
            results.logs.drain(..).for_each(|line| call.log(line));
            results.messages_to_user.drain(..).for_each(|message| call.warn(message));
        }
        let reason = results.block_execution.then(|| match results.messages_to_user.join("\n") {
            said if said.trim().is_empty() => format!("{} blocks it and gives no reason", hook.handler_id()),
            said => said,
        });
        P::answer(results, reason)
    }

    /// Stops what the hook is asked about, because nobody knows what it would have said.
    fn broke<P: RepositoryPoint>(&self, call: &Call<P>, failure: &HookFailure) -> P::Output {
        let said = format!("hook broke: {}: {failure}", self.hook.handler_id());
        call.warn(format!("{}: {said}", self.hook.entry));
        call.fell_short(failure);
        P::answer(HookResults { block_execution: true, ..HookResults::default() }, Some(said))
    }
}

#[async_trait]
impl<P: RepositoryPoint> Handler<P> for ScriptHandler {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        if stands_aside(&self.hook, &call) {
            return Ok(P::Output::default());
        }
        match self.run(&call).await {
            Ok(results) => Ok(self.answer(&call, results)),
            Err(failure) if failure.class == BreakClass::Cancelled || !self.hook.blocking => Err(failure),
            Err(failure) => Ok(self.broke(&call, &failure)),
        }
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

/// Says whether a hook is not asked: the call is none of those that it is for, or a look ahead.
fn stands_aside<P: RepositoryPoint>(hook: &RepositoryHook, call: &Call<P>) -> bool {
    if call.header().preview {
        return true;
    }
    let facts = P::facts(call.input());
    let matches = hook.matching.matches(hook.event_type, &facts);
    if !matches {
        call.does_not_apply();
    }
    let is_unknown = hook.matching.only_if_changed_paths.is_some() && facts.changed_files.is_none();
    // Of most calls of abilities it is unknown.
    if matches && is_unknown && hook.event_type == EventType::SessionStop {
        call.warn(format!("{}: which files were changed is not known, so it runs", hook.entry));
    }
    !matches
}

/// A repository hook that is built in.
#[derive(Clone, Debug)]
struct BuiltinHandler {
    hook: Arc<RepositoryHook>,
    builtin: Builtin,
    root: Root,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Handler<points::AbilityAfter> for BuiltinHandler {
    async fn call(&self, call: Call<points::AbilityAfter>) -> Result<AbilityAfterOutput, HookFailure> {
        if stands_aside(&self.hook, &call) {
            return Ok(AbilityAfterOutput::default());
        }
        let Self { hook, builtin, root, clock } = self.clone();
        let write = move || {
            let call = builtin::AbilityCall::of(&call, clock.now());
            builtin.write(&root, &call, hook.matching.min_duration_ms)
        };
        let written = run_blocking(write).await;
        let results = written.map_err(|error| HookFailure::new(BreakClass::Failed, error.to_string()))??;
        Ok(points::AbilityAfter::answer(results, None))
    }

    fn tier(&self) -> Tier {
        Tier::Blocking
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.hook.timeout)
    }
}
