//! `cargo xtask bench loop`: the gates of the loop.

use anyhow::Result;

use super::{done, gate, iteration, record, snapshot, start};

/// Measures and prints the gates; arguments name some of them.
///
/// # Errors
/// Fails where a gate is missed, or something cannot be measured.
pub(super) fn run(args: &[String]) -> Result<()> {
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    let mut gates = Vec::new();
    if wanted("iteration") {
        gates.push(iteration::measure()?);
    }
    if wanted("record") {
        gates.push(record::measure()?);
    }
    if wanted("replay") {
        gates.push(record::measure_replay()?);
    }
    if wanted("snapshot") {
        gates.push(snapshot::measure()?);
    }
    if wanted("done") {
        gates.extend([done::measure()?, done::measure_apart()?, done::measure_through_a_loop()?]);
    }
    if wanted("start") {
        gates.push(start::measure()?);
    }
    gate::report(&gates)
}
