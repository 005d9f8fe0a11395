//! Outcomes: what a handler may answer, and how several become one.
//!
//! [`Output`] is what dispatch needs of every point's output. The traits below
//! it say what an output *can* contain: a handler that wants to refuse needs a
//! [`Gate`], one that wants to talk to the agent needs [`Text`]. Points that
//! take no such thing do not implement the trait, so the attempt does not
//! compile (contract, hook points).

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

use crate::model::payload::*;

/// A point's output.
pub trait Output:
    Clone + Default + fmt::Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Folds what a later handler answered onto what stands, and returns
    /// warnings where the later answer overrides an earlier one.
    fn combine(&mut self, later: Self) -> Vec<String>;

    /// Returns the reason, where the outcome says that something must not go
    /// on or did not go well.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Returns text for the agent.
    fn text(&self) -> &[TextItem] {
        &[]
    }

    /// Returns what a repository hook reports.
    fn results(&self) -> Option<&HookResults> {
        None
    }
}

/// An output that can refuse.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot refuse",
    note = "only the outputs of gates can; see the table of hook points"
)]
pub trait Gate: Output {
    /// Lets things go on.
    fn pass() -> Self {
        Self::default()
    }

    /// Refuses, for a reason the user or the agent will read.
    fn refuse(reason: impl Into<String>) -> Self;
}

/// An output that can carry text for the agent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no text for the agent",
    note = "text is taken at session.start, before:iteration, after:iteration, iteration.error, task.completed and ability.after"
)]
pub trait Text: Output {
    /// Adds text for the agent.
    #[must_use]
    fn with_text(self, content: impl Into<String>, deliver: Deliver) -> Self;
}

/// An output that can carry what a repository hook reports.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes no hook results",
    note = "results are taken at session.start, prompt.submit, ability.before, ability.after and session.stop"
)]
pub trait Results: Output {
    /// Adds what a repository hook reports.
    #[must_use]
    fn with_results(self, results: HookResults) -> Self;
}

/// An output that is one piece of text which the next handler builds on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no blob",
    note = "blobs are made at context.snapshot, context.progress and context.task"
)]
pub trait Blob: Output {
    /// Makes the output.
    fn from_blob(blob: impl Into<String>) -> Self;

    /// Returns the text.
    fn blob(&self) -> &str;
}

/// Returns the reason of a refusal, or the words for one without.
fn reason_of(reason: Option<&String>) -> String {
    match reason {
        Some(reason) if !reason.trim().is_empty() => reason.clone(),
        _ => "no reason given".to_owned(),
    }
}

/// Keeps the first refusal's reason.
fn combine_ok(ok: &mut bool, reason: &mut Option<String>, later_ok: bool, later_reason: Option<String>) {
    if *ok && !later_ok || reason.is_none() {
        *reason = later_reason;
    }
    *ok &= later_ok;
}

/// Keeps the first block's reason.
fn combine_block(block: &mut bool, reason: &mut Option<String>, later: bool, later_reason: Option<String>) {
    if !*block && later || reason.is_none() {
        *reason = later_reason;
    }
    *block |= later;
}

macro_rules! text {
    ($($name:ident)+) => {
        $(impl Text for $name {
            fn with_text(mut self, content: impl Into<String>, deliver: Deliver) -> Self {
                self.text.push(TextItem { content: content.into(), deliver });
                self
            }
        })+
    };
}

macro_rules! results {
    ($($name:ident)+) => {
        $(impl Results for $name {
            fn with_results(mut self, results: HookResults) -> Self {
                let _ = self.results.merge(results);
                self
            }
        })+
    };
}

/// Outputs that are `ok`, with what else the named fields hold.
macro_rules! ok_output {
    ($($name:ident $(text $text:ident)? $(results $results:ident)?;)+) => {
        $(impl Output for $name {
            fn combine(&mut self, later: Self) -> Vec<String> {
                combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
                self.extensions.extend(later.extensions);
                $(self.$text.extend(later.$text);)?
                $(return self.$results.merge(later.$results);)?
                #[allow(unreachable_code, reason = "only outputs with results return above")]
                Vec::new()
            }

            fn refusal(&self) -> Option<String> {
                (!self.ok).then(|| reason_of(self.reason.as_ref()))
            }

            $(fn text(&self) -> &[TextItem] { &self.$text })?
            $(fn results(&self) -> Option<&HookResults> { Some(&self.$results) })?
        })+
    };
}

macro_rules! ok_gate {
    ($($name:ident)+) => {
        $(impl Gate for $name {
            fn refuse(reason: impl Into<String>) -> Self {
                Self { ok: false, reason: Some(reason.into()), ..Self::default() }
            }
        })+
    };
}

macro_rules! block_gate {
    ($($name:ident)+) => {
        $(impl Gate for $name {
            fn refuse(reason: impl Into<String>) -> Self {
                Self { block: true, reason: Some(reason.into()), ..Self::default() }
            }
        })+
    };
}

macro_rules! block_output {
    ($($name:ident)+) => {
        $(impl Output for $name {
            fn combine(&mut self, later: Self) -> Vec<String> {
                combine_block(&mut self.block, &mut self.reason, later.block, later.reason);
                self.extensions.extend(later.extensions);
                self.results.merge(later.results)
            }

            fn refusal(&self) -> Option<String> {
                self.block.then(|| reason_of(self.reason.as_ref()))
            }

            fn results(&self) -> Option<&HookResults> {
                Some(&self.results)
            }
        })+
    };
}

macro_rules! blob_output {
    ($($name:ident $field:ident;)+) => {
        $(impl Output for $name {
            fn combine(&mut self, later: Self) -> Vec<String> {
                *self = later;
                Vec::new()
            }
        }

        impl Blob for $name {
            fn from_blob(blob: impl Into<String>) -> Self {
                Self { $field: blob.into(), ..Self::default() }
            }

            fn blob(&self) -> &str {
                &self.$field
            }
        })+
    };
}

ok_output! {
    InitBeforeOutput;
    InitAfterOutput;
    SyncAfterOutput;
    SessionStartOutput text text results results;
    BeforeLoopOutput;
    BeforeIterationOutput text text;
    AfterAgentInvokeOutput;
    AfterIterationOutput text text;
    AfterLoopOutput;
    SessionEndOutput;
}

ok_gate! { InitBeforeOutput SyncBeforeOutput BeforeLoopOutput BeforeIterationOutput BeforeAgentInvokeOutput QualityCheckOutput }
block_gate! { PromptSubmitOutput AbilityBeforeOutput SessionStopOutput }
block_output! { PromptSubmitOutput SessionStopOutput }
text! { SessionStartOutput BeforeIterationOutput AfterIterationOutput IterationErrorOutput TaskCompletedOutput AbilityAfterOutput }
results! { SessionStartOutput PromptSubmitOutput AbilityBeforeOutput AbilityAfterOutput SessionStopOutput }
blob_output! { ContextSnapshotOutput toon_blob; ContextProgressOutput md_blob; ContextTaskOutput toon_blob; }

impl Output for SyncBeforeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.skip |= later.skip;
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for IterationGateOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(mode) = later.mode {
            if self.mode.is_some_and(|earlier| earlier != mode) {
                warnings.push(format!("mode {mode:?} overrides an earlier handler's").to_lowercase());
            }
            self.mode = Some(mode);
        }
        combine_ok(&mut self.proceed, &mut self.reason, later.proceed, later.reason);
        self.extensions.extend(later.extensions);
        warnings
    }

    fn refusal(&self) -> Option<String> {
        (!self.proceed).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Gate for IterationGateOutput {
    fn refuse(reason: impl Into<String>) -> Self {
        Self { proceed: false, reason: Some(reason.into()), ..Self::default() }
    }
}

impl Output for ContextExtraOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.extras.extend(later.extras);
        self.extensions.extend(later.extensions);
        Vec::new()
    }
}

impl Output for BeforeAgentInvokeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.agent = later.agent.or(self.agent.take());
        self.prompt = later.prompt.or(self.prompt.take());
        self.env = later.env.or(self.env.take());
        self.sandbox = later.sandbox.or(self.sandbox.take());
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for AgentInvokeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        *self = later;
        Vec::new()
    }
}

impl Output for QualityCheckOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.failures.extend(later.failures);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        let failed =
            || self.failures.iter().map(|failure| failure.message.as_str()).collect::<Vec<_>>().join("; ");
        (!self.ok).then(|| match &self.reason {
            None if !self.failures.is_empty() => failed(),
            reason => reason_of(reason.as_ref()),
        })
    }
}

impl Output for IterationErrorOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }
}

impl Output for TaskCompletedOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }
}

impl Output for AbilityBeforeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_block(&mut self.block, &mut self.reason, later.block, later.reason);
        self.ask |= later.ask;
        self.updated_input = later.updated_input.or(self.updated_input.take());
        self.extensions.extend(later.extensions);
        self.results.merge(later.results)
    }

    fn refusal(&self) -> Option<String> {
        (self.block || self.ask).then(|| reason_of(self.reason.as_ref()))
    }

    fn results(&self) -> Option<&HookResults> {
        Some(&self.results)
    }
}

impl Output for AbilityAfterOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        self.results.merge(later.results)
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }

    fn results(&self) -> Option<&HookResults> {
        Some(&self.results)
    }
}

impl HookResults {
    /// Merges what a later handler reports (contract, dialects): logs,
    /// messages and actions are concatenated, suggestions deduplicated keeping
    /// the highest confidence, the first intent wins with a warning.
    pub fn merge(&mut self, later: HookResults) -> Vec<String> {
        let mut warnings = Vec::new();
        self.logs.extend(later.logs);
        self.messages_to_user.extend(later.messages_to_user);
        self.follow_up_actions.extend(later.follow_up_actions);
        for ability in later.suggested_abilities {
            match self.suggested_abilities.iter_mut().find(|known| known.id == ability.id) {
                Some(known) if known.confidence < ability.confidence => *known = ability,
                Some(_) => {}
                None => self.suggested_abilities.push(ability),
            }
        }
        for document in later.suggested_documents {
            match self.suggested_documents.iter_mut().find(|known| known.path == document.path) {
                Some(known) if known.confidence < document.confidence => *known = document,
                Some(_) => {}
                None => self.suggested_documents.push(document),
            }
        }
        match (&self.new_intent, later.new_intent) {
            (Some(_), Some(_)) => {
                warnings.push("a second new_intent was ignored, the first one stands".to_owned())
            }
            (None, intent) => self.new_intent = intent,
            (Some(_), None) => {}
        }
        self.usage_recorded |= later.usage_recorded;
        self.block_execution |= later.block_execution;
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refusal_is_enough_and_the_first_reason_stands() {
        let mut outcome = BeforeLoopOutput::pass();
        outcome.combine(BeforeLoopOutput::refuse("first"));
        outcome.combine(BeforeLoopOutput::refuse("second"));
        outcome.combine(BeforeLoopOutput::pass());
        assert_eq!(outcome.refusal().as_deref(), Some("first"));
    }

    #[test]
    fn a_refusal_without_a_reason_says_so() {
        let outcome = BeforeLoopOutput { ok: false, ..Default::default() };
        assert_eq!(outcome.refusal().as_deref(), Some("no reason given"));
    }

    #[test]
    fn failures_of_all_checks_are_kept_in_order() {
        let failing = |names: &[&str]| QualityCheckOutput {
            ok: false,
            failures: names
                .iter()
                .map(|n| CheckFailure { message: (*n).into(), ..Default::default() })
                .collect(),
            ..Default::default()
        };
        let mut outcome = failing(&["a"]);
        outcome.combine(failing(&["b", "c"]));
        assert_eq!(outcome.refusal().as_deref(), Some("a; b; c"));
    }

    #[test]
    fn a_suggestion_given_twice_keeps_the_higher_confidence() {
        let suggest = |confidence| HookResults {
            suggested_abilities: vec![SuggestedAbility {
                id: "x".into(),
                confidence: Some(confidence),
                ..Default::default()
            }],
            new_intent: Some("{}".into()),
            ..Default::default()
        };
        let mut results = suggest(0.4);
        let warnings = results.merge(suggest(0.9));
        assert_eq!(results.suggested_abilities.len(), 1);
        assert_eq!(results.suggested_abilities.first().and_then(|a| a.confidence), Some(0.9));
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn a_gate_must_say_its_verdict_in_json_and_others_need_not() {
        assert!(serde_json::from_str::<BeforeLoopOutput>("{}").is_err());
        assert!(serde_json::from_str::<PromptSubmitOutput>("{}").is_err());
        assert!(serde_json::from_str::<IterationGateOutput>("{}").is_err());
        assert_eq!(serde_json::from_str::<AfterLoopOutput>("{}").ok(), Some(AfterLoopOutput::default()));
        let gate = serde_json::from_str::<IterationGateOutput>(r#"{"continue": false, "later": 1}"#).ok();
        assert_eq!(gate.map(|g| g.proceed), Some(false));
    }
}
