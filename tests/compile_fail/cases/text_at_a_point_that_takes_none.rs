//! Text is taken only at some points.

use samuel_hook::{Answer, payload::{BeforeLoopOutput, Deliver}};

fn main() {
    let _ = BeforeLoopOutput::pass().with_text("Mind the changelog.", Deliver::Next);
}
