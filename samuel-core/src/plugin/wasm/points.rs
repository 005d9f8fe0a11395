//! The hook points as functions of a component.
//!
//! The payload of a point crosses the boundary as it is.

use wasmtime::component::{Component, types::ComponentFunc};

use crate::{
    hook::{HookPoint, Point, PointVisitor},
    model::payload::{CallHeader, Failure},
};

/// What `run` is given.
pub(super) type Params<'a, P> = (&'a CallHeader, &'a <P as Point>::Input);
/// What `run` is given at points that pass on what stands.
pub(super) type PreviousParams<'a, P> =
    (&'a CallHeader, &'a <P as Point>::Input, Option<&'a <P as Point>::Output>);
/// What `run` returns.
pub(super) type Returned<P> = (Result<<P as Point>::Output, Failure>,);

/// Says how a function differs from a point's; nothing where it does not.
pub(super) fn mismatch(point: HookPoint, component: &Component, function: &ComponentFunc) -> Option<String> {
    struct Compare<'a>(&'a Component, &'a ComponentFunc);

    impl PointVisitor for Compare<'_> {
        type Out = wasmtime::Result<()>;

        fn visit<P: Point>(self) -> Self::Out {
            let whole = self.0.component_type();
            let types = whole.instance_type();
            if P::PREVIOUS {
                self.1.typecheck::<PreviousParams<'static, P>, Returned<P>>(&types)
            } else {
                self.1.typecheck::<Params<'static, P>, Returned<P>>(&types)
            }
        }
    }

    let error = point.visit(Compare(component, function)).err()?;
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    Some(causes.join(": "))
}
