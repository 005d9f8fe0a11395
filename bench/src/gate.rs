//! Gates: a measured time, a probe, and how many times the probe it may take.

use std::time::Duration;

use anyhow::{Result, ensure};

/// One gate of a benchmark.
#[derive(Debug)]
pub(super) struct Gate {
    /// What was measured.
    pub(super) name: &'static str,
    /// The time it took, a median.
    pub(super) took: Duration,
    /// What it is compared with.
    pub(super) probe: String,
    /// The time that took, in the same rounds.
    pub(super) probe_took: Duration,
    /// How many times the probe it may take.
    pub(super) limit: f64,
    /// Figures that explain the time and have no gate of their own.
    pub(super) notes: Vec<String>,
}

impl Gate {
    fn ratio(&self) -> f64 {
        self.took.as_secs_f64() / self.probe_took.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn passes(&self) -> bool {
        self.ratio() <= self.limit
    }
}

/// Prints a table of gates.
///
/// # Errors
/// Fails where a gate is missed.
pub(super) fn report(gates: &[Gate]) -> Result<()> {
    println!("{:<44}{:>10}{:>10}{:>8}{:>7}        probe", "", "took", "probe", "ratio", "gate");
    for gate in gates {
        println!(
            "{:<44}{:>10}{:>10}{:>7.2}x{:>6}x  {:<5} {}",
            gate.name,
            milliseconds(gate.took),
            milliseconds(gate.probe_took),
            gate.ratio(),
            gate.limit,
            if gate.passes() { "pass" } else { "FAIL" },
            gate.probe,
        );
        for note in &gate.notes {
            println!("    {note}");
        }
    }
    let missed: Vec<&str> = gates.iter().filter(|gate| !gate.passes()).map(|gate| gate.name).collect();
    ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

/// Writes a time in milliseconds.
pub(super) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_gate_passes_up_to_its_ratio() {
        let gate = |took| Gate {
            name: "work",
            took: Duration::from_millis(took),
            probe: "probe".to_owned(),
            probe_took: Duration::from_millis(10),
            limit: 3.0,
            notes: Vec::new(),
        };
        assert!(report(&[gate(30)]).is_ok());
        let error = report(&[gate(29), gate(31)]).unwrap_err();
        assert_eq!(error.to_string(), "missed: work");
    }
}
