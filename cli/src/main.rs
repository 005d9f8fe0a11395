//! The samuel binary.
fn main() {}
