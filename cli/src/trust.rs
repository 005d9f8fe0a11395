//! Asking whether what a project brings may run.

use std::io::{self, BufRead};

use samuel_core::{
    engine::{Executables, TrustPolicy},
    hook::{HookPoint, Registry},
    model::ErrorCode,
};
use serde_json::json;

use crate::{
    failure::Failure,
    host::Host,
    render::safe,
    terminal::{self, Stream},
};

/// Returns who decides: the flag, else the person at the terminal, else nobody.
pub(crate) fn policy(yes: bool, host: &Host) -> TrustPolicy {
    match (yes, host.can_ask) {
        (true, _) => TrustPolicy::TrustAll,
        (false, true) => TrustPolicy::ask(ask),
        (false, false) => TrustPolicy::Refuse,
    }
}

/// Shows what would run and asks.
fn ask(executables: &Executables) -> bool {
    confirm(&listed(executables), "Run this?")
}

/// Refuses to fire points at handlers of plugins that nobody has allowed.
pub(crate) fn allow(
    registry: &Registry,
    fires: impl Fn(HookPoint) -> bool,
    yes: bool,
    host: &Host,
) -> Result<(), Failure> {
    let executables = Executables::of_points(registry, fires);
    let asked = || host.can_ask && confirm(&shown("This command executes:", &executables), "Run this?");
    if executables.is_empty() || yes || asked() {
        return Ok(());
    }
    let failure = Failure::new(ErrorCode::TRUST_REFUSED, "nobody has allowed what this command would run");
    Err(failure.with_data(json!({ "executables": executables })).detail(executables.lines()))
}

/// Shows something and asks; anything but a clear yes is a no.
pub(crate) fn confirm(shown: &str, question: &str) -> bool {
    let ask = || {
        // Not held while it waits: a signal may end the command with a message.
        terminal::show(Stream::Err, &format!("{shown}{question} [y/N] "))?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok::<_, io::Error>(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    };
    // Whoever cannot be asked has not said yes.
    ask().unwrap_or(false)
}

/// Lists what a run would execute.
pub(crate) fn listed(executables: &Executables) -> String {
    shown("This run executes:", executables)
}

fn shown(title: &str, executables: &Executables) -> String {
    let lines = executables.lines();
    let lines = lines.iter().map(|line| format!("  {}\n", safe(line)));
    std::iter::once(format!("{title}\n")).chain(lines).collect()
}
