//! Replays 2,000 answers of the reference implementation of TOON.
//!
//! `cargo xtask toon-oracle --write` made them; it compares 60,000 cases when
//! npm is at hand.

#[path = "../../../../bench/src/toon_case.rs"]
mod toon_case;

use toon_case::Case;

const SAMPLE: &str = include_str!("../data/oracle.jsonl");

#[test]
fn the_codec_agrees_with_the_reference() {
    let mut refused = 0;
    for (number, line) in SAMPLE.lines().enumerate() {
        let case: Case =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("line {}: {error}", number + 1));
        refused += usize::from(case.is_error());
        if let Err(difference) = case.compare() {
            panic!("line {}: {difference}\nin {line}", number + 1);
        }
    }
    assert_eq!(SAMPLE.lines().count(), 2_000);
    assert!((300..1_000).contains(&refused), "{refused} errors are no fair sample");
}
