//! `cargo xtask bench lanes`: what several lanes bring, and what they cost.

mod claim;
mod landing;
mod memory;
mod reuse;
mod throughput;

use anyhow::Result;

use super::gate;

/// Measures and prints the gates; arguments name some of them.
///
/// # Errors
/// Fails where a gate is missed, or something cannot be measured.
pub(super) fn run(args: &[String]) -> Result<()> {
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    let mut gates = Vec::new();
    if wanted("claim") {
        gates.push(claim::measure()?);
    }
    if wanted("landing") {
        gates.push(landing::measure()?);
    }
    if wanted("reuse") {
        gates.push(reuse::measure()?);
    }
    if wanted("throughput") {
        gates.push(throughput::measure()?);
    }
    let reported = if gates.is_empty() { Ok(()) } else { gate::report(&gates) };
    let memory = if wanted("memory") { memory::measure() } else { Ok(()) };
    reported.and(memory)
}
