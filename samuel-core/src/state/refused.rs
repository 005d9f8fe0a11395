//! What the progress log says of tasks that a discovery iteration may not add any more.

use jiff::Timestamp;

use super::{Mutation, ProgressBody, ProgressEntry, ProgressKind, ProgressLog};
use crate::{
    context::one_line,
    model::Plan,
    text::{counted, listed},
};

/// How many such lines may stand one after the other: who asks again and again fills no log.
const MAX_IN_A_ROW: usize = 20;
/// The longest title that is told, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// How such a line begins.
const REFUSED: &str = "not added, the discovery iteration has added as many tasks as it may: ";

/// Says which tasks the discovery iteration under way did not add, if there are any.
///
/// Times of the log are whole seconds: one that was refused in the second in which the last
/// iteration ended may be told twice.
pub(crate) fn refused_in_discovery(plan: &Plan, log: &ProgressLog) -> Option<String> {
    let began = plan.progress.last_iteration_at.or(plan.project.created_at)?;
    let notes = log.notes(ProgressKind::Found).rev();
    let of_this = notes.take_while(|(entry, _)| entry.at.as_second() >= began.as_second());
    let mut titles: Vec<&str> = of_this.filter_map(|(_, text)| text.strip_prefix(REFUSED)).collect();
    titles.reverse();
    let uncounted = if titles.len() < MAX_IN_A_ROW { "" } else { "; those after these were not counted" };
    (!titles.is_empty()).then(|| format!("{REFUSED}{}{uncounted}", listed(&titles)))
}

/// Returns the line about a change that was refused, unless enough of them stand there already.
pub(super) fn refused(mutation: &Mutation, log: &ProgressLog, at: Timestamp) -> Option<ProgressEntry> {
    let titles = match mutation {
        Mutation::Add { task } => task.title.clone(),
        Mutation::Enqueue { task } => task.title.clone(),
        Mutation::Update { update } => counted(update.added.len(), "task"),
        _ => return None,
    };
    let mut last = log.notes(ProgressKind::Found).rev().map(|(_, text)| text.starts_with(REFUSED));
    if last.by_ref().take(MAX_IN_A_ROW).filter(|is_refused| *is_refused).count() == MAX_IN_A_ROW {
        return None;
    }
    let text = format!("{REFUSED}{}", one_line(&titles, MAX_TITLE_CHARS));
    let body = ProgressBody::Note { kind: ProgressKind::Found, text };
    Some(ProgressEntry { at, iteration: None, task: None, body })
}
