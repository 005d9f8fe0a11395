//! What the progress log says of tasks that a discovery iteration may not add any more.

use jiff::Timestamp;

use super::{Mutation, PlanStore, ProgressBody, ProgressEntry, ProgressKind, ProgressLog};
use samuel_model::{
    Plan,
    text::{counted, listed, one_line},
};

/// How many such lines an iteration may have: who asks again and again fills no log.
const MAX_LINES: usize = 20;
/// The longest title that is told, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// How such a line begins.
const REFUSED: &str = "not added, the discovery iteration has added as many tasks as it may: ";

/// Returns one line that names the tasks which the present discovery iteration was not allowed to add, as the progress
/// log has them. Returns `None` if there are none, or if no iteration has begun.
pub fn refused_in_discovery(plan: &Plan, log: &ProgressLog) -> Option<String> {
    let began = plan.progress.last_iteration_at.or(plan.project.created_at)?;
    // Where the log says nothing of its beginning. It tells whole seconds, in which others may have ended.
    let since = of_iteration(log).filter(|entry| entry.at.as_second() >= began.as_second());
    let mut titles: Vec<&str> = since.filter_map(refused_title).collect();
    titles.reverse();
    let uncounted = if titles.len() < MAX_LINES { "" } else { "; those after these were not counted" };
    (!titles.is_empty()).then(|| format!("{REFUSED}{}{uncounted}", listed(&titles)))
}

/// Returns what was written since the last iteration began, the newest first.
fn of_iteration(log: &ProgressLog) -> impl Iterator<Item = &ProgressEntry> {
    let begins = |entry: &&ProgressEntry| {
        entry.iteration.is_some()
            && matches!(entry.body, ProgressBody::Note { kind: ProgressKind::Started, .. })
    };
    log.entries().rev().take_while(move |entry| !begins(entry))
}

fn refused_title(entry: &ProgressEntry) -> Option<&str> {
    match &entry.body {
        ProgressBody::Note { kind: ProgressKind::Found, text } => text.strip_prefix(REFUSED),
        _ => None,
    }
}

/// Writes the line about a change that was refused, where that can be done: whoever asked is told in any case, and the progress
/// log is for whoever reads it later.
pub(super) fn note(store: &(impl PlanStore + ?Sized), mutation: &Mutation, now: Timestamp) {
    if let Some(line) = store.progress().ok().and_then(|log| refused(mutation, &log, now)) {
        let _ = store.append_progress(&[line]);
    }
}

/// Returns the line about a change that was refused, unless enough of them stand there already.
fn refused(mutation: &Mutation, log: &ProgressLog, at: Timestamp) -> Option<ProgressEntry> {
    let titles = match mutation {
        Mutation::Add { task } => task.title.clone(),
        Mutation::Enqueue { task } => task.title.clone(),
        Mutation::Update { update } => counted(update.added.len(), "task"),
        _ => return None,
    };
    if of_iteration(log).filter_map(refused_title).take(MAX_LINES).count() == MAX_LINES {
        return None;
    }
    let text = format!("{REFUSED}{}", one_line(&titles, MAX_TITLE_CHARS));
    let body = ProgressBody::Note { kind: ProgressKind::Found, text };
    Some(ProgressEntry { at, iteration: None, task: None, body })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_an_earlier_iteration_refused_is_not_told_again_in_the_second_in_which_it_ended() {
        let at = "2026-01-31T12:00:00Z";
        let begins = |number: u32| format!("[{at}] [iteration:{number}] STARTED: discovery\n");
        let refused = |title: &str| format!("[{at}] FOUND: {REFUSED}{title}\n");
        let mut plan = Plan::default();
        plan.progress.last_iteration_at = Some(at.parse().unwrap());
        let told = |text: &str| refused_in_discovery(&plan, &ProgressLog::parse(text));
        let first = begins(1) + &refused("A");
        assert_eq!(told(&first), Some(format!("{REFUSED}A")));
        let second = first + &begins(2);
        assert_eq!(told(&second), None);
        let slow = "[2020-01-31T12:00:00Z] [iteration:2] LEARNING: by a clock that is slow\n";
        assert_eq!(told(&(second + &refused("B") + slow)), Some(format!("{REFUSED}B")));
    }
}
