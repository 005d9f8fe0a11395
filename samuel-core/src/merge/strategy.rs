//! How work gets onto a branch, and what the commits that land it say.

use super::ClaimKey;
use crate::model::words;

/// The trailer that names the task.
pub const TASK_TRAILER: &str = "Samuel-Task";
/// The trailer that names the token of the claim.
pub const CLAIM_TRAILER: &str = "Samuel-Claim";

words! {
    /// How work gets onto a branch.
    #[derive(Default)]
    MergeStrategy ("merge strategy") {
        /// By a commit that merges the branch of each task. The default.
        #[default]
        Merge = "merge",
        /// By one commit a task, which has all that its branch changes.
        Squash = "squash",
        /// By the commits of its branch, made anew one on the other.
        Rebase = "rebase",
    }
}

/// Adds to a message which claim it lands. Each claim is named by one commit, whatever the strategy.
pub(super) fn with_trailers(message: &str, key: &ClaimKey) -> String {
    // Without a title the trailers would be one.
    let message = match message.trim_end() {
        "" => format!("Land task {}", key.task),
        message => message.to_owned(),
    };
    format!("{message}\n\n{TASK_TRAILER}: {}\n{CLAIM_TRAILER}: {}\n", key.task, key.token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TaskId;

    #[test]
    fn the_trailers_are_a_paragraph_of_their_own() {
        let key = ClaimKey { task: TaskId::new("1.2"), token: 17 };
        let text = "Write it\n\nSamuel-Task: 1.2\nSamuel-Claim: 17\n";
        assert_eq!(with_trailers("Write it\n\n", &key), text);
        assert!(with_trailers("", &key).starts_with("Land task 1.2\n\nSamuel-Task"));
    }
}
