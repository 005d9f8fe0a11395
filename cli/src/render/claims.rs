//! Claims as text: who works on what, since when, and what earlier attempts came to.

use samuel_core::model::{Claim, ClaimPhase};

use super::{safe_words, tasks::name, time_of_day};

/// Says of a claim who has it, how far it is and since when; and, where that is so, that whoever had it is gone.
pub(super) fn claim_text(claim: &Claim, gone: Option<&str>) -> String {
    if let Some(gone) = gone {
        return format!("since {}: {}", time_of_day(claim.since), safe_words(gone));
    }
    let by = match &claim.worker {
        Some(worker) => format!("by {}", name(worker)),
        None => "by nobody".to_owned(),
    };
    let since = time_of_day(claim.since);
    let attempt = match claim.attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    match claim.phase {
        ClaimPhase::Working => format!("{by} since {since}{attempt}"),
        ClaimPhase::Submitted => format!("submitted {by} at {since}{attempt}"),
        ClaimPhase::Held => format!("submitted {by}, held since {since}{attempt}"),
        ClaimPhase::Landing if claim.task.task().is_none() => format!("{by} since {since}, landing"),
        ClaimPhase::Landing => format!("being landed {by} since {since}"),
        ClaimPhase::Released => released_text(claim),
    }
}

/// Says what earlier attempts at a task came to.
fn released_text(claim: &Claim) -> String {
    let failed = match claim.attempt {
        0 => "no attempt counted".to_owned(),
        1 => "1 attempt failed".to_owned(),
        failed => format!("{failed} attempts failed"),
    };
    let why = claim.why.as_deref().map(|why| format!(": {}", safe_words(why))).unwrap_or_default();
    let kept = claim.branch.as_deref().map(|kept| format!("; kept as {}", name(kept))).unwrap_or_default();
    format!("{failed}{why}{kept}")
}
