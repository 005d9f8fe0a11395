//! An observer cannot answer as a gate does at the same point.

use samuel_core::{
    hook::{Answer, Call, Registry, points},
    model::payload::{AfterLoopOutput, BeforeLoopOutput},
};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::BeforeLoop, _>("start", None, async |call: Call<points::BeforeLoop>| {
        match call.input().max_iterations {
            None => Ok(BeforeLoopOutput::refuse("nothing to do")),
            _ => Ok(AfterLoopOutput::default()),
        }
    });
}
