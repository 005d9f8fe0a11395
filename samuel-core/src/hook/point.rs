//! The hook points, and the types that go with each of them.
//!
//! [`HookPoint`] names a point; for each there is a type of the same name in
//! [`points`](super::points) that implements [`Point`], so that the compiler
//! knows what a handler is given and what it must answer.

use std::{collections::HashMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Field, OnFailure, Output};
use crate::model::payload::*;

/// A hook point as a type.
///
/// Implemented by the types in [`points`](super::points) and by nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook point",
    label = "not a hook point",
    note = "use one of the types in `samuel_core::hook::points`, such as `points::QualityCheck`"
)]
pub trait Point: Copy + fmt::Debug + Send + Sync + 'static {
    /// The point's name.
    const POINT: HookPoint;
    /// What a handler is given.
    type Input: Clone
        + Default
        + fmt::Debug
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;
    /// What a handler answers.
    type Output: Output;

    /// Applies what a handler changed to what the next one is given. Only
    /// transforms change anything.
    fn apply(_input: &mut Self::Input, _output: &Self::Output) {}

    /// Wraps an input, for code that treats all points alike.
    fn wrap(input: Self::Input) -> HookCall;
}

/// Code that treats all points alike and needs the type of one.
///
/// [`HookPoint::visit`] calls it.
pub trait PointVisitor {
    /// What it makes.
    type Out;

    /// Works with the type.
    fn visit<P: Point>(self) -> Self::Out;
}

/// How the outcomes of a point's handlers become one (docs/hooks.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Any handler can refuse.
    Gate,
    /// Handlers watch; what they think is at most a warning.
    Observe,
    /// Handlers say whether and how the loop goes on.
    Decide,
    /// Each handler builds on the text the ones before it made.
    Blob,
    /// What handlers add is concatenated.
    List,
    /// Each handler changes what the next one is given.
    Transform,
    /// Only the last handler runs.
    Replace,
}

impl Kind {
    /// Returns the word that listings use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Observe => "observe",
            Self::Decide => "decide",
            Self::Blob => "blob",
            Self::List => "list",
            Self::Transform => "transform",
            Self::Replace => "replace",
        }
    }
}

/// Defines the points: the enum, a type for each and the input of any.
macro_rules! points {
    ($($(#[$doc:meta])* $name:ident $id:literal $kind:ident $failure:ident $input:ident $output:ident $(apply $apply:path)?;)+) => {
        /// A named step of the loop or of a lifecycle command that handlers
        /// attach to (seed 001).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum HookPoint {
            $($(#[$doc])* #[serde(rename = $id)] $name,)+
        }

        impl HookPoint {
            /// Every point, in the order of the contract.
            pub const ALL: &[HookPoint] = &[$(HookPoint::$name),+];

            /// Returns the id, such as `before:agent.invoke`.
            pub fn as_str(self) -> &'static str {
                match self { $(HookPoint::$name => $id,)+ }
            }

            /// Returns how outcomes become one.
            pub fn kind(self) -> Kind {
                match self { $(HookPoint::$name => Kind::$kind,)+ }
            }

            /// Returns what a handler that breaks does where nothing is
            /// configured.
            pub fn default_on_failure(self) -> OnFailure {
                match self { $(HookPoint::$name => OnFailure::$failure,)+ }
            }

            /// Lists what a handler is given beside the call header.
            pub fn input_fields(self) -> Vec<Field> {
                match self { $(HookPoint::$name => Field::of::<$input>(),)+ }
            }

            /// Lists what a handler answers.
            pub fn output_fields(self) -> Vec<Field> {
                match self { $(HookPoint::$name => Field::of::<$output>(),)+ }
            }
        }

        impl HookPoint {
            /// Calls a visitor with the point as a type.
            pub fn visit<V: PointVisitor>(self, visitor: V) -> V::Out {
                match self { $(HookPoint::$name => visitor.visit::<types::$name>(),)+ }
            }
        }

        impl FromStr for HookPoint {
            type Err = UnknownPoint;

            fn from_str(text: &str) -> Result<Self, UnknownPoint> {
                match text {
                    $($id => Ok(HookPoint::$name),)+
                    _ => Err(UnknownPoint::new(text)),
                }
            }
        }

        /// What any point's handlers are given.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "point", content = "input")]
        #[expect(missing_docs, reason = "the cases are the points")]
        pub enum HookCall {
            $(#[serde(rename = $id)] $name($input),)+
        }

        impl HookCall {
            /// Returns the point.
            pub fn point(&self) -> HookPoint {
                match self { $(HookCall::$name(_) => HookPoint::$name,)+ }
            }
        }

        /// The hook points as types.
        pub mod types {
            use super::*;
            $(
                $(#[$doc])*
                #[derive(Clone, Copy, Debug)]
                pub struct $name;

                impl Point for $name {
                    const POINT: HookPoint = HookPoint::$name;
                    type Input = $input;
                    type Output = $output;

                    $(fn apply(input: &mut $input, output: &$output) { $apply(input, output); })?

                    fn wrap(input: $input) -> HookCall { HookCall::$name(input) }
                }
            )+
        }
    };
}

points! {
    /// Before `samuel init` writes anything.
    InitBefore "init.before" Gate AbortCommand InitBeforeInput InitBeforeOutput;
    /// After `samuel init` has written.
    InitAfter "init.after" Observe Warn InitAfterInput InitAfterOutput;
    /// Before `samuel sync` writes anything.
    SyncBefore "sync.before" Gate AbortCommand SyncBeforeInput SyncBeforeOutput;
    /// After `samuel sync` has written.
    SyncAfter "sync.after" Observe Warn SyncAfterInput SyncAfterOutput;
    /// Once, before the loop.
    SessionStart "session.start" Observe Warn SessionStartInput SessionStartOutput;
    /// Once, before the first iteration.
    BeforeLoop "before:loop" Gate AbortLoop BeforeLoopInput BeforeLoopOutput;
    /// At the start of each iteration.
    BeforeIteration "before:iteration" Gate Warn BeforeIterationInput BeforeIterationOutput;
    /// Says whether the loop goes on, and in which mode.
    IterationGate "iteration.gate" Decide Warn IterationGateInput IterationGateOutput;
    /// Before a prompt is put together.
    PromptSubmit "prompt.submit" Gate Warn PromptSubmitInput PromptSubmitOutput;
    /// What the agent is told of the project.
    ContextSnapshot "context.snapshot" Blob Warn ContextSnapshotInput ContextSnapshotOutput;
    /// What the agent is told of earlier work.
    ContextProgress "context.progress" Blob Warn ContextProgressInput ContextProgressOutput;
    /// What the agent is told of its task.
    ContextTask "context.task" Blob Warn ContextTaskInput ContextTaskOutput;
    /// Further sections of the prompt.
    ContextExtra "context.extra" List Warn ContextExtraInput ContextExtraOutput;
    /// What the agent is called with.
    BeforeAgentInvoke "before:agent.invoke" Transform AbortIteration BeforeAgentInvokeInput BeforeAgentInvokeOutput
        apply apply_before_agent_invoke;
    /// The agent itself.
    AgentInvoke "agent.invoke" Replace AbortIteration AgentInvokeInput AgentInvokeOutput;
    /// After each agent call.
    AfterAgentInvoke "after:agent.invoke" Observe Warn AfterAgentInvokeInput AfterAgentInvokeOutput;
    /// Whether the work holds.
    QualityCheck "quality.check" List AbortIteration QualityCheckInput QualityCheckOutput;
    /// After each iteration.
    AfterIteration "after:iteration" Observe Warn AfterIterationInput AfterIterationOutput;
    /// When an iteration failed.
    IterationError "iteration.error" Observe Warn IterationErrorInput IterationErrorOutput;
    /// Once for each completion of a task.
    TaskCompleted "task.completed" Observe Warn TaskCompletedInput TaskCompletedOutput;
    /// Before each tool call of the agent.
    AbilityBefore "ability.before" Transform Warn AbilityBeforeInput AbilityBeforeOutput
        apply apply_ability_before;
    /// After each tool call of the agent.
    AbilityAfter "ability.after" Observe Warn AbilityAfterInput AbilityAfterOutput;
    /// When the loop is about to end.
    SessionStop "session.stop" Gate Warn SessionStopInput SessionStopOutput;
    /// Once, after the last iteration.
    AfterLoop "after:loop" Observe Warn AfterLoopInput AfterLoopOutput;
    /// The last point of a run.
    SessionEnd "session.end" Observe Warn SessionEndInput SessionEndOutput;
}

impl HookPoint {
    /// Says why a chain cannot be kept to the iterations of one mode; nothing
    /// where it can.
    pub fn refuses_mode(self) -> Option<&'static str> {
        match self {
            Self::BeforeIteration | Self::IterationGate => {
                Some("it fires before the mode of an iteration is decided")
            }
            Self::BeforeAgentInvoke | Self::AgentInvoke => {
                Some("in iterations of the other mode no agent could be called")
            }
            Self::InitBefore
            | Self::InitAfter
            | Self::SyncBefore
            | Self::SyncAfter
            | Self::SessionStart
            | Self::BeforeLoop
            | Self::SessionStop
            | Self::AfterLoop
            | Self::SessionEnd => Some("it fires outside of iterations"),
            _ => None,
        }
    }
}

fn apply_before_agent_invoke(input: &mut BeforeAgentInvokeInput, output: &BeforeAgentInvokeOutput) {
    let changed = output.clone();
    input.agent = changed.agent.unwrap_or_else(|| std::mem::take(&mut input.agent));
    input.prompt = changed.prompt.unwrap_or_else(|| std::mem::take(&mut input.prompt));
    input.sandbox = changed.sandbox.unwrap_or_else(|| std::mem::take(&mut input.sandbox));
    if !changed.env.is_empty() {
        apply_env(&mut input.env, changed.env);
        input.env_names = input.env.iter().map(|(name, _)| name.clone()).collect();
    }
}

/// Sets variables and takes others away. What stays keeps its place; what was
/// taken away and is set again is a new one.
fn apply_env(env: &mut Vec<(String, String)>, changes: Vec<(String, Option<String>)>) {
    let mut places: HashMap<String, usize> =
        env.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
    let mut values: Vec<(String, Option<String>)> =
        std::mem::take(env).into_iter().map(|(name, value)| (name, Some(value))).collect();
    for (name, value) in changes {
        match places.get(&name).and_then(|place| values.get_mut(*place)) {
            Some(known) if known.1.is_some() => known.1 = value,
            _ => {
                places.insert(name.clone(), values.len());
                values.push((name, value));
            }
        }
    }
    env.extend(values.into_iter().filter_map(|(name, value)| Some((name, value?))));
}

fn apply_ability_before(input: &mut AbilityBeforeInput, output: &AbilityBeforeOutput) {
    if let Some(updated) = &output.updated_input {
        input.input.clone_from(updated);
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is no hook point's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown hook point \"{name}\"")]
pub struct UnknownPoint {
    /// The name as it was given.
    pub name: String,
    /// The nearest point, where one is near.
    pub nearest: Option<HookPoint>,
}

impl UnknownPoint {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), nearest: None }.without(&[])
    }

    /// Suggests none of the points that cannot be meant, because they stand beside
    /// the name.
    pub(crate) fn without(self, taken: &[&str]) -> Self {
        let free = HookPoint::ALL.iter().map(|point| point.as_str()).filter(|point| !taken.contains(point));
        let nearest = nearest(&self.name, free).and_then(|id| id.parse().ok());
        Self { nearest, ..self }
    }
}

/// Returns the candidate that is most like a name, if one is like it at all.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_25_points_and_each_reads_back_from_its_id() {
        assert_eq!(HookPoint::ALL.len(), 25);
        for point in HookPoint::ALL {
            assert_eq!(point.as_str().parse::<HookPoint>().as_ref(), Ok(point));
        }
    }

    #[test]
    fn an_unknown_point_is_refused_with_the_nearest_one() {
        let error = "quality.chek".parse::<HookPoint>().err();
        assert_eq!(error.and_then(|e| e.nearest), Some(HookPoint::QualityCheck));
        let error = "zzz".parse::<HookPoint>().err();
        assert_eq!(error.and_then(|e| e.nearest), None);
    }

    #[test]
    fn a_transform_changes_only_what_it_names() {
        let mut input =
            BeforeAgentInvokeInput { agent: "claude".into(), prompt: "a".into(), ..Default::default() };
        let output = BeforeAgentInvokeOutput { prompt: Some("b".into()), ..Default::default() };
        types::BeforeAgentInvoke::apply(&mut input, &output);
        assert_eq!((input.agent.as_str(), input.prompt.as_str()), ("claude", "b"));
    }

    #[test]
    fn variables_are_set_and_taken_away_one_by_one() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let change = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let mut input = BeforeAgentInvokeInput {
            env: vec![pair("A", "1"), pair("B", "2"), pair("C", "3")],
            ..Default::default()
        };
        let env = vec![change("B", None), change("D", Some("4")), change("A", Some("5")), change("X", None)];
        types::BeforeAgentInvoke::apply(&mut input, &BeforeAgentInvokeOutput { env, ..Default::default() });
        assert_eq!(input.env, [pair("A", "5"), pair("C", "3"), pair("D", "4")]);
        assert_eq!(input.env_names, ["A", "C", "D"]);
    }
}
