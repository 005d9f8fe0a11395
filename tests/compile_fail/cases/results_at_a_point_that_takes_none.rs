//! Hook results are taken only at some points.

use samuel_core::{
    hook::{Answer},
    model::payload::{AfterIterationOutput, HookResults},
};

fn main() {
    let _ = AfterIterationOutput::default().with_results(HookResults::default());
}
