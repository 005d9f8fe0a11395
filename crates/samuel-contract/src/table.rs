//! What is made of the table of the points.

use crate::{Field, Kind, OnFailure};

/// What is known of a point; its methods say what each part means.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) kind: Kind,
    pub(crate) on_failure: OnFailure,
    pub(crate) strict: OnFailure,
    pub(crate) every_mode: Option<&'static str>,
    pub(crate) sample: &'static str,
    pub(crate) given: &'static [Field],
    pub(crate) answered: &'static [Field],
}

/// Makes the enum of the points, their inputs as one type, and a type for each.
macro_rules! points {
    ($(
        $(#[$docs:meta])*
        $point:ident($input:ident) -> $output:ident {
            id: $id:literal,
            kind: $kind:ident,
            on_failure: $on_failure:ident,
            strict: $strict:ident,
            every_mode: $every_mode:expr,
            previous: $previous:literal,
            sample: $sample:literal,
            given: [$(($given:literal, $given_holds:literal, $given_required:literal),)*],
            answered: [$(($answered:literal, $answered_holds:literal, $answered_required:literal),)*],
            $(apply($from:ident, $to:ident) $apply:block)?
        }
    )+) => {
        /// A named step of the loop or of a lifecycle command that handlers
        /// attach to (docs/hooks.md).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum HookPoint {
            $($(#[$docs])* #[serde(rename = $id)] $point,)+
        }

        impl HookPoint {
            /// Every point, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$point),+];

            pub(crate) fn row(self) -> &'static Row {
                match self {
                    $(Self::$point => &const {
                        Row {
                            id: $id,
                            kind: Kind::$kind,
                            on_failure: OnFailure::$on_failure,
                            strict: OnFailure::$strict,
                            every_mode: $every_mode,
                            sample: $sample,
                            given: &[$(field($given, $given_holds, $given_required)),*],
                            answered: &[$(field($answered, $answered_holds, $answered_required)),*],
                        }
                    },)+
                }
            }

            /// Calls a visitor with the point as a type.
            pub fn visit<V: PointVisitor>(self, visitor: V) -> V::Out {
                match self {
                    $(Self::$point => visitor.visit::<types::$point>(),)+
                }
            }
        }

        /// What any point's handlers are given.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "point", content = "input")]
        #[expect(missing_docs, reason = "the cases are the points")]
        pub enum HookCall {
            $(#[serde(rename = $id)] $point($input),)+
        }

        impl HookCall {
            /// Returns the point.
            pub fn point(&self) -> HookPoint {
                match self {
                    $(Self::$point(_) => HookPoint::$point,)+
                }
            }

            /// Calls a visitor with the point as a type, and its input.
            pub fn visit<V: CallVisitor>(self, visitor: V) -> V::Out {
                match self {
                    $(Self::$point(input) => visitor.visit::<types::$point>(input),)+
                }
            }
        }

        /// The hook points as types.
        pub mod types {
            use super::*;

            $(
                $(#[$docs])*
                #[derive(Clone, Copy, Debug)]
                pub struct $point;

                impl Point for $point {
                    const POINT: HookPoint = HookPoint::$point;
                    const PREVIOUS: bool = $previous;
                    type Input = $input;
                    type Output = $output;

                    $(fn apply($to: &mut $input, $from: &$output) $apply)?

                    fn wrap(input: $input) -> HookCall {
                        HookCall::$point(input)
                    }
                }
            )+
        }
    };
}

pub(crate) use points;
