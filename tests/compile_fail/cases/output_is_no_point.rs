//! A handler is registered at a point, not at its output.

use samuel_core::{
    hook::{Call, Registry, points},
    model::payload::QualityCheckOutput,
};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<QualityCheckOutput, _>("lint", None, async |_: Call<points::QualityCheck>| {
        Ok(QualityCheckOutput::default())
    });
}
