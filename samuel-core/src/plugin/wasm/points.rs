//! The hook points as functions of a component.
//!
//! A [`WasmPoint`] is a point whose payload crosses the boundary as it is. Code
//! that is given a point as a value gets back to its types with [`visit`].

use wasmtime::component::{Component, Lift, Lower, types::ComponentFunc};

use crate::{
    hook::{HookPoint, Point, points},
    model::payload::{CallHeader, Failure},
};

/// A point that components can handle.
pub(super) trait WasmPoint: Point<Input: Lower, Output: Lift + Lower> {
    /// Whether `run` is given what the handlers before it answered.
    const TAKES_PREVIOUS: bool;
}

/// What `run` is given.
pub(super) type Params<'a, P> = (&'a CallHeader, &'a <P as Point>::Input);
/// What `run` is given at points that pass on what stands.
pub(super) type PreviousParams<'a, P> =
    (&'a CallHeader, &'a <P as Point>::Input, Option<&'a <P as Point>::Output>);
/// What `run` returns.
pub(super) type Returned<P> = (Result<<P as Point>::Output, Failure>,);

/// Something that is done with a point's types.
pub(super) trait Visitor {
    /// What comes of it.
    type Out;

    /// Does it.
    fn visit<P: WasmPoint>(self) -> Self::Out;
}

macro_rules! wasm_points {
    ($($name:ident $takes_previous:literal;)+) => {
        $(impl WasmPoint for points::$name {
            const TAKES_PREVIOUS: bool = $takes_previous;
        })+

        /// Does something with the types of a point.
        pub(super) fn visit<V: Visitor>(point: HookPoint, visitor: V) -> V::Out {
            match point { $(HookPoint::$name => visitor.visit::<points::$name>(),)+ }
        }
    };
}

wasm_points! {
    InitBefore false;
    InitAfter false;
    SyncBefore false;
    SyncAfter false;
    SessionStart false;
    BeforeLoop false;
    BeforeIteration false;
    IterationGate false;
    PromptSubmit false;
    ContextSnapshot true;
    ContextProgress true;
    ContextTask true;
    ContextExtra true;
    BeforeAgentInvoke true;
    AgentInvoke false;
    AfterAgentInvoke false;
    QualityCheck true;
    AfterIteration false;
    IterationError false;
    TaskCompleted false;
    AbilityBefore true;
    AbilityAfter false;
    SessionStop false;
    AfterLoop false;
    SessionEnd false;
}

/// Says how a function differs from a point's; nothing where it does not.
pub(super) fn mismatch(point: HookPoint, component: &Component, function: &ComponentFunc) -> Option<String> {
    struct Compare<'a>(&'a Component, &'a ComponentFunc);

    impl Visitor for Compare<'_> {
        type Out = wasmtime::Result<()>;

        fn visit<P: WasmPoint>(self) -> Self::Out {
            let whole = self.0.component_type();
            let types = whole.instance_type();
            if P::TAKES_PREVIOUS {
                self.1.typecheck::<PreviousParams<'static, P>, Returned<P>>(&types)
            } else {
                self.1.typecheck::<Params<'static, P>, Returned<P>>(&types)
            }
        }
    }

    let error = visit(point, Compare(component, function)).err()?;
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    Some(causes.join(": "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Kind;

    #[test]
    fn points_that_pass_on_what_stands_are_those_dispatch_passes_it_on_at() {
        struct TakesPrevious;

        impl Visitor for TakesPrevious {
            type Out = (HookPoint, bool);

            fn visit<P: WasmPoint>(self) -> Self::Out {
                (P::POINT, P::TAKES_PREVIOUS)
            }
        }

        for point in HookPoint::ALL {
            let passes_on = matches!(point.kind(), Kind::Blob | Kind::List | Kind::Transform);
            assert_eq!(visit(*point, TakesPrevious), (*point, passes_on));
        }
    }
}
