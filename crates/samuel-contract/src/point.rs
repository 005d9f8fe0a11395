//! What a hook point is; which there are is written from `wit/points.toml`.
//!
//! [`HookPoint`] names a point; for each there is a type of the same name in
//! [`points`](crate::points) that implements [`Point`], so that the compiler
//! knows what a handler is given and what it must answer.

use std::{fmt, str::FromStr};

use serde::{Serialize, de::DeserializeOwned};
#[cfg(feature = "wasm")]
use wasmtime::component::{Lift, Lower};

use crate::{Field, HookCall, HookPoint, Output, words};

/// What is handed to components and taken from them as it is.
#[cfg(feature = "wasm")]
pub trait Crosses: Lift + Lower {}
#[cfg(feature = "wasm")]
impl<T: Lift + Lower> Crosses for T {}

/// What components would be handed: without them, anything.
#[cfg(not(feature = "wasm"))]
pub trait Crosses {}
#[cfg(not(feature = "wasm"))]
impl<T> Crosses for T {}

/// A hook point as a type.
///
/// Implemented by the types in [`points`](crate::points) and by nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook point",
    label = "not a hook point",
    note = "use one of the types in `samuel_core::hook::points`, such as `points::QualityCheck`"
)]
pub trait Point: Copy + fmt::Debug + Send + Sync + 'static {
    /// The point's name.
    const POINT: HookPoint;
    /// Whether a handler is given what those before it answered.
    const PREVIOUS: bool;
    /// What a handler is given.
    type Input: Crosses
        + Clone
        + Default
        + fmt::Debug
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;
    /// What a handler answers.
    type Output: Output + Crosses;

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

/// The same for code that has an input as well.
///
/// [`HookCall::visit`] calls it.
pub trait CallVisitor {
    /// What it makes.
    type Out;

    /// Works with the type and the input.
    fn visit<P: Point>(self, input: P::Input) -> Self::Out;
}

words! {
    /// How the outcomes of a point's handlers become one (docs/hooks.md).
    Kind("kind of point") {
        /// Any handler can refuse.
        Gate = "gate",
        /// Handlers watch; what they think is at most a warning.
        Observe = "observe",
        /// Handlers say whether and how the loop goes on.
        Decide = "decide",
        /// Each handler builds on the text the ones before it made.
        Blob = "blob",
        /// What handlers add is concatenated.
        List = "list",
        /// Each handler changes what the next one is given.
        Transform = "transform",
        /// Only the last handler runs.
        Replace = "replace",
    }
}

words! {
    /// What a broken handler does to the run.
    OnFailure("what a broken handler does") {
        /// A warning; the next handler runs.
        Warn = "warn",
        /// The iteration fails.
        AbortIteration = "abort_iteration",
        /// The loop ends.
        AbortLoop = "abort_loop",
        /// The command ends (lifecycle points).
        AbortCommand = "abort_command",
    }
}

impl HookPoint {
    /// Returns the id, such as `before:agent.invoke`.
    pub fn as_str(self) -> &'static str {
        self.row().id
    }

    /// Returns how outcomes become one.
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// Returns what a handler that breaks does where nothing is configured.
    pub fn default_on_failure(self) -> OnFailure {
        self.row().on_failure
    }

    /// Returns the abort that fits the point: the one `strict = true` means.
    pub fn strict(self) -> OnFailure {
        self.row().strict
    }

    /// Says why a chain cannot be kept to the iterations of one mode; nothing
    /// where it can.
    pub fn refuses_mode(self) -> Option<&'static str> {
        self.row().every_mode
    }

    /// Returns an input as JSON, in which every field has a value.
    pub fn sample(self) -> &'static str {
        self.row().sample
    }

    /// Lists what a handler is given beside the call header.
    pub fn input_fields(self) -> &'static [Field] {
        self.row().given
    }

    /// Lists what a handler answers.
    pub fn output_fields(self) -> &'static [Field] {
        self.row().answered
    }
}

impl FromStr for HookPoint {
    type Err = UnknownPoint;

    fn from_str(text: &str) -> Result<Self, UnknownPoint> {
        let known = Self::ALL.iter().find(|point| point.as_str() == text);
        known.copied().ok_or_else(|| UnknownPoint::new(text))
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
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), nearest: None }.without(&[])
    }

    /// Suggests none of the points that cannot be meant, because they stand beside
    /// the name.
    pub fn without(self, taken: &[&str]) -> Self {
        let free = HookPoint::ALL.iter().map(|point| point.as_str()).filter(|point| !taken.contains(point));
        let nearest = nearest(&self.name, free).and_then(|id| id.parse().ok());
        Self { nearest, ..self }
    }
}

/// Returns the candidate that is most like a name, if one is like it at all.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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
    use crate::{payload::*, points};

    #[test]
    fn every_point_reads_back_from_its_id() {
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
        points::BeforeAgentInvoke::apply(&mut input, &output);
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
        points::BeforeAgentInvoke::apply(&mut input, &BeforeAgentInvokeOutput { env, ..Default::default() });
        assert_eq!(input.env, [pair("A", "5"), pair("C", "3"), pair("D", "4")]);
        assert_eq!(input.env_names, ["A", "C", "D"]);
    }
}
