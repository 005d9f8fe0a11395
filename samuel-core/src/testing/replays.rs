//! Replaying whatever runs a project has.
//!
//! A run is decided by what was recorded of it and by nothing else: a clock, a store or a repository that
//! the loop looked at by itself would show as a replay that comes to another effect.

use crate::{
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
    let replays = runs.iter().filter_map(|run| history.replay(run, None).ok());
    replays.filter(leads_elsewhere).collect()
}

/// Says whether a replay came to another effect than was recorded.
pub(super) fn leads_elsewhere(replay: &Replay) -> bool {
    replay.difference.as_ref().is_some_and(|difference| difference.kind == DifferenceKind::Effect)
}
