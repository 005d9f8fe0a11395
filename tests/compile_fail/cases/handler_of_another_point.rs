//! A handler is registered at the point it is made for.

use samuel_hook::{Call, Handler, HookFailure, Registry, payload::AfterLoopOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("summary", None, Summary);
}

struct Summary;

#[async_trait::async_trait]
impl Handler<points::AfterLoop> for Summary {
    async fn call(&self, _: Call<points::AfterLoop>) -> Result<AfterLoopOutput, HookFailure> {
        Ok(AfterLoopOutput::default())
    }
}
