//! Replaying whatever runs a project has.
//!
//! A run is decided by what was recorded of it and by nothing else: a clock, a store or a repository that
//! the loop looked at by itself would show as a replay that comes to another effect.

use crate::{
    engine::{NOT_RECORDED, TOO_FAST},
    event::{Event, EventRecord},
    history::History,
    machine::{DifferenceKind, Replay},
    project::Project,
};

/// Replays every run that is recorded of a project, and returns those that come to another effect than was
/// recorded. Records that were cut off or changed, and runs that cannot be read, are none of them. Blocks.
///
/// A [`Bench`](super::Bench) does so for its runs as it is dropped.
pub fn differing_replays(project: &Project) -> Vec<Replay> {
    let (history, lane) = (History::of(project), project.lane_store());
    let runs = lane.recorded_runs().unwrap_or_default();
    let replays = runs.iter().filter_map(|run| history.replay(run).ok());
    replays.filter(leads_elsewhere).collect()
}

/// Says whether a run warned that not all of it could be recorded.
pub(super) fn has_gaps(events: &[EventRecord]) -> bool {
    let warns = |record: &EventRecord| match &record.event {
        Event::Warning { message } => message.starts_with(NOT_RECORDED) || message == TOO_FAST,
        _ => false,
    };
    events.iter().any(warns)
}

/// Says whether a replay came to another effect than was recorded.
fn leads_elsewhere(replay: &Replay) -> bool {
    replay.difference.as_ref().is_some_and(|difference| difference.kind == DifferenceKind::Effect)
}
