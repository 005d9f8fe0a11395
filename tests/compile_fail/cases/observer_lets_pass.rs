//! An observer has nothing to let pass.

use samuel_hook::{Answer, Call, Registry, payload::IterationErrorOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::IterationError, _>("help", None, async |_: Call<points::IterationError>| {
        Ok(IterationErrorOutput::pass())
    });
}
