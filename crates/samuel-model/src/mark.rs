//! Marks: what is unusual about the completion of a task.

use super::words;

words! {
    /// What is unusual about the completion of a task.
    Mark ("mark") {
        /// Nothing was changed since the task began.
        NoChange = "no-change",
        /// The agent of another task completed it.
        OtherAgent = "other-agent",
        /// An edit of `prd.toon` completed it.
        Edit = "edit",
    }
}

impl Mark {
    /// Returns it in words, to follow "completed".
    pub fn told(self) -> &'static str {
        match self {
            Self::NoChange => "without a change",
            Self::OtherAgent => "by another task's agent",
            Self::Edit => "by an edit of prd.toon",
        }
    }

    /// Returns marks in words, separated by commas. Returns nothing if there are none.
    pub fn told_of(marks: &[Self]) -> Option<String> {
        let told: Vec<&str> = marks.iter().map(|mark| mark.told()).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}
