//! A closure that is not async is wrapped in `blocking`.

use samuel_core::{
    hook::{Call, HookFailure, Registry, points},
    model::payload::QualityCheckOutput,
};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::QualityCheck, _>("lint", None, |_: Call<points::QualityCheck>| {
        Ok::<_, HookFailure>(QualityCheckOutput::default())
    });
}
