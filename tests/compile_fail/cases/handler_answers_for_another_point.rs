//! A type answers with the output of the point it is a handler of.

use samuel_hook::{Call, Handler, HookFailure, payload::AfterLoopOutput, points};

struct Lint;

#[async_trait::async_trait]
impl Handler<points::QualityCheck> for Lint {
    async fn call(&self, _: Call<points::QualityCheck>) -> Result<AfterLoopOutput, HookFailure> {
        Ok(AfterLoopOutput::default())
    }
}

fn main() {}
