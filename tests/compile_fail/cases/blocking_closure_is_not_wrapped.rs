//! A closure that is not async is wrapped in `blocking`.

use samuel_hook::{Call, HookFailure, Registry, payload::QualityCheckOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, |_: Call<points::QualityCheck>| {
        Ok::<_, HookFailure>(QualityCheckOutput::default())
    });
}
