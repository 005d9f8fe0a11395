//! Embeds the loop.
fn main() {}
