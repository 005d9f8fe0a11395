//! Where submitted work is in the merge queue.

use super::words;

words! {
    /// Where a submission is in the queue.
    QueuePlace ("place in the queue") {
        /// It waits for those before it.
        Waits = "waits",
        /// It is being merged.
        Merging = "merging",
        /// It is being checked, alone or with others.
        Checking = "checking",
        /// It was in a batch whose checks failed, and is checked with fewer.
        Suspect = "suspect",
        /// It is being landed.
        Landing = "landing",
        /// Something is in the way of its landing, or a person holds it.
        Held = "held",
        /// It goes back.
        Returning = "returning",
    }
}
