//! Outcomes of one point, and how several become one.
//!
//! [`Output`] is what dispatch needs of every point's output. What a handler
//! may say in one is in the traits of [`Answer`](crate::Answer). Most outputs
//! combine field by field, as `cargo xtask contract` writes it from the types of
//! the fields; here are those of which a field means more.
//!
//! Combining keeps three promises, whatever the point: it does not matter how
//! the handlers are grouped, an answer that says nothing changes nothing, and a
//! verdict does not depend on the order of the handlers.

use std::{cmp::Ordering, fmt};

use serde::{Serialize, de::DeserializeOwned};

use crate::payload::*;

/// A point's output.
///
/// The default is the answer that says nothing: it lets things go on and adds
/// nothing.
pub trait Output:
    Clone + Default + fmt::Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Folds what a later handler answered onto what stands, and returns
    /// warnings where the later answer overrides an earlier one.
    fn combine(&mut self, later: Self) -> Vec<String>;

    /// Adds the verdict of a handler that was asked a second time, because a
    /// later one had changed what it decided about. Nothing but the verdict
    /// counts then; the rest it had said already.
    fn reconsider(&mut self, _again: Self) {}

    /// Returns the reason, where the outcome says that something must not go
    /// on or did not go well.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Returns whether the refusal is the wish that a person decides.
    fn asks(&self) -> bool {
        false
    }

    /// Returns the text that must be TOON, where one must.
    fn toon(&self) -> Option<&str> {
        None
    }

    /// Returns how the work failed, where it did.
    fn failure(&self) -> Option<&AgentFailure> {
        None
    }

    /// Returns what tells of an agent's work, so that its texts can be bounded.
    fn printed_mut(&mut self) -> Option<Printed<'_>> {
        None
    }

    /// Returns the checks that failed, so that their texts can be bounded.
    fn checks_mut(&mut self) -> Option<&mut Vec<CheckFailure>> {
        None
    }

    /// Returns text for the agent.
    fn text(&self) -> &[TextItem] {
        &[]
    }

    /// Returns sections for the prompt.
    fn extras(&self) -> &[Extra] {
        &[]
    }

    /// Returns what a repository hook reports.
    fn results(&self) -> Option<&HookResults> {
        None
    }

    /// Returns the same, so that its texts can be bounded.
    fn reported_mut(&mut self) -> Option<&mut HookResults> {
        None
    }
}

/// What tells of an agent's work: the texts of an output that are shown and kept.
#[derive(Debug)]
pub struct Printed<'a> {
    /// What it printed, and what it printed as errors.
    pub streams: [&'a mut String; 2],
    /// How it failed, where it did.
    pub failure: Option<&'a mut AgentFailure>,
    /// Names of log files.
    pub logs: &'a mut Vec<String>,
}

/// Returns the reason of a refusal, or the words for one without.
pub(crate) fn reason_of(reason: Option<&String>) -> String {
    match reason {
        Some(reason) if !is_blank(reason) => reason.clone(),
        _ => "no reason given".to_owned(),
    }
}

/// Returns the reason of a refusal, or what it lists instead.
pub(crate) fn reason_or<'a>(reason: Option<&String>, listed: impl Iterator<Item = &'a str>) -> String {
    let given = reason.filter(|reason| !is_blank(reason));
    let listed: Vec<&str> = listed.collect();
    match given {
        None if !listed.is_empty() => listed.join("; "),
        given => reason_of(given),
    }
}

fn is_blank(reason: &str) -> bool {
    reason.trim().is_empty()
}

/// Keeps the reason that belongs to the verdict: that of the graver one, and of
/// two alike the first that is given.
pub(crate) fn combine_reason<V: Ord>(
    reason: &mut Option<String>,
    verdict: V,
    later: Option<String>,
    later_verdict: V,
) {
    let is_given = |reason: &Option<String>| reason.as_deref().is_some_and(|text| !is_blank(text));
    let replaces = match later_verdict.cmp(&verdict) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => reason.is_none() || (!is_given(reason) && is_given(&later)),
    };
    if replaces {
        *reason = later;
    }
}

/// Combines whether things may go on, and why not.
pub(crate) fn combine_ok(
    ok: &mut bool,
    reason: &mut Option<String>,
    later_ok: bool,
    later_reason: Option<String>,
) {
    combine_reason(reason, !*ok, later_reason, !later_ok);
    *ok &= later_ok;
}

impl Output for SyncBeforeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        // One refusal outweighs any wish to skip.
        let verdict = |output: &Self| (!output.ok, output.ok && output.skip);
        let (earlier, later_verdict) = (verdict(self), verdict(&later));
        combine_reason(&mut self.reason, earlier, later.reason, later_verdict);
        self.ok &= later.ok;
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
        match (self.proceed && later.proceed, self.mode, later.mode) {
            // While all go on, the reason is that of the mode.
            (true, _, Some(_)) => self.reason = later.reason,
            (true, Some(_), None) => {}
            _ => combine_reason(&mut self.reason, !self.proceed, later.reason, !later.proceed),
        }
        self.proceed &= later.proceed;
        if let Some(mode) = later.mode {
            if self.mode.is_some_and(|earlier| earlier != mode) {
                warnings.push(format!("mode {mode:?} overrides an earlier handler's").to_lowercase());
            }
            self.mode = Some(mode);
        }
        self.extensions.extend(later.extensions);
        warnings
    }

    fn refusal(&self) -> Option<String> {
        (!self.proceed).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for AbilityBeforeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        let verdict = |output: &Self| (output.block, !output.block && output.ask);
        let (earlier, later_verdict) = (verdict(self), verdict(&later));
        combine_reason(&mut self.reason, earlier, later.reason, later_verdict);
        self.block |= later.block;
        self.ask |= later.ask;
        self.updated_input = later.updated_input.or(self.updated_input.take());
        self.extensions.extend(later.extensions);
        self.results.merge(later.results)
    }

    fn reconsider(&mut self, again: Self) {
        let Self { block, ask, reason, .. } = again;
        self.combine(Self { block, ask, reason, ..Self::default() });
    }

    fn refusal(&self) -> Option<String> {
        (self.block || self.ask).then(|| reason_of(self.reason.as_ref()))
    }

    fn asks(&self) -> bool {
        self.ask && !self.block
    }

    fn results(&self) -> Option<&HookResults> {
        Some(&self.results)
    }

    fn reported_mut(&mut self) -> Option<&mut HookResults> {
        Some(&mut self.results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

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
    fn a_gate_must_say_its_verdict_in_json_and_others_need_not() {
        assert!(serde_json::from_str::<BeforeLoopOutput>("{}").is_err());
        assert!(serde_json::from_str::<PromptSubmitOutput>("{}").is_err());
        assert!(serde_json::from_str::<IterationGateOutput>("{}").is_err());
        assert_eq!(serde_json::from_str::<AfterLoopOutput>("{}").ok(), Some(AfterLoopOutput::default()));
        let gate = serde_json::from_str::<IterationGateOutput>(r#"{"continue": false, "later": 1}"#).ok();
        assert_eq!(gate.map(|g| g.proceed), Some(false));
    }
}
