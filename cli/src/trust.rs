//! Asking whether what a project brings may run.

use std::{
    io::{self, BufRead, Read as _},
    path::Path,
};

use jiff::Timestamp;
use samuel_core::{
    hook::{HookPoint, Registry},
    trust::{Difference, ExecutableKind, Executables, RefusalReason, TrustPolicy, TrustStore},
};

use crate::{
    commands::block_on_or_leave,
    failure::Failure,
    host::Host,
    render::safe,
    terminal::{self, Stream, remark},
};

/// What stands above what a run executes.
const RUN: &str = "This run executes:";

/// What is asked below it, without and with what the last run left changed.
type Question = [&'static str; 2];

/// What is asked for once.
const RUN_IT: Question = ["Run this?", "Accept these changes, and run this?"];

/// What is asked where the answer is recorded.
const RUN_AND_TRUST: Question =
    ["Run this, and trust it from now on?", "Accept these changes, run this, and trust it from now on?"];

/// What `samuel trust` asks, which accepts no changes.
pub(crate) const TRUST_IT: Question = ["Trust this?"; 2];

/// What flags agree to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Consent<'a> {
    /// To what the project brings.
    pub(crate) yes: bool,
    /// To look at what the last run left changed.
    pub(crate) accept: bool,
    /// To what has this digest.
    pub(crate) digest: Option<&'a str>,
}

/// Returns who decides about a start: the flags, else what was trusted before, else the
/// person at the terminal, else nobody.
pub(crate) fn policy(args: &Consent<'_>, host: &Host) -> TrustPolicy {
    match args.digest {
        Some(digest) => TrustPolicy::Digest(digest.to_owned()),
        None if args.yes && args.accept && host.can_ask => TrustPolicy::ask(|executables, difference| {
            executables.changes.is_empty() || ask(RUN, RUN_IT, executables, difference)
        }),
        None if args.yes => TrustPolicy::TrustAll,
        None if args.accept => remembered(asking(RUN, RUN_AND_TRUST, host), TrustPolicy::recording, host),
        None => remembered(asking(RUN, RUN_IT, host), TrustPolicy::recorded_or, host),
    }
}

/// Returns the policy of whoever only looks: what was trusted before may run.
pub(crate) fn recorded(host: &Host) -> TrustPolicy {
    // A look makes no directory.
    if !host.trust_dir().is_some_and(|dir| dir.exists()) {
        return TrustPolicy::Refuse;
    }
    remembered(TrustPolicy::Refuse, TrustPolicy::recorded_or, host)
}

/// Puts what was trusted before in front of a policy, where that is kept.
fn remembered(
    otherwise: TrustPolicy,
    recorded: impl FnOnce(TrustStore, TrustPolicy) -> TrustPolicy,
    host: &Host,
) -> TrustPolicy {
    match host.trust_store() {
        Ok(Some(store)) => recorded(store, otherwise),
        Ok(None) => otherwise,
        Err(failure) => {
            remark(&format!("warning: what is trusted is not remembered: {}", failure.message));
            otherwise
        }
    }
}

/// Asks the person at the terminal; without one, refuses.
pub(crate) fn asking(title: &'static str, question: Question, host: &Host) -> TrustPolicy {
    if !host.can_ask {
        return TrustPolicy::Refuse;
    }
    TrustPolicy::ask(move |executables, difference| ask(title, question, executables, difference))
}

fn ask(title: &str, question: Question, executables: &Executables, difference: Option<&Difference>) -> bool {
    let [plain, of_changes] = question;
    let question = if executables.changes.is_empty() { plain } else { of_changes };
    confirm(&listed(title, executables, difference), question)
}

/// Refuses to fire points at handlers of plugins that nobody has allowed. Commands of hook files
/// are not among them: outside of a run their handlers start nothing.
pub(crate) fn allow(
    root: &Path,
    registry: &Registry,
    fires: impl Fn(HookPoint) -> bool,
    yes: bool,
    host: &Host,
) -> Result<(), Failure> {
    let executables = Executables::of_points(registry, fires).without(ExecutableKind::HookCommand);
    allow_these(root, &executables, yes, host)
}

/// Refuses to run what nobody has allowed.
pub(crate) fn allow_these(
    root: &Path,
    executables: &Executables,
    yes: bool,
    host: &Host,
) -> Result<(), Failure> {
    if executables.is_empty() || yes {
        return Ok(());
    }
    let (root, executables) = (root.to_owned(), executables.clone());
    let policy = remembered(asking("This command executes:", RUN_IT, host), TrustPolicy::recorded_or, host);
    // A signal ends the command, and not the process with what it has made for itself.
    let decided = async {
        tokio::task::spawn_blocking(move || policy.decide(&root, &executables, Timestamp::now())).await
    };
    let decided = block_on_or_leave(decided).inspect_err(|_| _ = terminal::show(Stream::Err, "\n"))?;
    let decided = decided.map_err(|error| Failure::internal("the question broke").because(&error))?;
    decided.map_err(|refusal| {
        let failure = Failure::from(&*refusal);
        match refusal.reason {
            RefusalReason::Untrusted => failure.reword("nobody has allowed what this command would run"),
            RefusalReason::Declined => failure
                .reword("not run: what this command would run was declined")
                .advise("Run it again and answer y, or pass --yes."),
            _ => failure,
        }
    })
}

/// Shows something and asks; anything but a clear yes is a no.
pub(crate) fn confirm(shown: &str, question: &str) -> bool {
    let answer = answered(&format!("{shown}{question} [y/N] "));
    // Whoever cannot be asked has not said yes.
    answer.is_some_and(|answer| matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Shows a question and returns the line that is answered; nothing where nobody answers.
pub(crate) fn answered(question: &str) -> Option<String> {
    // Not held while it waits: a signal may end the command with a message.
    terminal::show(Stream::Err, question).ok()?;
    let mut answer = String::new();
    let read = io::stdin().lock().take(MAX_ANSWER).read_line(&mut answer).ok()?;
    (read > 0).then_some(answer)
}

/// The longest answer that is read, in bytes.
const MAX_ANSWER: u64 = 64 << 10;

/// Lists what a run executes that is not asked about.
pub(crate) fn announced(executables: &Executables) -> String {
    shown(RUN, &executables.lines())
}

/// Lists what would execute, or how it differs from what was trusted, after what the last
/// run left changed.
fn listed(title: &str, executables: &Executables, difference: Option<&Difference>) -> String {
    let listed = match difference {
        None => shown(title, &executables.lines()),
        Some(difference) if difference.is_empty() => "The rest is as it was trusted.\n".to_owned(),
        Some(difference) => shown("This is not as it was trusted:", &difference.lines()),
    };
    format!("{}{listed}  digest of all this: {}\n", left_changed(executables), executables.digest())
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
