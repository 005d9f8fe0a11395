//! A handler is registered at a point, not at its output.

use samuel_hook::{Call, Registry, payload::QualityCheckOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<QualityCheckOutput, _>("lint", None, async |_: Call<points::QualityCheck>| {
        Ok(QualityCheckOutput::default())
    });
}
