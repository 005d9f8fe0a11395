//! A handler is given its own point's call.

use samuel_hook::{Call, Registry, payload::QualityCheckOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, async |_: Call<points::AfterLoop>| {
        Ok(QualityCheckOutput::default())
    });
}
