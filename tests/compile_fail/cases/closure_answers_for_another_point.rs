//! A handler answers with its own point's output.

use samuel_core::{
    hook::{Call, Registry, points},
    model::payload::AfterLoopOutput,
};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, async |_: Call<points::QualityCheck>| {
        Ok(AfterLoopOutput::default())
    });
}
