//! An observer cannot refuse.

use samuel_core::{
    hook::{Answer},
    model::payload::AfterLoopOutput,
};

fn main() {
    let _ = AfterLoopOutput::refuse("the work is not good enough");
}
