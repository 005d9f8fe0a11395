//! Bringing back what a log has lost.

use std::{collections::HashSet, ops::ControlFlow, time::Duration};

use jiff::Timestamp;

use super::{LogError, LogMirror, MirroredRecord, PlanLog, attempts::attempts, contact::counted};

/// What was brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecovery {
    /// Which of the mirrors was the longest, from 0.
    pub mirror: usize,
    /// How many records it has.
    pub known: usize,
    /// How many of them the log had.
    pub had: usize,
    /// How many were appended.
    pub appended: usize,
}

/// Appends to a log what it has lost, from the longest of the mirrors of its workers. No worker may be at work.
///
/// What the mirrors have must be one history, and what the log still has its beginning; then the log comes to
/// the plan of the longest mirror. It can be done again where it was cut off. `now` is what whoever wants one of the mirrors
/// meanwhile is told, and `patience` is how long one record may take.
///
/// # Errors
/// Returns [`LogError::Mirror`] and [`LogError::MirrorIo`] for a mirror that was changed, or cannot be read or is not there,
/// [`LogError::MirrorHeld`] for one that a worker has,
/// [`LogError::Diverged`] where two mirrors, or the log and the longest one, have other records at one place, and
/// what the log returns.
pub fn recover(
    log: &(impl PlanLog + ?Sized),
    plan: &str,
    mirrors: &[LogMirror],
    now: Timestamp,
    patience: Duration,
) -> Result<LogRecovery, LogError> {
    let mut seen = HashSet::new();
    // Named twice it is one mirror.
    let each = mirrors.iter().filter(|mirror| seen.insert(mirror.place()));
    let _held: Vec<_> = each.map(|mirror| mirror.hold_present(now)).collect::<Result<_, _>>()?;
    let all: Vec<Vec<MirroredRecord>> =
        mirrors.iter().map(|mirror| mirror.records(plan)).collect::<Result<_, _>>()?;
    let longest = all.iter().enumerate().max_by_key(|(place, records)| (records.len(), usize::MAX - place));
    let Some((mirror, known)) = longest else {
        return Ok(LogRecovery { mirror: 0, known: 0, had: 0, appended: 0 });
    };
    let name = |place: usize| mirrors.get(place).map(|mirror| mirror.path().display().to_string());
    let diverged = |what: String, at: usize| LogError::Diverged {
        plan: plan.to_owned(),
        what,
        with: name(mirror).unwrap_or_default(),
        at: at + 1,
    };
    for (place, records) in all.iter().enumerate() {
        let other = records.iter().zip(known).position(|(one, other)| one.record != other.record);
        if let Some(at) = other {
            return Err(diverged(name(place).unwrap_or_default(), at));
        }
    }
    let had = counted(log, plan)?;
    let other = had.iter().zip(known).position(|((_, bytes), known)| *bytes != known.record.as_bytes());
    if let Some(at) = other {
        return Err(diverged("the log".to_owned(), at));
    }
    let missing = known.get(had.len()..).unwrap_or_default();
    for record in missing {
        append(log, record.record.as_bytes(), patience)?;
    }
    Ok(LogRecovery { mirror, known: known.len(), had: had.len().min(known.len()), appended: missing.len() })
}

/// Appends a record until that is acknowledged. Copies do no harm.
fn append(log: &(impl PlanLog + ?Sized), record: &[u8], patience: Duration) -> Result<(), LogError> {
    let appended = attempts(patience, |until| match log.append(record, until) {
        Err(error) if error.is_transient() => ControlFlow::Continue(error),
        appended => ControlFlow::Break(appended.map(drop)),
    });
    appended.unwrap_or_else(|gave_up| Err(gave_up.reason))
}
