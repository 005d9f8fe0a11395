//! How work gets onto a branch, and what the commits that land it say.

use super::ClaimKey;
use crate::model::words;

/// The trailer that names the task. It counts in the commits that Samuel makes, which follow each other on the
/// first-parent line of the branch; whoever commits work can write one too, so one on a branch that was merged,
/// or that somebody pushed, says nothing.
pub const TASK_TRAILER: &str = "Samuel-Task";
/// The trailer that names the token of the claim, which counts where [`TASK_TRAILER`] does.
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
    let message = match without_trailers(message).trim_end() {
        "" => format!("Land task {}", key.task),
        message => message.to_owned(),
    };
    format!("{message}\n\n{TASK_TRAILER}: {}\n{CLAIM_TRAILER}: {}\n", key.task, key.token)
}

/// Takes out of a message what says that it lands a claim: of a commit that Samuel makes anew it would count.
pub(super) fn without_trailers(message: &str) -> String {
    let is_trailer = |line: &&str| {
        let name = line.split_once(':').map(|(name, _)| name.trim());
        name.is_some_and(|name| {
            [TASK_TRAILER, CLAIM_TRAILER].iter().any(|own| own.eq_ignore_ascii_case(name))
        })
    };
    let lines: Vec<&str> = message.lines().filter(|line| !is_trailer(line)).collect();
    lines.join("\n")
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
        let forged = "Write it\n\nSigned-off-by: A\nsamuel-claim : 9\nSamuel-Task: 9\n";
        let kept = "Write it\n\nSigned-off-by: A";
        assert_eq!(without_trailers(forged), kept);
        assert_eq!(with_trailers(forged, &key), format!("{kept}\n\nSamuel-Task: 1.2\nSamuel-Claim: 17\n"));
        assert!(with_trailers("", &key).starts_with("Land task 1.2\n\nSamuel-Task"));
    }
}
