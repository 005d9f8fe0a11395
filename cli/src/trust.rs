//! Asking whether what a project brings may run.

use std::io::{self, BufRead, Write};

use samuel_core::engine::{Executables, TrustPolicy};

use crate::{host::Host, render::safe};

/// Returns who decides: the flag, else the person at the terminal, else nobody.
pub(crate) fn policy(yes: bool, host: &Host) -> TrustPolicy {
    match (yes, host.can_ask) {
        (true, _) => TrustPolicy::TrustAll,
        (false, true) => TrustPolicy::ask(ask),
        (false, false) => TrustPolicy::Refuse,
    }
}

/// Shows what would run and asks; anything but a clear yes is a no.
fn ask(executables: &Executables) -> bool {
    let mut stderr = io::stderr().lock();
    let mut question = || {
        stderr.write_all(listed(executables).as_bytes())?;
        write!(stderr, "Run this? [y/N] ")?;
        stderr.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok::<_, io::Error>(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    };
    // Whoever cannot be asked has not said yes.
    question().unwrap_or(false)
}

/// Lists what would run, one a line.
pub(crate) fn listed(executables: &Executables) -> String {
    let lines = executables.lines();
    let lines = lines.iter().map(|line| format!("  {}\n", safe(line)));
    std::iter::once("This run executes:\n".to_owned()).chain(lines).collect()
}
