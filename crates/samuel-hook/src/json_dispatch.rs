//! Dispatch for whoever has a point's input as JSON and wants its output so.

use std::pin::Pin;

use serde_json::Value;

use super::{CallScope, Dispatched, HookFailure, HookPoint, Launch, Point, PointVisitor, Registry};

impl Registry {
    /// Runs the handlers of a point as [`dispatch`](Self::dispatch) does.
    ///
    /// # Errors
    /// Returns the deserializer's error where the input is not the point's.
    pub async fn dispatch_json(
        &self,
        point: HookPoint,
        input: Value,
        scope: &CallScope,
    ) -> Result<Dispatched<Value>, serde_json::Error> {
        point.visit(Dispatching { registry: self, input, scope }).await
    }

    /// Returns what a handler of a point starts, as [`launch`](Self::launch) does.
    ///
    /// # Errors
    /// Returns a [`HookFailure`] where the input is not the point's, or the command cannot be
    /// made.
    pub fn launch_json(
        &self,
        point: HookPoint,
        id: &str,
        input: Value,
        scope: &CallScope,
    ) -> Result<Option<Launch>, HookFailure> {
        point.visit(Launching { registry: self, id, input, scope })
    }
}

struct Dispatching<'a> {
    registry: &'a Registry,
    input: Value,
    scope: &'a CallScope,
}

impl<'a> PointVisitor for Dispatching<'a> {
    type Out = Pin<Box<dyn Future<Output = Result<Dispatched<Value>, serde_json::Error>> + Send + 'a>>;

    fn visit<P: Point>(self) -> Self::Out {
        Box::pin(async move {
            let input = serde_json::from_value(self.input)?;
            let Dispatched { output, outcome, scratch, context, calls } =
                self.registry.dispatch::<P>(input, self.scope).await;
            Ok(Dispatched { output: serde_json::to_value(output)?, outcome, scratch, context, calls })
        })
    }
}

struct Launching<'a> {
    registry: &'a Registry,
    id: &'a str,
    input: Value,
    scope: &'a CallScope,
}

impl PointVisitor for Launching<'_> {
    type Out = Result<Option<Launch>, HookFailure>;

    fn visit<P: Point>(self) -> Self::Out {
        self.registry.launch::<P>(self.id, serde_json::from_value(self.input)?, self.scope)
    }
}
