//! What branches and references of lanes are called.
//!
//! A branch below `samuel/` is of lanes where the next part of its name is the id of a run: that of the run's results,
//! or that of one task. All others are the user's.

use crate::model::is_run_id;

/// Where the branches of lanes are.
pub(super) const BRANCHES: &str = "refs/heads/samuel/";
/// What the branch with the results of a run is called, below the id of the run.
const RESULT: &str = "result";
/// Where references are that a commit stays under: branches, tags, and what Samuel keeps for good. What else Samuel has
/// below `refs/samuel/` goes with the next turn of an agent, and branches of a remote with the next fetch.
pub(crate) const KEEPERS: [&str; 4] = ["refs/heads", "refs/tags", "refs/samuel/rescue", "refs/samuel/kept"];

/// Names the branch with the results of a run.
pub(crate) fn result_of(run: &str) -> String {
    format!("samuel/{run}/{RESULT}")
}

/// Names the reference under which what is left of a branch is kept.
pub(crate) fn rescue_of(branch: &str) -> String {
    format!("refs/samuel/rescue/{}", branch.trim_start_matches("samuel/"))
}

/// Says whether a branch has a name of those that lanes make for tasks: whatever is below `samuel/` and is no result.
pub(crate) fn may_be_of_task(branch: &str) -> bool {
    branch.starts_with("samuel/") && branch.rsplit('/').next() != Some(RESULT)
}

/// Returns the run that a branch of lanes is of, and what it is called there; nothing for a branch of the user's.
pub(super) fn of_lane(reference: &str) -> Option<(&str, &str)> {
    let (run, rest) = reference.strip_prefix(BRANCHES)?.split_once('/')?;
    is_run_id(run).then_some((run, rest))
}

/// Returns the run whose results are on a branch, if it is the branch of a run.
pub(super) fn result_in(reference: &str) -> Option<&str> {
    of_lane(reference).filter(|(_, rest)| *rest == RESULT).map(|(run, _)| run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "20260101T000000Z-0a1b2c3d";

    #[test]
    fn names_tell_results_tasks_and_the_users_branches_apart() {
        let result = result_of(RUN);
        assert_eq!(result_in(&format!("refs/heads/{result}")), Some(RUN));
        assert!(!may_be_of_task(&result) && !may_be_of_task("main"));
        let of_task = format!("samuel/{RUN}/1-5");
        assert_eq!(of_lane(&format!("refs/heads/{of_task}")), Some((RUN, "1-5")));
        assert!(may_be_of_task(&of_task) && result_in(&format!("refs/heads/{of_task}")).is_none());
        assert_eq!(rescue_of(&of_task), format!("refs/samuel/rescue/{RUN}/1-5"));
        for users in ["samuel/login-fix", "samuel/team/result", "main"] {
            assert_eq!(of_lane(&format!("refs/heads/{users}")), None, "{users}");
        }
    }
}
