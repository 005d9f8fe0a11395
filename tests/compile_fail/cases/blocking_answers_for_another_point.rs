//! A blocking handler answers with its own point's output.

use samuel_hook::{Call, HookFailure, Registry, blocking, payload::AfterLoopOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    let lint = blocking(|_: &Call<points::QualityCheck>| -> Result<AfterLoopOutput, HookFailure> {
        Ok(AfterLoopOutput::default())
    });
    handlers.api::<points::QualityCheck, _>("lint", None, lint);
}
