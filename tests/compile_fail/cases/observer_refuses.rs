//! An observer cannot refuse.

use samuel_hook::{Answer, payload::AfterLoopOutput};

fn main() {
    let _ = AfterLoopOutput::refuse("the work is not good enough");
}
