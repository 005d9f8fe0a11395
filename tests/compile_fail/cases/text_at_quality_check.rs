//! What a check found is a failure, not text.

use samuel_core::{
    hook::{Answer, Call, Registry, points},
    model::payload::{Deliver, QualityCheckOutput},
};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, async |_: Call<points::QualityCheck>| {
        Ok(QualityCheckOutput::pass().with_text("Two warnings.", Deliver::Now))
    });
}
