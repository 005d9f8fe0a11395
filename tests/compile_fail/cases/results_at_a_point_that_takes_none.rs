//! Hook results are taken only at some points.

use samuel_hook::{Answer, payload::{AfterIterationOutput, HookResults}};

fn main() {
    let _ = AfterIterationOutput::default().with_results(HookResults::default());
}
