//! A blocking handler answers with its own point's output.

use samuel_core::{
    hook::{Call, HookFailure, Registry, blocking, points},
    model::payload::AfterLoopOutput,
};

fn main() {
    let mut handlers = Registry::builder();
    let lint = blocking(|_: &Call<points::QualityCheck>| -> Result<AfterLoopOutput, HookFailure> {
        Ok(AfterLoopOutput::default())
    });
    handlers.api::<points::QualityCheck, _>("lint", None, lint);
}
