//! What a check found is a failure, not text.

use samuel_hook::{Answer, Call, Registry, payload::{Deliver, QualityCheckOutput}, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, async |_: Call<points::QualityCheck>| {
        Ok(QualityCheckOutput::pass().with_text("Two warnings.", Deliver::Now))
    });
}
