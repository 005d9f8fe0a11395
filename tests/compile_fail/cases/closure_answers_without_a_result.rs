//! A handler can fail, so it answers with a `Result`.

use samuel_hook::{Call, Registry, payload::QualityCheckOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, async |_: Call<points::QualityCheck>| {
        QualityCheckOutput::default()
    });
}
