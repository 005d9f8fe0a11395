//! A blocking handler is registered at the point it is made for.

use samuel_hook::{Call, Registry, blocking, payload::AfterLoopOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    let summary = blocking(|_: &Call<points::AfterLoop>| Ok(AfterLoopOutput::default()));
    handlers.api::<points::QualityCheck, _>("summary", None, summary);
}
