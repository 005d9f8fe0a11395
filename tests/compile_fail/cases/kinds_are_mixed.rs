//! An observer cannot answer as a gate does at the same point.

use samuel_hook::{Answer, Call, Registry, payload::{AfterLoopOutput, BeforeLoopOutput}, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::BeforeLoop, _>("start", None, async |call: Call<points::BeforeLoop>| {
        match call.input().max_iterations {
            None => Ok(BeforeLoopOutput::refuse("nothing to do")),
            _ => Ok(AfterLoopOutput::default()),
        }
    });
}
