//! Asking whether what a project brings may run.

use std::io::{self, BufRead};

use samuel_core::{
    engine::{Executables, TrustPolicy},
    hook::{HookPoint, Registry},
    model::ErrorCode,
};
use serde_json::json;

use crate::{
    args::StartArgs,
    commands::block_on_or_leave,
    failure::Failure,
    host::Host,
    render::safe,
    terminal::{self, Stream},
};

/// Returns who decides: the flags, else the person at the terminal, else nobody.
pub(crate) fn policy(args: &StartArgs, host: &Host) -> TrustPolicy {
    match &args.trust_hash {
        Some(digest) => TrustPolicy::Digest(digest.clone()),
        None if args.yes && args.accept && host.can_ask => {
            TrustPolicy::ask(|executables| executables.changes.is_empty() || ask(executables))
        }
        None if args.yes => TrustPolicy::TrustAll,
        None if host.can_ask => TrustPolicy::ask(ask),
        None => TrustPolicy::Refuse,
    }
}

/// Shows what would run and asks.
fn ask(executables: &Executables) -> bool {
    let question = match executables.changes.is_empty() {
        true => "Run this?",
        false => "Accept these changes, and run this?",
    };
    confirm(&listed(executables), question)
}

/// Refuses to fire points at handlers of plugins that nobody has allowed.
pub(crate) fn allow(
    registry: &Registry,
    fires: impl Fn(HookPoint) -> bool,
    yes: bool,
    host: &Host,
) -> Result<(), Failure> {
    let executables = Executables::of_points(registry, fires);
    if executables.is_empty() || yes {
        return Ok(());
    }
    if host.can_ask {
        let listed = shown("This command executes:", &executables.lines());
        // A signal ends the command, and not the process with what it has made for itself.
        let asked = async { tokio::task::spawn_blocking(move || confirm(&listed, "Run this?")).await };
        let asked = block_on_or_leave(asked).inspect_err(|_| _ = terminal::show(Stream::Err, "\n"));
        let is_allowed = asked?.unwrap_or(false);
        return if is_allowed { Ok(()) } else { Err(declined(&executables)) };
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

/// What a question that was answered with no ends with. The list was just shown.
fn declined(executables: &Executables) -> Failure {
    let failure = Failure::new(ErrorCode::TRUST_REFUSED, "not run: what this command would run was declined");
    let failure = failure.with_data(json!({ "executables": executables }));
    failure.advise("Run it again and answer y, or pass --yes.").declined()
}

/// Lists what a run executes that is not asked about.
pub(crate) fn announced(executables: &Executables) -> String {
    shown("This run executes:", &executables.lines())
}

/// Lists what a run would execute, after what the last one left changed.
fn listed(executables: &Executables) -> String {
    let changes = left_changed(executables);
    format!("{changes}{}  digest of all this: {}\n", announced(executables), executables.digest())
}

/// Lists what the last run left changed, if it did.
pub(crate) fn left_changed(executables: &Executables) -> String {
    match executables.changes.is_empty() {
        true => String::new(),
        false => shown("The last run left these control files changed:", &executables.change_lines()),
    }
}

fn shown(title: &str, lines: &[String]) -> String {
    let lines = lines.iter().map(|line| format!("  {}\n", safe(line)));
    std::iter::once(format!("{title}\n")).chain(lines).collect()
}
