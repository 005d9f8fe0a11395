//! A handler answers with its own point's output.

use samuel_hook::{Call, Registry, payload::AfterLoopOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, async |_: Call<points::QualityCheck>| {
        Ok(AfterLoopOutput::default())
    });
}
