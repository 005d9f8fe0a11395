//! An observer has nothing to let pass.

use samuel_core::{
    hook::{Answer, Call, Registry, points},
    model::payload::IterationErrorOutput,
};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::IterationError, _>("help", None, async |_: Call<points::IterationError>| {
        Ok(IterationErrorOutput::pass())
    });
}
