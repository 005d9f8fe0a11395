//! Replays the fuzz corpus, and the oracle's documents, without a fuzzer.

use std::{fs, path::Path};

#[path = "../../fuzz/properties.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets are crates of their own")]
mod properties;

fn hold(bytes: &[u8]) {
    properties::decode(bytes);
    properties::recover(bytes);
    properties::round_trip(bytes);
}

#[test]
fn the_properties_hold_for_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut files = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        hold(&fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 20, "only {files} files");
}

#[test]
fn the_properties_hold_for_every_document_of_the_oracle() {
    for line in include_str!("../data/oracle.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case.get(if case.get("k").unwrap() == "e" { "out" } else { "in" }).unwrap();
        hold(text.as_str().unwrap().as_bytes());
    }
}
