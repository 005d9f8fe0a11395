//! What crosses the boundary, at every point.

use super::kit::{Bench, INPUT, broke, component, quality_check};
use crate::{
    hook::{BreakClass, points},
    model::payload::{CheckFailure, QualityCheckInput, QualityCheckOutput},
};

/// Answers `ok` with the first command as the reason.
fn echo_first_command() -> Vec<u8> {
    quality_check(&format!(
        "(local $first i32)
         (local.set $first (i32.load offset={INPUT} (local.get 0)))
         (i32.store8 (i32.add (global.get $zero) (i32.const 4)) (i32.const 1))
         (i32.store8 (i32.add (global.get $zero) (i32.const 8)) (i32.const 1))
         (i32.store (i32.add (global.get $zero) (i32.const 12)) (i32.load (local.get $first)))
         (i32.store (i32.add (global.get $zero) (i32.const 16)) (i32.load offset=4 (local.get $first)))
         (global.get $zero)"
    ))
}

#[tokio::test]
async fn a_payload_crosses_as_typed_values() {
    let input =
        QualityCheckInput { commands: vec!["cargo test é".into(), "x".into()], ..Default::default() };
    let fired = Bench::new().fire::<points::QualityCheck>(&echo_first_command(), input).await;
    assert!(fired.outcome.broken.is_empty(), "{:?}", fired.outcome);
    let expected = QualityCheckOutput { reason: Some("cargo test é".into()), ..Default::default() };
    assert_eq!(fired.output, expected);
}
