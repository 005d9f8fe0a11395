//! What handlers answer with.
//!
//! Each point has its own output. All of them can be filled in as records; the
//! words of [`Answer`] are shorter. What is left at its default lets things go on
//! and changes nothing.

use crate::table::{Blob, Deliver, HookResults, Results, Text, TextItem, Verdict};

/// The words in which a handler answers.
///
/// ```
/// use samuel_plugin::{Answer, BeforeIterationOutput, Deliver};
///
/// let refusal = BeforeIterationOutput::refuse("the build is broken");
/// let advice = BeforeIterationOutput::pass().with_text("Mind the changelog.", Deliver::Next);
/// assert!(!refusal.ok && advice.ok);
/// ```
pub trait Answer: Default {
    /// Lets things go on.
    fn pass() -> Self {
        Self::default()
    }

    /// Refuses, for a reason that the user or the agent will read. At a point
    /// that only observes it is a warning.
    fn refuse(reason: impl Into<String>) -> Self
    where
        Self: Verdict,
    {
        let mut output = Self::default();
        output.refuse_for(reason.into());
        output
    }

    /// Adds text for the agent.
    #[must_use]
    fn with_text(mut self, content: impl Into<String>, deliver: Deliver) -> Self
    where
        Self: Text,
    {
        self.text_mut().push(TextItem { content: content.into(), deliver });
        self
    }

    /// Sets what a repository hook reports.
    #[must_use]
    fn with_results(mut self, results: HookResults) -> Self
    where
        Self: Results,
    {
        *self.results_mut() = results;
        self
    }

    /// Makes the blob.
    fn from_blob(blob: impl Into<String>) -> Self
    where
        Self: Blob,
    {
        let mut output = Self::default();
        *output.blob_mut() = blob.into();
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::*;

    #[test]
    fn what_was_not_filled_in_lets_things_go_on() {
        assert!(QualityCheckOutput::default().ok && AfterLoopOutput::pass().ok);
        assert!(IterationGateOutput::pass().proceed);
        assert!(!SessionStopOutput::pass().block && !AbilityBeforeOutput::pass().ask);
    }

    #[test]
    fn a_refusal_is_said_in_the_words_of_the_point() {
        let gate = IterationGateOutput::refuse("enough");
        assert_eq!((gate.proceed, gate.reason.as_deref()), (false, Some("enough")));
        assert!(PromptSubmitOutput::refuse("no").block && !InitBeforeOutput::refuse("no").ok);
    }

    #[test]
    fn continue_reaches_the_contract() {
        use crate::bindings::iteration_gate::exports::samuel::plugin::iteration_gate::Output;
        let gate =
            IterationGateOutput { mode: Some(Mode::Discovery), ..IterationGateOutput::refuse("enough") };
        let sent = Output::from(gate);
        assert_eq!((sent.continue_, sent.mode), (false, Some(Mode::Discovery)));
    }
}
